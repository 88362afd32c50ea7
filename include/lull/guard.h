/* Guard: the policies that protect one destination, composed.
 *
 *   Retry + Budget( Breaker( RateLimit( Bulkhead( AttemptTimeout( call )))))      under the call's deadline
 *
 * Two questions, asked by everyone:
 *
 *   lull_admit     may this attempt start?     GO, or NO {policy, reason, not before}
 *   lull_complete  it ended so. What now?      DONE, RETRY {at}, or STOP {policy, reason}
 *
 * A guard is shared by all threads that call its destination; a call is one caller's ticket, on its stack,
 * used by one thread at a time. Neither function takes a lock, allocates, reads a clock or sleeps.
 *
 *   lull_call_begin(&guard, &call, NULL, seed, now);
 *   for (;;) {
 *       v = lull_admit(&guard, &call, now);
 *       if (v.decision == LULL_NO) …fail fast, or ask again at v.at: no attempt is charged for a refusal…
 *       …make the attempt within v.timeout…
 *       v = lull_complete(&guard, &call, outcome, now);
 *       if (v.decision != LULL_RETRY) break;
 *       …come back at v.at; no permit is held meanwhile…
 *   }
 *
 * A worked example (attempts 3, base 100 ms, × 2, no jitter, deadline 1 s), starting at 0:
 *   admit at 0 → GO, timeout 1 s.        complete(transient) at 50 ms → RETRY at 150 ms.
 *   admit at 150 ms → GO, timeout 850 ms. complete(throttled, Retry-After 2 s) → STOP, deadline, "the next attempt
 *   would start past the deadline"; and every other call is told NO until 2.15 s, for Retry-After moves the
 *   destination's clock.
 *
 * When an attempt's outcome will never be known to the caller (its task was dropped), lull_call_abandon gives its permits back.
 */
#ifndef LULL_GUARD_H
#define LULL_GUARD_H

#include <lull/backoff.h>
#include <lull/base.h>
#include <lull/breaker.h>
#include <lull/bucket.h>
#include <lull/budget.h>
#include <lull/bulkhead.h>
#include <lull/classify.h>
#include <lull/storm.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_RETRY_ATTEMPTS 5
#define LULL_RETRY_DEADLINE (5 * LULL_SECOND)
#define LULL_RETRY_AFTER_CAP LULL_HOUR
#define LULL_RETRY_AFTER_JITTER 0.1

struct lull_retry_config {
    uint32_t attempts; /* the first try included, ≥ 1 */
    struct lull_backoff_config backoff;
    lull_duration deadline;        /* for the whole call, retries and all; LULL_NONE: none */
    lull_duration attempt_timeout; /* for one attempt; default: none but the deadline */
    lull_duration retry_after_cap; /* a destination cannot silence us for longer */
    double retry_after_jitter;     /* Retry-After 10 s at 0.1: 10 … 11 s; LULL_NONE: none */
};

/* Policies a guard may go without. */
enum {
    LULL_WITHOUT_BREAKER = 1,
    LULL_WITHOUT_BUDGET = 2,
    LULL_WITHOUT_BUCKET = 4,
    LULL_WITHOUT_BULKHEAD = 8,
};

struct lull_guard_config {
    struct lull_retry_config retry;
    struct lull_breaker_config breaker;
    struct lull_budget_config budget;
    struct lull_bucket_config bucket;
    struct lull_bulkhead_config bulkhead;
    uint32_t without; /* LULL_WITHOUT_… */
    /* For the transport that makes the attempt; the guard does not look at them. 0: the transport's own. */
    lull_duration connect_timeout, read_timeout;
};

struct lull_guard { /* private */
    LULL_ATOMIC(uint32_t) without;
    LULL_ATOMIC(uint32_t) attempts;
    LULL_ATOMIC(lull_duration) deadline, attempt_timeout, retry_after_cap;
    LULL_ATOMIC(double) retry_after_jitter;
    LULL_ATOMIC(lull_time)
    not_before; /* the destination's clock, moved by Retry-After and by hand */
    struct lull_bucket bucket;
    struct lull_bulkhead bulkhead;
    struct lull_budget budget;
    struct lull_breaker breaker;
    struct lull_backoff backoff;
    struct lull_storm storm;
    LULL_ATOMIC(uint64_t) retries;                    /* ended */
    LULL_ATOMIC(uint64_t) outcomes[LULL_CLASS_COUNT]; /* but successes: the budget counts those */
    LULL_ATOMIC(uint64_t) firsts_told;
    LULL_ATOMIC(uint64_t) refused[LULL_POLICY_COUNT];
    LULL_ATOMIC(uint64_t) stopped[LULL_REASON_COUNT];
};

struct lull_call_options {
    lull_duration
        deadline; /* instead of the guard's; 0: the guard's; LULL_NONE: none. One that you compute: at least 1 */
    bool idempotent; /* an unknown outcome may be retried */
    bool
        not_the_edge; /* the request came with Lull-Attempt: somebody upstream retries, so we do not */
    /* Retries are paid for when they start, not when they are planned. For calls whose delays are
     * longer than the budget's memory, as those of a durable queue: an empty budget is then a NO at
     * admission, until there is a token again, and never ends the call. */
    bool pays_at_admission;
    /* A call that goes on after others of its attempts, made before a restart, say. */
    uint32_t attempts_made;
    lull_duration previous_delay; /* before the last of them */
};

struct lull_call {      /* private, but for what the comments say */
    uint64_t random;    /* its generator's state */
    lull_time deadline; /* readable: LULL_NEVER if none */
    lull_time attempt_began;
    lull_duration previous; /* readable: delay before the attempt to come, or made last */
    uint32_t attempt;       /* readable: number of the attempt being made or made last, from 1 */
    uint32_t permit;
    uint8_t held;
    uint8_t flags;
};

struct lull_guard_stats {
    uint64_t firsts, retries;            /* attempts ended: first tries, later tries */
    uint64_t outcomes[LULL_CLASS_COUNT]; /* the same, by class */
    uint64_t refused[LULL_POLICY_COUNT]; /* admissions refused, by policy */
    uint64_t stopped[LULL_REASON_COUNT]; /* calls given up, by reason */
    lull_time not_before;                /* the destination's clock; 0 if never moved */
    struct lull_breaker_stats breaker;
    struct lull_budget_stats budget;
    struct lull_bucket_stats bucket;
    struct lull_bulkhead_stats bulkhead;
    struct lull_storm_stats storm;
};

/* Checks `config` (NULL: all defaults) without keeping it. */
LULL_MUST_USE LULL_API int lull_guard_check(const struct lull_guard_config *config,
                                            struct lull_error *error);
/* The guard lives in the caller's memory (about 4 kB), must not be moved while in use, and needs no cleaning up. */
LULL_MUST_USE LULL_API int lull_guard_init(struct lull_guard *guard,
                                           const struct lull_guard_config *config,
                                           struct lull_error *error);
/* New settings for a guard in use; state is kept: circuit, window, tokens, balance, clock, calls inside. On
 * LULL_EINVAL nothing changes. Fields change one by one: a call that is just being decided may see old and new ones. From
 * one thread at a time. */
LULL_MUST_USE LULL_API int lull_guard_configure(struct lull_guard *guard,
                                                const struct lull_guard_config *config,
                                                struct lull_error *error);

/* Starts a call: no attempt yet. `options` may be NULL; `seed` is any number that differs between calls. */
LULL_API void lull_call_begin(const struct lull_guard *guard, struct lull_call *call,
                              const struct lull_call_options *options, uint64_t seed,
                              lull_time now);

/* May the next attempt start? GO, NO, or STOP if the call's deadline has passed. A full bulkhead cannot say when it will not be:
 * its NO is "not before now"; to wait for it, queue with lull_admit_or_wait. A GO must be followed by lull_complete or
 * lull_call_abandon. */
LULL_MUST_USE LULL_API struct lull_verdict lull_admit(struct lull_guard *guard,
                                                      struct lull_call *call, lull_time now);
/* The same, but queues at a full bulkhead if there is room: WAIT, and `waiter` will be woken. A WAIT must be followed by
 * lull_settle, whether woken or not. */
LULL_MUST_USE LULL_API struct lull_verdict lull_admit_or_wait(struct lull_guard *guard,
                                                              struct lull_call *call,
                                                              struct lull_waiter *waiter,
                                                              lull_time now);
/* Ends a WAIT: GO, or NO (woken too late, not at all, or into a pause). WAIT's `at` is when to stop waiting: the deadline. */
LULL_MUST_USE LULL_API struct lull_verdict lull_settle(struct lull_guard *guard,
                                                       struct lull_call *call,
                                                       struct lull_waiter *waiter, lull_time now);

/* The attempt ended. */
LULL_MUST_USE LULL_API struct lull_verdict lull_complete(struct lull_guard *guard,
                                                         struct lull_call *call,
                                                         struct lull_outcome outcome,
                                                         lull_time now);

/* Gives back whatever the call holds; votes for nothing. Safe at any point but during a WAIT (settle that first). */
LULL_API void lull_call_abandon(struct lull_guard *guard, struct lull_call *call, lull_time now);

/* Time left until the call's deadline: LULL_NEVER without one, 0 when it has passed. */
LULL_API lull_duration lull_call_left(const struct lull_call *call, lull_time now);

/* Moves the destination's clock: nothing is admitted before `until`. Never moves it back; lull_guard_resume does. */
LULL_API void lull_guard_pause(struct lull_guard *guard, lull_time until);
LULL_API void lull_guard_resume(struct lull_guard *guard);

LULL_API void lull_guard_snapshot(struct lull_guard *guard, struct lull_guard_stats *stats,
                                  lull_time now);

#ifdef __cplusplus
}
#endif
#endif
