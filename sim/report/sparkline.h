/* A series in one line of blocks, its top a value that several lines may share.
 *
 *   0 1 2 3 4 5 6 7 8 of 8     " ▁▂▃▄▅▆▇█", or " .:-=+*#@" where the terminal has no such letters
 *
 * Each letter stands for the highest value of its seconds: what is looked for is peaks, and a mean
 * would hide them. Anything above nothing is seen.
 */
#ifndef SIM_REPORT_SPARKLINE_H
#define SIM_REPORT_SPARKLINE_H

#include <stdbool.h>
#include <stdint.h>

#define SPARKLINE_LEVELS 8

/* The seconds that letter `column` of `columns` stands for: from … to-1, at least one. A series
 * shorter than the line is stretched. */
struct stretch {
    uint32_t from, to;
};
struct stretch sparkline_stretch(uint32_t column, uint32_t columns, uint32_t length);

/* 0 … SPARKLINE_LEVELS. */
int sparkline_level(double value, double top);

/* The letter for a level, UTF-8. */
const char *sparkline_letter(int level, bool unicode);

double sparkline_highest(const double *series, struct stretch stretch);

#endif
