/* The guard: the order of its policies, what a refusal gives back, and going without a policy. */
#include "guard_fixture.h"

/* ---- the order of the policies ---- */

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circuit_opens_for_a_time_of_its_own),
        cmocka_unit_test(test_circuit_opened_by_slow_successes_is_jittered),
        cmocka_unit_test(test_policies_are_asked_in_order),
        cmocka_unit_test(test_rate_limit_gives_the_probe_back),
        cmocka_unit_test(test_bulkhead_gives_probe_and_token_back),
        cmocka_unit_test(test_no_permit_is_held_while_backing_off),
        cmocka_unit_test(test_local_rejections_never_vote),
        cmocka_unit_test(test_going_without),
        cmocka_unit_test(test_policies_dropped_while_a_call_is_inside),
        cmocka_unit_test(test_rate_limit_switched_during_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
