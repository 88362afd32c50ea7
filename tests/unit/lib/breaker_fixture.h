/* What the tests of the circuit breaker share. They go pair by pair and to the nanosecond;
 * breaker_model_test.c explores what is between the pairs. */
#ifndef LULL_TESTS_BREAKER_FIXTURE_H
#define LULL_TESTS_BREAKER_FIXTURE_H

#include <lull/breaker.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define START (1000 * LULL_SECOND)
#define QUICK LULL_BREAKER_SLOW_CALL /* a call that took exactly that is not slow */
#define SLOW (LULL_BREAKER_SLOW_CALL + 1)
#define MIDDLE_WORD (UINT64_C(1) << 63)

/* ---- a breaker whose transitions are written down ---- */

enum { MOST_EVENTS = 64 };

struct journal {
    size_t count;
    struct lull_breaker_event events[MOST_EVENTS];
};

static struct lull_breaker breaker;
static struct journal journal;

static inline void note_event(void *context, const struct lull_breaker_event *event) {
    struct journal *into = context;
    if (into->count < MOST_EVENTS)
        into->events[into->count] = *event;
    into->count++;
}

static inline void start(struct lull_breaker_config config) {
    struct lull_error error;
    config.on_transition = note_event;
    config.context = &journal;
    journal.count = 0;
    memset((void *)&breaker, 0xa5, sizeof breaker); /* init must not count on zeros */
    assert_int_equal(lull_breaker_init(&breaker, &config, &error), LULL_OK);
}

static inline uint32_t admit(lull_time now) {
    uint32_t permit = UINT32_MAX;
    struct lull_verdict verdict = lull_breaker_admit(&breaker, &permit, now);
    assert_int_equal(verdict.decision, LULL_GO);
    assert_int_equal(verdict.policy, LULL_POLICY_BREAKER);
    assert_int_equal(verdict.reason, LULL_REASON_NONE);
    return permit;
}

static inline void refused(enum lull_reason reason, lull_time at, lull_time now) {
    uint32_t permit = 77;
    struct lull_verdict verdict = lull_breaker_admit(&breaker, &permit, now);
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.policy, LULL_POLICY_BREAKER);
    assert_int_equal(verdict.reason, reason);
    assert_int_equal(verdict.at, at);
    assert_int_equal(permit, 77);
}

static inline void record(uint32_t permit, enum lull_vote vote, lull_time now) {
    lull_breaker_record(&breaker, permit, vote, QUICK, MIDDLE_WORD, now);
}

/* One call, from beginning to end. */
static inline void success(lull_time now) {
    record(admit(now), LULL_VOTE_SUCCESS, now);
}
static inline void failure(lull_time now) {
    record(admit(now), LULL_VOTE_FAILURE, now);
}
static inline void slow_success(lull_time now) {
    lull_breaker_record(&breaker, admit(now), LULL_VOTE_SUCCESS, SLOW, MIDDLE_WORD, now);
}

static inline void repeat(void (*call)(lull_time), int times, lull_time now) {
    while (times-- > 0)
        call(now);
}

static inline enum lull_breaker_state state_now(void) {
    return lull_breaker_current(&breaker);
}

static inline void window_is(uint64_t calls, uint64_t failed, uint64_t slow, lull_time now) {
    struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
    assert_int_equal(stats.window_calls, calls);
    assert_int_equal(stats.window_failed, failed);
    assert_int_equal(stats.window_slow, slow);
}

/* A breaker by count that opens at its first failure, with nothing left to chance. */
static inline struct lull_breaker_config touchy(void) {
    return (struct lull_breaker_config){
        .by_count = true, .calls = 4, .minimum_calls = 1, .open_jitter = LULL_NONE, .probes = 3};
}

/* ---- every state and every event ---- */

/* The situations; "closed" and "half-open" are more than one, because it matters how much is
 * missing. */
enum situation {
    CLOSED,
    BRINK, /* closed: one more failure, or one more slow call, opens it */
    OPEN,
    PROBING, /* half-open: one of three probes is out */
    FULL,    /* half-open: all three are out */
    LAST,    /* half-open: one succeeded, one failed, the last is out */
    FORCED,
    DISABLED,
    METRICS,
    SITUATIONS
};

#define NOW (START + LULL_MINUTE)
#define LATER (NOW + LULL_HOUR)

/* Past calls of the breaker on its way to a situation: an old permit, and one of the state
 * itself. */
struct permits {
    uint32_t old, current;
};

static inline void open_at(lull_time now) {
    repeat(failure, 4, now);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
}

static inline uint32_t probe_at(lull_time opened, int probes) {
    open_at(opened);
    uint32_t permit = 0;
    while (probes-- > 0)
        permit = admit(NOW);
    assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
    return permit;
}

static inline struct permits arrange(enum situation situation, bool by_count) {
    start((struct lull_breaker_config){.by_count = by_count,
                                       .calls = 4,
                                       .minimum_calls = 4,
                                       .slow_rate = 0.5,
                                       .window = LULL_HOUR * 2,
                                       .open_jitter = LULL_NONE,
                                       .probes = 3});
    struct permits permits = {.old = admit(START)};
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_DISABLED, START);
    lull_breaker_set_mode(&breaker, LULL_BREAKER_NORMAL, START);
    lull_time opened = NOW - LULL_BREAKER_OPEN_TIME;
    switch (situation) {
    case CLOSED:
        permits.current = admit(NOW);
        break;
    case BRINK:
        slow_success(NOW);
        success(NOW);
        failure(NOW);
        permits.current = admit(NOW);
        break;
    case OPEN:
        open_at(NOW);
        permits.current = lull_breaker_snapshot(&breaker, NOW).generation;
        break;
    case PROBING:
        permits.current = probe_at(opened, 1);
        break;
    case FULL:
        permits.current = probe_at(opened, 3);
        break;
    case LAST:
        permits.current = probe_at(opened, 3);
        record(permits.current, LULL_VOTE_SUCCESS, NOW);
        record(permits.current, LULL_VOTE_FAILURE, NOW);
        break;
    case FORCED:
        lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_FORCED_OPEN, NOW);
        permits.current = lull_breaker_snapshot(&breaker, NOW).generation;
        break;
    case DISABLED:
        lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_DISABLED, NOW);
        permits.current = admit(NOW);
        break;
    default:
        lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_METRICS_ONLY, NOW);
        repeat(failure, 9, NOW);
        permits.current = admit(NOW);
    }
    journal.count = 0;
    return permits;
}

/* The letters of what happened between two snapshots. */
static inline const char *letters(struct lull_breaker_stats before, struct lull_breaker_stats after,
                                  bool admitted) {
    static char text[16];
    const struct {
        uint64_t grown;
        char letter;
    } counters[] = {
        {admitted, 'g'},
        {after.refused - before.refused, 'r'},
        {after.calls - before.calls, 'c'},
        {after.failed - before.failed, 'f'},
        {after.slow - before.slow, 's'},
        {after.late - before.late, 'l'},
        {after.transitions - before.transitions, "COHFDM"[after.state]},
        {after.transitions == before.transitions && after.generation != before.generation, '+'},
    };
    size_t length = 0;
    for (size_t i = 0; i < COUNT(counters); i++) {
        assert_true(counters[i].grown <= 1);
        if (counters[i].grown == 1)
            text[length++] = counters[i].letter;
    }
    text[length] = 0;
    return text;
}

/* ---- windows and thresholds ---- */

static inline void next_state(void) {
    bool disabled = state_now() == LULL_BREAKER_DISABLED;
    lull_breaker_set_mode(&breaker, disabled ? LULL_BREAKER_NORMAL : LULL_BREAKER_MODE_DISABLED,
                          START);
}

/* ---- open time ---- */

/* Fails a breaker that opens at the first failure, and gives back how long it stays open. */
static inline lull_duration open_with(uint64_t word, lull_time now) {
    lull_breaker_record(&breaker, admit(now), LULL_VOTE_FAILURE, 0, word, now);
    struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
    assert_int_equal(stats.state, LULL_BREAKER_OPEN);
    assert_int_equal(journal.events[(journal.count - 1) % MOST_EVENTS].open_until,
                     stats.open_until);
    return stats.open_until - now;
}

/* ---- half-open ---- */

/* Opens at START and lets `probes` calls through. All of a generation carry the same permit. */
static inline uint32_t half_open(struct lull_breaker_config config, int probes, lull_time *now) {
    start(config);
    *now = START + open_with(MIDDLE_WORD, START);
    journal.count = 0;
    uint32_t permit = 0;
    for (int i = 0; i < probes; i++) {
        permit = admit(*now);
        assert_int_equal(permit, lull_breaker_snapshot(&breaker, *now).generation);
    }
    return permit;
}

#endif
