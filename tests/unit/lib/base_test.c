#include "testing.h"

static void test_errors_have_names_and_texts(void **state) {
    (void)state;
    assert_string_equal(lull_error_name(LULL_OK), "LULL_OK");
    assert_string_equal(lull_strerror(LULL_OK), "success");
    assert_string_equal(lull_error_name(LULL_EINVAL), "LULL_EINVAL");
    assert_string_equal(lull_strerror(LULL_EINVAL), "invalid argument or configuration");
    assert_string_equal(lull_error_name(LULL_ESYSTEM), "LULL_ESYSTEM");
    for (int error = LULL_ESYSTEM; error < 0; error++) {
        assert_string_not_equal(lull_error_name(error), "unknown");
        assert_string_not_equal(lull_strerror(error), "unknown error");
    }
    assert_string_equal(lull_error_name(12345), "unknown");
    assert_string_equal(lull_strerror(12345), "unknown error");
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(lull_policy_name(LULL_POLICY_NOBODY), "none");
    assert_string_equal(lull_policy_name(LULL_POLICY_BUCKET), "rate_limit");
    assert_string_equal(lull_policy_name(LULL_POLICY_CALLER), "caller");
    assert_string_equal(lull_policy_name(LULL_POLICY_COUNT), "unknown");
    assert_string_equal(lull_reason_text(LULL_REASON_SUCCEEDED), "succeeded");
    assert_string_equal(lull_reason_text(LULL_REASON_CIRCUIT_OPEN), "the circuit is open");
    assert_string_equal(lull_reason_text(LULL_REASON_COUNT), "unknown");
    assert_string_equal(lull_decision_name(LULL_GO), "go");
    assert_string_equal(lull_decision_name(LULL_STOP), "stop");
    assert_string_equal(lull_decision_name((enum lull_decision)6), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_have_names_and_texts),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
