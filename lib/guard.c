#include <lull/guard.h>

#include "backoff.h"
#include "breaker.h"
#include "bucket.h"
#include "budget.h"
#include "bulkhead.h"
#include "check.h"
#include "saturate.h"
#include "window.h"

#include <lull/random.h>

#define ALL_WITHOUT                                                                                \
    (LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD)
#define LONGEST (100 * 365 * LULL_DAY)

/* The two questions have no array on their stack that could overflow; without a canary they are a tenth quicker. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define NO_ARRAYS __attribute__((no_stack_protector))
#endif
#endif
#ifndef NO_ARRAYS
#define NO_ARRAYS
#endif

/* What a call holds while an attempt is under way. */
enum {
    HOLDS_ATTEMPT = 1,
    HOLDS_BREAKER = 2,
    HOLDS_BULKHEAD = 4,
    HOLDS_TOKEN = 8,
    IS_WAITING = 16,
};
enum { CALL_IDEMPOTENT = 1, CALL_NOT_THE_EDGE = 2, CALL_PAYS_AT_ADMISSION = 4 };

/* ---- configuration ---- */

static int check_retry(struct lull_retry_config *retry, struct lull_error *error) {
    if (retry->attempts == 0)
        retry->attempts = LULL_RETRY_ATTEMPTS;
    if (retry->deadline == 0)
        retry->deadline = LULL_RETRY_DEADLINE;
    if (retry->attempt_timeout == 0)
        retry->attempt_timeout = LULL_NONE;
    if (retry->retry_after_cap == 0)
        retry->retry_after_cap = LULL_RETRY_AFTER_CAP;
    if (retry->retry_after_jitter == 0)
        retry->retry_after_jitter = LULL_RETRY_AFTER_JITTER;

    if (retry->deadline == LULL_NONE)
        retry->deadline = LULL_NEVER;
    else if (check_duration(error, "retry.deadline", retry->deadline, 1, LONGEST) != LULL_OK)
        return LULL_EINVAL;
    if (retry->attempt_timeout == LULL_NONE)
        retry->attempt_timeout = LULL_NEVER;
    else if (check_duration(error, "retry.attempt_timeout", retry->attempt_timeout, 1, LONGEST) !=
             LULL_OK)
        return LULL_EINVAL;
    if (retry->retry_after_jitter == LULL_NONE)
        retry->retry_after_jitter = 0;
    else if (check_number(error, "retry.retry_after_jitter", retry->retry_after_jitter, 0, 10) !=
             LULL_OK)
        return LULL_EINVAL;
    if (check_duration(error, "retry.retry_after_cap", retry->retry_after_cap, 1, LONGEST) !=
        LULL_OK)
        return LULL_EINVAL;
    return backoff_check(&retry->backoff, &retry->backoff, error);
}

/* Every default filled in, every field in range. */
static int settle(const struct lull_guard_config *config, struct lull_guard_config *settled,
                  struct lull_error *error) {
    struct lull_guard_config c = config != NULL ? *config : (struct lull_guard_config){0};
    if (check_retry(&c.retry, error) != LULL_OK ||
        breaker_check(&c.breaker, &c.breaker, error) != LULL_OK ||
        budget_check(&c.budget, &c.budget, error) != LULL_OK ||
        bucket_check(&c.bucket, &c.bucket, error) != LULL_OK ||
        bulkhead_check(&c.bulkhead, &c.bulkhead, error) != LULL_OK ||
        check_integer(error, "without", c.without, 0, ALL_WITHOUT) != LULL_OK ||
        check_duration(error, "connect_timeout", c.connect_timeout, 0, LONGEST) != LULL_OK ||
        check_duration(error, "read_timeout", c.read_timeout, 0, LONGEST) != LULL_OK)
        return LULL_EINVAL;
    *settled = c;
    return LULL_OK;
}

int lull_guard_check(const struct lull_guard_config *config, struct lull_error *error) {
    struct lull_guard_config settled;
    return settle(config, &settled, error);
}

static void apply(struct lull_guard *guard, const struct lull_guard_config *settled) {
    store(&guard->without, settled->without);
    store(&guard->attempts, settled->retry.attempts);
    store(&guard->deadline, settled->retry.deadline);
    store(&guard->attempt_timeout, settled->retry.attempt_timeout);
    store(&guard->retry_after_cap, settled->retry.retry_after_cap);
    store(&guard->retry_after_jitter, settled->retry.retry_after_jitter);
    backoff_apply(&guard->backoff, &settled->retry.backoff);
    breaker_apply(&guard->breaker, &settled->breaker);
    budget_apply(&guard->budget, &settled->budget);
    bucket_apply(&guard->bucket, &settled->bucket);
    bulkhead_apply(&guard->bulkhead, &settled->bulkhead);
}

int lull_guard_init(struct lull_guard *guard, const struct lull_guard_config *config,
                    struct lull_error *error) {
    struct lull_guard_config settled;
    int result = settle(config, &settled, error);
    if (result != LULL_OK)
        return result;
    breaker_reset(&guard->breaker, &settled.breaker);
    budget_reset(&guard->budget, settled.budget.window);
    bucket_reset(&guard->bucket);
    bulkhead_reset(&guard->bulkhead);
    lull_storm_init(&guard->storm);
    store(&guard->not_before, INT64_MIN);
    store(&guard->retries, 0);
    store(&guard->firsts_told, 0);
    for (int i = 0; i < LULL_CLASS_COUNT; i++)
        store(&guard->outcomes[i], 0);
    for (int i = 0; i < LULL_POLICY_COUNT; i++)
        store(&guard->refused[i], 0);
    for (int i = 0; i < LULL_REASON_COUNT; i++)
        store(&guard->stopped[i], 0);
    apply(guard, &settled);
    return LULL_OK;
}

int lull_guard_configure(struct lull_guard *guard, const struct lull_guard_config *config,
                         struct lull_error *error) {
    struct lull_guard_config settled;
    int result = settle(config, &settled, error);
    if (result == LULL_OK)
        result = breaker_check_change(&guard->breaker, &settled.breaker, error);
    if (result == LULL_OK)
        apply(guard, &settled);
    return result;
}

/* ---- the destination's clock ---- */

void lull_guard_pause(struct lull_guard *guard, lull_time until) {
    lull_time is = load(&guard->not_before);
    while (is < until && !swap_if(&guard->not_before, &is, until)) {
    }
}

void lull_guard_resume(struct lull_guard *guard) {
    store(&guard->not_before, INT64_MIN);
}

/* ---- a call ---- */

void lull_call_begin(const struct lull_guard *guard, struct lull_call *call,
                     const struct lull_call_options *options, uint64_t seed, lull_time now) {
    lull_duration deadline = load(&guard->deadline);
    uint8_t flags = 0;
    struct lull_call_options none = {0};
    if (options == NULL) {
        options = &none;
    } else {
        if (options->deadline != 0)
            deadline = options->deadline == LULL_NONE ? LULL_NEVER : most(options->deadline, 0);
        flags = (uint8_t)((options->idempotent ? CALL_IDEMPOTENT : 0) |
                          (options->not_the_edge ? CALL_NOT_THE_EDGE : 0) |
                          (options->pays_at_admission ? CALL_PAYS_AT_ADMISSION : 0));
    }
    *call = (struct lull_call){
        .random = seed,
        .deadline = deadline == LULL_NEVER ? LULL_NEVER : add_saturated(now, deadline),
        .previous = options->previous_delay,
        .attempt = options->attempts_made,
        .flags = flags,
    };
}

lull_duration lull_call_left(const struct lull_call *call, lull_time now) {
    if (call->deadline == LULL_NEVER)
        return LULL_NEVER;
    return most(subtract_saturated(call->deadline, now), 0);
}

/* ---- admission ---- */

static struct lull_verdict refuse(struct lull_guard *guard, enum lull_policy policy,
                                  enum lull_reason reason, lull_time at) {
    add(&guard->refused[policy], 1);
    return (struct lull_verdict){LULL_NO, policy, reason, at, 0};
}

static struct lull_verdict stop(struct lull_guard *guard, enum lull_policy policy,
                                enum lull_reason reason) {
    add(&guard->stopped[reason], 1);
    return (struct lull_verdict){LULL_STOP, policy, reason, LULL_NEVER, 0};
}

/* All policies said yes: the attempt begins. */
static struct lull_verdict go(struct lull_guard *guard, struct lull_call *call, lull_time now) {
    call->attempt++;
    call->attempt_began = now;
    call->held |= HOLDS_ATTEMPT;
    lull_duration timeout = least(load(&guard->attempt_timeout), lull_call_left(call, now));
    return (struct lull_verdict){LULL_GO, LULL_POLICY_NOBODY, LULL_REASON_NONE, now, timeout};
}

/* Gives the breaker's permit back without a vote. */
static void return_permit(struct lull_guard *guard, struct lull_call *call, lull_time now) {
    if (call->held & HOLDS_BREAKER)
        breaker_record_slow(&guard->breaker, call->permit, LULL_VOTE_NONE, 0, 0, now);
    call->held &= (uint8_t)~HOLDS_BREAKER;
}

/* Everybody is told a time of their own past the end of the pause, or they would all come back together. */
static lull_time past_the_clock(const struct lull_guard *guard, struct lull_call *call,
                                lull_time not_before, lull_time now) {
    lull_duration wait = subtract_saturated(not_before, now);
    lull_duration spread = from_double((double)wait * load(&guard->retry_after_jitter));
    return add_saturated(not_before, lull_uniform(lull_random_next(&call->random), 0, spread));
}

/* The destination asked to be left alone. */
static struct lull_verdict refuse_until(struct lull_guard *guard, struct lull_call *call,
                                        lull_time not_before, lull_time now) {
    return refuse(guard, LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER,
                  past_the_clock(guard, call, not_before, now));
}

/* The attempt will not begin: what was taken on the way in goes back. (A token only if this call took one: the guard may
 * have been configured to go with or without the rate limit while it waited.) */
static void give_back(struct lull_guard *guard, struct lull_call *call, lull_time now) {
    if (call->held & HOLDS_TOKEN)
        lull_bucket_return(&guard->bucket, 1);
    return_permit(guard, call, now);
    call->held = 0;
}

/* No room at the bulkhead for sure. */
static struct lull_verdict refuse_full(struct lull_guard *guard, struct lull_call *call,
                                       enum lull_reason reason, lull_time now) {
    give_back(guard, call, now);
    add(&guard->bulkhead.refused, 1);
    return refuse(guard, LULL_POLICY_BULKHEAD, reason, now);
}

/* A retry that was planned without being paid for. Asked last, for a token that was taken cannot be given back. */
static bool pay(struct lull_guard *guard, const struct lull_call *call, uint32_t without,
                lull_time now) {
    return !(call->flags & CALL_PAYS_AT_ADMISSION) || call->attempt == 0 ||
           (without & LULL_WITHOUT_BUDGET) || lull_budget_withdraw(&guard->budget, now);
}

static void leave(struct lull_guard *guard, struct lull_call *call) {
    if (call->held & HOLDS_BULKHEAD && !bulkhead_leave(&guard->bulkhead))
        bulkhead_hand_over(&guard->bulkhead);
}

static struct lull_verdict refuse_unpaid(struct lull_guard *guard, struct lull_call *call,
                                         lull_time now) {
    leave(guard, call);
    give_back(guard, call, now);
    return refuse(guard, LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT,
                  add_saturated(now, budget_pause(&guard->budget)));
}

__attribute__((always_inline)) static inline struct lull_verdict
admit(struct lull_guard *guard, struct lull_call *call, struct lull_waiter *waiter, lull_time now) {
    uint32_t without = load(&guard->without);
    lull_time due;
    if (call->held != 0)
        return stop(guard, LULL_POLICY_CALLER, LULL_REASON_MISUSE);
    if (now >= call->deadline)
        return stop(guard, LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED);
    lull_time not_before = load(&guard->not_before);
    if (now < not_before)
        return refuse_until(guard, call, not_before, now);
    if (!(without & LULL_WITHOUT_BREAKER)) {
        struct refusal refusal = breaker_admit(&guard->breaker, &call->permit, now);
        if (refusal.reason != LULL_REASON_NONE)
            return refuse(guard, LULL_POLICY_BREAKER, refusal.reason, refusal.at);
        call->held = HOLDS_BREAKER;
    }
    if (!(without & LULL_WITHOUT_BUCKET)) {
        if (!bucket_take(&guard->bucket, load(&guard->bucket.interval), now, &due)) {
            return_permit(guard, call, now);
            return refuse(guard, LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, due);
        }
        call->held |= HOLDS_TOKEN;
    }
    if (!(without & LULL_WITHOUT_BULKHEAD)) {
        if (!bulkhead_enter(&guard->bulkhead)) {
            enum lull_decision decision =
                waiter != NULL ? bulkhead_queue(&guard->bulkhead, waiter) : LULL_NO;
            if (decision == LULL_NO)
                return refuse_full(guard, call, LULL_REASON_FULL, now);
            if (decision == LULL_WAIT) {
                call->held |= IS_WAITING;
                return (struct lull_verdict){LULL_WAIT, LULL_POLICY_BULKHEAD, LULL_REASON_QUEUED,
                                             call->deadline, 0};
            }
        }
        call->held |= HOLDS_BULKHEAD;
    }
    if (!pay(guard, call, without, now))
        return refuse_unpaid(guard, call, now);
    return go(guard, call, now);
}

NO_ARRAYS struct lull_verdict lull_admit(struct lull_guard *guard, struct lull_call *call,
                                         lull_time now) {
    return admit(guard, call, NULL, now);
}

NO_ARRAYS struct lull_verdict lull_admit_or_wait(struct lull_guard *guard, struct lull_call *call,
                                                 struct lull_waiter *waiter, lull_time now) {
    return admit(guard, call, waiter, now);
}

struct lull_verdict lull_settle(struct lull_guard *guard, struct lull_call *call,
                                struct lull_waiter *waiter, lull_time now) {
    if (!(call->held & IS_WAITING))
        return stop(guard, LULL_POLICY_CALLER, LULL_REASON_MISUSE);
    call->held &= (uint8_t)~IS_WAITING;
    bool inside = lull_bulkhead_settle(&guard->bulkhead, waiter);
    bool in_time = inside && now < call->deadline;
    lull_time not_before = load(&guard->not_before);
    if (in_time && now >= not_before) {
        call->held |= HOLDS_BULKHEAD;
        if (!pay(guard, call, load(&guard->without), now))
            return refuse_unpaid(guard, call, now);
        return go(guard, call, now);
    }
    if (inside)
        lull_bulkhead_leave(&guard->bulkhead);
    if (!in_time)
        return refuse_full(guard, call, LULL_REASON_WAITED_TOO_LONG, now);
    give_back(guard, call, now); /* the clock was moved meanwhile */
    return refuse_until(guard, call, not_before, now);
}

/* ---- completion ---- */

/* Successes are counted by the budget's deposits, so that the common case costs one step less. First tries follow
 * from the rest. A retry is counted as such before its outcome is, and read after it: while others count, the difference
 * may be too small, never too large. */
static void count_attempts(struct lull_guard *guard, struct lull_guard_stats *stats) {
    uint64_t ended = 0;
    for (int i = 0; i < LULL_CLASS_COUNT; i++) {
        _Atomic(uint64_t) *count = i == LULL_SUCCESS ? &guard->budget.earned : &guard->outcomes[i];
        stats->outcomes[i] = atomic_load_explicit(count, memory_order_acquire);
        ended += stats->outcomes[i];
    }
    stats->retries = load(&guard->retries);
    uint64_t firsts = ended > stats->retries ? ended - stats->retries : 0;
    /* Too small now, it could be less than last time. A counter never goes back. */
    uint64_t told = load(&guard->firsts_told);
    while (told < firsts && !swap_if(&guard->firsts_told, &told, firsts)) {
    }
    stats->firsts = told > firsts ? told : firsts;
}

/* A new slice of the storm detector begins. Rare, and kept out of the way of what is not. */
__attribute__((noinline, cold)) static void observe_storm(struct lull_guard *guard, lull_time now) {
    struct lull_guard_stats stats;
    count_attempts(guard, &stats);
    lull_storm_observe(&guard->storm, stats.firsts, stats.retries, now);
}

static inline void count_outcome(struct lull_guard *guard, const struct lull_call *call,
                                 enum lull_class class_, lull_time now) {
    if (window_due(&guard->storm.window, now)) /* before this one counts: it is the new slice's */
        observe_storm(guard, now);
    if (call->attempt > 1)
        add(&guard->retries, 1);
    if (class_ == LULL_SUCCESS)
        budget_deposit(&guard->budget, now);
    else
        atomic_fetch_add_explicit(&guard->outcomes[class_], 1, memory_order_release);
}

void lull_call_abandon(struct lull_guard *guard, struct lull_call *call, lull_time now) {
    if (call->held & IS_WAITING)
        return;
    leave(guard, call);
    return_permit(guard, call, now);
    if (call->held & HOLDS_ATTEMPT)
        count_outcome(guard, call, LULL_CANCELLED, now);
    call->held = 0;
}

static enum lull_vote vote_of(enum lull_class class_) {
    switch (class_) {
    case LULL_SUCCESS:
    case LULL_PERMANENT: /* it answered; that the request is wrong says nothing against it */
        return LULL_VOTE_SUCCESS;
    case LULL_IGNORED:
    case LULL_CANCELLED:
        return LULL_VOTE_NONE;
    default:
        return LULL_VOTE_FAILURE;
    }
}

/* Is an outcome of this class worth another attempt, of this call? LULL_REASON_NONE: yes. */
static enum lull_reason final_reason(const struct lull_guard *guard, const struct lull_call *call,
                                     enum lull_class class_) {
    switch (class_) {
    case LULL_PERMANENT:
        return LULL_REASON_PERMANENT;
    case LULL_IGNORED:
        return LULL_REASON_IGNORED;
    case LULL_CANCELLED:
        return LULL_REASON_CANCELLED;
    case LULL_UNKNOWN:
        if (!(call->flags & CALL_IDEMPOTENT))
            return LULL_REASON_NOT_IDEMPOTENT;
        break;
    default:
        break;
    }
    if (call->flags & CALL_NOT_THE_EDGE)
        return LULL_REASON_NOT_THE_EDGE;
    if (call->attempt >= load(&guard->attempts))
        return LULL_REASON_ATTEMPTS_SPENT;
    return LULL_REASON_NONE;
}

static enum lull_policy policy_of(enum lull_reason reason) {
    switch (reason) {
    case LULL_REASON_CANCELLED:
        return LULL_POLICY_CALLER;
    case LULL_REASON_NOT_THE_EDGE:
    case LULL_REASON_ATTEMPTS_SPENT:
        return LULL_POLICY_RETRY;
    default:
        return LULL_POLICY_CLASSIFIER;
    }
}

/* When to try again: after the backoff, and not before the destination's clock, which this call or another may have moved. It
 * is jittered upwards only. A pause without an end is not slept through: the next admit tells of it. */
static lull_time next_attempt(struct lull_guard *guard, struct lull_call *call, bool throttled,
                              lull_time now) {
    call->previous = lull_backoff_delay(&guard->backoff, call->attempt, call->previous, throttled,
                                        lull_random_next(&call->random));
    lull_time at = add_saturated(now, call->previous);
    lull_time clock = load(&guard->not_before);
    if (clock > now && clock != LULL_NEVER)
        at = most(at, past_the_clock(guard, call, clock, now));
    return at;
}

static struct lull_verdict retry(struct lull_guard *guard, struct lull_call *call,
                                 struct lull_outcome outcome, lull_time now) {
    lull_duration asked = least(most(outcome.retry_after, 0), load(&guard->retry_after_cap));
    if (asked > 0 && vote_of(outcome.class_) == LULL_VOTE_FAILURE)
        lull_guard_pause(guard, add_saturated(now, asked));
    enum lull_reason reason = final_reason(guard, call, outcome.class_);
    if (reason != LULL_REASON_NONE)
        return stop(guard, policy_of(reason), reason);
    lull_time at = next_attempt(guard, call, outcome.class_ == LULL_THROTTLED, now);
    if (at >= call->deadline)
        return stop(guard, LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_TOO_NEAR);
    if (!(load(&guard->without) & LULL_WITHOUT_BUDGET) && !(call->flags & CALL_PAYS_AT_ADMISSION) &&
        !lull_budget_withdraw(&guard->budget, now))
        return stop(guard, LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT);
    return (struct lull_verdict){LULL_RETRY, LULL_POLICY_RETRY,
                                 asked > 0 ? LULL_REASON_RETRY_AFTER : LULL_REASON_BACKING_OFF, at,
                                 0};
}

NO_ARRAYS struct lull_verdict lull_complete(struct lull_guard *guard, struct lull_call *call,
                                            struct lull_outcome outcome, lull_time now) {
    bool known = (unsigned)outcome.class_ > LULL_UNSET && outcome.class_ < LULL_CLASS_COUNT;
    if (!(call->held & HOLDS_ATTEMPT) || !known) {
        lull_call_abandon(guard, call, now);
        return stop(guard, LULL_POLICY_CALLER, LULL_REASON_MISUSE);
    }
    leave(guard, call);
    if (call->held & HOLDS_BREAKER) {
        lull_duration took = subtract_saturated(now, call->attempt_began);
        /* The word is drawn only where it may be needed. */
        if (outcome.class_ != LULL_SUCCESS ||
            !breaker_record_quick(&guard->breaker, call->permit, took, now))
            breaker_record_slow(&guard->breaker, call->permit, vote_of(outcome.class_), took,
                                lull_random_next(&call->random), now);
    }
    call->held = 0;
    count_outcome(guard, call, outcome.class_, now);
    if (outcome.class_ != LULL_SUCCESS)
        return retry(guard, call, outcome, now);
    return (struct lull_verdict){LULL_DONE, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED, now, 0};
}

/* ---- looking at it ---- */

void lull_guard_snapshot(struct lull_guard *guard, struct lull_guard_stats *stats, lull_time now) {
    lull_time not_before = load(&guard->not_before);
    *stats = (struct lull_guard_stats){
        .not_before = not_before == INT64_MIN ? 0 : not_before,
        .breaker = lull_breaker_snapshot(&guard->breaker, now),
        .budget = lull_budget_snapshot(&guard->budget, now),
        .bucket = lull_bucket_snapshot(&guard->bucket, now),
        .bulkhead = lull_bulkhead_snapshot(&guard->bulkhead),
    };
    count_attempts(guard, stats);
    lull_storm_observe(&guard->storm, stats->firsts, stats->retries, now);
    stats->storm = lull_storm_snapshot(&guard->storm, now);
    for (int i = 0; i < LULL_POLICY_COUNT; i++)
        stats->refused[i] = load(&guard->refused[i]);
    for (int i = 0; i < LULL_REASON_COUNT; i++)
        stats->stopped[i] = load(&guard->stopped[i]);
}
