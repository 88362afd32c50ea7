/* lull_run on one thread: attempts, refusals and waiting them out, the fallback, the seed of the jitter. */
#include "run_fixture.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

/* ---- the clock, the cancel, missing arguments ---- */

static void test_clock_is_monotonic(void **state) {
    (void)state;
    struct timespec time;
    lull_time before = lull_clock();
    clock_gettime(CLOCK_MONOTONIC, &time);
    lull_time after = lull_clock();
    lull_time is = time.tv_sec * LULL_SECOND + time.tv_nsec;
    assert_true(before <= is);
    assert_true(is <= after);
}

static void test_missing_arguments(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {OK}};
    struct lull_run_result result = {.attempts = 77};
    init(&guard, quick());
    assert_int_equal(lull_run(NULL, play, &script, NULL, &result), LULL_EINVAL);
    assert_int_equal(lull_run(&guard, NULL, &script, NULL, &result), LULL_EINVAL);
    assert_int_equal(result.attempts, 77);
    assert_int_equal(script.calls, 0);
    assert_int_equal(lull_cancel_init(NULL), LULL_EINVAL);
}

static void test_cancel_stays_pulled(void **state) {
    (void)state;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    assert_false(lull_cancel_pulled(&cancel));
    lull_cancel_pull(&cancel);
    assert_true(lull_cancel_pulled(&cancel));
    lull_cancel_pull(&cancel);
    assert_true(lull_cancel_pulled(&cancel));
    lull_cancel_clean_up(&cancel);
}

/* ---- attempts ---- */

static void test_success_at_once(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {OK}};
    struct lull_run_result result;
    struct lull_guard_config config = quick();
    config.retry.attempt_timeout = LULL_SECOND;
    init(&guard, config);
    lull_time before = lull_clock();
    assert_int_equal(lull_run(&guard, play, &script, NULL, &result), LULL_OK);
    lull_time after = lull_clock();
    assert_verdict(result.verdict, LULL_DONE, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED);
    assert_int_equal(result.outcome.class_, LULL_SUCCESS);
    assert_int_equal(result.outcome.code, 200);
    assert_int_equal(result.attempts, 1);
    assert_false(result.fell_back);
    assert_in_range(result.elapsed, 0, after - before);
    assert_int_equal(script.calls, 1);
    assert_int_equal(script.attempts[0].number, 1);
    assert_int_equal(script.attempts[0].timeout, LULL_SECOND);
    assert_in_range(script.attempts[0].deadline, before + LULL_MINUTE, after + LULL_MINUTE);
    assert_null(script.attempts[0].cancel);
    assert_int_equal(lull_run(&guard, play, &script, NULL, NULL), LULL_EFAILED); /* UNSET */
}

static void test_no_deadline(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {OK}};
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    init(&guard, quick());
    struct lull_run_options options = {.call.deadline = LULL_NONE, .cancel = &cancel};
    assert_int_equal(lull_run(&guard, play, &script, &options, NULL), LULL_OK);
    assert_int_equal(script.attempts[0].timeout, LULL_NEVER);
    assert_int_equal(script.attempts[0].deadline, LULL_NEVER);
    assert_ptr_equal(script.attempts[0].cancel, &cancel);
    lull_cancel_clean_up(&cancel);
}

static void test_retries_until_it_succeeds(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {TRANSIENT, {.class_ = LULL_TIMEOUT, .code = 7}, OK}};
    struct lull_run_options options = {.on_attempt = report};
    struct lull_run_result result;
    init(&guard, quick());
    assert_int_equal(lull_run(&guard, play, &script, &options, &result), LULL_OK);
    assert_verdict(result.verdict, LULL_DONE, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED);
    assert_int_equal(result.attempts, 3);
    assert_int_equal(script.calls, 3);
    assert_int_equal(script.reports, 3);
    const lull_duration delays[] = {LULL_MILLISECOND, 2 * LULL_MILLISECOND};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(script.attempts[i].number, i + 1);
        assert_memory_equal(&script.reported[i], &script.attempts[i], sizeof script.attempts[i]);
        assert_memory_equal(&script.reported_outcomes[i], &script.outcomes[i],
                            sizeof script.outcomes[i]);
        if (i == 2)
            break;
        assert_verdict(script.verdicts[i], LULL_RETRY, LULL_POLICY_RETRY, LULL_REASON_BACKING_OFF);
        assert_in_range(script.verdicts[i].at, script.ended[i] + delays[i],
                        script.reported_at[i] + delays[i]);
        assert_true(script.began[i + 1] >= script.verdicts[i].at);
    }
    assert_verdict(script.verdicts[2], LULL_DONE, LULL_POLICY_NOBODY, LULL_REASON_SUCCEEDED);
    assert_true(result.elapsed >= 3 * LULL_MILLISECOND);
}

static void stops(struct lull_guard_config config, struct script script, enum lull_policy policy,
                  enum lull_reason reason, uint32_t attempts) {
    struct lull_guard guard;
    struct lull_run_result result;
    init(&guard, config);
    assert_int_equal(lull_run(&guard, play, &script, NULL, &result), LULL_EFAILED);
    assert_verdict(result.verdict, LULL_STOP, policy, reason);
    assert_int_equal(result.attempts, attempts);
    assert_int_equal(script.calls, attempts);
    assert_memory_equal(&result.outcome, &script.outcomes[attempts - 1], sizeof result.outcome);
    assert_int_equal(look(&guard).bulkhead.inside, 0);
}

static void test_gives_up_when_a_policy_says_so(void **state) {
    (void)state;
    struct script failing = {.outcomes = {TRANSIENT, TRANSIENT, TRANSIENT}};
    stops(quick(), failing, LULL_POLICY_RETRY, LULL_REASON_ATTEMPTS_SPENT, 3);

    struct script permanent = {.outcomes = {TRANSIENT, {.class_ = LULL_PERMANENT, .code = 404}}};
    stops(quick(), permanent, LULL_POLICY_CLASSIFIER, LULL_REASON_PERMANENT, 2);

    struct script busy = {.outcomes = {{.class_ = LULL_THROTTLED, .retry_after = LULL_HOUR}}};
    stops(quick(), busy, LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_TOO_NEAR, 1);

    struct lull_guard_config poor = quick();
    poor.without &= ~(uint32_t)LULL_WITHOUT_BUDGET;
    poor.budget = (struct lull_budget_config){.ratio = LULL_NONE, .floor = LULL_NONE};
    stops(poor, failing, LULL_POLICY_BUDGET, LULL_REASON_BUDGET_SPENT, 1);

    struct lull_guard_config everything = quick();
    everything.without = 0;
    struct script unset = {.outcomes = {{.class_ = LULL_UNSET}}};
    stops(everything, unset, LULL_POLICY_CALLER, LULL_REASON_MISUSE, 1);
}

static void test_time_ran_out_before_the_first_attempt(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {OK}};
    struct lull_run_result result;
    init(&guard, quick());
    struct lull_run_options options = {.call.deadline = -5};
    assert_int_equal(lull_run(&guard, play, &script, &options, &result), LULL_EREFUSED);
    assert_verdict(result.verdict, LULL_STOP, LULL_POLICY_DEADLINE, LULL_REASON_DEADLINE_PASSED);
    assert_int_equal(result.attempts, 0);
    assert_int_equal(result.outcome.class_, LULL_UNSET);
    assert_int_equal(script.calls, 0);
}

/* ---- refusals, and waiting them out ---- */

/* Runs once, waiting; gives when the attempt began. */
static lull_time waits(struct lull_guard *guard) {
    struct script script = {.outcomes = {OK}};
    struct lull_run_options options = {.wait = true};
    struct lull_run_result result;
    assert_int_equal(lull_run(guard, play, &script, &options, &result), LULL_OK);
    assert_int_equal(result.attempts, 1);
    return script.began[0];
}

static void test_pause(void **state) {
    (void)state;
    struct lull_guard guard;
    init(&guard, quick());
    lull_time until = lull_clock() + LULL_MINUTE / 2; /* within the deadline */
    lull_guard_pause(&guard, until);
    refused(&guard, NULL, LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, until);
    until += LULL_HOUR; /* and past it */
    lull_guard_pause(&guard, until);
    refused(&guard, &(struct lull_run_options){.wait = true}, LULL_POLICY_CLOCK,
            LULL_REASON_RETRY_AFTER, until);
    lull_guard_resume(&guard);
    lull_guard_pause(&guard, LULL_NEVER);
    refused(&guard, &(struct lull_run_options){.wait = true, .call.deadline = LULL_NONE},
            LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER, LULL_NEVER);
    lull_guard_resume(&guard);
    until = lull_clock() + 5 * LULL_MILLISECOND;
    lull_guard_pause(&guard, until);
    assert_true(waits(&guard) >= until);
}

static void test_rate_limit(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_guard_config config = quick();
    config.without &= ~(uint32_t)LULL_WITHOUT_BUCKET;
    config.bucket = (struct lull_bucket_config){.capacity = 1, .rate = 1, .per = LULL_HOUR};
    init(&guard, config);
    lull_time first = waits(&guard);
    refused(&guard, NULL, LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, 0);
    refused(&guard, &(struct lull_run_options){.wait = true}, LULL_POLICY_BUCKET,
            LULL_REASON_NO_TOKEN, 0);

    config.bucket.per = 5 * LULL_MILLISECOND;
    init(&guard, config);
    first = lull_clock();
    waits(&guard);
    assert_true(waits(&guard) >= first + 5 * LULL_MILLISECOND);
}

static void test_open_circuit(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_guard_config config = quick();
    config.retry.attempts = 1;
    config.without &= ~(uint32_t)LULL_WITHOUT_BREAKER;
    config.breaker = (struct lull_breaker_config){
        .minimum_calls = 1, .open_time = 5 * LULL_MILLISECOND, .open_jitter = LULL_NONE};
    init(&guard, config);
    struct script failing = {.outcomes = {TRANSIENT}};
    lull_time before = lull_clock();
    assert_int_equal(lull_run(&guard, play, &failing, NULL, NULL), LULL_EFAILED);
    assert_true(waits(&guard) >= before + 5 * LULL_MILLISECOND);
    assert_int_equal(lull_breaker_current(&guard.breaker), LULL_BREAKER_HALF_OPEN);

    lull_breaker_set_mode(&guard.breaker, LULL_BREAKER_MODE_FORCED_OPEN, lull_clock());
    struct lull_run_options patient = {.wait = true, .call.deadline = LULL_NONE};
    refused(&guard, &patient, LULL_POLICY_BREAKER, LULL_REASON_CIRCUIT_FORCED_OPEN, LULL_NEVER);
}

static void test_a_retry_is_refused(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_guard_config config = quick();
    config.without &= ~(uint32_t)LULL_WITHOUT_BUCKET;
    config.bucket = (struct lull_bucket_config){.capacity = 1, .rate = 1, .per = LULL_HOUR};
    init(&guard, config);
    struct script script = {.outcomes = {TRANSIENT, OK}};
    struct lull_run_result result;
    assert_int_equal(lull_run(&guard, play, &script, NULL, &result), LULL_EREFUSED);
    assert_verdict(result.verdict, LULL_NO, LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN);
    assert_int_equal(result.attempts, 1);
    assert_int_equal(result.outcome.class_, LULL_TRANSIENT);
    assert_int_equal(result.outcome.code, 503);
}

/* ---- the fallback ---- */

static void test_fallback_replaces_a_failure(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {{.class_ = LULL_PERMANENT, .code = 404}}, .fallback = OK};
    struct lull_run_options options = {.fallback = fall_back, .call.deadline = LULL_NONE};
    struct lull_run_result result;
    init(&guard, quick());
    assert_int_equal(lull_run(&guard, play, &script, &options, &result), LULL_OK);
    assert_verdict(result.verdict, LULL_STOP, LULL_POLICY_CLASSIFIER, LULL_REASON_PERMANENT);
    assert_true(result.fell_back);
    assert_int_equal(result.attempts, 1);
    assert_int_equal(result.outcome.code, 404); /* still the last attempt's */
    assert_int_equal(script.calls, 1);
    assert_int_equal(script.fallbacks, 1);
    assert_int_equal(script.last_resort.number, 0);
    assert_int_equal(script.last_resort.timeout, LULL_NEVER);
    assert_int_equal(script.last_resort.deadline, LULL_NEVER);
    assert_null(script.last_resort.cancel);
}

static void test_fallback_replaces_a_refusal(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.fallback = OK};
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    struct lull_run_options options = {.fallback = fall_back, .cancel = &cancel};
    struct lull_run_result result;
    init(&guard, quick());
    lull_guard_pause(&guard, LULL_NEVER);
    assert_int_equal(lull_run(&guard, play, &script, &options, &result), LULL_OK);
    assert_verdict(result.verdict, LULL_NO, LULL_POLICY_CLOCK, LULL_REASON_RETRY_AFTER);
    assert_true(result.fell_back);
    assert_int_equal(result.attempts, 0);
    assert_ptr_equal(script.last_resort.cancel, &cancel);

    script.fallback.class_ = LULL_TRANSIENT; /* it fails, too: what went before stands */
    assert_int_equal(lull_run(&guard, play, &script, &options, &result), LULL_EREFUSED);
    assert_true(result.fell_back);
    assert_int_equal(script.fallbacks, 2);
    lull_cancel_clean_up(&cancel);
}

static void test_fallback_is_not_needed(void **state) {
    (void)state;
    struct lull_guard guard;
    struct script script = {.outcomes = {OK, {.class_ = LULL_CANCELLED}}, .fallback = OK};
    struct lull_run_options options = {.fallback = fall_back};
    struct lull_run_result result;
    init(&guard, quick());
    assert_int_equal(lull_run(&guard, play, &script, &options, &result), LULL_OK);
    assert_false(result.fell_back);
    assert_cancelled(lull_run(&guard, play, &script, &options, &result), &result, 1);
    assert_int_equal(script.fallbacks, 0);
}

/* ---- the jitter's seed ---- */

static struct lull_guard_config jittered(void) {
    struct lull_guard_config config = quick();
    config.retry.deadline = LULL_NONE;
    config.retry.backoff = (struct lull_backoff_config){
        .base = LULL_HOUR, .cap = LULL_HOUR, .jitter = LULL_JITTER_FULL};
    return config;
}

/* Fails once, and is cancelled instead of sleeping; the script has the verdict. */
static void fail_once(struct script *script, uint64_t seed) {
    struct lull_guard guard;
    struct lull_cancel cancel;
    *script = (struct script){.outcomes = {TRANSIENT}, .pulls = &cancel};
    int code = lull_cancel_init(&cancel);
    struct lull_guard_config config = jittered();
    code = code == LULL_OK ? lull_guard_init(&guard, &config, NULL) : code;
    struct lull_run_options options = {.cancel = &cancel, .on_attempt = report, .seed = seed};
    if (code == LULL_OK)
        (void)lull_run(&guard, play, script, &options, NULL);
    lull_cancel_clean_up(&cancel);
}

static void test_the_seed_decides_the_delay(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct lull_guard guard;
        struct lull_call call;
        init(&guard, jittered());
        lull_call_begin(&guard, &call, NULL, seed, 0);
        assert_int_equal(lull_admit(&guard, &call, 0).decision, LULL_GO);
        lull_duration delay = lull_complete(&guard, &call, (struct lull_outcome)TRANSIENT, 0).at;

        struct script script;
        fail_once(&script, seed);
        assert_int_equal(script.reports, 1);
        assert_int_equal(script.verdicts[0].decision, LULL_RETRY);
        assert_in_range(script.verdicts[0].at, script.ended[0] + delay,
                        script.reported_at[0] + delay);
    }
}

/* Two delays of up to an hour that agree to the microsecond are no accident. */
static void assert_different(const struct script *a, const struct script *b) {
    assert_int_equal(a->reports, 1);
    assert_int_equal(b->reports, 1);
    lull_duration delays[] = {a->verdicts[0].at - a->ended[0], b->verdicts[0].at - b->ended[0]};
    assert_int_not_equal(delays[0] / LULL_MICROSECOND, delays[1] / LULL_MICROSECOND);
}

static void test_without_a_seed_calls_differ(void **state) {
    (void)state;
    struct script a, b;
    fail_once(&a, 0);
    fail_once(&b, 0);
    assert_different(&a, &b);
}

/* For this thread alone, and for good: getrandom says ENOSYS. */
static bool forbid_randomness(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

struct without_randomness {
    bool forbidden;
    struct script a, b;
};

static void *run_without_randomness(void *arg) {
    struct without_randomness *these = arg;
    these->forbidden = forbid_randomness();
    fail_once(&these->a, 0);
    fail_once(&these->b, 0);
    return NULL;
}

static void test_calls_differ_where_the_system_has_no_randomness(void **state) {
    (void)state;
    struct without_randomness these;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_without_randomness, &these), 0);
    pthread_join(thread, NULL);
    if (!these.forbidden)
        skip();
    assert_different(&these.a, &these.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(clock_is_monotonic),
        TEST(missing_arguments),
        TEST(cancel_stays_pulled),
        TEST(success_at_once),
        TEST(no_deadline),
        TEST(retries_until_it_succeeds),
        TEST(gives_up_when_a_policy_says_so),
        TEST(time_ran_out_before_the_first_attempt),
        TEST(pause),
        TEST(rate_limit),
        TEST(open_circuit),
        TEST(a_retry_is_refused),
        TEST(fallback_replaces_a_failure),
        TEST(fallback_replaces_a_refusal),
        TEST(fallback_is_not_needed),
        TEST(the_seed_decides_the_delay),
        TEST(without_a_seed_calls_differ),
        TEST(calls_differ_where_the_system_has_no_randomness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
