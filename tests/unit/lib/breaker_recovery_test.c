/* The circuit breaker: how long it stays open, and how the probes of half-open decide. */
#include "breaker_fixture.h"

#include <stdint.h>
#include <string.h>

/* ---- open time ---- */

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

int main(void) {
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
