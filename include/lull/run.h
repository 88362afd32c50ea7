/* lull_run: the blocking helper for ordinary C code.
 *
 * Calls your function under a guard: waits for a free place, makes the attempt, sleeps between
 * attempts, stops when a policy says so. This and pool.h are the only parts of lull that read a
 * clock (CLOCK_MONOTONIC) or sleep.
 *
 *   static struct lull_outcome ping(void *arg, const struct lull_attempt *attempt) {
 *       return try_once(arg, attempt->timeout) ? (struct lull_outcome){ .class_ = LULL_SUCCESS }
 *                                              : (struct lull_outcome){ .class_ = LULL_TRANSIENT };
 *   }
 *   int error = lull_run(&guard, ping, host, NULL, &result);
 *
 * It cannot interrupt your function: keep to attempt->timeout (a socket time-out helps). It can
 * interrupt its own sleep and its waiting: see lull_cancel.
 *
 *   returns            meaning                                  result.verdict
 *   LULL_OK            the last attempt succeeded               DONE
 *   LULL_EREFUSED      a policy refused an attempt              NO, with policy, reason, time; or
 *                                                               STOP, if none could begin in time
 *   LULL_EFAILED       it was tried and given up                STOP, with policy and reason
 *   LULL_ECANCELLED    the cancel was pulled, or the            STOP, caller, cancelled
 *                      function's outcome was `cancelled`
 *   LULL_EINVAL        no guard or no function; the result is left alone
 *
 * With a fallback, its outcome replaces a failure (not a cancellation): LULL_OK if it succeeds, and
 * the verdict still says why it was needed.
 */
#ifndef LULL_RUN_H
#define LULL_RUN_H

#include <lull/guard.h>
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Now, on the clock that lull_run and the pool use. */
LULL_API lull_time lull_clock(void);

/* A string to pull from another thread (not from a signal handler). One may serve many calls:
 * pulling it ends them all, and once pulled it stays so. An attempt under way is not interrupted,
 * and if it decides the call, that stands. */
struct lull_sleeper;
struct lull_cancel { /* private */
    pthread_mutex_t mutex;
    LULL_ATOMIC(bool) pulled;
    struct lull_sleeper *sleepers; /* calls to wake */
};
LULL_MUST_USE LULL_API int lull_cancel_init(struct lull_cancel *cancel);
LULL_API void lull_cancel_clean_up(struct lull_cancel *cancel); /* no call may be using it */
LULL_API void lull_cancel_pull(struct lull_cancel *cancel);
LULL_API bool lull_cancel_pulled(const struct lull_cancel *cancel);

struct lull_attempt {
    uint32_t number;            /* from 1: send it on as Lull-Attempt; 0: the fallback */
    lull_duration timeout;      /* be done by then (LULL_NEVER: no bound) */
    lull_time deadline;         /* of the whole call, on lull_clock (LULL_NEVER: none) */
    struct lull_cancel *cancel; /* the options', or NULL: long work may look at it */
};
typedef struct lull_outcome lull_run_fn(void *arg, const struct lull_attempt *attempt);

struct lull_run_options {
    struct lull_call_options call;
    struct lull_cancel *cancel; /* borrowed; may be NULL */
    /* Refused by breaker, rate limit or Retry-After: wait for `at` instead of failing, if the
     * deadline allows. (A place in the bulkhead's queue is always waited for.) */
    bool wait;
    /* The last resort, called at most once, bound by no policy (attempt->timeout is LULL_NEVER);
     * may be NULL. */
    lull_run_fn *fallback;
    /* Told after each attempt, before any sleep; may be NULL. */
    void (*on_attempt)(void *arg, const struct lull_attempt *attempt, struct lull_outcome outcome,
                       struct lull_verdict verdict);
    uint64_t seed; /* of the jitter; 0: from the system */
};

struct lull_run_result {
    struct lull_verdict verdict; /* the last one */
    struct lull_outcome outcome; /* of the last attempt; UNSET if none was made */
    uint32_t attempts;           /* made */
    lull_duration elapsed;
    bool fell_back; /* the fallback was called */
};

/* `options` and `result` may be NULL. */
LULL_API int lull_run(struct lull_guard *guard, lull_run_fn *function, void *arg,
                      const struct lull_run_options *options, struct lull_run_result *result);

#ifdef __cplusplus
}
#endif
#endif
