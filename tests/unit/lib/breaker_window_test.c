/* The circuit breaker: windows and thresholds. */
#include "breaker_fixture.h"

#include <lull/random.h>

#include <stdint.h>

/* ---- windows and thresholds ---- */

/* Good calls first, so that the last bad one decides. */
static void bring(void (*bad)(lull_time), int calls, int bad_calls) {
    repeat(success, calls - bad_calls, START);
    repeat(bad, bad_calls, START);
}

static void check_threshold(double rate, int calls, int bad_calls, bool opens) {
    void (*const kinds[])(lull_time) = {failure, slow_success};
    for (int i = 0; i < 4; i++) {
        bool by_count = i & 1, by_slow = i & 2;
        start((struct lull_breaker_config){.by_count = by_count,
                                           .calls = (uint32_t)calls,
                                           .minimum_calls = (uint32_t)calls,
                                           .failure_rate = by_slow ? 1 : rate,
                                           .slow_rate = by_slow ? rate : 1});
        bring(kinds[by_slow], calls, bad_calls);
        assert_int_equal(state_now(), opens ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
        assert_int_equal(journal.count, opens);
        if (!opens)
            continue;
        assert_int_equal(journal.events[0].calls, calls);
        assert_int_equal(journal.events[0].failed, by_slow ? 0 : bad_calls);
        assert_int_equal(journal.events[0].slow, by_slow ? bad_calls : 0);
    }
}

static void thresholds_are_exact(void **state) {
    (void)state;
    const struct {
        double rate;
        int calls, bad_calls; /* the least that opens */
    } rows[] = {
        {0.5, 10, 5},    {0.3, 10, 3},         {0.07, 100, 7},  {0.8, 10, 8},
        {0.8, 5, 4},     {0.29, 100, 29},      {0.57, 100, 57}, {0.58, 100, 58},
        {0.1, 10, 1},    {0.5, 5, 3},          {0.5, 1, 1},     {1, 1, 1},
        {1, 100, 100},   {0.01, 10, 1},        {1e-6, 1, 1},    {1.0 / 3, 3, 1},
        {2.0 / 3, 3, 2}, {5.0 / 6, 6, 5},      {0.4, 5, 2},     {0.41, 5, 3},
        {1e-6, 256, 1},  {0.999999, 256, 256}, {0.9, 256, 231}, {0.6, 5, 3},
        {0.7, 10, 7},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check_threshold(rows[i].rate, rows[i].calls, rows[i].bad_calls, true);
        check_threshold(rows[i].rate, rows[i].calls, rows[i].bad_calls - 1, false);
    }
}

/* Every share k of n that a count window can hold, as a rate: k calls reach it, k - 1 do not. */
static void every_fraction_is_a_threshold(void **state) {
    (void)state;
    for (int n = 1; n <= 100; n++)
        for (int k = 1; k <= n; k++) {
            start((struct lull_breaker_config){.by_count = true,
                                               .calls = (uint32_t)n,
                                               .minimum_calls = (uint32_t)n,
                                               .failure_rate = (double)k / n});
            bring(failure, n, k - 1);
            assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
            /* One success leaves the window, one failure comes. */
            failure(START);
            assert_int_equal(state_now(), LULL_BREAKER_OPEN);
        }
}

/* As a double, 0.0157 times a million is 15,699.99…; a million calls can tell that from 15,700. */
static void a_rate_is_exact_to_the_millionth(void **state) {
    (void)state;
    for (int failures = 15699; failures <= 15700; failures++) {
        start((struct lull_breaker_config){.minimum_calls = 1000000, .failure_rate = 0.0157});
        bring(failure, 1000000, failures);
        assert_int_equal(state_now(), failures == 15700 ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
    }
}

static void five_calls_two_slow_is_forty_percent(void **state) {
    (void)state;
    start((struct lull_breaker_config){.by_count = true, .calls = 5, .slow_rate = 0.4});
    bring(slow_success, 5, 1);
    window_is(5, 0, 1, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    slow_success(START);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(journal.events[0].calls, 5);
    assert_int_equal(journal.events[0].slow, 2);
    check_threshold(0.4, 5, 2, true);
    check_threshold(0.400001, 5, 2, false);
}

static void slow_is_longer_than(void **state) {
    (void)state;
    const struct {
        lull_duration slow_call, took;
        uint64_t slow;
    } rows[] = {
        {0, LULL_BREAKER_SLOW_CALL, 0},
        {0, LULL_BREAKER_SLOW_CALL + 1, 1},
        {10, 10, 0},
        {10, 11, 1},
        {10, -5, 0},
        {10, LULL_NEVER, 1},
        {LULL_NONE, LULL_NEVER, 0},
        {LULL_NONE, LULL_DAY * 9, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int by_count = 0; by_count < 2; by_count++) {
            start(
                (struct lull_breaker_config){.by_count = by_count, .slow_call = rows[i].slow_call});
            lull_breaker_record(&breaker, admit(START), LULL_VOTE_SUCCESS, rows[i].took, 0, START);
            window_is(1, 0, rows[i].slow, START);
            lull_breaker_record(&breaker, admit(START), LULL_VOTE_FAILURE, rows[i].took, 0, START);
            window_is(2, 1, 2 * rows[i].slow, START);
        }
}

static void minimum_calls(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        start((struct lull_breaker_config){.by_count = by_count, .minimum_calls = 7});
        repeat(failure, 6, START);
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
        success(START); /* the seventh call is a good one, yet the window is bad */
        assert_int_equal(state_now(), LULL_BREAKER_OPEN);
        assert_int_equal(journal.events[0].calls, 7);
        assert_int_equal(journal.events[0].failed, 6);
    }
    start((struct lull_breaker_config){.by_count = true, .calls = 3}); /* the default is lowered */
    repeat(failure, 2, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    failure(START);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    start((struct lull_breaker_config){.by_count = true, .calls = 10}); /* and no further */
    repeat(failure, 9, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
}

static void ignored_calls_count_for_nothing(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        start((struct lull_breaker_config){.by_count = by_count});
        repeat(failure, 9, START);
        for (int i = 0; i < 50; i++)
            lull_breaker_record(&breaker, admit(START), LULL_VOTE_NONE, SLOW, 0, START);
        window_is(9, 9, 0, START);
        assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, 9);
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    }
}

static void count_window_slides(void **state) {
    (void)state;
    start((struct lull_breaker_config){
        .by_count = true, .calls = 5, .failure_rate = 0.6, .slow_rate = 0.9});
    void (*const calls[])(lull_time) = {failure, failure,      success, slow_success, success,
                                        success, slow_success, failure, success,      success,
                                        success, success,      success};
    const struct {
        uint64_t calls, failed, slow;
    } after[] = {{1, 1, 0}, {2, 2, 0}, {3, 2, 0}, {4, 2, 1}, {5, 2, 1}, {5, 1, 1}, {5, 0, 2},
                 {5, 1, 2}, {5, 1, 1}, {5, 1, 1}, {5, 1, 1}, {5, 1, 0}, {5, 0, 0}};
    for (size_t i = 0; i < COUNT(calls); i++) {
        calls[i](START);
        window_is(after[i].calls, after[i].failed, after[i].slow, START);
    }
    window_is(5, 0, 0, START + 365 * LULL_DAY); /* time does not empty it */
    repeat(failure, 2, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    failure(START);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, COUNT(calls) + 3);
}

/* A call that failed and was slow takes both with it. */
static void count_window_forgets_both_marks(void **state) {
    (void)state;
    start((struct lull_breaker_config){
        .by_count = true, .calls = 2, .failure_rate = 1, .slow_rate = 1});
    success(START);
    lull_breaker_record(&breaker, admit(START), LULL_VOTE_FAILURE, SLOW, 0, START);
    window_is(2, 1, 1, START);
    success(START);
    window_is(2, 1, 1, START);
    success(START);
    window_is(2, 0, 0, START);
}

/* 30 s in slices of 1 s from the first vote on: what falls into slice k is gone when slice k +
 * 30 begins. */
static void time_window_is_exact(void **state) {
    (void)state;
    start((struct lull_breaker_config){.minimum_calls = 1000});
    const lull_duration votes[] = {0, 1, 999999999, 1000000000, 1999999999, 29 * LULL_SECOND};
    for (size_t i = 0; i < COUNT(votes); i++)
        failure(START + votes[i]);
    const struct {
        lull_duration at;
        uint64_t left;
    } rows[] = {
        {29 * LULL_SECOND, 6}, {30 * LULL_SECOND - 1, 6},
        {30 * LULL_SECOND, 3}, {31 * LULL_SECOND - 1, 3},
        {31 * LULL_SECOND, 1}, {59 * LULL_SECOND - 1, 1},
        {59 * LULL_SECOND, 0}, {LULL_DAY, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        window_is(rows[i].left, rows[i].left, 0, START + rows[i].at);
}

/* The vote that would open it comes a nanosecond too late, or not. */
static void time_window_decides_to_the_nanosecond(void **state) {
    (void)state;
    for (int in_time = 0; in_time < 2; in_time++) {
        start((struct lull_breaker_config){0});
        repeat(failure, 9, START);
        failure(START + LULL_BREAKER_WINDOW - in_time);
        assert_int_equal(state_now(), in_time ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
        if (!in_time)
            window_is(1, 1, 0, START + LULL_BREAKER_WINDOW);
    }
}

static void time_window_jumps_over_many_slices(void **state) {
    (void)state;
    const struct {
        lull_duration by;
        uint64_t left;
    } rows[] = {
        {LULL_SECOND, 9},      {29 * LULL_SECOND, 9}, {30 * LULL_SECOND - 1, 9},
        {30 * LULL_SECOND, 0}, {31 * LULL_SECOND, 0}, {300 * LULL_DAY + 17, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start((struct lull_breaker_config){0});
        repeat(failure, 9, START);
        window_is(rows[i].left, rows[i].left, 0, START + rows[i].by);
        success(START + rows[i].by); /* 9 of 10 failed, or it is the only one */
        assert_int_equal(state_now(), rows[i].left > 0 ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
    }
}

static void time_a_little_backwards(void **state) {
    (void)state;
    start((struct lull_breaker_config){.minimum_calls = 1000});
    failure(START + 10 * LULL_SECOND);
    failure(START + 15 * LULL_SECOND);
    failure(START + 12 * LULL_SECOND); /* counts as now: in the slice that began at 15 s */
    slow_success(START);
    window_is(4, 3, 1, START);
    window_is(3, 2, 1, START + 40 * LULL_SECOND);
    window_is(3, 2, 1, START + 45 * LULL_SECOND - 1);
    window_is(0, 0, 0, START + 45 * LULL_SECOND);
}

/* Random votes against a plain list of them: by time, by count, with modes that empty the window
 * now and then. */
struct past_vote {
    bool failed, slow;
    int64_t slice;
};

static struct past_vote past[100000];

static void window_matches_list(bool by_count, uint32_t size, uint64_t seed) {
    enum { VOTES = 20000 };
    start((struct lull_breaker_config){.by_count = by_count,
                                       .window = size * LULL_MICROSECOND,
                                       .slices = by_count ? 0 : size,
                                       .calls = size,
                                       .minimum_calls = 1});
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_METRICS_ONLY, START);
    lull_time now = START;
    size_t first = 0, count = 0;
    for (int i = 0; i < VOTES; i++) {
        uint64_t word = lull_random_next(&seed);
        if (i > 0)
            now += (lull_duration)(word >> 8 & 1023) + (word >> 20 & 255 ? 0 : 400 * size);
        if (i > 0 && (word >> 32 & 511) == 0) { /* a new generation */
            lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_DISABLED, now);
            lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_METRICS_ONLY, now);
            first = count;
        }
        struct past_vote vote = {word & 1, word & 2, (now - START) / LULL_MICROSECOND};
        past[count++] = vote;
        lull_breaker_record(&breaker, admit(now),
                            vote.failed ? LULL_VOTE_FAILURE : LULL_VOTE_SUCCESS,
                            vote.slow ? SLOW : QUICK, 0, now);
        while (by_count ? count - first > size : past[first].slice + size <= vote.slice)
            first++;
        uint64_t failed = 0, slow = 0;
        for (size_t k = first; k < count; k++) {
            failed += past[k].failed;
            slow += past[k].slow;
        }
        window_is(count - first, failed, slow, now);
    }
    assert_int_equal(lull_breaker_snapshot(&breaker, now).calls, VOTES);
}

static void windows_match_a_list(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 2, 3, 7, 30, 60, 100, 256};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        window_matches_list(true, sizes[i], i);
        if (sizes[i] >= 2 && sizes[i] <= LULL_BREAKER_MAX_SLICES)
            window_matches_list(false, sizes[i], i);
    }
}

/* However many generations lie between, what an old state left in memory does not make the new
 * one deaf. */
static void old_generations_do_not_deafen(void **state) {
    (void)state;
    const int distances[] = {2, 100, 32766, 32768, 32770, 40000, 65534, 65538, 100000};
    for (int by_count = 0; by_count < 2; by_count++)
        for (size_t i = 0; i < COUNT(distances); i++) {
            start((struct lull_breaker_config){.by_count = by_count});
            repeat(success, 150, START); /* fills every slot */
            for (int k = 0; k < distances[i]; k++)
                next_state();
            repeat(failure, 9, START);
            window_is(9, 9, 0, START);
            assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
            failure(START);
            assert_int_equal(state_now(), LULL_BREAKER_OPEN);
            assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, 160);
        }
}

/* Sixteen bits of a generation are kept with the votes, but a permit is compared as a whole. */
static void permit_of_65536_generations_ago_is_late(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        start((struct lull_breaker_config){.by_count = by_count});
        uint32_t permit = admit(START);
        success(START);
        for (int i = 0; i < 65536; i++)
            next_state();
        success(START);
        uint64_t calls = lull_breaker_snapshot(&breaker, START).calls;
        record(permit, LULL_VOTE_SUCCESS, START);
        record(permit, LULL_VOTE_FAILURE, START);
        assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, calls);
        assert_int_equal(lull_breaker_snapshot(&breaker, START).late, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_are_exact),
        cmocka_unit_test(every_fraction_is_a_threshold),
        cmocka_unit_test(a_rate_is_exact_to_the_millionth),
        cmocka_unit_test(five_calls_two_slow_is_forty_percent),
        cmocka_unit_test(slow_is_longer_than),
        cmocka_unit_test(minimum_calls),
        cmocka_unit_test(ignored_calls_count_for_nothing),
        cmocka_unit_test(count_window_slides),
        cmocka_unit_test(count_window_forgets_both_marks),
        cmocka_unit_test(time_window_is_exact),
        cmocka_unit_test(time_window_decides_to_the_nanosecond),
        cmocka_unit_test(time_window_jumps_over_many_slices),
        cmocka_unit_test(time_a_little_backwards),
        cmocka_unit_test(windows_match_a_list),
        cmocka_unit_test(old_generations_do_not_deafen),
        cmocka_unit_test(permit_of_65536_generations_ago_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
