/* The circuit breaker, pair by pair and to the nanosecond. breaker_model_test.c explores what is
 * between the pairs. */
#include <lull/breaker.h>
#include <lull/random.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

static void note_event(void *context, const struct lull_breaker_event *event) {
    struct journal *into = context;
    if (into->count < MOST_EVENTS)
        into->events[into->count] = *event;
    into->count++;
}

static void start(struct lull_breaker_config config) {
    struct lull_error error;
    config.on_transition = note_event;
    config.context = &journal;
    journal.count = 0;
    memset((void *)&breaker, 0xa5, sizeof breaker); /* init must not count on zeros */
    assert_int_equal(lull_breaker_init(&breaker, &config, &error), LULL_OK);
}

static uint32_t admit(lull_time now) {
    uint32_t permit = UINT32_MAX;
    struct lull_verdict verdict = lull_breaker_admit(&breaker, &permit, now);
    assert_int_equal(verdict.decision, LULL_GO);
    assert_int_equal(verdict.policy, LULL_POLICY_BREAKER);
    assert_int_equal(verdict.reason, LULL_REASON_NONE);
    return permit;
}

static void refused(enum lull_reason reason, lull_time at, lull_time now) {
    uint32_t permit = 77;
    struct lull_verdict verdict = lull_breaker_admit(&breaker, &permit, now);
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.policy, LULL_POLICY_BREAKER);
    assert_int_equal(verdict.reason, reason);
    assert_int_equal(verdict.at, at);
    assert_int_equal(permit, 77);
}

static void record(uint32_t permit, enum lull_vote vote, lull_time now) {
    lull_breaker_record(&breaker, permit, vote, QUICK, MIDDLE_WORD, now);
}

/* One call, from beginning to end. */
static void success(lull_time now) {
    record(admit(now), LULL_VOTE_SUCCESS, now);
}
static void failure(lull_time now) {
    record(admit(now), LULL_VOTE_FAILURE, now);
}
static void slow_success(lull_time now) {
    lull_breaker_record(&breaker, admit(now), LULL_VOTE_SUCCESS, SLOW, MIDDLE_WORD, now);
}

static void repeat(void (*call)(lull_time), int times, lull_time now) {
    while (times-- > 0)
        call(now);
}

static enum lull_breaker_state state_now(void) {
    return lull_breaker_current(&breaker);
}

static void window_is(uint64_t calls, uint64_t failed, uint64_t slow, lull_time now) {
    struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
    assert_int_equal(stats.window_calls, calls);
    assert_int_equal(stats.window_failed, failed);
    assert_int_equal(stats.window_slow, slow);
}

/* A breaker by count that opens at its first failure, with nothing left to chance. */
static struct lull_breaker_config touchy(void) {
    return (struct lull_breaker_config){
        .by_count = true, .calls = 4, .minimum_calls = 1, .open_jitter = LULL_NONE, .probes = 3};
}

/* ---- configuration ---- */

static void defaults_are_the_named_constants(void **state) {
    (void)state;
    /* The numbers of the specification, spelt out once. */
    assert_true(LULL_BREAKER_WINDOW == INT64_C(30000000000));
    assert_int_equal(LULL_BREAKER_SLICES, 30);
    assert_int_equal(LULL_BREAKER_CALLS, 100);
    assert_int_equal(LULL_BREAKER_MINIMUM_CALLS, 10);
    assert_true(LULL_BREAKER_FAILURE_RATE == 0.5);
    assert_true(LULL_BREAKER_SLOW_RATE == 0.8);
    assert_true(LULL_BREAKER_SLOW_CALL == INT64_C(2000000000));
    assert_true(LULL_BREAKER_OPEN_TIME == INT64_C(30000000000));
    assert_true(LULL_BREAKER_OPEN_MAX == INT64_C(300000000000));
    assert_true(LULL_BREAKER_OPEN_GROWTH == 2.0);
    assert_true(LULL_BREAKER_OPEN_JITTER == 0.1);
    assert_int_equal(LULL_BREAKER_PROBES, 5);
    assert_true(LULL_BREAKER_LEASE == INT64_C(60000000000));
}

/* What is not set behaves like the constant: by time, 30 s, from 10 calls on, 50 %. */
static void zero_means_default(void **state) {
    (void)state;
    start((struct lull_breaker_config){0});
    repeat(failure, 9, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    window_is(9, 9, 0, START + LULL_BREAKER_WINDOW - 1);
    window_is(0, 0, 0, START + LULL_BREAKER_WINDOW);
    lull_time now = START + LULL_HOUR;
    repeat(success, 5, now);
    repeat(failure, 5, now);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    now += LULL_BREAKER_OPEN_TIME;
    refused(LULL_REASON_CIRCUIT_OPEN, now, now - 1);
    for (int i = 0; i < LULL_BREAKER_PROBES; i++)
        (void)admit(now);
    lull_time lease = now + LULL_BREAKER_LEASE;
    refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
    refused(LULL_REASON_CIRCUIT_PROBING, lease, lease - 1);
    (void)admit(lease);
}

static void no_config_is_all_defaults(void **state) {
    (void)state;
    assert_int_equal(lull_breaker_init(&breaker, NULL, NULL), LULL_OK);
    repeat(success, 1, START);
    repeat(slow_success, 8, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    slow_success(START); /* 9 of 10 are slow; and nobody listens */
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(lull_breaker_snapshot(&breaker, START).transitions, 1);
}

#define BAD(name, ...)                                                                             \
    {                                                                                              \
        "breaker." #name, {                                                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct {
    const char *field;
    struct lull_breaker_config config;
} bad_settings[] = {
    BAD(window, .window = LULL_NONE),
    BAD(window, .window = INT64_MIN),
    BAD(window, .window = LULL_MICROSECOND - 1),
    BAD(window, .window = LULL_DAY + 1),
    BAD(window, .window = INT64_MAX),
    BAD(slices, .slices = 1),
    BAD(slices, .slices = LULL_BREAKER_MAX_SLICES + 1),
    BAD(slices, .slices = UINT32_MAX),
    BAD(calls, .by_count = true, .calls = LULL_BREAKER_MAX_CALLS + 1),
    BAD(calls, .by_count = true, .calls = UINT32_MAX),
    BAD(minimum_calls, .by_count = true, .minimum_calls = LULL_BREAKER_CALLS + 1),
    BAD(minimum_calls, .by_count = true, .calls = 5, .minimum_calls = 6),
    BAD(minimum_calls, .by_count = true, .calls = 5, .minimum_calls = UINT32_MAX),
    BAD(failure_rate, .failure_rate = -0.5),
    BAD(failure_rate, .failure_rate = LULL_NONE),
    BAD(failure_rate, .failure_rate = 1.0000001),
    BAD(failure_rate, .failure_rate = 50),
    BAD(failure_rate, .failure_rate = NAN),
    BAD(failure_rate, .failure_rate = -NAN),
    BAD(failure_rate, .failure_rate = INFINITY),
    BAD(failure_rate, .failure_rate = -INFINITY),
    BAD(slow_rate, .slow_rate = -0.5),
    BAD(slow_rate, .slow_rate = 1.0000001),
    BAD(slow_rate, .slow_rate = NAN),
    BAD(slow_rate, .slow_rate = INFINITY),
    BAD(slow_rate, .slow_rate = -INFINITY),
    BAD(slow_call, .slow_call = -2),
    BAD(slow_call, .slow_call = INT64_MIN),
    BAD(slow_call, .slow_call = LULL_DAY + 1),
    BAD(slow_call, .slow_call = INT64_MAX),
    BAD(open_time, .open_time = -1),
    BAD(open_time, .open_time = INT64_MIN),
    BAD(open_time, .open_time = LULL_DAY + 1, .open_max = LULL_DAY),
    BAD(open_time, .open_time = INT64_MAX),
    BAD(open_max, .open_max = -1),
    BAD(open_max, .open_max = INT64_MIN),
    BAD(open_max, .open_max = INT64_MAX),
    BAD(open_max, .open_max = LULL_DAY + 1),
    BAD(open_max, .open_max = LULL_BREAKER_OPEN_TIME - 1),
    BAD(open_max, .open_time = LULL_BREAKER_OPEN_MAX + 1),
    BAD(open_max, .open_time = 2, .open_max = 1),
    BAD(open_growth, .open_growth = -2),
    BAD(open_growth, .open_growth = 0.999),
    BAD(open_growth, .open_growth = NAN),
    BAD(open_growth, .open_growth = INFINITY),
    BAD(open_growth, .open_growth = 1e300),
    BAD(open_jitter, .open_jitter = -0.1),
    BAD(open_jitter, .open_jitter = -2),
    BAD(open_jitter, .open_jitter = 1),
    BAD(open_jitter, .open_jitter = NAN),
    BAD(open_jitter, .open_jitter = INFINITY),
    BAD(probes, .probes = LULL_BREAKER_MAX_PROBES + 1),
    BAD(probes, .probes = UINT32_MAX),
    BAD(lease, .lease = -1),
    BAD(lease, .lease = INT64_MIN),
    BAD(lease, .lease = LULL_DAY + 1),
    BAD(lease, .lease = INT64_MAX),
};

/* Each is refused by name; a breaker in use is left as it was. */
static void bad_settings_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bad_settings); i++) {
        struct lull_breaker_config config = bad_settings[i].config;
        struct lull_error error = {.field = NULL};
        assert_int_equal(lull_breaker_init(&breaker, &config, &error), LULL_EINVAL);
        assert_string_equal(error.field, bad_settings[i].field);
        assert_non_null(strstr(error.message, bad_settings[i].field));
        assert_true(strlen(error.message) > strlen(error.field) + 4);
        assert_int_equal(lull_breaker_init(&breaker, &config, NULL), LULL_EINVAL);

        start((struct lull_breaker_config){.by_count = config.by_count, .calls = config.calls % 8});
        static struct lull_breaker before;
        memcpy((void *)&before, (void *)&breaker, sizeof before);
        error.field = NULL;
        assert_int_equal(lull_breaker_configure(&breaker, &config, &error), LULL_EINVAL);
        assert_string_equal(error.field, bad_settings[i].field);
        assert_memory_equal((void *)&before, (void *)&breaker, sizeof before);
    }
}

static void ends_of_the_ranges_are_good(void **state) {
    (void)state;
    const struct lull_breaker_config good[] = {
        {.window = LULL_MICROSECOND, .slices = 2},
        {.window = LULL_DAY, .slices = LULL_BREAKER_MAX_SLICES},
        {.by_count = true, .calls = 1},
        {.by_count = true, .calls = LULL_BREAKER_MAX_CALLS, .minimum_calls = 256},
        {.minimum_calls = 1},
        {.minimum_calls = UINT32_MAX},
        {.failure_rate = 1, .slow_rate = 1},
        {.failure_rate = 1e-6, .slow_rate = 1e-6},
        {.slow_call = 1},
        {.slow_call = LULL_DAY},
        {.slow_call = LULL_NONE},
        {.open_time = 1, .open_max = 1},
        {.open_time = LULL_DAY, .open_max = LULL_DAY},
        {.open_growth = 1},
        {.open_growth = 1000},
        {.open_jitter = 1e-9},
        {.open_jitter = 0.999},
        {.open_jitter = LULL_NONE},
        {.probes = 1},
        {.probes = LULL_BREAKER_MAX_PROBES},
        {.lease = 1},
        {.lease = LULL_DAY},
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        start(good[i]);
        success(START);
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    }
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

enum happening {
    ADMIT,       /* at once */
    ADMIT_LATER, /* past the open time and the lease */
    SUCCESS,
    FAILURE,
    SLOW_SUCCESS,
    SLOW_FAILURE,
    IGNORED,
    LATE_SUCCESS, /* of a call that an older state admitted */
    LATE_FAILURE,
    LATE_IGNORED,
    TO_NORMAL,
    TO_FORCED,
    TO_DISABLED,
    TO_METRICS,
    HAPPENINGS
};

#define NOW (START + LULL_MINUTE)
#define LATER (NOW + LULL_HOUR)

/* What comes of it. Small letters: g admitted, r refused; the counters that grow: c calls, f
 * failed, s slow, l late. A capital: a transition, to C losed, O pen, H alf-open, F orced-open,
 * D isabled, M etrics-only. +: a new generation of the same state. Nobody holds a permit of an
 * open circuit; a result that claims so is late. */
/* clang-format off */
static const char *const outcomes[HAPPENINGS][SITUATIONS] = {
    /*                 closed  brink   open   probing full   last   forced disabled metrics */
    [ADMIT]        = { "g",    "g",    "r",   "g",    "r",   "r",   "r",   "g",     "g"   },
    [ADMIT_LATER]  = { "g",    "g",    "gH",  "g",    "g+",  "g+",  "r",   "g",     "g"   },
    [SUCCESS]      = { "c",    "c",    "l",   "c",    "c",   "cC",  "l",   "",      "c"   },
    [FAILURE]      = { "cf",   "cfO",  "l",   "cf",   "cf",  "cfO", "l",   "",      "cf"  },
    [SLOW_SUCCESS] = { "cs",   "csO",  "l",   "cs",   "cs",  "csC", "l",   "",      "cs"  },
    [SLOW_FAILURE] = { "cfs",  "cfsO", "l",   "cfs",  "cfs", "cfsO","l",   "",      "cfs" },
    [IGNORED]      = { "",     "",     "",    "",     "",    "",    "",    "",      ""    },
    [LATE_SUCCESS] = { "l",    "l",    "l",   "l",    "l",   "l",   "l",   "",      "l"   },
    [LATE_FAILURE] = { "l",    "l",    "l",   "l",    "l",   "l",   "l",   "",      "l"   },
    [LATE_IGNORED] = { "",     "",     "",    "",     "",    "",    "",    "",      ""    },
    [TO_NORMAL]    = { "",     "",     "",    "",     "",    "",    "C",   "C",     "C"   },
    [TO_FORCED]    = { "F",    "F",    "F",   "F",    "F",   "F",   "",    "F",     "F"   },
    [TO_DISABLED]  = { "D",    "D",    "D",   "D",    "D",   "D",   "D",   "",      "D"   },
    [TO_METRICS]   = { "M",    "M",    "M",   "M",    "M",   "M",   "M",   "M",     ""    },
};
/* clang-format on */

/* How a refusal is explained. */
static const struct {
    enum lull_reason reason;
    lull_time at;
} refusals[SITUATIONS] = {
    [OPEN] = {LULL_REASON_CIRCUIT_OPEN, NOW + LULL_BREAKER_OPEN_TIME},
    [FULL] = {LULL_REASON_CIRCUIT_PROBING, NOW + LULL_BREAKER_SLOW_CALL},
    [LAST] = {LULL_REASON_CIRCUIT_PROBING, NOW + LULL_BREAKER_SLOW_CALL},
    [FORCED] = {LULL_REASON_CIRCUIT_FORCED_OPEN, LULL_NEVER},
};

/* Past calls of the breaker on its way to a situation: an old permit, and one of the state
 * itself. */
struct permits {
    uint32_t old, current;
};

static void open_at(lull_time now) {
    repeat(failure, 4, now);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
}

static uint32_t probe_at(lull_time opened, int probes) {
    open_at(opened);
    uint32_t permit = 0;
    while (probes-- > 0)
        permit = admit(NOW);
    assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
    return permit;
}

static struct permits arrange(enum situation situation, bool by_count) {
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

static struct lull_verdict happen(enum happening happening, struct permits permits,
                                  uint32_t *given) {
    static const struct {
        enum lull_vote vote;
        bool late, slow;
    } results[] = {
        [SUCCESS] = {LULL_VOTE_SUCCESS, false, false},
        [FAILURE] = {LULL_VOTE_FAILURE, false, false},
        [SLOW_SUCCESS] = {LULL_VOTE_SUCCESS, false, true},
        [SLOW_FAILURE] = {LULL_VOTE_FAILURE, false, true},
        [IGNORED] = {LULL_VOTE_NONE, false, true},
        [LATE_SUCCESS] = {LULL_VOTE_SUCCESS, true, false},
        [LATE_FAILURE] = {LULL_VOTE_FAILURE, true, true},
        [LATE_IGNORED] = {LULL_VOTE_NONE, true, false},
    };
    if (happening <= ADMIT_LATER)
        return lull_breaker_admit(&breaker, given, happening == ADMIT ? NOW : LATER);
    if (happening <= LATE_IGNORED)
        lull_breaker_record(&breaker, results[happening].late ? permits.old : permits.current,
                            results[happening].vote, results[happening].slow ? SLOW : QUICK,
                            MIDDLE_WORD, NOW);
    else
        lull_breaker_set_mode(&breaker, (enum lull_breaker_mode)(happening - TO_NORMAL), NOW);
    return (struct lull_verdict){.decision = LULL_GO};
}

/* The letters of what happened between two snapshots. */
static const char *letters(struct lull_breaker_stats before, struct lull_breaker_stats after,
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

static void check_pair(enum situation situation, enum happening happening, bool by_count) {
    const char *expected = outcomes[happening][situation];
    struct permits permits = arrange(situation, by_count);
    struct lull_breaker_stats before = lull_breaker_snapshot(&breaker, NOW);
    uint32_t given = UINT32_MAX;
    struct lull_verdict verdict = happen(happening, permits, &given);
    struct lull_breaker_stats after = lull_breaker_snapshot(&breaker, NOW);

    bool asked = happening <= ADMIT_LATER, admitted = asked && verdict.decision == LULL_GO;
    assert_string_equal(letters(before, after, admitted), expected);
    bool moved = after.transitions != before.transitions;
    assert_true(moved || after.state == before.state);
    assert_int_equal(after.generation - before.generation, moved || strchr(expected, '+') != NULL);
    assert_int_equal(state_now(), after.state);
    assert_int_equal(journal.count, moved);
    if (admitted)
        assert_int_equal(given, after.generation);
    if (asked && !admitted) {
        assert_int_equal(verdict.reason, refusals[situation].reason);
        assert_int_equal(verdict.at, refusals[situation].at);
    }
    if (!moved)
        return;
    const struct lull_breaker_event *event = &journal.events[0];
    assert_int_equal(event->from, before.state);
    assert_int_equal(event->to, after.state);
    assert_int_equal(event->generation, after.generation);
    assert_int_equal(event->at, happening == ADMIT_LATER ? LATER : NOW);
    assert_int_equal(event->open_until, after.open_until);
}

static void every_state_and_event(void **state) {
    (void)state;
    for (int situation = 0; situation < SITUATIONS; situation++)
        for (int happening = 0; happening < HAPPENINGS; happening++) {
            check_pair((enum situation)situation, (enum happening)happening, true);
            check_pair((enum situation)situation, (enum happening)happening, false);
        }
}

/* A late result leaves nothing behind but one mark in `late`, not even in memory. */
static void late_results_never_vote(void **state) {
    (void)state;
    for (int situation = 0; situation < SITUATIONS; situation++)
        for (int vote = LULL_VOTE_SUCCESS; vote <= LULL_VOTE_NONE; vote++) {
            struct permits permits = arrange((enum situation)situation, true);
            static struct lull_breaker before;
            memcpy((void *)&before, (void *)&breaker, sizeof before);
            for (int i = 0; i < 100; i++) {
                lull_breaker_record(&breaker, permits.old, (enum lull_vote)vote, SLOW, 0, NOW);
                lull_breaker_record(&breaker, permits.current + 1, (enum lull_vote)vote, SLOW, 0,
                                    LATER);
            }
            bool counts = vote != LULL_VOTE_NONE && situation != DISABLED;
            assert_int_equal(lull_breaker_snapshot(&breaker, NOW).late, counts ? 200 : 0);
            atomic_store(&breaker.late, 0);
            assert_memory_equal((void *)&before, (void *)&breaker, sizeof before);
            assert_int_equal(journal.count, 0);
        }
}

static void unknown_mode_is_ignored(void **state) {
    (void)state;
    start(touchy());
    lull_breaker_set_mode(&breaker, (enum lull_breaker_mode)99, START);
    lull_breaker_set_mode(&breaker, (enum lull_breaker_mode) - 1, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    assert_int_equal(journal.count, 0);
}

static void state_names(void **state) {
    (void)state;
    const char *names[] = {"closed",      "open",     "half-open",
                           "forced-open", "disabled", "metrics-only"};
    for (int i = 0; i < (int)COUNT(names); i++)
        assert_string_equal(lull_breaker_state_name((enum lull_breaker_state)i), names[i]);
    assert_string_equal(lull_breaker_state_name((enum lull_breaker_state)6), "unknown");
    assert_string_equal(lull_breaker_state_name((enum lull_breaker_state) - 1), "unknown");
}

/* "How long this attempt may take": as far as the breaker is concerned, as long as it likes. */
static void admission_sets_no_timeout(void **state) {
    (void)state;
    for (int situation = 0; situation < SITUATIONS; situation++) {
        (void)arrange((enum situation)situation, true);
        uint32_t permit;
        struct lull_verdict verdict = lull_breaker_admit(&breaker, &permit, LATER);
        if (verdict.decision == LULL_GO)
            assert_true(verdict.timeout == LULL_NEVER);
    }
}

/* ---- windows and thresholds ---- */

/* Good calls first, so that the last bad one decides. */
static void bring(void (*bad)(lull_time), int calls, int bad_calls) {
    repeat(success, calls - bad_calls, START);
    repeat(bad, bad_calls, START);
}

static void check_threshold(double rate, int calls, int bad_calls, bool opens) {
    void (*const kinds[])(lull_time) = {failure, slow_success};
    for (int i = 0; i < 4; i++) {
        bool by_count = i & 1, by_slow = i & 2;
        start((struct lull_breaker_config){.by_count = by_count,
                                           .calls = (uint32_t)calls,
                                           .minimum_calls = (uint32_t)calls,
                                           .failure_rate = by_slow ? 1 : rate,
                                           .slow_rate = by_slow ? rate : 1});
        bring(kinds[by_slow], calls, bad_calls);
        assert_int_equal(state_now(), opens ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
        assert_int_equal(journal.count, opens);
        if (!opens)
            continue;
        assert_int_equal(journal.events[0].calls, calls);
        assert_int_equal(journal.events[0].failed, by_slow ? 0 : bad_calls);
        assert_int_equal(journal.events[0].slow, by_slow ? bad_calls : 0);
    }
}

static void thresholds_are_exact(void **state) {
    (void)state;
    const struct {
        double rate;
        int calls, bad_calls; /* the least that opens */
    } rows[] = {
        {0.5, 10, 5},    {0.3, 10, 3},         {0.07, 100, 7},  {0.8, 10, 8},
        {0.8, 5, 4},     {0.29, 100, 29},      {0.57, 100, 57}, {0.58, 100, 58},
        {0.1, 10, 1},    {0.5, 5, 3},          {0.5, 1, 1},     {1, 1, 1},
        {1, 100, 100},   {0.01, 10, 1},        {1e-6, 1, 1},    {1.0 / 3, 3, 1},
        {2.0 / 3, 3, 2}, {5.0 / 6, 6, 5},      {0.4, 5, 2},     {0.41, 5, 3},
        {1e-6, 256, 1},  {0.999999, 256, 256}, {0.9, 256, 231}, {0.6, 5, 3},
        {0.7, 10, 7},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check_threshold(rows[i].rate, rows[i].calls, rows[i].bad_calls, true);
        check_threshold(rows[i].rate, rows[i].calls, rows[i].bad_calls - 1, false);
    }
}

/* Every share k of n that a count window can hold, as a rate: k calls reach it, k - 1 do not. */
static void every_fraction_is_a_threshold(void **state) {
    (void)state;
    for (int n = 1; n <= 100; n++)
        for (int k = 1; k <= n; k++) {
            start((struct lull_breaker_config){.by_count = true,
                                               .calls = (uint32_t)n,
                                               .minimum_calls = (uint32_t)n,
                                               .failure_rate = (double)k / n});
            bring(failure, n, k - 1);
            assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
            /* One success leaves the window, one failure comes. */
            failure(START);
            assert_int_equal(state_now(), LULL_BREAKER_OPEN);
        }
}

/* As a double, 0.0157 times a million is 15,699.99…; a million calls can tell that from 15,700. */
static void a_rate_is_exact_to_the_millionth(void **state) {
    (void)state;
    for (int failures = 15699; failures <= 15700; failures++) {
        start((struct lull_breaker_config){.minimum_calls = 1000000, .failure_rate = 0.0157});
        bring(failure, 1000000, failures);
        assert_int_equal(state_now(), failures == 15700 ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
    }
}

static void five_calls_two_slow_is_forty_percent(void **state) {
    (void)state;
    start((struct lull_breaker_config){.by_count = true, .calls = 5, .slow_rate = 0.4});
    bring(slow_success, 5, 1);
    window_is(5, 0, 1, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    slow_success(START);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(journal.events[0].calls, 5);
    assert_int_equal(journal.events[0].slow, 2);
    check_threshold(0.4, 5, 2, true);
    check_threshold(0.400001, 5, 2, false);
}

static void slow_is_longer_than(void **state) {
    (void)state;
    const struct {
        lull_duration slow_call, took;
        uint64_t slow;
    } rows[] = {
        {0, LULL_BREAKER_SLOW_CALL, 0},
        {0, LULL_BREAKER_SLOW_CALL + 1, 1},
        {10, 10, 0},
        {10, 11, 1},
        {10, -5, 0},
        {10, LULL_NEVER, 1},
        {LULL_NONE, LULL_NEVER, 0},
        {LULL_NONE, LULL_DAY * 9, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int by_count = 0; by_count < 2; by_count++) {
            start(
                (struct lull_breaker_config){.by_count = by_count, .slow_call = rows[i].slow_call});
            lull_breaker_record(&breaker, admit(START), LULL_VOTE_SUCCESS, rows[i].took, 0, START);
            window_is(1, 0, rows[i].slow, START);
            lull_breaker_record(&breaker, admit(START), LULL_VOTE_FAILURE, rows[i].took, 0, START);
            window_is(2, 1, 2 * rows[i].slow, START);
        }
}

static void minimum_calls(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        start((struct lull_breaker_config){.by_count = by_count, .minimum_calls = 7});
        repeat(failure, 6, START);
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
        success(START); /* the seventh call is a good one, yet the window is bad */
        assert_int_equal(state_now(), LULL_BREAKER_OPEN);
        assert_int_equal(journal.events[0].calls, 7);
        assert_int_equal(journal.events[0].failed, 6);
    }
    start((struct lull_breaker_config){.by_count = true, .calls = 3}); /* the default is lowered */
    repeat(failure, 2, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    failure(START);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    start((struct lull_breaker_config){.by_count = true, .calls = 10}); /* and no further */
    repeat(failure, 9, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
}

static void ignored_calls_count_for_nothing(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        start((struct lull_breaker_config){.by_count = by_count});
        repeat(failure, 9, START);
        for (int i = 0; i < 50; i++)
            lull_breaker_record(&breaker, admit(START), LULL_VOTE_NONE, SLOW, 0, START);
        window_is(9, 9, 0, START);
        assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, 9);
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    }
}

static void count_window_slides(void **state) {
    (void)state;
    start((struct lull_breaker_config){
        .by_count = true, .calls = 5, .failure_rate = 0.6, .slow_rate = 0.9});
    void (*const calls[])(lull_time) = {failure, failure,      success, slow_success, success,
                                        success, slow_success, failure, success,      success,
                                        success, success,      success};
    const struct {
        uint64_t calls, failed, slow;
    } after[] = {{1, 1, 0}, {2, 2, 0}, {3, 2, 0}, {4, 2, 1}, {5, 2, 1}, {5, 1, 1}, {5, 0, 2},
                 {5, 1, 2}, {5, 1, 1}, {5, 1, 1}, {5, 1, 1}, {5, 1, 0}, {5, 0, 0}};
    for (size_t i = 0; i < COUNT(calls); i++) {
        calls[i](START);
        window_is(after[i].calls, after[i].failed, after[i].slow, START);
    }
    window_is(5, 0, 0, START + 365 * LULL_DAY); /* time does not empty it */
    repeat(failure, 2, START);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    failure(START);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, COUNT(calls) + 3);
}

/* A call that failed and was slow takes both with it. */
static void count_window_forgets_both_marks(void **state) {
    (void)state;
    start((struct lull_breaker_config){
        .by_count = true, .calls = 2, .failure_rate = 1, .slow_rate = 1});
    success(START);
    lull_breaker_record(&breaker, admit(START), LULL_VOTE_FAILURE, SLOW, 0, START);
    window_is(2, 1, 1, START);
    success(START);
    window_is(2, 1, 1, START);
    success(START);
    window_is(2, 0, 0, START);
}

/* 30 s in slices of 1 s from the first vote on: what falls into slice k is gone when slice k +
 * 30 begins. */
static void time_window_is_exact(void **state) {
    (void)state;
    start((struct lull_breaker_config){.minimum_calls = 1000});
    const lull_duration votes[] = {0, 1, 999999999, 1000000000, 1999999999, 29 * LULL_SECOND};
    for (size_t i = 0; i < COUNT(votes); i++)
        failure(START + votes[i]);
    const struct {
        lull_duration at;
        uint64_t left;
    } rows[] = {
        {29 * LULL_SECOND, 6}, {30 * LULL_SECOND - 1, 6},
        {30 * LULL_SECOND, 3}, {31 * LULL_SECOND - 1, 3},
        {31 * LULL_SECOND, 1}, {59 * LULL_SECOND - 1, 1},
        {59 * LULL_SECOND, 0}, {LULL_DAY, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        window_is(rows[i].left, rows[i].left, 0, START + rows[i].at);
}

/* The vote that would open it comes a nanosecond too late, or not. */
static void time_window_decides_to_the_nanosecond(void **state) {
    (void)state;
    for (int in_time = 0; in_time < 2; in_time++) {
        start((struct lull_breaker_config){0});
        repeat(failure, 9, START);
        failure(START + LULL_BREAKER_WINDOW - in_time);
        assert_int_equal(state_now(), in_time ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
        if (!in_time)
            window_is(1, 1, 0, START + LULL_BREAKER_WINDOW);
    }
}

static void time_window_jumps_over_many_slices(void **state) {
    (void)state;
    const struct {
        lull_duration by;
        uint64_t left;
    } rows[] = {
        {LULL_SECOND, 9},      {29 * LULL_SECOND, 9}, {30 * LULL_SECOND - 1, 9},
        {30 * LULL_SECOND, 0}, {31 * LULL_SECOND, 0}, {300 * LULL_DAY + 17, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start((struct lull_breaker_config){0});
        repeat(failure, 9, START);
        window_is(rows[i].left, rows[i].left, 0, START + rows[i].by);
        success(START + rows[i].by); /* 9 of 10 failed, or it is the only one */
        assert_int_equal(state_now(), rows[i].left > 0 ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
    }
}

static void time_a_little_backwards(void **state) {
    (void)state;
    start((struct lull_breaker_config){.minimum_calls = 1000});
    failure(START + 10 * LULL_SECOND);
    failure(START + 15 * LULL_SECOND);
    failure(START + 12 * LULL_SECOND); /* counts as now: in the slice that began at 15 s */
    slow_success(START);
    window_is(4, 3, 1, START);
    window_is(3, 2, 1, START + 40 * LULL_SECOND);
    window_is(3, 2, 1, START + 45 * LULL_SECOND - 1);
    window_is(0, 0, 0, START + 45 * LULL_SECOND);
}

/* Random votes against a plain list of them: by time, by count, with modes that empty the window
 * now and then. */
struct past_vote {
    bool failed, slow;
    int64_t slice;
};

static struct past_vote past[100000];

static void window_matches_list(bool by_count, uint32_t size, uint64_t seed) {
    enum { VOTES = 20000 };
    start((struct lull_breaker_config){.by_count = by_count,
                                       .window = size * LULL_MICROSECOND,
                                       .slices = by_count ? 0 : size,
                                       .calls = size,
                                       .minimum_calls = 1});
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_METRICS_ONLY, START);
    lull_time now = START;
    size_t first = 0, count = 0;
    for (int i = 0; i < VOTES; i++) {
        uint64_t word = lull_random_next(&seed);
        if (i > 0)
            now += (lull_duration)(word >> 8 & 1023) + (word >> 20 & 255 ? 0 : 400 * size);
        if (i > 0 && (word >> 32 & 511) == 0) { /* a new generation */
            lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_DISABLED, now);
            lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_METRICS_ONLY, now);
            first = count;
        }
        struct past_vote vote = {word & 1, word & 2, (now - START) / LULL_MICROSECOND};
        past[count++] = vote;
        lull_breaker_record(&breaker, admit(now),
                            vote.failed ? LULL_VOTE_FAILURE : LULL_VOTE_SUCCESS,
                            vote.slow ? SLOW : QUICK, 0, now);
        while (by_count ? count - first > size : past[first].slice + size <= vote.slice)
            first++;
        uint64_t failed = 0, slow = 0;
        for (size_t k = first; k < count; k++) {
            failed += past[k].failed;
            slow += past[k].slow;
        }
        window_is(count - first, failed, slow, now);
    }
    assert_int_equal(lull_breaker_snapshot(&breaker, now).calls, VOTES);
}

static void windows_match_a_list(void **state) {
    (void)state;
    const uint32_t sizes[] = {1, 2, 3, 7, 30, 60, 100, 256};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        window_matches_list(true, sizes[i], i);
        if (sizes[i] >= 2 && sizes[i] <= LULL_BREAKER_MAX_SLICES)
            window_matches_list(false, sizes[i], i);
    }
}

static void next_state(void) {
    bool disabled = state_now() == LULL_BREAKER_DISABLED;
    lull_breaker_set_mode(&breaker, disabled ? LULL_BREAKER_NORMAL : LULL_BREAKER_MODE_DISABLED,
                          START);
}

/* However many generations lie between, what an old state left in memory does not make the new
 * one deaf. */
static void old_generations_do_not_deafen(void **state) {
    (void)state;
    const int distances[] = {2, 100, 32766, 32768, 32770, 40000, 65534, 65538, 100000};
    for (int by_count = 0; by_count < 2; by_count++)
        for (size_t i = 0; i < COUNT(distances); i++) {
            start((struct lull_breaker_config){.by_count = by_count});
            repeat(success, 150, START); /* fills every slot */
            for (int k = 0; k < distances[i]; k++)
                next_state();
            repeat(failure, 9, START);
            window_is(9, 9, 0, START);
            assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
            failure(START);
            assert_int_equal(state_now(), LULL_BREAKER_OPEN);
            assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, 160);
        }
}

/* Sixteen bits of a generation are kept with the votes, but a permit is compared as a whole. */
static void permit_of_65536_generations_ago_is_late(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        start((struct lull_breaker_config){.by_count = by_count});
        uint32_t permit = admit(START);
        success(START);
        for (int i = 0; i < 65536; i++)
            next_state();
        success(START);
        uint64_t calls = lull_breaker_snapshot(&breaker, START).calls;
        record(permit, LULL_VOTE_SUCCESS, START);
        record(permit, LULL_VOTE_FAILURE, START);
        assert_int_equal(lull_breaker_snapshot(&breaker, START).calls, calls);
        assert_int_equal(lull_breaker_snapshot(&breaker, START).late, 2);
    }
}

/* ---- open time ---- */

/* Fails a breaker that opens at the first failure, and gives back how long it stays open. */
static lull_duration open_with(uint64_t word, lull_time now) {
    lull_breaker_record(&breaker, admit(now), LULL_VOTE_FAILURE, 0, word, now);
    struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
    assert_int_equal(stats.state, LULL_BREAKER_OPEN);
    assert_int_equal(journal.events[(journal.count - 1) % MOST_EVENTS].open_until,
                     stats.open_until);
    return stats.open_until - now;
}

/* The cap bounds the time before the jitter: 300 s become 270 … 330 s. Word 0 draws the lowest,
 * UINT64_MAX the highest. */
static void open_time_to_the_nanosecond(void **state) {
    (void)state;
    const struct {
        struct lull_breaker_config config;
        lull_duration jitter;    /* the time divided by this, both ways */
        lull_duration unit;      /* of the next: */
        lull_duration length[8]; /* of each opening in a row, before jitter */
    } rows[] = {
        {{0}, 10, LULL_SECOND, {30, 60, 120, 240, 300, 300, 300, 300}},
        {{.open_time = 1000, .open_max = 2500, .open_growth = 1.5, .open_jitter = 0.5},
         2,
         1,
         {1000, 1500, 2250, 2500, 2500, 2500, 2500, 2500}},
        {{.open_time = 7, .open_growth = 3, .open_jitter = LULL_NONE},
         LULL_NEVER,
         1,
         {7, 21, 63, 189, 567, 1701, 5103, 15309}},
        {{.open_time = 1000, .open_growth = 1, .open_jitter = 0.25},
         4,
         1000,
         {1, 1, 1, 1, 1, 1, 1, 1}},
        {{.open_time = 1, .open_max = 1},
         10,
         1,
         {1, 1, 1, 1, 1, 1, 1, 1}}, /* too short to jitter */
        {{.open_time = LULL_HOUR, .open_max = LULL_DAY, .open_growth = 1000, .open_jitter = 0.5},
         2,
         LULL_HOUR,
         {1, 24, 24, 24, 24, 24, 24, 24}},
    };
    const uint64_t words[] = {0, MIDDLE_WORD, UINT64_MAX};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int k = 0; k < 3; k++) {
            struct lull_breaker_config config = rows[i].config;
            config.minimum_calls = 1;
            config.probes = 1;
            start(config);
            lull_time now = START;
            for (uint32_t opening = 0; opening < 8; opening++) {
                lull_duration length = rows[i].length[opening] * rows[i].unit;
                length += (k - 1) * (length / rows[i].jitter);
                assert_int_equal(open_with(words[k], now), length);
                assert_int_equal(lull_breaker_snapshot(&breaker, now).reopenings, opening);
                now += length;
                refused(LULL_REASON_CIRCUIT_OPEN, now, now - 1);
            }
        }
}

/* Growth begins again once the circuit has been closed; the fifteenth re-opening in a row is the
 * last that grows. */
static void growth_starts_again_and_ends(void **state) {
    (void)state;
    start((struct lull_breaker_config){.minimum_calls = 1,
                                       .probes = 1,
                                       .open_time = 1024,
                                       .open_growth = 1.5,
                                       .open_max = LULL_DAY,
                                       .open_jitter = LULL_NONE});
    double expected = 1024;
    lull_time now = START;
    for (int i = 0; i < 20; i++) {
        lull_duration length = open_with(0, now);
        assert_int_equal(length, (lull_duration)expected);
        if (i < 15)
            expected *= 1.5;
        now += length;
    }
    assert_int_equal(lull_breaker_snapshot(&breaker, now).reopenings, 15);
    success(now);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    assert_int_equal(lull_breaker_snapshot(&breaker, now).reopenings, 0);
    assert_int_equal(open_with(0, now), 1024);
    /* The operator's hand ends the row as well. */
    assert_int_equal(open_with(0, now + 1024), 1536);
    next_state();
    next_state();
    assert_int_equal(open_with(0, now), 1024);
}

static void open_time_stops_at_the_end_of_time(void **state) {
    (void)state;
    start((struct lull_breaker_config){.by_count = true, .minimum_calls = 1});
    lull_time now = INT64_MAX - 5;
    lull_breaker_record(&breaker, admit(now), LULL_VOTE_FAILURE, 0, 0, now);
    refused(LULL_REASON_CIRCUIT_OPEN, LULL_NEVER, INT64_MAX - 1);
}

static void clock_may_start_below_zero(void **state) {
    (void)state;
    struct lull_breaker_config config = touchy();
    config.open_time = 100;
    start(config);
    failure(-500);
    refused(LULL_REASON_CIRCUIT_OPEN, -400, -401);
    repeat(success, 3, -400);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
}

/* ---- half-open ---- */

/* Opens at START and lets `probes` calls through. All of a generation carry the same permit. */
static uint32_t half_open(struct lull_breaker_config config, int probes, lull_time *now) {
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

/* Re-opens with the answer that decides it and not before; closes with the last answer and not
 * before. */
static void probes_decide_by_the_same_thresholds(void **state) {
    (void)state;
    const struct {
        const char *answers; /* g ood, f ailed, s low, b oth; the last one decides */
        uint32_t probes;
        double failure_rate, slow_rate;
        enum lull_breaker_state then;
    } rows[] = {
        {"g", 1, 0.5, 0.8, LULL_BREAKER_CLOSED},
        {"f", 1, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"s", 1, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"ggggg", 5, 0.5, 0.8, LULL_BREAKER_CLOSED},
        {"ffggg", 5, 0.5, 0.8, LULL_BREAKER_CLOSED},
        {"gggff", 5, 0.5, 0.8, LULL_BREAKER_CLOSED},
        {"fff", 5, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"ggfff", 5, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"fgfgf", 5, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"ssss", 5, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"gssss", 5, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"sssgg", 5, 0.5, 0.8, LULL_BREAKER_CLOSED},
        {"bbsss", 5, 0.5, 1, LULL_BREAKER_OPEN},
        {"bbb", 5, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"ffggsss", 7, 0.5, 0.5, LULL_BREAKER_CLOSED},
        {"ffbgsss", 7, 0.5, 0.5, LULL_BREAKER_OPEN},
        {"f", 2, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"gf", 2, 0.5, 0.8, LULL_BREAKER_OPEN},
        {"gf", 2, 0.51, 0.8, LULL_BREAKER_CLOSED},
        {"ff", 3, 2.0 / 3, 0.8, LULL_BREAKER_OPEN},
        {"ggggggggggf", 11, 0.05, 0.8, LULL_BREAKER_OPEN},
        {"ggggggggggg", 11, 0.05, 0.8, LULL_BREAKER_CLOSED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_breaker_config config = touchy();
        config.probes = rows[i].probes;
        config.failure_rate = rows[i].failure_rate;
        config.slow_rate = rows[i].slow_rate;
        lull_time now;
        uint32_t permit = half_open(config, (int)rows[i].probes, &now);
        size_t answers = strlen(rows[i].answers), failed = 0, slow = 0;
        for (size_t k = 0; k < answers; k++) {
            assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
            char answer = rows[i].answers[k];
            bool fails = answer == 'f' || answer == 'b', drags = answer == 's' || answer == 'b';
            failed += fails;
            slow += drags;
            lull_breaker_record(&breaker, permit, fails ? LULL_VOTE_FAILURE : LULL_VOTE_SUCCESS,
                                drags ? SLOW : QUICK, 0, now);
        }
        assert_int_equal(state_now(), rows[i].then);
        assert_int_equal(journal.count, 2); /* to half-open, and from it */
        assert_int_equal(journal.events[1].from, LULL_BREAKER_HALF_OPEN);
        assert_int_equal(journal.events[1].calls, answers);
        assert_int_equal(journal.events[1].failed, failed);
        assert_int_equal(journal.events[1].slow, slow);
    }
}

static void half_open_admits_no_more_than_its_probes(void **state) {
    (void)state;
    const uint32_t numbers[] = {1, 2, 5, 254, 255};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct lull_breaker_config config = touchy();
        config.probes = numbers[i];
        lull_time now;
        uint32_t permit = half_open(config, (int)numbers[i], &now);
        for (uint32_t answered = 0; answered < numbers[i]; answered++) {
            refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
            struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
            assert_int_equal(stats.probes_out, numbers[i] - answered);
            assert_int_equal(stats.probes_answered, answered);
            record(permit, LULL_VOTE_SUCCESS, now);
        }
        assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
        assert_int_equal(journal.events[1].calls, numbers[i]);
        struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
        assert_int_equal(stats.refused, numbers[i]);
        assert_int_equal(stats.calls, numbers[i] + 1);
    }
}

/* 255 probes that all fail or are slow fill every field of the word to the brim. */
static void fields_do_not_overflow(void **state) {
    (void)state;
    struct lull_breaker_config config = touchy();
    config.probes = 255;
    config.failure_rate = 1;
    config.slow_rate = 1;
    lull_time now;
    uint32_t permit = half_open(config, 255, &now);
    for (int i = 0; i < 255; i++) {
        assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
        lull_breaker_record(&breaker, permit, LULL_VOTE_FAILURE, SLOW, 0, now);
    }
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);
    assert_int_equal(journal.events[1].calls, 255);
    assert_int_equal(journal.events[1].failed, 255);
    assert_int_equal(journal.events[1].slow, 255);
    assert_int_equal(lull_breaker_snapshot(&breaker, now).reopenings, 1);
}

static void ignored_probe_gives_its_permit_back(void **state) {
    (void)state;
    lull_time now;
    uint32_t permit = half_open(touchy(), 3, &now);
    for (int i = 0; i < 1000; i++) {
        refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
        lull_breaker_record(&breaker, permit, LULL_VOTE_NONE, SLOW, 0, now);
        assert_int_equal(admit(now), permit); /* the same generation */
    }
    for (int i = 0; i < 3; i++)
        record(permit, LULL_VOTE_SUCCESS, now);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    assert_int_equal(lull_breaker_snapshot(&breaker, now).late, 0);
}

/* A probe that answers twice does not become two: the second answer has no permit left. */
static void one_permit_one_answer(void **state) {
    (void)state;
    lull_time now;
    uint32_t permit = half_open(touchy(), 1, &now);
    record(permit, LULL_VOTE_SUCCESS, now);
    record(permit, LULL_VOTE_SUCCESS, now);
    record(permit, LULL_VOTE_FAILURE, now);
    record(permit, LULL_VOTE_NONE, now);
    struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
    assert_int_equal(stats.probes_answered, 1);
    assert_int_equal(stats.probes_out, 0);
    assert_int_equal(stats.late, 2);
    assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
}

/* The lease runs from the last permit that was taken. */
static void vanished_probes_are_written_off(void **state) {
    (void)state;
    struct lull_breaker_config config = touchy();
    config.lease = 1000;
    lull_time now;
    uint32_t gone = half_open(config, 2, &now);
    lull_time last = now + 400;
    assert_int_equal(admit(last), gone);
    record(gone, LULL_VOTE_SUCCESS, last); /* one answers, two vanish */
    refused(LULL_REASON_CIRCUIT_PROBING, last + 1000, now + 1000);
    refused(LULL_REASON_CIRCUIT_PROBING, last + 1000, last + 999);
    uint32_t permit = admit(last + 1000);
    assert_int_equal(permit, gone + 1);
    assert_int_equal(journal.count, 1); /* a new generation, but not a new state */

    struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, last + 1000);
    assert_int_equal(stats.probes_out, 1);
    assert_int_equal(stats.probes_answered, 1); /* the answer there was still counts */
    assert_int_equal(stats.generation, permit);

    record(gone, LULL_VOTE_FAILURE, last + 1001); /* back from the dead: does not vote */
    record(gone, LULL_VOTE_NONE, last + 1001);    /* nor give back what it lost */
    stats = lull_breaker_snapshot(&breaker, last + 1001);
    assert_int_equal(stats.late, 1);
    assert_int_equal(stats.probes_out, 1);
    assert_int_equal(stats.probes_answered, 1);

    assert_int_equal(admit(last + 1001), permit);
    refused(LULL_REASON_CIRCUIT_PROBING, last + 2001, last + 1001);
    record(permit, LULL_VOTE_SUCCESS, last + 1002);
    record(permit, LULL_VOTE_SUCCESS, last + 1002);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    assert_int_equal(journal.events[1].calls, 3);
    assert_int_equal(lull_breaker_snapshot(&breaker, last + 1002).calls, 4);
}

/* The bad answers of probes that came back count on after the others are written off. */
static void written_off_answers_still_decide(void **state) {
    (void)state;
    struct lull_breaker_config config = touchy(); /* 2 of 3 re-open it */
    config.slow_rate = 0.5;
    config.lease = 1000;
    for (int slow = 0; slow < 2; slow++) {
        lull_time now;
        uint32_t permit = half_open(config, 3, &now);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
            lull_breaker_record(&breaker, permit, slow ? LULL_VOTE_SUCCESS : LULL_VOTE_FAILURE,
                                slow ? SLOW : QUICK, 0, now);
            if (i == 0)
                permit = admit(now + 1000);
        }
        assert_int_equal(state_now(), LULL_BREAKER_OPEN);
        assert_int_equal(lull_breaker_snapshot(&breaker, now).reopenings, 1);
        assert_int_equal(journal.events[1].calls, 2);
    }
}

static void half_open_never_wedges(void **state) {
    (void)state;
    lull_time now;
    (void)half_open(touchy(), 3, &now);
    for (int i = 0; i < 1000; i++) { /* every probe vanishes, for ever */
        now += LULL_BREAKER_LEASE;
        (void)admit(now);
        (void)admit(now);
        (void)admit(now);
        refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
    }
    assert_int_equal(journal.count, 1);
    now += LULL_BREAKER_LEASE;
    repeat(success, 3, now);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
}

/* A refused call is told the earlier of: the lease's end, and when a probe that starts now would
 * be slow. */
static void probing_says_when_to_ask_again(void **state) {
    (void)state;
    const struct {
        lull_duration slow_call, lease, asked, at; /* from when the last probe went out */
    } rows[] = {
        {100, 1000, 0, 100},    {100, 1000, 850, 950},      {100, 1000, 950, 1000},
        {100, 1000, 999, 1000}, {LULL_NONE, 1000, 3, 1000}, {LULL_DAY, LULL_DAY, 5, LULL_DAY},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_breaker_config config = touchy();
        config.slow_call = rows[i].slow_call;
        config.lease = rows[i].lease;
        lull_time now;
        (void)half_open(config, 3, &now);
        refused(LULL_REASON_CIRCUIT_PROBING, now + rows[i].at, now + rows[i].asked);
    }
}

/* ---- events, counters, snapshot ---- */

static void event_is(size_t index, struct lull_breaker_event expected) {
    assert_true(index < journal.count);
    const struct lull_breaker_event *event = &journal.events[index];
    assert_int_equal(event->from, expected.from);
    assert_int_equal(event->to, expected.to);
    assert_int_equal(event->generation, expected.generation);
    assert_int_equal(event->at, expected.at);
    assert_int_equal(event->open_until, expected.open_until);
    assert_int_equal(event->calls, expected.calls);
    assert_int_equal(event->failed, expected.failed);
    assert_int_equal(event->slow, expected.slow);
}

static void events_tell_the_whole_story(void **state) {
    (void)state;
    start((struct lull_breaker_config){.by_count = true,
                                       .calls = 4,
                                       .open_time = 1000,
                                       .open_jitter = LULL_NONE,
                                       .probes = 2,
                                       .lease = 500});
    success(START);
    slow_success(START);
    failure(START);
    failure(START + 7);                              /* 1: opens */
    uint32_t permit = admit(START + 1007);           /* 2: half-open */
    record(permit, LULL_VOTE_FAILURE, START + 1010); /* 3: re-opens */
    permit = admit(START + 3010);                    /* 4: half-open */
    (void)admit(START + 3010);
    (void)admit(START + 3510); /* 5: a generation, no event */
    permit = admit(START + 3511);
    record(permit, LULL_VOTE_SUCCESS, START + 3512);
    lull_breaker_record(&breaker, permit, LULL_VOTE_SUCCESS, SLOW, 0, START + 3513); /* 6: closes */
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_FORCED_OPEN, START + 4000);
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_FORCED_OPEN, START + 4001); /* already so */
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_DISABLED, START + 4002);
    lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_METRICS_ONLY, START + 4003);
    repeat(failure, 20, START + 4003);
    lull_breaker_set_mode(&breaker, LULL_BREAKER_NORMAL, START + 4004);
    window_is(0, 0, 0, START + 4004);

    const enum lull_breaker_state states[] = {LULL_BREAKER_CLOSED,       LULL_BREAKER_OPEN,
                                              LULL_BREAKER_HALF_OPEN,    LULL_BREAKER_OPEN,
                                              LULL_BREAKER_HALF_OPEN,    LULL_BREAKER_CLOSED,
                                              LULL_BREAKER_FORCED_OPEN,  LULL_BREAKER_DISABLED,
                                              LULL_BREAKER_METRICS_ONLY, LULL_BREAKER_CLOSED};
    struct lull_breaker_event expected[] = {
        {.generation = 1, .at = 7, .open_until = START + 1007, .calls = 4, .failed = 2, .slow = 1},
        {.generation = 2, .at = 1007},
        {.generation = 3, .at = 1010, .open_until = START + 3010, .calls = 1, .failed = 1},
        {.generation = 4, .at = 3010},
        {.generation = 6, .at = 3513, .calls = 2, .slow = 1},
        {.generation = 7, .at = 4000},
        {.generation = 8, .at = 4002},
        {.generation = 9, .at = 4003},
        {.generation = 10, .at = 4004},
    };
    assert_int_equal(journal.count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        expected[i].from = states[i];
        expected[i].to = states[i + 1];
        expected[i].at += START;
        event_is(i, expected[i]);
    }
    assert_int_equal(lull_breaker_snapshot(&breaker, START).transitions, COUNT(expected));
}

static void snapshot_in_every_state(void **state) {
    (void)state;
    const struct {
        uint64_t window_calls, window_failed, window_slow;
        uint32_t out, answered;
        lull_time open_until;
    } rows[SITUATIONS] = {
        [BRINK] = {.window_calls = 3, .window_failed = 1, .window_slow = 1},
        [OPEN] = {.open_until = NOW + LULL_BREAKER_OPEN_TIME},
        [PROBING] = {.out = 1},
        [FULL] = {.out = 3},
        [LAST] = {.out = 1, .answered = 2},
        [METRICS] = {.window_calls = 9, .window_failed = 9},
    };
    for (int i = 0; i < SITUATIONS; i++) {
        (void)arrange((enum situation)i, false);
        struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, NOW);
        assert_int_equal(stats.state, state_now());
        assert_int_equal(stats.window_calls, rows[i].window_calls);
        assert_int_equal(stats.window_failed, rows[i].window_failed);
        assert_int_equal(stats.window_slow, rows[i].window_slow);
        assert_int_equal(stats.probes_out, rows[i].out);
        assert_int_equal(stats.probes_answered, rows[i].answered);
        assert_int_equal(stats.open_until, rows[i].open_until);
        assert_int_equal(stats.reopenings, 0);
    }
}

/* Since init, over all generations: what voted, how, and what did not. */
static void counters_outlive_generations(void **state) {
    (void)state;
    for (int by_count = 0; by_count < 2; by_count++) {
        struct lull_breaker_config config = touchy();
        config.by_count = by_count;
        config.minimum_calls = 4;
        start(config);
        lull_time now = START;
        for (uint64_t round = 1; round <= 50; round++) {
            uint32_t late = admit(now);
            repeat(slow_success, 1, now);
            repeat(success, 1, now);
            repeat(failure, 2, now);
            refused(LULL_REASON_CIRCUIT_OPEN, now + LULL_BREAKER_OPEN_TIME, now);
            record(late, LULL_VOTE_FAILURE, now);
            now += LULL_BREAKER_OPEN_TIME;
            repeat(success, 2, now);
            failure(now);
            struct lull_breaker_stats stats = lull_breaker_snapshot(&breaker, now);
            assert_int_equal(stats.state, LULL_BREAKER_CLOSED);
            assert_int_equal(stats.calls, 7 * round);
            assert_int_equal(stats.failed, 3 * round);
            assert_int_equal(stats.slow, round);
            assert_int_equal(stats.refused, round);
            assert_int_equal(stats.late, round);
            assert_int_equal(stats.transitions, 3 * round);
            assert_int_equal(stats.generation, 3 * round);
            window_is(0, 0, 0, now);
        }
    }
}

/* ---- new settings for a breaker in use ---- */

static void configure_refuses_another_window(void **state) {
    (void)state;
    const struct {
        struct lull_breaker_config from, to;
        const char *field; /* NULL: allowed */
    } rows[] = {
        {{.by_count = true}, {.by_count = false}, "breaker.by_count"},
        {{.by_count = false}, {.by_count = true}, "breaker.by_count"},
        {{.by_count = true}, {.by_count = true, .calls = 99}, "breaker.calls"},
        {{.by_count = true, .calls = 9}, {.by_count = true}, "breaker.calls"},
        {{.slices = 10}, {.slices = 11}, "breaker.slices"},
        {{.slices = 10}, {0}, "breaker.slices"},
        {{.slices = 10}, {.slices = 10, .calls = 7}, NULL}, /* the other kind's size is nothing */
        {{.by_count = true}, {.by_count = true, .slices = 7}, NULL},
        {{0}, {.slices = LULL_BREAKER_SLICES}, NULL},
        {{.by_count = true}, {.by_count = true, .calls = LULL_BREAKER_CALLS}, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        start(rows[i].from);
        struct lull_error error = {.field = NULL};
        int result = lull_breaker_configure(&breaker, &rows[i].to, &error);
        assert_int_equal(result, rows[i].field == NULL ? LULL_OK : LULL_EINVAL);
        if (rows[i].field == NULL)
            continue;
        assert_string_equal(error.field, rows[i].field);
        assert_non_null(strstr(error.message, rows[i].field));
        assert_int_equal(lull_breaker_configure(&breaker, &rows[i].to, NULL), LULL_EINVAL);
    }
}

static void configure(struct lull_breaker_config config) {
    config.by_count = true;
    config.calls = 4;
    config.on_transition = NULL; /* the callback is kept, whatever is given */
    config.context = NULL;
    assert_int_equal(lull_breaker_configure(&breaker, &config, NULL), LULL_OK);
}

static void configure_keeps_everything(void **state) {
    (void)state;
    for (int i = 0; i < SITUATIONS; i++) {
        struct permits permits = arrange((enum situation)i, true);
        struct lull_breaker_stats before = lull_breaker_snapshot(&breaker, NOW);
        configure((struct lull_breaker_config){.minimum_calls = 2, .probes = 7});
        struct lull_breaker_stats after = lull_breaker_snapshot(&breaker, NOW);
        assert_string_equal(letters(before, after, false), "");
        window_is(before.window_calls, before.window_failed, before.window_slow, NOW);
        assert_int_equal(after.state, before.state);
        assert_int_equal(after.generation, before.generation);
        assert_int_equal(after.open_until, before.open_until);
        assert_int_equal(after.probes_out, before.probes_out);
        assert_int_equal(after.probes_answered, before.probes_answered);
        uint64_t votes = before.calls;
        record(permits.current, LULL_VOTE_SUCCESS, NOW); /* permits stay good */
        bool voting = i != OPEN && i != FORCED && i != DISABLED;
        assert_int_equal(lull_breaker_snapshot(&breaker, NOW).calls, votes + voting);
        lull_breaker_set_mode(&breaker, LULL_BREAKER_MODE_FORCED_OPEN, NOW);
        lull_breaker_set_mode(&breaker, LULL_BREAKER_NORMAL, NOW);
        assert_true(journal.count >= 1);
    }
}

static void configure_is_felt_at_once(void **state) {
    (void)state;
    (void)arrange(BRINK, true); /* 1 of 3 failed, 1 slow */
    configure((struct lull_breaker_config){.minimum_calls = 3, .failure_rate = 0.25});
    success(NOW); /* 1 of 4 */
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);

    (void)arrange(BRINK, true);
    configure((struct lull_breaker_config){.minimum_calls = 3, .slow_rate = 0.25});
    success(NOW);
    assert_int_equal(state_now(), LULL_BREAKER_OPEN);

    (void)arrange(BRINK, true);
    configure((struct lull_breaker_config){.failure_rate = 0.75, .slow_call = SLOW});
    slow_success(NOW);
    failure(NOW);
    assert_int_equal(state_now(), LULL_BREAKER_CLOSED);
    configure((struct lull_breaker_config){.open_time = 77, .open_jitter = LULL_NONE});
    failure(NOW);
    refused(LULL_REASON_CIRCUIT_OPEN, NOW + 77, NOW);

    (void)arrange(FULL, true);
    configure((struct lull_breaker_config){.probes = 3, .lease = 10});
    (void)admit(NOW + 10);
}

/* Half-open with three probes answered well when five were asked for, and now two are enough. */
static void configure_fewer_probes_does_not_wedge(void **state) {
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct lull_breaker_config config = touchy();
        config.probes = 5;
        lull_time now;
        uint32_t permit = half_open(config, 3, &now);
        for (int i = 0; i < 3; i++)
            record(permit, LULL_VOTE_SUCCESS, now);
        configure((struct lull_breaker_config){.probes = 2, .failure_rate = 0.25});
        assert_int_equal(state_now(), LULL_BREAKER_HALF_OPEN);
        permit = admit(now); /* nobody was out to decide: one more */
        refused(LULL_REASON_CIRCUIT_PROBING, now + LULL_BREAKER_SLOW_CALL, now);
        record(permit, fails ? LULL_VOTE_FAILURE : LULL_VOTE_SUCCESS, now);
        assert_int_equal(state_now(), fails ? LULL_BREAKER_OPEN : LULL_BREAKER_CLOSED);
        assert_int_equal(journal.events[1].calls, 4);
    }
}

static void configure_a_new_window_length(void **state) {
    (void)state;
    start((struct lull_breaker_config){.slices = 10, .window = 10 * LULL_SECOND});
    repeat(failure, 5, START);
    struct lull_breaker_config config = {.slices = 10, .window = 20 * LULL_SECOND};
    assert_int_equal(lull_breaker_configure(&breaker, &config, NULL), LULL_OK);
    window_is(5, 5, 0, START + 19 * LULL_SECOND - 1); /* a slice of 1 s and nine of 2 s */
    window_is(0, 0, 0, START + 19 * LULL_SECOND);
}

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
        cmocka_unit_test(defaults_are_the_named_constants),
        cmocka_unit_test(zero_means_default),
        cmocka_unit_test(no_config_is_all_defaults),
        cmocka_unit_test(bad_settings_are_named),
        cmocka_unit_test(ends_of_the_ranges_are_good),
        cmocka_unit_test(every_state_and_event),
        cmocka_unit_test(late_results_never_vote),
        cmocka_unit_test(unknown_mode_is_ignored),
        cmocka_unit_test(state_names),
        cmocka_unit_test(admission_sets_no_timeout),
        cmocka_unit_test(thresholds_are_exact),
        cmocka_unit_test(every_fraction_is_a_threshold),
        cmocka_unit_test(a_rate_is_exact_to_the_millionth),
        cmocka_unit_test(five_calls_two_slow_is_forty_percent),
        cmocka_unit_test(slow_is_longer_than),
        cmocka_unit_test(minimum_calls),
        cmocka_unit_test(ignored_calls_count_for_nothing),
        cmocka_unit_test(count_window_slides),
        cmocka_unit_test(count_window_forgets_both_marks),
        cmocka_unit_test(time_window_is_exact),
        cmocka_unit_test(time_window_decides_to_the_nanosecond),
        cmocka_unit_test(time_window_jumps_over_many_slices),
        cmocka_unit_test(time_a_little_backwards),
        cmocka_unit_test(windows_match_a_list),
        cmocka_unit_test(old_generations_do_not_deafen),
        cmocka_unit_test(permit_of_65536_generations_ago_is_late),
        cmocka_unit_test(open_time_to_the_nanosecond),
        cmocka_unit_test(growth_starts_again_and_ends),
        cmocka_unit_test(open_time_stops_at_the_end_of_time),
        cmocka_unit_test(clock_may_start_below_zero),
        cmocka_unit_test(probes_decide_by_the_same_thresholds),
        cmocka_unit_test(half_open_admits_no_more_than_its_probes),
        cmocka_unit_test(fields_do_not_overflow),
        cmocka_unit_test(ignored_probe_gives_its_permit_back),
        cmocka_unit_test(one_permit_one_answer),
        cmocka_unit_test(vanished_probes_are_written_off),
        cmocka_unit_test(written_off_answers_still_decide),
        cmocka_unit_test(half_open_never_wedges),
        cmocka_unit_test(probing_says_when_to_ask_again),
        cmocka_unit_test(events_tell_the_whole_story),
        cmocka_unit_test(snapshot_in_every_state),
        cmocka_unit_test(counters_outlive_generations),
        cmocka_unit_test(configure_refuses_another_window),
        cmocka_unit_test(configure_keeps_everything),
        cmocka_unit_test(configure_is_felt_at_once),
        cmocka_unit_test(configure_fewer_probes_does_not_wedge),
        cmocka_unit_test(configure_a_new_window_length),
        cmocka_unit_test(many_threads_one_breaker),
        cmocka_unit_test(many_operators),
    };
    return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
