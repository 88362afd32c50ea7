#include "testing.h"

#include "drip.h"

/* 10 bytes/s: one byte each 100 ms. */
static void test_one_by_one(void **state) {
    (void)state;
    assert_int_equal(drip_allowance(10, 0, 0), 1);
    assert_int_equal(drip_allowance(10, 1, 0), 0);
    assert_int_equal(drip_due(10, 1), 100 * MS);
    assert_int_equal(drip_allowance(10, 1, 100 * MS - 1), 0);
    assert_int_equal(drip_allowance(10, 1, 100 * MS), 1);
    assert_int_equal(drip_due(10, 30), 3 * SECOND);
}

static void test_pieces(void **state) {
    (void)state;
    assert_int_equal(drip_allowance(1000, 0, 0), 50);
    assert_int_equal(drip_due(1000, 50), 50 * MS);
    assert_int_equal(drip_allowance(1000, 50, 50 * MS), 50);
}

/* One who comes late may catch up with the rate, not more. */
static void test_late(void **state) {
    (void)state;
    assert_int_equal(drip_allowance(10, 1, SECOND), 10);
    assert_int_equal(drip_allowance(10, 11, SECOND), 0);
}

static void test_whole_body_takes_its_time(void **state) {
    (void)state;
    static const uint64_t rates[] = {1, 7, 19, 20, 21, 1000, 123457, UINT64_C(1) << 40};
    for (size_t i = 0; i < COUNT(rates); i++) {
        uint64_t sent = 0, size = rates[i] * 3;
        lull_duration elapsed = 0;
        while (sent < size) {
            uint64_t piece = drip_allowance(rates[i], sent, elapsed);
            if (piece == 0)
                elapsed = drip_due(rates[i], sent);
            sent += piece;
        }
        assert_in_range(elapsed, 2 * SECOND, 3 * SECOND);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_whole_body_takes_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
