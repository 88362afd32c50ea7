#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void durations_read_as_people_write_them(void **state) {
    (void)state;
    static const struct {
        lull_duration duration;
        const char *text;
    } cases[] = {
        {0, "0ns"},
        {1, "1ns"},
        {999, "999ns"},
        {-1, "-1ns"},
        {-999, "-999ns"},
        {LULL_MICROSECOND, "1us"},
        {1500, "1.5us"},
        {-1500, "-1.5us"},
        {LULL_MILLISECOND, "1ms"},
        {250 * LULL_MILLISECOND, "250ms"},
        {LULL_SECOND, "1s"},
        {1500 * LULL_MILLISECOND, "1.5s"},
        {-LULL_SECOND, "-1s"},
        {-LULL_SECOND + 1, "-1000ms"},
        {LULL_MINUTE, "1m"},
        {2 * LULL_MINUTE, "2m"},
        {LULL_HOUR, "1h"},
        {90 * LULL_MINUTE, "1.5h"},
        {LULL_DAY, "24h"},
        {365 * LULL_DAY, "8760h"},
        {INT64_MAX, "2.56205e+06h"},
        {INT64_MIN, "-2.56205e+06h"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buffer[32];
        assert_ptr_equal(duration_text(cases[i].duration, buffer, sizeof buffer), buffer);
        assert_string_equal(buffer, cases[i].text);
    }
}

static void a_small_buffer_cuts_the_text(void **state) {
    (void)state;
    char buffer[4];
    assert_string_equal(duration_text(250 * LULL_MILLISECOND, buffer, sizeof buffer), "250");
    assert_string_equal(duration_text(1234, buffer, 3), "1.");
    assert_string_equal(duration_text(999, buffer, 3), "99");
}

static void invalid_names_the_field(void **state) {
    (void)state;
    static const char field[] = "breaker.window";
    struct lull_error error = {0};
    assert_int_equal(invalid(&error, field, "is %d of %s", 7, "nine"), LULL_EINVAL);
    assert_ptr_equal(error.field, field);
    assert_string_equal(error.message, "breaker.window is 7 of nine");
    assert_int_equal(invalid(NULL, field, "is wrong"), LULL_EINVAL);
}

static void long_messages_are_cut(void **state) {
    (void)state;
    struct lull_error error;
    char text[500];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';

    assert_int_equal(invalid(&error, "field", "%s", text), LULL_EINVAL);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, "field xxx", 9);

    /* A field that leaves no room at all for the sentence. */
    assert_int_equal(invalid(&error, text, "is %d", 1), LULL_EINVAL);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, text, sizeof error.message - 1);
    assert_ptr_equal(error.field, text);
}

/* A value within its bounds leaves the error alone. */
static void within_bounds(void **state) {
    (void)state;
    struct lull_error error = {.field = NULL, .message = "untouched"};
    assert_int_equal(check_duration(&error, "f", 5, 5, 9), LULL_OK);
    assert_int_equal(check_duration(&error, "f", 9, 5, 9), LULL_OK);
    assert_int_equal(check_integer(&error, "f", -3, -3, 3), LULL_OK);
    assert_int_equal(check_integer(&error, "f", 3, -3, 3), LULL_OK);
    assert_int_equal(check_number(&error, "f", 0.25, 0.25, 0.5), LULL_OK);
    assert_int_equal(check_number(&error, "f", 0.5, 0.25, 0.5), LULL_OK);
    assert_null(error.field);
    assert_string_equal(error.message, "untouched");
}

static void durations_out_of_bounds(void **state) {
    (void)state;
    struct lull_error error;
    assert_int_equal(
        check_duration(&error, "retry.deadline", LULL_SECOND - 1, LULL_SECOND, LULL_DAY),
        LULL_EINVAL);
    assert_string_equal(error.field, "retry.deadline");
    assert_string_equal(error.message, "retry.deadline is 1000ms; it must be from 1s to 24h");
    assert_int_equal(check_duration(&error, "retry.deadline", -5, 1, 2 * LULL_MINUTE), LULL_EINVAL);
    assert_string_equal(error.message, "retry.deadline is -5ns; it must be from 1ns to 2m");
    assert_int_equal(check_duration(&error, "retry.deadline", 3001, 1, 3000), LULL_EINVAL);
    assert_string_equal(error.message, "retry.deadline is 3.001us; it must be from 1ns to 3us");
    assert_int_equal(check_duration(NULL, "retry.deadline", 3001, 1, 3000), LULL_EINVAL);
}

static void integers_out_of_bounds(void **state) {
    (void)state;
    struct lull_error error;
    assert_int_equal(check_integer(&error, "bulkhead.limit", 0, 1, 1000000), LULL_EINVAL);
    assert_string_equal(error.field, "bulkhead.limit");
    assert_string_equal(error.message, "bulkhead.limit is 0; it must be from 1 to 1000000");
    assert_int_equal(check_integer(&error, "x", INT64_MAX, INT64_MIN, -1), LULL_EINVAL);
    assert_string_equal(error.message,
                        "x is 9223372036854775807; it must be from -9223372036854775808 to -1");
    assert_int_equal(check_integer(NULL, "x", 4, 5, 6), LULL_EINVAL);
}

static void numbers_out_of_bounds(void **state) {
    (void)state;
    struct lull_error error;
    assert_int_equal(check_number(&error, "breaker.slow_rate", 1.5, 0, 1), LULL_EINVAL);
    assert_string_equal(error.field, "breaker.slow_rate");
    assert_string_equal(error.message, "breaker.slow_rate is 1.5; it must be from 0 to 1");
    assert_int_equal(check_number(&error, "x", -0.25, 0, 1e9), LULL_EINVAL);
    assert_string_equal(error.message, "x is -0.25; it must be from 0 to 1e+09");
    assert_int_equal(check_number(&error, "x", (double)INFINITY, 0, 1), LULL_EINVAL);
    assert_string_equal(error.message, "x is inf; it must be from 0 to 1");
    assert_int_equal(check_number(&error, "x", (double)NAN, 0, 1), LULL_EINVAL);
    assert_non_null(strstr(error.message, "nan; it must be from 0 to 1"));
    assert_int_equal(check_number(NULL, "x", 2, 0, 1), LULL_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_read_as_people_write_them),
        cmocka_unit_test(a_small_buffer_cuts_the_text),
        cmocka_unit_test(invalid_names_the_field),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(within_bounds),
        cmocka_unit_test(durations_out_of_bounds),
        cmocka_unit_test(integers_out_of_bounds),
        cmocka_unit_test(numbers_out_of_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
