#include "testing.h"

#include <stdlib.h>

static struct lull_backoff settled(struct lull_backoff_config config) {
    struct lull_backoff backoff;
    assert_int_equal(lull_backoff_init(&backoff, &config, NULL), LULL_OK);
    return backoff;
}

static void test_defaults(void **state) {
    (void)state;
    struct lull_backoff backoff;
    assert_int_equal(lull_backoff_init(&backoff, NULL, NULL), LULL_OK);
    assert_int_equal(lull_backoff_term(&backoff, 1), LULL_BACKOFF_BASE);
    assert_int_equal(lull_backoff_term(&backoff, 2), 2 * LULL_BACKOFF_BASE);
    assert_int_equal(lull_backoff_term(&backoff, 99), LULL_BACKOFF_CAP);
    /* full jitter */
    assert_int_equal(lull_backoff_delay(&backoff, 1, 0, false, LOWEST), 0);
    assert_int_equal(lull_backoff_delay(&backoff, 1, 0, false, HIGHEST), LULL_BACKOFF_BASE);
}

static void test_term(void **state) {
    (void)state;
    static const struct {
        lull_duration base, cap;
        double multiplier;
        uint32_t retry;
        lull_duration expected;
    } rows[] = {
        {100 * MS, 2 * SECOND, 2, 0, 100 * MS}, /* 0 counts as the first */
        {100 * MS, 2 * SECOND, 2, 1, 100 * MS},
        {100 * MS, 2 * SECOND, 2, 2, 200 * MS},
        {100 * MS, 2 * SECOND, 2, 5, 1600 * MS},
        {100 * MS, 2 * SECOND, 2, 6, 2 * SECOND},
        {100 * MS, 2 * SECOND, 2, 1000, 2 * SECOND},
        {100 * MS, 2 * SECOND, 2, UINT32_MAX, 2 * SECOND},
        {30 * SECOND, 30 * LULL_MINUTE, 6, 1, 30 * SECOND},
        {30 * SECOND, 30 * LULL_MINUTE, 6, 2, 3 * LULL_MINUTE},
        {30 * SECOND, 30 * LULL_MINUTE, 6, 3, 18 * LULL_MINUTE},
        {30 * SECOND, 30 * LULL_MINUTE, 6, 4, 30 * LULL_MINUTE},
        {1 * SECOND, 30 * SECOND, 1.5, 3, 2250 * MS},
        {1 * SECOND, 30 * SECOND, 1, 1000000, 1 * SECOND},
        {1, LULL_DAY, 2, 47, INT64_C(1) << 46},
        {7, 7, 10, 3, 7},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_backoff backoff = settled((struct lull_backoff_config){
            .base = rows[i].base, .cap = rows[i].cap, .multiplier = rows[i].multiplier});
        assert_int_equal(lull_backoff_term(&backoff, rows[i].retry), rows[i].expected);
    }
}

/* Retry 3 of base 100 ms × 2: d = 400 ms. The word is the random source's script. */
static void test_jitter_to_the_nanosecond(void **state) {
    (void)state;
    static const struct {
        enum lull_jitter jitter;
        double factor;
        bool throttled;
        lull_duration previous, lowest, middle, highest;
    } rows[] = {
        {LULL_JITTER_NONE, 0, false, 0, 400 * MS, 400 * MS, 400 * MS},
        {LULL_JITTER_FULL, 0, false, 0, 0, 200 * MS, 400 * MS},
        {LULL_JITTER_FULL, 0, true, 0, 200 * MS, 300 * MS, 400 * MS}, /* equal after a throttle */
        {LULL_JITTER_EQUAL, 0, false, 0, 200 * MS, 300 * MS, 400 * MS},
        {LULL_JITTER_EQUAL, 0, true, 0, 200 * MS, 300 * MS, 400 * MS},
        {LULL_JITTER_DECORRELATED, 0, false, 0, 100 * MS, 200 * MS, 300 * MS},
        {LULL_JITTER_DECORRELATED, 0, false, 250 * MS, 100 * MS, 425 * MS, 750 * MS},
        {LULL_JITTER_DECORRELATED, 0, false, 900 * MS, 100 * MS, 1050 * MS, 2 * SECOND},
        {LULL_JITTER_ADDITIVE, 0, false, 0, 400 * MS, 500 * MS, 600 * MS},
        {LULL_JITTER_ADDITIVE, 0.25, false, 0, 400 * MS, 450 * MS, 500 * MS},
        {LULL_JITTER_PROPORTIONAL, 0, false, 0, 200 * MS, 400 * MS, 600 * MS},
        {LULL_JITTER_PROPORTIONAL, 1, false, 0, 0, 400 * MS, 800 * MS},
        {LULL_JITTER_ADDITIVE, 0.25, true, 0, 400 * MS, 450 * MS, 500 * MS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_backoff backoff = settled((struct lull_backoff_config){
            .jitter = rows[i].jitter, .jitter_factor = rows[i].factor});
        lull_duration previous = rows[i].previous;
        bool throttled = rows[i].throttled;
        assert_int_equal(lull_backoff_delay(&backoff, 3, previous, throttled, LOWEST),
                         rows[i].lowest);
        assert_int_equal(lull_backoff_delay(&backoff, 3, previous, throttled, MIDDLE),
                         rows[i].middle);
        assert_int_equal(lull_backoff_delay(&backoff, 3, previous, throttled, HIGHEST),
                         rows[i].highest);
    }
}

/* A whole schedule from a scripted source, as a caller would see it. */
static void test_scripted_schedule(void **state) {
    (void)state;
    static const uint64_t script[] = {LOWEST, MIDDLE, HIGHEST, MIDDLE / 2, MIDDLE};
    static const lull_duration expected[] = {0, 100 * MS, 400 * MS, 200 * MS, 800 * MS};
    struct lull_backoff backoff = settled((struct lull_backoff_config){0});
    lull_duration previous = 0;
    for (uint32_t i = 0; i < COUNT(script); i++) {
        previous = lull_backoff_delay(&backoff, i + 1, previous, false, script[i]);
        assert_int_equal(previous, expected[i]);
    }
}

static void test_cap_bounds_before_jitter(void **state) {
    (void)state;
    struct lull_backoff backoff =
        settled((struct lull_backoff_config){.jitter = LULL_JITTER_ADDITIVE});
    /* Past the cap of 2 s delays still spread, over 2 … 3 s. */
    assert_int_equal(lull_backoff_delay(&backoff, 1000, 0, false, LOWEST), 2 * SECOND);
    assert_int_equal(lull_backoff_delay(&backoff, 1000, 0, false, HIGHEST), 3 * SECOND);
}

static void test_tiers(void **state) {
    (void)state;
    struct lull_backoff backoff = settled((struct lull_backoff_config){
        .jitter = LULL_JITTER_NONE,
        .tier_count = 3,
        .tiers = {30 * SECOND, 5 * LULL_MINUTE, 30 * LULL_MINUTE},
    });
    static const lull_duration expected[] = {30 * SECOND, 5 * LULL_MINUTE, 30 * LULL_MINUTE,
                                             30 * LULL_MINUTE};
    for (uint32_t i = 0; i < COUNT(expected); i++)
        assert_int_equal(lull_backoff_delay(&backoff, i + 1, 0, false, LOWEST), expected[i]);
    /* Tiers do not care about base and cap. */
    struct lull_backoff_config odd = {.base = LULL_HOUR, .cap = 1, .tier_count = 1, .tiers = {5}};
    assert_int_equal(lull_backoff_init(&backoff, &odd, NULL), LULL_OK);
}

static void test_bad_configurations(void **state) {
    (void)state;
    static const struct {
        struct lull_backoff_config config;
        const char *field;
    } rows[] = {
        {{.base = -1}, "backoff.base"},
        {{.base = INT64_MAX}, "backoff.base"},
        {{.cap = -5}, "backoff.cap"},
        {{.cap = INT64_MAX}, "backoff.cap"},
        {{.base = 3 * SECOND}, "backoff.cap"}, /* the default cap of 2 s is less */
        {{.base = 2 * SECOND, .cap = 1 * SECOND}, "backoff.cap"},
        {{.multiplier = 0.5}, "backoff.multiplier"},
        {{.multiplier = -2}, "backoff.multiplier"},
        {{.multiplier = NAN}, "backoff.multiplier"},
        {{.multiplier = INFINITY}, "backoff.multiplier"},
        {{.jitter = (enum lull_jitter)7}, "backoff.jitter"},
        {{.jitter_factor = -0.1}, "backoff.jitter_factor"},
        {{.jitter_factor = 1.1}, "backoff.jitter_factor"},
        {{.jitter_factor = NAN}, "backoff.jitter_factor"},
        {{.tier_count = 9}, "backoff.tier_count"},
        {{.tier_count = 2, .tiers = {1}}, "backoff.tiers"},
        {{.tier_count = 1, .tiers = {-1}}, "backoff.tiers"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_backoff backoff = settled((struct lull_backoff_config){.base = 42});
        struct lull_error error = {0};
        assert_names(lull_backoff_init(&backoff, &rows[i].config, &error), &error, rows[i].field);
        assert_int_equal(lull_backoff_init(&backoff, &rows[i].config, NULL), LULL_EINVAL);
        assert_int_equal(lull_backoff_term(&backoff, 1), 42); /* left as it was */
    }
    struct lull_error error;
    struct lull_backoff backoff;
    struct lull_backoff_config config = {.base = 3 * SECOND};
    assert_int_equal(lull_backoff_init(&backoff, &config, &error), LULL_EINVAL);
    assert_string_equal(error.message,
                        "backoff.cap is 2s, less than backoff.base (3s); raise the cap");
}

static void test_jitter_names(void **state) {
    (void)state;
    static const char *const names[] = {"none",         "full",     "equal",
                                        "decorrelated", "additive", "proportional"};
    for (size_t i = 0; i < COUNT(names); i++) {
        enum lull_jitter jitter = LULL_JITTER_DEFAULT;
        assert_int_equal(lull_jitter_parse(names[i], &jitter), LULL_OK);
        assert_int_equal(jitter, LULL_JITTER_NONE + i);
        assert_string_equal(lull_jitter_name(jitter), names[i]);
    }
    enum lull_jitter jitter = LULL_JITTER_EQUAL;
    assert_int_equal(lull_jitter_parse("Full", &jitter), LULL_EINVAL);
    assert_int_equal(lull_jitter_parse("", &jitter), LULL_EINVAL);
    assert_int_equal(jitter, LULL_JITTER_EQUAL);
    assert_string_equal(lull_jitter_name((enum lull_jitter)99), "unknown");
}

static int by_value(const void *a, const void *b) {
    lull_duration x = *(const lull_duration *)a, y = *(const lull_duration *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov–Smirnov: the largest distance between the draws' distribution and the uniform one on low … high. For
 * n = 100,000 a distance over 1.95 / √n has a chance of one in a thousand; the seed is fixed. */
static void assert_uniform(struct lull_backoff *backoff, uint32_t retry, lull_duration previous,
                           lull_duration low, lull_duration high) {
    enum { DRAWS = 100000 };
    lull_duration *draws = calloc(DRAWS, sizeof *draws);
    assert_non_null(draws);
    uint64_t random = 20240607;
    for (int i = 0; i < DRAWS; i++)
        draws[i] = lull_backoff_delay(backoff, retry, previous, false, lull_random_next(&random));
    qsort(draws, DRAWS, sizeof *draws, by_value);
    assert_true(draws[0] >= low && draws[DRAWS - 1] <= high);
    double distance = 0;
    for (int i = 0; i < DRAWS; i++) {
        double expected = (double)(draws[i] - low) / (double)(high - low);
        distance = fmax(distance, fabs((double)(i + 1) / DRAWS - expected));
        distance = fmax(distance, fabs((double)i / DRAWS - expected));
    }
    free(draws);
    assert_true(distance < 1.95 / sqrt(DRAWS));
}

static void test_distributions(void **state) {
    (void)state;
    static const struct {
        enum lull_jitter jitter;
        lull_duration low, high;
    } rows[] = {
        {LULL_JITTER_FULL, 0, 400 * MS},
        {LULL_JITTER_EQUAL, 200 * MS, 400 * MS},
        {LULL_JITTER_DECORRELATED, 100 * MS, 600 * MS}, /* previous 200 ms */
        {LULL_JITTER_ADDITIVE, 400 * MS, 600 * MS},
        {LULL_JITTER_PROPORTIONAL, 200 * MS, 600 * MS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_backoff backoff =
            settled((struct lull_backoff_config){.jitter = rows[i].jitter});
        assert_uniform(&backoff, 3, 200 * MS, rows[i].low, rows[i].high);
    }
}

/* Whatever is configured, a delay is never negative, and never over what its kind allows. */
static void test_any_input(void **state) {
    (void)state;
    uint64_t random = 7;
    const lull_duration century = 100 * 365 * LULL_DAY;
    for (int i = 0; i < 50000; i++) {
        struct lull_backoff_config config = {
            .base = (century - 1) >> draw(&random, 0, 61),
            .multiplier = 1 + (double)draw(&random, 0, 1000000) / (double)draw(&random, 1, 100000),
            .jitter = (enum lull_jitter)draw(&random, LULL_JITTER_NONE, LULL_JITTER_PROPORTIONAL),
            .jitter_factor = (double)draw(&random, 1, 1000) / 1000,
        };
        config.base = config.base > 0 ? config.base : 1;
        config.cap = draw(&random, config.base, century);
        struct lull_backoff backoff = settled(config);
        uint32_t retry = (uint32_t)(UINT32_MAX >> draw(&random, 0, 31));
        lull_duration previous = draw(&random, 0, INT64_MAX);
        lull_duration term = lull_backoff_term(&backoff, retry);
        lull_duration delay =
            lull_backoff_delay(&backoff, retry, previous, i & 1, lull_random_next(&random));
        assert_true(term >= config.base && term <= config.cap);
        assert_true(delay >= 0);
        bool above =
            config.jitter == LULL_JITTER_ADDITIVE || config.jitter == LULL_JITTER_PROPORTIONAL;
        assert_true(delay <= (above ? term + term : config.cap));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_term),
        cmocka_unit_test(test_jitter_to_the_nanosecond),
        cmocka_unit_test(test_scripted_schedule),
        cmocka_unit_test(test_cap_bounds_before_jitter),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_bad_configurations),
        cmocka_unit_test(test_jitter_names),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_any_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
