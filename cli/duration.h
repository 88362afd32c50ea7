/* Durations as people write them.
 *
 *   500ms  2s  5m  1h  1h30m  1.5s    units ns us ms s m h d, each at most once, largest first
 *   0                                 the only one that needs no unit
 */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <lull/base.h>

#define DURATION_FORMS "500ms, 2s, 5m, 1h or 1h30m"
#define DURATION_TEXT_SIZE 32

/* False if `text` is not a duration, or one longer than lull can count (292 years). */
bool duration_parse(const char *text, lull_duration *duration);

/* For people: rounded to what matters, "180ms", "1.2s", "4m5s", "1h30m". Returns `text`. */
char *duration_format(lull_duration duration, char text[DURATION_TEXT_SIZE]);

#endif
