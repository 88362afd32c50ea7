/* The simulator against arithmetic: where the answer can be worked out, it must come out. */
#include "testing.h"

#include "../sim/run.h"

#define WITHOUT_ALL                                                                                \
    (LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD)

static struct sim_service *add_service(struct sim_scenario *scenario, const char *name) {
    struct sim_service *service = &scenario->services[scenario->service_count++];
    snprintf(service->name, sizeof service->name, "%s", name);
    service->latency = (struct sim_latency){SIM_LATENCY_FIXED, 10 * MS, 0};
    return service;
}

static struct sim_client *add_client(struct sim_scenario *scenario, const char *calls,
                                     double rate) {
    struct sim_client *client = &scenario->clients[scenario->client_count++];
    snprintf(client->name, sizeof client->name, "client-of-%s", calls);
    snprintf(client->calls, sizeof client->calls, "%s", calls);
    client->rate = rate;
    return client;
}

static struct sim_policy *add_policy(struct sim_scenario *scenario, uint32_t attempts) {
    struct sim_policy *policy = &scenario->policies[scenario->policy_count++];
    snprintf(policy->name, sizeof policy->name, "%u attempts", attempts);
    policy->guard.without = WITHOUT_ALL;
    policy->guard.retry.attempts = attempts;
    policy->guard.retry.deadline = LULL_NONE;
    return policy;
}

static void add_fault(struct sim_service *service, enum sim_fault_kind kind, lull_time at,
                      lull_duration length, double share, double factor) {
    service->faults[service->fault_count++] = (struct sim_fault){kind, at, length, share, factor};
}

static struct sim_result run(struct sim_scenario *scenario, uint32_t policy, uint64_t seed) {
    struct sim_result result;
    struct lull_error error = {0};
    int code = sim_run(scenario, policy, seed, NULL, NULL, &result, &error);
    if (code != LULL_OK)
        print_error("%s\n", error.message);
    assert_int_equal(code, LULL_OK);
    return result;
}

static void assert_near(double value, double expected, double tolerance) {
    if (fabs(value - expected) > tolerance * expected)
        print_error("%g is not within %g %% of %g\n", value, 100 * tolerance, expected);
    assert_true(fabs(value - expected) <= tolerance * expected);
}

/* Half of the calls fail, three retries: 1 + 1/2 + 1/4 + 1/8 attempts, 1 - 1/16 succeed. */
static void half_fails(struct sim_scenario *scenario) {
    *scenario = (struct sim_scenario){.duration = 120 * SECOND};
    struct sim_service *service = add_service(scenario, "coin");
    add_fault(service, SIM_FAULT_ERROR, 0, 120 * SECOND, 0.5, 0);
    add_client(scenario, "coin", 1000);
}

static void test_retries_of_a_coin(void **state) {
    (void)state;
    struct sim_scenario scenario;
    half_fails(&scenario);
    add_policy(&scenario, 4);
    add_policy(&scenario, 1);
    struct sim_result result = run(&scenario, 0, 1);
    assert_near(result.attempts_per_request, 1.875, 0.01);
    assert_near(result.goodput, 0.9375, 0.01);
    sim_result_clean_up(&result);
    result = run(&scenario, 1, 1);
    assert_near(result.attempts_per_request, 1, 0.0001);
    assert_near(result.goodput, 0.5, 0.01);
    assert_int_equal(result.errors, result.groups[0].failed);
    sim_result_clean_up(&result);
}

static void test_budget_bounds_retries(void **state) {
    (void)state;
    struct sim_scenario scenario;
    half_fails(&scenario);
    add_policy(&scenario, 4)->guard.without = WITHOUT_ALL & ~LULL_WITHOUT_BUDGET;
    struct sim_result result = run(&scenario, 0, 1);
    assert_true(result.attempts_per_request <= 1.11);
    assert_true(result.attempts_per_request >= 1.05);
    sim_result_clean_up(&result);
}

/* A → B → C → D, three attempts at each hop, D always fails: 27 calls on D, or 3 if only the edge retries. */
static void test_chain_amplifies(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 100 * SECOND, .watch = "d"};
    static const char *const names[] = {"b", "c", "d"};
    for (int i = 0; i < 3; i++) {
        struct sim_service *service = add_service(&scenario, names[i]);
        service->latency.mean = MS;
        if (i < 2)
            snprintf(service->calls, sizeof service->calls, "%s", names[i + 1]);
    }
    add_fault(&scenario.services[2], SIM_FAULT_ERROR, 0, 100 * SECOND, 1, 0);
    add_client(&scenario, "b", 20);
    struct sim_policy *policy = add_policy(&scenario, 3);
    policy->guard.retry.backoff =
        (struct lull_backoff_config){.base = 10 * MS, .cap = 10 * MS, .jitter = LULL_JITTER_NONE};
    scenario.policies[scenario.policy_count] = *policy;
    scenario.policies[scenario.policy_count++].edge_only = true;
    struct sim_result result = run(&scenario, 0, 1);
    assert_near(result.attempts_per_request, 27, 0.01);
    assert_true(result.goodput == 0);
    sim_result_clean_up(&result);
    result = run(&scenario, 1, 1);
    assert_near(result.attempts_per_request, 3, 0.01);
    sim_result_clean_up(&result);
}

/* M/M/1 at half load: mean time in system 1/(µ-λ) = 20 ms, exponential, so the median is 20 · ln 2 = 13.9 ms. */
static void test_one_server_queue(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 2000 * SECOND};
    struct sim_service *service = add_service(&scenario, "server");
    service->latency.kind = SIM_LATENCY_EXPONENTIAL;
    service->workers = 1;
    service->queue = 1000000;
    add_client(&scenario, "server", 50);
    add_policy(&scenario, 1);
    struct sim_result result = run(&scenario, 0, 1);
    assert_near(result.p50_ms, 13.86, 0.03);
    assert_near(result.p99_ms, 20 * log(100), 0.05);
    assert_true(result.goodput == 1);
    sim_result_clean_up(&result);
}

/* Twice what it can do arrives: it does what it can, the rest is turned away. */
static void test_capacity(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 100 * SECOND};
    struct sim_service *service = add_service(&scenario, "small");
    service->capacity = 500;
    service->queue = 10;
    add_client(&scenario, "small", 1000);
    add_policy(&scenario, 1);
    struct sim_result result = run(&scenario, 0, 1);
    assert_near((double)result.groups[0].succeeded, 50000, 0.01);
    assert_near((double)result.services[0].turned_away, 50000, 0.03);
    sim_result_clean_up(&result);
    /* At the door, with a token bucket and 429. Retry-After is told in whole seconds and silences the client for that long, so it
     * gets what the bucket lets through at once in each: a tenth of a second's worth. */
    service->queue = 1000000;
    scenario.policies[0].admission = true;
    result = run(&scenario, 0, 1);
    assert_in_range(result.groups[0].succeeded, 7000, 12000);
    assert_near((double)result.groups[0].refused, 90000, 0.03);
    assert_true(result.p99_ms < 200);
    sim_result_clean_up(&result);
}

/* Work is done even if the caller has given up. */
static void test_time_outs_cost_work(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 100 * SECOND};
    struct sim_service *service = add_service(&scenario, "slow");
    service->latency.mean = SECOND;
    add_client(&scenario, "slow", 100)->steady = true;
    add_policy(&scenario, 1)->guard.retry.attempt_timeout = 500 * MS;
    struct sim_result result = run(&scenario, 0, 1);
    assert_int_equal(result.groups[0].succeeded, 0);
    assert_int_equal(result.groups[0].requests, 10000);
    assert_near((double)result.services[0].wasted, 9900, 0.001);
    sim_result_clean_up(&result);
}

/* A closed loop asks again when it has its answer: 10 users, 90 ms to think, 10 ms to answer: 100 a second. */
static void test_closed_loop(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 100 * SECOND};
    add_service(&scenario, "fast");
    struct sim_client *client = add_client(&scenario, "fast", 0);
    client->users = 10;
    client->think = 90 * MS;
    add_policy(&scenario, 1);
    struct sim_result result = run(&scenario, 0, 1);
    assert_near((double)result.groups[0].succeeded, 10000, 0.01);
    sim_result_clean_up(&result);
}

/* Two groups share 10 threads; one's service hangs until the time-out, so the other waits behind it. With bulkheads it does not. */
static void test_shared_threads_and_bulkheads(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 300 * SECOND};
    struct sim_service *hangs = add_service(&scenario, "hangs");
    add_service(&scenario, "well");
    add_fault(hangs, SIM_FAULT_HANG, 0, 300 * SECOND, 1, 0);
    static const char *const calls[] = {"well", "hangs"};
    for (int i = 0; i < 2; i++) {
        struct sim_client *client = add_client(&scenario, calls[i], 10);
        snprintf(client->pool, sizeof client->pool, "threads");
        client->threads = 10;
    }
    struct sim_policy *policy = add_policy(&scenario, 1);
    policy->guard.retry.attempt_timeout = 2 * SECOND;
    scenario.policies[1] = *policy;
    scenario.policies[1].bulkheads = true;
    scenario.policy_count = 2;
    struct sim_result result = run(&scenario, 0, 1);
    assert_true(result.p99_ms > 5000);
    sim_result_clean_up(&result);
    result = run(&scenario, 1, 1);
    assert_near(result.p99_ms, 10, 0.02);
    sim_result_clean_up(&result);
}

/* The waiting at a guard's bulkhead: limit 1, work 10 ms, two a time: the second waits its turn. */
static void test_bulkhead_queue(void **state) {
    (void)state;
    struct sim_scenario scenario = {.duration = 100 * SECOND};
    add_service(&scenario, "one");
    add_client(&scenario, "one", 50)->steady = true;
    add_client(&scenario, "one", 50)->steady = true;
    struct sim_policy *policy = add_policy(&scenario, 1);
    policy->guard.without = WITHOUT_ALL & ~LULL_WITHOUT_BULKHEAD;
    policy->guard.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = 5};
    struct sim_result result = run(&scenario, 0, 1);
    assert_true(result.groups[0].failed + result.groups[1].failed == 0);
    sim_result_clean_up(&result);
    scenario.clients[0].rate = 400; /* four times what one place can do */
    result = run(&scenario, 0, 1);
    assert_near((double)result.groups[0].succeeded, 10000, 0.01);
    assert_true(result.groups[0].refused > 29000);
    assert_near(result.p99_ms, 60, 0.1); /* five before it, and its own */
    sim_result_clean_up(&result);
}

static void assert_same(const struct sim_result *a, const struct sim_result *b) {
    assert_int_equal(a->length, b->length);
    assert_memory_equal(a->offered, b->offered, a->length * sizeof(double));
    assert_memory_equal(a->succeeded, b->succeeded, a->length * sizeof(double));
    assert_memory_equal(a->backlog, b->backlog, a->length * sizeof(double));
    assert_memory_equal(a->open, b->open, a->length * sizeof(double));
    assert_memory_equal(a->groups, b->groups, sizeof a->groups);
    assert_memory_equal(a->services, b->services, sizeof a->services);
}

/* An outage with everything switched on. */
static void outage(struct sim_scenario *scenario) {
    *scenario = (struct sim_scenario){.duration = 200 * SECOND};
    struct sim_service *service = add_service(scenario, "shop");
    service->capacity = 600;
    service->queue = 1500;
    service->latency = (struct sim_latency){SIM_LATENCY_LOGNORMAL, 20 * MS, 0.5};
    add_fault(service, SIM_FAULT_REFUSE, 60 * SECOND, 30 * SECOND, 0, 0);
    add_client(scenario, "shop", 500)->instances = 5;
    struct sim_policy *naive = add_policy(scenario, 4);
    naive->guard.retry.attempt_timeout = SECOND;
    naive->guard.retry.backoff = (struct lull_backoff_config){
        .base = SECOND, .cap = SECOND, .multiplier = 1, .jitter = LULL_JITTER_NONE};
    struct sim_policy *cured = add_policy(scenario, 4);
    cured->guard.retry.attempt_timeout = SECOND;
    cured->guard.without = 0;
    cured->guard.breaker.open_time = 5 * SECOND;
    cured->guard.breaker.open_max = 5 * SECOND;
    cured->admission = true;
}

static void test_same_seed_same_run(void **state) {
    (void)state;
    struct sim_scenario scenario;
    outage(&scenario);
    struct sim_result first = run(&scenario, 1, 7), second = run(&scenario, 1, 7),
                      other = run(&scenario, 1, 8);
    assert_same(&first, &second);
    assert_memory_not_equal(first.offered, other.offered, first.length * sizeof(double));
    sim_result_clean_up(&first);
    sim_result_clean_up(&second);
    sim_result_clean_up(&other);
}

/* Twenty seeds, one conclusion: the naive client keeps the service down, the guarded one does not. */
static void test_conclusions_hold_for_any_seed(void **state) {
    (void)state;
    struct sim_scenario scenario;
    outage(&scenario);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_result naive = run(&scenario, 0, seed), cured = run(&scenario, 1, seed);
        assert_true(naive.recovery_s < 0);
        assert_true(cured.recovery_s >= 0 && cured.recovery_s <= 15);
        assert_true(cured.calm_peak < 1.35 && naive.calm_peak > 3);
        sim_result_clean_up(&naive);
        sim_result_clean_up(&cured);
    }
}

static void test_scale(void **state) {
    (void)state;
    struct sim_scenario scenario;
    outage(&scenario);
    struct sim_result whole = run(&scenario, 0, 1);
    scenario.scale = 0.2;
    struct sim_result part = run(&scenario, 0, 1);
    assert_near((double)part.groups[0].requests, 0.2 * (double)whole.groups[0].requests, 0.02);
    assert_true(part.recovery_s < 0);
    sim_result_clean_up(&whole);
    sim_result_clean_up(&part);
}

static void test_bad_scenarios(void **state) {
    (void)state;
    struct sim_result result;
    struct lull_error error;
    struct sim_scenario scenario = {.duration = SECOND};
    add_service(&scenario, "a");
    add_client(&scenario, "b", 1);
    add_policy(&scenario, 1);
    assert_int_equal(sim_run(&scenario, 0, 1, NULL, NULL, &result, &error), LULL_EINVAL);
    assert_string_equal(error.message, "clients.calls \"b\" is no service");
    scenario.clients[0].calls[0] = 'a';
    snprintf(scenario.watch, sizeof scenario.watch, "z");
    assert_int_equal(sim_run(&scenario, 0, 1, NULL, NULL, &result, &error), LULL_EINVAL);
    assert_string_equal(error.message, "watch \"z\" is no service");
    scenario.watch[0] = '\0';
    scenario.services[0].calls[0] = 'q';
    assert_int_equal(sim_run(&scenario, 0, 1, NULL, NULL, &result, &error), LULL_EINVAL);
    assert_string_equal(error.message, "services.calls \"q\" is no service");
    scenario.services[0].calls[0] = '\0';
    scenario.policies[0].guard.retry.backoff.base = -1;
    assert_int_equal(sim_run(&scenario, 0, 1, NULL, NULL, &result, &error), LULL_EINVAL);
    assert_string_equal(error.field, "backoff.base");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retries_of_a_coin),
        cmocka_unit_test(test_budget_bounds_retries),
        cmocka_unit_test(test_chain_amplifies),
        cmocka_unit_test(test_one_server_queue),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_time_outs_cost_work),
        cmocka_unit_test(test_closed_loop),
        cmocka_unit_test(test_shared_threads_and_bulkheads),
        cmocka_unit_test(test_bulkhead_queue),
        cmocka_unit_test(test_same_seed_same_run),
        cmocka_unit_test(test_conclusions_hold_for_any_seed),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_bad_scenarios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
