#include "table.h"
#include "testing.h"

#include <stdlib.h>

static const struct table_column columns[] = {
    {"name", .shrinks = true}, {"dead", .right = true}, {"url", .shrinks = true}};
static const struct screen pipe_screen = {.unicode = true};

/* What a table of these cells looks like; the caller frees it. */
static char *drawn(const struct screen *screen, const char *const *cells, size_t count,
                   size_t flush_after) {
    struct table table;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    table_init(&table, columns, COUNT(columns), screen);
    for (size_t i = 0; i < count; i++) {
        table_add(&table, cells[i], i == 1 ? TINT_BAD : TINT_NONE);
        if (i + 1 == flush_after)
            table_flush(&table, stream);
    }
    table_flush(&table, stream);
    table_clean_up(&table);
    fclose(stream);
    return text;
}

static void assert_drawn(const struct screen *screen, const char *const *cells, size_t count,
                         size_t flush_after, const char *expected) {
    char *text = drawn(screen, cells, count, flush_after);
    assert_string_equal(text, expected);
    free(text);
}

static void test_columns_line_up(void **state) {
    (void)state;
    static const char *const cells[] = {"shop",          "3",     "https://shop.example",
                                        "a-longer-name", "12345", ""};
    assert_drawn(&pipe_screen, cells, 6, 0,
                 "NAME            DEAD  URL\n"
                 "shop               3  https://shop.example\n"
                 "a-longer-name  12345\n");
}

static void test_nothing_is_nothing(void **state) {
    (void)state;
    assert_drawn(&pipe_screen, NULL, 0, 0, "");
}

static void test_wide_characters(void **state) {
    (void)state;
    /* Two columns each; an accent of its own has none. */
    static const char *const cells[] = {"日本", "1", "x", "cafe\xCC\x81", "2", "y"};
    assert_drawn(&pipe_screen, cells, 6, 0,
                 "NAME  DEAD  URL\n"
                 "日本     1  x\n"
                 "cafe\xCC\x81     2  y\n");
}

static void test_cells_are_safe(void **state) {
    (void)state;
    static const char *const cells[] = {"a\nb", "1", "\033[2J\xFF"};
    assert_drawn(&pipe_screen, cells, 3, 0,
                 "NAME  DEAD  URL\n"
                 "a b      1  \\u001b[2J\\xff\n");
}

static void test_head_once_and_never_narrower(void **state) {
    (void)state;
    static const char *const cells[] = {"wide-name", "1", "x", "b", "2", "y"};
    assert_drawn(&pipe_screen, cells, 6, 3,
                 "NAME       DEAD  URL\n"
                 "wide-name     1  x\n"
                 "b             2  y\n");
}

static void test_shrinks_the_widest(void **state) {
    (void)state;
    struct screen screen = {.terminal = true, .unicode = true, .width = 26};
    static const char *const cells[] = {"name-of-it", "1", "https://shop.example"};
    assert_drawn(&screen, cells, 3, 0,
                 "NAME       DEAD  URL\n"
                 "name-of-…     1  https://…\n");
    screen.unicode = false;
    assert_drawn(&screen, cells, 3, 0,
                 "NAME       DEAD  URL\n"
                 "name-of-~     1  https://~\n");
}

static void test_cut_at_the_edge(void **state) {
    (void)state;
    struct screen screen = {.terminal = true, .unicode = true, .width = 14};
    static const char *const cells[] = {"name-of-it", "1", "https://shop.example"};
    assert_drawn(&screen, cells, 3, 0,
                 "NAME    DEAD\n"
                 "name-…     1\n");
    screen.width = 16;
    assert_drawn(&screen, cells, 3, 0,
                 "NAME    DEAD  U…\n"
                 "name-…     1  h…\n");
}

/* Whatever is in it, no line is wider than the terminal. */
static void test_any_width(void **state) {
    (void)state;
    static const char *const pieces[] = {"",          "a", "日本語", "long words of text",
                                         "e\xCC\x81", "\t"};
    uint64_t random = 1;
    for (int i = 0; i < 3000; i++) {
        struct screen screen = {.terminal = true, .unicode = true};
        const char *cells[9];
        screen.width = (size_t)draw(&random, 1, 50);
        for (size_t j = 0; j < COUNT(cells); j++)
            cells[j] = pieces[draw(&random, 0, COUNT(pieces) - 1)];
        char *text = drawn(&screen, cells, COUNT(cells), 0), *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            if (screen_columns(line) > screen.width)
                fail_msg("%zu columns: \"%s\"", screen.width, line);
        }
        free(text);
    }
}

static void test_colour(void **state) {
    (void)state;
    struct screen screen = {.terminal = true, .unicode = true, .colour = true, .width = 80};
    static const char *const cells[] = {"a", "1", "x"};
    assert_drawn(&screen, cells, 3, 0,
                 "\033[2mNAME\033[0m  \033[2mDEAD\033[0m  \033[2mURL\033[0m\n"
                 "a        \033[31m1\033[0m  x\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_line_up),
        cmocka_unit_test(test_nothing_is_nothing),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_cells_are_safe),
        cmocka_unit_test(test_head_once_and_never_narrower),
        cmocka_unit_test(test_shrinks_the_widest),
        cmocka_unit_test(test_cut_at_the_edge),
        cmocka_unit_test(test_any_width),
        cmocka_unit_test(test_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
