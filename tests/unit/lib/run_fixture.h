/* What the tests of lull_run share. The guards are real, and so is time: delays are a few
 * milliseconds and only ever checked from below; where one thread must be asleep before another
 * acts, the test looks at the guard's or the cancel's own list. */
#ifndef LULL_TESTS_RUN_FIXTURE_H
#define LULL_TESTS_RUN_FIXTURE_H

#include <lull/run.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OK                                                                                         \
    { .class_ = LULL_SUCCESS, .code = 200 }
#define TRANSIENT                                                                                  \
    { .class_ = LULL_TRANSIENT, .code = 503 }

enum { MOST = 8 };

/* What the function under guard does, and what it and on_attempt saw. */
struct script {
    struct lull_outcome outcomes[MOST]; /* of attempts 1, 2, … */
    struct lull_outcome fallback;
    struct lull_cancel *pulls; /* pulled during each attempt; may be NULL */
    uint32_t calls, reports, fallbacks;
    struct lull_attempt attempts[MOST], reported[MOST], last_resort;
    lull_time began[MOST], ended[MOST], reported_at[MOST];
    struct lull_outcome reported_outcomes[MOST];
    struct lull_verdict verdicts[MOST];
};

static inline struct lull_outcome play(void *arg, const struct lull_attempt *attempt) {
    struct script *script = arg;
    uint32_t i = script->calls++;
    script->attempts[i] = *attempt;
    script->began[i] = lull_clock();
    if (script->pulls != NULL)
        lull_cancel_pull(script->pulls);
    script->ended[i] = lull_clock();
    return script->outcomes[i];
}

static inline void report(void *arg, const struct lull_attempt *attempt,
                          struct lull_outcome outcome, struct lull_verdict verdict) {
    struct script *script = arg;
    uint32_t i = script->reports++;
    script->reported_at[i] = lull_clock();
    script->reported[i] = *attempt;
    script->reported_outcomes[i] = outcome;
    script->verdicts[i] = verdict;
}

static inline struct lull_outcome fall_back(void *arg, const struct lull_attempt *attempt) {
    struct script *script = arg;
    script->fallbacks++;
    script->last_resort = *attempt;
    return script->fallback;
}

/* Quick retries, and nothing in the way: each test adds what it is about. */
static inline struct lull_guard_config quick(void) {
    return (struct lull_guard_config){
        .retry = {.attempts = 3,
                  .deadline = LULL_MINUTE,
                  .retry_after_jitter = LULL_NONE,
                  .backoff = {.base = LULL_MILLISECOND, .jitter = LULL_JITTER_NONE}},
        .without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET |
                   LULL_WITHOUT_BULKHEAD,
    };
}

static inline void init(struct lull_guard *guard, struct lull_guard_config config) {
    struct lull_error error;
    assert_int_equal(lull_guard_init(guard, &config, &error), LULL_OK);
}

static inline struct lull_guard_stats look(struct lull_guard *guard) {
    struct lull_guard_stats stats;
    lull_guard_snapshot(guard, &stats, lull_clock());
    return stats;
}

static inline void assert_verdict(struct lull_verdict verdict, enum lull_decision decision,
                                  enum lull_policy policy, enum lull_reason reason) {
    assert_string_equal(lull_decision_name(verdict.decision), lull_decision_name(decision));
    assert_string_equal(lull_policy_name(verdict.policy), lull_policy_name(policy));
    assert_string_equal(lull_reason_text(verdict.reason), lull_reason_text(reason));
}

static inline void assert_cancelled(int code, const struct lull_run_result *result,
                                    uint32_t attempts) {
    assert_int_equal(code, LULL_ECANCELLED);
    assert_verdict(result->verdict, LULL_STOP, LULL_POLICY_CALLER, LULL_REASON_CANCELLED);
    assert_int_equal(result->verdict.at, LULL_NEVER);
    assert_int_equal(result->attempts, attempts);
    assert_false(result->fell_back);
}

/* ---- refusals, and waiting them out ---- */

static inline void refused(struct lull_guard *guard, const struct lull_run_options *options,
                           enum lull_policy policy, enum lull_reason reason, lull_time at) {
    struct script script = {.outcomes = {OK}};
    struct lull_run_result result;
    assert_int_equal(lull_run(guard, play, &script, options, &result), LULL_EREFUSED);
    assert_verdict(result.verdict, LULL_NO, policy, reason);
    if (at != 0)
        assert_int_equal(result.verdict.at, at);
    assert_int_equal(result.attempts, 0);
    assert_int_equal(script.calls, 0);
}

#define TEST(name) cmocka_unit_test(test_##name)

#endif
