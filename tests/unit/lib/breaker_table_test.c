/* The circuit breaker: every state and every event; what is told and counted of them. */
#include "breaker_fixture.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* ---- every state and every event ---- */

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_and_event),     cmocka_unit_test(late_results_never_vote),
        cmocka_unit_test(unknown_mode_is_ignored),   cmocka_unit_test(state_names),
        cmocka_unit_test(admission_sets_no_timeout), cmocka_unit_test(events_tell_the_whole_story),
        cmocka_unit_test(snapshot_in_every_state),   cmocka_unit_test(counters_outlive_generations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
