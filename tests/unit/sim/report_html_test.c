#include "report/html.h"
#include "report_study.h"

#include <stdlib.h>

static char *printed(const struct study *study, size_t *length) {
    struct written written;
    written_begin(&written);
    assert_int_equal(study_html(study, written.stream), LULL_OK);
    written_end(&written);
    *length = written.length;
    return written.text;
}

static size_t occurrences(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static void test_page(void **state) {
    (void)state;
    struct made_up made_up;
    size_t length;
    make_up(&made_up);
    char *text = printed(&made_up.study, &length);
    assert_int_equal(strncmp(text, "<!doctype html>", 15), 0);
    assert_non_null(strstr(text, "{\"scenario\":\"shop\""));
    assert_null(strstr(text, "{{"));                 /* nothing is left to fill in */
    assert_null(strstr(text, "://www.w3.org/1999")); /* no address but the name of SVG */
    assert_int_equal(occurrences(text, "://"), 1);
    free(text);
}

/* Whatever a scenario's author writes cannot end the element that it is in. */
static void test_hostile_texts(void **state) {
    (void)state;
    struct made_up made_up;
    size_t length, plain_length;
    make_up(&made_up);
    char *plain = printed(&made_up.study, &plain_length);
    snprintf(made_up.scenario.title, sizeof made_up.scenario.title,
             "</script><script>alert(1)</script><!--");
    snprintf(made_up.results[0].policy, sizeof made_up.results[0].policy, "<img src=x>");
    char *text = printed(&made_up.study, &length);
    assert_int_equal(occurrences(text, "<script"), occurrences(plain, "<script"));
    assert_int_equal(occurrences(text, "</script"), occurrences(plain, "</script"));
    assert_int_equal(occurrences(text, "<!--"), occurrences(plain, "<!--"));
    assert_null(strstr(text, "<img"));
    assert_non_null(strstr(text, "\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--"));
    free(plain);
    free(text);
}

/* A day of twelve policies is still a page that can be mailed. */
static void test_long_runs(void **state) {
    (void)state;
    enum { DAY = 86400 };
    struct sim_result results[SIM_MAX_POLICIES];
    struct made_up made_up;
    size_t length;
    make_up(&made_up);
    double *series = calloc(DAY, sizeof *series);
    assert_non_null(series);
    for (int i = 0; i < DAY; i++)
        series[i] = 123456 + i;
    for (int i = 0; i < SIM_MAX_POLICIES; i++) {
        results[i] = made_up.results[0];
        results[i].length = DAY;
        results[i].offered = results[i].succeeded = results[i].backlog = results[i].open = series;
    }
    made_up.scenario.policy_count = SIM_MAX_POLICIES;
    made_up.study.results = results;
    char *text = printed(&made_up.study, &length);
    assert_true(length < 1000000);
    assert_non_null(strstr(text, "\"t\":[0,44,88,"));
    free(text);
    free(series);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_hostile_texts),
        cmocka_unit_test(test_long_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
