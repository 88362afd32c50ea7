/* A body that comes in drops: at most 20 a second, each as large as the rate asks for, and never
 * ahead of the rate.
 *
 *   10 bytes/s: one byte at 0 ms, one at 100 ms, one at 200 ms, …
 *   1000 bytes/s: 50 bytes at 0 ms, 50 at 50 ms, …
 */
#ifndef FLAKY_DRIP_H
#define FLAKY_DRIP_H

#include <lull/base.h>

/* How many bytes may be sent, `elapsed` after the first, by one who has sent `sent`. 0: none
 * before drip_due. */
uint64_t drip_allowance(uint64_t bytes_per_second, uint64_t sent, lull_duration elapsed);

/* When the byte after the first `sent` is due, counted from the first one. */
lull_duration drip_due(uint64_t bytes_per_second, uint64_t sent);

#endif
