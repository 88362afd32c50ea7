/* Ramp: how a lane comes back after an outage.
 *
 * One call at a time first; when a window of calls has succeeded, twice as many, up to the lane's limit. A failure on the way up
 * starts again at one. At the top the ramp is over, and failures are the breaker's matter.
 *
 *   limit 10: 1, 2, 4, 8, 10 after 1, 3, 7 and 15 successes in a row. */
#ifndef ENGINE_RAMP_H
#define ENGINE_RAMP_H

#include <stdbool.h>
#include <stdint.h>

struct ramp {
    uint32_t limit;     /* at the top */
    uint32_t window;    /* calls allowed at once now: 1 … limit */
    uint32_t succeeded; /* of this window */
};

/* At the top. */
static inline void ramp_init(struct ramp *ramp, uint32_t limit) {
    *ramp = (struct ramp){.limit = limit, .window = limit};
}

/* The destination is, or was, out of reach: start again at one. */
static inline void ramp_restart(struct ramp *ramp) {
    ramp->window = 1;
    ramp->succeeded = 0;
}

static inline bool ramp_at_top(const struct ramp *ramp) {
    return ramp->window >= ramp->limit;
}

static inline void ramp_success(struct ramp *ramp) {
    if (ramp_at_top(ramp) || ++ramp->succeeded < ramp->window)
        return;
    ramp->window = ramp->window > ramp->limit / 2 ? ramp->limit : 2 * ramp->window;
    ramp->succeeded = 0;
}

static inline void ramp_failure(struct ramp *ramp) {
    if (!ramp_at_top(ramp))
        ramp_restart(ramp);
}

#endif
