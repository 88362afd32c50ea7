#include "testing.h"

#include "api/batch.h"

#include <stdlib.h>

/* A line in a block of exactly its size, so that reading past its end is seen. */
static bool read_line(const char *text, struct batch_line *line, char **block,
                      char message[BATCH_MESSAGE_SIZE]) {
    size_t length = strlen(text);
    *block = malloc(length > 0 ? length : 1);
    memcpy(*block, text, length);
    return batch_read(*block, length, line, message);
}

static void assert_slice(struct slice slice, const char *text) {
    if (text == NULL) {
        assert_null(slice.text);
        return;
    }
    assert_int_equal(slice.length, strlen(text));
    assert_memory_equal(slice.text, text, slice.length);
}

static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *text, *destination, *type, *key, *content_type, *payload;
        bool is_text;
    } rows[] = {
        {"{\"destination\":\"shop\",\"payload\":{\"a\":[1,2]}}", "shop", NULL, NULL, NULL,
         "{\"a\":[1,2]}", false},
        {"  {\"payload\" : \"t\\u00e9xt\\n\" , \"type\":\"a.b\"} \r", NULL, "a.b", NULL, NULL,
         "t\xC3\xA9xt\n", true},
        {"{\"type\":\"t\",\"key\":\"K\\\"1\",\"content_type\":\"text/x\",\"destination\":\"d\","
         "\"payload\":null}",
         "d", "t", "K\"1", "text/x", "null", false},
        {"{\"key\":null,\"type\":null,\"destination\":\"d\",\"payload\": -1.50e+3 }", "d", NULL,
         NULL, NULL, "-1.50e+3", false},
        /* Sent on as it is written, whatever jansson makes of it. */
        {"{\"type\":\"t\",\"payload\":[123456789012345678901234567890,1e999,{\"a\":1,\"a\":2}]}",
         NULL, "t", NULL, NULL, "[123456789012345678901234567890,1e999,{\"a\":1,\"a\":2}]", false},
        {"{\"p\\u0061yload\":\"\\ud83d\\ude00\\/\",\"type\":\"t\"}", NULL, "t", NULL, NULL,
         "\xF0\x9F\x98\x80/", true},
        {"{\"type\":\"t\",\"payload\":\"\"}", NULL, "t", NULL, NULL, "", true},
        /* the first and last of each length, and around the surrogates */
        {"{\"type\":\"t\",\"payload\":\"\\u007f\\u0080\\u07ff\\u0800\\ud7ff\\ue000\\uFFFF\"}", NULL,
         "t", NULL, NULL, "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
         true},
        {"{\"type\":\"t\",\"payload\":\"\\ud800\\udc00\\uDBFF\\uDFFF\"}", NULL, "t", NULL, NULL,
         "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", true},
        {"{\"type\":\"t\",\"payload\":\"\\b\\f\\n\\r\\t\\\"\\\\\\/ 12345678\x7F\"}", NULL, "t",
         NULL, NULL, "\b\f\n\r\t\"\\/ 12345678\x7F", true},
        {"{\"type\":\"t\",\"payload\":[[],{},[{}],\"\\u0000\",true,false]}", NULL, "t", NULL, NULL,
         "[[],{},[{}],\"\\u0000\",true,false]", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct batch_line line;
        char message[BATCH_MESSAGE_SIZE] = "", *block;
        if (!read_line(rows[i].text, &line, &block, message))
            fail_msg("%s: %s", rows[i].text, message);
        assert_slice(line.destination, rows[i].destination);
        assert_slice(line.type, rows[i].type);
        assert_slice(line.key, rows[i].key);
        assert_slice(line.content_type, rows[i].content_type);
        assert_slice(line.payload, rows[i].payload);
        assert_int_equal(line.is_text, rows[i].is_text);
        free(block);
    }
}

#define SHOP "{\"destination\":\"s\",\"payload\":"

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[]", "column 1: a line must be a JSON object"},
        {"{", "column 2: here must be a name in quotes"},
        {"{}", "payload is missing"},
        {"{\"payload\":1}", "destination or type is missing"},
        {"{\"destination\":null,\"payload\":1}", "destination or type is missing"},
        {"{\"destination\":\"s\"}", "payload is missing"},
        {SHOP "1} x", "column 33: something follows the object"},
        {SHOP "1}{", "column 32: something follows the object"},
        {SHOP "1", "column 31: here must be a ',' or a '}'"},
        {SHOP "1,}", "column 32: here must be a name in quotes"},
        {SHOP "1,\"payload\":2}", "column 32: this member is given twice"},
        {SHOP "1,\"x\":2}", "column 32: there is no such member; there are destination, type, "
                            "key, content_type and payload"},
        {SHOP "1,\"key\":2}", "column 38: here must be a string"},
        {SHOP "1,\"key\":nul}", "column 38: here must be a JSON value"},
        {SHOP "1,\"key\" 2}", "column 38: here must be a ':'"},
        {SHOP "}", "column 30: here must be a JSON value"},
        {SHOP "[1,]}", "column 33: here must be a JSON value"},
        {SHOP "[1}", "column 32: here must be a ',' or a ']'"},
        {SHOP "{\"a\":1]}", "column 36: here must be a ',' or a '}'"},
        {SHOP "{\"a\"}}", "column 34: here must be a ':'"},
        {SHOP "{1}}", "column 31: here must be a name in quotes"},
        {SHOP "01}", "column 31: here must be a ',' or a '}'"},
        {SHOP "1.}", "column 32: here must be a digit"},
        {SHOP "-}", "column 31: here must be a digit"},
        {SHOP "1e+}", "column 33: here must be a digit"},
        {SHOP "\"a", "column 32: a string is not closed"},
        {SHOP "\"a\\", "column 32: a string is not closed"},
        {SHOP "\"\\x\"}", "column 31: there is no such escape in JSON"},
        {SHOP "\"\\ud83d\"}", "column 31: this \\u is no character"},
        {SHOP "\"\\ud83d\\u0041\"}", "column 31: this \\u is no character"},
        {SHOP "\"\\ude00\"}", "column 31: this \\u is no character"},
        {SHOP "\"\\udc00\\udc00\"}", "column 31: this \\u is no character"},
        {SHOP "\"\\ud800\\ud800\"}", "column 31: this \\u is no character"},
        {SHOP "\"\\ud800\\udc0\"}", "column 31: this \\u is no character"},
        {SHOP "\"\\u00e\"}", "column 31: this \\u is no character"},
        {SHOP "\"abcdefg\x1Fijklmnop\"}",
         "column 38: a control character in a string must be escaped"},
        {SHOP "\"\\u12g4\"}", "column 31: this \\u is no character"},
        {SHOP "\"a\tb\"}", "column 32: a control character in a string must be escaped"},
        {SHOP "\"abcdefgh\x01\"}", "column 39: a control character in a string must be escaped"},
        {SHOP "\"\xFF\"}", "column 31: this is not UTF-8"},
        {SHOP "1,\"type\":\"\"}", "type must not be empty; write for example order.paid"},
        {SHOP "1,\"type\":\"a\\nb\"}", "type must be UTF-8 without control characters"},
        {SHOP "1,\"key\":\"\"}", "the idempotency key must not be empty"},
        {SHOP "1,\"key\":\"\\u0000\"}",
         "the idempotency key must be UTF-8 without control characters"},
        {SHOP "1,\"content_type\":\"a\\r\\nX: y\"}",
         "the content type must be printable ASCII, as it is sent on in a header field"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct batch_line line;
        char message[BATCH_MESSAGE_SIZE] = "", *block;
        if (read_line(rows[i].text, &line, &block, message))
            fail_msg("%s was taken", rows[i].text);
        assert_string_equal(message, rows[i].message);
        free(block);
    }
}

/* As deep as jansson goes, and not a bit deeper. */
static void test_depth(void **state) {
    (void)state;
    for (int depth = BATCH_DEEPEST - 3; depth < BATCH_DEEPEST + 2; depth++) {
        char text[2 * BATCH_DEEPEST + 100], message[BATCH_MESSAGE_SIZE], *block;
        struct batch_line line;
        size_t length = (size_t)sprintf(text, SHOP);
        memset(text + length, '[', (size_t)depth);
        memset(text + length + depth, ']', (size_t)depth);
        strcpy(text + length + 2 * (size_t)depth, "}");
        /* The line itself is one. */
        assert_int_equal(read_line(text, &line, &block, message), depth + 1 <= BATCH_DEEPEST);
        free(block);
    }
}

static void test_empty(void **state) {
    (void)state;
    assert_true(batch_is_empty("", 0));
    assert_true(batch_is_empty(" \t\r", 3));
    assert_false(batch_is_empty(" x ", 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
