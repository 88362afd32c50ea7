/* Rates and sizes as people write them; duration.h and number.h read durations and plain numbers.
 *
 *   1000/s   100/m   5/h   0.5/s        a rate: how many, per second, minute or hour
 *   512   64k   1m   2g                 a size: bytes, or times 1024, 1024², 1024³
 */
#ifndef CONFIG_UNITS_H
#define CONFIG_UNITS_H

#include <lull/base.h>

#define RATE_FORMS "1000/s or 100/m"
#define SIZE_FORMS "64k or 1m"

/* False if `text` is not a rate. */
bool rate_parse(const char *text, double *count, lull_duration *per);

/* False if `text` is not a size, or one of 2^63 bytes and more. */
bool size_parse(const char *text, int64_t *bytes);

#endif
