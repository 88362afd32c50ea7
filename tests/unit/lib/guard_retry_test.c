/* The guard: when a retry may start, by Retry-After, jitter and the budget. */
#include "guard_fixture.h"

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

/* One call is told to wait 10 s; another, which fails on its own account, does not come back before that either. */
static void test_a_retry_waits_out_a_pause_of_another_call(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.retry.retry_after_jitter = LULL_NONE;
    set_up(config);
    struct lull_call first = admitted(1, 0), second = admitted(2, 0), third = admitted(3, 0);
    expect(throttle(&first, SECONDS(10), 0), retry(LULL_REASON_RETRY_AFTER, SECONDS(10)));
    expect(end(&second, LULL_TRANSIENT, SECONDS(1)), retry(LULL_REASON_BACKING_OFF, SECONDS(10)));
    /* A pause without an end is no time to come back at. */
    lull_guard_pause(&guard, LULL_NEVER);
    expect(end(&third, LULL_TRANSIENT, SECONDS(2)),
           retry(LULL_REASON_BACKING_OFF, SECONDS(2) + MILLISECONDS(100)));
}

/* What says nothing about the destination's health does not silence its other callers. */
static void test_retry_after_counts_on_failures_only(void **state) {
    (void)state;
    static const enum lull_class quiet[] = {LULL_PERMANENT, LULL_IGNORED, LULL_CANCELLED};
    for (size_t i = 0; i < COUNT(quiet); i++) {
        set_up(steady);
        struct lull_call call = admitted(1, 0);
        struct lull_outcome outcome = {.class_ = quiet[i], .retry_after = SECONDS(10)};
        assert_int_equal(lull_complete(&guard, &call, outcome, 0).decision, LULL_STOP);
        assert_int_equal(stats_at(0).not_before, 0);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_after_is_a_lower_bound_jittered_upwards),
        cmocka_unit_test(test_retry_after_is_capped),
        cmocka_unit_test(test_a_retry_waits_out_a_pause_of_another_call),
        cmocka_unit_test(test_retry_after_counts_on_failures_only),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
