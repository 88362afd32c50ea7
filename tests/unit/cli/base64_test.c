#include "base64.h"
#include "testing.h"

#include <stdlib.h>

static bool decoded(const char *text, char **bytes, size_t *length) {
    FILE *stream = open_memstream(bytes, length);
    bool fine = base64_write(text, stream);
    fclose(stream);
    return fine;
}

static void test_decodes(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
        size_t length;
    } rows[] = {
        {"", "", 0},
        {"Zg==", "f", 1},
        {"Zm8=", "fo", 2},
        {"Zm9v", "foo", 3},
        {"Zm9vYg==", "foob", 4},
        {"AP8=", "\0\xFF", 2},
        {"+/+/", "\xFB\xFF\xBF", 3},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *bytes = NULL;
        size_t length = 0;
        assert_true(decoded(rows[i].text, &bytes, &length));
        assert_int_equal(length, rows[i].length);
        assert_memory_equal(bytes, rows[i].expected, length);
        free(bytes);
    }
}

static void test_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {
        "Z", "Zg", "Zg=", "Zg===", "Z===", "Zm9v=", "Zm 9v", "Zm-_", "=Zm9"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *bytes = NULL;
        size_t length = 0;
        if (decoded(texts[i], &bytes, &length))
            fail_msg("\"%s\" was taken for base64", texts[i]);
        assert_int_equal(length, 0);
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
