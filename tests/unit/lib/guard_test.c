/* The composed guard, held to its header and to section 1 of the specification. Time is a number, and the words that a
 * call draws follow from its seed (splitmix64), so each verdict is written down beforehand, to the nanosecond.
 *
 * What a call draws, in this order: at a failure one word for the breaker (unless it goes without one) and one for the
 * backoff; then, if it came with Retry-After, one for the jitter on top of that. An admission draws one if the clock refuses
 * it. */
#include <lull/guard.h>
#include <lull/random.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

static void set_up(struct lull_guard_config config) {
    struct lull_error error = {0};
    memset(&guard, 0xa5, sizeof guard); /* init may not count on clean memory */
    if (lull_guard_init(&guard, &config, &error) != LULL_OK)
        fail_msg("%s", error.message);
}

static void reconfigure(struct lull_guard_config config) {
    struct lull_error error = {0};
    if (lull_guard_configure(&guard, &config, &error) != LULL_OK)
        fail_msg("%s", error.message);
}

static struct lull_guard_stats stats_at(lull_time now) {
    struct lull_guard_stats stats;
    memset(&stats, 0xa5, sizeof stats);
    lull_guard_snapshot(&guard, &stats, now);
    return stats;
}

static struct lull_call begin_with(struct lull_call_options options, uint64_t seed, lull_time now) {
    struct lull_call call;
    memset(&call, 0xa5, sizeof call);
    lull_call_begin(&guard, &call, &options, seed, now);
    return call;
}

static struct lull_call begin(uint64_t seed, lull_time now) {
    struct lull_call call;
    memset(&call, 0xa5, sizeof call);
    lull_call_begin(&guard, &call, NULL, seed, now);
    return call;
}

static struct lull_verdict admit(struct lull_call *call, lull_time now) {
    return lull_admit(&guard, call, now);
}

static struct lull_verdict end(struct lull_call *call, enum lull_class class_, lull_time now) {
    return lull_complete(&guard, call, (struct lull_outcome){.class_ = class_}, now);
}

static struct lull_verdict throttle(struct lull_call *call, lull_duration retry_after,
                                    lull_time now) {
    struct lull_outcome outcome = {.class_ = LULL_THROTTLED, .retry_after = retry_after};
    return lull_complete(&guard, call, outcome, now);
}

/* The nth word, from 1, that a call of this seed draws. */
static uint64_t drawn(uint64_t seed, int nth) {
    uint64_t word = 0;
    for (int i = 0; i < nth; i++)
        word = lull_random_next(&seed);
    return word;
}

static struct lull_verdict go(lull_time now, lull_duration timeout) {
    return (struct lull_verdict){LULL_GO, LULL_POLICY_NOBODY, LULL_REASON_NONE, now, timeout};
}

static struct lull_verdict no(enum lull_policy policy, enum lull_reason reason, lull_time at) {
    return (struct lull_verdict){LULL_NO, policy, reason, at, 0};
}

static struct lull_verdict full(lull_time now) {
    return no(LULL_POLICY_BULKHEAD, LULL_REASON_FULL, now);
}

static struct lull_verdict queued(lull_time deadline) {
    return (struct lull_verdict){LULL_WAIT, LULL_POLICY_BULKHEAD, LULL_REASON_QUEUED, deadline, 0};
}

static struct lull_verdict retry(enum lull_reason reason, lull_time at) {
    return (struct lull_verdict){LULL_RETRY, LULL_POLICY_RETRY, reason, at, 0};
}

static struct lull_verdict stop(enum lull_policy policy, enum lull_reason reason) {
    return (struct lull_verdict){LULL_STOP, policy, reason, LULL_NEVER, 0};
}

static struct lull_verdict done(lull_time now) {
    return (struct lull_verdict){LULL_DONE, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED, now, 0};
}

static struct lull_verdict misused(void) {
    return stop(LULL_POLICY_CALLER, LULL_REASON_MISUSE);
}

static void print_verdict(const char *what, struct lull_verdict verdict) {
    print_error("%s: %s, %s, %s, at %lld, timeout %lld\n", what,
                lull_decision_name(verdict.decision), lull_policy_name(verdict.policy),
                lull_reason_text(verdict.reason), (long long)verdict.at,
                (long long)verdict.timeout);
}

static void compare(struct lull_verdict is, struct lull_verdict should, const char *file,
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
static struct lull_call admitted(uint64_t seed, lull_time now) {
    struct lull_call call = begin(seed, now);
    assert_int_equal(admit(&call, now).decision, LULL_GO);
    return call;
}

static uint64_t sum(const uint64_t *counts, size_t length) {
    uint64_t total = 0;
    for (size_t i = 0; i < length; i++)
        total += counts[i];
    return total;
}

/* ---- the worked example ---- */

static void test_worked_example_of_the_header(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.retry.deadline = SECONDS(1);
    set_up(config);
    struct lull_call call = begin(1, 0);
    expect(admit(&call, 0), go(0, SECONDS(1)));
    assert_int_equal(call.attempt, 1);
    expect(end(&call, LULL_TRANSIENT, MILLISECONDS(50)),
           retry(LULL_REASON_BACKING_OFF, MILLISECONDS(150)));
    expect(admit(&call, MILLISECONDS(150)), go(MILLISECONDS(150), MILLISECONDS(850)));
    assert_int_equal(call.attempt, 2);
    expect(throttle(&call, SECONDS(2), MILLISECONDS(150)),
           stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_TOO_NEAR));

    struct lull_call other = begin(2, MILLISECONDS(2149));
    lull_duration spread = lull_uniform(drawn(2, 1), 0, MILLISECONDS(1) / 10);
    expect(admit(&other, MILLISECONDS(2149)),
           no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, MILLISECONDS(2150) + spread));
    expect(admit(&other, MILLISECONDS(2150)), go(MILLISECONDS(2150), MILLISECONDS(999)));
    expect(end(&other, LULL_SUCCESS, MILLISECONDS(2151)), done(MILLISECONDS(2151)));
}

/* Four retries of KNOWN_SEED, base 100 ms, × 2, cap 500 ms, so d = 100, 200, 400, 500 ms. The delays were computed outside
 * of lull, from the formulas of the specification. */
static const struct {
    struct lull_backoff_config backoff;
    lull_duration delays[4];
} known_delays[] = {
    {{.jitter = LULL_JITTER_NONE}, {100000000, 200000000, 400000000, 500000000}},
    {{.jitter = LULL_JITTER_FULL}, {17364409, 49801531, 169235175, 137643749}},
    {{.jitter = LULL_JITTER_DEFAULT}, {17364409, 49801531, 169235175, 137643749}},
    {{.jitter = LULL_JITTER_EQUAL}, {58682205, 124900765, 284617588, 318821875}},
    {{.jitter = LULL_JITTER_DECORRELATED}, {134728819, 175744757, 269235175, 210115000}},
    {{.jitter = LULL_JITTER_ADDITIVE}, {108682205, 224900765, 484617588, 568821875}},
    {{.jitter = LULL_JITTER_PROPORTIONAL}, {67364409, 149801531, 369235175, 387643749}},
    {{.tier_count = 2, .tiers = {SECONDS(30), SECONDS(300)}},
     {5209322900, 74702297214, 126926381648, 82586249823}},
};

static void test_delays_of_a_known_seed(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(known_delays); row++) {
        struct lull_guard_config config = steady;
        config.retry.attempts = 5;
        config.retry.backoff = known_delays[row].backoff;
        config.retry.backoff.base = MILLISECONDS(100);
        config.retry.backoff.cap = MILLISECONDS(500);
        set_up(config);
        lull_time now = SECONDS(7);
        struct lull_call call = begin(KNOWN_SEED, now);
        for (int i = 0; i < 4; i++) {
            expect(admit(&call, now), go(now, LULL_NEVER));
            expect(end(&call, LULL_TRANSIENT, now),
                   retry(LULL_REASON_BACKING_OFF, now + known_delays[row].delays[i]));
            now += known_delays[row].delays[i];
        }
        expect(admit(&call, now), go(now, LULL_NEVER));
        expect(end(&call, LULL_TRANSIENT, now),
               stop(LULL_POLICY_RETRY, LULL_REASON_ATTEMPTS_SPENT));
    }
}

/* A delay counts from the moment the attempt ended, and without a breaker the first word is the backoff's. */
static void test_no_word_is_drawn_for_a_breaker_that_is_not_there(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.retry.backoff.jitter = LULL_JITTER_FULL;
    config.without = LULL_WITHOUT_BREAKER;
    set_up(config);
    struct lull_call call = admitted(KNOWN_SEED, SECONDS(1));
    lull_duration delay = lull_uniform(UINT64_C(6457827717110365317), 0, MILLISECONDS(100));
    expect(end(&call, LULL_TRANSIENT, SECONDS(9)),
           retry(LULL_REASON_BACKING_OFF, SECONDS(9) + delay));
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

static struct lull_verdict ending(size_t row, struct lull_call_options options, bool attempts_left,
                                  lull_time now) {
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

static void check_class(size_t row, struct lull_call_options options, bool attempts_left) {
    struct lull_guard_config config = steady;
    config.retry.attempts = attempts_left ? 2 : 1;
    set_up(config);
    struct lull_call call = begin_with(options, 1, 0);
    expect(admit(&call, 0), go(0, LULL_NEVER));
    struct lull_verdict should = ending(row, options, attempts_left, SECONDS(3));
    expect(end(&call, classes[row].class_, SECONDS(3)), should);

    struct lull_guard_stats stats = stats_at(SECONDS(3));
    assert_int_equal(stats.outcomes[classes[row].class_], 1);
    assert_int_equal(sum(stats.outcomes, LULL_CLASS_COUNT), 1);
    assert_int_equal(stats.stopped[should.reason], should.decision == LULL_STOP);
    assert_int_equal(sum(stats.stopped, LULL_REASON_COUNT), should.decision == LULL_STOP);
    assert_int_equal(stats.breaker.calls, classes[row].votes);
    assert_int_equal(stats.breaker.failed, classes[row].failed);
    assert_int_equal(stats.breaker.slow, classes[row].votes); /* 3 s is slow */
    assert_int_equal(stats.budget.withdrawn, should.decision == LULL_RETRY);
    assert_int_equal(stats.bulkhead.inside, 0);
}

static void test_each_class_of_outcome(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(classes); row++)
        for (int options = 0; options < 8; options++)
            check_class(
                row,
                (struct lull_call_options){.idempotent = options & 1, .not_the_edge = options & 2},
                options & 4);
}

static void test_call_without_options_is_not_idempotent_and_is_the_edge(void **state) {
    (void)state;
    set_up(steady);
    struct lull_call call = admitted(1, 0);
    expect(end(&call, LULL_UNKNOWN, 0), stop(LULL_POLICY_CLASSIFIER, LULL_REASON_NOT_IDEMPOTENT));
    call = admitted(1, 0);
    expect(end(&call, LULL_TIMEOUT, 0), retry(LULL_REASON_BACKING_OFF, MILLISECONDS(100)));
}

static void test_only_longer_than_slow_is_slow(void **state) {
    (void)state;
    set_up(steady);
    struct lull_call call = admitted(1, SECONDS(1));
    expect(end(&call, LULL_SUCCESS, SECONDS(3)), done(SECONDS(3)));
    assert_int_equal(stats_at(SECONDS(3)).breaker.slow, 0);
    call = admitted(1, SECONDS(1));
    expect(end(&call, LULL_SUCCESS, SECONDS(3) + 1), done(SECONDS(3) + 1));
    assert_int_equal(stats_at(SECONDS(3) + 1).breaker.slow, 1);
    call = admitted(1, SECONDS(5)); /* clocks of two threads may differ a little */
    expect(end(&call, LULL_SUCCESS, SECONDS(4)), done(SECONDS(4)));
    assert_int_equal(stats_at(SECONDS(5)).breaker.slow, 1);
    assert_int_equal(stats_at(SECONDS(5)).breaker.calls, 3);
}

/* ---- deadlines ---- */

static void test_next_attempt_must_start_before_the_deadline(void **state) {
    (void)state;
    set_up(steady);
    for (int late = 0; late <= 1; late++) {
        struct lull_call_options options = {.deadline = MILLISECONDS(150) + 1 - late};
        struct lull_call call = begin_with(options, 1, SECONDS(1));
        assert_int_equal(call.deadline, SECONDS(1) + options.deadline);
        expect(admit(&call, SECONDS(1)), go(SECONDS(1), options.deadline));
        lull_time now = SECONDS(1) + MILLISECONDS(50), at = SECONDS(1) + MILLISECONDS(150);
        expect(end(&call, LULL_TRANSIENT, now),
               late ? stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_TOO_NEAR)
                    : retry(LULL_REASON_BACKING_OFF, at));
    }
    assert_int_equal(stats_at(0).stopped[LULL_REASON_DEADLINE_TOO_NEAR], 1);
}

static void test_nothing_starts_at_the_deadline(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.retry.deadline = SECONDS(1);
    set_up(config);
    struct lull_call call = begin(1, 0), other = begin(2, 0);
    expect(admit(&call, SECONDS(1) - 1), go(SECONDS(1) - 1, 1));
    expect(admit(&other, SECONDS(1)), stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED));
    expect(admit(&other, SECONDS(9)), stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED));
    struct lull_guard_stats stats = stats_at(SECONDS(1));
    assert_int_equal(stats.bulkhead.inside, 1);
    assert_int_equal(stats.stopped[LULL_REASON_DEADLINE_PASSED], 2);
    assert_int_equal(sum(stats.refused, LULL_POLICY_COUNT), 0);
}

static const struct {
    lull_duration attempt_timeout, guard_deadline, call_deadline; /* as configured */
    lull_time deadline;                                           /* of a call begun at 1 s */
    lull_duration timeout, left;                                  /* at 1.4 s */
} timeouts[] = {
    {0, 0, 0, SECONDS(6), MILLISECONDS(4600), MILLISECONDS(4600)},
    {LULL_NONE, 0, 0, SECONDS(6), MILLISECONDS(4600), MILLISECONDS(4600)},
    {SECONDS(2), 0, 0, SECONDS(6), SECONDS(2), MILLISECONDS(4600)},
    {SECONDS(2), SECONDS(1), 0, SECONDS(2), MILLISECONDS(600), MILLISECONDS(600)},
    {MILLISECONDS(600), SECONDS(1), 0, SECONDS(2), MILLISECONDS(600), MILLISECONDS(600)},
    {SECONDS(2), LULL_NONE, 0, LULL_NEVER, SECONDS(2), LULL_NEVER},
    {0, LULL_NONE, 0, LULL_NEVER, LULL_NEVER, LULL_NEVER},
    {0, SECONDS(1), LULL_NONE, LULL_NEVER, LULL_NEVER, LULL_NEVER},
    {0, SECONDS(1), SECONDS(3), SECONDS(4), MILLISECONDS(2600), MILLISECONDS(2600)},
    {0, LULL_NONE, SECONDS(3), SECONDS(4), MILLISECONDS(2600), MILLISECONDS(2600)},
    {0, SECONDS(9), INT64_MAX - 1, LULL_NEVER, LULL_NEVER, LULL_NEVER},
};

static void test_timeout_is_the_lesser_of_attempt_and_deadline(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(timeouts); row++) {
        struct lull_guard_config config = steady;
        config.retry.attempt_timeout = timeouts[row].attempt_timeout;
        config.retry.deadline = timeouts[row].guard_deadline;
        set_up(config);
        struct lull_call_options options = {.deadline = timeouts[row].call_deadline};
        struct lull_call call = begin_with(options, 1, SECONDS(1));
        assert_int_equal(call.deadline, timeouts[row].deadline);
        lull_time now = MILLISECONDS(1400);
        assert_int_equal(lull_call_left(&call, now), timeouts[row].left);
        expect(admit(&call, now), go(now, timeouts[row].timeout));
    }
}

static void test_time_left_ends_at_zero(void **state) {
    (void)state;
    set_up(steady);
    struct lull_call call = begin_with((struct lull_call_options){.deadline = 5}, 1, 10);
    assert_int_equal(lull_call_left(&call, 10), 5);
    assert_int_equal(lull_call_left(&call, 14), 1);
    assert_int_equal(lull_call_left(&call, 15), 0);
    assert_int_equal(lull_call_left(&call, LULL_NEVER), 0);
    /* A caller who computed less than no time left is told so. */
    call = begin_with((struct lull_call_options){.deadline = -SECONDS(1)}, 1, 10);
    assert_int_equal(lull_call_left(&call, 10), 0);
    expect(admit(&call, 10), stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED));
}

/* ---- Retry-After ---- */

static void test_retry_after_is_a_lower_bound_jittered_upwards(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        set_up(steady);
        struct lull_call call = admitted(seed, SECONDS(1));
        lull_time until = SECONDS(15);
        lull_duration spread = lull_uniform(drawn(seed, 3), 0, SECONDS(1));
        assert_in_range(spread, 0, SECONDS(1));
        expect(throttle(&call, SECONDS(10), SECONDS(5)),
               retry(LULL_REASON_RETRY_AFTER, until + spread));
        assert_int_equal(stats_at(SECONDS(5)).not_before, until); /* the clock is not jittered */
    }
    set_up(steady);
    struct lull_call call = admitted(KNOWN_SEED, 0);
    expect(throttle(&call, SECONDS(10), 0), retry(LULL_REASON_RETRY_AFTER, 10532207304));
}

static const struct {
    lull_duration asked, cap;
    double jitter;
    lull_duration pause, spread; /* spread: the most that jitter may add */
} pauses[] = {
    {SECONDS(10), 0, 0, SECONDS(10), SECONDS(1)},
    {SECONDS(10), 0, LULL_NONE, SECONDS(10), 0},
    {SECONDS(10), 0, 0.5, SECONDS(10), SECONDS(5)},
    {LULL_HOUR - 1, 0, LULL_NONE, LULL_HOUR - 1, 0},
    {2 * LULL_HOUR, 0, LULL_NONE, LULL_HOUR, 0},
    {LULL_NEVER, 0, 0, LULL_HOUR, 6 * LULL_MINUTE},
    {SECONDS(10), SECONDS(4), 0, SECONDS(4), MILLISECONDS(400)},
    {SECONDS(4), SECONDS(10), 0, SECONDS(4), MILLISECONDS(400)},
};

static void test_retry_after_is_capped(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(pauses); row++) {
        struct lull_guard_config config = steady;
        config.retry.retry_after_cap = pauses[row].cap;
        config.retry.retry_after_jitter = pauses[row].jitter;
        set_up(config);
        struct lull_call call = admitted(77, 5);
        lull_time until = 5 + pauses[row].pause;
        lull_duration spread = lull_uniform(drawn(77, 3), 0, pauses[row].spread);
        expect(throttle(&call, pauses[row].asked, 5),
               retry(LULL_REASON_RETRY_AFTER, until + spread));
        assert_int_equal(stats_at(5).not_before, until);
    }
}

static void test_longer_backoff_outlasts_retry_after(void **state) {
    (void)state;
    set_up(steady);
    struct lull_call call = admitted(1, 0);
    expect(throttle(&call, MILLISECONDS(50), 0), retry(LULL_REASON_RETRY_AFTER, MILLISECONDS(100)));
    assert_int_equal(stats_at(0).not_before, MILLISECONDS(50));
}

static void test_retry_after_of_a_nanosecond(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.retry.backoff = (struct lull_backoff_config){.base = 1, .cap = 1}; /* 0 or 1 ns */
    for (uint64_t seed = 1; seed <= 10; seed++) {
        set_up(config);
        struct lull_call call = admitted(seed, 5);
        struct lull_outcome outcome = {.class_ = LULL_TRANSIENT, .retry_after = 1};
        expect(lull_complete(&guard, &call, outcome, 5), retry(LULL_REASON_RETRY_AFTER, 6));
        assert_int_equal(stats_at(5).not_before, 6);
    }
}

static void test_no_or_negative_retry_after_moves_nothing(void **state) {
    (void)state;
    const lull_duration asked[] = {0, -1, INT64_MIN};
    for (size_t i = 0; i < COUNT(asked); i++) {
        set_up(steady);
        struct lull_call call = admitted(1, SECONDS(1));
        expect(throttle(&call, asked[i], SECONDS(1)),
               retry(LULL_REASON_BACKING_OFF, MILLISECONDS(1100)));
        assert_int_equal(stats_at(SECONDS(1)).not_before, 0);
    }
}

/* An answer that came with success does not ask for a pause. */
static void test_retry_after_of_a_success_is_left_aside(void **state) {
    (void)state;
    set_up(steady);
    struct lull_call call = admitted(1, 0);
    struct lull_outcome outcome = {.class_ = LULL_SUCCESS, .retry_after = SECONDS(10)};
    expect(lull_complete(&guard, &call, outcome, 0), done(0));
    assert_int_equal(stats_at(0).not_before, 0);
}

/* The call that is told so may be over; the destination's wish stands for the others. */
static void test_retry_after_of_a_call_given_up_moves_the_clock(void **state) {
    (void)state;
    const struct {
        struct lull_call_options options;
        uint32_t attempts;
        enum lull_class class_;
        enum lull_reason reason;
    } rows[] = {
        {{.not_the_edge = true}, 3, LULL_THROTTLED, LULL_REASON_NOT_THE_EDGE},
        {{.idempotent = true}, 1, LULL_THROTTLED, LULL_REASON_ATTEMPTS_SPENT},
        {{.idempotent = false}, 3, LULL_UNKNOWN, LULL_REASON_NOT_IDEMPOTENT},
        {{.deadline = SECONDS(2)}, 3, LULL_THROTTLED, LULL_REASON_DEADLINE_TOO_NEAR},
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct lull_guard_config config = steady;
        config.retry.attempts = rows[row].attempts;
        set_up(config);
        struct lull_call call = begin_with(rows[row].options, 1, 0);
        assert_int_equal(admit(&call, 0).decision, LULL_GO);
        struct lull_outcome outcome = {.class_ = rows[row].class_, .retry_after = SECONDS(2)};
        struct lull_verdict verdict = lull_complete(&guard, &call, outcome, 1);
        assert_int_equal(verdict.decision, LULL_STOP);
        assert_int_equal(verdict.reason, rows[row].reason);
        assert_int_equal(stats_at(1).not_before, SECONDS(2) + 1);
    }
}

static void test_newcomers_in_a_pause_are_told_times_of_their_own(void **state) {
    (void)state;
    enum { NEWCOMERS = 100 };
    lull_time told[NEWCOMERS];
    set_up(steady);
    lull_guard_pause(&guard, SECONDS(60));
    for (uint64_t i = 0; i < NEWCOMERS; i++) {
        struct lull_call call = begin(i, SECONDS(10));
        struct lull_verdict verdict = admit(&call, SECONDS(10));
        lull_duration spread = lull_uniform(drawn(i, 1), 0, SECONDS(5)); /* a tenth of 50 s */
        expect(verdict, no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, SECONDS(60) + spread));
        told[i] = verdict.at;
        for (uint64_t k = 0; k < i; k++)
            assert_int_not_equal(told[i], told[k]);
    }
    struct lull_guard_stats stats = stats_at(SECONDS(10));
    assert_int_equal(stats.refused[LULL_POLICY_CLOCK], NEWCOMERS);
    assert_int_equal(stats.firsts, 0);
    assert_int_equal(stats.bucket.tokens, LULL_BUCKET_CAPACITY);
}

static void test_clock_moves_forward_until_resumed(void **state) {
    (void)state;
    set_up(steady);
    assert_int_equal(stats_at(0).not_before, 0);
    lull_guard_pause(&guard, SECONDS(20));
    lull_guard_pause(&guard, SECONDS(10));
    lull_guard_pause(&guard, SECONDS(20));
    assert_int_equal(stats_at(0).not_before, SECONDS(20));
    struct lull_call call = begin(1, 0);
    assert_int_equal(admit(&call, SECONDS(20) - 1).decision, LULL_NO);
    lull_guard_resume(&guard);
    assert_int_equal(stats_at(0).not_before, 0);
    expect(admit(&call, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    lull_call_abandon(&guard, &call, SECONDS(1));
    lull_guard_pause(&guard, SECONDS(10));
    expect(admit(&call, SECONDS(10)), go(SECONDS(10), LULL_NEVER));
    lull_call_abandon(&guard, &call, SECONDS(10));

    lull_guard_pause(&guard, LULL_NEVER);
    expect(admit(&call, SECONDS(99)), no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, LULL_NEVER));

    set_up(steady);
    lull_guard_pause(&guard, -SECONDS(1)); /* a caller's time may be negative, too */
    assert_int_equal(stats_at(-SECONDS(2)).not_before, -SECONDS(1));
    assert_int_equal(admit(&call, -SECONDS(1) - 1).decision, LULL_NO);
    expect(admit(&call, -SECONDS(1)), go(-SECONDS(1), LULL_NEVER));
}

/* ---- after a throttle, full jitter must not draw near zero ---- */

static const struct {
    enum lull_class class_;
    enum lull_jitter jitter;
    lull_duration delay; /* of KNOWN_SEED; compare known_delays */
} throttled_delays[] = {
    {LULL_TRANSIENT, LULL_JITTER_FULL, 17364409},
    {LULL_TIMEOUT, LULL_JITTER_FULL, 17364409},
    {LULL_UNKNOWN, LULL_JITTER_FULL, 17364409},
    {LULL_THROTTLED, LULL_JITTER_FULL, 58682205},
    {LULL_THROTTLED, LULL_JITTER_EQUAL, 58682205},
    {LULL_THROTTLED, LULL_JITTER_NONE, 100000000},
    {LULL_THROTTLED, LULL_JITTER_ADDITIVE, 108682205},
    {LULL_THROTTLED, LULL_JITTER_PROPORTIONAL, 67364409},
};

static void test_equal_jitter_after_a_throttle(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(throttled_delays); row++) {
        struct lull_guard_config config = steady;
        config.retry.backoff.jitter = throttled_delays[row].jitter;
        set_up(config);
        struct lull_call call =
            begin_with((struct lull_call_options){.idempotent = true}, KNOWN_SEED, 0);
        assert_int_equal(admit(&call, 0).decision, LULL_GO);
        expect(end(&call, throttled_delays[row].class_, 0),
               retry(LULL_REASON_BACKING_OFF, throttled_delays[row].delay));
    }
}

/* ---- the budget ---- */

static struct lull_guard_config penniless(void) {
    struct lull_guard_config config = steady;
    config.budget =
        (struct lull_budget_config){.ratio = 0.5, .cap_seconds = LULL_NONE, .floor = LULL_NONE};
    return config;
}

static void test_budget_gates_retries_and_not_first_tries(void **state) {
    (void)state;
    set_up(penniless());
    for (uint64_t i = 1; i <= 5; i++) {
        struct lull_call call = admitted(i, 0);
        expect(end(&call, LULL_TRANSIENT, 0), stop(LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT));
    }
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.firsts, 5);
    assert_int_equal(stats.budget.withdrawn, 0);
    assert_int_equal(stats.budget.refused, 5);
    assert_int_equal(stats.stopped[LULL_REASON_BUDGET_SPENT], 5);
}

static void test_budget_pays_before_the_sleep(void **state) {
    (void)state;
    set_up(penniless());
    for (uint64_t i = 0; i < 2; i++) { /* two successes earn one retry */
        struct lull_call call = admitted(i, 0);
        expect(end(&call, LULL_SUCCESS, 0), done(0));
    }
    assert_true(stats_at(0).budget.tokens == 1);
    struct lull_call first = admitted(1, 0), second = admitted(2, 0);
    expect(end(&first, LULL_TRANSIENT, 0), retry(LULL_REASON_BACKING_OFF, MILLISECONDS(100)));
    expect(end(&second, LULL_TRANSIENT, 0), stop(LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT));
    assert_true(stats_at(0).budget.tokens == 0);
    expect(admit(&first, MILLISECONDS(100)), go(MILLISECONDS(100), LULL_NEVER)); /* paid for */
}

static void test_deposits_are_gone_after_the_window(void **state) {
    (void)state;
    for (int late = 0; late <= 1; late++) {
        set_up(penniless());
        for (uint64_t i = 0; i < 2; i++) {
            struct lull_call call = admitted(i, 0);
            expect(end(&call, LULL_SUCCESS, 0), done(0));
        }
        lull_time now = LULL_BUDGET_WINDOW - 1 + late;
        struct lull_call call = admitted(1, now);
        expect(end(&call, LULL_TRANSIENT, now),
               late ? stop(LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT)
                    : retry(LULL_REASON_BACKING_OFF, now + MILLISECONDS(100)));
    }
}

static void test_floor_pays_when_its_token_is_due(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.budget = (struct lull_budget_config){.ratio = LULL_NONE, .floor = 1};
    set_up(config);
    const struct {
        lull_time now;
        enum lull_decision decision;
    } rows[] = {
        {0, LULL_RETRY}, {0, LULL_STOP}, {SECONDS(1) - 1, LULL_STOP}, {SECONDS(1), LULL_RETRY}};
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct lull_call call = admitted(1, rows[row].now);
        assert_int_equal(end(&call, LULL_TRANSIENT, rows[row].now).decision, rows[row].decision);
    }
}

static void test_only_success_deposits(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(classes); row++) {
        set_up(penniless());
        struct lull_call call = admitted(1, 0);
        (void)end(&call, classes[row].class_, 0);
        bool success = classes[row].class_ == LULL_SUCCESS;
        assert_true(stats_at(0).budget.tokens == (success ? 0.5 : 0));
    }
}

/* A retry that will not take place costs nothing, and is no refusal of the budget's. */
static void test_budget_is_not_asked_for_a_call_that_stops_anyway(void **state) {
    (void)state;
    const struct {
        struct lull_call_options options;
        uint32_t attempts;
        enum lull_class class_;
    } rows[] = {
        {{.deadline = MILLISECONDS(100)}, 3, LULL_TRANSIENT},
        {{.not_the_edge = true}, 3, LULL_TRANSIENT},
        {{.idempotent = false}, 3, LULL_UNKNOWN},
        {{.idempotent = true}, 1, LULL_TRANSIENT},
        {{.idempotent = true}, 3, LULL_PERMANENT},
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct lull_guard_config config = steady;
        config.retry.attempts = rows[row].attempts;
        config.budget.floor = 3;
        set_up(config);
        struct lull_call call = begin_with(rows[row].options, 1, 0);
        assert_int_equal(admit(&call, 0).decision, LULL_GO);
        assert_int_equal(end(&call, rows[row].class_, 0).decision, LULL_STOP);
        struct lull_guard_stats stats = stats_at(0);
        assert_int_equal(stats.budget.withdrawn, 0);
        assert_int_equal(stats.budget.refused, 0);
        assert_true(stats.budget.tokens == 3);
    }
}

/* A call that fails until it is given up; returns how often it was retried. */
static uint64_t fail_for_good(uint64_t seed, lull_time *now) {
    uint64_t retries = 0;
    struct lull_call call = admitted(seed, *now);
    while (end(&call, LULL_TRANSIENT, *now).decision == LULL_RETRY) {
        assert_int_equal(admit(&call, *now).decision, LULL_GO);
        retries++;
    }
    return retries;
}

/* 1,000 successes and then 10,000 failures, `step` apart: how many retries do they cost? */
static uint64_t retries_of_the_sample(struct lull_budget_config budget, uint32_t without,
                                      lull_duration step) {
    struct lull_guard_config config = {.retry = {.attempts = 5, .deadline = LULL_NONE},
                                       .bucket = {.capacity = 1000000},
                                       .budget = budget,
                                       .without = LULL_WITHOUT_BREAKER | without};
    set_up(config);
    lull_time now = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        struct lull_call call = admitted(i, now);
        expect(end(&call, LULL_SUCCESS, now), done(now));
    }
    uint64_t retries = 0;
    for (uint64_t i = 0; i < 10000; i++, now += step)
        retries += fail_for_good(i, &now);
    assert_int_equal(stats_at(now).retries, retries);
    assert_int_equal(stats_at(now).firsts, 11000);
    return retries;
}

static void test_amplification_sample(void **state) {
    (void)state;
    struct lull_budget_config defaults = {0}, uncapped = {.cap_seconds = LULL_NONE};
    /* At one instant: 100 earned, of which five seconds' worth of a ten-second window count, and ten from the floor. */
    assert_int_equal(retries_of_the_sample(defaults, 0, 0), 50 + 10);
    assert_int_equal(retries_of_the_sample(uncapped, 0, 0), 100 + 10);
    /* Within 5 s the floor gives 10 more each second. The last failure comes just before the 5 s are over. */
    assert_int_equal(retries_of_the_sample(uncapped, 0, MILLISECONDS(5) / 10), 100 + 10 + 49);
    assert_in_range(retries_of_the_sample(defaults, 0, MILLISECONDS(5) / 10), 1, 100 + 10 + 49);
    /* What it is good for. */
    assert_int_equal(retries_of_the_sample(defaults, LULL_WITHOUT_BUDGET, 0), 40000);
}

/* ---- the order of the policies ---- */

/* One failure opens the circuit for a second; two probes close it again. One token in a hundred hours. */
static struct lull_guard_config touchy(void) {
    struct lull_guard_config config = steady;
    config.breaker = (struct lull_breaker_config){.minimum_calls = 1,
                                                  .open_time = SECONDS(1),
                                                  .open_jitter = LULL_NONE,
                                                  .slow_call = LULL_NONE,
                                                  .probes = 2};
    config.bucket = (struct lull_bucket_config){.capacity = 10, .rate = 1, .per = LULL_HOUR};
    return config;
}

static void open_circuit(lull_time now) {
    struct lull_call call = admitted(1, now);
    (void)end(&call, LULL_TRANSIENT, now);
    assert_int_equal(stats_at(now).breaker.state, LULL_BREAKER_OPEN);
}

static void test_circuit_opens_for_a_time_of_its_own(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.breaker.open_time = SECONDS(30);
    config.breaker.open_jitter = 0; /* ± 10 % */
    set_up(config);
    struct lull_call call = admitted(KNOWN_SEED, 0);
    assert_int_equal(end(&call, LULL_TRANSIENT, 0).decision, LULL_RETRY);
    expect(admit(&call, MILLISECONDS(100)),
           no(LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_OPEN, 29100477252));
    expect(admit(&call, 29100477252 - 1),
           no(LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_OPEN, 29100477252));
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.breaker.open_until, 29100477252);
    assert_int_equal(stats.breaker.refused, 2);
    assert_int_equal(stats.refused[LULL_POLICY_BREAKER], 2);
    expect(admit(&call, 29100477252), go(29100477252, LULL_NEVER));
}

/* Calls that succeed too slowly open the circuit, too. A fleet that does so at one moment must not probe at one moment,
 * also if its seeds are small numbers that merely differ, which is all that lull_call_begin asks of them. */
static void test_circuit_opened_by_slow_successes_is_jittered(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct lull_guard_config config = touchy();
        config.breaker.open_time = SECONDS(30);
        config.breaker.open_jitter = 0;
        config.breaker.slow_call = MILLISECONDS(10);
        set_up(config);
        struct lull_call call = admitted(seed, 0);
        expect(end(&call, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
        lull_duration length = lull_uniform(drawn(seed, 1), SECONDS(27), SECONDS(33));
        assert_int_equal(stats_at(SECONDS(1)).breaker.open_until, SECONDS(1) + length);
    }
}

/* All of them would refuse; each is asked only once those before it have no objection. */
static void test_policies_are_asked_in_order(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.retry.deadline = SECONDS(10);
    config.bucket.capacity = 2;
    config.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = LULL_NONE};
    set_up(config);
    struct lull_call failing = begin(1, 0), inside = begin(2, 0), call = begin(3, 0);
    expect(admit(&failing, 0), go(0, SECONDS(10)));
    (void)end(&failing, LULL_IGNORED, 0);
    expect(admit(&inside, 0), go(0, SECONDS(10))); /* no token, no place is left */
    lull_breaker_set_mode(&guard.breaker, LULL_BREAKER_MODE_FORCED_OPEN, 0);
    lull_guard_pause(&guard, SECONDS(4));

    expect(admit(&inside, SECONDS(99)), misused());
    expect(admit(&call, SECONDS(10)), stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED));
    lull_duration spread = lull_uniform(drawn(3, 1), 0, MILLISECONDS(300));
    expect(admit(&call, SECONDS(1)),
           no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, SECONDS(4) + spread));
    lull_guard_resume(&guard);
    expect(admit(&call, SECONDS(1)),
           no(LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_FORCED_OPEN, LULL_NEVER));
    lull_breaker_set_mode(&guard.breaker, LULL_BREAKER_NORMAL, 0);
    expect(admit(&call, SECONDS(1)), no(LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, LULL_HOUR));
    lull_bucket_return(&guard.bucket, 1);
    expect(admit(&call, SECONDS(1)), full(SECONDS(1)));
    (void)end(&inside, LULL_IGNORED, SECONDS(2));
    expect(admit(&call, SECONDS(2)), go(SECONDS(2), SECONDS(8)));

    struct lull_guard_stats stats = stats_at(SECONDS(2));
    assert_int_equal(stats.refused[LULL_POLICY_CLOCK], 1);
    assert_int_equal(stats.refused[LULL_POLICY_BREAKER], 1);
    assert_int_equal(stats.refused[LULL_POLICY_BUCKET], 1);
    assert_int_equal(stats.refused[LULL_POLICY_BULKHEAD], 1);
    assert_int_equal(sum(stats.refused, LULL_POLICY_COUNT), 4);
    assert_int_equal(stats.breaker.refused, 1);
    assert_int_equal(stats.bucket.refused, 1);
    assert_int_equal(stats.bulkhead.refused, 1);
    assert_int_equal(call.attempt, 1); /* refusals are not charged */
}

/* ---- a refusal gives back what was taken ---- */

static void assert_half_open(uint32_t out, uint32_t answered, lull_time now) {
    struct lull_guard_stats stats = stats_at(now);
    assert_int_equal(stats.breaker.state, LULL_BREAKER_HALF_OPEN);
    assert_int_equal(stats.breaker.probes_out, out);
    assert_int_equal(stats.breaker.probes_answered, answered);
}

static void test_rate_limit_gives_the_probe_back(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.bucket.capacity = 1;
    set_up(config);
    open_circuit(0);
    struct lull_call call = begin(2, SECONDS(1));
    for (int i = 0; i < 5; i++) {
        expect(admit(&call, SECONDS(1)), no(LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, LULL_HOUR));
        assert_half_open(0, 0, SECONDS(1));
    }
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 0);
    assert_int_equal(stats_at(SECONDS(1)).breaker.calls, 1);
}

static void test_bulkhead_gives_probe_and_token_back(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.bulkhead = (struct lull_bulkhead_config){.limit = 2, .queue = LULL_NONE};
    set_up(config);
    struct lull_call inside = admitted(9, 0);
    open_circuit(0);
    struct lull_call probe = begin(2, SECONDS(1)), other = begin(3, SECONDS(1));
    expect(admit(&probe, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    assert_int_equal(stats_at(SECONDS(1)).bucket.tokens, 7);
    for (int i = 0; i < 5; i++) {
        expect(admit(&other, SECONDS(1)), full(SECONDS(1)));
        assert_half_open(1, 0, SECONDS(1));
        assert_int_equal(stats_at(SECONDS(1)).bucket.tokens, 7);
    }
    (void)end(&inside, LULL_SUCCESS, SECONDS(1)); /* of the time before: does not vote */
    assert_half_open(1, 0, SECONDS(1));
    expect(admit(&other, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    expect(end(&probe, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
    expect(end(&other, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
    assert_int_equal(stats_at(SECONDS(1)).breaker.state, LULL_BREAKER_CLOSED);
}

static void test_no_permit_is_held_while_backing_off(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.breaker.probes = 4;
    set_up(config);
    open_circuit(0);
    struct lull_call probe = begin(2, SECONDS(1));
    expect(admit(&probe, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 1);
    assert_half_open(1, 0, SECONDS(1));
    expect(end(&probe, LULL_TRANSIENT, SECONDS(1)),
           retry(LULL_REASON_BACKING_OFF, MILLISECONDS(1100)));
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 0);
    assert_half_open(0, 1, SECONDS(1));
}

/* Refused in every way, again and again: the breaker has heard of none. */
static void test_local_rejections_never_vote(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.bucket.capacity = 2;
    config.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = 1};
    set_up(config);
    struct lull_call inside = admitted(1, 0), call = begin(2, 0), waiting = begin(3, 0);
    struct lull_waiter waiter = {0};
    for (int i = 0; i < 20; i++) {
        expect(admit(&call, 0), full(0));
        expect(lull_admit_or_wait(&guard, &waiting, &waiter, 0), queued(LULL_NEVER));
        expect(lull_settle(&guard, &waiting, &waiter, 0),
               no(LULL_POLICY_BULKHEAD, LULL_REASON_WAITED_TOO_LONG, 0));
    }
    assert_int_equal(stats_at(0).bucket.tokens, 1);
    struct lull_call last = begin(4, 0);
    config.bulkhead.limit = 2;
    reconfigure(config);
    expect(admit(&last, 0), go(0, LULL_NEVER));
    for (int i = 0; i < 20; i++)
        expect(admit(&call, 0), no(LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, LULL_HOUR));
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.breaker.state, LULL_BREAKER_CLOSED);
    assert_int_equal(stats.breaker.calls, 0);
    assert_int_equal(stats.breaker.transitions, 0);
    assert_int_equal(stats.refused[LULL_POLICY_BULKHEAD], 40);
    assert_int_equal(stats.bulkhead.refused, 40);
    assert_int_equal(stats.refused[LULL_POLICY_BUCKET], 20);
    assert_int_equal(sum(stats.outcomes, LULL_CLASS_COUNT), 0);
    assert_int_equal(stats.budget.withdrawn, 0);
    lull_call_abandon(&guard, &inside, 0);
    lull_call_abandon(&guard, &last, 0);
    assert_int_equal(stats_at(0).firsts, 2);
    assert_int_equal(stats_at(0).retries, 0);
}

/* ---- waiting at the bulkhead ---- */

struct guest {
    struct lull_call call;
    struct lull_waiter waiter;
    int woken;
};

static void note_wake(struct lull_waiter *waiter) {
    ((struct guest *)waiter->context)->woken++;
}

static struct lull_verdict arrive(struct guest *guest, uint64_t seed, lull_time now) {
    *guest = (struct guest){.waiter = {.wake = note_wake, .context = guest}};
    guest->call = begin(seed, now);
    return lull_admit_or_wait(&guard, &guest->call, &guest->waiter, now);
}

static struct lull_verdict settle(struct guest *guest, lull_time now) {
    return lull_settle(&guard, &guest->call, &guest->waiter, now);
}

static struct lull_verdict waited_too_long(lull_time now) {
    return no(LULL_POLICY_BULKHEAD, LULL_REASON_WAITED_TOO_LONG, now);
}

/* One place, two may wait, 5 s for each call. */
static struct lull_guard_config narrow(void) {
    struct lull_guard_config config = touchy();
    config.retry.deadline = SECONDS(5);
    config.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = 2};
    return config;
}

static void assert_occupied(uint32_t inside, uint32_t waiting, int64_t tokens) {
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.bulkhead.inside, inside);
    assert_int_equal(stats.bulkhead.waiting, waiting);
    assert_int_equal(stats.bucket.tokens, tokens);
}

static void test_places_go_to_those_who_wait_in_their_order(void **state) {
    (void)state;
    struct guest first, second, third, fourth;
    set_up(narrow());
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, SECONDS(1)), queued(SECONDS(6)));
    expect(arrive(&third, 3, SECONDS(2)), queued(SECONDS(7)));
    expect(arrive(&fourth, 4, SECONDS(2)), full(SECONDS(2)));
    assert_occupied(1, 2, 7); /* who waits has a token */
    assert_int_equal(second.call.attempt, 0);

    expect(end(&first.call, LULL_SUCCESS, SECONDS(2)), done(SECONDS(2)));
    assert_int_equal(second.woken, 1);
    assert_int_equal(third.woken, 0);
    expect(settle(&second, SECONDS(3)), go(SECONDS(3), SECONDS(3)));
    assert_int_equal(second.call.attempt, 1);
    assert_occupied(1, 1, 7);
    expect(end(&second.call, LULL_SUCCESS, SECONDS(4)), done(SECONDS(4)));
    assert_int_equal(third.woken, 1);
    expect(settle(&third, SECONDS(4)), go(SECONDS(4), SECONDS(3)));
    expect(end(&third.call, LULL_SUCCESS, SECONDS(4)), done(SECONDS(4)));
    assert_occupied(0, 0, 7);
    assert_int_equal(first.woken, 0);
    assert_int_equal(stats_at(0).firsts, 3);
    assert_int_equal(stats_at(0).breaker.calls, 3);
}

/* The breaker times the attempt, not the wait before it. */
static void test_waiting_does_not_make_a_call_slow(void **state) {
    (void)state;
    struct guest first, second;
    struct lull_guard_config config = narrow();
    config.breaker.slow_call = SECONDS(1);
    config.breaker.minimum_calls = 10;
    set_up(config);
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    expect(end(&first.call, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
    expect(settle(&second, SECONDS(3)), go(SECONDS(3), SECONDS(2)));
    expect(end(&second.call, LULL_SUCCESS, SECONDS(4)), done(SECONDS(4)));
    assert_int_equal(stats_at(SECONDS(4)).breaker.calls, 2);
    assert_int_equal(stats_at(SECONDS(4)).breaker.slow, 0);
}

/* Woken at its deadline or after: the place goes on to the next, the token and the probe back. */
static void test_woken_too_late(void **state) {
    (void)state;
    struct guest first, second, third;
    set_up(narrow());
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    expect(arrive(&third, 3, SECONDS(1)), queued(SECONDS(6)));
    expect(end(&first.call, LULL_SUCCESS, SECONDS(4)), done(SECONDS(4)));
    assert_int_equal(second.woken, 1);
    assert_int_equal(third.woken, 0);
    expect(settle(&second, SECONDS(5)), waited_too_long(SECONDS(5)));
    assert_int_equal(third.woken, 1);
    assert_occupied(1, 0, 8);
    expect(settle(&third, SECONDS(6) - 1), go(SECONDS(6) - 1, 1));
    expect(settle(&second, SECONDS(5)), misused());
    expect(admit(&second.call, SECONDS(5)),
           stop(LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED));
    expect(end(&third.call, LULL_SUCCESS, SECONDS(6)), done(SECONDS(6)));
    assert_occupied(0, 0, 8);
    struct lull_guard_stats stats = stats_at(SECONDS(6));
    assert_int_equal(stats.refused[LULL_POLICY_BULKHEAD], 1);
    assert_int_equal(stats.bulkhead.refused, 1);
    assert_int_equal(stats.firsts, 2);
}

static void test_out_of_patience(void **state) {
    (void)state;
    struct guest first, second, third;
    set_up(narrow());
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    expect(arrive(&third, 3, 0), queued(SECONDS(5)));
    expect(settle(&second, SECONDS(1)), waited_too_long(SECONDS(1)));
    assert_occupied(1, 1, 8);
    expect(end(&first.call, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
    assert_int_equal(second.woken, 0);
    assert_int_equal(third.woken, 1);
    expect(settle(&third, SECONDS(1)), go(SECONDS(1), SECONDS(4)));
    lull_call_abandon(&guard, &third.call, SECONDS(1));
    expect(arrive(&second, 2, SECONDS(2)), go(SECONDS(2), SECONDS(5))); /* it may come again */
    lull_call_abandon(&guard, &second.call, SECONDS(2));
    assert_occupied(0, 0, 7);
}

static void test_probe_that_waits_in_vain_is_given_back(void **state) {
    (void)state;
    struct guest first, second, third;
    struct lull_guard_config config = narrow();
    config.bulkhead.limit = 2;
    set_up(config);
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    open_circuit(0);
    expect(arrive(&second, 2, SECONDS(1)), go(SECONDS(1), SECONDS(5)));
    expect(arrive(&third, 3, SECONDS(1)), queued(SECONDS(6)));
    assert_half_open(2, 0, SECONDS(1));
    expect(settle(&third, SECONDS(2)), waited_too_long(SECONDS(2)));
    assert_half_open(1, 0, SECONDS(2));
    expect(arrive(&third, 3, SECONDS(2)), queued(SECONDS(7)));
    assert_half_open(2, 0, SECONDS(2));
    lull_call_abandon(&guard, &second.call, SECONDS(2));
    assert_int_equal(third.woken, 1);
    expect(settle(&third, SECONDS(9)), waited_too_long(SECONDS(9)));
    assert_half_open(0, 0, SECONDS(9));
    lull_call_abandon(&guard, &first.call, SECONDS(9));
    assert_occupied(0, 0, 7);
}

/* "Nothing is admitted before": not even one who waited at the bulkhead when the clock was moved. */
static void test_clock_moved_during_the_wait(void **state) {
    (void)state;
    struct guest first, second, third;
    struct lull_guard_config config = narrow();
    config.breaker.minimum_calls = 10;
    set_up(config);
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    expect(arrive(&third, 3, SECONDS(1)), queued(SECONDS(6)));
    assert_int_equal(throttle(&first.call, SECONDS(2), SECONDS(1)).decision, LULL_RETRY);
    assert_int_equal(second.woken, 1);
    lull_duration spread = lull_uniform(drawn(2, 1), 0, MILLISECONDS(100)); /* a tenth of 1 s */
    expect(settle(&second, SECONDS(2)),
           no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, SECONDS(3) + spread));
    assert_int_equal(third.woken, 1);
    assert_occupied(1, 0, 8); /* the place is the next one's, the token went back */
    expect(settle(&third, SECONDS(3) - 1),
           no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, SECONDS(3)));
    assert_occupied(0, 0, 9);
    expect(arrive(&third, 3, SECONDS(3)), go(SECONDS(3), SECONDS(5)));
    expect(lull_admit_or_wait(&guard, &second.call, &second.waiter, SECONDS(3)),
           queued(SECONDS(5)));
    lull_guard_pause(&guard, SECONDS(4));
    lull_call_abandon(&guard, &third.call, SECONDS(3));
    expect(settle(&second, SECONDS(4)), go(SECONDS(4), SECONDS(1))); /* the pause is over */
    lull_call_abandon(&guard, &second.call, SECONDS(4));
    assert_occupied(0, 0, 7);
    assert_int_equal(stats_at(0).refused[LULL_POLICY_CLOCK], 2);
    assert_int_equal(stats_at(0).refused[LULL_POLICY_BULKHEAD], 0);
}

static void test_waiting_needs_a_waiter_and_a_full_bulkhead(void **state) {
    (void)state;
    struct guest first;
    set_up(narrow());
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    struct lull_call call = begin(2, 0);
    expect(lull_admit_or_wait(&guard, &call, NULL, 0), full(0));
    expect(admit(&call, 0), full(0));
    expect(settle(&first, 0), misused()); /* was not queued; goes on */
    expect(end(&first.call, LULL_SUCCESS, 0), done(0));
    assert_occupied(0, 0, 9);
}

static void test_raised_limit_lets_waiters_in(void **state) {
    (void)state;
    struct guest first, second, third;
    struct lull_guard_config config = narrow();
    set_up(config);
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    expect(arrive(&third, 3, 0), queued(SECONDS(5)));
    config.bulkhead.limit = 2;
    reconfigure(config);
    assert_int_equal(second.woken, 1);
    assert_int_equal(third.woken, 0);
    expect(settle(&second, 1), go(1, SECONDS(5) - 1));
    config.bulkhead.limit = 1; /* two inside: the next to leave closes a place */
    reconfigure(config);
    (void)end(&first.call, LULL_SUCCESS, 1);
    assert_int_equal(third.woken, 0);
    assert_occupied(1, 1, 7);
    (void)end(&second.call, LULL_SUCCESS, 1);
    assert_int_equal(third.woken, 1);
    expect(settle(&third, 2), go(2, SECONDS(5) - 2));
    lull_call_abandon(&guard, &third.call, 2);
    assert_occupied(0, 0, 7);
}

/* ---- abandoning ---- */

static void test_abandon_gives_back_and_does_not_vote(void **state) {
    (void)state;
    set_up(touchy());
    struct lull_call call = begin(1, 0);
    lull_call_abandon(&guard, &call, 0); /* before an attempt: nothing to give */
    assert_int_equal(sum(stats_at(0).outcomes, LULL_CLASS_COUNT), 0);
    expect(admit(&call, 0), go(0, LULL_NEVER));
    lull_call_abandon(&guard, &call, 0);
    lull_call_abandon(&guard, &call, 0);
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.bulkhead.inside, 0);
    assert_int_equal(stats.outcomes[LULL_CANCELLED], 1);
    assert_int_equal(sum(stats.outcomes, LULL_CLASS_COUNT), 1);
    assert_int_equal(stats.breaker.calls, 0);
    assert_int_equal(sum(stats.stopped, LULL_REASON_COUNT), 0);
    assert_int_equal(stats.bucket.tokens, 9); /* it was used */
    expect(end(&call, LULL_SUCCESS, 0), misused());
}

static void test_abandon_after_the_end_changes_nothing(void **state) {
    (void)state;
    const enum lull_class classes_of_ends[] = {LULL_SUCCESS, LULL_TRANSIENT, LULL_PERMANENT};
    for (size_t i = 0; i < COUNT(classes_of_ends); i++) {
        set_up(steady);
        struct lull_call other = admitted(9, 0), call = admitted(1, 0);
        (void)end(&call, classes_of_ends[i], 0);
        lull_call_abandon(&guard, &call, 0);
        struct lull_guard_stats stats = stats_at(0);
        assert_int_equal(stats.bulkhead.inside, 1); /* the other's */
        assert_int_equal(stats.outcomes[LULL_CANCELLED], 0);
        lull_call_abandon(&guard, &other, 0);
    }
}

static void test_abandoned_probe_is_given_back(void **state) {
    (void)state;
    set_up(touchy());
    open_circuit(0);
    struct lull_call probe = begin(2, SECONDS(1));
    expect(admit(&probe, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    assert_half_open(1, 0, SECONDS(1));
    lull_call_abandon(&guard, &probe, SECONDS(1));
    assert_half_open(0, 0, SECONDS(1));
}

static void test_abandon_during_a_wait_waits_for_settle(void **state) {
    (void)state;
    struct guest first, second;
    set_up(narrow());
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    lull_call_abandon(&guard, &second.call, 0);
    assert_occupied(1, 1, 8);
    expect(settle(&second, 0), waited_too_long(0));
    lull_call_abandon(&guard, &second.call, 0);
    lull_call_abandon(&guard, &first.call, 0);
    assert_occupied(0, 0, 9);
    assert_int_equal(stats_at(0).outcomes[LULL_CANCELLED], 1);
}

/* ---- misuse ---- */

static void assert_misuses(uint64_t count) {
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.stopped[LULL_REASON_MISUSE], count);
    assert_int_equal(sum(stats.stopped, LULL_REASON_COUNT), count);
}

static void test_completing_what_was_not_admitted(void **state) {
    (void)state;
    set_up(touchy());
    struct lull_call inside = admitted(9, 0), call = begin(1, 0);
    expect(end(&call, LULL_TRANSIENT, 0), misused());
    expect(admit(&call, 0), go(0, LULL_NEVER));
    expect(end(&call, LULL_SUCCESS, 0), done(0));
    expect(end(&call, LULL_SUCCESS, 0), misused());
    expect(end(&call, LULL_TRANSIENT, 0), misused());
    struct lull_guard_stats stats = stats_at(0);
    assert_int_equal(stats.outcomes[LULL_SUCCESS], 1);
    assert_int_equal(sum(stats.outcomes, LULL_CLASS_COUNT), 1);
    assert_int_equal(stats.breaker.calls, 1);
    assert_int_equal(stats.bulkhead.inside, 1);
    assert_misuses(3);
    lull_call_abandon(&guard, &inside, 0);
}

static void test_admitting_twice(void **state) {
    (void)state;
    set_up(touchy());
    struct lull_call call = admitted(1, 0);
    struct lull_waiter waiter = {0};
    expect(admit(&call, 0), misused());
    expect(lull_admit_or_wait(&guard, &call, &waiter, 0), misused());
    assert_int_equal(call.attempt, 1);
    assert_occupied(1, 0, 9);
    expect(end(&call, LULL_SUCCESS, 0), done(0)); /* the attempt itself is not harmed */
    assert_occupied(0, 0, 9);
    assert_int_equal(stats_at(0).firsts, 1);
    assert_misuses(2);
}

static void test_misuse_during_a_wait(void **state) {
    (void)state;
    struct guest first, second;
    set_up(narrow());
    expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
    expect(arrive(&second, 2, 0), queued(SECONDS(5)));
    expect(admit(&second.call, 0), misused());
    expect(end(&second.call, LULL_SUCCESS, 0), misused());
    assert_occupied(1, 1, 8);
    (void)end(&first.call, LULL_SUCCESS, 0);
    expect(settle(&second, 0), go(0, SECONDS(5)));
    expect(settle(&second, 0), misused());
    expect(end(&second.call, LULL_SUCCESS, 0), done(0));
    assert_occupied(0, 0, 8);
    assert_misuses(3);
}

static void test_outcome_of_no_class(void **state) {
    (void)state;
    const int none[] = {LULL_UNSET, LULL_CLASS_COUNT, LULL_CLASS_COUNT + 1,
                        -1,         INT32_MAX,        INT32_MIN};
    for (size_t i = 0; i < COUNT(none); i++) {
        struct lull_guard_config config = touchy();
        set_up(config);
        open_circuit(0);
        struct lull_call probe = begin(2, SECONDS(1));
        expect(admit(&probe, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
        struct lull_outcome outcome = {.class_ = (enum lull_class)none[i],
                                       .retry_after = SECONDS(9)};
        expect(lull_complete(&guard, &probe, outcome, SECONDS(1)), misused());
        assert_half_open(0, 0, SECONDS(1));
        struct lull_guard_stats stats = stats_at(SECONDS(1));
        assert_int_equal(stats.bulkhead.inside, 0);
        assert_int_equal(stats.outcomes[LULL_CANCELLED], 1);
        assert_int_equal(stats.outcomes[LULL_UNSET], 0);
        assert_int_equal(stats.not_before, 0);
        expect(end(&probe, LULL_SUCCESS, SECONDS(1)), misused());
        expect(admit(&probe, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    }
}

/* ---- going without ---- */

static struct lull_guard_config exhaustible(void) {
    struct lull_guard_config config = touchy();
    config.bucket.capacity = 1;
    config.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = LULL_NONE};
    config.budget = (struct lull_budget_config){.ratio = LULL_NONE, .floor = LULL_NONE};
    return config;
}

/* Every policy at its end: circuit forced open, no token, no place, no money. */
static void test_going_without(void **state) {
    (void)state;
    for (uint32_t without = 0; without < 16; without++) {
        struct lull_guard_config config = exhaustible();
        set_up(config);
        struct lull_call inside = admitted(9, 0);
        lull_breaker_set_mode(&guard.breaker, LULL_BREAKER_MODE_FORCED_OPEN, 0);
        config.without = without;
        reconfigure(config);
        struct lull_call call = begin(1, 0);
        struct lull_verdict verdict = admit(&call, 0);
        if (!(without & LULL_WITHOUT_BREAKER))
            expect(verdict, no(LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_FORCED_OPEN, LULL_NEVER));
        else if (!(without & LULL_WITHOUT_BUCKET))
            expect(verdict, no(LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, LULL_HOUR));
        else if (!(without & LULL_WITHOUT_BULKHEAD))
            expect(verdict, full(0));
        else {
            expect(verdict, go(0, LULL_NEVER));
            expect(end(&call, LULL_TRANSIENT, 0),
                   without & LULL_WITHOUT_BUDGET
                       ? retry(LULL_REASON_BACKING_OFF, MILLISECONDS(100))
                       : stop(LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT));
        }
        struct lull_guard_stats stats = stats_at(0);
        assert_int_equal(stats.breaker.calls, 0);
        assert_int_equal(stats.bulkhead.inside, 1);
        assert_int_equal(stats.bucket.tokens, 0);
        assert_int_equal(stats.budget.withdrawn, 0);
        lull_call_abandon(&guard, &inside, 0);
        assert_int_equal(stats_at(0).bulkhead.inside, 0);
    }
}

/* A call gives back what it took, whatever the guard goes without by then. */
static void test_policies_dropped_while_a_call_is_inside(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    set_up(config);
    open_circuit(0);
    struct lull_call probe = begin(2, SECONDS(1));
    expect(admit(&probe, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    config.without = 15;
    reconfigure(config);
    struct lull_call bare = begin(3, SECONDS(1));
    expect(admit(&bare, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 1);
    expect(end(&probe, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
    assert_half_open(0, 1, SECONDS(1));
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 0);
    config.without = 0;
    reconfigure(config);
    expect(end(&bare, LULL_SUCCESS, SECONDS(1)), done(SECONDS(1)));
    assert_half_open(0, 1, SECONDS(1)); /* it was not admitted by the breaker: no vote */
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 0);
}

/* The rate limit comes or goes while somebody waits: only a token that was taken goes back. */
static void test_rate_limit_switched_during_a_wait(void **state) {
    (void)state;
    for (int switched_on = 0; switched_on <= 1; switched_on++) {
        struct guest first, second;
        struct lull_guard_config config = narrow();
        config.without = switched_on ? LULL_WITHOUT_BUCKET : 0;
        set_up(config);
        expect(arrive(&first, 1, 0), go(0, SECONDS(5)));
        expect(arrive(&second, 2, 0), queued(SECONDS(5)));
        config.without = switched_on ? 0 : LULL_WITHOUT_BUCKET;
        reconfigure(config);
        expect(settle(&second, 0), waited_too_long(0));
        assert_int_equal(stats_at(0).bucket.tokens, switched_on ? 10 : 9);
        lull_call_abandon(&guard, &first.call, 0);
        config.without = 0;
        reconfigure(config);
        struct lull_call call = begin(3, 0);
        expect(admit(&call, 0), go(0, SECONDS(5)));
        lull_call_abandon(&guard, &call, 0);
    }
}

/* ---- reconfiguration ---- */

static void assert_same_state(struct lull_guard_stats a, struct lull_guard_stats b) {
    assert_int_equal(a.firsts, b.firsts);
    assert_int_equal(a.retries, b.retries);
    assert_memory_equal(a.outcomes, b.outcomes, sizeof a.outcomes);
    assert_memory_equal(a.refused, b.refused, sizeof a.refused);
    assert_memory_equal(a.stopped, b.stopped, sizeof a.stopped);
    assert_int_equal(a.not_before, b.not_before);
    assert_int_equal(a.breaker.state, b.breaker.state);
    assert_int_equal(a.breaker.generation, b.breaker.generation);
    assert_int_equal(a.breaker.open_until, b.breaker.open_until);
    assert_int_equal(a.breaker.window_calls, b.breaker.window_calls);
    assert_int_equal(a.breaker.window_failed, b.breaker.window_failed);
    assert_int_equal(a.breaker.calls, b.breaker.calls);
    assert_true(a.budget.tokens == b.budget.tokens);
    assert_int_equal(a.budget.withdrawn, b.budget.withdrawn);
    assert_int_equal(a.bucket.full_at, b.bucket.full_at);
    assert_int_equal(a.bulkhead.inside, b.bulkhead.inside);
    assert_int_equal(a.storm.firsts, b.storm.firsts);
}

static void test_reconfiguration_keeps_the_state(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.breaker.minimum_calls = 100;
    config.bucket = (struct lull_bucket_config){.capacity = 10, .rate = 1, .per = LULL_HOUR};
    config.budget =
        (struct lull_budget_config){.ratio = 0.5, .cap_seconds = LULL_NONE, .floor = LULL_NONE};
    set_up(config);
    for (uint64_t i = 0; i < 3; i++) {
        struct lull_call call = admitted(i, 0);
        expect(end(&call, LULL_SUCCESS, 0), done(0));
    }
    struct lull_call failed = admitted(4, 0), inside = admitted(5, 0);
    assert_int_equal(end(&failed, LULL_TRANSIENT, 0).decision, LULL_RETRY);
    lull_guard_pause(&guard, SECONDS(1));
    struct lull_guard_stats before = stats_at(0);
    assert_int_equal(before.breaker.window_calls, 4);
    assert_int_equal(before.breaker.window_failed, 1);
    assert_int_equal(before.bucket.tokens, 5);
    assert_true(before.budget.tokens == 0.5);

    config.retry.attempts = 9;
    config.bulkhead.limit = 7;
    config.bucket.capacity = 12;
    reconfigure(config);
    struct lull_guard_stats after = stats_at(0);
    assert_int_equal(after.bulkhead.limit, 7);
    assert_int_equal(after.bucket.capacity, 12);
    assert_int_equal(after.bucket.tokens, 7);
    assert_same_state(after, before);
    expect(end(&inside, LULL_SUCCESS, 0), done(0));
}

static void test_reconfiguration_keeps_the_circuit_open(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    set_up(config);
    open_circuit(0);
    struct lull_guard_stats before = stats_at(0);
    config.breaker.open_time = SECONDS(7);
    reconfigure(config);
    assert_same_state(stats_at(0), before);
    struct lull_call call = begin(2, MILLISECONDS(999));
    expect(admit(&call, MILLISECONDS(999)),
           no(LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_OPEN, SECONDS(1)));
    expect(admit(&call, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    (void)end(&call, LULL_TRANSIENT, SECONDS(1)); /* re-opens, by the new time and doubled */
    assert_int_equal(stats_at(SECONDS(1)).breaker.open_until, SECONDS(15));
}

/* Each new setting holds from the next decision on, also for a call begun before. */
static void test_reconfiguration_takes_effect(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    set_up(config);
    struct lull_call call = begin(KNOWN_SEED, 0);
    config.retry = (struct lull_retry_config){
        .attempts = 2,
        .backoff = {.base = SECONDS(3), .cap = SECONDS(3), .jitter = LULL_JITTER_NONE},
        .deadline = SECONDS(50),
        .attempt_timeout = SECONDS(4),
        .retry_after_cap = SECONDS(5),
        .retry_after_jitter = LULL_NONE,
    };
    config.breaker.slow_call = MILLISECONDS(1);
    reconfigure(config);
    assert_int_equal(call.deadline, LULL_NEVER); /* but the deadline is set when it begins */
    assert_int_equal(begin(1, 0).deadline, SECONDS(50));
    expect(admit(&call, 0), go(0, SECONDS(4)));
    expect(end(&call, LULL_TRANSIENT, MILLISECONDS(2)),
           retry(LULL_REASON_BACKING_OFF, MILLISECONDS(3002)));
    assert_int_equal(stats_at(0).breaker.slow, 1);
    expect(admit(&call, MILLISECONDS(3002)), go(MILLISECONDS(3002), SECONDS(4)));
    config.retry.attempts = 3;
    reconfigure(config);
    expect(throttle(&call, SECONDS(9), SECONDS(4)), retry(LULL_REASON_RETRY_AFTER, SECONDS(9)));
    expect(admit(&call, SECONDS(9)), go(SECONDS(9), SECONDS(4)));
    expect(end(&call, LULL_TRANSIENT, SECONDS(9)),
           stop(LULL_POLICY_RETRY, LULL_REASON_ATTEMPTS_SPENT));
}

static void test_reconfiguration_of_budget_and_bucket_takes_effect(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    set_up(config);
    config.budget = (struct lull_budget_config){.ratio = LULL_NONE, .floor = LULL_NONE};
    config.bucket = (struct lull_bucket_config){.capacity = 1, .rate = 1, .per = LULL_HOUR};
    reconfigure(config);
    struct lull_call call = admitted(1, 0), other = begin(2, 0);
    expect(admit(&other, 0), no(LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, LULL_HOUR));
    expect(end(&call, LULL_TRANSIENT, 0), stop(LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT));
}

/* The breaker's window cannot change its kind, and then nothing else changes either. */
static void test_refused_reconfiguration_changes_nothing(void **state) {
    (void)state;
    const struct {
        struct lull_breaker_config before, after;
        const char *field;
    } rows[] = {
        {{.by_count = false}, {.by_count = true}, "breaker.by_count"},
        {{.by_count = true}, {.by_count = false}, "breaker.by_count"},
        {{.slices = 10}, {.slices = 20}, "breaker.slices"},
        {{.by_count = true, .calls = 50}, {.by_count = true, .calls = 60}, "breaker.calls"},
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct lull_guard_config config = steady;
        config.breaker = rows[row].before;
        set_up(config);
        static struct lull_guard before;
        memcpy(&before, &guard, sizeof guard);
        config.breaker = rows[row].after;
        config.retry.attempts = 7;
        config.bulkhead.limit = 3;
        struct lull_error error = {0};
        assert_int_equal(lull_guard_configure(&guard, &config, &error), LULL_EINVAL);
        assert_string_equal(error.field, rows[row].field);
        assert_int_equal(lull_guard_configure(&guard, &config, NULL), LULL_EINVAL);
        assert_memory_equal(&guard, &before, sizeof guard);
    }
}

static struct lull_breaker_event told;
static int times_told;

static void note_transition(void *context, const struct lull_breaker_event *event) {
    assert_ptr_equal(context, &told);
    told = *event;
    times_told++;
}

static void test_transitions_are_told(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.breaker.on_transition = note_transition;
    config.breaker.context = &told;
    times_told = 0;
    set_up(config);
    open_circuit(SECONDS(2));
    assert_int_equal(times_told, 1);
    assert_int_equal(told.to, LULL_BREAKER_OPEN);
    assert_int_equal(told.at, SECONDS(2));
    assert_int_equal(told.open_until, SECONDS(3));
}

/* ---- snapshot ---- */

static void test_fresh_guard_has_counted_nothing(void **state) {
    (void)state;
    set_up(steady);
    struct lull_guard_stats stats = stats_at(SECONDS(3));
    assert_int_equal(stats.firsts, 0);
    assert_int_equal(stats.retries, 0);
    assert_int_equal(sum(stats.outcomes, LULL_CLASS_COUNT), 0);
    assert_int_equal(sum(stats.refused, LULL_POLICY_COUNT), 0);
    assert_int_equal(sum(stats.stopped, LULL_REASON_COUNT), 0);
    assert_int_equal(stats.not_before, 0);
    assert_int_equal(stats.breaker.state, LULL_BREAKER_CLOSED);
    assert_int_equal(stats.breaker.calls + stats.breaker.failed + stats.breaker.slow, 0);
    assert_int_equal(stats.breaker.refused + stats.breaker.late + stats.breaker.transitions, 0);
    assert_int_equal(stats.breaker.window_calls + stats.breaker.window_failed, 0);
    assert_true(stats.budget.tokens == LULL_BUDGET_FLOOR);
    assert_int_equal(stats.budget.withdrawn + stats.budget.refused, 0);
    assert_int_equal(stats.bucket.capacity, LULL_BUCKET_CAPACITY);
    assert_int_equal(stats.bucket.tokens, LULL_BUCKET_CAPACITY);
    assert_int_equal(stats.bucket.next_at, SECONDS(3));
    assert_int_equal(stats.bucket.full_at, SECONDS(3));
    assert_int_equal(stats.bucket.refused, 0);
    assert_int_equal(stats.bulkhead.limit, LULL_BULKHEAD_LIMIT);
    assert_int_equal(stats.bulkhead.inside + stats.bulkhead.waiting, 0);
    assert_int_equal(stats.bulkhead.refused, 0);
    assert_false(stats.storm.storm || stats.storm.backlog_growing || stats.storm.rate_high);
    assert_true(stats.storm.ratio == 0);
}

static struct lull_guard_config for_snapshot(void) {
    struct lull_guard_config config = steady;
    config.retry.attempts = 2;
    config.retry.retry_after_jitter = LULL_NONE;
    config.breaker = (struct lull_breaker_config){.minimum_calls = 100, .slow_call = SECONDS(1)};
    config.budget = (struct lull_budget_config){.ratio = 0.5, .cap_seconds = LULL_NONE, .floor = 2};
    config.bucket = (struct lull_bucket_config){.capacity = 5, .rate = 1};
    config.bulkhead = (struct lull_bulkhead_config){.limit = 2, .queue = 1};
    return config;
}

/* Two are let in, one waits, one is refused; all that were let in are retried, and one of them succeeds. */
static void play_scene(struct guest *last) {
    struct guest first, second, third, fourth;
    expect(arrive(&first, 1, 0), go(0, LULL_NEVER));
    expect(arrive(&second, 2, 0), go(0, LULL_NEVER));
    expect(arrive(&third, 3, 0), queued(LULL_NEVER));
    expect(arrive(&fourth, 4, 0), full(0));
    expect(end(&first.call, LULL_SUCCESS, SECONDS(2)), done(SECONDS(2))); /* slow */
    expect(settle(&third, SECONDS(2)), go(SECONDS(2), LULL_NEVER));
    expect(end(&second.call, LULL_TIMEOUT, SECONDS(2)), /* slow, too; from the floor */
           retry(LULL_REASON_BACKING_OFF, MILLISECONDS(2100)));
    expect(throttle(&third.call, SECONDS(3), SECONDS(2)), /* from the floor */
           retry(LULL_REASON_RETRY_AFTER, SECONDS(5)));
    expect(admit(&second.call, SECONDS(3)),
           no(LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, SECONDS(5)));
    expect(admit(&second.call, SECONDS(5)), go(SECONDS(5), LULL_NEVER));
    expect(end(&second.call, LULL_TRANSIENT, SECONDS(5)),
           stop(LULL_POLICY_RETRY, LULL_REASON_ATTEMPTS_SPENT));
    expect(admit(&third.call, SECONDS(5)), go(SECONDS(5), LULL_NEVER));
    expect(arrive(last, 5, SECONDS(5)), go(SECONDS(5), LULL_NEVER));
}

static void check_counters_of_scene(const struct lull_guard_stats *stats) {
    assert_int_equal(stats->firsts, 3); /* attempts count when they have ended: two are under way */
    assert_int_equal(stats->retries, 1);
    assert_int_equal(stats->outcomes[LULL_SUCCESS], 1);
    assert_int_equal(stats->outcomes[LULL_TIMEOUT], 1);
    assert_int_equal(stats->outcomes[LULL_THROTTLED], 1);
    assert_int_equal(stats->outcomes[LULL_TRANSIENT], 1);
    assert_int_equal(sum(stats->outcomes, LULL_CLASS_COUNT), 4);
    assert_int_equal(stats->refused[LULL_POLICY_BULKHEAD], 1);
    assert_int_equal(stats->refused[LULL_POLICY_CLOCK], 1);
    assert_int_equal(sum(stats->refused, LULL_POLICY_COUNT), 2);
    assert_int_equal(stats->stopped[LULL_REASON_ATTEMPTS_SPENT], 1);
    assert_int_equal(sum(stats->stopped, LULL_REASON_COUNT), 1);
    assert_int_equal(stats->not_before, SECONDS(5));
}

static void check_policies_of_scene(const struct lull_guard_stats *stats) {
    assert_int_equal(stats->breaker.state, LULL_BREAKER_CLOSED);
    assert_int_equal(stats->breaker.generation, 0);
    assert_int_equal(stats->breaker.reopenings, 0);
    assert_int_equal(stats->breaker.open_until, 0);
    assert_int_equal(stats->breaker.calls, 4);
    assert_int_equal(stats->breaker.failed, 3);
    assert_int_equal(stats->breaker.slow, 2);
    assert_int_equal(stats->breaker.window_calls, 4);
    assert_int_equal(stats->breaker.window_failed, 3);
    assert_int_equal(stats->breaker.window_slow, 2);
    assert_int_equal(stats->breaker.probes_out, 0);
    assert_int_equal(stats->breaker.refused + stats->breaker.late, 0);
    assert_true(stats->budget.tokens == 2.5); /* half a token earned; the floor is full again */
    assert_int_equal(stats->budget.withdrawn, 2);
    assert_int_equal(stats->budget.refused, 0);
    assert_int_equal(stats->bucket.capacity, 5);
    assert_int_equal(stats->bucket.tokens,
                     2); /* three taken at 0, full again at 3 s, three at 5 s */
    assert_int_equal(stats->bucket.next_at, SECONDS(5));
    assert_int_equal(stats->bucket.full_at, SECONDS(8));
    assert_int_equal(stats->bucket.refused, 0);
    assert_int_equal(stats->bulkhead.limit, 2);
    assert_int_equal(stats->bulkhead.inside, 2);
    assert_int_equal(stats->bulkhead.waiting, 0);
    assert_int_equal(stats->bulkhead.refused, 1);
    assert_int_equal(stats->storm.firsts, 3);
    assert_int_equal(stats->storm.retries, 1);
    assert_int_equal(stats->storm.total_firsts, 3);
    assert_int_equal(stats->storm.total_retries, 1);
    assert_true(stats->storm.ratio == 1.0 / 3);
    assert_false(stats->storm.storm);
}

static void test_snapshot_is_exact(void **state) {
    (void)state;
    struct guest last;
    set_up(for_snapshot());
    play_scene(&last);
    struct lull_guard_stats stats = stats_at(SECONDS(5));
    check_counters_of_scene(&stats);
    check_policies_of_scene(&stats);
    expect(end(&last.call, LULL_SUCCESS, SECONDS(5)), done(SECONDS(5)));
    /* Windows pass, totals stay. */
    stats = stats_at(SECONDS(5) + LULL_HOUR);
    assert_int_equal(stats.storm.firsts, 0);
    assert_int_equal(stats.firsts, 4);
    assert_int_equal(stats.breaker.window_calls, 0);
    assert_int_equal(stats.breaker.calls, 5);
    assert_true(stats.budget.tokens == 2);
    assert_int_equal(stats.bucket.tokens, 5);
}

/* ---- the storm detector hears of every attempt ---- */

static void test_attempts_count_in_the_slice_in_which_they_end(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET;
    set_up(config);
    for (int64_t hour = 0; hour < 3;
         hour++) { /* after hours without any, one call of three attempts */
        lull_time now = hour * LULL_HOUR;
        struct lull_call call = admitted(1, now);
        while (end(&call, LULL_TRANSIENT, now).decision == LULL_RETRY)
            assert_int_equal(admit(&call, now).decision, LULL_GO);
        struct lull_storm_stats storm = stats_at(now).storm;
        assert_int_equal(storm.firsts, 1);
        assert_int_equal(storm.retries, 2);
        assert_int_equal(storm.total_firsts, hour + 1);
        assert_int_equal(storm.total_retries, 2 * (hour + 1));
    }
}

/* Seen when a retry is counted and its outcome is not yet: first tries are known as the difference, and stay. */
static void test_first_tries_never_go_back(void **state) {
    (void)state;
    set_up(steady);
    for (uint64_t i = 0; i < 3; i++) {
        struct lull_call call = admitted(i, 0);
        (void)end(&call, LULL_TRANSIENT, 0);
    }
    assert_int_equal(stats_at(0).firsts, 3);
    guard.retries++;
    assert_int_equal(stats_at(0).firsts, 3);
    guard.outcomes[LULL_TRANSIENT]++;
    assert_int_equal(stats_at(0).firsts, 3);
    assert_int_equal(stats_at(0).retries, 1);
}

static void test_storm(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.retry.attempts = 1000;
    config.without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET;
    set_up(config);
    for (uint64_t calls = 1; calls <= 20;
         calls++) { /* 20 calls, 100 retries: 5 each are not yet too many */
        struct lull_call call = admitted(calls, 0);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(end(&call, LULL_TRANSIENT, 0).decision, LULL_RETRY);
            assert_int_equal(admit(&call, 0).decision, LULL_GO);
        }
        assert_int_equal(end(&call, LULL_SUCCESS, 0).decision, LULL_DONE);
    }
    assert_int_equal(stats_at(0).storm.retries, 100);
    assert_false(stats_at(0).storm.storm);
    struct lull_call call = admitted(1, 0);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(end(&call, LULL_TRANSIENT, 0).decision, LULL_RETRY);
        assert_int_equal(admit(&call, 0).decision, LULL_GO);
    }
    assert_int_equal(end(&call, LULL_SUCCESS, 0).decision, LULL_DONE);
    assert_true(stats_at(0).storm.storm); /* 107 retries, 21 first tries */
    assert_false(stats_at(LULL_STORM_WINDOW + 1).storm.storm);
}

/* A first try ends at 0, and one at the moment when the second slice begins. When the window has passed since the first,
 * it holds the second only. */
static void end_two(enum lull_class class_, lull_duration slice) {
    for (int i = 0; i < 2; i++) {
        struct lull_call call = admitted(1, i * slice);
        if (class_ == LULL_CANCELLED)
            lull_call_abandon(&guard, &call, i * slice);
        else
            (void)end(&call, class_, i * slice);
    }
}

static void test_windows_end_to_the_nanosecond(void **state) {
    (void)state;
    const enum lull_class ends[] = {LULL_SUCCESS, LULL_PERMANENT, LULL_CANCELLED, LULL_UNSET};
    struct lull_guard_config config = penniless();
    for (size_t i = 0; i < COUNT(ends); i++) {
        set_up(config);
        end_two(ends[i], LULL_STORM_WINDOW / LULL_STORM_SLICES);
        assert_int_equal(stats_at(LULL_STORM_WINDOW - 1).storm.firsts, 2);
        assert_int_equal(stats_at(LULL_STORM_WINDOW).storm.firsts, 1);
    }
    set_up(config);
    end_two(LULL_SUCCESS, LULL_BREAKER_WINDOW / LULL_BREAKER_SLICES);
    assert_int_equal(stats_at(LULL_BREAKER_WINDOW - 1).breaker.window_calls, 2);
    assert_int_equal(stats_at(LULL_BREAKER_WINDOW).breaker.window_calls, 1);
    set_up(config);
    end_two(LULL_SUCCESS, LULL_BUDGET_WINDOW / LULL_BUDGET_SLICES);
    assert_true(stats_at(LULL_BUDGET_WINDOW - 1).budget.tokens == 1);
    assert_true(stats_at(LULL_BUDGET_WINDOW).budget.tokens == 0.5);
}

/* ---- configuration ---- */

#define TOO_LONG (100 * 365 * LULL_DAY + 1)

static const struct {
    const char *field;
    struct lull_guard_config config;
} bad[] = {
    {"retry.deadline", {.retry = {.deadline = -2}}},
    {"retry.deadline", {.retry = {.deadline = INT64_MIN}}},
    {"retry.deadline", {.retry = {.deadline = TOO_LONG}}},
    {"retry.attempt_timeout", {.retry = {.attempt_timeout = -2}}},
    {"retry.attempt_timeout", {.retry = {.attempt_timeout = TOO_LONG}}},
    {"retry.retry_after_cap", {.retry = {.retry_after_cap = LULL_NONE}}},
    {"retry.retry_after_cap", {.retry = {.retry_after_cap = -2}}},
    {"retry.retry_after_cap", {.retry = {.retry_after_cap = TOO_LONG}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = -0.5}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = 10.5}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = NAN}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = INFINITY}}},
    {"backoff.base", {.retry = {.backoff = {.base = -1}}}},
    {"backoff.base", {.retry = {.backoff = {.base = TOO_LONG}}}},
    {"backoff.cap", {.retry = {.backoff = {.cap = -1}}}},
    {"backoff.cap", {.retry = {.backoff = {.cap = TOO_LONG}}}},
    {"backoff.cap", {.retry = {.backoff = {.base = 2000, .cap = 1999}}}},
    {"backoff.multiplier", {.retry = {.backoff = {.multiplier = 0.99}}}},
    {"backoff.multiplier", {.retry = {.backoff = {.multiplier = NAN}}}},
    {"backoff.multiplier", {.retry = {.backoff = {.multiplier = INFINITY}}}},
    {"backoff.jitter", {.retry = {.backoff = {.jitter = (enum lull_jitter)7}}}},
    {"backoff.jitter_factor", {.retry = {.backoff = {.jitter_factor = -0.1}}}},
    {"backoff.jitter_factor", {.retry = {.backoff = {.jitter_factor = 1.1}}}},
    {"backoff.jitter_factor", {.retry = {.backoff = {.jitter_factor = NAN}}}},
    {"backoff.tier_count", {.retry = {.backoff = {.tier_count = 9}}}},
    {"backoff.tiers", {.retry = {.backoff = {.tier_count = 2, .tiers = {1}}}}},
    {"backoff.tiers", {.retry = {.backoff = {.tier_count = 1, .tiers = {-1}}}}},
    {"breaker.window", {.breaker = {.window = -1}}},
    {"breaker.window", {.breaker = {.window = LULL_DAY + 1}}},
    {"breaker.slices", {.breaker = {.slices = 1}}},
    {"breaker.slices", {.breaker = {.slices = 61}}},
    {"breaker.calls", {.breaker = {.calls = 257}}},
    {"breaker.minimum_calls", {.breaker = {.by_count = true, .calls = 9, .minimum_calls = 10}}},
    {"breaker.failure_rate", {.breaker = {.failure_rate = -0.1}}},
    {"breaker.failure_rate", {.breaker = {.failure_rate = 1.01}}},
    {"breaker.failure_rate", {.breaker = {.failure_rate = NAN}}},
    {"breaker.slow_rate", {.breaker = {.slow_rate = -0.1}}},
    {"breaker.slow_rate", {.breaker = {.slow_rate = 1.01}}},
    {"breaker.slow_rate", {.breaker = {.slow_rate = NAN}}},
    {"breaker.slow_call", {.breaker = {.slow_call = -2}}},
    {"breaker.open_time", {.breaker = {.open_time = -1}}},
    {"breaker.open_max", {.breaker = {.open_max = -1}}},
    {"breaker.open_max", {.breaker = {.open_time = 1000, .open_max = 999}}},
    {"breaker.open_growth", {.breaker = {.open_growth = 0.5}}},
    {"breaker.open_growth", {.breaker = {.open_growth = NAN}}},
    {"breaker.open_jitter", {.breaker = {.open_jitter = 1}}},
    {"breaker.open_jitter", {.breaker = {.open_jitter = -0.1}}},
    {"breaker.open_jitter", {.breaker = {.open_jitter = NAN}}},
    {"breaker.probes", {.breaker = {.probes = 256}}},
    {"breaker.lease", {.breaker = {.lease = -1}}},
    {"budget.ratio", {.budget = {.ratio = -0.1}}},
    {"budget.ratio", {.budget = {.ratio = 1001}}},
    {"budget.ratio", {.budget = {.ratio = NAN}}},
    {"budget.window", {.budget = {.window = -1}}},
    {"budget.window", {.budget = {.window = LULL_DAY + 1}}},
    {"budget.cap_seconds", {.budget = {.cap_seconds = -2}}},
    {"budget.cap_seconds", {.budget = {.cap_seconds = NAN}}},
    {"budget.floor", {.budget = {.floor = -2}}},
    {"budget.floor", {.budget = {.floor = 1000001}}},
    {"bucket.capacity", {.bucket = {.capacity = -1}}},
    {"bucket.capacity", {.bucket = {.capacity = INT64_MAX}}},
    {"bucket.rate", {.bucket = {.rate = -1}}},
    {"bucket.rate", {.bucket = {.rate = LULL_SECOND + 1}}},
    {"bucket.per", {.bucket = {.per = -1}}},
    {"bucket.per", {.bucket = {.per = LULL_DAY + 1}}},
    {"bulkhead.limit", {.bulkhead = {.limit = -1}}},
    {"bulkhead.limit", {.bulkhead = {.limit = 1000001}}},
    {"bulkhead.queue", {.bulkhead = {.queue = -2}}},
    {"bulkhead.queue", {.bulkhead = {.queue = 1000001}}},
    {"without", {.without = 16}},
    {"without", {.without = UINT32_MAX}},
    {"connect_timeout", {.connect_timeout = -1}},
    {"connect_timeout", {.connect_timeout = TOO_LONG}},
    {"read_timeout", {.read_timeout = -1}},
    {"read_timeout", {.read_timeout = TOO_LONG}},
};

static void test_bad_configuration_is_refused_by_name(void **state) {
    (void)state;
    static struct lull_guard before;
    set_up(steady);
    memcpy(&before, &guard, sizeof guard);
    for (size_t row = 0; row < COUNT(bad); row++) {
        struct lull_error error = {0};
        if (lull_guard_check(&bad[row].config, &error) != LULL_EINVAL)
            fail_msg("bad %s was let through (row %zu)", bad[row].field, row);
        assert_string_equal(error.field, bad[row].field);
        assert_ptr_equal(strstr(error.message, bad[row].field), error.message);
        assert_true(strlen(error.message) > strlen(error.field) + 10);
        assert_int_equal(lull_guard_check(&bad[row].config, NULL), LULL_EINVAL);
        error.field = NULL;
        assert_int_equal(lull_guard_configure(&guard, &bad[row].config, &error), LULL_EINVAL);
        assert_string_equal(error.field, bad[row].field);
        assert_int_equal(lull_guard_init(&guard, &bad[row].config, NULL), LULL_EINVAL);
        assert_memory_equal(&guard, &before, sizeof guard);
    }
}

static const struct lull_guard_config at_the_bounds[] = {
    {.retry = {.attempts = 1, .deadline = 1, .attempt_timeout = 1, .retry_after_cap = 1}},
    {.retry = {.attempts = UINT32_MAX,
               .deadline = TOO_LONG - 1,
               .attempt_timeout = TOO_LONG - 1,
               .retry_after_cap = TOO_LONG - 1,
               .retry_after_jitter = 10}},
    {.retry = {.deadline = LULL_NONE,
               .attempt_timeout = LULL_NONE,
               .retry_after_jitter = LULL_NONE,
               .backoff = {.base = 1, .cap = 1, .multiplier = 1}}},
    {.breaker = {.slow_call = LULL_NONE, .open_jitter = LULL_NONE, .slices = 2, .probes = 1}},
    {.breaker = {.by_count = true, .calls = 1}, .budget = {.ratio = LULL_NONE}},
    {.budget = {.floor = LULL_NONE, .cap_seconds = LULL_NONE, .ratio = 1000}},
    {.bucket = {.capacity = 1, .rate = 1, .per = 1}, .bulkhead = {.limit = 1, .queue = LULL_NONE}},
    {.without = 15, .connect_timeout = TOO_LONG - 1, .read_timeout = TOO_LONG - 1},
};

static void test_configuration_at_the_bounds_is_fine(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(at_the_bounds); row++) {
        struct lull_error error = {.message = ""};
        if (lull_guard_check(&at_the_bounds[row], &error) != LULL_OK)
            fail_msg("row %zu: %s", row, error.message);
        set_up(at_the_bounds[row]);
        struct lull_call call = begin(1, 0);
        assert_int_equal(admit(&call, 0).decision, LULL_GO);
        assert_int_equal(end(&call, LULL_SUCCESS, 0).decision, LULL_DONE);
    }
}

/* The numbers of the specification. */
static const struct lull_guard_config specified = {
    .retry = {.attempts = 5,
              .backoff = {.base = MILLISECONDS(100),
                          .cap = SECONDS(2),
                          .multiplier = 2,
                          .jitter = LULL_JITTER_FULL,
                          .jitter_factor = 0.5},
              .deadline = SECONDS(5),
              .attempt_timeout = LULL_NONE,
              .retry_after_cap = LULL_HOUR,
              .retry_after_jitter = 0.1},
    .breaker = {.window = SECONDS(30),
                .slices = 30,
                .calls = 100,
                .minimum_calls = 10,
                .failure_rate = 0.5,
                .slow_rate = 0.8,
                .slow_call = SECONDS(2),
                .open_time = SECONDS(30),
                .open_max = 5 * LULL_MINUTE,
                .open_growth = 2,
                .open_jitter = 0.1,
                .probes = 5,
                .lease = SECONDS(60)},
    .budget = {.ratio = 0.1, .window = SECONDS(10), .cap_seconds = 5, .floor = 10},
    .bucket = {.capacity = 10000, .rate = 1000, .per = SECONDS(1)},
    .bulkhead = {.limit = 30, .queue = 20},
};

static void test_zero_means_default(void **state) {
    (void)state;
    static struct lull_guard by_null, by_zero;
    struct lull_guard_config zero = {0};
    memset(&by_null, 0xa5, sizeof by_null);
    memset(&by_zero, 0xa5, sizeof by_zero);
    set_up(specified);
    assert_int_equal(lull_guard_check(NULL, NULL), LULL_OK);
    assert_int_equal(lull_guard_init(&by_null, NULL, NULL), LULL_OK);
    assert_int_equal(lull_guard_init(&by_zero, &zero, NULL), LULL_OK);
    assert_memory_equal(&by_null, &guard, sizeof guard);
    assert_memory_equal(&by_zero, &guard, sizeof guard);
    assert_int_equal(lull_guard_configure(&guard, NULL, NULL), LULL_OK);
    assert_memory_equal(&by_null, &guard, sizeof guard);
    assert_true(sizeof guard <= 4096); /* "about 4 kB" */
}

static void test_configuration_is_copied(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    set_up(config);
    memset(&config, 0xff, sizeof config);
    struct lull_call call = admitted(1, 0);
    expect(end(&call, LULL_TRANSIENT, 0), retry(LULL_REASON_BACKING_OFF, MILLISECONDS(100)));
}

/* ---- any configuration, any sequence of calls, against a model ----
 *
 * A world is a guard with a random configuration and a dozen visitors that call through it, each by the rules of the
 * header. The model foretells everything but what the breaker says and which words are drawn. */

enum { WORLDS = 3000, VISITORS = 12, STEPS = 300 };

struct visitor {
    enum { AWAY, READY, WAITING, INSIDE } state;
    struct lull_call call;
    struct lull_call_options options;
    struct lull_waiter waiter;
    bool woken;
    bool has_place, has_token; /* counted at the bulkhead; paid at the bucket */
    lull_time at;              /* READY: when to ask */
};

static struct {
    uint64_t seed, random;
    int step;
    struct lull_guard_config config;
    lull_time now, clock, bucket_full_at;
    struct visitor visitors[VISITORS];
    uint32_t inside, waiting;
    uint64_t firsts, retries, successes, votes, withdrawn, refused, stopped;
    double most_ratio; /* of the budget, ever configured */
} world;

#define hold(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("world of seed %llu, step %d: %s", (unsigned long long)world.seed,            \
                     world.step, #condition);                                                      \
    } while (0)

static int64_t pick(int64_t low, int64_t high) {
    return lull_uniform(lull_random_next(&world.random), low, high);
}

static bool chance(int percent) {
    return pick(1, 100) <= percent;
}

static double fraction(void) {
    return (double)pick(1, 1000) / 1000;
}

static lull_duration none_or(int percent, lull_duration high) {
    return chance(percent) ? LULL_NONE : pick(1, high);
}

static struct lull_retry_config random_retry(void) {
    struct lull_retry_config retries = {
        .attempts = (uint32_t)pick(1, 6),
        .backoff = {.base = pick(1, MILLISECONDS(200)),
                    .multiplier = 1 + 3 * fraction(),
                    .jitter = (enum lull_jitter)pick(LULL_JITTER_NONE, LULL_JITTER_PROPORTIONAL),
                    .jitter_factor = fraction()},
        .deadline = none_or(30, SECONDS(5)),
        .attempt_timeout = none_or(30, SECONDS(2)),
        .retry_after_cap = pick(1, SECONDS(2)),
        .retry_after_jitter = chance(30) ? LULL_NONE : fraction(),
    };
    retries.backoff.cap = retries.backoff.base + pick(0, SECONDS(1));
    retries.backoff.tier_count = chance(20) ? (uint32_t)pick(1, LULL_BACKOFF_MAX_TIERS) : 0;
    for (uint32_t i = 0; i < retries.backoff.tier_count; i++)
        retries.backoff.tiers[i] = pick(1, MILLISECONDS(500));
    return retries;
}

static struct lull_bulkhead_config random_bulkhead(void) {
    return (struct lull_bulkhead_config){.limit = (int32_t)pick(1, 8),
                                         .queue = (int32_t)none_or(30, 4)};
}

static uint32_t random_without(void) {
    return chance(50) ? 0 : (uint32_t)pick(0, 15);
}

static struct lull_guard_config random_config(void) {
    struct lull_guard_config config = {
        .retry = random_retry(),
        .breaker = {.by_count = chance(50),
                    .window = pick(LULL_MICROSECOND, SECONDS(10)),
                    .slices = (uint32_t)pick(2, 60),
                    .calls = (uint32_t)pick(20, 256),
                    .minimum_calls = (uint32_t)pick(1, 20),
                    .failure_rate = fraction(),
                    .slow_rate = fraction(),
                    .slow_call = none_or(30, MILLISECONDS(100)),
                    .open_time = pick(1, SECONDS(1)),
                    .open_growth = 1 + fraction(),
                    .open_jitter = chance(50) ? LULL_NONE : fraction() * 0.9,
                    .probes = (uint32_t)pick(1, 6),
                    .lease = pick(1, SECONDS(2))},
        .budget = {.ratio = chance(30) ? LULL_NONE : fraction(),
                   .window = pick(10 * LULL_MICROSECOND, SECONDS(10)),
                   .cap_seconds = chance(30) ? LULL_NONE : 10 * fraction(),
                   .floor = none_or(30, 50)},
        .bucket = {.capacity = pick(1, 100), .rate = pick(1, 1000), .per = SECONDS(1)},
        .bulkhead = random_bulkhead(),
        .without = random_without(),
    };
    return config;
}

static lull_duration bucket_interval(void) {
    return (LULL_SECOND + world.config.bucket.rate - 1) / world.config.bucket.rate;
}

static lull_time later(lull_time a, lull_time b) {
    return a > b ? a : b;
}

/* A place is handed over: by one who leaves, or by a raised limit. */
static void visitor_woken(struct lull_waiter *waiter) {
    struct visitor *visitor = waiter->context;
    hold(visitor->state == WAITING && !visitor->woken);
    visitor->woken = true;
    world.waiting--;
    world.inside++;
    hold(world.inside <= (uint32_t)world.config.bulkhead.limit);
}

static void give_back_token(struct visitor *visitor) {
    if (visitor->has_token)
        world.bucket_full_at -= bucket_interval();
    visitor->has_token = false;
}

static void expect_go(struct visitor *visitor, struct lull_verdict verdict) {
    hold(world.now >= world.clock);
    hold(world.now < visitor->call.deadline);
    lull_duration bound = world.config.retry.attempt_timeout;
    lull_duration left = lull_call_left(&visitor->call, world.now);
    hold(verdict.timeout == (bound != LULL_NONE && bound < left ? bound : left));
    hold(verdict.timeout > 0);
    visitor->state = INSIDE;
}

static void expect_no(struct visitor *visitor, struct lull_verdict verdict) {
    hold(verdict.decision == LULL_NO);
    hold(verdict.at >= world.now);
    world.refused++;
    visitor->state = chance(50) && verdict.at < world.now + SECONDS(5) ? READY : AWAY;
    visitor->at = verdict.at;
}

/* Does the bucket give a token? If so it is taken. */
static bool model_takes_token(lull_time *due) {
    lull_duration interval = bucket_interval();
    lull_time next = later(world.bucket_full_at, world.now) + interval;
    *due = next - world.config.bucket.capacity * interval;
    if (*due > world.now)
        return false;
    world.bucket_full_at = next;
    return true;
}

/* The breaker had no objection: what do bucket and bulkhead say? */
static void expect_past_the_breaker(struct visitor *visitor, bool waits,
                                    struct lull_verdict verdict) {
    lull_time due;
    visitor->has_token = visitor->has_place = false;
    if (!(world.config.without & LULL_WITHOUT_BUCKET)) {
        if (!model_takes_token(&due)) {
            hold(verdict.policy == LULL_POLICY_BUCKET && verdict.at == due);
            expect_no(visitor, verdict);
            return;
        }
        visitor->has_token = true;
    }
    if (!(world.config.without & LULL_WITHOUT_BULKHEAD)) {
        bool is_full = world.waiting > 0 || world.inside >= (uint32_t)world.config.bulkhead.limit;
        bool may_wait = waits && (int32_t)world.waiting < world.config.bulkhead.queue;
        if (is_full && may_wait) {
            hold(verdict.decision == LULL_WAIT && verdict.at == visitor->call.deadline);
            visitor->state = WAITING;
            world.waiting++;
            return;
        }
        if (is_full) {
            hold(verdict.policy == LULL_POLICY_BULKHEAD && verdict.reason == LULL_REASON_FULL);
            give_back_token(visitor);
            expect_no(visitor, verdict);
            return;
        }
        visitor->has_place = true;
        world.inside++;
    }
    hold(verdict.decision == LULL_GO);
    expect_go(visitor, verdict);
}

static void ask(struct visitor *visitor) {
    bool waits = chance(50);
    visitor->woken = false;
    uint32_t before = visitor->call.attempt;
    struct lull_verdict verdict =
        waits ? lull_admit_or_wait(&guard, &visitor->call, &visitor->waiter, world.now)
              : lull_admit(&guard, &visitor->call, world.now);
    hold(visitor->call.attempt == before + (verdict.decision == LULL_GO));
    if (world.now >= visitor->call.deadline) {
        hold(verdict.decision == LULL_STOP && verdict.reason == LULL_REASON_DEADLINE_PASSED);
        world.stopped++;
        visitor->state = AWAY;
    } else if (world.now < world.clock) {
        hold(verdict.policy == LULL_POLICY_CLOCK && verdict.at >= world.clock);
        expect_no(visitor, verdict);
    } else if (verdict.policy == LULL_POLICY_BREAKER) {
        hold(!(world.config.without & LULL_WITHOUT_BREAKER));
        expect_no(visitor, verdict);
    } else {
        expect_past_the_breaker(visitor, waits, verdict);
    }
}

static void settle_visitor(struct visitor *visitor) {
    bool goes = visitor->woken && world.now < visitor->call.deadline && world.now >= world.clock;
    bool in_time = visitor->woken && world.now < visitor->call.deadline;
    visitor->has_place = goes;
    visitor->state = READY; /* a place it does not take is handed on before lull_settle returns */
    if (!visitor->woken)
        world.waiting--;
    else if (!goes)
        world.inside--;
    struct lull_verdict verdict = lull_settle(&guard, &visitor->call, &visitor->waiter, world.now);
    hold((verdict.decision == LULL_GO) == goes);
    if (goes) {
        expect_go(visitor, verdict);
        return;
    }
    hold(verdict.policy == (in_time ? LULL_POLICY_CLOCK : LULL_POLICY_BULKHEAD));
    give_back_token(visitor);
    expect_no(visitor, verdict);
}

/* The least and the most that a delay may be, give or take the rounding of a power. */
static void delay_bounds(uint32_t attempt, bool throttled, double *low, double *high) {
    const struct lull_backoff_config *backoff = &world.config.retry.backoff;
    double base = (double)backoff->base, cap = (double)backoff->cap;
    double d = fmin(cap, base * pow(backoff->multiplier, attempt - 1));
    if (backoff->tier_count > 0)
        d = (double)backoff
                ->tiers[attempt > backoff->tier_count ? backoff->tier_count - 1 : attempt - 1];
    double part = backoff->jitter_factor * d;
    const double bounds[][2] = {
        [LULL_JITTER_NONE] = {d, d},
        [LULL_JITTER_FULL] = {throttled ? d / 2 : 0, d},
        [LULL_JITTER_EQUAL] = {d / 2, d},
        [LULL_JITTER_DECORRELATED] = {base, cap},
        [LULL_JITTER_ADDITIVE] = {d, d + part},
        [LULL_JITTER_PROPORTIONAL] = {d - part, d + part},
    };
    *low = fmax(bounds[backoff->jitter][0] - 2, 0);
    *high = bounds[backoff->jitter][1] + 2;
}

static void expect_retry_or_no_time(struct visitor *visitor, enum lull_class class_,
                                    lull_duration asked, struct lull_verdict verdict) {
    double low, high;
    delay_bounds(visitor->call.attempt, class_ == LULL_THROTTLED, &low, &high);
    double jitter = world.config.retry.retry_after_jitter;
    low = fmax(low, (double)asked);
    high = fmax(high, (double)asked * (jitter == LULL_NONE ? 1 : 1 + jitter) + 2);
    if (verdict.decision == LULL_STOP) {
        world.stopped++;
        visitor->state = AWAY;
        double left = (double)lull_call_left(&visitor->call, world.now);
        hold(verdict.reason == LULL_REASON_BUDGET_SPENT ||
             verdict.reason == LULL_REASON_DEADLINE_TOO_NEAR);
        hold(verdict.reason != LULL_REASON_BUDGET_SPENT ||
             !(world.config.without & LULL_WITHOUT_BUDGET));
        hold(verdict.reason != LULL_REASON_DEADLINE_TOO_NEAR || high >= left);
        return;
    }
    hold(verdict.decision == LULL_RETRY);
    hold(verdict.at < visitor->call.deadline);
    hold((double)(verdict.at - world.now) >= low && (double)(verdict.at - world.now) <= high);
    hold((verdict.reason == LULL_REASON_RETRY_AFTER) == (asked > 0));
    world.withdrawn += !(world.config.without & LULL_WITHOUT_BUDGET);
    visitor->state = READY;
    visitor->at = verdict.at;
}

/* The attempt ends, one way or another. */
static void count_end(const struct visitor *visitor) {
    world.inside -= visitor->has_place;
    if (visitor->call.attempt == 1)
        world.firsts++;
    else
        world.retries++;
}

static void complete_visitor(struct visitor *visitor, size_t row) {
    struct lull_outcome outcome = {.class_ = classes[row].class_};
    if (classes[row].retried && chance(10))
        outcome.retry_after = pick(1, SECONDS(3));
    lull_duration asked = outcome.retry_after < world.config.retry.retry_after_cap
                              ? outcome.retry_after
                              : world.config.retry.retry_after_cap;
    if (asked > 0)
        world.clock = later(world.clock, world.now + asked);
    count_end(visitor);
    world.votes += classes[row].votes;
    world.successes += outcome.class_ == LULL_SUCCESS;
    struct lull_verdict verdict = lull_complete(&guard, &visitor->call, outcome, world.now);
    bool left = visitor->call.attempt < world.config.retry.attempts;
    struct lull_verdict should = ending(row, visitor->options, left, world.now);
    if (should.decision == LULL_RETRY) {
        expect_retry_or_no_time(visitor, outcome.class_, asked, verdict);
        return;
    }
    hold(verdict.decision == should.decision && verdict.reason == should.reason);
    world.stopped += verdict.decision == LULL_STOP;
    visitor->state = AWAY;
}

static void leave(struct visitor *visitor) {
    if (!chance(10)) {
        complete_visitor(visitor, (size_t)pick(0, COUNT(classes) - 1));
        return;
    }
    count_end(visitor);
    visitor->state = AWAY;
    if (chance(50)) {
        lull_call_abandon(&guard, &visitor->call, world.now);
        return;
    }
    struct lull_verdict verdict = end(&visitor->call, LULL_UNSET, world.now);
    hold(verdict.reason == LULL_REASON_MISUSE);
    world.stopped++;
}

static void begin_visit(struct visitor *visitor) {
    visitor->options = (struct lull_call_options){
        .deadline = chance(50) ? 0 : none_or(30, SECONDS(2)),
        .idempotent = chance(50),
        .not_the_edge = chance(20),
    };
    visitor->waiter = (struct lull_waiter){.wake = visitor_woken, .context = visitor};
    visitor->at = world.now;
    visitor->state = READY;
    lull_call_begin(&guard, &visitor->call, &visitor->options, (uint64_t)pick(0, INT64_MAX),
                    world.now);
}

static void misuse(struct visitor *visitor) {
    struct lull_verdict verdict = visitor->state == INSIDE
                                      ? lull_admit(&guard, &visitor->call, world.now)
                                      : end(&visitor->call, LULL_SUCCESS, world.now);
    hold(verdict.decision == LULL_STOP && verdict.reason == LULL_REASON_MISUSE);
    world.stopped++;
}

/* Everything but the rate limit, whose past depends on it, and the kind of the breaker's window. */
static void change_settings(void) {
    struct lull_guard_config config = random_config();
    config.bucket = world.config.bucket;
    config.breaker.by_count = world.config.breaker.by_count;
    config.breaker.slices = world.config.breaker.slices;
    config.breaker.calls = world.config.breaker.calls;
    config.budget.floor = world.config.budget.floor;
    world.config = config;
    world.most_ratio = fmax(world.most_ratio, config.budget.ratio);
    reconfigure(config);
}

static void intervene(void) {
    if (chance(30)) {
        change_settings();
    } else if (chance(50)) {
        lull_time until = world.now + pick(-SECONDS(1), SECONDS(1));
        world.clock = later(world.clock, until);
        lull_guard_pause(&guard, until);
    } else {
        world.clock = INT64_MIN;
        lull_guard_resume(&guard);
    }
}

static void visit(struct visitor *visitor) {
    if (visitor->state != AWAY && chance(2))
        misuse(visitor);
    switch (visitor->state) {
    case AWAY:
        begin_visit(visitor);
        break;
    case READY:
        if (world.now >= visitor->at)
            ask(visitor);
        break;
    case WAITING:
        if (visitor->woken || chance(30))
            settle_visitor(visitor);
        break;
    case INSIDE:
        leave(visitor);
        break;
    }
}

static void compare_with_model(void) {
    struct lull_guard_stats stats = stats_at(world.now);
    hold(stats.bulkhead.inside == world.inside);
    hold(stats.bulkhead.waiting == world.waiting);
    hold(stats.firsts == world.firsts);
    hold(stats.retries == world.retries);
    hold(stats.firsts + stats.retries == sum(stats.outcomes, LULL_CLASS_COUNT));
    hold(stats.outcomes[LULL_SUCCESS] == world.successes);
    hold(sum(stats.refused, LULL_POLICY_COUNT) == world.refused);
    hold(sum(stats.stopped, LULL_REASON_COUNT) == world.stopped);
    hold(stats.not_before == (world.clock == INT64_MIN ? 0 : world.clock));
    hold(stats.bucket.full_at == later(world.bucket_full_at, world.now));
    hold(stats.breaker.calls <= world.votes);
    hold(stats.budget.withdrawn == world.withdrawn);
    double seconds = (double)world.now / LULL_SECOND;
    double floor_rate = (double)world.config.budget.floor;
    double given = floor_rate == LULL_NONE ? 0 : floor_rate * (1 + seconds);
    hold((double)stats.budget.withdrawn <=
         world.most_ratio * (double)world.successes + given + 0.001);
}

/* All go home; nothing may be left behind. */
static void close_down(void) {
    for (size_t i = 0; i < VISITORS; i++) {
        struct visitor *visitor = &world.visitors[i];
        if (visitor->state == WAITING)
            settle_visitor(visitor);
        if (visitor->state == INSIDE) {
            count_end(visitor);
            lull_call_abandon(&guard, &visitor->call, world.now);
        }
        visitor->state = AWAY;
    }
    compare_with_model();
    hold(world.inside == 0 && world.waiting == 0);
    hold(stats_at(world.now).breaker.probes_out == 0);
}

static void live(uint64_t seed) {
    memset(&world, 0, sizeof world);
    world.seed = world.random = seed;
    world.clock = world.bucket_full_at = INT64_MIN;
    world.config = random_config();
    world.most_ratio = fmax(world.config.budget.ratio, 0);
    set_up(world.config);
    for (world.step = 0; world.step < STEPS; world.step++) {
        world.now += chance(50) ? 0 : chance(95) ? pick(0, MILLISECONDS(20)) : pick(0, SECONDS(1));
        if (chance(2))
            intervene();
        visit(&world.visitors[pick(0, VISITORS - 1)]);
        compare_with_model();
    }
    close_down();
}

static void test_any_sequence_in_any_configuration(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        live(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example_of_the_header),
        cmocka_unit_test(test_delays_of_a_known_seed),
        cmocka_unit_test(test_no_word_is_drawn_for_a_breaker_that_is_not_there),
        cmocka_unit_test(test_each_class_of_outcome),
        cmocka_unit_test(test_call_without_options_is_not_idempotent_and_is_the_edge),
        cmocka_unit_test(test_only_longer_than_slow_is_slow),
        cmocka_unit_test(test_next_attempt_must_start_before_the_deadline),
        cmocka_unit_test(test_nothing_starts_at_the_deadline),
        cmocka_unit_test(test_timeout_is_the_lesser_of_attempt_and_deadline),
        cmocka_unit_test(test_time_left_ends_at_zero),
        cmocka_unit_test(test_retry_after_is_a_lower_bound_jittered_upwards),
        cmocka_unit_test(test_retry_after_is_capped),
        cmocka_unit_test(test_longer_backoff_outlasts_retry_after),
        cmocka_unit_test(test_retry_after_of_a_nanosecond),
        cmocka_unit_test(test_no_or_negative_retry_after_moves_nothing),
        cmocka_unit_test(test_retry_after_of_a_success_is_left_aside),
        cmocka_unit_test(test_retry_after_of_a_call_given_up_moves_the_clock),
        cmocka_unit_test(test_newcomers_in_a_pause_are_told_times_of_their_own),
        cmocka_unit_test(test_clock_moves_forward_until_resumed),
        cmocka_unit_test(test_equal_jitter_after_a_throttle),
        cmocka_unit_test(test_budget_gates_retries_and_not_first_tries),
        cmocka_unit_test(test_budget_pays_before_the_sleep),
        cmocka_unit_test(test_deposits_are_gone_after_the_window),
        cmocka_unit_test(test_floor_pays_when_its_token_is_due),
        cmocka_unit_test(test_only_success_deposits),
        cmocka_unit_test(test_budget_is_not_asked_for_a_call_that_stops_anyway),
        cmocka_unit_test(test_amplification_sample),
        cmocka_unit_test(test_circuit_opens_for_a_time_of_its_own),
        cmocka_unit_test(test_circuit_opened_by_slow_successes_is_jittered),
        cmocka_unit_test(test_policies_are_asked_in_order),
        cmocka_unit_test(test_rate_limit_gives_the_probe_back),
        cmocka_unit_test(test_bulkhead_gives_probe_and_token_back),
        cmocka_unit_test(test_no_permit_is_held_while_backing_off),
        cmocka_unit_test(test_local_rejections_never_vote),
        cmocka_unit_test(test_places_go_to_those_who_wait_in_their_order),
        cmocka_unit_test(test_waiting_does_not_make_a_call_slow),
        cmocka_unit_test(test_woken_too_late),
        cmocka_unit_test(test_out_of_patience),
        cmocka_unit_test(test_probe_that_waits_in_vain_is_given_back),
        cmocka_unit_test(test_clock_moved_during_the_wait),
        cmocka_unit_test(test_waiting_needs_a_waiter_and_a_full_bulkhead),
        cmocka_unit_test(test_raised_limit_lets_waiters_in),
        cmocka_unit_test(test_abandon_gives_back_and_does_not_vote),
        cmocka_unit_test(test_abandon_after_the_end_changes_nothing),
        cmocka_unit_test(test_abandoned_probe_is_given_back),
        cmocka_unit_test(test_abandon_during_a_wait_waits_for_settle),
        cmocka_unit_test(test_completing_what_was_not_admitted),
        cmocka_unit_test(test_admitting_twice),
        cmocka_unit_test(test_misuse_during_a_wait),
        cmocka_unit_test(test_outcome_of_no_class),
        cmocka_unit_test(test_going_without),
        cmocka_unit_test(test_policies_dropped_while_a_call_is_inside),
        cmocka_unit_test(test_rate_limit_switched_during_a_wait),
        cmocka_unit_test(test_reconfiguration_keeps_the_state),
        cmocka_unit_test(test_reconfiguration_keeps_the_circuit_open),
        cmocka_unit_test(test_reconfiguration_takes_effect),
        cmocka_unit_test(test_reconfiguration_of_budget_and_bucket_takes_effect),
        cmocka_unit_test(test_refused_reconfiguration_changes_nothing),
        cmocka_unit_test(test_transitions_are_told),
        cmocka_unit_test(test_fresh_guard_has_counted_nothing),
        cmocka_unit_test(test_snapshot_is_exact),
        cmocka_unit_test(test_attempts_count_in_the_slice_in_which_they_end),
        cmocka_unit_test(test_first_tries_never_go_back),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_windows_end_to_the_nanosecond),
        cmocka_unit_test(test_bad_configuration_is_refused_by_name),
        cmocka_unit_test(test_configuration_at_the_bounds_is_fine),
        cmocka_unit_test(test_zero_means_default),
        cmocka_unit_test(test_configuration_is_copied),
        cmocka_unit_test(test_any_sequence_in_any_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
