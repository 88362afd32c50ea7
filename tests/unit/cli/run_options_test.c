#include "run_options.h"
#include "testing.h"

static struct run_options options;
static struct problem problem;

static bool parse(char **arguments) {
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    problem = (struct problem){{0}};
    return run_options_parse(&options, count, arguments, &problem);
}
#define PARSE(...) parse((char **)(const char *[]){__VA_ARGS__, NULL})

static void test_defaults(void **state) {
    (void)state;
    assert_true(PARSE("--", "true"));
    const struct lull_retry_config *retry = &options.config.retry;
    assert_string_equal(options.preset, "worker");
    assert_int_equal(retry->attempts, 4);
    assert_int_equal(retry->backoff.base, SECOND);
    assert_int_equal(retry->backoff.cap, 30 * SECOND);
    assert_int_equal(retry->backoff.jitter, LULL_JITTER_ADDITIVE);
    assert_true(retry->backoff.jitter_factor == 0.5);
    assert_int_equal(retry->deadline, LULL_NONE);
    assert_int_equal(options.grace, RUN_GRACE);
    assert_string_equal(options.command[0], "true");
    assert_false(options.seeded);
    assert_int_equal(options.config.without, LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET |
                                                 LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD);
}

static void test_every_flag(void **state) {
    (void)state;
    assert_true(PARSE("--attempts", "9", "--base", "1s", "--cap", "1m", "--multiplier", "1.5",
                      "--jitter", "proportional:0.2", "--deadline", "1h", "--timeout", "10s",
                      "--grace", "0", "--retry-on", "1-5", "--stop-on", "6", "--seed", "42",
                      "--json", "--retry-nested", "--preset", "interactive", "cmd", "--attempts",
                      "1"));
    const struct lull_retry_config *retry = &options.config.retry;
    assert_int_equal(retry->attempts, 9); /* the preset came later and changes nothing */
    assert_int_equal(retry->backoff.base, SECOND);
    assert_int_equal(retry->backoff.cap, LULL_MINUTE);
    assert_true(retry->backoff.multiplier == 1.5);
    assert_int_equal(retry->backoff.jitter, LULL_JITTER_PROPORTIONAL);
    assert_true(retry->backoff.jitter_factor == 0.2);
    assert_int_equal(retry->deadline, LULL_HOUR);
    assert_int_equal(retry->attempt_timeout, 10 * SECOND);
    assert_int_equal(options.grace, 0);
    assert_true(exit_codes_has(&options.retry_on, 3) && exit_codes_has(&options.stop_on, 6));
    assert_true(options.seeded && options.json && options.retry_nested && !options.quiet);
    assert_int_equal(options.seed, 42);
    assert_string_equal(options.command[1], "--attempts");
}

/* Whatever a preset leaves to the library's defaults is named, for it is shown to people. */
static void test_presets(void **state) {
    (void)state;
    const char *name = NULL;
    for (size_t i = 0; (name = lull_preset_name(i)) != NULL; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s", name);
        assert_true(PARSE("--preset", text, "true"));
        const struct lull_retry_config *retry = &options.config.retry;
        assert_true(retry->attempts > 0 && retry->backoff.base > 0);
        assert_true(retry->backoff.cap >= retry->backoff.base);
        assert_true(retry->backoff.multiplier >= 1 && retry->deadline != 0);
        assert_true(retry->backoff.jitter != LULL_JITTER_DEFAULT);
    }
}

static void test_jitter_of_the_flag_replaces_the_factor(void **state) {
    (void)state;
    assert_true(PARSE("--jitter", "proportional", "true"));
    assert_true(options.config.retry.backoff.jitter_factor == LULL_BACKOFF_JITTER_FACTOR);
    assert_true(PARSE("--jitter", "additive:1", "true"));
    assert_true(options.config.retry.backoff.jitter_factor == 1);
    assert_true(PARSE("--deadline", "none", "--preset", "interactive", "true"));
    assert_int_equal(options.config.retry.deadline, LULL_NONE);
}

static void test_a_command_is_needed(void **state) {
    (void)state;
    assert_false(PARSE("--attempts", "3"));
    assert_false(PARSE("--"));
    assert_true(PARSE("--dry-run"));
    assert_true(PARSE("--help"));
    assert_true(options.help);
}

static enum lull_class classify(int code) {
    return run_options_classify(&options, code, false, false);
}

static void test_classes(void **state) {
    (void)state;
    assert_true(PARSE("true"));
    assert_int_equal(classify(0), LULL_SUCCESS);
    assert_int_equal(classify(1), LULL_TRANSIENT);
    assert_int_equal(classify(126), LULL_PERMANENT);
    assert_int_equal(classify(127), LULL_PERMANENT);
    assert_int_equal(classify(130), LULL_CANCELLED); /* Ctrl-C */
    assert_int_equal(classify(131), LULL_CANCELLED);
    assert_int_equal(classify(137), LULL_TRANSIENT);
    assert_int_equal(run_options_classify(&options, 124, true, false), LULL_TIMEOUT);
    assert_int_equal(run_options_classify(&options, 1, false, true), LULL_CANCELLED);
    assert_int_equal(run_options_classify(&options, 0, false, true), LULL_SUCCESS);

    assert_true(PARSE("--retry-on", "7,127,130", "true"));
    assert_int_equal(classify(7), LULL_TRANSIENT);
    assert_int_equal(classify(8), LULL_PERMANENT);
    assert_int_equal(classify(127), LULL_TRANSIENT);
    assert_int_equal(classify(130), LULL_TRANSIENT);
    assert_int_equal(run_options_classify(&options, 124, true, false), LULL_PERMANENT);
    assert_int_equal(run_options_classify(&options, 7, false, true), LULL_CANCELLED);

    assert_true(PARSE("--stop-on", "7,124", "true"));
    assert_int_equal(classify(7), LULL_PERMANENT);
    assert_int_equal(classify(8), LULL_TRANSIENT);
    assert_int_equal(run_options_classify(&options, 124, true, false), LULL_PERMANENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_flag),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_jitter_of_the_flag_replaces_the_factor),
        cmocka_unit_test(test_a_command_is_needed),
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
