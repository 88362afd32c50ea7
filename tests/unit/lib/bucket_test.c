#include "testing.h"

#include <stdlib.h>

static struct lull_bucket bucket_of(int64_t capacity, int64_t rate, lull_duration per) {
    struct lull_bucket bucket;
    struct lull_bucket_config config = {.capacity = capacity, .rate = rate, .per = per};
    assert_int_equal(lull_bucket_init(&bucket, &config, NULL), LULL_OK);
    return bucket;
}

static int take_all(struct lull_bucket *bucket, lull_time now) {
    int taken = 0;
    while (lull_bucket_take(bucket, 1, now).decision == LULL_GO)
        taken++;
    return taken;
}

static void test_defaults(void **state) {
    (void)state;
    struct lull_bucket bucket;
    assert_int_equal(lull_bucket_init(&bucket, NULL, NULL), LULL_OK);
    struct lull_bucket_stats stats = lull_bucket_snapshot(&bucket, 0);
    assert_int_equal(stats.capacity, LULL_BUCKET_CAPACITY);
    assert_int_equal(take_all(&bucket, 0), 10000);
    assert_int_equal(take_all(&bucket, SECOND), LULL_BUCKET_RATE);
}

/* 10 tokens at 1/s, emptied: at 999 ms none, at 6 s six. */
static void test_refill_is_smooth(void **state) {
    (void)state;
    struct lull_bucket bucket = bucket_of(10, 1, SECOND);
    lull_time start = 123456789;
    assert_int_equal(take_all(&bucket, start), 10);

    struct lull_verdict verdict = lull_bucket_take(&bucket, 1, start + 999 * MS);
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.policy, LULL_POLICY_BUCKET);
    assert_int_equal(verdict.reason, LULL_REASON_NO_TOKEN);
    assert_int_equal(verdict.at, start + SECOND);
    assert_int_equal(lull_bucket_take(&bucket, 1, verdict.at - 1).decision, LULL_NO);

    assert_int_equal(take_all(&bucket, start + 6 * SECOND), 6);
    assert_int_equal(lull_bucket_take(&bucket, 1, start + 6 * SECOND).at, start + 7 * SECOND);
    assert_int_equal(take_all(&bucket, start + 1000 * SECOND),
                     10); /* never more than the capacity */
}

static void test_many_tokens_at_once(void **state) {
    (void)state;
    struct lull_bucket bucket = bucket_of(10, 2, SECOND);
    assert_int_equal(lull_bucket_take(&bucket, 7, 0).decision, LULL_GO);
    struct lull_verdict verdict = lull_bucket_take(&bucket, 5, 0); /* 3 there, 2 due at 1 s */
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.at, SECOND);
    assert_int_equal(lull_bucket_take(&bucket, 3, 0).decision, LULL_GO); /* all or none was taken */
    assert_int_equal(lull_bucket_take(&bucket, 11, 0).at, LULL_NEVER);
    assert_int_equal(lull_bucket_take(&bucket, INT64_MAX, 0).at, LULL_NEVER);
    assert_int_equal(lull_bucket_take(&bucket, 0, 0).decision, LULL_NO); /* at least one */
}

static void test_return(void **state) {
    (void)state;
    struct lull_bucket bucket = bucket_of(3, 1, SECOND);
    assert_int_equal(take_all(&bucket, 0), 3);
    lull_bucket_return(&bucket, 2);
    assert_int_equal(take_all(&bucket, 0), 2);
}

static void test_snapshot(void **state) {
    (void)state;
    struct lull_bucket bucket = bucket_of(5, 1, SECOND);
    struct lull_bucket_stats stats = lull_bucket_snapshot(&bucket, 7);
    assert_int_equal(stats.capacity, 5);
    assert_int_equal(stats.tokens, 5);
    assert_int_equal(stats.next_at, 7);
    assert_int_equal(stats.full_at, 7);
    assert_int_equal(take_all(&bucket, 0), 5);
    stats = lull_bucket_snapshot(&bucket, 300 * MS);
    assert_int_equal(stats.tokens, 0);
    assert_int_equal(stats.next_at, SECOND);
    assert_int_equal(stats.full_at, 5 * SECOND);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(lull_bucket_snapshot(&bucket, 2500 * MS).tokens, 2);
}

static void test_reconfigure_keeps_what_was_taken(void **state) {
    (void)state;
    struct lull_bucket bucket = bucket_of(10, 1, SECOND);
    assert_int_equal(lull_bucket_take(&bucket, 4, 0).decision, LULL_GO); /* full again at 4 s */
    struct lull_bucket_config smaller = {.capacity = 5, .rate = 1, .per = SECOND};
    assert_int_equal(lull_bucket_configure(&bucket, &smaller, NULL), LULL_OK);
    assert_int_equal(take_all(&bucket, 0), 1);
    struct lull_bucket_config bad = {.capacity = -1};
    assert_int_equal(lull_bucket_configure(&bucket, &bad, NULL), LULL_EINVAL);
    assert_int_equal(lull_bucket_snapshot(&bucket, 0).capacity, 5);
}

static void test_interval_is_rounded_up(void **state) {
    (void)state;
    struct lull_bucket bucket = bucket_of(1, 3, SECOND);
    assert_int_equal(take_all(&bucket, 0), 1);
    assert_int_equal(lull_bucket_take(&bucket, 1, 333333333).decision, LULL_NO);
    assert_int_equal(lull_bucket_take(&bucket, 1, 333333334).decision, LULL_GO);
}

static void test_bad_configurations(void **state) {
    (void)state;
    static const struct {
        struct lull_bucket_config config;
        const char *field;
    } rows[] = {
        {{.capacity = -1}, "bucket.capacity"},
        {{.capacity = INT64_MAX}, "bucket.capacity"},
        {{.rate = -1}, "bucket.rate"},
        {{.rate = 2 * SECOND}, "bucket.rate"}, /* two tokens a nanosecond */
        {{.per = -1}, "bucket.per"},
        {{.per = 2 * LULL_DAY}, "bucket.per"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_bucket bucket;
        struct lull_error error = {0};
        assert_names(lull_bucket_init(&bucket, &rows[i].config, &error), &error, rows[i].field);
    }
}

/* In any window of length w no more than capacity + rate · w are granted: it is enough to look at windows that
 * begin and end at a grant. */
static void assert_never_over(const lull_time *grants, size_t count, int64_t capacity,
                              lull_duration interval) {
    for (size_t first = 0; first < count; first++)
        for (size_t last = first; last < count; last++) {
            int64_t granted = (int64_t)(last - first + 1);
            assert_true(granted <= capacity + (grants[last] - grants[first]) / interval);
        }
}

static void test_never_over_the_rate(void **state) {
    (void)state;
    uint64_t random = 99;
    for (int round = 0; round < 200; round++) {
        int64_t capacity = draw(&random, 1, 20);
        int64_t rate = draw(&random, 1, 1000);
        struct lull_bucket bucket = bucket_of(capacity, rate, SECOND);
        lull_duration interval = (SECOND + rate - 1) / rate;
        lull_time grants[300], now = draw(&random, -SECOND, SECOND);
        size_t count = 0;
        for (int i = 0; i < 300; i++) {
            now += draw(&random, 0, 2 * interval);
            if (lull_bucket_take(&bucket, 1, now).decision == LULL_GO)
                grants[count++] = now;
        }
        assert_true(count > 0);
        assert_never_over(grants, count, capacity, interval);
    }
}

/* Threads with clocks that tick together: at each moment all try. */
struct race {
    struct lull_bucket bucket;
    _Atomic(uint32_t) seed;
    _Atomic(int64_t) granted;
};

static void *race_body(void *arg) {
    struct race *race = arg;
    uint64_t random = race->seed++;
    int64_t granted = 0;
    for (lull_time now = 0; now <= 100 * MS; now += draw(&random, 0, 20 * LULL_MICROSECOND))
        granted += lull_bucket_take(&race->bucket, 1, now).decision == LULL_GO;
    race->granted += granted;
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct race race = {.bucket = bucket_of(50, 10000, SECOND)};
    on_threads(8, race_body, &race);
    /* 50 at once and 1,000 in 100 ms; nearly all of them, since demand is far higher */
    assert_in_range(race.granted, 1040, 1050);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_refill_is_smooth),
        cmocka_unit_test(test_many_tokens_at_once),
        cmocka_unit_test(test_return),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_reconfigure_keeps_what_was_taken),
        cmocka_unit_test(test_interval_is_rounded_up),
        cmocka_unit_test(test_bad_configurations),
        cmocka_unit_test(test_never_over_the_rate),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
