/* The circuit breaker, explored: what breaker_model_test.c and breaker_interleavings_test.c share.
 *
 * The breaker's source is included here, with a switch point before each atomic operation. */
#ifndef LULL_TESTS_BREAKER_MODEL_FIXTURE_H
#define LULL_TESTS_BREAKER_MODEL_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- switch points ---- */

static void before_step(void); /* does nothing in breaker_model_test.c */

static inline bool swap_plain(_Atomic(uint64_t) *object, uint64_t *expected, uint64_t desired) {
    return atomic_compare_exchange_strong(object, expected, desired);
}
static inline uint64_t add_plain(_Atomic(uint64_t) *object, uint64_t value) {
    return atomic_fetch_add(object, value);
}
static inline bool exchange_plain(_Atomic(bool) *object, bool value) {
    return atomic_exchange(object, value);
}

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_add_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#define atomic_load_explicit(object, order) (before_step(), *(object))
#define atomic_store_explicit(object, value, order) (before_step(), (void)(*(object) = (value)))
#define atomic_fetch_add_explicit(object, value, order) (before_step(), add_plain(object, value))
#define atomic_exchange_explicit(object, value, order)                                             \
    (before_step(), exchange_plain(object, value))
#define atomic_compare_exchange_weak_explicit(object, expected, desired, order, order_failed)      \
    (before_step(), swap_plain((object), (expected), (desired)))
#define atomic_compare_exchange_strong_explicit(object, expected, desired, order, order_failed)    \
    (before_step(), swap_plain((object), (expected), (desired)))

#include "breaker.c" /* NOLINT(bugprone-suspicious-include) */
#include "window.c"  /* NOLINT(bugprone-suspicious-include) */

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define START 1000
#define SLICE 1000 /* the shortest window that may be configured is 1 µs */
#define QUICK 1
#define SLOW 3
#define SLOW_CALL 2

enum { MOST_IN_FLIGHT = 3, MOST_VOTES = 3, MOST_EVENTS = 8 };

/* ---- the rules, written a second time ----
 *
 * Votes are a list, each with the slice it fell into; the window is a walk over the list. Rates
 * are percentages. */

struct rules {
    const char *name;
    bool by_count;
    int size; /* calls, or slices */
    int minimum, probes, failure_percent, slow_percent;
    lull_duration open_time, open_max, lease;
};

struct ballot {
    bool failed, slow;
    int64_t slice;
};

struct model {
    enum lull_breaker_state state;
    uint32_t generation;
    uint32_t reopenings;
    lull_time open_until;
    int out, answered, failed_probes, slow_probes;
    lull_time last_probe;
    struct ballot ballots[MOST_VOTES + 1]; /* oldest first */
    int count;
    bool begun; /* the slices are counted from the first look at the window */
    lull_time first_slice;
    int64_t slice; /* the current one */
    uint64_t calls, failed, slow, refused, late, transitions;
};

struct told {
    int count;
    struct lull_breaker_event events[MOST_EVENTS];
};

static const struct rules *rules;
static struct told real_told;

static inline void write_down(struct told *told, const struct lull_breaker_event *event) {
    assert_true(told->count < MOST_EVENTS);
    told->events[told->count++] = *event;
}

/* ---- a state of both, side by side ---- */

struct world {
    struct lull_breaker breaker;
    struct model model;
    lull_time now;
    int in_flight;
    uint32_t permits[MOST_IN_FLIGHT]; /* oldest first; one that has vanished is not here any more */
};

static inline void note_event(void *context, const struct lull_breaker_event *event) {
    write_down(context, event);
}

static inline void begin_world(struct world *world) {
    memset((void *)world, 0, sizeof *world);
    struct lull_breaker_config config = {
        .by_count = rules->by_count,
        .calls = rules->by_count ? (uint32_t)rules->size : 0,
        .window = rules->by_count ? 0 : rules->size * SLICE,
        .slices = rules->by_count ? 0 : (uint32_t)rules->size,
        .minimum_calls = (uint32_t)rules->minimum,
        .failure_rate = rules->failure_percent / 100.0,
        .slow_rate = rules->slow_percent / 100.0,
        .slow_call = SLOW_CALL,
        .open_time = rules->open_time,
        .open_max = rules->open_max,
        .open_jitter = LULL_NONE,
        .probes = (uint32_t)rules->probes,
        .lease = rules->lease,
        .on_transition = note_event,
        .context = &real_told,
    };
    assert_int_equal(lull_breaker_init(&world->breaker, &config, NULL), LULL_OK);
    world->now = START;
}

/* ---- invariants ---- */

/* From here, with every call in flight gone for good, asking when told to and answering well
 * leads back to closed. */
static inline void never_wedged(const struct world *world) {
    static struct lull_breaker copy;
    memcpy((void *)&copy, (const void *)&world->breaker, sizeof copy);
    copy.on_transition = NULL;
    lull_time now = world->now;
    if (lull_breaker_current(&copy) > LULL_BREAKER_HALF_OPEN)
        lull_breaker_set_mode(&copy, LULL_BREAKER_NORMAL, now);
    for (int steps = 0; lull_breaker_current(&copy) != LULL_BREAKER_CLOSED; steps++) {
        assert_true(steps < 5000);
        uint32_t permit;
        struct lull_verdict verdict = lull_breaker_admit(&copy, &permit, now);
        if (verdict.decision == LULL_GO) {
            lull_breaker_record(&copy, permit, LULL_VOTE_SUCCESS, QUICK, 0, now);
            continue;
        }
        assert_true(verdict.at > now && verdict.at <= now + rules->open_max + rules->lease);
        now = verdict.at;
    }
    uint32_t permit; /* and there it counts again: as many failures as it takes, and it opens */
    for (int i = 0; i < 4 * MOST_VOTES; i++)
        if (lull_breaker_admit(&copy, &permit, now).decision == LULL_GO)
            lull_breaker_record(&copy, permit, LULL_VOTE_FAILURE, QUICK, 0, now);
    assert_int_equal(lull_breaker_current(&copy), LULL_BREAKER_OPEN);
}

/* One thread does it all, so there is nothing for ThreadSanitizer to see; nor can it follow the
 * contexts. */
#if defined(__SANITIZE_THREAD__)
#define THREADS_ARE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_ARE_WATCHED 1
#endif
#endif
#ifndef THREADS_ARE_WATCHED
#define THREADS_ARE_WATCHED 0
#endif

#endif
