#include "testing.h"

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t attempts;
        lull_duration base;
        double multiplier;
        lull_duration cap;
        enum lull_jitter jitter;
        lull_duration deadline;
    } rows[] = {
        {"interactive", 5, 100 * MS, 2, 2 * SECOND, LULL_JITTER_FULL, 5 * SECOND},
        {"gateway", 3, 500 * MS, 2, 10 * SECOND, LULL_JITTER_FULL, 30 * SECOND},
        {"worker", 4, SECOND, 2, 30 * SECOND, LULL_JITTER_ADDITIVE, LULL_NONE},
        {"checkout", 6, SECOND, 2, 30 * SECOND, LULL_JITTER_FULL, LULL_NONE},
        {"webhook", 5, 30 * SECOND, 2, LULL_HOUR, LULL_JITTER_FULL, LULL_NONE},
        {"stream", 4, 30 * SECOND, 6, 30 * LULL_MINUTE, LULL_JITTER_NONE, LULL_NONE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct lull_guard_config *preset = lull_preset(rows[i].name);
        assert_non_null(preset);
        assert_int_equal(lull_guard_check(preset, NULL), LULL_OK);
        assert_string_equal(lull_preset_name(i), rows[i].name);
        const struct lull_retry_config *retry = &preset->retry;
        assert_int_equal(retry->attempts, rows[i].attempts);
        assert_int_equal(retry->backoff.base, rows[i].base);
        assert_true(retry->backoff.multiplier == rows[i].multiplier);
        assert_int_equal(retry->backoff.cap, rows[i].cap);
        assert_int_equal(retry->backoff.jitter, rows[i].jitter);
        assert_int_equal(retry->deadline, rows[i].deadline);
    }
    assert_null(lull_preset_name(COUNT(rows)));
}

static void test_the_rest_of_the_table(void **state) {
    (void)state;
    const struct lull_guard_config *gateway = lull_preset("gateway");
    assert_int_equal(gateway->connect_timeout, 2 * SECOND);
    assert_int_equal(gateway->read_timeout, 5 * SECOND);
    assert_true(gateway->breaker.failure_rate == 0.3);
    assert_true(gateway->breaker.slow_rate == 0.5);
    assert_int_equal(gateway->breaker.slow_call, 3 * SECOND);
    assert_int_equal(gateway->breaker.open_time, 20 * SECOND);
    assert_true(lull_preset("worker")->retry.backoff.jitter_factor == 0.5);
    assert_int_equal(lull_preset("webhook")->bulkhead.limit, 10);
}

static void test_unknown(void **state) {
    (void)state;
    assert_null(lull_preset("Gateway"));
    assert_null(lull_preset(""));
    assert_null(lull_preset(NULL));
}

/* What a zero configuration means is the interactive preset. */
static void test_default_is_interactive(void **state) {
    (void)state;
    const struct lull_retry_config *retry = &lull_preset("interactive")->retry;
    assert_int_equal(retry->attempts, LULL_RETRY_ATTEMPTS);
    assert_int_equal(retry->deadline, LULL_RETRY_DEADLINE);
    assert_int_equal(retry->backoff.base, LULL_BACKOFF_BASE);
    assert_int_equal(retry->backoff.cap, LULL_BACKOFF_CAP);
    assert_true(retry->backoff.multiplier == LULL_BACKOFF_MULTIPLIER);
    assert_int_equal(retry->backoff.jitter, LULL_BACKOFF_JITTER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_the_rest_of_the_table),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_default_is_interactive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
