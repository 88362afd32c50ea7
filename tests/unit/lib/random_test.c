#include "testing.h"

/* The published first outputs of splitmix64 for seed 1234567. */
static void test_known_words(void **state) {
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    uint64_t random = 1234567;
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_int_equal(lull_random_next(&random), expected[i]);
}

static void test_uniform_ends(void **state) {
    (void)state;
    assert_int_equal(lull_uniform(LOWEST, 0, 100), 0);
    assert_int_equal(lull_uniform(MIDDLE, 0, 100), 50);
    assert_int_equal(lull_uniform(HIGHEST, 0, 100), 100);
    assert_int_equal(lull_uniform(HIGHEST, 7, 7), 7);
    assert_int_equal(lull_uniform(HIGHEST, 7, 3), 7);
    assert_int_equal(lull_uniform(LOWEST, -5, 5), -5);
    assert_int_equal(lull_uniform(HIGHEST, -5, 5), 5);
    assert_int_equal(lull_uniform(LOWEST, 0, INT64_MAX), 0);
    assert_int_equal(lull_uniform(HIGHEST, 0, INT64_MAX), INT64_MAX);
    assert_int_equal(lull_uniform(HIGHEST, INT64_MIN, INT64_MAX), -1); /* the word itself */
    assert_int_equal(lull_uniform(42, INT64_MIN, INT64_MAX), 42);
}

static void test_uniform_is_even(void **state) {
    (void)state;
    int hits[10] = {0};
    uint64_t random = 1;
    for (int i = 0; i < 100000; i++)
        hits[draw(&random, 0, 9)]++;
    for (int i = 0; i < 10; i++) /* five standard deviations */
        assert_in_range(hits[i], 10000 - 475, 10000 + 475);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_words),
        cmocka_unit_test(test_uniform_ends),
        cmocka_unit_test(test_uniform_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
