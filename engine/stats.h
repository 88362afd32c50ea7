/* What a lane counts, for people to look at. Written by the lane's own thread, read by any: each word is atomic, a set of them
 * is not. */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "store.h"

#include <stdatomic.h>

/* Upper bounds of the buckets of attempts' durations and of retries' delays; a last one without a bound follows. */
#define STATS_DURATION_BUCKETS 12
#define STATS_DELAY_BUCKETS 10
extern const lull_duration stats_duration_bounds[STATS_DURATION_BUCKETS]; /* 1 ms … 30 s */
extern const lull_duration stats_delay_bounds[STATS_DELAY_BUCKETS];       /* 100 ms … 1 h */

struct stats_histogram {
    LULL_ATOMIC(uint64_t) buckets[STATS_DURATION_BUCKETS + 1]; /* not cumulative */
    LULL_ATOMIC(int64_t) sum;                                  /* ns */
};

struct lane_stats {
    LULL_ATOMIC(uint64_t) accepted;     /* events, since start */
    LULL_ATOMIC(uint64_t) delivered;    /* the same */
    LULL_ATOMIC(int64_t) pending[2];    /* on disk now: fresh, retry; those in flight included */
    LULL_ATOMIC(int64_t) dead;          /* on disk now */
    LULL_ATOMIC(uint32_t) inflight;     /* attempts under way */
    LULL_ATOMIC(uint32_t) window;       /* of the ramp: attempts allowed at once now */
    LULL_ATOMIC(uint32_t) state;        /* enum destination_state */
    LULL_ATOMIC(int64_t) blocked_until; /* 0 or past: it is not */
    LULL_ATOMIC(uint32_t) blocked_by;   /* enum lull_policy */
    LULL_ATOMIC(uint64_t) attempts[2][LULL_CLASS_COUNT]; /* ended: first, retry */
    LULL_ATOMIC(uint64_t) dead_arrivals[LULL_REASON_COUNT];
    LULL_ATOMIC(uint64_t) breaker_transitions[3]; /* to closed, open, half-open */
    LULL_ATOMIC(uint32_t) storm;                  /* 1: a storm is on */
    struct stats_histogram duration;              /* of attempts */
    struct stats_histogram delay;                 /* before retries */
};

/* Only the lane's own thread writes, so no locked instruction is needed. */
static inline void stats_add(_Atomic(uint64_t) *word, uint64_t amount) {
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

void stats_observe(struct stats_histogram *histogram, const lull_duration *bounds, uint32_t count,
                   lull_duration value);

#endif
