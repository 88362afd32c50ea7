#include "testing.h"

#include "words.h"

static void test_quote(void **state) {
    (void)state;
    static const struct {
        const char *text, *quoted;
    } rows[] = {
        {"12k", "\"12k\""},
        {"", "\"\""},
        {"a\nb\x1b[31m\x7f", "\"a?b?[31m?\""},
        {"csi \xC2\x9B"
         "31m",
         "\"csi ?31m\""},
        {"caf\xC3\xA9 \xC2\xA9",
         "\"caf\xC3\xA9 \xC2\xA9\""}, /* © begins like a control character */
        {"0123456789012345678901234567890123456789",
         "\"0123456789012345678901234567890123456789\""},
        {"01234567890123456789012345678901234567890",
         "\"0123456789012345678901234567890123456789…\""},
        /* not in the middle of a character */
        {"012345678901234567890123456789012345678\xC3\xA9z",
         "\"012345678901234567890123456789012345678…\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char quoted[QUOTE_SIZE];
        assert_string_equal(quote(rows[i].text, quoted), rows[i].quoted);
    }
}

/* Bytes that are no characters at all are cut anywhere, but never past the end. */
static void test_no_characters(void **state) {
    (void)state;
    char text[100], quoted[QUOTE_SIZE];
    memset(text, 0x80, sizeof text);
    text[99] = '\0';
    assert_string_equal(quote(text, quoted), "\"…\"");
}

static void test_advice(void **state) {
    (void)state;
    char text[200];
    struct names names = names_for("banc");
    assert_string_equal(names_advice(&names, text, sizeof text), "there are none");
    names_offer(&names, "shop");
    assert_string_equal(names_advice(&names, text, sizeof text), "there is shop");
    names_offer(&names, "bank");
    assert_string_equal(names_advice(&names, text, sizeof text),
                        "did you mean bank? There are shop, bank");
}

/* A list that does not fit ends with a whole name. */
static void test_many_names(void **state) {
    (void)state;
    struct names names = names_for("x");
    for (int i = 0; i < 100; i++)
        names_offer(&names, "ninechars");
    assert_int_equal(names.count, 100);
    assert_int_equal(strlen(names.list), names.length);
    assert_int_equal(names.length % 11, 9);
    assert_true(names.length > 380);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_no_characters),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
