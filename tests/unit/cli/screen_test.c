#include "screen.h"
#include "testing.h"

#include <stdlib.h>
#include <unistd.h>

static void assert_safe(bool unicode, bool lines, const char *text, size_t length,
                        const char *expected) {
    struct screen screen = {.terminal = true, .unicode = unicode};
    char *safe = screen_safe(&screen, text, length, lines);
    assert_string_equal(safe, expected);
    free(safe);
}
#define SAFE(text, expected) assert_safe(true, false, text, sizeof(text) - 1, expected)

static void test_safe(void **state) {
    (void)state;
    SAFE("", "");
    SAFE("plain, é 日本 🙂", "plain, é 日本 🙂");
    SAFE("\033[31mred", "\\u001b[31mred");
    SAFE("a\0b", "a\\u0000b");
    SAFE("\x7F\x08", "\\u007f\\u0008");
    SAFE("two\r\nlines\tand", "two lines and");
    SAFE("\xC2\x9B"
         "31m",
         "\\u009b31m"); /* CSI in one code point */
    SAFE("a\xE2\x80\xAE"
         "b",
         "a\\u202eb"); /* right to left */
    SAFE("\xFF\xC3", "\\xff\\xc3");
    SAFE("\xC0\xAF\xED\xA0\x80", "\\xc0\\xaf\\xed\\xa0\\x80"); /* overlong; a surrogate */
    SAFE("\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");          /* past the last */
    assert_safe(true, true, "a\tb\nc\rd", 7, "a\tb\nc\\rd");
    assert_safe(false, false, "caf\xC3\xA9", 5, "caf?");
}

/* Random bytes leave no byte that a terminal would act upon. */
static void test_safe_always(void **state) {
    (void)state;
    uint64_t random = 7;
    struct screen screen = {.terminal = true, .unicode = true};
    for (int i = 0; i < 20000; i++) {
        char bytes[12];
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (char)draw(&random, 0, 255);
        char *safe = screen_safe(&screen, bytes, sizeof bytes, false);
        for (const char *at = safe; *at != '\0';) {
            int width = 0;
            size_t count = screen_character(at, strlen(at), &width);
            if (width < 0)
                fail_msg("byte %02x is left in %s", (unsigned char)*at, safe);
            at += count;
        }
        free(safe);
    }
}

static void test_columns(void **state) {
    (void)state;
    assert_int_equal(screen_columns(""), 0);
    assert_int_equal(screen_columns("abc"), 3);
    assert_int_equal(screen_columns("日本"), 4);
    assert_int_equal(screen_columns("e\xCC\x81"), 1);
    assert_int_equal(screen_columns("█░"), 2);
}

static void test_pipe(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct screen screen = screen_of(ends[1]);
    assert_false(screen.terminal);
    assert_false(screen.colour);
    assert_true(screen.unicode);
    assert_int_equal(screen.width, 0);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safe),
        cmocka_unit_test(test_safe_always),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
