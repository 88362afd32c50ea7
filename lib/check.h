/* How configurations are checked: each policy's check settles its defaults into a copy, and names the first
 * field that cannot be. */
#ifndef LULL_LIB_CHECK_H
#define LULL_LIB_CHECK_H

#include "private.h"

#include <lull/base.h>

/* Fills `error` (may be NULL) with the field and a formatted sentence about it. */
__attribute__((format(printf, 3, 4))) void
complain_about(struct lull_error *error, const char *field, const char *format, ...);
/* The same, as the value to return; seen to be an error even by who does not look into the function. */
#define invalid(...) (complain_about(__VA_ARGS__), LULL_EINVAL)

/* LULL_OK, or LULL_EINVAL with a message that names the field, its value and the bounds (both included). Durations are
 * told as people write them ("1.5s"); a NaN is in no range. */
int check_duration(struct lull_error *error, const char *field, lull_duration value,
                   lull_duration low, lull_duration high);
int check_integer(struct lull_error *error, const char *field, int64_t value, int64_t low,
                  int64_t high);
int check_number(struct lull_error *error, const char *field, double value, double low,
                 double high);

/* "250ms", "1.5s", "2m", "1.5h" … into buffer; returns buffer. */
const char *duration_text(lull_duration duration, char *buffer, size_t size);

#endif
