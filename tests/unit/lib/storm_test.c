#include "testing.h"

static void count(struct lull_storm *storm, int firsts, int retries, lull_time now) {
    for (int i = 0; i < firsts; i++)
        lull_storm_first(storm, now);
    for (int i = 0; i < retries; i++)
        lull_storm_retry(storm, now);
}

static void test_thresholds(void **state) {
    (void)state;
    static const struct {
        int firsts, retries;
        bool storm;
    } rows[] = {
        {600, 3001, true}, {600, 3000, false}, {10, 100, false}, {10, 101, true},
        {0, 100, false},   {0, 101, true},     {0, 0, false},    {21, 105, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_storm storm;
        lull_storm_init(&storm);
        count(&storm, rows[i].firsts, rows[i].retries, 0);
        struct lull_storm_stats stats = lull_storm_snapshot(&storm, LULL_MINUTE);
        assert_int_equal(stats.storm, rows[i].storm);
        assert_int_equal(stats.firsts, rows[i].firsts);
        assert_int_equal(stats.retries, rows[i].retries);
        assert_true(stats.ratio ==
                    (double)rows[i].retries / (rows[i].firsts > 0 ? rows[i].firsts : 1));
    }
}

static void test_passes_after_15_minutes(void **state) {
    (void)state;
    struct lull_storm storm;
    lull_storm_init(&storm);
    count(&storm, 10, 200, 0);
    assert_true(lull_storm_snapshot(&storm, 15 * LULL_MINUTE - 1).storm);
    struct lull_storm_stats stats = lull_storm_snapshot(&storm, 15 * LULL_MINUTE);
    assert_false(stats.storm);
    assert_int_equal(stats.retries, 0);
    assert_int_equal(stats.total_firsts, 10);
    assert_int_equal(stats.total_retries, 200);
}

static void test_early_sign_of_rate(void **state) {
    (void)state;
    struct lull_storm storm;
    lull_storm_init(&storm);
    count(&storm, 0, 30000, 0);
    assert_false(lull_storm_snapshot(&storm, 0).rate_high); /* exactly 100/s over 5 min */
    count(&storm, 1000000, 1, 4 * LULL_MINUTE);
    struct lull_storm_stats stats = lull_storm_snapshot(&storm, 5 * LULL_MINUTE - 1);
    assert_true(stats.rate_high);
    assert_false(stats.storm);
    assert_false(lull_storm_snapshot(&storm, 5 * LULL_MINUTE).rate_high);
}

static void test_early_sign_of_backlog(void **state) {
    (void)state;
    static const struct {
        int64_t waiting;
        int minute;
        bool growing;
    } rows[] = {
        {10, 0, false},  {11, 1, false}, {12, 2, false},
        {13, 3, true},   {14, 4, true},  {14, 5, false}, /* no growth */
        {15, 6, false},  {16, 7, false}, {20, 9, false}, /* a minute was missed: 1 in a row */
        {21, 10, false}, {22, 11, true},
    };
    struct lull_storm storm;
    lull_storm_init(&storm);
    for (size_t i = 0; i < COUNT(rows); i++) {
        lull_time now = rows[i].minute * LULL_MINUTE;
        lull_storm_backlog(&storm, rows[i].waiting, now);
        lull_storm_backlog(&storm, 1000000, now + SECOND); /* within the minute: not counted */
        assert_int_equal(lull_storm_snapshot(&storm, now).backlog_growing, rows[i].growing);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_passes_after_15_minutes),
        cmocka_unit_test(test_early_sign_of_rate),
        cmocka_unit_test(test_early_sign_of_backlog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
