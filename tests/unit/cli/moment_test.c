#include "moment.h"
#include "testing.h"

static void test_parse(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t expected;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"1970-01-02T00:00:01.5Z", 86401500},
        {"2026-03-01T12:00:00.000Z", 1772366400000},
        {"2026-03-01T12:00:00.123456789Z", 1772366400123},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t moment = -1;
        assert_true(moment_parse(rows[i].text, &moment));
        assert_int_equal(moment, rows[i].expected);
    }
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "now",
                                        "2026-03-01",
                                        "2026-03-01T12:00:00",
                                        "2026-03-01T12:00:00.Z",
                                        "2026-03-01T12:00:00Zulu",
                                        "2026-03-01T12:00:00+01:00",
                                        "2026-13-01T12:00:00Z"};
    int64_t moment = 0;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (moment_parse(texts[i], &moment))
            fail_msg("\"%s\" was taken for a moment", texts[i]);
}

static void test_relative(void **state) {
    (void)state;
    static const struct {
        int64_t seconds; /* from now */
        const char *expected;
    } rows[] = {
        {0, "now"},       {-1, "1 s ago"},           {-59, "59 s ago"},
        {-60, "1 m ago"}, {-3599, "59 m ago"},       {-3600, "1 h ago"},
        {5, "in 5 s"},    {-47 * 3600, "47 h ago"},  {-48 * 3600, "2 d ago"},
        {7200, "in 2 h"}, {400 * 86400, "in 400 d"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[MOMENT_TEXT_SIZE];
        int64_t now = 1772366400000;
        assert_string_equal(moment_relative(now + rows[i].seconds * 1000, now, text),
                            rows[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_relative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
