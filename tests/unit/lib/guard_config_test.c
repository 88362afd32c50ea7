/* The guard: its configuration, and a new one for a guard in use. */
#include "guard_fixture.h"

#include <math.h>
#include <string.h>

/* ---- reconfiguration ---- */

static void assert_same_state(struct lull_guard_stats a, struct lull_guard_stats b) {
    assert_int_equal(a.firsts, b.firsts);
    assert_int_equal(a.retries, b.retries);
    assert_memory_equal(a.outcomes, b.outcomes, sizeof a.outcomes);
    assert_memory_equal(a.refused, b.refused, sizeof a.refused);
    assert_memory_equal(a.stopped, b.stopped, sizeof a.stopped);
    assert_int_equal(a.not_before, b.not_before);
    assert_int_equal(a.breaker.state, b.breaker.state);
    assert_int_equal(a.breaker.generation, b.breaker.generation);
    assert_int_equal(a.breaker.open_until, b.breaker.open_until);
    assert_int_equal(a.breaker.window_calls, b.breaker.window_calls);
    assert_int_equal(a.breaker.window_failed, b.breaker.window_failed);
    assert_int_equal(a.breaker.calls, b.breaker.calls);
    assert_true(a.budget.tokens == b.budget.tokens);
    assert_int_equal(a.budget.withdrawn, b.budget.withdrawn);
    assert_int_equal(a.bucket.full_at, b.bucket.full_at);
    assert_int_equal(a.bulkhead.inside, b.bulkhead.inside);
    assert_int_equal(a.storm.firsts, b.storm.firsts);
}

static void test_reconfiguration_keeps_the_state(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    config.breaker.minimum_calls = 100;
    config.bucket = (struct lull_bucket_config){.capacity = 10, .rate = 1, .per = LULL_HOUR};
    config.budget =
        (struct lull_budget_config){.ratio = 0.5, .cap_seconds = LULL_NONE, .floor = LULL_NONE};
    set_up(config);
    for (uint64_t i = 0; i < 3; i++) {
        struct lull_call call = admitted(i, 0);
        expect(end(&call, LULL_SUCCESS, 0), done(0));
    }
    struct lull_call failed = admitted(4, 0), inside = admitted(5, 0);
    assert_int_equal(end(&failed, LULL_TRANSIENT, 0).decision, LULL_RETRY);
    lull_guard_pause(&guard, SECONDS(1));
    struct lull_guard_stats before = stats_at(0);
    assert_int_equal(before.breaker.window_calls, 4);
    assert_int_equal(before.breaker.window_failed, 1);
    assert_int_equal(before.bucket.tokens, 5);
    assert_true(before.budget.tokens == 0.5);

    config.retry.attempts = 9;
    config.bulkhead.limit = 7;
    config.bucket.capacity = 12;
    reconfigure(config);
    struct lull_guard_stats after = stats_at(0);
    assert_int_equal(after.bulkhead.limit, 7);
    assert_int_equal(after.bucket.capacity, 12);
    assert_int_equal(after.bucket.tokens, 7);
    assert_same_state(after, before);
    expect(end(&inside, LULL_SUCCESS, 0), done(0));
}

static void test_reconfiguration_keeps_the_circuit_open(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    set_up(config);
    open_circuit(0);
    struct lull_guard_stats before = stats_at(0);
    config.breaker.open_time = SECONDS(7);
    reconfigure(config);
    assert_same_state(stats_at(0), before);
    struct lull_call call = begin(2, MILLISECONDS(999));
    expect(admit(&call, MILLISECONDS(999)),
           no(LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_OPEN, SECONDS(1)));
    expect(admit(&call, SECONDS(1)), go(SECONDS(1), LULL_NEVER));
    (void)end(&call, LULL_TRANSIENT, SECONDS(1)); /* re-opens, by the new time and doubled */
    assert_int_equal(stats_at(SECONDS(1)).breaker.open_until, SECONDS(15));
}

/* Each new setting holds from the next decision on, also for a call begun before. */
static void test_reconfiguration_takes_effect(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    set_up(config);
    struct lull_call call = begin(KNOWN_SEED, 0);
    config.retry = (struct lull_retry_config){
        .attempts = 2,
        .backoff = {.base = SECONDS(3), .cap = SECONDS(3), .jitter = LULL_JITTER_NONE},
        .deadline = SECONDS(50),
        .attempt_timeout = SECONDS(4),
        .retry_after_cap = SECONDS(5),
        .retry_after_jitter = LULL_NONE,
    };
    config.breaker.slow_call = MILLISECONDS(1);
    reconfigure(config);
    assert_int_equal(call.deadline, LULL_NEVER); /* but the deadline is set when it begins */
    assert_int_equal(begin(1, 0).deadline, SECONDS(50));
    expect(admit(&call, 0), go(0, SECONDS(4)));
    expect(end(&call, LULL_TRANSIENT, MILLISECONDS(2)),
           retry(LULL_REASON_BACKING_OFF, MILLISECONDS(3002)));
    assert_int_equal(stats_at(0).breaker.slow, 1);
    expect(admit(&call, MILLISECONDS(3002)), go(MILLISECONDS(3002), SECONDS(4)));
    config.retry.attempts = 3;
    reconfigure(config);
    expect(throttle(&call, SECONDS(9), SECONDS(4)), retry(LULL_REASON_RETRY_AFTER, SECONDS(9)));
    expect(admit(&call, SECONDS(9)), go(SECONDS(9), SECONDS(4)));
    expect(end(&call, LULL_TRANSIENT, SECONDS(9)),
           stop(LULL_POLICY_RETRY, LULL_REASON_ATTEMPTS_SPENT));
}

static void test_reconfiguration_of_budget_and_bucket_takes_effect(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    set_up(config);
    config.budget = (struct lull_budget_config){.ratio = LULL_NONE, .floor = LULL_NONE};
    config.bucket = (struct lull_bucket_config){.capacity = 1, .rate = 1, .per = LULL_HOUR};
    reconfigure(config);
    struct lull_call call = admitted(1, 0), other = begin(2, 0);
    expect(admit(&other, 0), no(LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, LULL_HOUR));
    expect(end(&call, LULL_TRANSIENT, 0), stop(LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT));
}

/* The breaker's window cannot change its kind, and then nothing else changes either. */
static void test_refused_reconfiguration_changes_nothing(void **state) {
    (void)state;
    const struct {
        struct lull_breaker_config before, after;
        const char *field;
    } rows[] = {
        {{.by_count = false}, {.by_count = true}, "breaker.by_count"},
        {{.by_count = true}, {.by_count = false}, "breaker.by_count"},
        {{.slices = 10}, {.slices = 20}, "breaker.slices"},
        {{.by_count = true, .calls = 50}, {.by_count = true, .calls = 60}, "breaker.calls"},
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct lull_guard_config config = steady;
        config.breaker = rows[row].before;
        set_up(config);
        static struct lull_guard before;
        memcpy(&before, &guard, sizeof guard);
        config.breaker = rows[row].after;
        config.retry.attempts = 7;
        config.bulkhead.limit = 3;
        struct lull_error error = {0};
        assert_int_equal(lull_guard_configure(&guard, &config, &error), LULL_EINVAL);
        assert_string_equal(error.field, rows[row].field);
        assert_int_equal(lull_guard_configure(&guard, &config, NULL), LULL_EINVAL);
        assert_memory_equal(&guard, &before, sizeof guard);
    }
}

static struct lull_breaker_event told;
static int times_told;

static void note_transition(void *context, const struct lull_breaker_event *event) {
    assert_ptr_equal(context, &told);
    told = *event;
    times_told++;
}

static void test_transitions_are_told(void **state) {
    (void)state;
    struct lull_guard_config config = touchy();
    config.breaker.on_transition = note_transition;
    config.breaker.context = &told;
    times_told = 0;
    set_up(config);
    open_circuit(SECONDS(2));
    assert_int_equal(times_told, 1);
    assert_int_equal(told.to, LULL_BREAKER_OPEN);
    assert_int_equal(told.at, SECONDS(2));
    assert_int_equal(told.open_until, SECONDS(3));
}

/* ---- configuration ---- */

#define TOO_LONG (100 * 365 * LULL_DAY + 1)

static const struct {
    const char *field;
    struct lull_guard_config config;
} bad[] = {
    {"retry.deadline", {.retry = {.deadline = -2}}},
    {"retry.deadline", {.retry = {.deadline = INT64_MIN}}},
    {"retry.deadline", {.retry = {.deadline = TOO_LONG}}},
    {"retry.attempt_timeout", {.retry = {.attempt_timeout = -2}}},
    {"retry.attempt_timeout", {.retry = {.attempt_timeout = TOO_LONG}}},
    {"retry.retry_after_cap", {.retry = {.retry_after_cap = LULL_NONE}}},
    {"retry.retry_after_cap", {.retry = {.retry_after_cap = -2}}},
    {"retry.retry_after_cap", {.retry = {.retry_after_cap = TOO_LONG}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = -0.5}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = 10.5}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = NAN}}},
    {"retry.retry_after_jitter", {.retry = {.retry_after_jitter = INFINITY}}},
    {"backoff.base", {.retry = {.backoff = {.base = -1}}}},
    {"backoff.base", {.retry = {.backoff = {.base = TOO_LONG}}}},
    {"backoff.cap", {.retry = {.backoff = {.cap = -1}}}},
    {"backoff.cap", {.retry = {.backoff = {.cap = TOO_LONG}}}},
    {"backoff.cap", {.retry = {.backoff = {.base = 2000, .cap = 1999}}}},
    {"backoff.multiplier", {.retry = {.backoff = {.multiplier = 0.99}}}},
    {"backoff.multiplier", {.retry = {.backoff = {.multiplier = NAN}}}},
    {"backoff.multiplier", {.retry = {.backoff = {.multiplier = INFINITY}}}},
    {"backoff.jitter", {.retry = {.backoff = {.jitter = (enum lull_jitter)7}}}},
    {"backoff.jitter_factor", {.retry = {.backoff = {.jitter_factor = -0.1}}}},
    {"backoff.jitter_factor", {.retry = {.backoff = {.jitter_factor = 1.1}}}},
    {"backoff.jitter_factor", {.retry = {.backoff = {.jitter_factor = NAN}}}},
    {"backoff.tier_count", {.retry = {.backoff = {.tier_count = 9}}}},
    {"backoff.tiers", {.retry = {.backoff = {.tier_count = 2, .tiers = {1}}}}},
    {"backoff.tiers", {.retry = {.backoff = {.tier_count = 1, .tiers = {-1}}}}},
    {"breaker.window", {.breaker = {.window = -1}}},
    {"breaker.window", {.breaker = {.window = LULL_DAY + 1}}},
    {"breaker.slices", {.breaker = {.slices = 1}}},
    {"breaker.slices", {.breaker = {.slices = 61}}},
    {"breaker.calls", {.breaker = {.calls = 257}}},
    {"breaker.minimum_calls", {.breaker = {.by_count = true, .calls = 9, .minimum_calls = 10}}},
    {"breaker.failure_rate", {.breaker = {.failure_rate = -0.1}}},
    {"breaker.failure_rate", {.breaker = {.failure_rate = 1.01}}},
    {"breaker.failure_rate", {.breaker = {.failure_rate = NAN}}},
    {"breaker.slow_rate", {.breaker = {.slow_rate = -0.1}}},
    {"breaker.slow_rate", {.breaker = {.slow_rate = 1.01}}},
    {"breaker.slow_rate", {.breaker = {.slow_rate = NAN}}},
    {"breaker.slow_call", {.breaker = {.slow_call = -2}}},
    {"breaker.open_time", {.breaker = {.open_time = -1}}},
    {"breaker.open_max", {.breaker = {.open_max = -1}}},
    {"breaker.open_max", {.breaker = {.open_time = 1000, .open_max = 999}}},
    {"breaker.open_growth", {.breaker = {.open_growth = 0.5}}},
    {"breaker.open_growth", {.breaker = {.open_growth = NAN}}},
    {"breaker.open_jitter", {.breaker = {.open_jitter = 1}}},
    {"breaker.open_jitter", {.breaker = {.open_jitter = -0.1}}},
    {"breaker.open_jitter", {.breaker = {.open_jitter = NAN}}},
    {"breaker.probes", {.breaker = {.probes = 256}}},
    {"breaker.lease", {.breaker = {.lease = -1}}},
    {"budget.ratio", {.budget = {.ratio = -0.1}}},
    {"budget.ratio", {.budget = {.ratio = 1001}}},
    {"budget.ratio", {.budget = {.ratio = NAN}}},
    {"budget.window", {.budget = {.window = -1}}},
    {"budget.window", {.budget = {.window = LULL_DAY + 1}}},
    {"budget.cap_seconds", {.budget = {.cap_seconds = -2}}},
    {"budget.cap_seconds", {.budget = {.cap_seconds = NAN}}},
    {"budget.floor", {.budget = {.floor = -2}}},
    {"budget.floor", {.budget = {.floor = 1000001}}},
    {"bucket.capacity", {.bucket = {.capacity = -1}}},
    {"bucket.capacity", {.bucket = {.capacity = INT64_MAX}}},
    {"bucket.rate", {.bucket = {.rate = -1}}},
    {"bucket.rate", {.bucket = {.rate = LULL_SECOND + 1}}},
    {"bucket.per", {.bucket = {.per = -1}}},
    {"bucket.per", {.bucket = {.per = LULL_DAY + 1}}},
    {"bulkhead.limit", {.bulkhead = {.limit = -1}}},
    {"bulkhead.limit", {.bulkhead = {.limit = 1000001}}},
    {"bulkhead.queue", {.bulkhead = {.queue = -2}}},
    {"bulkhead.queue", {.bulkhead = {.queue = 1000001}}},
    {"without", {.without = 16}},
    {"without", {.without = UINT32_MAX}},
    {"connect_timeout", {.connect_timeout = -1}},
    {"connect_timeout", {.connect_timeout = TOO_LONG}},
    {"read_timeout", {.read_timeout = -1}},
    {"read_timeout", {.read_timeout = TOO_LONG}},
};

static void test_bad_configuration_is_refused_by_name(void **state) {
    (void)state;
    static struct lull_guard before;
    set_up(steady);
    memcpy(&before, &guard, sizeof guard);
    for (size_t row = 0; row < COUNT(bad); row++) {
        struct lull_error error = {0};
        if (lull_guard_check(&bad[row].config, &error) != LULL_EINVAL)
            fail_msg("bad %s was let through (row %zu)", bad[row].field, row);
        assert_string_equal(error.field, bad[row].field);
        assert_ptr_equal(strstr(error.message, bad[row].field), error.message);
        assert_true(strlen(error.message) > strlen(error.field) + 10);
        assert_int_equal(lull_guard_check(&bad[row].config, NULL), LULL_EINVAL);
        error.field = NULL;
        assert_int_equal(lull_guard_configure(&guard, &bad[row].config, &error), LULL_EINVAL);
        assert_string_equal(error.field, bad[row].field);
        assert_int_equal(lull_guard_init(&guard, &bad[row].config, NULL), LULL_EINVAL);
        assert_memory_equal(&guard, &before, sizeof guard);
    }
}

static const struct lull_guard_config at_the_bounds[] = {
    {.retry = {.attempts = 1, .deadline = 1, .attempt_timeout = 1, .retry_after_cap = 1}},
    {.retry = {.attempts = UINT32_MAX,
               .deadline = TOO_LONG - 1,
               .attempt_timeout = TOO_LONG - 1,
               .retry_after_cap = TOO_LONG - 1,
               .retry_after_jitter = 10}},
    {.retry = {.deadline = LULL_NONE,
               .attempt_timeout = LULL_NONE,
               .retry_after_jitter = LULL_NONE,
               .backoff = {.base = 1, .cap = 1, .multiplier = 1}}},
    {.breaker = {.slow_call = LULL_NONE, .open_jitter = LULL_NONE, .slices = 2, .probes = 1}},
    {.breaker = {.by_count = true, .calls = 1}, .budget = {.ratio = LULL_NONE}},
    {.budget = {.floor = LULL_NONE, .cap_seconds = LULL_NONE, .ratio = 1000}},
    {.bucket = {.capacity = 1, .rate = 1, .per = 1}, .bulkhead = {.limit = 1, .queue = LULL_NONE}},
    {.without = 15, .connect_timeout = TOO_LONG - 1, .read_timeout = TOO_LONG - 1},
};

static void test_configuration_at_the_bounds_is_fine(void **state) {
    (void)state;
    for (size_t row = 0; row < COUNT(at_the_bounds); row++) {
        struct lull_error error = {.message = ""};
        if (lull_guard_check(&at_the_bounds[row], &error) != LULL_OK)
            fail_msg("row %zu: %s", row, error.message);
        set_up(at_the_bounds[row]);
        struct lull_call call = begin(1, 0);
        assert_int_equal(admit(&call, 0).decision, LULL_GO);
        assert_int_equal(end(&call, LULL_SUCCESS, 0).decision, LULL_DONE);
    }
}

/* The numbers of the specification. */
static const struct lull_guard_config specified = {
    .retry = {.attempts = 5,
              .backoff = {.base = MILLISECONDS(100),
                          .cap = SECONDS(2),
                          .multiplier = 2,
                          .jitter = LULL_JITTER_FULL,
                          .jitter_factor = 0.5},
              .deadline = SECONDS(5),
              .attempt_timeout = LULL_NONE,
              .retry_after_cap = LULL_HOUR,
              .retry_after_jitter = 0.1},
    .breaker = {.window = SECONDS(30),
                .slices = 30,
                .calls = 100,
                .minimum_calls = 10,
                .failure_rate = 0.5,
                .slow_rate = 0.8,
                .slow_call = SECONDS(2),
                .open_time = SECONDS(30),
                .open_max = 5 * LULL_MINUTE,
                .open_growth = 2,
                .open_jitter = 0.1,
                .probes = 5,
                .lease = SECONDS(60)},
    .budget = {.ratio = 0.1, .window = SECONDS(10), .cap_seconds = 5, .floor = 10},
    .bucket = {.capacity = 10000, .rate = 1000, .per = SECONDS(1)},
    .bulkhead = {.limit = 30, .queue = 20},
};

static void test_zero_means_default(void **state) {
    (void)state;
    static struct lull_guard by_null, by_zero;
    struct lull_guard_config zero = {0};
    memset(&by_null, 0xa5, sizeof by_null);
    memset(&by_zero, 0xa5, sizeof by_zero);
    set_up(specified);
    assert_int_equal(lull_guard_check(NULL, NULL), LULL_OK);
    assert_int_equal(lull_guard_init(&by_null, NULL, NULL), LULL_OK);
    assert_int_equal(lull_guard_init(&by_zero, &zero, NULL), LULL_OK);
    assert_memory_equal(&by_null, &guard, sizeof guard);
    assert_memory_equal(&by_zero, &guard, sizeof guard);
    assert_int_equal(lull_guard_configure(&guard, NULL, NULL), LULL_OK);
    assert_memory_equal(&by_null, &guard, sizeof guard);
    assert_true(sizeof guard <= 4096); /* "about 4 kB" */
}

static void test_configuration_is_copied(void **state) {
    (void)state;
    struct lull_guard_config config = steady;
    set_up(config);
    memset(&config, 0xff, sizeof config);
    struct lull_call call = admitted(1, 0);
    expect(end(&call, LULL_TRANSIENT, 0), retry(LULL_REASON_BACKING_OFF, MILLISECONDS(100)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reconfiguration_keeps_the_state),
        cmocka_unit_test(test_reconfiguration_keeps_the_circuit_open),
        cmocka_unit_test(test_reconfiguration_takes_effect),
        cmocka_unit_test(test_reconfiguration_of_budget_and_bucket_takes_effect),
        cmocka_unit_test(test_refused_reconfiguration_changes_nothing),
        cmocka_unit_test(test_transitions_are_told),
        cmocka_unit_test(test_bad_configuration_is_refused_by_name),
        cmocka_unit_test(test_configuration_at_the_bounds_is_fine),
        cmocka_unit_test(test_zero_means_default),
        cmocka_unit_test(test_configuration_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
