/* The circuit breaker: its settings, and new ones for a breaker in use. */
#include "breaker_fixture.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- configuration ---- */

static void defaults_are_the_named_constants(void **state) {
    (void)state;
    /* The numbers of the specification, spelt out once. */
    assert_true(LULL_BREAKER_WINDOW == INT64_C(30000000000));
    assert_int_equal(LULL_BREAKER_SLICES, 30);
    assert_int_equal(LULL_BREAKER_CALLS, 100);
    assert_int_equal(LULL_BREAKER_MINIMUM_CALLS, 10);
    assert_true(LULL_BREAKER_FAILURE_RATE == 0.5);
    assert_true(LULL_BREAKER_SLOW_RATE == 0.8);
    assert_true(LULL_BREAKER_SLOW_CALL == INT64_C(2000000000));
    assert_true(LULL_BREAKER_OPEN_TIME == INT64_C(30000000000));
    assert_true(LULL_BREAKER_OPEN_MAX == INT64_C(300000000000));
    assert_true(LULL_BREAKER_OPEN_GROWTH == 2.0);
    assert_true(LULL_BREAKER_OPEN_JITTER == 0.1);
    assert_int_equal(LULL_BREAKER_PROBES, 5);
    assert_true(LULL_BREAKER_LEASE == INT64_C(60000000000));
}

/* What is not set behaves like the constant: by time, 30 s, from 10 calls on, 50 %. */
static void zero_means_default(void **state) {
    (void)state;
    start((struct lull_breaker_config){0});
    repeat(failure, 9, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    window_is(9, 9, 0, START + LULL_BREAKER_WINDOW - 1);
    window_is(0, 0, 0, START + LULL_BREAKER_WINDOW);
    lull_time now = START + LULL_HOUR;
    repeat(success, 5, now);
    repeat(failure, 5, now);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    now += LULL_BREAKER_OPEN_TIME;
    refused(LULL_REASON_CIRCUIT_OPEN, now, now - 1);
    for (int i = 0; i < LULL_BREAKER_PROBES; i++)
        (void)admit(now);
    lull_time lease = now + LULL_BREAKER_LEASE;
    refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
    refused(LULL_REASON_CIRCUIT_PROBING, lease, lease - 1);
    (void)admit(lease);
}

static void no_config_is_all_defaults(void **state) {
    (void)state;
    assert_int_equal(lull_breaker_init(&breaker, NULL, NULL), LULL_OK);
    repeat(success, 1, START);
    repeat(slow_success, 8, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    slow_success(START); /* 9 of 10 are slow; and nobody listens */
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(lull_breaker_snapshot(&breaker, START).transitions, 1);
}

#define BAD(name, ...)                                                                             \
    {                                                                                              \
        "breaker." #name, {                                                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct {
    const char *field;
    struct lull_breaker_config config;
} bad_settings[] = {
    BAD(window, .window = LULL_NONE),
    BAD(window, .window = INT64_MIN),
    BAD(window, .window = LULL_MICROSECOND - 1),
    BAD(window, .window = LULL_DAY + 1),
    BAD(window, .window = INT64_MAX),
    BAD(slices, .slices = 1),
    BAD(slices, .slices = LULL_BREAKER_MAX_SLICES + 1),
    BAD(slices, .slices = UINT32_MAX),
    BAD(calls, .by_count = true, .calls = LULL_BREAKER_MAX_CALLS + 1),
    BAD(calls, .by_count = true, .calls = UINT32_MAX),
    BAD(minimum_calls, .by_count = true, .minimum_calls = LULL_BREAKER_CALLS + 1),
    BAD(minimum_calls, .by_count = true, .calls = 5, .minimum_calls = 6),
    BAD(minimum_calls, .by_count = true, .calls = 5, .minimum_calls = UINT32_MAX),
    BAD(failure_rate, .failure_rate = -0.5),
    BAD(failure_rate, .failure_rate = LULL_NONE),
    BAD(failure_rate, .failure_rate = 1.0000001),
    BAD(failure_rate, .failure_rate = 50),
    BAD(failure_rate, .failure_rate = NAN),
    BAD(failure_rate, .failure_rate = -NAN),
    BAD(failure_rate, .failure_rate = INFINITY),
    BAD(failure_rate, .failure_rate = -INFINITY),
    BAD(slow_rate, .slow_rate = -0.5),
    BAD(slow_rate, .slow_rate = 1.0000001),
    BAD(slow_rate, .slow_rate = NAN),
    BAD(slow_rate, .slow_rate = INFINITY),
    BAD(slow_rate, .slow_rate = -INFINITY),
    BAD(slow_call, .slow_call = -2),
    BAD(slow_call, .slow_call = INT64_MIN),
    BAD(slow_call, .slow_call = LULL_DAY + 1),
    BAD(slow_call, .slow_call = INT64_MAX),
    BAD(open_time, .open_time = -1),
    BAD(open_time, .open_time = INT64_MIN),
    BAD(open_time, .open_time = LULL_DAY + 1, .open_max = LULL_DAY),
    BAD(open_time, .open_time = INT64_MAX),
    BAD(open_max, .open_max = -1),
    BAD(open_max, .open_max = INT64_MIN),
    BAD(open_max, .open_max = INT64_MAX),
    BAD(open_max, .open_max = LULL_DAY + 1),
    BAD(open_max, .open_max = LULL_BREAKER_OPEN_TIME - 1),
    BAD(open_max, .open_time = LULL_BREAKER_OPEN_MAX + 1),
    BAD(open_max, .open_time = 2, .open_max = 1),
    BAD(open_growth, .open_growth = -2),
    BAD(open_growth, .open_growth = 0.999),
    BAD(open_growth, .open_growth = NAN),
    BAD(open_growth, .open_growth = INFINITY),
    BAD(open_growth, .open_growth = 1e300),
    BAD(open_jitter, .open_jitter = -0.1),
    BAD(open_jitter, .open_jitter = -2),
    BAD(open_jitter, .open_jitter = 1),
    BAD(open_jitter, .open_jitter = NAN),
    BAD(open_jitter, .open_jitter = INFINITY),
    BAD(probes, .probes = LULL_BREAKER_MAX_PROBES + 1),
    BAD(probes, .probes = UINT32_MAX),
    BAD(lease, .lease = -1),
    BAD(lease, .lease = INT64_MIN),
    BAD(lease, .lease = LULL_DAY + 1),
    BAD(lease, .lease = INT64_MAX),
};

/* Each is refused by name; a breaker in use is left as it was. */
static void bad_settings_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bad_settings); i++) {
        struct lull_breaker_config config = bad_settings[i].config;
        struct lull_error error = {.field = NULL};
        assert_int_equal(lull_breaker_init(&breaker, &config, &error), LULL_EINVAL);
        assert_string_equal(error.field, bad_settings[i].field);
        assert_non_null(strstr(error.message, bad_settings[i].field));
        assert_true(strlen(error.message) > strlen(error.field) + 4);
        assert_int_equal(lull_breaker_init(&breaker, &config, NULL), LULL_EINVAL);

        start((struct lull_breaker_config){.by_count = config.by_count, .calls = config.calls % 8});
        static struct lull_breaker before;
        memcpy((void *)&before, (void *)&breaker, sizeof before);
        error.field = NULL;
        assert_int_equal(lull_breaker_configure(&breaker, &config, &error), LULL_EINVAL);
        assert_string_equal(error.field, bad_settings[i].field);
        assert_memory_equal((void *)&before, (void *)&breaker, sizeof before);
    }
}

static void ends_of_the_ranges_are_good(void **state) {
    (void)state;
    const struct lull_breaker_config good[] = {
        {.window = LULL_MICROSECOND, .slices = 2},
        {.window = LULL_DAY, .slices = LULL_BREAKER_MAX_SLICES},
        {.by_count = true, .calls = 1},
        {.by_count = true, .calls = LULL_BREAKER_MAX_CALLS, .minimum_calls = 256},
        {.minimum_calls = 1},
        {.minimum_calls = UINT32_MAX},
        {.failure_rate = 1, .slow_rate = 1},
        {.failure_rate = 1e-6, .slow_rate = 1e-6},
        {.slow_call = 1},
        {.slow_call = LULL_DAY},
        {.slow_call = LULL_NONE},
        {.open_time = 1, .open_max = 1},
        {.open_time = LULL_DAY, .open_max = LULL_DAY},
        {.open_growth = 1},
        {.open_growth = 1000},
        {.open_jitter = 1e-9},
        {.open_jitter = 0.999},
        {.open_jitter = LULL_NONE},
        {.probes = 1},
        {.probes = LULL_BREAKER_MAX_PROBES},
        {.lease = 1},
        {.lease = LULL_DAY},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        start(good[i]);
        success(START);
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    }
}

/* ---- new settings for a breaker in use ---- */

static void configure_refuses_another_window(void **state) {
    (void)state;
    const struct {
        struct lull_breaker_config from, to;
        const char *field; /* NULL: allowed */
    } rows[] = {
        {{.by_count = true}, {.by_count = false}, "breaker.by_count"},
        {{.by_count = false}, {.by_count = true}, "breaker.by_count"},
        {{.by_count = true}, {.by_count = true, .calls = 99}, "breaker.calls"},
        {{.by_count = true, .calls = 9}, {.by_count = true}, "breaker.calls"},
        {{.slices = 10}, {.slices = 11}, "breaker.slices"},
        {{.slices = 10}, {0}, "breaker.slices"},
        {{.slices = 10}, {.slices = 10, .calls = 7}, NULL}, /* the other kind's size is nothing */
        {{.by_count = true}, {.by_count = true, .slices = 7}, NULL},
        {{0}, {.slices = LULL_BREAKER_SLICES}, NULL},
        {{.by_count = true}, {.by_count = true, .calls = LULL_BREAKER_CALLS}, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start(rows[i].from);
        struct lull_error error = {.field = NULL};
        int result = lull_breaker_configure(&breaker, &rows[i].to, &error);
        assert_int_equal(result, rows[i].field == NULL ? LULL_OK : LULL_EINVAL);
        if (rows[i].field == NULL)
            continue;
        assert_string_equal(error.field, rows[i].field);
        assert_non_null(strstr(error.message, rows[i].field));
        assert_int_equal(lull_breaker_configure(&breaker, &rows[i].to, NULL), LULL_EINVAL);
    }
}

static void configure(struct lull_breaker_config config) {
    config.by_count = true;
    config.calls = 4;
    config.on_transition = NULL; /* the callback is kept, whatever is given */
    config.context = NULL;
    assert_int_equal(lull_breaker_configure(&breaker, &config, NULL), LULL_OK);
}

static void configure_keeps_everything(void **state) {
    (void)state;
    for (int i = 0; i < SITUATIONS; i++) {
        struct permits permits = arrange((enum situation)i, true);
        struct lull_breaker_stats before = lull_breaker_snapshot(&breaker, NOW);
        configure((struct lull_breaker_config){.minimum_calls = 2, .probes = 7});
        struct lull_breaker_stats after = lull_breaker_snapshot(&breaker, NOW);
        assert_string_equal(letters(before, after, false), "");
        window_is(before.window_calls, before.window_failed, before.window_slow, NOW);
        assert_int_equal(after.state, before.state);
        assert_int_equal(after.generation, before.generation);
        assert_int_equal(after.open_until, before.open_until);
        assert_int_equal(after.probes_out, before.probes_out);
        assert_int_equal(after.probes_answered, before.probes_answered);
        uint64_t votes = before.calls;
        record(permits.current, LULL_VOTE_SUCCESS, NOW); /* permits stay good */
        bool voting = i != OPEN && i != FORCED && i != DISABLED;
        assert_int_equal(lull_breaker_snapshot(&breaker, NOW).calls, votes + voting);
        lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_FORCED_OPEN, NOW);
        lull_breaker_set_mode(&breaker, LULL_BREAKER_NORMAL, NOW);
        assert_true(journal.count >= 1);
    }
}

static void configure_is_felt_at_once(void **state) {
    (void)state;
    (void)arrange(BRINK, true); /* 1 of 3 failed, 1 slow */
    configure((struct lull_breaker_config){.minimum_calls = 3, .failure_rate = 0.25});
    success(NOW); /* 1 of 4 */
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);

    (void)arrange(BRINK, true);
    configure((struct lull_breaker_config){.minimum_calls = 3, .slow_rate = 0.25});
    success(NOW);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);

    (void)arrange(BRINK, true);
    configure((struct lull_breaker_config){.failure_rate = 0.75, .slow_call = SLOW});
    slow_success(NOW);
    failure(NOW);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    configure((struct lull_breaker_config){.open_time = 77, .open_jitter = LULL_NONE});
    failure(NOW);
    refused(LULL_REASON_CIRCUIT_OPEN, NOW + 77, NOW);

    (void)arrange(FULL, true);
    configure((struct lull_breaker_config){.probes = 3, .lease = 10});
    (void)admit(NOW + 10);
}

/* Half-open with three probes answered well when five were asked for, and now two are enough. */
static void configure_fewer_probes_does_not_wedge(void **state) {
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct lull_breaker_config config = touchy();
        config.probes = 5;
        lull_time now;
        uint32_t permit = half_open(config, 3, &now);
        for (int i = 0; i < 3; i++)
            record(permit, LULL_VOTE_SUCCESS, now);
        configure((struct lull_breaker_config){.probes = 2, .failure_rate = 0.25});
        assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
        permit = admit(now); /* nobody was out to decide: one more */
        refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
        record(permit, fails ? LULL_VOTE_FAILURE : LULL_VOTE_SUCCESS, now);
        assert_int_equal(state_now(), fails ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
        assert_int_equal(journal.events[1].calls, 4);
    }
}

static void configure_a_new_window_length(void **state) {
    (void)state;
    start((struct lull_breaker_config){.slices = 10, .window = 10 * LULL_SECOND});
    repeat(failure, 5, START);
    struct lull_breaker_config config = {.slices = 10, .window = 20 * LULL_SECOND};
    assert_int_equal(lull_breaker_configure(&breaker, &config, NULL), LULL_OK);
    window_is(5, 5, 0, START + 19 * LULL_SECOND - 1); /* a slice of 1 s and nine of 2 s */
    window_is(0, 0, 0, START + 19 * LULL_SECOND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_named_constants),
        cmocka_unit_test(zero_means_default),
        cmocka_unit_test(no_config_is_all_defaults),
        cmocka_unit_test(bad_settings_are_named),
        cmocka_unit_test(ends_of_the_ranges_are_good),
        cmocka_unit_test(configure_refuses_another_window),
        cmocka_unit_test(configure_keeps_everything),
        cmocka_unit_test(configure_is_felt_at_once),
        cmocka_unit_test(configure_fewer_probes_does_not_wedge),
        cmocka_unit_test(configure_a_new_window_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
