#include "report/table.h"
#include "report_study.h"

#include <stdlib.h>

static char *printed(const struct study *study, struct style style, bool notes) {
    struct written written;
    written_begin(&written);
    table_print(study, &style, notes, written.stream);
    written_end(&written);
    return written.text;
}

static void assert_printed(const struct study *study, struct style style, bool notes,
                           const char *expected) {
    char *text = printed(study, style, notes);
    assert_string_equal(text, expected);
    free(text);
}

static void test_wide(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    assert_printed(
        &made_up.study, (struct style){.width = 100, .unicode = true}, true,
        "shop: A shop that refuses calls for 2 s\n"
        "Buyers come, whatever happens.\n"
        "\n"
        "        attempts/  peak load  peak after  goodput     errors  recovery     p50    p99\n"
        "policy    request   × normal   the fault\n"
        "naive        2.72       4.00        4.00   29.9 %  1,234,567     never   14 ms  2.6 s\n"
        "lull         0.82       1.05        1.00   72.0 %        280       1 s  9.9 ms  92 ms\n"
        "\n"
        "Load on till; a full block is 4.00 × normal\n"
        "naive  ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▆▆▆▆▆▆▆▆▆▆██████████████████████"
        "█████████████████████████████████\n"
        "lull   ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂         ▁▁▁▁▁▁▁▁▁▂▂▂▂"
        "▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂\n"
        "                                   ━━━━━━━━━━━━━━━━━━━ till: refuse, 3 s - 5 s\n"
        "       0 s                                                                              "
        "        10 s\n"
        "\n"
        "Beside them: passers-by, calling door\n"
        "policy  requests  goodput  errors     p50     p99\n"
        "naive         50  100.0 %       0  5.0 ms  5.0 ms\n"
        "lull          50  100.0 %       0  5.0 ms  5.0 ms\n"
        "\n"
        "naive\n"
        "  Again, and again, and again.\n");
}

static void test_narrow_and_ascii(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    made_up.scenario.client_count = 1;
    assert_printed(&made_up.study, (struct style){.width = 40}, false,
                   "shop: A shop that refuses calls for 2 s\n"
                   "Buyers come, whatever happens.\n"
                   "\n"
                   "        peak load  goodput  recovery\n"
                   "policy   x normal\n"
                   "naive        4.00   29.9 %     never\n"
                   "lull         1.05   72.0 %       1 s\n"
                   "\n"
                   "Load on till; a full block is 4.00 x\n"
                   "normal\n"
                   "naive  ::::::::::****@@@@@@@@@@@@@@@@@@@\n"
                   "lull   ::::::::::::::   ...:::::::::::::\n"
                   "                 =======\n"
                   "       till: refuse, 3 s - 5 s\n"
                   "       0 s                          10 s\n");
}

/* No line is wider than the terminal, and none ends in blanks. */
static void test_fits(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    for (uint32_t width = 40; width <= 110; width++) {
        char *text = printed(&made_up.study, (struct style){.width = width, .unicode = true}, true);
        char *rest = text, *line;
        while ((line = strsep(&rest, "\n")) != NULL) {
            size_t length = strlen(line);
            assert_true(text_width(line) <= width);
            assert_true(length == 0 || line[length - 1] != ' ');
        }
        free(text);
    }
}

static void test_colour(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    char *plain = printed(&made_up.study, (struct style){.width = 80, .unicode = true}, true);
    char *coloured =
        printed(&made_up.study, (struct style){.width = 80, .unicode = true, .colour = true}, true);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(coloured, "\033[1;31mnever\033[0m"));
    assert_non_null(strstr(coloured, "\033[32m1 s\033[0m"));
    /* Without its colours it is the same. */
    char *to = coloured;
    for (char *from = coloured; *from != '\0'; from++)
        if (*from == '\033')
            from += strcspn(from, "m");
        else
            *to++ = *from;
    *to = '\0';
    assert_string_equal(coloured, plain);
    free(plain);
    free(coloured);
}

static void test_nothing_goes_wrong(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    made_up.scenario.services[1].fault_count = 0;
    made_up.results[1].p50_ms = made_up.results[1].p99_ms = 0;
    char *text = printed(&made_up.study, (struct style){.width = 100}, false);
    assert_non_null(
        strstr(text, "lull         0.82       1.05           -   72.0 %        280         -      -"
                     "      -\n"));
    assert_null(strstr(text, "never"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_narrow_and_ascii),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_nothing_goes_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
