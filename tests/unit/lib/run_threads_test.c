/* lull_run on several threads: waiting for a place, cancelling, and all at once. */
#include "run_fixture.h"

#include <lull/random.h>

#include <sched.h>
#include <stdatomic.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
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
