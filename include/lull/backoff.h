/* Backoff: how long to wait before retry n.
 *
 * The exponential term is d = min(cap, base · multiplier^(n-1)); jitter is applied to d. The cap bounds
 * d *before* jitter: clamping afterwards would pile retries up at exactly the cap and synchronise
 * them again.
 *
 *   base 100 ms, × 2, cap 2 s:      d = 100 ms, 200 ms, 400 ms, 800 ms, 1.6 s, 2 s, 2 s, …
 *
 *   kind            delay                                     d = 400 ms gives
 *   none            d                                         400 ms
 *   full            uniform [0, d]                            0 … 400 ms           (default)
 *   equal           d/2 + uniform [0, d/2]                    200 … 400 ms
 *   decorrelated    uniform [base, min(cap, 3 · previous)]    100 ms … 3 × the last delay
 *   additive f      d + uniform [0, f·d]                      400 … 600 ms at f = 0.5
 *   proportional f  uniform [(1-f)·d, (1+f)·d]                200 … 600 ms at f = 0.5
 *
 * Instead of the exponential, the delays may be named outright ("tiers"): retry n waits tiers[n-1],
 * and the last tier serves all later retries. The cap does not apply to them; jitter does.
 *
 * After a throttle signal (429, or 503 with Retry-After) full jitter could draw close to zero, which is
 * just what the destination asked us not to do: equal jitter is used there.
 */
#ifndef LULL_BACKOFF_H
#define LULL_BACKOFF_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_BACKOFF_BASE (100 * LULL_MILLISECOND)
#define LULL_BACKOFF_CAP (2 * LULL_SECOND)
#define LULL_BACKOFF_MULTIPLIER 2.0
#define LULL_BACKOFF_JITTER LULL_JITTER_FULL
#define LULL_BACKOFF_JITTER_FACTOR 0.5
#define LULL_BACKOFF_MAX_TIERS 8

enum lull_jitter {
    LULL_JITTER_DEFAULT, /* full */
    LULL_JITTER_NONE,
    LULL_JITTER_FULL,
    LULL_JITTER_EQUAL,
    LULL_JITTER_DECORRELATED,
    LULL_JITTER_ADDITIVE,
    LULL_JITTER_PROPORTIONAL,
};

struct lull_backoff_config {
    lull_duration base; /* > 0 */
    lull_duration cap;  /* ≥ base */
    double multiplier;  /* ≥ 1 */
    enum lull_jitter jitter;
    double jitter_factor;                        /* 0 < f ≤ 1; for additive and proportional */
    uint32_t tier_count;                         /* 0: exponential */
    lull_duration tiers[LULL_BACKOFF_MAX_TIERS]; /* each > 0 */
};

/* The settled configuration; holds no state of any call. Fields are private. */
struct lull_backoff {
    LULL_ATOMIC(lull_duration) base;
    LULL_ATOMIC(lull_duration) cap;
    LULL_ATOMIC(double) multiplier;
    LULL_ATOMIC(double) jitter_factor;
    LULL_ATOMIC(uint32_t) jitter;
    LULL_ATOMIC(uint32_t) tier_count;
    LULL_ATOMIC(lull_duration) tiers[LULL_BACKOFF_MAX_TIERS];
};

/* Checks `config` (NULL: all defaults) and settles it in `backoff`. LULL_EINVAL leaves `backoff` as it was and
 * fills `error` (may be NULL). Calling it again while other threads ask for delays is fine: they see
 * the old or the new values. */
LULL_MUST_USE LULL_API int lull_backoff_init(struct lull_backoff *backoff,
                                             const struct lull_backoff_config *config,
                                             struct lull_error *error);

/* The exponential term d (or tier) of retry n, from 1. Saturates at the cap for any n. */
LULL_API lull_duration lull_backoff_term(const struct lull_backoff *backoff, uint32_t retry);

/* The delay before retry n, from 1. `previous` is what this function returned for the retry before
 * (0 if none; only decorrelated jitter looks at it); `word` is one word of randomness. */
LULL_API lull_duration lull_backoff_delay(const struct lull_backoff *backoff, uint32_t retry,
                                          lull_duration previous, bool throttled, uint64_t word);

LULL_API const char *lull_jitter_name(enum lull_jitter jitter);
/* LULL_EINVAL if no kind has that name. */
LULL_MUST_USE LULL_API int lull_jitter_parse(const char *name, enum lull_jitter *jitter);

#ifdef __cplusplus
}
#endif
#endif
