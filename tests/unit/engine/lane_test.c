/* A lane's clocks: what it waits for, and what of that is kept. */
#include "scripted.h"

#define THROTTLED(seconds)                                                                         \
    ((struct lull_outcome){.class_ = LULL_THROTTLED, .retry_after = (seconds)*SECOND})

/* Starts and fails as many as it takes to open the circuit. */
static void open_circuit(void) {
    accepted(1, SECOND);
    accepted(2, SECOND + 1);
    at(SECOND + 1);
    assert_int_equal(flying_count, 2);
    end_flight(0, LULL_TRANSIENT);
    end_flight(0, LULL_TRANSIENT);
    expect_settle(1, DELIVERY_RETRY, 2 * SECOND + 1);
    expect_settle(2, DELIVERY_RETRY, 2 * SECOND + 1);
    assert_int_equal(news_count[NEWS_BREAKER_OPENED], 1);
}

static void test_retry_after_moves_the_clock_of_all(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    at(SECOND);
    end_as(0, THROTTLED(100), false);
    /* Kept at once, whether or not somebody asks. */
    struct store_clock *clock = must_ask(STORE_CLOCK);
    assert_int_equal(clock->blocked_until, 101 * SECOND);
    assert_int_equal(clock->state, DESTINATION_ACTIVE);
    assert_true(clock->request.insistent);
    answer(clock, LULL_OK);
    assert_int_equal(news_count[NEWS_BLOCKED], 1);
    expect_settle(1, DELIVERY_RETRY, 101 * SECOND);
    accepted(2, 2 * SECOND);
    at(100 * SECOND);
    assert_int_equal(flying_count, 0);
    at(101 * SECOND);
    assert_int_equal(flying_count, 1); /* one at a time first */
    assert_int_equal(flying[0]->message->id, 2);
}

static void test_a_short_pause_is_not_kept(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    at(SECOND);
    end_as(0, (struct lull_outcome){.class_ = LULL_THROTTLED, .retry_after = LANE_CLOCK_KEPT - 1},
           false);
    assert_null(find_asked(STORE_CLOCK));
}

static void test_resuming_forgets_a_pause(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    at(SECOND);
    end_as(0, THROTTLED(100), false);
    accepted(3, 2 * SECOND);
    at(2 * SECOND);
    assert_int_equal(flying_count, 0);
    engine_set_state(&engine, lane, DESTINATION_ACTIVE);
    at(2 * SECOND);
    assert_int_equal(flying_count, 1);
    assert_int_equal(lane->clock_kept, 0);
}

/* One write at a time; what changed meanwhile is written next. */
static void test_the_clock_is_written_again_if_it_moved(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    accepted(2, SECOND + 1);
    at(SECOND + 1);
    end_as(0, THROTTLED(100), false);
    end_as(0, THROTTLED(200), false);
    struct store_clock *clock = must_ask(STORE_CLOCK);
    assert_int_equal(clock->blocked_until, 101 * SECOND + 1);
    answer(clock, LULL_OK);
    clock = must_ask(STORE_CLOCK);
    assert_int_equal(clock->blocked_until, 201 * SECOND + 1);
    answer(clock, LULL_OK);
    assert_null(find_asked(STORE_CLOCK));
}

static void test_a_pause_survives_a_restart(void **state) {
    (void)state;
    begin();
    engine_remove(&engine, lane);
    at(SECOND);
    struct lull_guard_config config = script_config();
    lane = engine_add(&engine, &(struct lane_options){.destination = DESTINATION,
                                                      .name = "shop",
                                                      .target = script_target(),
                                                      .config = &config,
                                                      .blocked_until = 100 * SECOND});
    accepted(1, SECOND);
    at(99 * SECOND);
    assert_int_equal(flying_count, 0);
    at(100 * SECOND);
    assert_int_equal(flying_count, 1);
}

/* Nobody asks while the circuit is open, and yet it comes back one at a time. */
static void test_an_open_circuit_restarts_the_ramp(void **state) {
    (void)state;
    begin();
    open_circuit();
    assert_int_equal(lane->ramp.window, 1);
    assert_int_equal(lane->stats.window, 1);
}

static void test_an_open_circuit_is_waited_for_and_kept(void **state) {
    (void)state;
    begin();
    open_circuit();
    at(3 * SECOND);
    struct store_load *load = must_load(DELIVERY_RETRY);
    add_row(load, 1, 2 * SECOND + 1, 1);
    add_row(load, 2, 2 * SECOND + 1, 1);
    answer(load, LULL_OK);
    at(3 * SECOND);
    lull_time reopens = SECOND + 1 + LULL_BREAKER_OPEN_TIME;
    struct store_clock *clock = must_ask(STORE_CLOCK);
    assert_int_equal(clock->blocked_until, reopens);
    answer(clock, LULL_OK);
    at(reopens - 1);
    assert_int_equal(flying_count, 0);
    at(reopens);
    assert_int_equal(flying_count, 1);
    end_flight(0, LULL_SUCCESS);
    assert_int_equal(news_count[NEWS_BREAKER_CLOSED], 1);
    assert_int_equal(lane->ramp.window, 2);
}

/* All probes are out: the lane waits for one to end, and no longer. */
static void test_a_probe_that_ends_lets_the_next_start(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    config.breaker.probes = 2;
    begin_with(&config, 0, 0);
    open_circuit();
    lull_time reopens = SECOND + 1 + LULL_BREAKER_OPEN_TIME;
    engine_tick(&engine, reopens);
    for (int64_t i = 3; i <= 5; i++)
        accepted(i, reopens + i);
    lane->ramp.window = 4;
    at(reopens + 5);
    assert_int_equal(flying_count, 2);
    assert_true(lane->clock > reopens + 5);
    end_flight(0, LULL_SUCCESS);
    at(reopens + 6);
    assert_int_equal(flying_count, 1); /* one more would be one too many */
    end_flight(0, LULL_SUCCESS);
    at(reopens + 7);
    assert_int_equal(started_count, 5);
}

static void test_new_settings_are_asked_at_once(void **state) {
    (void)state;
    begin();
    open_circuit();
    accepted(3, 2 * SECOND);
    at(2 * SECOND);
    assert_int_equal(flying_count, 0);
    struct lull_guard_config config = script_config();
    config.without = LULL_WITHOUT_BREAKER;
    assert_int_equal(engine_configure(&engine, lane, script_target(), &config), LULL_OK);
    at(2 * SECOND);
    assert_int_equal(flying_count, 1);
    /* Refused settings change nothing; the target stays the caller's. */
    struct target *target = script_target();
    config.breaker.by_count = true;
    assert_int_equal(engine_configure(&engine, lane, target, &config), LULL_EINVAL);
    assert_ptr_not_equal(lane->target, target);
    engine_aim(lane, target); /* where to, though, can change */
    assert_ptr_equal(lane->target, target);
}

/* One retry a second is free. The second one waits, a first try does not. */
static void test_an_empty_budget_holds_retries_only(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    config.budget = (struct lull_budget_config){.ratio = LULL_NONE, .floor = 1};
    begin_with(&config, 0, 2);
    struct store_load *load = must_load(DELIVERY_RETRY);
    add_row(load, 1, 10, 1);
    add_row(load, 2, 20, 1);
    answer(load, LULL_OK);
    lane->ramp.window = 4;
    at(SECOND);
    assert_int_equal(flying_count, 1);
    assert_int_equal(lane->retry_clock, 2 * SECOND);
    accepted(3, SECOND + 1);
    at(SECOND + 1);
    assert_int_equal(flying_count, 2);
    assert_int_equal(started_ids[1], 3);
    assert_int_equal(engine_next(&engine), 2 * SECOND);
    at(2 * SECOND);
    assert_int_equal(flying_count, 3);
    assert_int_equal(started_ids[2], 2);
}

static void test_the_earlier_of_both_streams_goes_first(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    begin_with(&config, 2, 2);
    struct store_load *load = must_load(DELIVERY_FRESH);
    add_row(load, 3, 30, 0);
    add_row(load, 1, 50, 0);
    answer(load, LULL_OK);
    load = must_load(DELIVERY_RETRY);
    add_row(load, 4, 30, 1);
    add_row(load, 2, 40, 1);
    answer(load, LULL_OK);
    lane->ramp.window = 4;
    at(SECOND);
    static const int64_t expected[] = {3, 4, 2, 1};
    assert_int_equal(started_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(started_ids[i], expected[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_retry_after_moves_the_clock_of_all),
        TEST(test_a_short_pause_is_not_kept),
        TEST(test_resuming_forgets_a_pause),
        TEST(test_the_clock_is_written_again_if_it_moved),
        TEST(test_a_pause_survives_a_restart),
        TEST(test_an_open_circuit_restarts_the_ramp),
        TEST(test_an_open_circuit_is_waited_for_and_kept),
        TEST(test_a_probe_that_ends_lets_the_next_start),
        TEST(test_new_settings_are_asked_at_once),
        TEST(test_an_empty_budget_holds_retries_only),
        TEST(test_the_earlier_of_both_streams_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
