#include "suggest.h"
#include "testing.h"

static void test_distance(void **state) {
    (void)state;
    assert_int_equal(edit_distance("", ""), 0);
    assert_int_equal(edit_distance("run", "run"), 0);
    assert_int_equal(edit_distance("run", ""), 3);
    assert_int_equal(edit_distance("run", "runn"), 1);
    assert_int_equal(edit_distance("run", "ru"), 1);
    assert_int_equal(edit_distance("run", "ran"), 1);
    assert_int_equal(edit_distance("run", "rnu"), 1); /* neighbours swapped */
    assert_int_equal(edit_distance("kitten", "sitting"), 3);
    assert_true(edit_distance("a-name-that-is-far-longer-than-any", "run") == SIZE_MAX);
}

static const char *nearest(const char *typed) {
    struct suggestion best = suggestion_for(typed);
    suggestion_offer(&best, "help");
    suggestion_offer(&best, "run");
    suggestion_offer(&best, "version");
    return best.name;
}

static void test_nearest(void **state) {
    (void)state;
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("halp"), "help");
    assert_string_equal(nearest("verison"), "version");
    assert_null(nearest("launder"));
    assert_null(nearest(""));
    assert_null(nearest("a-name-that-is-far-longer-than-any"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
