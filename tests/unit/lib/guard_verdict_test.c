/* The guard: the worked example, what becomes of each class of outcome, deadlines, and misuse. */
#include "guard_fixture.h"

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
        cmocka_unit_test(test_completing_what_was_not_admitted),
        cmocka_unit_test(test_admitting_twice),
        cmocka_unit_test(test_misuse_during_a_wait),
        cmocka_unit_test(test_outcome_of_no_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
