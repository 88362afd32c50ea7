#include "testing.h"

#include "api/text.h"

static void test_utf8(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool fine;
    } rows[] = {
        {"", true},
        {"a plain text that is longer than eight bytes", true},
        {"caf\xC3\xA9", true},
        {"\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", true},
        {"12345678\xFF", false},
        {"1234567\xFF", false},
        {"\xC0\xAF", false},         /* overlong */
        {"\xE0\x9F\xBF", false},     /* overlong */
        {"\xF0\x8F\xBF\xBF", false}, /* overlong */
        {"\xED\xA0\x80", false},     /* a surrogate */
        {"\xF4\x90\x80\x80", false}, /* past U+10FFFF */
        {"\x80", false},
        {"\xC3", false}, /* cut */
        {"\xE2\x82", false},
        {"\xE2\x82z", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(text_is_utf8(rows[i].text, strlen(rows[i].text)), rows[i].fine);
}

static void test_lines_and_fields(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool line, field;
    } rows[] = {
        {"order.paid", true, true}, {"caf\xC3\xA9", true, false},
        {"a\nb", false, false},     {"a\rb", false, false},
        {"a\x7F", false, false},    {"a\xC2\x9B", false, false}, /* C1 */
        {"\xC2\xA0", true, false},  {"a\xFF", false, false},
        {"a\tb", false, false},     {"~ !", true, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(text_is_line(rows[i].text, strlen(rows[i].text)), rows[i].line);
        assert_int_equal(text_is_field(rows[i].text, strlen(rows[i].text)), rows[i].field);
    }
    assert_false(text_is_line("a\0b", 3));
    assert_false(text_is_field("a\0b", 3));
}

static void test_decode(void **state) {
    (void)state;
    static const struct {
        const char *text, *decoded;
    } rows[] = {
        {"shop", "shop"},
        {"%2f%2F", "//"},
        {"a%20b+c", "a b+c"},
        {"", ""},
        {"%ff", "\xFF"},
        {"%00", NULL},
        {"%", NULL},
        {"%4", NULL},
        {"%4x", NULL},
        {"%x4", NULL},
        {"1234567", "1234567"},
        {"12345678", NULL},
        {"%31234567", "1234567"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char decoded[8];
        bool fine =
            text_decode(rows[i].text, rows[i].text + strlen(rows[i].text), decoded, sizeof decoded);
        assert_int_equal(fine, rows[i].decoded != NULL);
        if (fine)
            assert_string_equal(decoded, rows[i].decoded);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_lines_and_fields),
        cmocka_unit_test(test_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
