#include "testing.h"

#include "places.h"

static void test_ids(void **state) {
    (void)state;
    struct places places = {.last_id = 7};
    int64_t five = INT64_C(5) << 20;
    assert_int_equal(places_event(&places, 2, 5 * MS), five);
    assert_int_equal(places_event(&places, 0, 5 * MS + 1), five + 3);
    assert_int_equal(places_event(&places, 1, 0), five + 4);
    assert_int_equal(places_newest(&places), 5 * MS);
    assert_int_equal(places_event(&places, 1, 6 * MS), INT64_C(6) << 20);
    assert_int_equal(places_newest(&places), 6 * MS);
    assert_int_equal(places_newest(&(struct places){0}), 0);
    assert_int_equal(places_event(&(struct places){0}, 1, 0), 1); /* 0 is no id */
    assert_int_equal(places_event(&(struct places){0}, 1, -MS), 1);
}

static void test_stamps(void **state) {
    (void)state;
    struct places places = {0};
    assert_int_equal(places_stamp(&places, 100), 100);
    assert_int_equal(places_stamp(&places, 100), 101);
    assert_int_equal(places_stamp(&places, 50), 102);
    assert_int_equal(places_stamp(&places, 200), 200);
    places_loaded(&places, 300);
    assert_int_equal(places_stamp(&places, 250), 301);
    places_loaded(&places, 10);
    assert_int_equal(places_stamp(&places, 250), 302);
    places_loaded(&places, LULL_NEVER);
    assert_int_equal(places_stamp(&places, 250), 303);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ids), cmocka_unit_test(test_stamps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
