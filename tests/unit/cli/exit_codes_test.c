#include "exit_codes.h"
#include "testing.h"

static void test_lists(void **state) {
    (void)state;
    struct exit_codes codes = {{0}};
    struct problem problem;
    assert_true(exit_codes_empty(&codes));
    assert_true(exit_codes_add(&codes, "7,20-22,255,3-3", &problem));
    assert_true(exit_codes_add(&codes, "64", &problem)); /* a flag given twice adds up */
    for (int code = -1; code <= 256; code++) {
        bool expected =
            code == 7 || (code >= 20 && code <= 22) || code == 255 || code == 3 || code == 64;
        assert_int_equal(exit_codes_has(&codes, code), expected);
    }
    assert_false(exit_codes_empty(&codes));
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const lists[] = {"",    ",", "1,",  ",1",    "x",    "-1",
                                        "1-",  "-", "256", "1-256", "5-3",  "1 ,2",
                                        "1;2", "0", "0-5", "1.5",   "1--2", "99999999999"};
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct exit_codes codes = {{0}};
        struct problem problem = {{0}};
        assert_false(exit_codes_add(&codes, lists[i], &problem));
        assert_true(problem.text[0] != '\0');
    }
}

static void test_common(void **state) {
    (void)state;
    struct exit_codes one = {{0}}, other = {{0}};
    struct problem problem;
    assert_int_equal(exit_codes_common(&one, &other), -1);
    assert_true(exit_codes_add(&one, "1-10", &problem));
    assert_true(exit_codes_add(&other, "11-255", &problem));
    assert_int_equal(exit_codes_common(&one, &other), -1);
    assert_true(exit_codes_add(&other, "9", &problem));
    assert_int_equal(exit_codes_common(&one, &other), 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
