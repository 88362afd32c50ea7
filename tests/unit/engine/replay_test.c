#include "testing.h"

#include "replay.h"

static struct replay_pace pace;

/* How many letters go in this stretch, asked every 10 ms. */
static uint32_t letters(lull_time from, lull_time until) {
    uint32_t count = 0;
    for (lull_time now = from; now < until; now += 10 * MS)
        count += replay_pace_step(&pace, now);
    return count;
}

static void outcomes(uint32_t succeeded, uint32_t failed, lull_time now) {
    for (uint32_t i = 0; i < succeeded; i++)
        assert_true(replay_pace_outcome(&pace, true, now));
    for (uint32_t i = 0; i < failed; i++)
        assert_true(replay_pace_outcome(&pace, false, now));
}

static void test_one_every_600_ms(void **state) {
    (void)state;
    replay_pace_init(&pace, REPLAY_RATE, SECOND);
    assert_int_equal(replay_pace_step(&pace, SECOND), 1);
    assert_int_equal(pace.next, SECOND + 600 * MS);
    assert_int_equal(replay_pace_step(&pace, SECOND + 599 * MS), 0);
    assert_int_equal(pace.next, SECOND + 600 * MS);
    assert_int_equal(replay_pace_step(&pace, SECOND + 600 * MS), 1);
    /* Late: it does not catch up. */
    assert_int_equal(replay_pace_step(&pace, SECOND + 5 * SECOND), 1);
    assert_int_equal(pace.next, SECOND + 5 * SECOND + 600 * MS);
}

static void test_a_minute_of_each_rate(void **state) {
    (void)state;
    static const double rates[] = {1, 100, 200, 600, 800, 6400, 600000};
    for (size_t i = 0; i < COUNT(rates); i++) {
        replay_pace_init(&pace, rates[i], 0);
        uint32_t most = (uint32_t)rates[i];
        assert_in_range(letters(0, LULL_MINUTE), most - 1, most); /* fractions are rounded down */
    }
}

/* 6,400 a minute are 10.67 every tenth of a second: 10 or 11. */
static void test_fractions_are_kept(void **state) {
    (void)state;
    replay_pace_init(&pace, 6400, 0);
    uint32_t sum = 0;
    for (int i = 0; i < 60; i++) {
        uint32_t count = replay_pace_step(&pace, i * REPLAY_TICK);
        assert_in_range(count, 10, 11);
        sum += count;
    }
    assert_in_range(sum, 639, 640);
}

/* The rate after a minute with these outcomes. */
static double judged(double rate, uint32_t succeeded, uint32_t failed) {
    replay_pace_init(&pace, rate, 0);
    outcomes(succeeded, failed, SECOND);
    (void)replay_pace_step(&pace, LULL_MINUTE - 1);
    assert_true(pace.rate == rate); /* not before it is over */
    (void)replay_pace_step(&pace, LULL_MINUTE);
    return pace.rate;
}

static void test_a_minute_is_judged(void **state) {
    (void)state;
    assert_true(judged(100, 1, 0) == 200);
    assert_true(judged(100, 0, 0) == 100); /* nothing came back */
    assert_true(judged(100, 90, 10) == 100);
    assert_true(judged(100, 89, 11) == 50);
    assert_true(judged(100, 50, 50) == 50);
    assert_true(judged(1.5, 89, 11) == REPLAY_SLOWEST);
    assert_true(judged(400000, 1, 0) == REPLAY_FASTEST);
}

/* Each minute has its own count; an outcome judges the one before it, too. */
static void test_minutes_are_apart(void **state) {
    (void)state;
    replay_pace_init(&pace, 100, 0);
    outcomes(9, 1, SECOND);
    outcomes(1, 0, LULL_MINUTE + SECOND); /* 10 %: stays; begins a new minute */
    assert_true(pace.rate == 100);
    assert_int_equal(pace.minute_began, LULL_MINUTE + SECOND);
    assert_int_equal(pace.succeeded, 1);
    assert_int_equal(pace.failed, 0);
    outcomes(1, 0, 2 * LULL_MINUTE + SECOND);
    assert_true(pace.rate == 200);
}

static void test_stops_when_most_fail(void **state) {
    (void)state;
    replay_pace_init(&pace, 100, 0);
    outcomes(0, 9, 0); /* too few to tell */
    assert_false(replay_pace_outcome(&pace, false, 0));
    replay_pace_init(&pace, 100, 0);
    outcomes(5, 5, 0); /* half is not most */
    assert_false(replay_pace_outcome(&pace, false, 0));
}

/* A pause is no clean minute, and what it kept from going does not go all at once. */
static void test_a_pause_begins_the_minute_anew(void **state) {
    (void)state;
    replay_pace_init(&pace, 6000, 0);
    assert_int_equal(replay_pace_step(&pace, 0), 10);
    outcomes(10, 0, SECOND);
    replay_pace_hold(&pace);
    assert_int_equal(replay_pace_step(&pace, 90 * SECOND), 10);
    assert_true(pace.rate == 6000);
    assert_int_equal(pace.minute_began, 90 * SECOND);
    assert_int_equal(pace.next, 90 * SECOND + REPLAY_TICK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_every_600_ms),
        cmocka_unit_test(test_a_minute_of_each_rate),
        cmocka_unit_test(test_fractions_are_kept),
        cmocka_unit_test(test_a_minute_is_judged),
        cmocka_unit_test(test_minutes_are_apart),
        cmocka_unit_test(test_stops_when_most_fail),
        cmocka_unit_test(test_a_pause_begins_the_minute_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
