/* Two things end a call's sleep early: a place at the bulkhead, and a pulled cancel. Both wake the
 * same *sleeper*, one mutex and condition on the stack of lull_run, so there is one thing to sleep
 * on and nothing to poll.
 *
 * Its life: the bulkhead knows it (through the waiter) from a WAIT until lull_settle; a cancel
 * knows it only while it sleeps, from its list. Each wakes it under its own lock, and is left
 * under that same lock, so when lull_run returns nobody is about to wake it any more.
 *
 * Lock order: a cancel's mutex, or a bulkhead's spin lock, before a sleeper's mutex. A sleeper
 * takes no other lock while it holds its own.
 */
#include <lull/run.h>

#include <lull/random.h>

#include "saturate.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

lull_time lull_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * LULL_SECOND + time.tv_nsec;
}

/* ---- the sleeper ---- */

struct lull_sleeper {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool woken;
    struct lull_sleeper *next, *previous; /* in its cancel's list */
};

/* Cannot fail: the attributes are valid, and nothing is allocated. */
static void sleeper_init(struct lull_sleeper *sleeper) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sleeper->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&sleeper->mutex, NULL);
}

static void sleeper_clean_up(struct lull_sleeper *sleeper) {
    pthread_cond_destroy(&sleeper->changed);
    pthread_mutex_destroy(&sleeper->mutex);
}

static void sleeper_wake(struct lull_sleeper *sleeper) {
    pthread_mutex_lock(&sleeper->mutex);
    sleeper->woken = true;
    pthread_cond_signal(&sleeper->changed);
    pthread_mutex_unlock(&sleeper->mutex);
}

/* Sleeps until then, or until woken, be that before it lay down. */
static void sleeper_sleep(struct lull_sleeper *sleeper, lull_time until) {
    struct timespec limit = {.tv_sec = until / LULL_SECOND, .tv_nsec = until % LULL_SECOND};
    int result = 0;
    pthread_mutex_lock(&sleeper->mutex);
    while (!sleeper->woken && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&sleeper->changed, &sleeper->mutex, &limit);
    pthread_mutex_unlock(&sleeper->mutex);
}

/* ---- the cancel ---- */

int lull_cancel_init(struct lull_cancel *cancel) {
    if (cancel == NULL)
        return LULL_EINVAL;
    if (pthread_mutex_init(&cancel->mutex, NULL) != 0)
        return LULL_ESYSTEM;
    atomic_init(&cancel->pulled, false);
    cancel->sleepers = NULL;
    return LULL_OK;
}

void lull_cancel_clean_up(struct lull_cancel *cancel) {
    pthread_mutex_destroy(&cancel->mutex);
}

void lull_cancel_pull(struct lull_cancel *cancel) {
    pthread_mutex_lock(&cancel->mutex);
    atomic_store_explicit(&cancel->pulled, true, memory_order_release);
    for (struct lull_sleeper *sleeper = cancel->sleepers; sleeper != NULL; sleeper = sleeper->next)
        sleeper_wake(sleeper);
    pthread_mutex_unlock(&cancel->mutex);
}

/* What was written before the pull is seen by whoever sees the pull. */
bool lull_cancel_pulled(const struct lull_cancel *cancel) {
    return atomic_load_explicit(&cancel->pulled, memory_order_acquire);
}

/* False, and not on the list, if it was pulled already. */
static bool cancel_join(struct lull_cancel *cancel, struct lull_sleeper *sleeper) {
    pthread_mutex_lock(&cancel->mutex);
    bool joins = !lull_cancel_pulled(cancel);
    if (joins) {
        sleeper->previous = NULL;
        sleeper->next = cancel->sleepers;
        if (sleeper->next != NULL)
            sleeper->next->previous = sleeper;
        cancel->sleepers = sleeper;
    }
    pthread_mutex_unlock(&cancel->mutex);
    return joins;
}

static void cancel_leave(struct lull_cancel *cancel, struct lull_sleeper *sleeper) {
    pthread_mutex_lock(&cancel->mutex);
    if (sleeper->previous != NULL)
        sleeper->previous->next = sleeper->next;
    else
        cancel->sleepers = sleeper->next;
    if (sleeper->next != NULL)
        sleeper->next->previous = sleeper->previous;
    pthread_mutex_unlock(&cancel->mutex);
}

/* ---- one run ---- */

struct run {
    struct lull_guard *guard;
    lull_run_fn *function;
    void *arg;
    const struct lull_run_options *options;
    struct lull_call call;
    struct lull_sleeper sleeper;
    struct lull_run_result result;
};

static const struct lull_verdict cancelled = {
    .decision = LULL_STOP,
    .policy = LULL_POLICY_CALLER,
    .reason = LULL_REASON_CANCELLED,
    .at = LULL_NEVER,
};

static bool is_cancelled(const struct run *run) {
    return run->options->cancel != NULL && lull_cancel_pulled(run->options->cancel);
}

/* Sleeps until then, or until woken by a place or by the cancel. */
static void nap(struct run *run, lull_time until) {
    struct lull_cancel *cancel = run->options->cancel;
    if (cancel == NULL) {
        sleeper_sleep(&run->sleeper, until);
    } else if (cancel_join(cancel, &run->sleeper)) {
        sleeper_sleep(&run->sleeper, until);
        cancel_leave(cancel, &run->sleeper);
    }
}

/* Runs under the bulkhead's spin lock. */
static void wake_waiter(struct lull_waiter *waiter) {
    sleeper_wake(waiter->context);
}

/* May the next attempt start? If there is a queue at the bulkhead, comes back at its end. */
static struct lull_verdict admit(struct run *run, lull_time now) {
    struct lull_waiter waiter = {.wake = wake_waiter, .context = &run->sleeper};
    struct lull_verdict verdict = lull_admit_or_wait(run->guard, &run->call, &waiter, now);
    if (verdict.decision != LULL_WAIT)
        return verdict;
    nap(run, run->call.deadline);
    now = lull_clock();
    verdict = lull_settle(run->guard, &run->call, &waiter, now);
    if (!is_cancelled(run))
        return verdict;
    lull_call_abandon(run->guard, &run->call, now); /* the place, if it got one */
    return cancelled;
}

static struct lull_verdict attempt(struct run *run, lull_duration timeout) {
    const struct lull_run_options *options = run->options;
    struct lull_attempt this = {
        .number = run->call.attempt,
        .timeout = timeout,
        .deadline = run->call.deadline,
        .cancel = options->cancel,
    };
    struct lull_outcome outcome = run->function(run->arg, &this);
    struct lull_verdict verdict = lull_complete(run->guard, &run->call, outcome, lull_clock());
    run->result.attempts++;
    run->result.outcome = outcome;
    if (options->on_attempt != NULL)
        options->on_attempt(run->arg, &this, outcome, verdict);
    return verdict;
}

/* Is it worth waiting until the refusing policy lets us ask again? Not for the bulkhead: that had
 * its queue. And not for LULL_NEVER: that is before no deadline. */
static bool waits_out(const struct run *run, const struct lull_verdict *refusal) {
    bool passes = refusal->policy == LULL_POLICY_BREAKER || refusal->policy == LULL_POLICY_BUCKET ||
                  refusal->policy == LULL_POLICY_CLOCK;
    return run->options->wait && passes && refusal->at < run->call.deadline;
}

/* All attempts, and the sleep between them. */
static struct lull_verdict conduct(struct run *run, lull_time now) {
    while (!is_cancelled(run)) {
        struct lull_verdict verdict = admit(run, now);
        if (verdict.decision == LULL_GO)
            verdict = attempt(run, verdict.timeout);
        bool goes_on = verdict.decision == LULL_RETRY ||
                       (verdict.decision == LULL_NO && waits_out(run, &verdict));
        if (!goes_on)
            return verdict;
        run->sleeper.woken = false; /* a place may have woken it; nobody knows it now */
        nap(run, verdict.at);
        now = lull_clock();
    }
    return cancelled;
}

static int code_of(const struct lull_run_result *result) {
    if (result->verdict.decision == LULL_DONE)
        return LULL_OK;
    if (result->verdict.reason == LULL_REASON_CANCELLED)
        return LULL_ECANCELLED;
    if (result->verdict.decision == LULL_NO || result->attempts == 0)
        return LULL_EREFUSED;
    return LULL_EFAILED;
}

static int fall_back(struct run *run, int code) {
    if (code == LULL_OK || code == LULL_ECANCELLED || run->options->fallback == NULL)
        return code;
    struct lull_attempt last_resort = {
        .timeout = LULL_NEVER,
        .deadline = run->call.deadline,
        .cancel = run->options->cancel,
    };
    run->result.fell_back = true;
    struct lull_outcome outcome = run->options->fallback(run->arg, &last_resort);
    return outcome.class_ == LULL_SUCCESS ? LULL_OK : code;
}

/* Jitter needs calls to differ, not to be secret: where the system has no randomness yet, time and
 * place do. */
static uint64_t draw_seed(const struct run *run, lull_time now) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    uint64_t place = (uintptr_t)run;
    seed = lull_random_next(&place) ^ (uint64_t)now;
    return lull_random_next(&seed);
}

int lull_run(struct lull_guard *guard, lull_run_fn *function, void *arg,
             const struct lull_run_options *options, struct lull_run_result *result) {
    static const struct lull_run_options defaults;
    if (guard == NULL || function == NULL)
        return LULL_EINVAL;
    struct run run = {
        .guard = guard,
        .function = function,
        .arg = arg,
        .options = options != NULL ? options : &defaults,
    };
    lull_time began = lull_clock();
    uint64_t seed = run.options->seed != 0 ? run.options->seed : draw_seed(&run, began);
    sleeper_init(&run.sleeper);
    lull_call_begin(guard, &run.call, &run.options->call, seed, began);
    run.result.verdict = conduct(&run, began);
    sleeper_clean_up(&run.sleeper);
    int code = fall_back(&run, code_of(&run.result));
    run.result.elapsed = subtract_saturated(lull_clock(), began);
    if (result != NULL)
        *result = run.result;
    return code;
}
