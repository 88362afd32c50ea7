#include "report/figures.h"
#include "report/sparkline.h"
#include "testing.h"

static void test_counts(void **state) {
    (void)state;
    char text[FIGURE_SIZE];
    assert_string_equal(figure_count(0, text), "0");
    assert_string_equal(figure_count(999, text), "999");
    assert_string_equal(figure_count(1000, text), "1,000");
    assert_string_equal(figure_count(1234567, text), "1,234,567");
    assert_string_equal(figure_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void test_latencies(void **state) {
    (void)state;
    char text[FIGURE_SIZE];
    assert_string_equal(figure_latency(0.14, text), "0.1 ms");
    assert_string_equal(figure_latency(9.94, text), "9.9 ms");
    assert_string_equal(figure_latency(9.96, text), "10 ms");
    assert_string_equal(figure_latency(999.4, text), "999 ms");
    assert_string_equal(figure_latency(999.6, text), "1.0 s");
    assert_string_equal(figure_latency(99940, text), "99.9 s");
    assert_string_equal(figure_latency(99960, text), "1.7 min");
    assert_string_equal(figure_latency(300000, text), "5.0 min");
}

static void test_shares(void **state) {
    (void)state;
    char text[FIGURE_SIZE];
    assert_string_equal(figure_share(0, text), "0.0 %");
    assert_string_equal(figure_share(0.958, text), "95.8 %");
    assert_string_equal(figure_share(0.99999, text), "99.9 %");
    assert_string_equal(figure_share(1, text), "100.0 %");
}

static void test_times(void **state) {
    (void)state;
    char text[FIGURE_SIZE];
    assert_string_equal(figure_recovery(-1, text), "never");
    assert_string_equal(figure_recovery(0, text), "0 s");
    assert_string_equal(figure_recovery(12.4, text), "12 s");
    assert_string_equal(figure_time(0, text), "0 s");
    assert_string_equal(figure_time(90 * SECOND, text), "90 s");
    assert_string_equal(figure_time(2 * LULL_MINUTE, text), "2 min");
    assert_string_equal(figure_time(125 * SECOND, text), "2 min 5 s");
    assert_string_equal(figure_time(LULL_HOUR, text), "60 min");
    assert_string_equal(figure_time(2 * LULL_HOUR, text), "2 h");
    assert_string_equal(figure_time(LULL_DAY - LULL_MINUTE, text), "23 h 59 min");
    assert_string_equal(figure_time(LULL_DAY - SECOND, text), "23 h 59 min");
}

static void test_ratios(void **state) {
    (void)state;
    char text[FIGURE_SIZE];
    assert_string_equal(figure_ratio(0, text), "0.00");
    assert_string_equal(figure_ratio(3.137, text), "3.14");
    assert_string_equal(figure_ratio(9.996, text), "10.0");
    assert_string_equal(figure_ratio(41.37, text), "41.4");
}

static void test_levels(void **state) {
    (void)state;
    assert_int_equal(sparkline_level(0, 8), 0);
    assert_int_equal(sparkline_level(0.001, 8), 1); /* little, but not nothing */
    for (int level = 1; level <= SPARKLINE_LEVELS; level++)
        assert_int_equal(sparkline_level(level, 8), level);
    assert_int_equal(sparkline_level(9, 8), SPARKLINE_LEVELS);
    assert_int_equal(sparkline_level(1, 0), 0);
    assert_string_equal(sparkline_letter(0, true), " ");
    assert_string_equal(sparkline_letter(8, true), "█");
    assert_string_equal(sparkline_letter(8, false), "@");
}

/* Every second is in exactly one letter; if there are fewer seconds than letters, all have one. */
static void test_stretches(void **state) {
    (void)state;
    for (uint32_t length = 1; length < 50; length++)
        for (uint32_t columns = 1; columns < 50; columns++) {
            uint32_t next = 0;
            for (uint32_t i = 0; i < columns; i++) {
                struct stretch stretch = sparkline_stretch(i, columns, length);
                assert_true(stretch.from < stretch.to && stretch.to <= length);
                assert_true(length < columns ? stretch.from + 1 >= next : stretch.from == next);
                next = stretch.to;
            }
            assert_int_equal(next, length);
        }
    struct stretch last = sparkline_stretch(85, 86, 86400);
    assert_int_equal(last.to, 86400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_shares),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_ratios),    cmocka_unit_test(test_levels),
        cmocka_unit_test(test_stretches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
