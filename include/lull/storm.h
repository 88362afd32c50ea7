/* Storm detector: are retries taking over?
 *
 * Over a rolling 15 minutes: more than 100 retries, and more than 5 retries per first attempt → storm.
 * Early signs, before it is one: a retry backlog that grew in each of 3 consecutive minutes; more than 100
 * retries a second on average over 5 minutes.
 *
 *   600 first attempts and 3,001 retries in 15 min → storm (5.0017 per first attempt);
 *   600 and 3,000 → none;  10 and 100 → none: 100 retries are not yet news.
 *
 * Memory is constant: 30 slices of 30 s. Counting is one atomic add, from any thread.
 */
#ifndef LULL_STORM_H
#define LULL_STORM_H

#include <lull/base.h>
#include <lull/window.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_STORM_SLICES 30
#define LULL_STORM_WINDOW (15 * LULL_MINUTE)
#define LULL_STORM_RETRIES 100
#define LULL_STORM_RATIO 5.0
#define LULL_STORM_EARLY_MINUTES 3
#define LULL_STORM_EARLY_RATE 100
#define LULL_STORM_EARLY_SLICES 10 /* 5 min of the 15 */

struct lull_storm {                  /* private */
    LULL_ATOMIC(uint64_t) counts[2]; /* first attempts, retries */
    LULL_ATOMIC(uint64_t) oldest[2];
    struct lull_window window;
    LULL_ATOMIC(uint64_t) notes[LULL_STORM_SLICES * 2];
    LULL_ATOMIC(int64_t) backlog; /* at the last whole minute */
    LULL_ATOMIC(lull_time) minute_end;
    LULL_ATOMIC(uint32_t) grew; /* minutes in a row */
};

struct lull_storm_stats {
    bool storm;
    bool backlog_growing;     /* early sign */
    bool rate_high;           /* early sign */
    uint64_t firsts, retries; /* in the window */
    double ratio;             /* retries per first attempt; retries, if there was no first */
    uint64_t total_firsts, total_retries; /* since init */
};

LULL_API void lull_storm_init(struct lull_storm *storm);
LULL_API void lull_storm_first(struct lull_storm *storm, lull_time now);
LULL_API void lull_storm_retry(struct lull_storm *storm, lull_time now);
/* Instead of counting one by one: what somebody else has counted since init. */
LULL_API void lull_storm_observe(struct lull_storm *storm, uint64_t firsts, uint64_t retries,
                                 lull_time now);
/* How many retries wait now. Tell it as often as you like, from one thread; one value a minute counts. */
LULL_API void lull_storm_backlog(struct lull_storm *storm, int64_t waiting, lull_time now);
LULL_API struct lull_storm_stats lull_storm_snapshot(struct lull_storm *storm, lull_time now);

#ifdef __cplusplus
}
#endif
#endif
