/* Token bucket: at most `capacity` calls at once, `rate` per `per` in the long run.
 *
 * Kept as one atomic moment (GCRA): the time at which the bucket would be full again. A token is taken
 * by moving it one interval later, if that leaves it within `capacity` intervals of now. So refill is
 * smooth, there is no boundary at which twice the burst gets through, and a refusal knows exactly when
 * the next token is due.
 *
 *   capacity 10, 1/s:  ten calls at t = 0 pass, the eleventh is refused, not before 1 s.
 *                      At 999 ms still none; at 6 s there are six.
 *   In any stretch of time w no more than capacity + rate · w tokens are given.
 *
 * The interval per/rate is rounded up to a whole nanosecond, so the rate is never exceeded and is
 * exact to 0.1 % up to a million a second. Every function may be called from any thread.
 */
#ifndef LULL_BUCKET_H
#define LULL_BUCKET_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_BUCKET_CAPACITY 10000
#define LULL_BUCKET_RATE 1000
#define LULL_BUCKET_PER LULL_SECOND

struct lull_bucket_config {
    int64_t capacity;  /* tokens, > 0 */
    int64_t rate;      /* tokens per `per`, > 0, at most one a nanosecond */
    lull_duration per; /* > 0, at most a day; capacity · per / rate at most 100 years */
};

struct lull_bucket { /* private */
    LULL_ATOMIC(lull_time) full_at;
    LULL_ATOMIC(lull_duration) interval; /* one token's worth of time */
    LULL_ATOMIC(lull_duration) depth;    /* capacity · interval */
    LULL_ATOMIC(uint64_t) refused;
};

struct lull_bucket_stats {
    int64_t capacity;
    int64_t tokens;    /* to be had now */
    lull_time next_at; /* when a token can be had; now, if there is one */
    lull_time full_at; /* when the bucket is full again */
    uint64_t refused;  /* since init */
};

/* A full bucket. NULL config: all defaults. */
LULL_MUST_USE LULL_API int lull_bucket_init(struct lull_bucket *bucket,
                                            const struct lull_bucket_config *config,
                                            struct lull_error *error);

/* New limits for a bucket in use. What was taken stays taken. */
LULL_MUST_USE LULL_API int lull_bucket_configure(struct lull_bucket *bucket,
                                                 const struct lull_bucket_config *config,
                                                 struct lull_error *error);

/* Takes `tokens` (≥ 1) or none: GO, or NO with the time when that many are there (LULL_NEVER if they exceed
 * the capacity). */
LULL_MUST_USE LULL_API struct lull_verdict lull_bucket_take(struct lull_bucket *bucket,
                                                            int64_t tokens, lull_time now);

/* Gives tokens back that were taken and not used. */
LULL_API void lull_bucket_return(struct lull_bucket *bucket, int64_t tokens);

LULL_API struct lull_bucket_stats lull_bucket_snapshot(const struct lull_bucket *bucket,
                                                       lull_time now);

#ifdef __cplusplus
}
#endif
#endif
