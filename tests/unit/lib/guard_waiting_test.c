/* The guard: waiting at the bulkhead, and abandoning a call. */
#include "guard_fixture.h"

/* ---- waiting at the bulkhead ---- */

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

int main(void) {
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
