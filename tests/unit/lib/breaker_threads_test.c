/* The circuit breaker: many threads, and operators who contradict each other. */
#include "breaker_fixture.h"

#include <lull/random.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

#if defined(__SANITIZE_THREAD__)
#define SLOWED_DOWN 10
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOWED_DOWN 10
#endif
#endif
#ifndef SLOWED_DOWN
#define SLOWED_DOWN 1
#endif

enum { THREADS = 8, ROUNDS = 20000 / SLOWED_DOWN, HELD = 4 };
enum { MOST_GENERATIONS = 1 << 20, MOST_STORED = 1 << 19 };

static struct {
    struct lull_breaker breaker;
    _Atomic(lull_time) clock;
    _Atomic(uint64_t) voted, failed, slow, refused; /* as the callers know it */
    _Atomic(uint32_t) taken[MOST_GENERATIONS], returned[MOST_GENERATIONS];
    pthread_mutex_t mutex;
    size_t count; /* of events; under the mutex */
    struct lull_breaker_event events[MOST_STORED];
    bool ignores; /* some calls end as "ignored" */
} crowd = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void store_event(void *context, const struct lull_breaker_event *event) {
    (void)context;
    pthread_mutex_lock(&crowd.mutex);
    if (crowd.count < MOST_STORED)
        crowd.events[crowd.count] = *event;
    crowd.count++;
    pthread_mutex_unlock(&crowd.mutex);
}

static void end_call(uint32_t permit, uint64_t word) {
    lull_time now = atomic_load(&crowd.clock);
    uint32_t dice = (uint32_t)(word % 100);
    bool slow = (word >> 32) % 10 == 0;
    enum lull_vote vote = dice < 35 ? LULL_VOTE_FAILURE : LULL_VOTE_SUCCESS;
    if (dice >= 95)
        return; /* vanishes */
    if (dice >= 85 && crowd.ignores) {
        vote = LULL_VOTE_NONE;
        atomic_fetch_add(&crowd.returned[permit], 1);
    } else {
        atomic_fetch_add(&crowd.voted, 1);
        atomic_fetch_add(&crowd.failed, vote == LULL_VOTE_FAILURE);
        atomic_fetch_add(&crowd.slow, slow);
    }
    lull_breaker_record(&crowd.breaker, permit, vote, slow ? SLOW : QUICK, word, now);
}

static void *hammer(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    uint32_t held[HELD];
    int count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t permit;
        lull_time now = atomic_fetch_add(&crowd.clock, 1);
        if (lull_breaker_admit(&crowd.breaker, &permit, now).decision == LULL_GO) {
            atomic_fetch_add(&crowd.taken[permit], 1);
            held[count++] = permit;
        } else {
            atomic_fetch_add(&crowd.refused, 1);
        }
        uint64_t word = lull_random_next(&random);
        while (count > 0 && (count == HELD || word % 3 == 0)) {
            end_call(held[--count], lull_random_next(&random));
            word >>= 2;
        }
    }
    while (count > 0)
        end_call(held[--count], lull_random_next(&random));
    return NULL;
}

static void *operate(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (int round = 0; round < ROUNDS; round++) {
        lull_time now = atomic_fetch_add(&crowd.clock, 1);
        enum lull_breaker_mode mode = (enum lull_breaker_mode)(lull_random_next(&random) % 6);
        /* Normal more often than not, or the circuit has no time to open. */
        lull_breaker_set_mode(&crowd.breaker, mode > 3 ? LULL_BREAKER_NORMAL : mode, now);
        for (int i = 0; i < 20; i++)
            (void)lull_breaker_snapshot(&crowd.breaker, now);
    }
    return NULL;
}

static void run_crowd(struct lull_breaker_config config, bool ignores, int operators) {
    config.on_transition = store_event;
    memset((void *)crowd.taken, 0, sizeof crowd.taken);
    memset((void *)crowd.returned, 0, sizeof crowd.returned);
    atomic_store(&crowd.clock, START);
    atomic_store(&crowd.voted, 0);
    atomic_store(&crowd.failed, 0);
    atomic_store(&crowd.slow, 0);
    atomic_store(&crowd.refused, 0);
    crowd.count = 0;
    crowd.ignores = ignores;
    assert_int_equal(lull_breaker_init(&crowd.breaker, &config, NULL), LULL_OK);
    pthread_t threads[THREADS + 2];
    for (int i = 0; i < THREADS + operators; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < THREADS ? hammer : operate,
                                        (void *)(uintptr_t)(i + 1)),
                         0);
    for (int i = 0; i < THREADS + operators; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static int by_generation(const void *left, const void *right) {
    uint32_t a = ((const struct lull_breaker_event *)left)->generation;
    uint32_t b = ((const struct lull_breaker_event *)right)->generation;
    return a < b ? -1 : a > b;
}

/* Exactly one event per transition, each from where the last one went, in generations that grow. */
static void events_chain_up(struct lull_breaker_stats stats) {
    assert_true(crowd.count < MOST_STORED);
    assert_int_equal(crowd.count, stats.transitions);
    qsort(crowd.events, crowd.count, sizeof crowd.events[0], by_generation);
    enum lull_breaker_state at = LULL_BREAKER_CLOSED;
    uint32_t generation = 0;
    for (size_t i = 0; i < crowd.count; i++) {
        const struct lull_breaker_event *event = &crowd.events[i];
        assert_int_equal(event->from, at);
        assert_int_not_equal(event->to, at);
        assert_true(event->generation > generation);
        assert_true((event->to == LULL_BREAKER_OPEN) == (event->open_until != 0));
        if (event->to == LULL_BREAKER_OPEN)
            assert_true(event->open_until > event->at && event->open_until <= event->at + 1000);
        at = event->to;
        generation = event->generation;
    }
    assert_int_equal(stats.state, at);
    assert_true(stats.generation >= generation && stats.generation < MOST_GENERATIONS);
}

/* Between two events all generations belong to the state that began with the first. */
static void probes_are_bounded(uint32_t probes, uint32_t last_generation) {
    size_t next = 0;
    enum lull_breaker_state at = LULL_BREAKER_CLOSED;
    for (uint32_t generation = 0; generation <= last_generation; generation++) {
        if (next < crowd.count && crowd.events[next].generation == generation)
            at = crowd.events[next++].to;
        uint32_t taken = crowd.taken[generation], returned = crowd.returned[generation];
        if (at == LULL_BREAKER_HALF_OPEN)
            assert_true(taken <= probes + returned);
        if (at == LULL_BREAKER_OPEN || at == LULL_BREAKER_FORCED_OPEN)
            assert_int_equal(taken, 0);
    }
}

/* When the dust has settled, the breaker must still be one: it recovers, it counts, it opens. */
static void still_works(struct lull_breaker_config config) {
    lull_time now = atomic_load(&crowd.clock);
    lull_breaker_set_mode(&crowd.breaker, LULL_BREAKER_MODE_METRICS_ONLY, now);
    lull_breaker_set_mode(&crowd.breaker, LULL_BREAKER_NORMAL, now);
    for (uint32_t i = 0; i < config.minimum_calls; i++) {
        uint32_t permit;
        assert_int_equal(lull_breaker_current(&crowd.breaker), LULL_BREAKER_CLOSED);
        assert_int_equal(lull_breaker_admit(&crowd.breaker, &permit, now).decision, LULL_GO);
        lull_breaker_record(&crowd.breaker, permit, LULL_VOTE_FAILURE, 0, 0, now);
    }
    assert_int_equal(lull_breaker_current(&crowd.breaker), LULL_BREAKER_OPEN);
}

static void many_threads_one_breaker(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool by_count = i & 1, ignores = i & 2, operated = i & 4;
        struct lull_breaker_config config = {.by_count = by_count,
                                             .calls = 16,
                                             .window = 2000,
                                             .slices = 4,
                                             .minimum_calls = 4,
                                             .failure_rate = 0.3,
                                             .open_time = 50,
                                             .open_max = 150,
                                             .probes = 3,
                                             .lease = 150};
        run_crowd(config, ignores, operated ? 1 : 0);
        struct lull_breaker_stats stats =
            lull_breaker_snapshot(&crowd.breaker, atomic_load(&crowd.clock));
        uint64_t given = atomic_load(&crowd.voted);
        if (operated) { /* what ends in the disabled mode is nowhere */
            assert_true(stats.calls + stats.late <= given);
        } else {
            assert_int_equal(stats.calls + stats.late, given);
        }
        assert_int_equal(stats.refused, atomic_load(&crowd.refused));
        assert_true(stats.failed <= atomic_load(&crowd.failed));
        assert_true(stats.slow <= atomic_load(&crowd.slow));
        assert_true(stats.failed <= stats.calls && stats.slow <= stats.calls);
        assert_true(stats.transitions > 30); /* or the test shows nothing */
        events_chain_up(stats);
        probes_are_bounded(config.probes, stats.generation);
        still_works(config);
    }
}

/* Operators who contradict each other: whoever is last wins, wholly. */
static void many_operators(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct lull_breaker_config config = {
            .by_count = i & 1, .calls = 16, .minimum_calls = 4, .on_transition = store_event};
        atomic_store(&crowd.clock, START);
        crowd.count = 0;
        assert_int_equal(lull_breaker_init(&crowd.breaker, &config, NULL), LULL_OK);
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            assert_int_equal(
                pthread_create(&threads[k], NULL, operate, (void *)(uintptr_t)(7 * i + k + 1)), 0);
        for (int k = 0; k < 4; k++)
            assert_int_equal(pthread_join(threads[k], NULL), 0);
        struct lull_breaker_stats stats = lull_breaker_snapshot(&crowd.breaker, START);
        events_chain_up(stats);
        uint32_t permit;
        if (stats.state == LULL_BREAKER_CLOSED || stats.state == LULL_BREAKER_METRICS_ONLY) {
            assert_int_equal(lull_breaker_admit(&crowd.breaker, &permit, START).decision, LULL_GO);
            lull_breaker_record(&crowd.breaker, permit, LULL_VOTE_FAILURE, 0, 0, START);
            assert_int_equal(lull_breaker_snapshot(&crowd.breaker, START).window_failed, 1);
        }
        still_works(config);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_one_breaker),
        cmocka_unit_test(many_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
