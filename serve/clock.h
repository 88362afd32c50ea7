/* The service's clock: nanoseconds since 1970, read from the wall once, at start, and from then on from the monotonic clock. So it can be
 * written to disk and compared after a restart, and yet never runs backwards while the process lives. If the wall clock is set meanwhile, this one
 * follows at the next start. (Signatures carry the wall clock itself.) */
#ifndef SERVE_CLOCK_H
#define SERVE_CLOCK_H

#include <lull/base.h>

void service_clock_start(void); /* once, before any thread */
/* The store has something of that time already. If the wall clock was set back while no server ran, this one goes on from there, or what is
 * pending would wait until the wall clock has caught up. By how much it was behind. Before the workers run. */
lull_duration service_clock_not_before(lull_time newest);
lull_time service_clock(void);
lull_duration service_clock_offset(void); /* to add to CLOCK_MONOTONIC */

#endif
