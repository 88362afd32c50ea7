/* A stream's window: what is asked of the disk, and when. */
#include "scripted.h"

static struct stream *fresh(void) {
    return &lane->streams[DELIVERY_FRESH];
}

static void test_an_empty_lane_asks_for_nothing(void **state) {
    (void)state;
    begin();
    assert_int_equal(asked_count, 0);
    assert_int_equal(engine_next(&engine), LULL_NEVER);
}

static void test_a_backlog_is_loaded_in_order(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    begin_with(&config, 40, 0);
    struct store_load *load = must_load(DELIVERY_FRESH);
    assert_null(find_asked(STORE_SETTLE));
    assert_int_equal(load->destination, DESTINATION);
    assert_int_equal(load->after.due, INT64_MIN);
    assert_int_equal(load->until, SECOND);
    assert_int_equal(load->limit, LANE_LOAD_LEAST);
    assert_false(load->request.insistent);
    for (int64_t i = 1; i <= LANE_LOAD_LEAST; i++)
        add_row(load, i, i, 0);
    load->more = true;
    answer(load, LULL_OK);
    at(2 * SECOND);
    /* With a backlog it is not known whether the destination is up: one at a time. 15 wait, 16 or more are half a window. */
    assert_int_equal(flying_count, 1);
    assert_int_equal(started_ids[0], 1);
    assert_int_equal(fresh()->load_rows, 2 * LANE_LOAD_LEAST);
    load = must_load(DELIVERY_FRESH);
    assert_int_equal(load->after.due, LANE_LOAD_LEAST);
    assert_int_equal(load->after.id, LANE_LOAD_LEAST);
    assert_int_equal(load->until, 2 * SECOND);
    assert_int_equal(load->limit, 2 * LANE_LOAD_LEAST);
    answer(load, LULL_OK);
    assert_int_equal(fresh()->load_rows, LANE_LOAD_LEAST);
    assert_false(fresh()->behind);
}

static void test_a_load_that_fails_is_tried_again(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    begin_with(&config, 1, 0);
    answer(must_load(DELIVERY_FRESH), LULL_ESYSTEM);
    at(SECOND);
    assert_int_equal(asked_count, 0);
    assert_int_equal(engine_next(&engine), SECOND + LANE_LOAD_AGAIN);
    at(SECOND + LANE_LOAD_AGAIN - 1);
    assert_int_equal(asked_count, 0);
    at(SECOND + LANE_LOAD_AGAIN);
    (void)must_load(DELIVERY_FRESH);
}

/* What was accepted while a load was under way may not be in its answer. */
static void test_accepted_meanwhile(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    begin_with(&config, 1, 0);
    struct store_load *load = must_load(DELIVERY_FRESH);
    lane->express_count = LANE_EXPRESS; /* no more may overtake */
    accepted(9, SECOND + 5);
    lane->express_count = 0;
    add_row(load, 1, 10, 0);
    answer(load, LULL_OK);
    at(SECOND);
    load = must_load(DELIVERY_FRESH);
    assert_int_equal(load->after.id, 1);
}

/* A retry planned while a load of retries is under way. */
static void test_planned_meanwhile(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    begin_with(&config, 0, 1);
    struct store_load *load = must_load(DELIVERY_RETRY);
    accepted(5, SECOND);
    at(SECOND);
    end_flight(0, LULL_TRANSIENT);
    expect_settle(5, DELIVERY_RETRY, 2 * SECOND);
    load->next_due = 50 * SECOND;
    answer(load, LULL_OK);
    assert_int_equal(lane->streams[DELIVERY_RETRY].next_due, 2 * SECOND);
    at(2 * SECOND - 1);
    assert_int_equal(asked_count, 0);
    at(2 * SECOND);
    load = must_load(DELIVERY_RETRY);
    add_row(load, 5, 2 * SECOND, 1);
    load->next_due = 50 * SECOND;
    answer(load, LULL_OK);
    at(2 * SECOND);
    assert_int_equal(flying_count, 1);
    assert_int_equal(flying[0]->number, 2);
    assert_int_equal(lane->streams[DELIVERY_RETRY].next_due, 50 * SECOND);
}

/* While the disk has a backlog, a fresh event overtakes it; the stream skips its row when it comes across. */
static void test_express(void **state) {
    (void)state;
    struct lull_guard_config config = script_config();
    begin_with(&config, 2, 0);
    struct store_load *load = must_load(DELIVERY_FRESH);
    accepted(9, SECOND);
    at(SECOND);
    assert_int_equal(flying_count, 1);
    assert_int_equal(started_ids[0], 9);
    add_row(load, 1, 10, 0);
    add_row(load, 9, SECOND, 0);
    answer(load, LULL_OK);
    assert_int_equal(fresh()->ready.count, 1);
    assert_int_equal(fresh()->ready.first->place.id, 1);
    assert_int_equal(fresh()->loaded.id, 9);
    end_flight(0, LULL_SUCCESS);
    assert_int_equal(lane->express_count, 1); /* until it is written */
    expect_settle(9, DELIVERY_DELIVERED, SECOND);
    assert_int_equal(lane->express_count, 0);
}

/* A replay's step and an event in one commit: the lane hears of the event first, but the letters come before it. */
static void test_accepted_while_a_replay_steps(void **state) {
    (void)state;
    begin();
    engine_replay(&engine, lane, &(struct replay_row){.id = 1, .rate = REPLAY_RATE});
    at(SECOND);
    struct store_replay_step *step = must_ask(STORE_REPLAY_STEP);
    accepted(9, SECOND + 2);
    step->moved = 1;
    step->row = lane->replay;
    answer(step, LULL_OK);
    at(SECOND + 2);
    struct store_load *load = must_load(DELIVERY_FRESH);
    assert_int_equal(load->after.due, INT64_MIN);
    assert_int_equal(started_ids[0], 9); /* overtook */
    add_row(load, 3, SECOND + 1, 0);
    add_row(load, 9, SECOND + 2, 0);
    answer(load, LULL_OK);
    at(SECOND + 2);
    assert_int_equal(started_count, 2);
    assert_int_equal(started_ids[1], 3);
}

/* Large ones stay on disk, however few they are: a lane that does not run must not fill the memory. */
static void test_the_window_has_a_size(void **state) {
    (void)state;
    begin();
    engine_set_state(&engine, lane, DESTINATION_PAUSED);
    for (int64_t id = 1; id <= 4; id++) {
        struct message *message =
            message_new(&(struct message_parts){.payload_length = LANE_LOAD_BYTES / 2});
        assert_non_null(message);
        message->id = id;
        memset(message->payload, 'x', message->payload_length);
        engine_accepted(&engine, lane, message, (struct place){SECOND + id, id});
        message_release(message);
    }
    assert_int_equal(fresh()->ready.count, 2);
    assert_true(fresh()->behind);
    engine_set_state(&engine, lane, DESTINATION_ACTIVE);
    at(2 * SECOND);
    assert_int_equal(started_ids[0], 1);
    assert_int_equal(must_load(DELIVERY_FRESH)->after.id, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_an_empty_lane_asks_for_nothing),
        TEST(test_a_backlog_is_loaded_in_order),
        TEST(test_a_load_that_fails_is_tried_again),
        TEST(test_accepted_meanwhile),
        TEST(test_planned_meanwhile),
        TEST(test_express),
        TEST(test_accepted_while_a_replay_steps),
        TEST(test_the_window_has_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
