#include "testing.h"

#include "plan.h"

/* The word of a request whose first draw is `first`: splitmix64 backwards. */
static uint64_t word_drawing(uint64_t first) {
    uint64_t word = first;
    word ^= word >> 31 ^ word >> 62;
    word *= UINT64_C(0x319642b2d24d8ec3);
    word ^= word >> 27 ^ word >> 54;
    word *= UINT64_C(0x96de1b173f119089);
    word ^= word >> 30 ^ word >> 60;
    word -= UINT64_C(0x9e3779b97f4a7c15);
    uint64_t check = word;
    assert_true(lull_random_next(&check) == first);
    return word;
}

/* The word of a request that draws `share` of 1. */
static uint64_t at(double share) {
    return word_drawing((uint64_t)(share * 0x1p53) << 11);
}

static struct settings settings_of(const char *text) {
    struct settings settings = settings_defaults;
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    for (char *one = strsep(&rest, ";"); one != NULL && *one != '\0'; one = strsep(&rest, ";")) {
        struct settings_problem problem = {0};
        char *value = one;
        enum setting setting = setting_find(strsep(&value, "="), false, &problem);
        if (setting == SETTING_COUNT || !setting_read(&settings, setting, value, &problem.problem))
            fail_msg("%s: %s", text, problem.problem.text);
    }
    return settings;
}

static struct plan_state state_for(const struct settings *settings, lull_time now) {
    struct plan_state state = {.schedule_start = now};
    plan_limit_rate(&state, settings, false);
    return state;
}

static struct plan plan_of(const char *text, uint64_t word) {
    struct settings settings = settings_of(text);
    struct plan_state state = state_for(&settings, 0);
    return plan_request(&settings, &settings, &state, word, 0);
}

static void assert_plan(struct plan plan, enum effect effect, enum outcome outcome,
                        unsigned status) {
    assert_int_equal(plan.effect, effect);
    assert_string_equal(outcome_name(plan.outcome), outcome_name(outcome));
    assert_int_equal(plan.status, status);
}

static void test_nothing_is_wrong(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct plan plan = plan_of("", at(i / 100.0));
        assert_plan(plan, EFFECT_ANSWER, OUTCOME_OK, 200);
        assert_int_equal(plan.delay, 0);
        assert_int_equal(plan.bytes_per_second, 0);
        assert_int_equal(plan.gate, GATE_START);
    }
}

static void test_status(void **state) {
    (void)state;
    assert_plan(plan_of("status=500", at(0.9)), EFFECT_ANSWER, OUTCOME_FAILED, 500);
    assert_plan(plan_of("status=202", at(0.9)), EFFECT_ANSWER, OUTCOME_OK, 202);
    assert_plan(plan_of("fail=0.3", at(0.29)), EFFECT_ANSWER, OUTCOME_FAILED, FAILURE_STATUS);
    assert_plan(plan_of("fail=0.3", at(0.31)), EFFECT_ANSWER, OUTCOME_OK, 200);
    assert_plan(plan_of("fail=0.3;status=404", at(0.29)), EFFECT_ANSWER, OUTCOME_FAILED, 404);
    assert_plan(plan_of("fail=0.3;status=404", at(0.31)), EFFECT_ANSWER, OUTCOME_OK, 200);
    assert_plan(plan_of("fail=0;status=404", at(0)), EFFECT_ANSWER, OUTCOME_OK, 200);
    assert_plan(plan_of("fail=1;status=404", at(0.999)), EFFECT_ANSWER, OUTCOME_FAILED, 404);
}

static void test_redirect(void **state) {
    (void)state;
    assert_plan(plan_of("redirect=/x", at(0)), EFFECT_ANSWER, OUTCOME_OK, 302);
    assert_plan(plan_of("redirect=/x;status=307", at(0)), EFFECT_ANSWER, OUTCOME_OK, 307);
    assert_plan(plan_of("redirect=/x;fail=0.5;status=503", at(0.6)), EFFECT_ANSWER, OUTCOME_OK,
                302);
}

/* One draw decides between all: 0 … 0.1 … 0.2 … 0.3 … 0.4 … 0.5 … 0.6 … 1. */
static void test_shares(void **state) {
    (void)state;
    static const char all[] = "hang=0.1;close=0.1;reset=0.1;truncate=0.1;garbage=0.1;fail=0.1";
    static const struct {
        double draw;
        enum effect effect;
        enum outcome outcome;
        unsigned status;
    } rows[] = {
        {0.00, EFFECT_HANG, OUTCOME_HUNG, 0},
        {0.09, EFFECT_HANG, OUTCOME_HUNG, 0},
        {0.11, EFFECT_CLOSE, OUTCOME_CLOSED, 0},
        {0.19, EFFECT_CLOSE, OUTCOME_CLOSED, 0},
        {0.21, EFFECT_RESET, OUTCOME_RESET, 200},
        {0.29, EFFECT_RESET, OUTCOME_RESET, 200},
        {0.31, EFFECT_TRUNCATE, OUTCOME_TRUNCATED, 200},
        {0.41, EFFECT_GARBAGE, OUTCOME_GARBAGE, 0},
        {0.51, EFFECT_ANSWER, OUTCOME_FAILED, 503},
        {0.59, EFFECT_ANSWER, OUTCOME_FAILED, 503},
        {0.61, EFFECT_ANSWER, OUTCOME_OK, 200},
        {0.99, EFFECT_ANSWER, OUTCOME_OK, 200},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_plan(plan_of(all, at(rows[i].draw)), rows[i].effect, rows[i].outcome,
                    rows[i].status);
    assert_int_equal(plan_of(all, at(0)).until, LULL_NEVER);
}

static void test_shares_in_the_long_run(void **state) {
    (void)state;
    struct settings settings = settings_of("hang=0.1;fail=0.3");
    struct plan_state plan_state = state_for(&settings, 0);
    uint64_t random = 11;
    int counts[OUTCOME_COUNT] = {0};
    for (int i = 0; i < 100000; i++)
        counts[plan_request(&settings, &settings, &plan_state, lull_random_next(&random), 0)
                   .outcome]++;
    assert_in_range(counts[OUTCOME_HUNG], 9700, 10300);
    assert_in_range(counts[OUTCOME_FAILED], 29500, 30500);
    assert_int_equal(counts[OUTCOME_HUNG] + counts[OUTCOME_FAILED] + counts[OUTCOME_OK], 100000);
}

static void test_latency(void **state) {
    (void)state;
    assert_int_equal(plan_of("latency=50ms", at(0.5)).delay, 50 * MS);
    assert_int_equal(plan_of("latency=50ms;fail=1", at(0.5)).delay, 50 * MS);
    struct plan plan = plan_of("latency=50ms+-10ms", at(0.5));
    assert_in_range(plan.delay, 40 * MS, 60 * MS);
    /* The choice and the delay are independent draws of the same word, whatever is switched on. */
    assert_int_equal(plan_of("latency=50ms+-10ms;fail=0.1;hang=0.2", at(0.5)).delay, plan.delay);
}

static void test_slow_body(void **state) {
    (void)state;
    assert_int_equal(plan_of("slow-body=1k", at(0.5)).bytes_per_second, 1024);
    assert_int_equal(plan_of("slow-body=1k;fail=1", at(0.5)).bytes_per_second, 1024);
}

static void test_outages(void **state) {
    (void)state;
    static const struct {
        const char *settings;
        enum effect effect;
        enum outcome outcome;
        unsigned status;
    } rows[] = {
        {"outage=0s+1s:refuse", EFFECT_CLOSE, OUTCOME_CLOSED, 0},
        {"outage=0s+1s:hang", EFFECT_HANG, OUTCOME_HUNG, 0},
        {"outage=0s+1s:close", EFFECT_CLOSE, OUTCOME_CLOSED, 0},
        {"outage=0s+1s:reset", EFFECT_RESET, OUTCOME_RESET, 200},
        {"outage=0s+1s:truncate", EFFECT_TRUNCATE, OUTCOME_TRUNCATED, 200},
        {"outage=0s+1s:garbage", EFFECT_GARBAGE, OUTCOME_GARBAGE, 0},
        {"outage=0s+1s:error", EFFECT_ANSWER, OUTCOME_FAILED, 503},
        {"outage=0s+1s:error;status=500", EFFECT_ANSWER, OUTCOME_FAILED, 500},
        {"outage=0s+1s:error;status=202", EFFECT_ANSWER, OUTCOME_FAILED, 503},
        {"outage=0s+1s:error;fail=0;status=429", EFFECT_ANSWER, OUTCOME_FAILED, 429},
        {"outage=0s+1s:slow", EFFECT_ANSWER, OUTCOME_OK, 200},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings = settings_of(rows[i].settings);
        settings.latency.typical = 5 * SECOND;
        struct plan_state plan_state = state_for(&settings, 7 * SECOND);
        struct plan plan = plan_request(&settings, &settings, &plan_state, at(0.5), 7 * SECOND);
        assert_plan(plan, rows[i].effect, rows[i].outcome, rows[i].status);
        assert_int_equal(plan.delay, 0);
        assert_int_equal(plan.gate, GATE_FULL); /* takes no place that it would have to give back */
        assert_int_equal(plan_state.gate.serving, 0);
        plan = plan_request(&settings, &settings, &plan_state, at(0.5), 8 * SECOND);
        assert_int_equal(plan.gate, GATE_START); /* it is over */
    }
}

static void test_hang_ends_with_the_outage(void **state) {
    (void)state;
    struct settings settings = settings_of("outage=2s+3s:hang");
    struct plan_state plan_state = state_for(&settings, 100 * SECOND);
    struct plan plan = plan_request(&settings, &settings, &plan_state, at(0), 104 * SECOND);
    assert_int_equal(plan.until, 105 * SECOND);
    struct outage_state outage = plan_outage(&settings, &plan_state, 101 * SECOND);
    assert_int_equal(outage.mode, OUTAGE_NONE);
    assert_int_equal(outage.change, 102 * SECOND);
}

static void test_slow_outage(void **state) {
    (void)state;
    assert_int_equal(plan_of("outage=0s+1s:slow", at(0)).bytes_per_second, SLOW_OUTAGE_BYTES);
    assert_int_equal(plan_of("outage=0s+1s:slow;slow-body=3", at(0)).bytes_per_second, 3);
}

/* 2/s: two at once, then 429 until a token is due, to the nanosecond. */
static void test_rate(void **state) {
    (void)state;
    struct settings settings = settings_of("rate=2/s;fail=1");
    struct plan_state plan_state = state_for(&settings, 0);
    for (int i = 0; i < 2; i++)
        assert_plan(plan_request(&settings, &settings, &plan_state, at(0), 0), EFFECT_ANSWER,
                    OUTCOME_FAILED, 503);
    struct plan plan = plan_request(&settings, &settings, &plan_state, at(0), 100 * MS);
    assert_plan(plan, EFFECT_ANSWER, OUTCOME_RATE_LIMITED, 429);
    assert_int_equal(plan.token_due_in, 400 * MS);
    assert_int_equal(plan.gate, GATE_FULL);
    assert_plan(plan_request(&settings, &settings, &plan_state, at(0), 500 * MS), EFFECT_ANSWER,
                OUTCOME_FAILED, 503);
}

static void test_burst(void **state) {
    (void)state;
    struct settings settings = settings_of("rate=100/s;burst=1");
    struct plan_state plan_state = state_for(&settings, 0);
    assert_int_equal(plan_request(&settings, &settings, &plan_state, 0, 0).status, 200);
    assert_int_equal(plan_request(&settings, &settings, &plan_state, 0, 0).status, 429);
}

/* What is taken stays taken when the limit changes. */
static void test_rate_changes(void **state) {
    (void)state;
    struct settings settings = settings_of("rate=2/s");
    struct plan_state plan_state = state_for(&settings, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(plan_request(&settings, &settings, &plan_state, 0, 0).status, 200);
    plan_limit_rate(&plan_state, &settings, true);
    assert_int_equal(plan_request(&settings, &settings, &plan_state, 0, 0).status, 429);
    plan_limit_rate(&plan_state, &settings, false);
    assert_int_equal(plan_request(&settings, &settings, &plan_state, 0, 0).status, 200);
}

static void test_gate(void **state) {
    (void)state;
    struct settings settings = settings_of("workers=1;queue=1;latency=10ms;fail=1");
    struct plan_state plan_state = state_for(&settings, 0);
    struct plan plan = plan_request(&settings, &settings, &plan_state, at(0), 0);
    assert_int_equal(plan.gate, GATE_START);
    plan = plan_request(&settings, &settings, &plan_state, at(0), 0);
    assert_int_equal(plan.gate, GATE_WAIT);
    assert_int_equal(plan.delay, 10 * MS); /* from its start */
    assert_int_equal(plan.status, 503);
    plan = plan_request(&settings, &settings, &plan_state, at(0), 0);
    assert_plan(plan, EFFECT_ANSWER, OUTCOME_QUEUE_FULL, 503);
    assert_int_equal(plan.delay, 0);
}

/* A request's own settings decide what it gets, not whether the server takes it. */
static void test_override(void **state) {
    (void)state;
    struct settings settings = settings_of("rate=1/s;fail=1");
    struct settings own = settings;
    struct settings_problem problem;
    assert_true(settings_override(&own, "status=418; latency=5ms", &problem));
    struct plan_state plan_state = state_for(&settings, 0);
    struct plan plan = plan_request(&settings, &own, &plan_state, at(0), 0);
    assert_plan(plan, EFFECT_ANSWER, OUTCOME_FAILED, 418);
    assert_int_equal(plan.delay, 5 * MS);
    assert_plan(plan_request(&settings, &own, &plan_state, at(0), 0), EFFECT_ANSWER,
                OUTCOME_RATE_LIMITED, 429);
}

static void test_the_same_word_decides_the_same(void **state) {
    (void)state;
    static const char text[] = "hang=0.1;reset=0.2;fail=0.3;latency=lognormal:5ms:p99=50ms";
    uint64_t random = 5;
    for (int i = 0; i < 100; i++) {
        uint64_t word = lull_random_next(&random);
        struct plan one = plan_of(text, word), other = plan_of(text, word);
        assert_int_equal(one.outcome, other.outcome);
        assert_int_equal(one.delay, other.delay);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_wrong),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_redirect),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shares_in_the_long_run),
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_slow_body),
        cmocka_unit_test(test_outages),
        cmocka_unit_test(test_hang_ends_with_the_outage),
        cmocka_unit_test(test_slow_outage),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_rate_changes),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_the_same_word_decides_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
