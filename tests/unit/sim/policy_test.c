#include "testing.h"

#include "policy.h"
#include "scenario_file.h"

#define REST                                                                                       \
    "name: test\n"                                                                                 \
    "duration: 2m\n"                                                                               \
    "clients: [{name: web, calls: shop, rate: 100/s}]\n"                                           \
    "services: [{name: shop, latency: {mean: 20ms}}]\n"                                            \
    "policies:\n"

enum { ALL = 15 };

static int read_policies(const char *policies, struct sim_scenario *scenario, char said[1000]) {
    struct reader_error error;
    char text[4000];
    snprintf(text, sizeof text, REST "%s", policies);
    int result = scenario_read_text("test.yaml", text, strlen(text), scenario, &error);
    reader_error_format(&error, said, 1000);
    return result;
}

/* ---- YAML ---- */

static void test_every_key(void **state) {
    (void)state;
    static const char text[] =
        "  - name: all\n"
        "    note: Every key.\n"
        "    attempts: 7\n"
        "    base: 2s\n"
        "    cap: 20s\n"
        "    multiplier: 3\n"
        "    jitter: proportional\n"
        "    jitter_factor: 0.2\n"
        "    tiers: [30s, 5m, 30m]\n"
        "    deadline: none\n"
        "    attempt_timeout: 3s\n"
        "    retry_after_cap: 10m\n"
        "    with: [budget, breaker, rate_limit, bulkhead]\n"
        "    budget: {ratio: none, window: 20s, cap_seconds: 3, floor: none}\n"
        "    breaker: {by_count: true, window: 1m, slices: 6, calls: 50, minimum_calls: 20, "
        "failure_rate: 0.4, slow_rate: 0.6, slow_call: none, open_time: 3s, open_max: 1m, "
        "open_growth: 1.5, open_jitter: none, probes: 3, lease: 10s}\n"
        "    rate_limit: {capacity: 50, rate: 100/m}\n"
        "    bulkhead: {limit: 5, queue: none}\n"
        "    admission: true\n"
        "    edge_only: true\n"
        "    bulkheads: true\n"
        "    lanes: true\n";
    static struct sim_scenario scenario;
    char said[1000];
    if (read_policies(text, &scenario, said) != LULL_OK)
        fail_msg("%s", said);
    const struct sim_policy expected =
        {
            .name = "all",
            .note = "Every key.",
            .guard =
                {
                    .retry = {.attempts = 7,
                              .backoff = {.base = 2 * SECOND,
                                          .cap = 20 * SECOND,
                                          .multiplier = 3,
                                          .jitter = LULL_JITTER_PROPORTIONAL,
                                          .jitter_factor = 0.2,
                                          .tier_count = 3,
                                          .tiers = {30 * SECOND, 5 * LULL_MINUTE,
                                                    30 * LULL_MINUTE}},
                              .deadline = LULL_NONE,
                              .attempt_timeout = 3 * SECOND,
                              .retry_after_cap = 10 * LULL_MINUTE},
                    .breaker = {.by_count = true,
                                .window = LULL_MINUTE,
                                .slices = 6,
                                .calls = 50,
                                .minimum_calls = 20,
                                .failure_rate = 0.4,
                                .slow_rate = 0.6,
                                .slow_call = LULL_NONE,
                                .open_time = 3 * SECOND,
                                .open_max = LULL_MINUTE,
                                .open_growth = 1.5,
                                .open_jitter = LULL_NONE,
                                .probes = 3,
                                .lease = 10 * SECOND},
                    .budget = {.ratio = LULL_NONE,
                               .window = 20 * SECOND,
                               .cap_seconds = 3,
                               .floor = LULL_NONE},
                    .bucket = {.capacity = 50, .rate = 100, .per = LULL_MINUTE},
                    .bulkhead = {.limit = 5, .queue = LULL_NONE},
                },
            .admission = true,
            .edge_only = true,
            .bulkheads = true,
            .lanes = true,
        };
    assert_memory_equal(&scenario.policies[0], &expected, sizeof expected);
}

static void test_presets_in_yaml(void **state) {
    (void)state;
    static struct sim_scenario scenario;
    char said[1000];
    /* The preset lays the ground, wherever it stands. */
    assert_int_equal(read_policies("  - {name: bare}\n"
                                   "  - {name: own, attempts: 2, preset: gateway}\n"
                                   "  - {name: on, preset: gateway, with: [breaker]}\n",
                                   &scenario, said),
                     LULL_OK);
    static const struct lull_guard_config bare = {.without = ALL};
    assert_memory_equal(&scenario.policies[0].guard, &bare, sizeof bare);
    struct lull_guard_config own = *lull_preset("gateway");
    own.retry.attempts = 2;
    own.without = ALL;
    assert_memory_equal(&scenario.policies[1].guard, &own, sizeof own);
    assert_int_equal(scenario.policies[2].guard.without, ALL & ~LULL_WITHOUT_BREAKER);
}

static void test_wrong_policies(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"  - {attempts: 2}\n", "test.yaml:6: policies[0].name: is missing"},
        {"  - {name: a, preset: gatway}\n",
         "test.yaml:6: policies[0].preset: there is no preset \"gatway\"; did you mean gateway? "
         "There "
         "are interactive, gateway, worker, checkout, webhook, stream"},
        {"  - {name: a, attempts: 0}\n",
         "test.yaml:6: policies[0].attempts: \"0\" is out of range; it must be from 1 to 1000"},
        {"  - {name: a, jitter: fulll}\n", "test.yaml:6: policies[0].jitter: \"fulll\" is not "
                                           "known; did you mean full? There are none, "
                                           "full, equal, decorrelated, additive, proportional"},
        {"  - {name: a, jitter: full, jitter_factor: 0.5}\n",
         "test.yaml:6: policies[0].jitter_factor: is for the jitters additive and proportional "
         "only"},
        {"  - {name: a, jitter_factor: 0.5}\n", "test.yaml:6: policies[0].jitter_factor: is for "
                                                "the jitters additive and proportional only"},
        {"  - {name: a, with: [budgte]}\n", "test.yaml:6: policies[0].with[0]: \"budgte\" is not "
                                            "known; did you mean budget? There are "
                                            "budget, breaker, rate_limit, bulkhead"},
        {"  - name: a\n    breaker:\n      window: 10s\n",
         "test.yaml:8: policies[0].breaker: is set, but not turned on; add breaker to the list of "
         "\"with\""},
        {"  - {name: a, bulkheads: true}\n", "test.yaml:6: policies[0].bulkheads: replaces thread "
                                             "pools by the guard's bulkhead, which is "
                                             "not turned on; add bulkhead to the list of \"with\""},
        {"  - {name: a, with: [rate_limit], rate_limit: {rate: 12k}}\n",
         "test.yaml:6: policies[0].rate_limit.rate: \"12k\" is not a rate; write for example "
         "1000/s "
         "or 100/m"},
        {"  - {name: a, with: [rate_limit], rate_limit: {rate: 0.5/s}}\n",
         "test.yaml:6: policies[0].rate_limit.rate: \"0.5/s\" is out of range; it must be a whole "
         "number from 1 to 1000000000"},
        {"  - {name: a, with: [rate_limit], rate_limit: {rate: 1.5/s}}\n",
         "test.yaml:6: policies[0].rate_limit.rate: \"1.5/s\" is out of range; it must be a whole "
         "number from 1 to 1000000000"},
        {"  - {name: a, with: [rate_limit], rate_limit: {rate: 2000000000/s}}\n",
         "test.yaml:6: policies[0].rate_limit.rate: \"2000000000/s\" is out of range; it must be a "
         "whole number from 1 to 1000000000"},
        {"  - {name: a, with: [bulkhead], bulkhead: {queue: 0}}\n",
         "test.yaml:6: policies[0].bulkhead.queue: \"0\" is out of range; it must be from 1 to "
         "1000000, or none"},
        {"  - {name: a, tiers: []}\n",
         "test.yaml:6: policies[0].tiers: has too few entries; at least 1 must be there"},
        /* What only the library can tell, in the words of the file: */
        {"  - name: a\n    base: 2s\n    cap: 1s\n",
         "test.yaml:8: policies[0].cap: is 1s, less than base (2s); raise the cap"},
        {"  - name: a\n    base: 5s\n",
         "test.yaml:6: policies[0].cap: is 2s, less than base (5s); raise the cap"},
        {"  - name: a\n    with: [breaker]\n    breaker:\n      open_time: 10m\n      open_max: "
         "5m\n",
         "test.yaml:10: policies[0].breaker.open_max: is 5m, less than breaker.open_time (10m); "
         "raise "
         "it"},
        {"  - name: a\n    with: [rate_limit]\n    rate_limit:\n      capacity: 1000000000\n      "
         "rate: "
         "1/h\n",
         "test.yaml:9: policies[0].rate_limit.capacity: is 1000000000; at that rate it would take "
         "over 100 years to fill"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct sim_scenario scenario;
        char said[1000];
        assert_int_equal(read_policies(rows[i].text, &scenario, said), LULL_EINVAL);
        assert_string_equal(said, rows[i].said);
    }
}

/* ---- the command line ---- */

static struct sim_scenario with_policies(const char *policies) {
    struct sim_scenario scenario;
    char said[1000];
    if (read_policies(policies, &scenario, said) != LULL_OK)
        fail_msg("%s", said);
    return scenario;
}

#define NAIVE                                                                                      \
    "  - {name: naive, attempts: 3, base: 2s, cap: 2s, multiplier: 1, jitter: none, deadline: "    \
    "9s, "                                                                                         \
    "attempt_timeout: 4s}\n"
#define CURED                                                                                      \
    "  - {name: lull, note: It, preset: worker, attempt_timeout: 6s, with: [budget, breaker], "    \
    "breaker: {window: 10s}, admission: true, lanes: true}\n"

static struct sim_policy parsed(const struct sim_scenario *scenario, const char *expression) {
    struct sim_policy policy;
    char message[READER_MESSAGE_SIZE];
    memset(&policy, 0xa5, sizeof policy);
    if (policy_parse(scenario, expression, &policy, message) != LULL_OK)
        fail_msg("%s: %s", expression, message);
    assert_string_equal(message, "");
    return policy;
}

static void test_names(void **state) {
    (void)state;
    struct sim_scenario scenario =
        with_policies(NAIVE CURED "  - {name: full+budget, attempts: 9}\n");
    for (uint32_t i = 0; i < scenario.policy_count; i++) {
        struct sim_policy policy = parsed(&scenario, scenario.policies[i].name);
        assert_memory_equal(&policy, &scenario.policies[i], sizeof policy);
    }
}

static void test_presets(void **state) {
    (void)state;
    static const struct {
        const char *name;
        lull_duration timeout;
    } rows[] = {{"interactive", 4 * SECOND}, {"gateway", 5 * SECOND}, {"stream", 4 * SECOND}};
    struct sim_scenario scenario = with_policies(NAIVE), empty = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sim_policy policy = parsed(&scenario, rows[i].name);
        struct lull_guard_config preset = *lull_preset(rows[i].name);
        preset.retry.attempt_timeout = rows[i].timeout;
        assert_memory_equal(&policy.guard, &preset, sizeof preset);
        assert_string_equal(policy.name, rows[i].name);
    }
    assert_int_equal(parsed(&empty, "webhook").guard.retry.attempt_timeout, SECOND);
    assert_int_equal(parsed(&empty, "webhook").guard.without, 0);
}

static void test_ways(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t attempts;
        lull_duration base, cap;
        double multiplier;
        enum lull_jitter jitter;
    } rows[] = {
        {"none", 1, SECOND, 30 * SECOND, 0, LULL_JITTER_DEFAULT},
        {"fixed", 4, SECOND, SECOND, 1, LULL_JITTER_NONE},
        {"exponential", 4, SECOND, 30 * SECOND, 0, LULL_JITTER_NONE},
        {"full", 4, SECOND, 30 * SECOND, 0, LULL_JITTER_FULL},
        {"equal", 4, SECOND, 30 * SECOND, 0, LULL_JITTER_EQUAL},
        {"decorrelated", 4, SECOND, 30 * SECOND, 0, LULL_JITTER_DECORRELATED},
        {"additive", 4, SECOND, 30 * SECOND, 0, LULL_JITTER_ADDITIVE},
        {"proportional", 4, SECOND, 30 * SECOND, 0, LULL_JITTER_PROPORTIONAL},
    };
    struct sim_scenario empty = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sim_policy policy = parsed(&empty, rows[i].name);
        const struct lull_retry_config *retry = &policy.guard.retry;
        assert_string_equal(policy.name, rows[i].name);
        assert_int_equal(retry->attempts, rows[i].attempts);
        assert_int_equal(retry->backoff.base, rows[i].base);
        assert_int_equal(retry->backoff.cap, rows[i].cap);
        assert_true(retry->backoff.multiplier == rows[i].multiplier);
        assert_int_equal(retry->backoff.jitter, rows[i].jitter);
        assert_int_equal(retry->deadline, LULL_NONE);
        assert_int_equal(retry->attempt_timeout, SECOND);
        assert_int_equal(policy.guard.without, ALL);
    }
}

/* Attempts, base and time-outs are the naive policy's; a fixed delay's cap is not taken over. */
static void test_the_start(void **state) {
    (void)state;
    struct sim_scenario scenario = with_policies(NAIVE);
    struct sim_policy policy = parsed(&scenario, "full");
    assert_int_equal(policy.guard.retry.attempts, 3);
    assert_int_equal(policy.guard.retry.backoff.base, 2 * SECOND);
    assert_int_equal(policy.guard.retry.backoff.cap, 60 * SECOND);
    assert_true(policy.guard.retry.backoff.multiplier == 2);
    assert_int_equal(policy.guard.retry.deadline, 9 * SECOND);
    assert_int_equal(policy.guard.retry.attempt_timeout, 4 * SECOND);

    scenario = with_policies("  - {name: fixed, tiers: [5s], base: 3s, cap: 7s}\n");
    policy = parsed(&scenario, "equal");
    assert_int_equal(policy.guard.retry.backoff.tier_count, 0);
    assert_int_equal(policy.guard.retry.backoff.base, 3 * SECOND);
    assert_int_equal(policy.guard.retry.backoff.cap, 7 * SECOND);

    /* The library's defaults are what a policy does that names no delays. */
    scenario = with_policies("  - {name: naive}\n");
    policy = parsed(&scenario, "fixed");
    assert_int_equal(policy.guard.retry.backoff.base, LULL_BACKOFF_BASE);
    assert_int_equal(policy.guard.retry.backoff.cap, LULL_BACKOFF_BASE);

    /* Without a way to wait, it waits as the start does. */
    scenario = with_policies(NAIVE);
    policy = parsed(&scenario, "budget");
    assert_memory_equal(&policy.guard.retry, &scenario.policies[0].guard.retry,
                        sizeof policy.guard.retry);
    assert_int_equal(policy.guard.without, ALL & ~LULL_WITHOUT_BUDGET);

    /* A policy of the scenario is a start, too. */
    scenario = with_policies(NAIVE "  - {name: mine, attempts: 8, with: [breaker]}\n");
    policy = parsed(&scenario, "mine+edge");
    assert_int_equal(policy.guard.retry.attempts, 8);
    assert_int_equal(policy.guard.without, ALL & ~LULL_WITHOUT_BREAKER);
    assert_true(policy.edge_only);
    assert_string_equal(policy.name, "mine+edge");
    policy = parsed(&scenario, "gateway+lanes");
    assert_int_equal(policy.guard.without, 0);
    assert_int_equal(policy.guard.retry.attempt_timeout, 5 * SECOND);
    assert_true(policy.lanes);
    assert_string_equal(policy.note, "");
}

static void test_features(void **state) {
    (void)state;
    struct sim_scenario empty = {0};
    struct sim_policy policy = parsed(&empty, "full+rate_limit+bulkhead+edge+lanes+full");
    assert_int_equal(policy.guard.without, LULL_WITHOUT_BUDGET | LULL_WITHOUT_BREAKER);
    assert_true(policy.edge_only && policy.lanes && policy.bulkheads && !policy.admission);
    policy = parsed(&empty, "budget+breaker+admission");
    assert_int_equal(policy.guard.without, LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD);
    assert_true(!policy.edge_only && !policy.lanes && !policy.bulkheads && policy.admission);

    /* Their settings are those of the scenario's lull. */
    struct sim_scenario scenario = with_policies(NAIVE CURED);
    policy = parsed(&scenario, "full+breaker");
    assert_int_equal(policy.guard.breaker.window, 10 * SECOND);
    assert_int_equal(policy.guard.retry.attempts, 3);
    assert_false(policy.lanes);
}

static void test_lull(void **state) {
    (void)state;
    struct sim_scenario empty = {0}, scenario = with_policies(NAIVE CURED);
    struct sim_policy policy = parsed(&empty, "lull");
    assert_int_equal(policy.guard.without, LULL_WITHOUT_BUCKET);
    assert_true(policy.admission && policy.bulkheads);
    assert_int_equal(policy.guard.retry.backoff.jitter, LULL_JITTER_FULL);
    assert_int_equal(parsed(&empty, "equal+lull").guard.retry.backoff.jitter, LULL_JITTER_EQUAL);
    assert_int_equal(parsed(&empty, "none+lull").guard.retry.attempts, 1);

    policy = parsed(&scenario, "equal+lull");
    assert_int_equal(policy.guard.retry.attempts, 3);
    assert_int_equal(policy.guard.retry.backoff.jitter, LULL_JITTER_EQUAL);
    assert_int_equal(policy.guard.without, LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD);
    assert_int_equal(policy.guard.breaker.window, 10 * SECOND);
    assert_true(policy.lanes && policy.admission);
    assert_string_equal(policy.name, "equal+lull");
    policy = parsed(&scenario, "lull+edge");
    assert_int_equal(policy.guard.retry.attempts, 4);
    assert_true(policy.edge_only && policy.lanes);
    scenario.policy_count = 1;
    policy = parsed(&scenario, "naive+lull");
    assert_int_equal(policy.guard.retry.backoff.jitter, LULL_JITTER_NONE);
}

static void test_long_name(void **state) {
    (void)state;
    struct sim_scenario empty = {0};
    assert_string_equal(
        parsed(&empty, "exponential+budget+breaker+bulkhead+admission+edge+lanes").name,
        "exponential+budget+breaker+bulkhead+admissio...");
}

#define WORDS                                                                                      \
    "ords to join with + are none, fixed, exponential, full, equal, decorrelated, additive, "      \
    "proportional, budget, breaker, rate_limit, bulkhead, edge, lanes, admission, lull"
#define PRESETS "presets are interactive, gateway, worker, checkout, webhook, stream; w" WORDS
#define HAS "he scenario has naive, lull; " PRESETS

static void test_unknown_words(void **state) {
    (void)state;
    static const struct {
        const char *expression, *said;
    } rows[] = {
        {"fulll", "there is no policy \"fulll\"; did you mean full? T" HAS},
        {"nave", "there is no policy \"nave\"; did you mean naive? T" HAS},
        {"getaway+lanes", "there is no policy \"getaway\"; did you mean gateway? T" HAS},
        {"something", "there is no policy \"something\"; t" HAS},
        {"", "there is no policy \"\"; t" HAS},
        {"full+budgte", "there is no part of a policy \"budgte\"; did you mean budget? W" WORDS},
        {"full+", "there is no part of a policy \"\"; w" WORDS},
        {"full+gateway", "there is no part of a policy \"gateway\"; w" WORDS},
        {"full+equal", "full and equal are both ways to wait between attempts; choose one"},
    };
    struct sim_scenario scenario = with_policies(NAIVE CURED), empty = {0};
    struct sim_policy policy;
    char message[READER_MESSAGE_SIZE];
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(policy_parse(&scenario, rows[i].expression, &policy, message),
                         LULL_EINVAL);
        assert_string_equal(message, rows[i].said);
    }
    assert_int_equal(policy_parse(&empty, "x+y", &policy, message), LULL_EINVAL);
    assert_string_equal(message, "there is no policy \"x\"; " PRESETS);
}

/* A scenario made by a program was not checked by the reader. */
static void test_invalid_start(void **state) {
    (void)state;
    struct sim_scenario scenario = {
        .policy_count = 1,
        .policies = {{.name = "naive",
                      .guard = {.retry = {.backoff = {.base = 2 * SECOND, .cap = SECOND}}}}}};
    struct sim_policy policy;
    char message[READER_MESSAGE_SIZE];
    assert_int_equal(policy_parse(&scenario, "naive", &policy, message), LULL_EINVAL);
    assert_string_equal(message, "cap is 1s, less than base (2s); raise the cap");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key),      cmocka_unit_test(test_presets_in_yaml),
        cmocka_unit_test(test_wrong_policies), cmocka_unit_test(test_names),
        cmocka_unit_test(test_presets),        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_the_start),      cmocka_unit_test(test_features),
        cmocka_unit_test(test_lull),           cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_unknown_words),  cmocka_unit_test(test_invalid_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
