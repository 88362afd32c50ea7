/* A table of text for a terminal: columns as wide as what is in them, the first to the left, the
 * others to the right. If they do not fit, columns are left out, those of the highest rank first.
 *
 *            attempts/  goodput
 *   policy     request
 *   none          1.00   95.8 %
 *   lull          1.02   96.1 %
 */
#ifndef SIM_REPORT_GRID_H
#define SIM_REPORT_GRID_H

#include "../scenario.h"

#include <stdio.h>

#define GRID_COLUMNS 10
#define GRID_ROWS SIM_MAX_POLICIES

/* How the terminal is. */
struct style {
    uint32_t width; /* letters a line */
    bool unicode;
    bool colour;
};

enum tone { TONE_PLAIN, TONE_STRONG, TONE_QUIET, TONE_GOOD, TONE_BAD };

struct grid_column {
    const char *head[2]; /* two lines; borrowed */
    int rank;            /* 0: always shown */
};

struct grid_cell {
    char text[SIM_NAME_SIZE];
    enum tone tone;
};

struct grid {
    uint32_t columns, rows;
    struct grid_column column[GRID_COLUMNS];
    struct grid_cell cell[GRID_ROWS][GRID_COLUMNS];
};

void grid_print(const struct grid *grid, const struct style *style, FILE *stream);

/* Switches to the tone, and back with TONE_PLAIN; nothing without colour. */
void tone_set(enum tone tone, const struct style *style, FILE *stream);

/* How many letters the text has on a terminal. */
uint32_t text_width(const char *text);

/* A paragraph, its lines broken between words and indented. */
void paragraph_print(const char *text, uint32_t indent, const struct style *style, FILE *stream);

#endif
