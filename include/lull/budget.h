/* Retry budget: retries may be a share of the successes, no more.
 *
 * Each success deposits `ratio` tokens; each retry withdraws one, that is, it costs 1/ratio successes. A deposit not spent within `window` is gone.
 * So that a burst of good weather cannot finance a storm, the balance is capped at `cap_seconds` ×
 * one second's earnings (averaged over the window). And so that a quiet client can still retry, `floor`
 * retries a second are free on top, as a token bucket of one second's depth.
 *
 *   ratio 0.1:  1,000 successes and then 10,000 failures within a window cost at most 100 retries,
 *               plus 10 at once and 10 a second from the floor.
 *
 * How it is kept, in successes: `earned` only grows. `spent` only grows: by 1/ratio a retry, and by what has expired, for
 * expiry is spending of what was earned before the window began. The balance is their difference, so a
 * withdrawal is one compare-and-swap on `spent`, and concurrent callers cannot overspend. Every function may
 * be called from any thread.
 *
 * The window moves in ten slices: a deposit lives at least nine tenths of the window and never
 * longer than all of it.
 */
#ifndef LULL_BUDGET_H
#define LULL_BUDGET_H

#include <lull/base.h>
#include <lull/bucket.h>
#include <lull/window.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_BUDGET_RATIO 0.1
#define LULL_BUDGET_WINDOW (10 * LULL_SECOND)
#define LULL_BUDGET_CAP_SECONDS 5.0
#define LULL_BUDGET_FLOOR 10
#define LULL_BUDGET_SLICES 10

struct lull_budget_config {
    double ratio;         /* tokens a success earns, 0.000001 … 1000; LULL_NONE: only the floor */
    lull_duration window; /* 10 µs … 1 day */
    double cap_seconds;   /* > 0; LULL_NONE: no cap but the window */
    int64_t floor;        /* free retries a second, > 0; LULL_NONE: none */
};

struct lull_budget {              /* private */
    LULL_ATOMIC(uint64_t) earned; /* successes, ever */
    LULL_ATOMIC(uint64_t) spent;  /* of them, in 2^-20ths */
    LULL_ATOMIC(uint64_t) price;  /* of a retry, in 2^-20ths of a success; 0: only the floor pays */
    LULL_ATOMIC(double) cap_share; /* of the window's earnings */
    struct lull_window window;
    LULL_ATOMIC(uint64_t) starts[LULL_BUDGET_SLICES]; /* `earned` when each slice began */
    LULL_ATOMIC(uint64_t) expired;                    /* `earned` when the window began */
    struct lull_bucket floor;
    LULL_ATOMIC(bool) has_floor;
    LULL_ATOMIC(uint64_t) withdrawn;
    LULL_ATOMIC(uint64_t) refused;
};

struct lull_budget_stats {
    double tokens;      /* retries that could be had now, the floor's included */
    uint64_t successes; /* deposited since init */
    uint64_t withdrawn; /* retries paid for since init */
    uint64_t refused;   /* retries refused since init */
};

LULL_MUST_USE LULL_API int lull_budget_init(struct lull_budget *budget,
                                            const struct lull_budget_config *config,
                                            struct lull_error *error);
/* New terms; the balance, in successes, is kept. A new window length takes effect as slices begin. */
LULL_MUST_USE LULL_API int lull_budget_configure(struct lull_budget *budget,
                                                 const struct lull_budget_config *config,
                                                 struct lull_error *error);

/* A call succeeded. */
LULL_API void lull_budget_deposit(struct lull_budget *budget, lull_time now);

/* May one retry be made? True pays for it. */
LULL_MUST_USE LULL_API bool lull_budget_withdraw(struct lull_budget *budget, lull_time now);

LULL_API struct lull_budget_stats lull_budget_snapshot(struct lull_budget *budget, lull_time now);

#ifdef __cplusplus
}
#endif
#endif
