#include "testing.h"

#include "latency.h"

#include <stdlib.h>

static struct latency latency_of(const char *text) {
    struct latency latency;
    struct problem problem = {{0}};
    if (!latency_parse(text, &latency, &problem))
        fail_msg("%s: %s", text, problem.text);
    return latency;
}

static void assert_printed(const char *text, const char *expected) {
    struct latency latency = latency_of(text);
    char printed[128] = "";
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    latency_print(stream, &latency);
    fclose(stream);
    assert_string_equal(printed, expected);
    struct latency again = latency_of(printed);
    assert_int_equal(again.kind, latency.kind);
    assert_int_equal(again.typical, latency.typical);
    assert_int_equal(again.spread, latency.spread);
    assert_int_equal(again.p99, latency.p99);
    assert_true(again.sigma == latency.sigma);
}

static void test_forms(void **state) {
    (void)state;
    assert_printed("50", "50ms");
    assert_printed("50ms", "50ms");
    assert_printed("1.5s", "1500ms");
    assert_printed("0", "0s");
    assert_printed("2h", "2h");
    assert_printed("1us", "1us");
    assert_printed("50ms+-10ms", "50ms+-10ms");
    assert_printed("50+-10", "50ms+-10ms");
    assert_printed("exponential:60s", "exponential:1m");
    assert_printed("lognormal:50ms:p99=400ms", "lognormal:50ms:p99=400ms");
    assert_printed("lognormal:50ms:sigma=0.8", "lognormal:50ms:sigma=0.8");
}

static void test_mistakes(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",
        "fast",
        "-5",
        "50ms+-",
        "50ms+-60ms",
        "exponential:",
        "exponential",
        "lognormal:50ms",
        "lognormal:50ms:p99=",
        "lognormal:50ms:p99=40ms",
        "lognormal:0:sigma=1",
        "lognormal:50ms:sigma=x",
        "lognormal:50ms:sigma=11",
        "uniform:5ms",
        "exponential:5ms:3",
        "25h",
        "50ms:10ms",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct latency latency;
        struct problem problem = {{0}};
        if (latency_parse(rows[i], &latency, &problem))
            fail_msg("%s was taken", rows[i]);
        assert_true(strlen(problem.text) > 0);
    }
}

static void test_fixed(void **state) {
    (void)state;
    struct latency latency = latency_of("50ms");
    assert_int_equal(latency_draw(&latency, LOWEST), 50 * MS);
    assert_int_equal(latency_draw(&latency, HIGHEST), 50 * MS);
    struct latency none = {0};
    assert_int_equal(latency_draw(&none, MIDDLE), 0);
}

static void test_jittered(void **state) {
    (void)state;
    struct latency latency = latency_of("50ms+-10ms");
    assert_int_equal(latency_draw(&latency, LOWEST), 40 * MS);
    assert_int_equal(latency_draw(&latency, MIDDLE), 50 * MS);
    assert_int_equal(latency_draw(&latency, HIGHEST), 60 * MS);
}

/* -ln(1) = 0, -ln(1/2) · 100 ms = 69.3 ms; the smallest fraction is 2^-53. */
static void test_exponential(void **state) {
    (void)state;
    struct latency latency = latency_of("exponential:100ms");
    assert_int_equal(latency_draw(&latency, HIGHEST), 0);
    assert_in_range(latency_draw(&latency, MIDDLE), 69314718 - 1, 69314718 + 1);
    assert_in_range(latency_draw(&latency, LOWEST), 3673680056 - 2, 3673680056 + 2);
    struct latency day = latency_of("exponential:24h");
    assert_int_equal(latency_draw(&day, LOWEST), LATENCY_LONGEST); /* a tail has an end */
}

static int compare(const void *one, const void *other) {
    lull_duration difference = *(const lull_duration *)one - *(const lull_duration *)other;
    return difference < 0 ? -1 : difference > 0;
}

enum { DRAWS = 100000 };
static lull_duration draws[DRAWS];

static void draw_many(const char *text) {
    struct latency latency = latency_of(text);
    uint64_t random = 7;
    for (size_t i = 0; i < DRAWS; i++)
        draws[i] = latency_draw(&latency, lull_random_next(&random));
    qsort(draws, DRAWS, sizeof draws[0], compare);
}

static double quantile(double share) {
    return (double)draws[(size_t)(share * DRAWS)] / (double)MS;
}

static void test_lognormal_by_p99(void **state) {
    (void)state;
    draw_many("lognormal:50ms:p99=400ms");
    assert_true(fabs(quantile(0.5) - 50) < 1);
    assert_true(fabs(quantile(0.99) - 400) < 20);
    assert_true(quantile(0) > 0);
}

/* One deviation above the middle lies 84.13 % of a bell curve. */
static void test_lognormal_by_sigma(void **state) {
    (void)state;
    draw_many("lognormal:50ms:sigma=0.8");
    assert_true(fabs(quantile(0.5) - 50) < 1);
    assert_true(fabs(quantile(0.8413) - 50 * exp(0.8)) < 3);
    draw_many("lognormal:50ms:sigma=0");
    assert_int_equal(draws[0], 50 * MS);
    assert_int_equal(draws[DRAWS - 1], 50 * MS);
}

static void test_exponential_mean(void **state) {
    (void)state;
    double sum = 0;
    draw_many("exponential:100ms");
    for (size_t i = 0; i < DRAWS; i++)
        sum += (double)draws[i] / (double)MS;
    assert_true(fabs(sum / DRAWS - 100) < 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_jittered),
        cmocka_unit_test(test_exponential),
        cmocka_unit_test(test_lognormal_by_p99),
        cmocka_unit_test(test_lognormal_by_sigma),
        cmocka_unit_test(test_exponential_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
