#include "testing.h"

#include "../engine/ramp.h"

static void test_doubles_per_clean_window(void **state) {
    (void)state;
    static const uint32_t expected[] = {1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10};
    struct ramp ramp;
    ramp_init(&ramp, 10);
    assert_int_equal(ramp.window, 10);
    ramp_restart(&ramp);
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_int_equal(ramp.window, expected[i]);
        ramp_success(&ramp);
    }
}

static void test_failure_on_the_way_up_starts_again(void **state) {
    (void)state;
    struct ramp ramp;
    ramp_init(&ramp, 10);
    ramp_failure(&ramp); /* at the top it is the breaker's matter */
    assert_int_equal(ramp.window, 10);
    ramp_restart(&ramp);
    for (int i = 0; i < 4; i++)
        ramp_success(&ramp);
    assert_int_equal(ramp.window, 4);
    ramp_failure(&ramp);
    assert_int_equal(ramp.window, 1);
    ramp_success(&ramp);
    assert_int_equal(ramp.window, 2);
}

static void test_limit_of_one(void **state) {
    (void)state;
    struct ramp ramp;
    ramp_init(&ramp, 1);
    ramp_restart(&ramp);
    ramp_success(&ramp);
    assert_int_equal(ramp.window, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_per_clean_window),
        cmocka_unit_test(test_failure_on_the_way_up_starts_again),
        cmocka_unit_test(test_limit_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
