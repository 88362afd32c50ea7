/* Figures as people read them.
 *
 *   1234567        1,234,567
 *   0.14 ms        0.1 ms            14.2 ms  14 ms            1234 ms  1.2 s            300000 ms  5.0 min
 *   0.95821        95.8 %            0.99999  99.9 %, for it is not all of them
 *   12.4 s         12 s              none needed  0 s          negative: never
 *   3.137          3.14              41.37  41.4
 */
#ifndef SIM_REPORT_FIGURES_H
#define SIM_REPORT_FIGURES_H

#include <stdint.h>

#define FIGURE_SIZE 32

/* All of them return `text`. */
char *figure_count(uint64_t count, char text[FIGURE_SIZE]);
char *figure_latency(double milliseconds, char text[FIGURE_SIZE]);
char *figure_share(double share, char text[FIGURE_SIZE]);
char *figure_recovery(double seconds, char text[FIGURE_SIZE]);
char *figure_ratio(double ratio, char text[FIGURE_SIZE]);

/* A moment of a run, or its length: "0 s", "90 s", "2 min", "1 h 30 min". */
char *figure_time(int64_t nanoseconds, char text[FIGURE_SIZE]);

#endif
