/* The guard: calls that outlive a process and the budget's memory. They go on after attempts made before, and pay for a retry when
 * it starts. */
#include "guard_fixture.h"

static struct lull_call resumed(uint32_t attempts_made, lull_duration previous) {
    struct lull_call call;
    struct lull_call_options options = {.deadline = LULL_NONE,
                                        .idempotent = true,
                                        .pays_at_admission = true,
                                        .attempts_made = attempts_made,
                                        .previous_delay = previous};
    lull_call_begin(&guard, &call, &options, KNOWN_SEED, 0);
    return call;
}

static struct lull_verdict failed(struct lull_call *call, lull_time now) {
    return lull_complete(&guard, call, (struct lull_outcome){.class_ = LULL_TRANSIENT}, now);
}

static void test_a_call_goes_on_where_it_was(void **state) {
    (void)state;
    struct lull_guard_config config = {
        .retry = {
            .attempts = 4,
            .backoff = {.base = SECONDS(1), .cap = SECONDS(100), .jitter = LULL_JITTER_NONE}}};
    set_up(config);
    struct lull_call call = resumed(2, SECONDS(2));
    assert_int_equal(lull_admit(&guard, &call, 0).decision, LULL_GO);
    assert_int_equal(call.attempt, 3);
    expect(failed(&call, 0), retry(LULL_REASON_BACKING_OFF, SECONDS(4)));
    assert_int_equal(call.previous, SECONDS(4));
    assert_int_equal(lull_admit(&guard, &call, SECONDS(4)).decision, LULL_GO);
    assert_int_equal(failed(&call, SECONDS(4)).reason, LULL_REASON_ATTEMPTS_SPENT);
    assert_int_equal(stats_at(SECONDS(4)).retries, 2);
}

/* The floor is 10 a second, one second's worth saved up: ten retries start, the eleventh is told when. No call ends for it, and first
 * tries are free. */
static void test_a_retry_is_paid_for_when_it_starts(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUCKET});
    for (int i = 0; i < 10; i++) {
        struct lull_call call = resumed(1, SECONDS(1));
        assert_int_equal(lull_admit(&guard, &call, SECONDS(1)).decision, LULL_GO);
        /* Planning the next one costs nothing. */
        assert_int_equal(failed(&call, SECONDS(1)).decision, LULL_RETRY);
    }
    struct lull_call refused = resumed(1, SECONDS(1)), first = resumed(0, 0);
    struct lull_verdict verdict = lull_admit(&guard, &refused, SECONDS(1));
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.policy, LULL_POLICY_BUDGET);
    assert_int_equal(verdict.reason, LULL_REASON_BUDGET_SPENT);
    assert_int_equal(verdict.at, SECONDS(1) + MILLISECONDS(100));
    assert_int_equal(refused.attempt, 1);
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 0); /* it holds nothing */
    assert_int_equal(lull_admit(&guard, &first, SECONDS(1)).decision, LULL_GO);
    assert_int_equal(failed(&first, SECONDS(1)).decision, LULL_RETRY);
    assert_int_equal(lull_admit(&guard, &refused, verdict.at).decision, LULL_GO);
    assert_int_equal(stats_at(verdict.at).budget.withdrawn, 11);
}

static void test_without_a_floor_it_asks_again_a_slice_later(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.budget = {.floor = LULL_NONE}});
    struct lull_call call = resumed(1, SECONDS(1));
    struct lull_verdict verdict = lull_admit(&guard, &call, 0);
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.at, SECONDS(1));
}

static void test_without_a_budget_nobody_pays(void **state) {
    (void)state;
    set_up(
        (struct lull_guard_config){.budget = {.floor = LULL_NONE}, .without = LULL_WITHOUT_BUDGET});
    struct lull_call call = resumed(1, SECONDS(1));
    assert_int_equal(lull_admit(&guard, &call, 0).decision, LULL_GO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_goes_on_where_it_was),
        cmocka_unit_test(test_a_retry_is_paid_for_when_it_starts),
        cmocka_unit_test(test_without_a_floor_it_asks_again_a_slice_later),
        cmocka_unit_test(test_without_a_budget_nobody_pays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
