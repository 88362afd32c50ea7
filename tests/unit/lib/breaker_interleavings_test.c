/* The circuit breaker, explored: threads, step by step.
 *
 * A few scenes in which two or three threads meet; every order of their atomic steps is played, with
 * up to two interruptions (three for pairs). Each "thread" is a context of its own, run by hand. */
#include "breaker_model_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

/* ---- threads, step by step ---- */

enum { MOST_THREADS = 3, MOST_ACTIONS = 6, MOST_CHOICES = 1000, MOST_TAKEN = 64 };

/* What a thread does, one after the other. */
enum kind { END, ASK, RESULT, MODE, GLANCE };

struct action {
    enum kind kind;
    lull_time at;
    int what; /* RESULT: of which permit; MODE: which */
    enum lull_vote vote;
    bool slow;
};

#define MINE (-1) /* the permit that this thread took last, if it got one */
#define ASK_AT(at)                                                                                 \
    { ASK, at, 0, 0, false }
#define GOOD(permit, at)                                                                           \
    { RESULT, at, permit, LULL_VOTE_SUCCESS, false }
#define DRAGS(permit, at)                                                                          \
    { RESULT, at, permit, LULL_VOTE_SUCCESS, true }
#define FAILS(permit, at)                                                                          \
    { RESULT, at, permit, LULL_VOTE_FAILURE, false }
#define NOTHING(permit, at)                                                                        \
    { RESULT, at, permit, LULL_VOTE_NONE, false }
#define SET_MODE(mode, at)                                                                         \
    { MODE, at, mode, 0, false }
#define GLANCE_AT(at)                                                                              \
    { GLANCE, at, 0, 0, false }

struct scene {
    const char *name;
    struct rules rules;
    int interruptions;
    bool quiet;                             /* nothing of it may open the circuit */
    struct action before[MOST_ACTIONS + 2]; /* by one thread; permits are numbered from 0 */
    struct action threads[MOST_THREADS][MOST_ACTIONS];
};

/* The choices of one run; the next run differs in the last one that has an alternative. */
struct choice {
    int count, index;
    int options[MOST_THREADS];
};

static struct {
    ucontext_t director, contexts[MOST_THREADS];
    char stacks[MOST_THREADS][128 * 1024];
    const struct scene *scene;
    int threads, running; /* -1: the director */
    bool ended[MOST_THREADS];
    struct choice choices[MOST_CHOICES];
    int planned, made, interrupted;
    /* The play: */
    struct world world;
    int taken;
    struct {
        uint32_t generation;
        lull_time at;
        bool returned;
    } ledger[MOST_TAKEN];
    int voted;
    struct lull_breaker_event events[MOST_TAKEN];
    int told;
} stage = {.running = -1};

/* Who goes on. A thread that could go on itself is interrupted only so many times in a run. */
static int choose(bool ended) {
    struct choice *choice = &stage.choices[stage.made];
    if (stage.made >= stage.planned) {
        choice->count = choice->index = 0;
        if (!ended)
            choice->options[choice->count++] = stage.running;
        for (int i = 0; i < stage.threads; i++)
            if (!stage.ended[i] && i != stage.running &&
                (ended || stage.interrupted < stage.scene->interruptions))
                choice->options[choice->count++] = i;
    }
    if (choice->count == 0)
        return -1;
    stage.made += stage.made < MOST_CHOICES - 1;
    stage.interrupted += !ended && choice->index > 0;
    return choice->options[choice->index];
}

static void before_step(void) {
    if (stage.running < 0)
        return;
    int from = stage.running, to = choose(false);
    if (to != from) {
        stage.running = to;
        swapcontext(&stage.contexts[from], &stage.contexts[to]);
    }
}

static void ask(int *mine, lull_time at) {
    uint32_t permit;
    if (lull_breaker_admit(&stage.world.breaker, &permit, at).decision != LULL_GO)
        return;
    stage.ledger[stage.taken].generation = permit;
    stage.ledger[stage.taken].at = at;
    stage.ledger[stage.taken].returned = false;
    *mine = stage.taken++;
}

static void act(const struct action *actions) {
    struct lull_breaker *breaker = &stage.world.breaker;
    int mine = -1;
    for (const struct action *action = actions; action->kind != END; action++) {
        int which = action->what == MINE ? mine : action->what;
        if (action->kind == ASK)
            ask(&mine, action->at);
        else if (action->kind == MODE)
            lull_breaker_set_mode(breaker, (enum lull_breaker_mode)action->what, action->at);
        else if (action->kind == GLANCE)
            (void)lull_breaker_snapshot(breaker, action->at);
        else if (which >= 0) {
            stage.voted += action->vote != LULL_VOTE_NONE;
            stage.ledger[which].returned = action->vote == LULL_VOTE_NONE;
            lull_breaker_record(breaker, stage.ledger[which].generation, action->vote,
                                action->slow ? SLOW : QUICK, 0, action->at);
        }
    }
}

static void perform(int thread) {
    act(stage.scene->threads[thread]);
    stage.ended[thread] = true;
    stage.running = choose(true);
    setcontext(stage.running < 0 ? &stage.director : &stage.contexts[stage.running]);
}

static void note_on_stage(void *context, const struct lull_breaker_event *event) {
    (void)context;
    if (stage.told < MOST_TAKEN)
        stage.events[stage.told++] = *event;
}

static void play(void) {
    stage.taken = stage.voted = stage.told = 0;
    stage.made = stage.interrupted = 0;
    begin_world(&stage.world);
    stage.world.breaker.on_transition = note_on_stage;
    act(stage.scene->before);
    for (int i = 0; i < stage.threads; i++) {
        stage.ended[i] = false;
        getcontext(&stage.contexts[i]);
        stage.contexts[i].uc_stack.ss_sp = stage.stacks[i];
        stage.contexts[i].uc_stack.ss_size = sizeof stage.stacks[i];
        makecontext(&stage.contexts[i], (void (*)(void))perform, 1, i);
    }
    stage.running = choose(true);
    swapcontext(&stage.director, &stage.contexts[stage.running]);
}

static bool plan_another(void) {
    while (stage.made > 0) {
        struct choice *last = &stage.choices[--stage.made];
        if (last->index + 1 < last->count) {
            last->index++;
            stage.planned = stage.made + 1;
            return true;
        }
    }
    return false;
}

/* ---- what must be true when the curtain falls ---- */

static int earlier_generation(const void *left, const void *right) {
    uint32_t a = ((const struct lull_breaker_event *)left)->generation;
    uint32_t b = ((const struct lull_breaker_event *)right)->generation;
    return a < b ? -1 : a > b;
}

/* One event per transition, from where the last one went; told in whichever order the threads
 * came to it. */
static void check_events(struct lull_breaker_stats stats) {
    assert_int_equal(stage.told, stats.transitions);
    qsort(stage.events, (size_t)stage.told, sizeof stage.events[0], earlier_generation);
    enum lull_breaker_state at = LULL_BREAKER_CLOSED;
    uint32_t generation = 0;
    for (int i = 0; i < stage.told; i++) {
        assert_int_equal(stage.events[i].from, at);
        assert_true(stage.events[i].generation > generation);
        at = stage.events[i].to;
        generation = stage.events[i].generation;
        if (at == LULL_BREAKER_OPEN)
            assert_true(stage.events[i].open_until >= stage.events[i].at + rules->open_time);
    }
    assert_int_equal(stats.state, at);
}

static const struct lull_breaker_event *event_of(uint32_t generation) {
    const struct lull_breaker_event *found = NULL;
    for (int i = 0; i < stage.told && stage.events[i].generation <= generation; i++)
        found = &stage.events[i];
    return found;
}

/* Nobody passes an open circuit, nor before its time; and no more probes than there are in one
 * generation. */
static void check_admissions(void) {
    for (int i = 0; i < stage.taken; i++) {
        const struct lull_breaker_event *event = event_of(stage.ledger[i].generation);
        if (event == NULL)
            continue;
        assert_true(event->to != LULL_BREAKER_OPEN && event->to != LULL_BREAKER_FORCED_OPEN);
        if (event->to != LULL_BREAKER_HALF_OPEN)
            continue;
        assert_true(stage.ledger[i].at >= (event - 1)->open_until);
        int out = 0;
        for (int k = 0; k < stage.taken; k++)
            out += stage.ledger[k].generation == stage.ledger[i].generation &&
                   !stage.ledger[k].returned;
        assert_true(out <= rules->probes);
    }
}

/* The slots hold the last calls of this generation, each in its place, however long a thread
 * took to get there. */
static void check_slots(const struct lull_breaker *breaker) {
    uint64_t tally = breaker->tally[TALLY_CALLS], size = (uint64_t)rules->size;
    uint64_t count = tally >> 16;
    for (uint64_t number = count > size ? count - size : 0; number < count; number++) {
        uint64_t slot = breaker->ring.slots[number % size];
        assert_int_equal(slot >> SLOT_GENERATION_SHIFT, tally & TALLY_GENERATION_MASK);
        assert_int_equal(slot >> SLOT_NUMBER_SHIFT & SLOT_NUMBER_MASK, number);
    }
}

/* A window that is counting counts every vote, and forgets every one in its time: nothing is
 * left over. */
static void check_what_is_left(void) {
    struct lull_breaker *breaker = &stage.world.breaker;
    enum lull_breaker_state state = lull_breaker_current(breaker);
    if (state != LULL_BREAKER_CLOSED && state != LULL_BREAKER_METRICS_ONLY)
        return;
    if (rules->by_count)
        check_slots(breaker);
    breaker->failure_ppm = breaker->slow_ppm = 2 * MILLION; /* whatever happens, it stays */
    lull_time now = 100 * SLICE;
    struct lull_breaker_stats before = lull_breaker_snapshot(breaker, now);
    for (int i = 0; i < rules->size; i++) {
        uint32_t permit = 0;
        (void)breaker_admit(breaker, &permit, now);
        lull_breaker_record(breaker, permit, LULL_VOTE_SUCCESS, QUICK, 0, now);
    }
    struct lull_breaker_stats after = lull_breaker_snapshot(breaker, now);
    assert_int_equal(after.calls, before.calls + (uint64_t)rules->size);
    assert_int_equal(after.late, before.late);
    assert_int_equal(after.window_calls, rules->size);
    assert_int_equal(after.window_failed, 0);
    assert_int_equal(after.window_slow, 0);
    if (rules->by_count) { /* a count below zero looks like zero from outside */
        assert_int_equal(breaker->tally[TALLY_FAILED] >> 16, 0);
        assert_int_equal(breaker->tally[TALLY_SLOW] >> 16, 0);
    }
}

static bool uses_disabled(const struct scene *scene) {
    for (int i = 0; i < MOST_THREADS; i++)
        for (int k = 0; k < MOST_ACTIONS; k++)
            if (scene->threads[i][k].kind == MODE &&
                scene->threads[i][k].what == LULL_BREAKER_MODE_DISABLED)
                return true;
    return false;
}

static void check_play(void) {
    stage.world.now = 10 * SLICE;
    struct lull_breaker_stats stats = lull_breaker_snapshot(&stage.world.breaker, 10 * SLICE);
    assert_int_equal(stage.world.breaker.word & BREAKER_SETTLING, 0);
    assert_false(stage.world.breaker.window.moving);
    if (uses_disabled(stage.scene))
        assert_true(stats.calls + stats.late <= (uint64_t)stage.voted);
    else
        assert_int_equal(stats.calls + stats.late, stage.voted);
    if (stage.scene->quiet)
        assert_int_equal(stats.transitions, 0);
    check_events(stats);
    check_admissions();
    never_wedged(&stage.world);
    check_what_is_left();
}

/* Closed, with one failure: the next one opens it. */
#define ONE_FAILED ASK_AT(START), ASK_AT(START), ASK_AT(START), ASK_AT(START), FAILS(0, START)
/* Open until OVER. */
#define OVER (START + 1000)
#define OPENED ASK_AT(START), ASK_AT(START), FAILS(0, START), FAILS(1, START)
#define TWO_PROBES OPENED, ASK_AT(OVER), ASK_AT(OVER) /* permits 2 and 3 */
#define LEASE_OVER (OVER + 1500)

#define BY_COUNT                                                                                   \
    { "", true, 2, 2, 2, 50, 80, 1000, 2000, 1500 }
#define BY_TIME                                                                                    \
    { "", false, 2, 2, 2, 50, 80, 1000, 2000, 1500 }

static const struct scene scenes[] = {
    {"two answers and a newcomer",
     BY_COUNT,
     2,
     false,
     {TWO_PROBES},
     {{GOOD(2, OVER)}, {GOOD(3, OVER)}, {ASK_AT(OVER), GOOD(MINE, OVER)}}},
    {"two bad answers and a newcomer",
     BY_COUNT,
     2,
     false,
     {TWO_PROBES},
     {{FAILS(2, OVER)}, {FAILS(3, OVER)}, {ASK_AT(OVER), FAILS(MINE, OVER)}}},
    {"a good and a bad answer",
     BY_TIME,
     3,
     false,
     {TWO_PROBES},
     {{GOOD(2, OVER), ASK_AT(OVER), FAILS(MINE, OVER)},
      {FAILS(3, OVER), ASK_AT(OVER), GOOD(MINE, OVER)}}},
    {"an answer, a permit given back, a newcomer",
     BY_COUNT,
     2,
     false,
     {TWO_PROBES},
     {{GOOD(2, OVER)}, {NOTHING(3, OVER)}, {ASK_AT(OVER), GOOD(MINE, OVER)}}},
    {"three find the open time over",
     BY_COUNT,
     2,
     false,
     {OPENED},
     {{ASK_AT(OVER), GOOD(MINE, OVER)},
      {ASK_AT(OVER), GOOD(MINE, OVER)},
      {ASK_AT(OVER), FAILS(MINE, OVER)}}},
    {"the lease is over, and a probe comes back",
     BY_COUNT,
     2,
     false,
     {TWO_PROBES},
     {{ASK_AT(LEASE_OVER), GOOD(MINE, LEASE_OVER)},
      {ASK_AT(LEASE_OVER), GOOD(MINE, LEASE_OVER)},
      {FAILS(2, LEASE_OVER)}}},
    {"the failure that opens, three times over",
     BY_COUNT,
     2,
     false,
     {ONE_FAILED},
     {{FAILS(1, START)}, {FAILS(2, START)}, {FAILS(3, START)}}},
    {"opening under the operator's hand",
     BY_TIME,
     3,
     false,
     {ONE_FAILED},
     {{FAILS(1, START)},
      {SET_MODE(LULL_BREAKER_MODE_FORCED_OPEN, START), SET_MODE(LULL_BREAKER_NORMAL, START)}}},
    {"opening, and a call at the same time",
     BY_TIME,
     3,
     false,
     {ONE_FAILED},
     {{FAILS(1, START)}, {ASK_AT(START), GOOD(MINE, START), ASK_AT(OVER), GOOD(MINE, OVER)}}},
    {"closing, and the first votes after it",
     BY_COUNT,
     2,
     false,
     {TWO_PROBES, GOOD(2, OVER)},
     {{GOOD(3, OVER)}, {ASK_AT(OVER), FAILS(MINE, OVER)}, {ASK_AT(OVER), DRAGS(MINE, OVER)}}},
    {"closing under the operator's hand",
     BY_COUNT,
     3,
     false,
     {TWO_PROBES, GOOD(2, OVER)},
     {{GOOD(3, OVER)},
      {SET_MODE(LULL_BREAKER_MODE_METRICS_ONLY, OVER), ASK_AT(OVER), FAILS(MINE, OVER)}}},
    {"three operators",
     BY_COUNT,
     2,
     false,
     {ASK_AT(START)},
     {{SET_MODE(LULL_BREAKER_MODE_METRICS_ONLY, START)},
      {SET_MODE(LULL_BREAKER_MODE_DISABLED, START), SET_MODE(LULL_BREAKER_NORMAL, START)},
      {FAILS(0, START), ASK_AT(START), FAILS(MINE, START)}}},
    {"a window of two and three votes",
     BY_COUNT,
     2,
     false,
     {SET_MODE(LULL_BREAKER_MODE_METRICS_ONLY, START), ASK_AT(START), FAILS(0, START)},
     {{ASK_AT(START), FAILS(MINE, START)},
      {ASK_AT(START), GOOD(MINE, START)},
      {ASK_AT(START), DRAGS(MINE, START)}}},
    {"one failure among good calls, where only two in a row count",
     {"", true, 2, 2, 2, 100, 100, 1000, 2000, 1500},
     2,
     true,
     {ASK_AT(START), ASK_AT(START), ASK_AT(START), ASK_AT(START), GOOD(0, START)},
     {{FAILS(1, START)}, {GOOD(2, START)}, {DRAGS(3, START), ASK_AT(START), GOOD(MINE, START)}}},
    {"a new window while the old one is voted in",
     BY_COUNT,
     2,
     false,
     {ASK_AT(START), ASK_AT(START)},
     {{FAILS(0, START)},
      {SET_MODE(LULL_BREAKER_MODE_METRICS_ONLY, START), ASK_AT(START), FAILS(MINE, START)},
      {ASK_AT(START), DRAGS(MINE, START)}}},
    {"the slice ends for three",
     BY_TIME,
     2,
     false,
     {ASK_AT(START), ASK_AT(START), GOOD(0, START)},
     {{GOOD(1, START + SLICE)},
      {ASK_AT(START + SLICE), GOOD(MINE, START + SLICE)},
      {GLANCE_AT(START + 2 * SLICE)}}},
};

static void rehearse(const struct scene *scene) {
    stage.scene = scene;
    rules = &scene->rules;
    stage.threads = 0;
    while (stage.threads < MOST_THREADS && scene->threads[stage.threads][0].kind != END)
        stage.threads++;
    stage.planned = 0;
    size_t plays = 0;
    do {
        play();
        assert_true(stage.made < MOST_CHOICES - 1);
        plays++;
        check_play();
    } while (plan_another());
    printf("%s: %zu orders of steps\n", scene->name, plays);
}

static void every_order_of_steps(void **state) {
    (void)state;
    if (THREADS_ARE_WATCHED)
        skip();
    for (size_t i = 0; i < COUNT(scenes); i++)
        rehearse(&scenes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
