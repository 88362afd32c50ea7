#include "duration.h"
#include "testing.h"

#include <stdlib.h>

static void test_parse(void **state) {
    (void)state;
    static const struct {
        const char *text;
        lull_duration expected;
    } rows[] = {
        {"0", 0},
        {"0s", 0},
        {"1ns", 1},
        {"7us", 7000},
        {"500ms", 500 * MS},
        {"2s", 2 * SECOND},
        {"5m", 5 * LULL_MINUTE},
        {"1h", LULL_HOUR},
        {"1d", LULL_DAY},
        {"1h30m", 90 * LULL_MINUTE},
        {"1d2h3m4s5ms6us7ns", LULL_DAY + 2 * LULL_HOUR + 3 * LULL_MINUTE + 4 * SECOND + 5 * MS +
                                  6 * LULL_MICROSECOND + 7},
        {"1.5s", 1500 * MS},
        {"0.25h", 15 * LULL_MINUTE},
        {"1h0.5m", LULL_HOUR + 30 * SECOND},
        {"0.0000000019s", 1}, /* past a nanosecond digits are worth nothing */
        {"9223372036854775807ns", INT64_MAX},
        {"007s", 7 * SECOND},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        lull_duration duration = -1;
        assert_true(duration_parse(rows[i].text, &duration));
        assert_int_equal(duration, rows[i].expected);
    }
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "5",
        "s",
        "ms",
        "-1s",
        "+1s",
        " 1s",
        "1s ",
        "1 s",
        "1x",
        "1S",
        "1sec",
        "1.s",
        ".5s",
        "1..5s",
        "1.5",
        "30m1h", /* largest first */
        "1s1s",
        "1h-30m",
        "1e3s",
        "0x10s",
        "inf",
        "nan",
        "1s,2s",
        "9223372036854775808ns",
        "106752d",
        "99999999999999999999s",
        "106751d23h60m",
        "106751d24h",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        lull_duration duration = -1;
        if (duration_parse(texts[i], &duration))
            fail_msg("\"%s\" was taken for %lld ns", texts[i], (long long)duration);
    }
}

static void test_format(void **state) {
    (void)state;
    static const struct {
        lull_duration duration;
        const char *expected;
    } rows[] = {
        {0, "0s"},
        {1, "0ms"},
        {50 * LULL_MICROSECOND, "0.1ms"},
        {400 * LULL_MICROSECOND, "0.4ms"},
        {2 * MS, "2ms"},
        {2340 * LULL_MICROSECOND, "2.3ms"},
        {180 * MS, "180ms"},
        {999 * MS, "999ms"},
        {999600 * LULL_MICROSECOND, "1s"},
        {1234 * MS, "1.2s"},
        {2 * SECOND, "2s"},
        {59900 * MS, "59.9s"},
        {59960 * MS, "1m"},
        {LULL_MINUTE, "1m"},
        {245 * SECOND, "4m5s"},
        {LULL_HOUR - 1, "1h"},
        {90 * LULL_MINUTE, "1h30m"},
        {LULL_HOUR, "1h"},
        {LULL_DAY + LULL_HOUR, "1d1h"},
        {365 * LULL_DAY, "365d"},
        {INT64_MAX, "106751d23h"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[DURATION_TEXT_SIZE];
        assert_string_equal(duration_format(rows[i].duration, text), rows[i].expected);
    }
}

/* Whatever lull prints can be typed back in, and means the same to a tenth. */
static void test_format_can_be_parsed(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 100000; i++) {
        lull_duration duration = (lull_duration)(lull_random_next(&random) >> draw(&random, 1, 63));
        lull_duration parsed = -1;
        char text[DURATION_TEXT_SIZE];
        assert_true(duration_parse(duration_format(duration, text), &parsed));
        assert_true(llabs(parsed - duration) <= duration / 10 + LULL_MILLISECOND / 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_format_can_be_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
