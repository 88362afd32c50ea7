#include "flags.h"
#include "testing.h"

struct options {
    const char *color;
    int loud;
};

static bool set_color(void *options, const char *value, struct problem *problem) {
    ((struct options *)options)->color = value;
    return strcmp(value, "ugly") != 0 || problem_say(problem, "must be a nice color");
}

static bool set_loud(void *options, const char *value, struct problem *problem) {
    (void)problem;
    assert_null(value);
    ((struct options *)options)->loud++;
    return true;
}

static const struct flag flags[] = {
    {"color", 'c', "NAME", "what it looks like", set_color},
    {"loud", 'l', NULL, "how it sounds\nor does not", set_loud},
    {"a-flag-with-a-long-name", 0, "VALUE", "has its help below", set_color},
};

static struct options options;
static struct problem problem;

/* Arguments end with NULL, as argv does. */
static int parse(char **arguments) {
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    options = (struct options){0};
    problem = (struct problem){{0}};
    return flags_parse(flags, COUNT(flags), &options, count, arguments, &problem);
}
#define PARSE(...) parse((char **)(const char *[]){__VA_ARGS__, NULL})

static void test_forms(void **state) {
    (void)state;
    assert_int_equal(PARSE("--color", "red", "rest"), 2);
    assert_string_equal(options.color, "red");
    assert_int_equal(PARSE("--color=red", "rest"), 1);
    assert_string_equal(options.color, "red");
    assert_int_equal(PARSE("--color=", "rest"), 1);
    assert_string_equal(options.color, "");
    assert_int_equal(PARSE("--color=a=b"), 1);
    assert_string_equal(options.color, "a=b");
    assert_int_equal(PARSE("-c", "red"), 2);
    assert_string_equal(options.color, "red");
    assert_int_equal(PARSE("-l", "--loud", "--color", "--loud"), 4);
    assert_int_equal(options.loud, 2);
    assert_string_equal(options.color, "--loud");
}

static void test_where_flags_end(void **state) {
    (void)state;
    assert_int_equal(PARSE("rest", "--loud"), 0);
    assert_int_equal(PARSE("--loud", "--", "--loud"), 2);
    assert_int_equal(options.loud, 1);
    assert_int_equal(PARSE("--loud", "-", "--loud"), 1); /* a lone dash is a word */
    assert_int_equal(PARSE("--"), 1);
    assert_int_equal(flags_parse(flags, COUNT(flags), &options, 0, NULL, &problem), 0);
}

static void test_problems(void **state) {
    (void)state;
    assert_int_equal(PARSE("--colour", "red"), -1);
    assert_string_equal(problem.text, "there is no flag --colour; did you mean --color?");
    assert_int_equal(PARSE("--colr=red"), -1);
    assert_string_equal(problem.text, "there is no flag --colr=red; did you mean --color?");
    assert_int_equal(PARSE("--zebra"), -1);
    assert_string_equal(problem.text, "there is no flag --zebra");
    assert_int_equal(PARSE("-x"), -1);
    assert_string_equal(problem.text, "there is no flag -x");
    assert_int_equal(PARSE("-lc", "red"), -1);
    assert_int_equal(PARSE("-color", "red"), -1);
    assert_string_equal(problem.text, "there is no flag -color; did you mean --color?");
    assert_int_equal(PARSE("--color"), -1);
    assert_string_equal(problem.text, "--color needs a value: --color NAME");
    assert_int_equal(PARSE("--loud=very"), -1);
    assert_string_equal(problem.text, "--loud takes no value");
    assert_int_equal(PARSE("--color", "ugly"), -1);
    assert_string_equal(problem.text, "--color ugly: must be a nice color");
}

static void test_long_nonsense(void **state) {
    (void)state;
    char name[2000];
    memset(name, 'x', sizeof name);
    memcpy(name, "--", 2);
    name[sizeof name - 1] = '\0';
    assert_int_equal(PARSE(name), -1);
    assert_int_equal(PARSE("--color", "ugly", name), -1);
}

static void test_print(void **state) {
    (void)state;
    char buffer[1024] = "";
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    assert_non_null(stream);
    flags_print(flags, COUNT(flags), stream);
    fclose(stream);
    assert_string_equal(buffer, "  -c, --color NAME        what it looks like\n"
                                "  -l, --loud              how it sounds\n"
                                "                          or does not\n"
                                "  --a-flag-with-a-long-name VALUE\n"
                                "                          has its help below\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),    cmocka_unit_test(test_where_flags_end),
        cmocka_unit_test(test_problems), cmocka_unit_test(test_long_nonsense),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
