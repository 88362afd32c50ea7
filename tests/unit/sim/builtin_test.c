/* What the built-in scenarios show, over many seeds: if one of these fails, the documents are wrong, too. */
#include "testing.h"

#include "../sim/builtin.h"
#include "../sim/run.h"
#include "../sim/scenario_file.h"

static struct sim_scenario scenario;

static void load(const char *name, double scale) {
    struct reader_error error;
    assert_int_equal(scenario_read(name, &scenario, &error), LULL_OK);
    scenario.scale = scale;
}

static struct sim_result run(const char *policy, uint64_t seed) {
    struct sim_result result = {0};
    for (uint32_t i = 0; i < scenario.policy_count; i++)
        if (strcmp(scenario.policies[i].name, policy) == 0) {
            assert_int_equal(sim_run(&scenario, i, seed, NULL, NULL, &result, NULL), LULL_OK);
            return result;
        }
    fail_msg("%s has no policy %s", scenario.name, policy);
    return result;
}

/* ---- checkout ---- */

static void test_checkout_naive_never_recovers(void **state) {
    (void)state;
    load("checkout", 0.02);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_result result = run("naive", seed);
        assert_true(result.recovery_s < 0);
        assert_true(result.attempts_per_request >= 3);
        sim_result_clean_up(&result);
    }
}

/* At a fifth of the size, so that chance arrivals alone do not make a second of 1.2 × the normal load. */
static void test_checkout_lull_is_back_in_seconds(void **state) {
    (void)state;
    load("checkout", 0.2);
    scenario.duration = 200 * SECOND;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_result result = run("lull", seed);
        assert_true(result.recovery_s >= 0 && result.recovery_s <= 10);
        assert_true(result.calm_peak <= 1.2);
        sim_result_clean_up(&result);
    }
}

/* How much the load jumps from second to second while retries of the outage come back, relative to it. */
static double roughness(const struct sim_result *result) {
    double jumps = 0, load_sum = 0;
    for (uint32_t second = 92; second < 115; second++) {
        jumps += fabs(result->offered[second] - result->offered[second - 1]);
        load_sum += result->offered[second];
    }
    return jumps / load_sum;
}

static void test_checkout_without_jitter_comes_in_waves(void **state) {
    (void)state;
    load("checkout", 0.1);
    scenario.duration = 120 * SECOND;
    struct sim_result plain = run("exponential", 1), jittered = run("full", 1);
    assert_true(roughness(&plain) > 3 * roughness(&jittered));
    sim_result_clean_up(&plain);
    sim_result_clean_up(&jittered);
}

/* ---- webhook ---- */

static void test_webhook_healthy_destination_is_left_alone(void **state) {
    (void)state;
    load("webhook", 1);
    scenario.duration = 15 * LULL_MINUTE;
    struct sim_result bad_day = run("lull", 1), shared = run("full", 1);
    for (uint32_t i = 0; i < scenario.service_count; i++)
        scenario.services[i].fault_count = 0;
    struct sim_result good_day = run("lull", 1);
    const struct sim_group *healthy = &bad_day.groups[1];
    assert_string_equal(healthy->name, scenario.clients[1].name);
    assert_true(healthy->p99_ms <= 1.2 * good_day.groups[1].p99_ms);
    assert_true(shared.groups[1].p99_ms >
                10 * good_day.groups[1].p99_ms); /* without lanes it is not */
    assert_int_equal(bad_day.errors, 0);
    sim_result_clean_up(&bad_day);
    sim_result_clean_up(&shared);
    sim_result_clean_up(&good_day);
}

/* ---- gateway ---- */

static void test_gateway_does_not_take_the_catalogue_along(void **state) {
    (void)state;
    load("gateway", 1);
    scenario.duration = 10 * LULL_MINUTE;
    struct sim_result naive = run("naive", 1), cured = run("lull", 1);
    assert_true(naive.groups[1].p99_ms > 5000);
    assert_true(cured.groups[1].p99_ms < 200);
    sim_result_clean_up(&naive);
    sim_result_clean_up(&cured);
}

/* ---- push and chain ---- */

static void test_push_and_chain(void **state) {
    (void)state;
    load("push", 0.1);
    struct sim_result naive = run("naive", 1), cured = run("lull", 1);
    assert_true(naive.peak_load > cured.peak_load);
    assert_true(cured.recovery_s >= 0);
    sim_result_clean_up(&naive);
    sim_result_clean_up(&cured);
    load("chain", 1);
    naive = run("naive", 1);
    cured = run("edge", 1);
    assert_true(naive.peak_load > 5 * cured.peak_load);
    sim_result_clean_up(&naive);
    sim_result_clean_up(&cured);
}

static void test_each_has_a_name_and_a_summary(void **state) {
    (void)state;
    static const char *const names[] = {"checkout", "gateway", "webhook", "push", "chain"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(builtin_at(i)->name, names[i]);
        assert_true(strlen(builtin_at(i)->summary) > 10);
        assert_non_null(builtin_scenario(names[i]));
    }
    assert_null(builtin_at(COUNT(names)));
    assert_null(builtin_scenario("nothing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkout_naive_never_recovers),
        cmocka_unit_test(test_checkout_lull_is_back_in_seconds),
        cmocka_unit_test(test_checkout_without_jitter_comes_in_waves),
        cmocka_unit_test(test_webhook_healthy_destination_is_left_alone),
        cmocka_unit_test(test_gateway_does_not_take_the_catalogue_along),
        cmocka_unit_test(test_push_and_chain),
        cmocka_unit_test(test_each_has_a_name_and_a_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
