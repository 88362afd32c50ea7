#include "testing.h"

#include "gate.h"

static void test_without_limits(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.queue = 0};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate.serving, 1000);
    assert_int_equal(gate_opens(&gate, &limits), LULL_NEVER);
}

/* 10/s, queue 2, four at once: now, at 100 ms, at 200 ms, turned away. */
static void test_pace(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.capacity = 10, .queue = 2};
    lull_time start = 5 * SECOND;
    assert_int_equal(gate_arrive(&gate, &limits, start), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, start), GATE_WAIT);
    assert_int_equal(gate_arrive(&gate, &limits, start), GATE_WAIT);
    assert_int_equal(gate_arrive(&gate, &limits, start), GATE_FULL);
    assert_int_equal(gate.waiting, 2);

    assert_int_equal(gate_opens(&gate, &limits), start + 100 * MS);
    assert_false(gate_next(&gate, &limits, start + 100 * MS - 1));
    assert_true(gate_next(&gate, &limits, start + 100 * MS));
    assert_false(gate_next(&gate, &limits, start + 100 * MS));
    assert_int_equal(gate_opens(&gate, &limits), start + 200 * MS);
    assert_true(gate_next(&gate, &limits, start + 200 * MS));
    assert_false(gate_next(&gate, &limits, start + SECOND)); /* nobody waits */
    assert_int_equal(gate_opens(&gate, &limits), LULL_NEVER);
}

/* Nobody passes those in line, even when the gate has just opened. */
static void test_first_come_first_served(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.capacity = 10, .queue = 5};
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_WAIT);
    assert_int_equal(gate_arrive(&gate, &limits, 150 * MS), GATE_WAIT);
}

/* Idle time is not saved up: after a minute two at once still are 100 ms apart. */
static void test_no_burst_after_idleness(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.capacity = 10, .queue = 5};
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 60 * SECOND), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 60 * SECOND), GATE_WAIT);
    assert_int_equal(gate_opens(&gate, &limits), 60 * SECOND + 100 * MS);
}

/* 10,000/s attended to once a millisecond: ten start each time, and the rate is kept. */
static void test_late_wake_ups_are_made_up_for(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.capacity = 10000, .queue = 100000};
    int started = 0;
    for (int i = 0; i < 20000; i++)
        started += gate_arrive(&gate, &limits, 0) == GATE_START;
    for (lull_time now = 0; now <= SECOND; now += MS)
        while (gate_next(&gate, &limits, now))
            started++;
    assert_in_range(started, 10000, 10001);
}

/* Two workers: the third waits for one of them, whatever the time. */
static void test_workers(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.workers = 2, .queue = 1};
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_WAIT);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_FULL);
    assert_int_equal(gate_opens(&gate, &limits), LULL_NEVER);
    assert_false(gate_next(&gate, &limits, LULL_HOUR));
    gate_leave(&gate);
    assert_true(gate_opens(&gate, &limits) <= 0);
    assert_true(gate_next(&gate, &limits, LULL_HOUR));
    assert_int_equal(gate.serving, 2);
}

static void test_no_queue(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.workers = 1, .queue = 0};
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_FULL);
    gate_leave(&gate);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
}

static void test_both_limits(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.capacity = 10, .workers = 1, .queue = 10};
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_START);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_WAIT);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_WAIT);
    gate_leave(&gate); /* a worker is free, the pace says 100 ms */
    assert_int_equal(gate_opens(&gate, &limits), 100 * MS);
    assert_true(gate_next(&gate, &limits, 5 * SECOND));
    gate_leave(&gate); /* waiting long for workers gives no burst: nearly 100 ms again */
    assert_false(gate_next(&gate, &limits, 5 * SECOND));
    assert_in_range(gate_opens(&gate, &limits), 5 * SECOND + 90 * MS, 5 * SECOND + 100 * MS);
}

/* Limits that are lifted let everybody in. */
static void test_lifted(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.capacity = 0.001, .workers = 1, .queue = 10};
    struct gate_limits none = {.queue = 10};
    for (int i = 0; i < 5; i++)
        gate_arrive(&gate, &limits, 0);
    assert_int_equal(gate.waiting, 4);
    assert_true(gate_opens(&gate, &none) <= 0);
    while (gate_next(&gate, &none, 1))
        ;
    assert_int_equal(gate.waiting, 0);
    assert_int_equal(gate.serving, 5);
}

static void test_quit(void **state) {
    (void)state;
    struct gate gate = {0};
    struct gate_limits limits = {.workers = 1, .queue = 1};
    gate_arrive(&gate, &limits, 0);
    gate_arrive(&gate, &limits, 0);
    gate_quit(&gate);
    assert_int_equal(gate.waiting, 0);
    assert_int_equal(gate_arrive(&gate, &limits, 0), GATE_WAIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_limits),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_no_burst_after_idleness),
        cmocka_unit_test(test_late_wake_ups_are_made_up_for),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_no_queue),
        cmocka_unit_test(test_both_limits),
        cmocka_unit_test(test_lifted),
        cmocka_unit_test(test_quit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
