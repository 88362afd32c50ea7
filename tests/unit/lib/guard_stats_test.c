/* The guard: its snapshot, and the storm detector that hears of every attempt. */
#include "guard_fixture.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_guard_has_counted_nothing),
        cmocka_unit_test(test_snapshot_is_exact),
        cmocka_unit_test(test_attempts_count_in_the_slice_in_which_they_end),
        cmocka_unit_test(test_first_tries_never_go_back),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_windows_end_to_the_nanosecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
