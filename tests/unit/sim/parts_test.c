/* The simulator's small parts: draws, the event queue, the histogram. */
#include "testing.h"

#include "../sim/draw.h"
#include "../sim/histogram.h"
#include "../sim/queue.h"

#include <stdlib.h>

/* ---- draws ---- */

static void test_functions_agree_with_libm(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 100000; i++) {
        double x = draw_uniform(&random) * (i % 2 ? 1 : 1e9);
        assert_true(fabs(draw_ln(x) - log(x)) <= 1e-14 * fmax(1, fabs(log(x))));
        double y = 20 * draw_uniform(&random) - 10;
        assert_true(fabs(draw_exp(y) - exp(y)) <= 1e-14 * exp(y));
    }
    assert_true(draw_ln(1) == 0);
    assert_true(draw_exp(0) == 1);
}

/* To the last bit: another machine must draw the same. */
static void test_draws_are_fixed(void **state) {
    (void)state;
    uint64_t random = 42;
    assert_true(draw_uniform(&random) == 0x1.7bae644c5fd6ep-1);
    assert_true(draw_exponential(&random) == 0x1.d548c5acc241ep+0);
    assert_true(draw_normal(&random) == -0x1.47f4af60c7f98p+0);
    assert_true(draw_exp(1) == 0x1.5bf0a8b14576ap+1);
}

static void test_means_and_deviations(void **state) {
    (void)state;
    enum { DRAWS = 200000 };
    static const struct sim_latency latencies[] = {
        {SIM_LATENCY_FIXED, 1, 0},
        {SIM_LATENCY_EXPONENTIAL, 1, 0},
        {SIM_LATENCY_LOGNORMAL, 1, 0.5},
    };
    static const double deviations[] = {0, 1, 0.5329404}; /* √(exp(σ²) - 1) */
    for (size_t k = 0; k < COUNT(latencies); k++) {
        uint64_t random = 1;
        double sum = 0, squares = 0;
        for (int i = 0; i < DRAWS; i++) {
            double factor = draw_latency(&latencies[k], &random);
            assert_true(factor >= 0);
            sum += factor;
            squares += factor * factor;
        }
        double mean = sum / DRAWS;
        assert_true(fabs(mean - 1) < 0.01);
        assert_true(fabs(sqrt(fmax(0, squares / DRAWS - mean * mean)) - deviations[k]) < 0.02);
    }
}

/* ---- the queue ---- */

static int by_time(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->subject > y->subject) - (x->subject < y->subject); /* in the order of pushing */
}

static void test_order_is_time_then_number(void **state) {
    (void)state;
    enum { EVENTS = 20000 };
    struct queue *queue = malloc(sizeof *queue);
    struct event *expected = calloc(EVENTS, sizeof *expected);
    assert_true(queue != NULL && expected != NULL);
    uint64_t random = 8;
    for (int round = 0; round < 5; round++) {
        queue_init(queue);
        static const lull_duration spans[] = {1000, LULL_SECOND, 20 * LULL_SECOND, LULL_HOUR, 1};
        for (uint32_t i = 0; i < EVENTS; i++) {
            expected[i] = (struct event){.at = draw(&random, 0, spans[round]), .subject = i};
            queue_push(queue, expected[i]);
        }
        qsort(expected, EVENTS, sizeof *expected, by_time);
        for (uint32_t i = 0; i < EVENTS; i++) {
            struct event event;
            assert_true(queue_pop(queue, &event));
            assert_int_equal(event.at, expected[i].at);
            assert_int_equal(event.subject, expected[i].subject);
        }
        struct event event;
        assert_false(queue_pop(queue, &event));
        queue_clean_up(queue);
    }
    free(queue);
    free(expected);
}

/* As a simulation uses it: each event that happens schedules others, at once or far ahead. */
static void test_pushing_while_popping(void **state) {
    (void)state;
    struct queue *queue = malloc(sizeof *queue);
    assert_non_null(queue);
    queue_init(queue);
    uint64_t random = 9;
    struct event event = {0};
    for (int i = 0; i < 1000; i++)
        queue_push(queue, (struct event){.at = draw(&random, 0, LULL_SECOND)});
    lull_time last = 0;
    uint64_t last_number = 0;
    for (int i = 0; i < 200000; i++) {
        assert_true(queue_pop(queue, &event));
        assert_true(event.at > last || (event.at == last && event.number > last_number) || i == 0);
        last = event.at;
        last_number = event.number;
        lull_duration ahead = (LULL_MINUTE >> draw(&random, 0, 36)) - 1;
        queue_push(queue, (struct event){.at = event.at + (ahead > 0 ? ahead : 0)});
    }
    assert_false(queue->failed);
    queue_clean_up(queue);
    free(queue);
}

/* ---- the histogram ---- */

static void test_quantiles(void **state) {
    (void)state;
    struct histogram *histogram = calloc(1, sizeof *histogram);
    assert_non_null(histogram);
    assert_int_equal(histogram_quantile(histogram, 0.5), 0);
    for (int i = 1; i <= 1000; i++)
        histogram_add(histogram, i * MS);
    assert_true(llabs(histogram_quantile(histogram, 0.5) - 500 * MS) <= 5 * MS);
    assert_true(llabs(histogram_quantile(histogram, 0.99) - 990 * MS) <= 9 * MS);
    assert_true(llabs(histogram_quantile(histogram, 1) - 1000 * MS) <= 10 * MS);
    assert_true(llabs(histogram_quantile(histogram, 0) - MS) <= 5 * LULL_MICROSECOND);
    histogram_add(histogram, -5); /* counts as nothing */
    histogram_add(histogram, INT64_MAX);
    assert_int_equal(histogram->counts[0], 1);
    assert_true(histogram_quantile(histogram, 1) > 100 * LULL_DAY);
    free(histogram);
}

static void test_small_values_are_exact(void **state) {
    (void)state;
    struct histogram *histogram = calloc(1, sizeof *histogram);
    assert_non_null(histogram);
    for (int i = 0; i < 128; i++) {
        histogram_add(histogram, i * LULL_MICROSECOND);
        assert_int_equal(histogram_quantile(histogram, 1), i * LULL_MICROSECOND);
    }
    free(histogram);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_agree_with_libm),
        cmocka_unit_test(test_draws_are_fixed),
        cmocka_unit_test(test_means_and_deviations),
        cmocka_unit_test(test_order_is_time_then_number),
        cmocka_unit_test(test_pushing_while_popping),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_small_values_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
