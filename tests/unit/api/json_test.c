#include "testing.h"

#include "api/buffer.h"
#include "api/json.h"

#include <stdlib.h>

static void assert_line(json_t *value, const char *line) {
    char *text = json_line(value);
    assert_string_equal(text, line);
    free(text);
    json_decref(value);
}

static void test_values(void **state) {
    (void)state;
    assert_line(json_time(0), "null");
    assert_line(json_time(INT64_C(1772366400) * SECOND + 7 * MS), "\"2026-03-01T12:00:00.007Z\"");
    assert_line(json_time(-1), "\"1970-01-01T00:00:00.000Z\"");
    assert_line(json_time(INT64_MAX), "\"2262-04-11T23:47:16.854Z\"");
    assert_line(json_text(NULL), "null");
    assert_line(json_text(""), "null");
    assert_line(json_text("caf\xC3\xA9"), "\"caf\xC3\xA9\"");
    assert_line(json_bytes("a\xFF\xC3z", 4), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"");
    assert_line(json_bytes("a\0b", 3), "\"a\\u0000b\"");
    assert_line(json_bytes("", 0), "\"\"");
    assert_line(json_some(0), "null");
    assert_line(json_some(-3), "-3");
    assert_line(json_real(10.1), "10.1");
}

/* What could not be made makes the whole vanish. */
static void test_out_of_memory(void **state) {
    (void)state;
    json_t *object = json_object(), *array = json_array();
    json_put(&object, "a", json_true());
    json_put(&object, "b", NULL);
    assert_null(object);
    json_put(&object, "c", json_integer(1));
    assert_null(object);
    json_add(&array, NULL);
    assert_null(array);
    json_add(&array, json_integer(1));
    assert_null(array);
}

static void test_buffer(void **state) {
    (void)state;
    struct buffer buffer = {0};
    buffer_text(&buffer, "");
    assert_null(buffer.text);
    buffer_number(&buffer, UINT64_MAX);
    buffer_text(&buffer, " ");
    buffer_signed(&buffer, INT64_MIN);
    buffer_text(&buffer, " ");
    buffer_number(&buffer, 0);
    buffer_text(&buffer, " ");
    buffer_real(&buffer, 0.0025);
    static const char expected[] = "18446744073709551615 -9223372036854775808 0 0.0025";
    assert_int_equal(buffer.length, strlen(expected));
    assert_memory_equal(buffer.text, expected, buffer.length);
    for (int i = 0; i < 100000; i++)
        buffer_text(&buffer, "0123456789");
    assert_int_equal(buffer.length, strlen(expected) + 1000000);
    assert_memory_equal(buffer.text + buffer.length - 10, "0123456789", 10);
    assert_false(buffer.failed);
    assert_false(buffer_reserve(&buffer, SIZE_MAX / 2 + 1));
    assert_true(buffer.failed);
    free(buffer.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
