#include "json.h"
#include "testing.h"

static void assert_json(const char *text, const char *expected) {
    char buffer[256] = "";
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    assert_non_null(stream);
    print_json_string(stream, text);
    fclose(stream);
    assert_string_equal(buffer, expected);
}

static void test_strings(void **state) {
    (void)state;
    assert_json("", "\"\"");
    assert_json("plain", "\"plain\"");
    assert_json("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    assert_json("\n\t\r\x01\x1f\x7f", "\"\\u000a\\u0009\\u000d\\u0001\\u001f\\u007f\"");
    assert_json("ünï€𝄞", "\"ünï€𝄞\"");
}

static void test_what_is_not_utf8(void **state) {
    (void)state;
    assert_json("a\xff z", "\"a\\ufffd z\"");
    assert_json("\x80", "\"\\ufffd\"");                                  /* a tail without a head */
    assert_json("\xc3", "\"\\ufffd\"");                                  /* a head without a tail */
    assert_json("\xe2\x82", "\"\\ufffd\\ufffd\"");                       /* cut off */
    assert_json("\xf0\x9d\x84", "\"\\ufffd\\ufffd\\ufffd\"");            /* likewise */
    assert_json("\xc0\xaf", "\"\\ufffd\\ufffd\"");                       /* overlong */
    assert_json("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"");            /* likewise */
    assert_json("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");            /* a surrogate */
    assert_json("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* past U+10FFFF */
    assert_json("\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\"");
    assert_json("\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"");
}

static void test_milliseconds(void **state) {
    (void)state;
    static const struct {
        lull_duration duration;
        const char *expected;
    } rows[] = {{0, "0.000"},
                {1234567, "1.234"},
                {5 * SECOND, "5000.000"},
                {INT64_MAX, "9223372036854.775"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char buffer[64] = "";
        FILE *stream = fmemopen(buffer, sizeof buffer, "w");
        assert_non_null(stream);
        print_json_milliseconds(stream, rows[i].duration);
        fclose(stream);
        assert_string_equal(buffer, rows[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_what_is_not_utf8),
        cmocka_unit_test(test_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
