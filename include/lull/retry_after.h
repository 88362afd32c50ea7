/* Retry-After, as RFC 9110 writes it: a number of seconds, or a date in one of three forms.
 *
 *   "120"                                 two minutes
 *   "Sun, 06 Nov 1994 08:49:37 GMT"       IMF-fixdate, what servers send today
 *   "Sunday, 06-Nov-94 08:49:37 GMT"      RFC 850; a year that seems over 50 years ahead is past
 *   "Sun Nov  6 08:49:37 1994"            asctime
 *
 * A date in the past is 0 seconds. Dates must exist (no 29 February 2023, no 24:00:00; a 60th
 * second is a leap second) and be written just so, letter case included; only the name of the
 * weekday is not held against the date. Anything else is malformed, and the field is to be ignored.
 */
#ifndef LULL_RETRY_AFTER_H
#define LULL_RETRY_AFTER_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `length` bytes of field value (blanks around it are skipped). `wall_seconds` is now, in
 * seconds since 1970. Gives the time to wait, saturating at LULL_NEVER for absurd numbers;
 * LULL_EMALFORMED leaves *wait alone, as does LULL_EINVAL (a NULL pointer). Heeds neither locale
 * nor time zone. */
LULL_MUST_USE LULL_API int lull_retry_after_parse(const char *value, size_t length,
                                                  int64_t wall_seconds, lull_duration *wait);

#ifdef __cplusplus
}
#endif
#endif
