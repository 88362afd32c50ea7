#include "testing.h"

#include "units.h"

static void test_rates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double count;
        lull_duration per;
    } rows[] = {
        {"1000/s", 1000, LULL_SECOND}, {"100/m", 100, LULL_MINUTE}, {"5/h", 5, LULL_HOUR},
        {"0.5/s", 0.5, LULL_SECOND},   {"0/s", 0, LULL_SECOND},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double count;
        lull_duration per;
        assert_true(rate_parse(rows[i].text, &count, &per));
        assert_true(count == rows[i].count);
        assert_int_equal(per, rows[i].per);
    }
}

static void test_no_rates(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "1000",
        "/s",
        "1000/",
        "1000/d",
        "1000/ms",
        "1000 /s",
        "1000/ s",
        "-1000/s",
        "k/s",
        "1000/s ",
        "12k",
        "1/s/s",
        "1000/S",
        "1e3/s",
        "0000000000000000000000000000000000000000000000000000000000000001/s", /* 64 digits */
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        double count;
        lull_duration per;
        assert_false(rate_parse(texts[i], &count, &per));
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } rows[] = {
        {"0", 0},
        {"512", 512},
        {"64k", 65536},
        {"1m", 1 << 20},
        {"2g", INT64_C(2) << 30},
        {"9223372036854775807", INT64_MAX},
        {"8589934591g", INT64_C(8589934591) << 30},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t bytes;
        assert_true(size_parse(rows[i].text, &bytes));
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void test_no_sizes(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",    "k",   "64K", "1 m", "1.5m", "-1", "1kk", "9223372036854775808", "8589934592g",
        "1mb", "0x1",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t bytes;
        assert_false(size_parse(texts[i], &bytes));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_no_rates),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_no_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
