#include "testing.h"

#include "text.h"

static void test_copy(void **state) {
    (void)state;
    char target[4];
    assert_true(text_copy(target, sizeof target, "abc"));
    assert_string_equal(target, "abc");
    assert_false(text_copy(target, sizeof target, "abcd"));
    assert_string_equal(target, "");
}

static void test_controls(void **state) {
    (void)state;
    assert_false(text_has_controls("Name: välue ~"));
    assert_true(text_has_controls("a\r\nb"));
    assert_true(text_has_controls("\x7f"));
    assert_true(text_has_controls("a\tb"));
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t size;
    } good[] = {{"0", 0}, {"512", 512}, {"64k", 65536}, {"1m", 1 << 20}, {"1g", 1 << 30}};
    uint64_t size = 0;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(text_parse_size(good[i].text, UINT64_C(1) << 30, &size));
        assert_int_equal(size, good[i].size);
    }
    static const char *const bad[] = {
        "", "k", "1x", "-1", "1.5k", "1kk", "2g", "1073741825", "99999999999999999999999g"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_parse_size(bad[i], UINT64_C(1) << 30, &size));
}

static void printed(char text[64], void (*print)(FILE *, const void *), const void *value) {
    FILE *stream = fmemopen(text, 64, "w");
    print(stream, value);
    fclose(stream);
}

static void print_rate(FILE *stream, const void *rate) {
    text_rate(stream, rate);
}

static void test_rates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        struct rate rate;
        const char *printed;
    } good[] = {
        {"100/s", {100, SECOND}, "100/s"},
        {"100", {100, SECOND}, "100/s"},
        {"1000/m", {1000, LULL_MINUTE}, "1000/m"},
        {"5/h", {5, LULL_HOUR}, "5/h"},
    };
    struct rate rate;
    for (size_t i = 0; i < COUNT(good); i++) {
        char text[64];
        assert_true(text_parse_rate(good[i].text, &rate));
        assert_int_equal(rate.count, good[i].rate.count);
        assert_int_equal(rate.per, good[i].rate.per);
        printed(text, print_rate, &rate);
        assert_string_equal(text, good[i].printed);
    }
    static const char *const bad[] = {
        "",     "0/s",  "/s",    "5/",           "5/d",
        "5/ss", "-5/s", "1.5/s", "2000000000/s", "111111111111111111111111111/s"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_parse_rate(bad[i], &rate));
}

static void print_duration(FILE *stream, const void *duration) {
    text_duration(stream, *(const lull_duration *)duration);
}

static void test_durations(void **state) {
    (void)state;
    static const struct {
        lull_duration duration;
        const char *text;
    } rows[] = {
        {0, "0s"},
        {1, "1ns"},
        {1500 * MS, "1500ms"},
        {90 * SECOND, "90s"},
        {120 * SECOND, "2m"},
        {LULL_DAY, "24h"},
        {LULL_HOUR + 1, "3600000000001ns"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[64];
        printed(text, print_duration, &rows[i].duration);
        assert_string_equal(text, rows[i].text);
    }
}

static void print_decimal(FILE *stream, const void *number) {
    text_decimal(stream, *(const double *)number);
}

static void test_decimals(void **state) {
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {{0, "0"}, {1, "1"}, {0.3, "0.3"}, {12000, "12000"}, {0.000001, "0.000001"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[64];
        printed(text, print_decimal, &rows[i].number);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),      cmocka_unit_test(test_controls),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_rates),
        cmocka_unit_test(test_durations), cmocka_unit_test(test_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
