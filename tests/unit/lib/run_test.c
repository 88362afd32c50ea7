/* lull_run against real guards. Time is real here, so delays are a few milliseconds and only ever
 * checked from below; where one thread must be asleep before another acts, the test looks at the
 * guard's or the cancel's own list. */
#include <lull/random.h>
#include <lull/run.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

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

static struct lull_outcome play(void *arg, const struct lull_attempt *attempt) {
    struct script *script = arg;
    uint32_t i = script->calls++;
    script->attempts[i] = *attempt;
    script->began[i] = lull_clock();
    if (script->pulls != NULL)
        lull_cancel_pull(script->pulls);
    script->ended[i] = lull_clock();
    return script->outcomes[i];
}

static void report(void *arg, const struct lull_attempt *attempt, struct lull_outcome outcome,
                   struct lull_verdict verdict) {
    struct script *script = arg;
    uint32_t i = script->reports++;
    script->reported_at[i] = lull_clock();
    script->reported[i] = *attempt;
    script->reported_outcomes[i] = outcome;
    script->verdicts[i] = verdict;
}

static struct lull_outcome fall_back(void *arg, const struct lull_attempt *attempt) {
    struct script *script = arg;
    script->fallbacks++;
    script->last_resort = *attempt;
    return script->fallback;
}

/* Quick retries, and nothing in the way: each test adds what it is about. */
static struct lull_guard_config quick(void) {
    return (struct lull_guard_config){
        .retry = {.attempts = 3,
                  .deadline = LULL_MINUTE,
                  .retry_after_jitter = LULL_NONE,
                  .backoff = {.base = LULL_MILLISECOND, .jitter = LULL_JITTER_NONE}},
        .without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET |
                   LULL_WITHOUT_BULKHEAD,
    };
}

static void init(struct lull_guard *guard, struct lull_guard_config config) {
    struct lull_error error;
    assert_int_equal(lull_guard_init(guard, &config, &error), LULL_OK);
}

static struct lull_guard_stats look(struct lull_guard *guard) {
    struct lull_guard_stats stats;
    lull_guard_snapshot(guard, &stats, lull_clock());
    return stats;
}

static void assert_verdict(struct lull_verdict verdict, enum lull_decision decision,
                           enum lull_policy policy, enum lull_reason reason) {
    assert_string_equal(lull_decision_name(verdict.decision), lull_decision_name(decision));
    assert_string_equal(lull_policy_name(verdict.policy), lull_policy_name(policy));
    assert_string_equal(lull_reason_text(verdict.reason), lull_reason_text(reason));
}

static void assert_cancelled(int code, const struct lull_run_result *result, uint32_t attempts) {
    assert_int_equal(code, LULL_ECANCELLED);
    assert_verdict(result->verdict, LULL_STOP, LULL_POLICY_CALLER, LULL_REASON_CANCELLED);
    assert_int_equal(result->verdict.at, LULL_NEVER);
    assert_int_equal(result->attempts, attempts);
    assert_false(result->fell_back);
}

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

static void refused(struct lull_guard *guard, const struct lull_run_options *options,
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

/* ---- several threads ---- */

/* A call on a thread of its own. Its function waits for the gate, if there is one. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool entered, open;
};

struct caller {
    struct lull_guard *guard;
    struct lull_run_options options;
    struct gate *gate;     /* may be NULL */
    struct script *script; /* instead of gate and outcome; may be NULL */
    struct lull_outcome outcome;
    pthread_t thread;
    int code;
    struct lull_run_result result;
};

static struct lull_outcome pass_gate(void *arg, const struct lull_attempt *attempt) {
    (void)attempt;
    struct caller *caller = arg;
    struct gate *gate = caller->gate;
    if (gate != NULL) {
        pthread_mutex_lock(&gate->mutex);
        gate->entered = true;
        pthread_cond_broadcast(&gate->changed);
        while (!gate->open)
            pthread_cond_wait(&gate->changed, &gate->mutex);
        pthread_mutex_unlock(&gate->mutex);
    }
    return caller->outcome;
}

static void *make_call(void *arg) {
    struct caller *caller = arg;
    void *script = caller->script;
    caller->code = lull_run(caller->guard, script != NULL ? play : pass_gate,
                            script != NULL ? script : caller, &caller->options, &caller->result);
    return NULL;
}

static void start(struct caller *caller) {
    assert_int_equal(pthread_create(&caller->thread, NULL, make_call, caller), 0);
}

static void finish(struct caller *caller) {
    assert_int_equal(pthread_join(caller->thread, NULL), 0);
}

static void await_entered(struct gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    while (!gate->entered)
        pthread_cond_wait(&gate->changed, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
}

static void open_gate(struct gate *gate) {
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

static void await_waiting(struct lull_guard *guard, uint32_t waiting) {
    while (lull_bulkhead_snapshot(&guard->bulkhead).waiting != waiting)
        sched_yield();
}

/* Comes back when another call has gone to sleep under the cancel: the newest heads its list. */
static const void *await_another_asleep(struct lull_cancel *cancel, const void *newest_before) {
    const void *newest;
    do {
        sched_yield();
        pthread_mutex_lock(&cancel->mutex);
        newest = cancel->sleepers;
        pthread_mutex_unlock(&cancel->mutex);
    } while (newest == newest_before);
    return newest;
}

/* A guard with one place, and somebody in it who leaves when the gate opens. */
struct occupied {
    struct lull_guard guard;
    struct gate gate;
    struct caller inside;
};

static void occupy(struct occupied *occupied, int32_t queue) {
    struct lull_guard_config config = quick();
    config.without &= ~(uint32_t)LULL_WITHOUT_BULKHEAD;
    config.bulkhead = (struct lull_bulkhead_config){.limit = 1, .queue = queue};
    init(&occupied->guard, config);
    occupied->gate =
        (struct gate){.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    occupied->inside =
        (struct caller){.guard = &occupied->guard, .gate = &occupied->gate, .outcome = OK};
    start(&occupied->inside);
    await_entered(&occupied->gate);
}

static void vacate(struct occupied *occupied) {
    open_gate(&occupied->gate);
    finish(&occupied->inside);
    assert_int_equal(occupied->inside.code, LULL_OK);
    struct lull_bulkhead_stats stats = lull_bulkhead_snapshot(&occupied->guard.bulkhead);
    assert_int_equal(stats.inside, 0);
    assert_int_equal(stats.waiting, 0);
}

static void test_waits_for_a_place(void **state) {
    (void)state;
    struct occupied occupied;
    occupy(&occupied, 1);
    struct caller second = {.guard = &occupied.guard, .outcome = OK};
    start(&second);
    await_waiting(&occupied.guard, 1);
    /* Neither the queue's being full nor `wait` makes room for a third. */
    refused(&occupied.guard, NULL, LULL_POLICY_BULKHEAD, LULL_REASON_FULL, 0);
    refused(&occupied.guard, &(struct lull_run_options){.wait = true}, LULL_POLICY_BULKHEAD,
            LULL_REASON_FULL, 0);
    open_gate(&occupied.gate);
    finish(&second);
    assert_int_equal(second.code, LULL_OK);
    assert_int_equal(second.result.attempts, 1);
    vacate(&occupied);
}

/* The place's wake-up is spent: it does not shorten the sleep after the attempt. */
static void test_backs_off_in_full_after_waiting_for_a_place(void **state) {
    (void)state;
    struct occupied occupied;
    occupy(&occupied, 1);
    struct script script = {.outcomes = {TRANSIENT, OK}};
    struct caller second = {
        .guard = &occupied.guard, .options.on_attempt = report, .script = &script};
    start(&second);
    await_waiting(&occupied.guard, 1);
    open_gate(&occupied.gate);
    finish(&second);
    assert_int_equal(second.code, LULL_OK);
    assert_int_equal(script.calls, 2);
    assert_true(script.began[1] >= script.verdicts[0].at);
    vacate(&occupied);
}

/* The destination asked for a pause while the call stood in the queue: it has its place, and may not
 * use it yet. */
static void test_paused_while_waiting_for_a_place(void **state) {
    (void)state;
    for (int patient = 0; patient < 2; patient++) {
        struct occupied occupied;
        occupy(&occupied, 1);
        struct script script = {.outcomes = {OK}};
        struct caller second = {
            .guard = &occupied.guard, .options.wait = patient == 1, .script = &script};
        start(&second);
        await_waiting(&occupied.guard, 1);
        lull_time until = lull_clock() + (patient == 1 ? 50 * LULL_MILLISECOND : LULL_SECOND * 30);
        lull_guard_pause(&occupied.guard, until);
        open_gate(&occupied.gate);
        finish(&second);
        vacate(&occupied);
        assert_int_equal(second.code, patient == 1 ? LULL_OK : LULL_EREFUSED);
        assert_int_equal(script.calls, patient);
        if (patient == 1)
            assert_true(script.began[0] >= until);
        else
            assert_verdict(second.result.verdict, LULL_NO, LULL_POLICY_CLOCK,
                           LULL_REASON_RETRY_AFTER);
    }
}

static void test_waits_for_a_place_no_longer_than_its_deadline(void **state) {
    (void)state;
    struct occupied occupied;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    occupy(&occupied, 1);
    for (int i = 0; i < 2; i++) {
        lull_time before = lull_clock();
        struct lull_run_options options = {.call.deadline = 3 * LULL_MILLISECOND,
                                           .cancel = i == 0 ? NULL : &cancel};
        refused(&occupied.guard, &options, LULL_POLICY_BULKHEAD, LULL_REASON_WAITED_TOO_LONG, 0);
        assert_true(lull_clock() >= before + 3 * LULL_MILLISECOND);
        assert_int_equal(lull_bulkhead_snapshot(&occupied.guard.bulkhead).waiting, 0);
    }
    vacate(&occupied);
    lull_cancel_clean_up(&cancel);
}

/* ---- cancelling ---- */

static void test_pulled_before_the_call(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    lull_cancel_pull(&cancel);
    struct script script = {.outcomes = {OK}, .fallback = OK};
    struct lull_run_options options = {.cancel = &cancel, .fallback = fall_back};
    struct lull_run_result result;
    init(&guard, quick());
    assert_cancelled(lull_run(&guard, play, &script, &options, &result), &result, 0);
    assert_int_equal(script.calls, 0);
    assert_int_equal(script.fallbacks, 0);
    assert_int_equal(look(&guard).firsts, 0);
    lull_cancel_clean_up(&cancel);
}

static void test_pulled_during_an_attempt(void **state) {
    (void)state;
    const struct {
        struct lull_outcome outcome;
        int code;
        enum lull_reason reason;
    } cases[] = {
        {OK, LULL_OK, LULL_REASON_SUCCEEDED},
        {{.class_ = LULL_PERMANENT}, LULL_EFAILED, LULL_REASON_PERMANENT},
        {{.class_ = LULL_CANCELLED}, LULL_ECANCELLED, LULL_REASON_CANCELLED},
        {TRANSIENT, LULL_ECANCELLED, LULL_REASON_CANCELLED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_guard guard;
        struct lull_cancel cancel;
        assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
        init(&guard, quick());
        struct script script = {.outcomes = {cases[i].outcome, OK}, .pulls = &cancel};
        struct lull_run_options options = {.cancel = &cancel, .on_attempt = report};
        struct lull_run_result result;
        assert_int_equal(lull_run(&guard, play, &script, &options, &result), cases[i].code);
        assert_int_equal(result.verdict.reason, cases[i].reason);
        assert_int_equal(script.calls, 1);
        assert_int_equal(script.reports, 1);
        assert_int_equal(result.outcome.class_, cases[i].outcome.class_);
        lull_cancel_clean_up(&cancel);
    }
}

/* A guard whose calls sleep for an hour after a failure. */
static void init_slow(struct lull_guard *guard) {
    struct lull_guard_config config = quick();
    config.retry.deadline = LULL_NONE;
    config.retry.backoff.base = config.retry.backoff.cap = LULL_HOUR;
    init(guard, config);
}

static void test_pulled_while_backing_off(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    init_slow(&guard);
    struct caller caller = {.guard = &guard, .outcome = TRANSIENT, .options.cancel = &cancel};
    start(&caller);
    await_another_asleep(&cancel, NULL);
    lull_cancel_pull(&cancel);
    finish(&caller);
    assert_cancelled(caller.code, &caller.result, 1);
    assert_int_equal(caller.result.outcome.class_, LULL_TRANSIENT);
    assert_null(cancel.sleepers);
    lull_cancel_clean_up(&cancel);
}

static void test_pulled_while_waiting_out_a_refusal(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    init_slow(&guard);
    lull_guard_pause(&guard, lull_clock() + LULL_HOUR);
    struct caller caller = {
        .guard = &guard, .outcome = OK, .options = {.cancel = &cancel, .wait = true}};
    start(&caller);
    await_another_asleep(&cancel, NULL);
    lull_cancel_pull(&cancel);
    finish(&caller);
    assert_cancelled(caller.code, &caller.result, 0);
    lull_cancel_clean_up(&cancel);
}

static void test_pulled_while_waiting_for_a_place(void **state) {
    (void)state;
    struct occupied occupied;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    occupy(&occupied, 1);
    struct caller caller = {.guard = &occupied.guard, .outcome = OK, .options.cancel = &cancel};
    start(&caller);
    await_another_asleep(&cancel, NULL);
    lull_cancel_pull(&cancel);
    finish(&caller);
    assert_cancelled(caller.code, &caller.result, 0);
    vacate(&occupied);
    assert_int_equal(look(&occupied.guard).firsts, 1); /* the one that was inside */
    lull_cancel_clean_up(&cancel);
}

/* The place and the pull arrive together: the place goes back. Holding the cancel's mutex keeps
 * the caller, woken by the place, from leaving its list. */
static void test_pulled_as_a_place_became_free(void **state) {
    (void)state;
    struct occupied occupied;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    occupy(&occupied, 1);
    struct caller caller = {.guard = &occupied.guard, .outcome = OK, .options.cancel = &cancel};
    start(&caller);
    await_another_asleep(&cancel, NULL);
    pthread_mutex_lock(&cancel.mutex);
    open_gate(&occupied.gate);
    finish(&occupied.inside);
    assert_int_equal(lull_bulkhead_snapshot(&occupied.guard.bulkhead).inside, 1);
    atomic_store(&cancel.pulled, true);
    pthread_mutex_unlock(&cancel.mutex);
    finish(&caller);
    assert_cancelled(caller.code, &caller.result, 0);
    struct lull_guard_stats stats = look(&occupied.guard);
    assert_int_equal(stats.bulkhead.inside, 0);
    assert_int_equal(stats.outcomes[LULL_CANCELLED], 1);
    lull_cancel_clean_up(&cancel);
}

/* Three sleep under one cancel; the one in the middle of the list leaves of itself, and one pull
 * wakes the others. */
static void test_one_cancel_serves_many_calls(void **state) {
    (void)state;
    struct lull_guard slow;
    struct occupied occupied;
    struct lull_cancel cancel;
    assert_int_equal(lull_cancel_init(&cancel), LULL_OK);
    init_slow(&slow);
    occupy(&occupied, 1);
    struct caller callers[3] = {
        {.guard = &slow, .outcome = TRANSIENT, .options.cancel = &cancel},
        {.guard = &occupied.guard, .outcome = OK, .options.cancel = &cancel},
        {.guard = &slow, .outcome = TRANSIENT, .options.cancel = &cancel}};
    const void *newest = NULL;
    for (int i = 0; i < 3; i++) {
        start(&callers[i]);
        newest = await_another_asleep(&cancel, newest);
    }
    open_gate(&occupied.gate);
    finish(&callers[1]);
    assert_int_equal(callers[1].code, LULL_OK);
    vacate(&occupied);
    assert_ptr_equal(cancel.sleepers, newest);
    lull_cancel_pull(&cancel);
    for (int i = 0; i < 3; i += 2) {
        finish(&callers[i]);
        assert_cancelled(callers[i].code, &callers[i].result, 1);
    }
    assert_null(cancel.sleepers);
    lull_cancel_clean_up(&cancel);
}

/* ---- all at once ---- */

enum { THREADS = 8, RUNS = 400, LIMIT = 2 };

static _Atomic(int) at_once, too_many;

static struct lull_outcome crowd(void *arg, const struct lull_attempt *attempt) {
    uint64_t word = lull_random_next(arg);
    if (atomic_fetch_add(&at_once, 1) >= LIMIT)
        atomic_store(&too_many, 1);
    if (word % 4 == 0)
        sched_yield();
    atomic_fetch_sub(&at_once, 1);
    (void)attempt;
    return word % 8 == 1 ? (struct lull_outcome)TRANSIENT : (struct lull_outcome)OK;
}

struct visitor {
    struct lull_guard *guard;
    struct visitor *neighbour;
    pthread_mutex_t mutex;
    struct lull_cancel *current; /* for the other neighbour to pull */
    pthread_t thread;
    uint64_t random;
    uint64_t attempts;
    int codes[5]; /* OK, refused, failed, cancelled, anything else */
};

static void show(struct visitor *visitor, struct lull_cancel *current) {
    pthread_mutex_lock(&visitor->mutex);
    visitor->current = current;
    pthread_mutex_unlock(&visitor->mutex);
}

static void annoy(struct visitor *neighbour) {
    pthread_mutex_lock(&neighbour->mutex);
    if (neighbour->current != NULL)
        lull_cancel_pull(neighbour->current);
    pthread_mutex_unlock(&neighbour->mutex);
}

/* One call with a deadline, a cancel and patience drawn by lot. */
static void visit_once(struct visitor *visitor) {
    struct lull_cancel cancel;
    struct lull_run_result result = {0};
    uint64_t word = lull_random_next(&visitor->random);
    struct lull_run_options options = {
        .call.deadline = word % 4 == 1 ? 20 * LULL_MICROSECOND : LULL_HOUR,
        .cancel = (word >> 8) % 2 == 0 ? &cancel : NULL,
        .wait = (word >> 16) % 2 == 0,
    };
    if (lull_cancel_init(&cancel) != LULL_OK)
        return;
    show(visitor, &cancel);
    if ((word >> 24) % 4 == 0)
        annoy(visitor->neighbour);
    if ((word >> 32) % 16 == 0)
        lull_cancel_pull(&cancel);
    int code = lull_run(visitor->guard, crowd, &visitor->random, &options, &result);
    visitor->attempts += result.attempts;
    visitor->codes[code == LULL_OK           ? 0
                   : code == LULL_EREFUSED   ? 1
                   : code == LULL_EFAILED    ? 2
                   : code == LULL_ECANCELLED ? 3
                                             : 4]++;
    show(visitor, NULL);
    lull_cancel_clean_up(&cancel);
}

static void *visit(void *arg) {
    for (int i = 0; i < RUNS; i++)
        visit_once(arg);
    return NULL;
}

static void test_a_crowd_keeps_to_the_limit_and_leaves_nothing_behind(void **state) {
    (void)state;
    struct lull_guard guard;
    struct lull_guard_config config = quick();
    config.retry.backoff = (struct lull_backoff_config){.base = 10 * LULL_MICROSECOND};
    config.without = LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET;
    config.breaker.failure_rate = 1;
    config.breaker.slow_call = LULL_NONE;
    config.bulkhead = (struct lull_bulkhead_config){.limit = LIMIT, .queue = THREADS};
    init(&guard, config);
    struct visitor visitors[THREADS];
    for (int i = 0; i < THREADS; i++)
        visitors[i] = (struct visitor){.guard = &guard,
                                       .neighbour = &visitors[(i + 1) % THREADS],
                                       .mutex = PTHREAD_MUTEX_INITIALIZER,
                                       .random = (uint64_t)i};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]), 0);
    }
    int total = 0, succeeded = 0;
    uint64_t attempts = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(visitors[i].thread, NULL);
        assert_int_equal(visitors[i].codes[4], 0);
        assert_true(visitors[i].codes[3] > 0);
        for (int j = 0; j < 4; j++)
            total += visitors[i].codes[j];
        succeeded += visitors[i].codes[0];
        attempts += visitors[i].attempts;
    }
    assert_int_equal(total, THREADS * RUNS);
    assert_int_equal(atomic_load(&too_many), 0);
    struct lull_guard_stats stats = look(&guard);
    assert_int_equal(stats.bulkhead.inside, 0);
    assert_int_equal(stats.bulkhead.waiting, 0);
    assert_int_equal(stats.outcomes[LULL_SUCCESS], succeeded);
    assert_int_equal(stats.outcomes[LULL_SUCCESS] + stats.outcomes[LULL_TRANSIENT], attempts);
    assert_int_equal(stats.firsts + stats.retries, attempts + stats.outcomes[LULL_CANCELLED]);
}

#define TEST(name) cmocka_unit_test(test_##name)

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
        TEST(waits_for_a_place),
        TEST(backs_off_in_full_after_waiting_for_a_place),
        TEST(paused_while_waiting_for_a_place),
        TEST(waits_for_a_place_no_longer_than_its_deadline),
        TEST(pulled_before_the_call),
        TEST(pulled_during_an_attempt),
        TEST(pulled_while_backing_off),
        TEST(pulled_while_waiting_out_a_refusal),
        TEST(pulled_while_waiting_for_a_place),
        TEST(pulled_as_a_place_became_free),
        TEST(one_cancel_serves_many_calls),
        TEST(a_crowd_keeps_to_the_limit_and_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
