/* One guard, many threads. Time is a shared counter, so a thread's `now` may be a little older than another's, as with real
 * clocks; nothing here depends on how fast a thread is. Threads only take notes: cmocka's assertions belong to the main
 * thread. Run it under TSan, too. */
#include <lull/guard.h>
#include <lull/random.h>

#include "atomic.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define MILLISECONDS(n) ((n)*LULL_MILLISECOND)
#define SECONDS(n) ((n)*LULL_SECOND)

enum { THREADS = 8, ROUNDS = SANITIZED ? 3000 : 20000, LOST_WAKE_SECONDS = 60 };

/* What one thread saw. */
struct notes {
    uint64_t thread, random;
    uint64_t firsts, retries, ended, successes, refused, stopped, paid, waits, handed;
};

static struct lull_guard guard;

/* What all threads see. */
static struct {
    pthread_barrier_t start;
    void (*work)(struct notes *);
    _Atomic(lull_time) clock;
    _Atomic(int) inside, most_inside;
    _Atomic(int) lost_wakes, impossible; /* `impossible`: what must not be seen, was */
    _Atomic(bool) over;
} shared;

static void set_up(struct lull_guard_config config) {
    struct lull_error error = {0};
    memset(&guard, 0xa5, sizeof guard);
    if (lull_guard_init(&guard, &config, &error) != LULL_OK)
        fail_msg("%s", error.message);
    memset(&shared, 0, sizeof shared);
}

static struct lull_guard_stats stats_at(lull_time now) {
    struct lull_guard_stats stats;
    lull_guard_snapshot(&guard, &stats, now);
    return stats;
}

static uint64_t sum(const uint64_t *counts, size_t length) {
    uint64_t total = 0;
    for (size_t i = 0; i < length; i++)
        total += counts[i];
    return total;
}

static void *start(void *notes) {
    pthread_barrier_wait(&shared.start);
    shared.work(notes);
    return NULL;
}

static void add_up(struct notes *all, const struct notes *notes) {
    all->firsts += notes->firsts;
    all->retries += notes->retries;
    all->ended += notes->ended;
    all->successes += notes->successes;
    all->refused += notes->refused;
    all->stopped += notes->stopped;
    all->paid += notes->paid;
    all->waits += notes->waits;
    all->handed += notes->handed;
}

/* All threads begin `work` at the same moment; `helper` (may be NULL) runs beside them until `over`. Returns the sum of
 * their notes. */
static struct notes run_threads(void (*work)(struct notes *), void *(*helper)(void *)) {
    struct notes notes[THREADS], all;
    pthread_t threads[THREADS], helping;
    memset(notes, 0, sizeof notes);
    memset(&all, 0, sizeof all);
    shared.work = work;
    assert_int_equal(pthread_barrier_init(&shared.start, NULL, THREADS), 0);
    if (helper != NULL)
        assert_int_equal(pthread_create(&helping, NULL, helper, NULL), 0);
    for (uint64_t i = 0; i < THREADS; i++) {
        notes[i].thread = notes[i].random = i;
        assert_int_equal(pthread_create(&threads[i], NULL, start, &notes[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        add_up(&all, &notes[i]);
    }
    store(&shared.over, true);
    if (helper != NULL)
        assert_int_equal(pthread_join(helping, NULL), 0);
    pthread_barrier_destroy(&shared.start);
    return all;
}

/* ---- one instant: exactly what there is, is given ---- */

static struct lull_call begin(struct notes *notes) {
    struct lull_call call;
    lull_call_begin(&guard, &call, NULL, lull_random_next(&notes->random), 0);
    return call;
}

static void ask_often(struct notes *notes) {
    for (int i = 0; i < 500; i++) {
        struct lull_call call = begin(notes);
        struct lull_verdict verdict = lull_admit(&guard, &call, SECONDS(1));
        notes->firsts += verdict.decision == LULL_GO;
        notes->refused += verdict.decision == LULL_NO;
    }
}

static void test_no_token_is_given_twice(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.bucket = {.capacity = 1000, .rate = 1},
                                      .without = LULL_WITHOUT_BULKHEAD});
    struct notes all = run_threads(ask_often, NULL);
    assert_int_equal(all.firsts, 1000);
    assert_int_equal(all.refused, THREADS * 500 - 1000);
    assert_int_equal(stats_at(SECONDS(1)).refused[LULL_POLICY_BUCKET], all.refused);
}

static void test_no_place_is_given_twice(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.bulkhead = {.limit = 700}});
    struct notes all = run_threads(ask_often, NULL);
    assert_int_equal(all.firsts, 700);
    assert_int_equal(stats_at(SECONDS(1)).bulkhead.inside, 700);
    assert_int_equal(stats_at(SECONDS(1)).bucket.tokens, LULL_BUCKET_CAPACITY - 700);
    assert_int_equal(stats_at(SECONDS(1)).refused[LULL_POLICY_BULKHEAD], all.refused);
}

static void test_no_probe_is_given_twice(void **state) {
    (void)state;
    set_up((struct lull_guard_config){
        .breaker = {.minimum_calls = 1, .open_time = 1, .probes = 200},
        .bulkhead = {.limit = 1000},
    });
    struct notes none = {.random = 99};
    struct lull_call call = begin(&none);
    assert_int_equal(lull_admit(&guard, &call, 0).decision, LULL_GO);
    struct lull_outcome failed = {.class_ = LULL_TRANSIENT};
    assert_int_equal(lull_complete(&guard, &call, failed, 0).decision, LULL_RETRY);
    struct notes all = run_threads(ask_often, NULL);
    assert_int_equal(all.firsts, 200);
    assert_int_equal(stats_at(SECONDS(1)).breaker.probes_out, 200);
}

static void fail_often(struct notes *notes) {
    for (int i = 0; i < 200; i++) {
        struct lull_call call = begin(notes);
        struct lull_outcome failed = {.class_ = LULL_TRANSIENT};
        if (lull_admit(&guard, &call, 0).decision != LULL_GO)
            add(&shared.impossible, 1);
        notes->paid += lull_complete(&guard, &call, failed, 0).decision == LULL_RETRY;
    }
}

/* 1,000 successes pay for 100 retries, the floor for 10. */
static void test_no_retry_is_paid_twice(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.budget = {.cap_seconds = LULL_NONE},
                                      .without = LULL_WITHOUT_BREAKER});
    struct notes none = {.random = 99};
    for (int i = 0; i < 1000; i++) {
        struct lull_call call = begin(&none);
        struct lull_outcome fine = {.class_ = LULL_SUCCESS};
        assert_int_equal(lull_admit(&guard, &call, 0).decision, LULL_GO);
        assert_int_equal(lull_complete(&guard, &call, fine, 0).decision, LULL_DONE);
    }
    struct notes all = run_threads(fail_often, NULL);
    assert_int_equal(all.paid, 110);
    assert_int_equal(stats_at(0).budget.withdrawn, 110);
    assert_int_equal(stats_at(0).stopped[LULL_REASON_BUDGET_SPENT], THREADS * 200 - 110);
    assert_int_equal(load(&shared.impossible), 0);
}

/* ---- the clock is moved by all at once ---- */

/* Each time is later than all before, so all threads move it. */
static void move_clock(struct notes *notes) {
    (void)notes;
    for (int i = 0; i < 50 * ROUNDS; i++) {
        lull_time until = add(&shared.clock, 1) + 1;
        lull_guard_pause(&guard, until);
        if (load(&guard.not_before) < until)
            add(&shared.impossible, 1);
    }
}

static void test_clock_is_never_moved_back(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.retry = {.deadline = LULL_NONE}});
    (void)run_threads(move_clock, NULL);
    assert_int_equal(stats_at(0).not_before, (int64_t)50 * ROUNDS * THREADS);
    assert_int_equal(load(&shared.impossible), 0);
}

/* ---- totals are read while all count ---- */

/* One first try, and then retries without end. */
static void retry_often(struct notes *notes) {
    struct lull_call call = begin(notes);
    for (int i = 0; i < 5 * ROUNDS; i++) {
        struct lull_outcome failed = {.class_ = LULL_TRANSIENT};
        if (lull_admit(&guard, &call, 0).decision != LULL_GO ||
            lull_complete(&guard, &call, failed, 0).decision != LULL_RETRY)
            add(&shared.impossible, 1);
    }
}

static void *watch_totals(void *arg) {
    (void)arg;
    uint64_t firsts = 0, retries = 0;
    while (!load(&shared.over)) {
        struct lull_guard_stats stats = stats_at(0);
        if (stats.firsts < firsts || stats.retries < retries)
            add(&shared.impossible, 1);
        firsts = stats.firsts;
        retries = stats.retries;
    }
    return NULL;
}

static void test_totals_never_go_back(void **state) {
    (void)state;
    set_up((struct lull_guard_config){
        .retry = {.attempts = UINT32_MAX},
        .bucket = {.capacity = 100000000, .rate = 100000000},
        .without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET,
    });
    (void)run_threads(retry_often, watch_totals);
    assert_int_equal(load(&shared.impossible), 0);
    /* And in the end they are right. */
    assert_int_equal(stats_at(0).retries, THREADS * 5 * (uint64_t)ROUNDS - THREADS);
    assert_int_equal(stats_at(0).firsts, THREADS);
}

/* ---- a place that becomes free between the look at it and the queue ---- */

static void *arrive(void *arg) {
    struct lull_call *call = arg;
    struct lull_waiter waiter = {0};
    struct lull_verdict verdict = lull_admit_or_wait(&guard, call, &waiter, 0);
    if (verdict.decision != LULL_GO)
        add(&shared.impossible, 1);
    return NULL;
}

/* The newcomer has its token, found no place, and is held up at the lock of the queue; then the place becomes free. (Should
 * it be held up before it looks, it gets the place all the same.) */
static void test_place_freed_on_the_way_to_the_queue(void **state) {
    (void)state;
    set_up((struct lull_guard_config){.bulkhead = {.limit = 1}});
    struct notes none = {.random = 99};
    struct lull_call first = begin(&none), second = begin(&none);
    assert_int_equal(lull_admit(&guard, &first, 0).decision, LULL_GO);
    spin_lock(&guard.bulkhead.locked);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, arrive, &second), 0);
    while (stats_at(0).bucket.tokens != LULL_BUCKET_CAPACITY - 2)
        sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = MILLISECONDS(20)}, NULL);
    struct lull_outcome fine = {.class_ = LULL_SUCCESS};
    assert_int_equal(lull_complete(&guard, &first, fine, 0).decision, LULL_DONE);
    unlock(&guard.bulkhead.locked);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(load(&shared.impossible), 0);
    assert_int_equal(stats_at(0).bulkhead.inside, 1);
    assert_int_equal(lull_complete(&guard, &second, fine, 0).decision, LULL_DONE);
    assert_int_equal(stats_at(0).bulkhead.inside, 0);
}

/* ---- a busy day ---- */

struct guest {
    struct lull_call call;
    struct lull_waiter waiter;
    sem_t ready;
};

static int64_t pick(struct notes *notes, int64_t low, int64_t high) {
    return lull_uniform(lull_random_next(&notes->random), low, high);
}

static lull_time tick(void) {
    return add(&shared.clock, LULL_MICROSECOND) + LULL_MICROSECOND;
}

/* Time goes on to `until`, for everybody. */
static void pass_time(lull_time until) {
    lull_time now = load(&shared.clock);
    while (now < until && !swap_if(&shared.clock, &now, until)) {
    }
}

static void wake(struct lull_waiter *waiter) {
    sem_post(waiter->context);
}

/* Half of them are patient. While nobody dies inside, a place comes to each; should it not, that is a lost wake-up. */
static struct lull_verdict wait_for_place(struct notes *notes, struct guest *guest) {
    notes->waits++;
    if (pick(notes, 0, 1) == 0) {
        sched_yield();
    } else {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += LOST_WAKE_SECONDS;
        int result;
        do
            result = sem_timedwait(&guest->ready, &limit);
        while (result != 0 && errno == EINTR);
        add(&shared.lost_wakes, result != 0);
    }
    struct lull_verdict verdict = lull_settle(&guard, &guest->call, &guest->waiter, tick());
    notes->handed += verdict.decision == LULL_GO;
    return verdict;
}

static struct lull_verdict ask(struct notes *notes, struct guest *guest) {
    lull_time now = tick();
    if (pick(notes, 0, 2) == 0)
        return lull_admit(&guard, &guest->call, now);
    struct lull_verdict verdict = lull_admit_or_wait(&guard, &guest->call, &guest->waiter, now);
    return verdict.decision == LULL_WAIT ? wait_for_place(notes, guest) : verdict;
}

static void stay_inside(struct notes *notes) {
    int inside = add(&shared.inside, 1) + 1;
    int most = load(&shared.most_inside);
    while (most < inside && !swap_if(&shared.most_inside, &most, inside)) {
    }
    if (pick(notes, 0, 3) == 0)
        sched_yield();
    subtract(&shared.inside, 1);
}

static struct lull_outcome random_outcome(struct notes *notes) {
    struct lull_outcome outcome = {.class_ = LULL_SUCCESS};
    if (pick(notes, 0, 9) >= 6)
        outcome.class_ = (enum lull_class)pick(notes, LULL_SUCCESS, LULL_CLASS_COUNT - 1);
    if (outcome.class_ == LULL_THROTTLED && pick(notes, 0, 9) == 0)
        outcome.retry_after = pick(notes, 1, 5 * LULL_MICROSECOND);
    return outcome;
}

/* True: once more. */
static bool attempt(struct notes *notes, struct guest *guest) {
    struct lull_verdict verdict = ask(notes, guest);
    notes->refused += verdict.decision == LULL_NO;
    notes->stopped += verdict.decision == LULL_STOP;
    if (verdict.decision == LULL_NO)
        sched_yield(); /* somebody else may change that */
    if (verdict.decision != LULL_GO)
        return false;
    if (guest->call.attempt == 1)
        notes->firsts++;
    else
        notes->retries++;
    stay_inside(notes);
    notes->ended++;
    if (pick(notes, 0, 49) == 0) {
        lull_call_abandon(&guard, &guest->call, tick());
        return false;
    }
    struct lull_outcome outcome = random_outcome(notes);
    verdict = lull_complete(&guard, &guest->call, outcome, tick());
    notes->successes += outcome.class_ == LULL_SUCCESS;
    notes->stopped += verdict.decision == LULL_STOP;
    notes->paid += verdict.decision == LULL_RETRY;
    if (verdict.decision != LULL_RETRY)
        return false;
    pass_time(verdict.at);
    return true;
}

static void spend_the_day(struct notes *notes) {
    for (int round = 0; round < ROUNDS; round++) {
        struct guest guest;
        struct lull_call_options options = {
            .deadline = pick(notes, 0, 3) == 0 ? pick(notes, 1, MILLISECONDS(1)) : 0,
            .idempotent = pick(notes, 0, 1) == 0,
            .not_the_edge = pick(notes, 0, 9) == 0,
        };
        sem_init(&guest.ready, 0, 0);
        guest.waiter = (struct lull_waiter){.wake = wake, .context = &guest.ready};
        lull_call_begin(&guard, &guest.call, &options, lull_random_next(&notes->random),
                        load(&shared.clock));
        while (attempt(notes, &guest)) {
        }
        sem_destroy(&guest.ready);
    }
}

/* ---- the day with settings that change, and onlookers ---- */

#define MOST_INSIDE 5
#define MOST_RATIO 0.2

static struct lull_guard_config calm(void) {
    return (struct lull_guard_config){
        .retry = {.attempts = 4,
                  .backoff = {.base = LULL_MICROSECOND, .cap = 10 * LULL_MICROSECOND},
                  .deadline = LULL_NONE},
        .breaker = {.minimum_calls = 50, .failure_rate = 0.9, .open_time = MILLISECONDS(1)},
        .budget = {.cap_seconds = LULL_NONE},
        .bucket = {.capacity = 100000000, .rate = 100000000},
        .bulkhead = {.limit = 3, .queue = 3},
    };
}

static struct lull_guard_config livelier(void) {
    struct lull_guard_config config = calm();
    config.retry.attempts = 2;
    config.retry.backoff = (struct lull_backoff_config){
        .tier_count = 2, .tiers = {LULL_MICROSECOND, 2 * LULL_MICROSECOND}};
    config.breaker.failure_rate = 0.5;
    config.breaker.open_time = 20 * LULL_MICROSECOND;
    config.budget.ratio = MOST_RATIO;
    config.bucket.rate = 50000000;
    config.bulkhead = (struct lull_bulkhead_config){.limit = MOST_INSIDE, .queue = 1};
    return config;
}

/* Totals only grow, and no moment shows more calls inside than were ever allowed. */
static void look_on(uint64_t *firsts) {
    struct lull_guard_stats stats = stats_at(load(&shared.clock));
    if (stats.firsts < *firsts || stats.bulkhead.inside > MOST_INSIDE)
        add(&shared.impossible, 1);
    *firsts = stats.firsts;
}

static void *change_settings(void *arg) {
    (void)arg;
    uint64_t firsts = 0;
    for (int i = 0; !load(&shared.over); i++) {
        struct lull_guard_config config = i & 1 ? calm() : livelier();
        if (lull_guard_configure(&guard, &config, NULL) != LULL_OK)
            add(&shared.impossible, 1);
        look_on(&firsts);
        sched_yield();
    }
    return NULL;
}

static void *only_look_on(void *arg) {
    (void)arg;
    uint64_t firsts = 0;
    while (!load(&shared.over)) {
        look_on(&firsts);
        sched_yield();
    }
    return NULL;
}

/* Policies come and go, the operator plays with the circuit and the clock. */
static void *upset_everything(void *arg) {
    (void)arg;
    struct notes notes = {.random = 4711};
    uint64_t firsts = 0;
    while (!load(&shared.over)) {
        struct lull_guard_config config = pick(&notes, 0, 1) ? calm() : livelier();
        config.without = (uint32_t)pick(&notes, 0, 15);
        if (lull_guard_configure(&guard, &config, NULL) != LULL_OK)
            add(&shared.impossible, 1);
        if (pick(&notes, 0, 3) == 0)
            lull_guard_pause(&guard, load(&shared.clock) + pick(&notes, 0, 9) * LULL_MICROSECOND);
        if (pick(&notes, 0, 3) == 0)
            lull_guard_resume(&guard);
        enum lull_breaker_mode mode = LULL_BREAKER_NORMAL;
        if (pick(&notes, 0, 3) == 0)
            mode = (enum lull_breaker_mode)pick(&notes, 0, LULL_BREAKER_MODE_METRICS_ONLY);
        lull_breaker_set_mode(&guard.breaker, mode, load(&shared.clock));
        look_on(&firsts);
        sched_yield();
    }
    return NULL;
}

static void check_nothing_is_left_behind(struct notes all) {
    struct lull_guard_stats stats = stats_at(load(&shared.clock));
    assert_int_equal(load(&shared.lost_wakes), 0);
    assert_int_equal(load(&shared.impossible), 0);
    assert_int_equal(stats.bulkhead.inside, 0);
    assert_int_equal(stats.bulkhead.waiting, 0);
    assert_null(guard.bulkhead.first);
    assert_int_equal(stats.breaker.probes_out, 0);
    assert_int_equal(stats.firsts, all.firsts);
    assert_int_equal(stats.retries, all.retries);
    assert_int_equal(all.firsts + all.retries, all.ended);
    assert_int_equal(sum(stats.outcomes, LULL_CLASS_COUNT), all.ended);
    assert_int_equal(stats.outcomes[LULL_SUCCESS], all.successes);
    assert_int_equal(sum(stats.refused, LULL_POLICY_COUNT), all.refused);
    assert_int_equal(sum(stats.stopped, LULL_REASON_COUNT), all.stopped);
    assert_int_equal(stats.stopped[LULL_REASON_MISUSE], 0);
    assert_true(stats.breaker.calls <= all.ended);
    /* The day was not an idle one. */
    assert_true(all.firsts > 1000 && all.waits > 100 && all.handed > 10 && all.retries > 10);
}

static void check_budget(struct notes all, double ratio) {
    lull_time now = load(&shared.clock);
    double seconds = (double)now / LULL_SECOND;
    double affordable =
        ratio * (double)all.successes + LULL_BUDGET_FLOOR + LULL_BUDGET_FLOOR * seconds;
    assert_true((double)all.paid <= affordable + 0.001);
    assert_int_equal(stats_at(now).budget.withdrawn, all.paid);
}

static void test_steady_settings(void **state) {
    (void)state;
    for (int by_count = 0; by_count <= 1; by_count++) {
        struct lull_guard_config config = calm();
        config.breaker.by_count = by_count;
        set_up(config);
        struct notes all = run_threads(spend_the_day, only_look_on);
        check_nothing_is_left_behind(all);
        check_budget(all, LULL_BUDGET_RATIO);
        assert_in_range(load(&shared.most_inside), 2, 3);
    }
}

static void test_changing_settings(void **state) {
    (void)state;
    set_up(calm());
    struct notes all = run_threads(spend_the_day, change_settings);
    check_nothing_is_left_behind(all);
    check_budget(all, MOST_RATIO);
    assert_in_range(load(&shared.most_inside), 2, MOST_INSIDE);
}

static void test_turmoil(void **state) {
    (void)state;
    set_up(calm());
    check_nothing_is_left_behind(run_threads(spend_the_day, upset_everything));
    /* And the guard is as good as new. */
    struct lull_guard_config config = calm();
    assert_int_equal(lull_guard_configure(&guard, &config, NULL), LULL_OK);
    lull_breaker_set_mode(&guard.breaker, LULL_BREAKER_NORMAL, 0);
    lull_guard_resume(&guard);
    struct notes none = {.random = 99};
    for (int i = 0; i < 3; i++) {
        struct lull_call call = begin(&none);
        lull_time later = load(&shared.clock) + LULL_HOUR;
        assert_int_equal(lull_admit(&guard, &call, later).decision, LULL_GO);
    }
    assert_int_equal(stats_at(load(&shared.clock) + LULL_HOUR).bulkhead.inside, 3);
    assert_int_equal(stats_at(load(&shared.clock) + LULL_HOUR).bucket.tokens, 100000000 - 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_token_is_given_twice),
        cmocka_unit_test(test_no_place_is_given_twice),
        cmocka_unit_test(test_no_probe_is_given_twice),
        cmocka_unit_test(test_no_retry_is_paid_twice),
        cmocka_unit_test(test_clock_is_never_moved_back),
        cmocka_unit_test(test_totals_never_go_back),
        cmocka_unit_test(test_place_freed_on_the_way_to_the_queue),
        cmocka_unit_test(test_steady_settings),
        cmocka_unit_test(test_changing_settings),
        cmocka_unit_test(test_turmoil),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
