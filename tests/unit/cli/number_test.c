#include "number.h"
#include "testing.h"

static void test_whole(void **state) {
    (void)state;
    uint64_t number = 0;
    assert_true(number_parse("0", 10, &number));
    assert_int_equal(number, 0);
    assert_true(number_parse("10", 10, &number));
    assert_int_equal(number, 10);
    assert_true(number_parse("18446744073709551615", UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
    static const char *const bad[] = {
        "", "11", "-1", "+1", " 1", "1 ", "0x1", "1e0", "18446744073709551616"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(number_parse(bad[i], 10, &number));
    assert_false(number_parse("18446744073709551616", UINT64_MAX, &number));
    assert_false(number_parse("99999999999999999999999", UINT64_MAX, &number));
}

static void test_decimal(void **state) {
    (void)state;
    double number = 0;
    assert_true(decimal_parse("2", &number));
    assert_true(number == 2);
    assert_true(decimal_parse("1.5", &number));
    assert_true(number == 1.5);
    static const char *const bad[] = {"",    ".",     "1.5.5", "-1", "nan",
                                      "inf", "0x1p3", "1e3",   " 1", "1 "};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(decimal_parse(bad[i], &number));
    char huge[400];
    memset(huge, '9', sizeof huge);
    huge[sizeof huge - 1] = '\0';
    assert_false(decimal_parse(huge, &number));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
