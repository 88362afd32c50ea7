/* What the tests of the composed guard share. It is held to its header and to section 1 of the specification. Time is a
 * number, and the words that a call draws follow from its seed (splitmix64), so each verdict is written down beforehand, to
 * the nanosecond.
 *
 * What a call draws, in this order: at a failure one word for the breaker (unless it goes without one) and one for the
 * backoff; then, if it came with Retry-After, one for the jitter on top of that. An admission draws one if the clock refuses
 * it. */
#ifndef LULL_TESTS_GUARD_FIXTURE_H
#define LULL_TESTS_GUARD_FIXTURE_H

#include <lull/guard.h>
#include <lull/random.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MILLISECONDS(n) ((n)*LULL_MILLISECOND)
#define SECONDS(n) ((n)*LULL_SECOND)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* splitmix64 from this seed begins, by its authors' reference, with 6457827717110365317, 3203168211198807973. */
#define KNOWN_SEED 1234567

/* ---- a guard, its calls, and what they are told ---- */

static struct lull_guard guard;

/* Three attempts, 100 ms and then 200 ms apart, no deadline. */
static const struct lull_guard_config steady = {
    .retry = {.attempts = 3,
              .backoff = {.base = MILLISECONDS(100), .jitter = LULL_JITTER_NONE},
              .deadline = LULL_NONE},
};

static inline void set_up(struct lull_guard_config config) {
    struct lull_error error = {0};
    memset(&guard, 0xa5, sizeof guard); /* init may not count on clean memory */
    if (lull_guard_init(&guard, &config, &error) != LULL_OK)
        fail_msg("%s", error.message);
}

static inline void reconfigure(struct lull_guard_config config) {
    struct lull_error error = {0};
    if (lull_guard_configure(&guard, &config, &error) != LULL_OK)
        fail_msg("%s", error.message);
}

static inline struct lull_guard_stats stats_at(lull_time now) {
    struct lull_guard_stats stats;
    memset(&stats, 0xa5, sizeof stats);
    lull_guard_snapshot(&guard, &stats, now);
    return stats;
}

static inline struct lull_call begin_with(struct lull_call_options options, uint64_t seed,
                                          lull_time now) {
    struct lull_call call;
    memset(&call, 0xa5, sizeof call);
    lull_call_begin(&guard, &call, &options, seed, now);
    return call;
}

static inline struct lull_call begin(uint64_t seed, lull_time now) {
    struct lull_call call;
    memset(&call, 0xa5, sizeof call);
    lull_call_begin(&guard, &call, NULL, seed, now);
    return call;
}

static inline struct lull_verdict admit(struct lull_call *call, lull_time now) {
    return lull_admit(&guard, call, now);
}

static inline struct lull_verdict end(struct lull_call *call, enum lull_class class_,
                                      lull_time now) {
    return lull_complete(&guard, call, (struct lull_outcome){.class_ = class_}, now);
}

static inline struct lull_verdict throttle(struct lull_call *call, lull_duration retry_after,
                                           lull_time now) {
    struct lull_outcome outcome = {.class_ = LULL_THROTTLED, .retry_after = retry_after};
    return lull_complete(&guard, call, outcome, now);
}

/* The nth word, from 1, that a call of this seed draws. */
static inline uint64_t drawn(uint64_t seed, int nth) {
    uint64_t word = 0;
    for (int i = 0; i < nth; i++)
        word = lull_random_next(&seed);
    return word;
}

static inline struct lull_verdict go(lull_time now, lull_duration timeout) {
    return (struct lull_verdict){LULL_GO, LULL_POLICY_NOBODY, LULL_REASON_NONE, now, timeout};
}

static inline struct lull_verdict no(enum lull_policy policy, enum lull_reason reason,
                                     lull_time at) {
    return (struct lull_verdict){LULL_NO, policy, reason, at, 0};
}

static inline struct lull_verdict full(lull_time now) {
    return no(LULL_POLICY_BULKHEAD, LULL_REASON_FULL, now);
}

static inline struct lull_verdict queued(lull_time deadline) {
    return (struct lull_verdict){LULL_WAIT, LULL_POLICY_BULKHEAD, LULL_REASON_QUEUED, deadline, 0};
}

static inline struct lull_verdict retry(enum lull_reason reason, lull_time at) {
    return (struct lull_verdict){LULL_RETRY, LULL_POLICY_RETRY, reason, at, 0};
}

static inline struct lull_verdict stop(enum lull_policy policy, enum lull_reason reason) {
    return (struct lull_verdict){LULL_STOP, policy, reason, LULL_NEVER, 0};
}

static inline struct lull_verdict done(lull_time now) {
    return (struct lull_verdict){LULL_DONE, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED, now, 0};
}

static inline struct lull_verdict misused(void) {
    return stop(LULL_POLICY_CALLER, LULL_REASON_MISUSE);
}

static inline void print_verdict(const char *what, struct lull_verdict verdict) {
    print_error("%s: %s, %s, %s, at %lld, timeout %lld\n", what,
                lull_decision_name(verdict.decision), lull_policy_name(verdict.policy),
                lull_reason_text(verdict.reason), (long long)verdict.at,
                (long long)verdict.timeout);
}

static inline void compare(struct lull_verdict is, struct lull_verdict should, const char *file,
                           int line) {
    if (is.decision == should.decision && is.policy == should.policy &&
        is.reason == should.reason && is.at == should.at && is.timeout == should.timeout)
        return;
    print_verdict("expected", should);
    print_verdict("but told", is);
    _fail(file, line);
}

#define expect(is, should) compare((is), (should), __FILE__, __LINE__)

/* A call that is let in at once. */
static inline struct lull_call admitted(uint64_t seed, lull_time now) {
    struct lull_call call = begin(seed, now);
    assert_int_equal(admit(&call, now).decision, LULL_GO);
    return call;
}

static inline uint64_t sum(const uint64_t *counts, size_t length) {
    uint64_t total = 0;
    for (size_t i = 0; i < length; i++)
        total += counts[i];
    return total;
}

/* ---- what becomes of each class ---- */

static const struct {
    enum lull_class class_;
    bool retried, only_if_idempotent;
    enum lull_policy policy; /* who stops it, if it is not retried */
    enum lull_reason reason;
    uint64_t votes, failed; /* at the breaker */
} classes[] = {
    {LULL_SUCCESS, false, false, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED, 1, 0},
    {LULL_TRANSIENT, true, false, 0, 0, 1, 1},
    {LULL_THROTTLED, true, false, 0, 0, 1, 1},
    {LULL_TIMEOUT, true, false, 0, 0, 1, 1},
    {LULL_PERMANENT, false, false, LULL_POLICY_CLASSIFIER, LULL_REASON_PERMANENT, 1, 0},
    {LULL_IGNORED, false, false, LULL_POLICY_CLASSIFIER, LULL_REASON_IGNORED, 0, 0},
    {LULL_CANCELLED, false, false, LULL_POLICY_CALLER, LULL_REASON_CANCELLED, 0, 0},
    {LULL_UNKNOWN, true, true, LULL_POLICY_CLASSIFIER, LULL_REASON_NOT_IDEMPOTENT, 1, 1},
};

static inline struct lull_verdict ending(size_t row, struct lull_call_options options,
                                         bool attempts_left, lull_time now) {
    if (classes[row].class_ == LULL_SUCCESS)
        return done(now);
    if (!classes[row].retried || (classes[row].only_if_idempotent && !options.idempotent))
        return stop(classes[row].policy, classes[row].reason);
    if (options.not_the_edge)
        return stop(LULL_POLICY_RETRY, LULL_REASON_NOT_THE_EDGE);
    if (!attempts_left)
        return stop(LULL_POLICY_RETRY, LULL_REASON_ATTEMPTS_SPENT);
    return retry(LULL_REASON_BACKING_OFF, now + MILLISECONDS(100));
}

/* ---- the budget ---- */

static inline struct lull_guard_config penniless(void) {
    struct lull_guard_config config = steady;
    config.budget =
        (struct lull_budget_config){.ratio = 0.5, .cap_seconds = LULL_NONE, .floor = LULL_NONE};
    return config;
}

/* ---- the order of the policies ---- */

/* One failure opens the circuit for a second; two probes close it again. One token in a hundred hours. */
static inline struct lull_guard_config touchy(void) {
    struct lull_guard_config config = steady;
    config.breaker = (struct lull_breaker_config){.minimum_calls = 1,
                                                  .open_time = SECONDS(1),
                                                  .open_jitter = LULL_NONE,
                                                  .slow_call = LULL_NONE,
                                                  .probes = 2};
    config.bucket = (struct lull_bucket_config){.capacity = 10, .rate = 1, .per = LULL_HOUR};
    return config;
}

static inline void open_circuit(lull_time now) {
    struct lull_call call = admitted(1, now);
    (void)end(&call, LULL_TRANSIENT, now);
    assert_int_equal(stats_at(now).breaker.state, LULL_BREAKER_OPEN);
}

/* ---- a refusal gives back what was taken ---- */

static inline void assert_half_open(uint32_t out, uint32_t answered, lull_time now) {
    struct lull_guard_stats stats = stats_at(now);
    assert_int_equal(stats.breaker.state, LULL_BREAKER_HALF_OPEN);
    assert_int_equal(stats.breaker.probes_out, out);
    assert_int_equal(stats.breaker.probes_answered, answered);
}

/* ---- waiting at the bulkhead ---- */

struct guest {
    struct lull_call call;
    struct lull_waiter waiter;
    int woken;
};

static inline void note_wake(struct lull_waiter *waiter) {
    ((struct guest *)waiter->context)->woken++;
}

static inline struct lull_verdict arrive(struct guest *guest, uint64_t seed, lull_time now) {
    *guest = (struct guest){.waiter = {.wake = note_wake, .context = guest}};
    guest->call = begin(seed, now);
    return lull_admit_or_wait(&guard, &guest->call, &guest->waiter, now);
}

static inline struct lull_verdict settle(struct guest *guest, lull_time now) {
    return lull_settle(&guard, &guest->call, &guest->waiter, now);
}

static inline struct lull_verdict waited_too_long(lull_time now) {
    return no(LULL_POLICY_BULKHEAD, LULL_REASON_WAITED_TOO_LONG, now);
}

/* One place, two may wait, 5 s for each call. */
static inline struct lull_guard_config narrow(void) {
    struct lull_guard_config config = touchy();
    config.retry.deadline = SECONDS(5);
    config.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = 2};
    return config;
}

static inline void assert_occupied(uint32_t inside, uint32_t waiting, int64_t tokens) {
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.bulkhead.inside, inside);
    assert_int_equal(stats.bulkhead.waiting, waiting);
    assert_int_equal(stats.bucket.tokens, tokens);
}

#endif
