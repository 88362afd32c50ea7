/* The walk of a delivery, and the ends of lanes and engines. */
#include "scripted.h"

static void test_straight_through(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    assert_int_equal(lane->stats.pending[DELIVERY_FRESH], 1);
    at(SECOND + 5);
    assert_null(find_asked(STORE_LOAD)); /* it is not read back */
    assert_int_equal(flying_count, 1);
    assert_int_equal(flying[0]->number, 1);
    assert_int_equal(flying[0]->timeout, 10 * SECOND);
    assert_int_equal(engine.busy, 1);
    engine_tick(&engine, 2 * SECOND);
    end_flight(0, LULL_SUCCESS);
    struct store_settle *settle = must_ask(STORE_SETTLE);
    assert_int_equal(settle->from_state, DELIVERY_FRESH);
    assert_int_equal(settle->from.due, SECOND);
    assert_int_equal(settle->attempts, 1);
    assert_int_equal(settle->tries, 1);
    assert_int_equal(settle->attempt.number, 1);
    assert_int_equal(settle->first_failed, 0);
    expect_settle(1, DELIVERY_DELIVERED, 2 * SECOND);
    at(2 * SECOND);
    assert_int_equal(engine.busy, 0);
    assert_int_equal(lane->stats.delivered, 1);
    assert_int_equal(lane->stats.pending[DELIVERY_FRESH], 0);
    assert_int_equal(engine_next(&engine), LULL_NEVER);
}

/* 1 s, 2 s, and then it is dead: three attempts are allowed. */
static void test_retried_until_it_is_dead(void **state) {
    (void)state;
    static const lull_time due[] = {2 * SECOND, 4 * SECOND};
    struct lull_guard_config config = script_config();
    config.without = LULL_WITHOUT_BREAKER;
    begin_with(&config, 0, 0);
    accepted(1, SECOND);
    at(SECOND);
    for (uint32_t i = 0; i < 2; i++) {
        end_flight(0, LULL_TRANSIENT);
        expect_settle(1, DELIVERY_RETRY, due[i]);
        at(due[i] - 1);
        assert_null(find_asked(STORE_LOAD));
        at(due[i]);
        struct store_load *load = must_load(DELIVERY_RETRY);
        assert_int_equal(load->until, due[i]);
        add_row(load, 1, due[i], i + 1);
        load->rows[0].first_failed = SECOND;
        load->rows[0].previous = (i + 1) * SECOND;
        answer(load, LULL_OK);
        at(due[i]);
        assert_int_equal(flying_count, 1);
        assert_int_equal(flying[0]->number, i + 2);
    }
    end_flight(0, LULL_TRANSIENT);
    struct store_settle *settle = must_ask(STORE_SETTLE);
    assert_int_equal(settle->reason, LULL_REASON_ATTEMPTS_SPENT);
    assert_int_equal(settle->attempts, 3);
    assert_int_equal(settle->first_failed, SECOND);
    expect_settle(1, DELIVERY_DEAD, 4 * SECOND);
    assert_int_equal(lane->stats.dead, 1);
    assert_int_equal(news_count[NEWS_DEAD_LETTER], 1);
}

/* A retry is due later than now, whatever the backoff says: what is due now may have been loaded already. */
static void test_a_retry_is_never_due_now(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    config.retry.backoff = (struct lull_backoff_config){.base = 1, .cap = 1};
    config.without = LULL_WITHOUT_BREAKER;
    begin_with(&config, 0, 0);
    for (int64_t i = 1; i <= 20; i++) {
        accepted(i, SECOND + i);
        at(SECOND + i);
        end_flight(0, LULL_UNKNOWN);
        struct store_settle *settle = must_ask(STORE_SETTLE);
        assert_int_equal(settle->to_state, DELIVERY_RETRY);
        assert_int_equal(settle->at, SECOND + i + 1);
        answer(settle, LULL_OK);
    }
}

static void test_past_its_deadline(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    config.retry.deadline = 30 * SECOND;
    begin_with(&config, 0, 0);
    engine_set_state(&engine, lane, DESTINATION_PAUSED);
    accepted(1, SECOND);
    at(SECOND);
    assert_int_equal(flying_count, 0);
    engine_tick(&engine, 31 * SECOND);
    engine_set_state(&engine, lane, DESTINATION_ACTIVE);
    at(31 * SECOND);
    struct store_settle *settle = must_ask(STORE_SETTLE);
    assert_int_equal(settle->reason, LULL_REASON_DEADLINE_PASSED);
    assert_int_equal(settle->attempts, 0);
    assert_int_equal(settle->attempt.number, 0); /* there was none */
    expect_settle(1, DELIVERY_DEAD, 31 * SECOND);
}

static void test_gone(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    at(SECOND);
    end_as(0, (struct lull_outcome){.class_ = LULL_PERMANENT, .code = 410}, true);
    struct store_clock *clock = must_ask(STORE_CLOCK);
    assert_int_equal(clock->state, DESTINATION_DISABLED);
    answer(clock, LULL_OK);
    expect_settle(1, DELIVERY_DEAD, SECOND);
    assert_int_equal(news_count[NEWS_DISABLED], 1);
    accepted(2, 2 * SECOND);
    at(2 * SECOND);
    assert_int_equal(flying_count, 0);
    assert_int_equal(engine_next(&engine), LULL_NEVER);
    engine_set_state(&engine, lane, DESTINATION_ACTIVE);
    at(2 * SECOND);
    assert_int_equal(flying_count, 1);
}

static void test_removed_while_flying(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    accepted(2, SECOND + 1);
    at(SECOND + 1);
    end_flight(1, LULL_SUCCESS);
    accepted(3, SECOND + 2);
    struct lane *kept = lane_share(lane);
    engine_remove(&engine, lane);
    assert_int_equal(cancelled_count, 1);
    accepted(4, SECOND + 3);
    at(SECOND + 3);
    assert_int_equal(engine.lanes, 1); /* something of it is still under way */
    assert_int_equal(flying_count, 1);
    end_flight(0, LULL_CANCELLED);
    at(SECOND + 3);
    assert_int_equal(engine.lanes, 1);
    expect_settle(2, DELIVERY_DELIVERED, SECOND + 1);
    assert_int_equal(asked_count, 0); /* nothing is written of what was called off */
    at(SECOND + 3);
    assert_int_equal(engine.lanes, 0);
    assert_int_equal(engine_next(&engine), LULL_NEVER);
    assert_int_equal(kept->references, 1);
    lane_release(kept);
}

static void test_drain(void **state) {
    (void)state;
    begin();
    accepted(1, SECOND);
    at(SECOND);
    engine_drain(&engine);
    accepted(2, SECOND + 1);
    at(SECOND + 1);
    assert_int_equal(flying_count, 1);
    assert_false(engine_drained(&engine));
    end_flight(0, LULL_SUCCESS);
    assert_false(engine_drained(&engine));
    expect_settle(1, DELIVERY_DELIVERED, SECOND + 1);
    assert_true(engine_drained(&engine));
    assert_int_equal(engine_next(&engine), SECOND + 1); /* the lane looks once more, and sleeps */
    at(SECOND + 1);
    assert_int_equal(engine_next(&engine), LULL_NEVER);
}

/* Called off, it goes back as if it had not been tried: first in line, and nothing is written. */
static void test_called_off(void **state) {
    (void)state;
    begin();
    for (int64_t i = 1; i <= 5; i++)
        accepted(i, SECOND + i);
    at(2 * SECOND);
    assert_int_equal(flying_count, 4);
    engine_call_off(&engine);
    assert_int_equal(cancelled_count, 4);
    end_flight(1, LULL_CANCELLED);
    assert_int_equal(asked_count, 0);
    at(2 * SECOND);
    assert_int_equal(started_count, 5);
    assert_int_equal(started_ids[4], 2);
    assert_int_equal(flying[3]->number, 1);
}

static void test_missed(void **state) {
    (void)state;
    begin();
    engine_missed(&engine);
    at(SECOND);
    struct store_load *load = must_load(DELIVERY_FRESH);
    add_row(load, 3, SECOND, 0);
    answer(load, LULL_OK);
    at(SECOND);
    assert_int_equal(started_ids[0], 3);
}

static void test_a_replay_goes_step_by_step(void **state) {
    (void)state;
    begin();
    lane->stats.dead = 5;
    engine_replay(&engine, lane, &(struct replay_row){.id = 4, .rate = REPLAY_RATE});
    at(SECOND);
    struct store_replay_step *step = must_ask(STORE_REPLAY_STEP);
    assert_int_equal(step->replay, 4);
    assert_int_equal(step->count, 1);
    assert_true(step->rate == REPLAY_RATE);
    step->moved = 1;
    step->row = lane->replay;
    answer(step, LULL_OK);
    assert_int_equal(lane->stats.dead, 4);
    assert_int_equal(lane->stats.pending[DELIVERY_FRESH], 1);
    at(SECOND);
    assert_null(find_asked(STORE_REPLAY_STEP));
    struct store_load *load = must_load(DELIVERY_FRESH);
    answer(load, LULL_OK);
    at(SECOND + 600 * MS);
    step = must_ask(STORE_REPLAY_STEP);
    step->row = lane->replay;
    step->row.state = REPLAY_DONE;
    answer(step, LULL_OK);
    assert_int_equal(lane->replay.id, 0);
    assert_int_equal(news_count[NEWS_REPLAY_DONE], 1);
}

/* Ten letters, all of which fail. */
static void fail_ten_letters(int64_t replay) {
    engine_replay(&engine, lane, &(struct replay_row){.id = replay, .rate = REPLAY_RATE});
    at(SECOND);
    struct store_replay_step *step = must_ask(STORE_REPLAY_STEP);
    step->moved = 10;
    step->row = lane->replay;
    answer(step, LULL_OK);
    at(SECOND);
    struct store_load *load = must_load(DELIVERY_FRESH);
    for (int64_t i = 1; i <= 10; i++) {
        add_row(load, i, SECOND + i, 0);
        load->rows[i - 1].replay = replay;
    }
    answer(load, LULL_OK);
    at(SECOND + 20);
    assert_int_equal(flying_count, 10);
    for (int64_t i = 1; i <= 10; i++) {
        end_flight(0, LULL_TRANSIENT);
        expect_settle(i, DELIVERY_DEAD, SECOND + 20);
    }
}

static struct lull_guard_config wide(void) {
    struct lull_guard_config config = script_config();
    config.retry.attempts = 1;
    config.bulkhead.limit = 20;
    config.without = LULL_WITHOUT_BREAKER;
    return config;
}

static void test_a_replay_stops(void **state) {
    (void)state;
    struct lull_guard_config config = wide();
    begin_with(&config, 0, 0);
    fail_ten_letters(4);
    struct store_replay_end *end = must_ask(STORE_REPLAY_END);
    assert_int_equal(end->replay, 4);
    assert_int_equal(end->state, REPLAY_STOPPED);
    assert_true(end->request.insistent);
    assert_int_equal(news_count[NEWS_REPLAY_STOPPED], 1);
    answer(end, LULL_OK);
    assert_int_equal(lane->replay.id, 0);
    at(10 * SECOND);
    assert_null(find_asked(STORE_REPLAY_STEP));
}

/* While the end of one is being written, it is cancelled by hand and the next is started: that one goes on. */
static void test_the_next_replay_is_not_ended_with_the_last(void **state) {
    (void)state;
    struct lull_guard_config config = wide();
    begin_with(&config, 0, 0);
    fail_ten_letters(4);
    struct store_replay_end *end = must_ask(STORE_REPLAY_END);
    engine_replay_cancelled(&engine, lane, 4);
    engine_replay(&engine, lane, &(struct replay_row){.id = 5, .rate = REPLAY_RATE});
    at(2 * SECOND);
    assert_null(find_asked(STORE_REPLAY_STEP)); /* not yet */
    answer(end, LULL_OK);
    assert_int_equal(lane->replay.id, 5);
    at(2 * SECOND);
    struct store_replay_step *step = must_ask(STORE_REPLAY_STEP);
    assert_int_equal(step->replay, 5);
    /* An answer about another one does not end it, either. */
    engine_replay_cancelled(&engine, lane, 5);
    engine_replay(&engine, lane, &(struct replay_row){.id = 6, .rate = REPLAY_RATE});
    answer(step, STORE_ABSENT);
    assert_int_equal(lane->replay.id, 6);
}

static void test_a_paused_lane_holds_its_replay(void **state) {
    (void)state;
    begin();
    engine_set_state(&engine, lane, DESTINATION_PAUSED);
    engine_replay(&engine, lane, &(struct replay_row){.id = 4, .rate = REPLAY_RATE});
    at(SECOND);
    assert_int_equal(asked_count, 0);
    assert_int_equal(engine_next(&engine), LULL_NEVER);
    engine_set_state(&engine, lane, DESTINATION_ACTIVE);
    at(SECOND);
    (void)must_ask(STORE_REPLAY_STEP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_straight_through),
        TEST(test_retried_until_it_is_dead),
        TEST(test_a_retry_is_never_due_now),
        TEST(test_past_its_deadline),
        TEST(test_gone),
        TEST(test_removed_while_flying),
        TEST(test_drain),
        TEST(test_called_off),
        TEST(test_missed),
        TEST(test_a_replay_goes_step_by_step),
        TEST(test_a_replay_stops),
        TEST(test_the_next_replay_is_not_ended_with_the_last),
        TEST(test_a_paused_lane_holds_its_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
