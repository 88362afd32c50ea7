/* The circuit breaker, explored: every state that a small breaker can reach.
 *
 * A walk, breadth first over copies of the real struct, by every event that can happen, comparing
 * each step with a model of the rules in plain C. Two states are the same if nothing but the names
 * of their generations, the time of day and the totals differ. */
#include "breaker_model_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nobody is interrupted here. */
static void before_step(void) {}

/* ---- the rules, written a second time ---- */

static struct told model_told;

static bool bad_share(int failed, int slow, int of) {
    return failed * 100 >= rules->failure_percent * of || slow * 100 >= rules->slow_percent * of;
}

static void model_enter(struct model *model, enum lull_breaker_state state, int calls, int failed,
                        int slow, lull_time now) {
    struct lull_breaker_event event = {.from = model->state,
                                       .to = state,
                                       .generation = ++model->generation,
                                       .at = now,
                                       .calls = (uint64_t)calls,
                                       .failed = (uint64_t)failed,
                                       .slow = (uint64_t)slow};
    if (state == LULL_BREAKER_OPEN) {
        model->reopenings = model->state == LULL_BREAKER_HALF_OPEN ? model->reopenings + 1 : 0;
        if (model->reopenings > 15)
            model->reopenings = 15;
        lull_duration length = rules->open_time;
        for (uint32_t i = 0; i < model->reopenings && length < rules->open_max; i++)
            length *= 2;
        model->open_until = now + (length < rules->open_max ? length : rules->open_max);
        event.open_until = model->open_until;
    } else if (state != LULL_BREAKER_HALF_OPEN) {
        model->reopenings = 0;
        model->count = 0;
    }
    model->state = state;
    model->out = model->answered = model->failed_probes = model->slow_probes = 0;
    model->transitions++;
    write_down(&model_told, &event);
}

/* Somebody looks at the window: by time, what is too old leaves. A time before the current slice
 * counts as now. */
static void model_look(struct model *model, lull_time now) {
    if (rules->by_count)
        return;
    if (!model->begun) {
        model->begun = true;
        model->first_slice = now;
    }
    int64_t slice = (now - model->first_slice) / SLICE;
    if (slice > model->slice)
        model->slice = slice;
    int gone = 0;
    while (gone < model->count && model->ballots[gone].slice + rules->size <= model->slice)
        gone++;
    memmove(model->ballots, model->ballots + gone,
            (size_t)(model->count - gone) * sizeof model->ballots[0]);
    model->count -= gone;
}

static void model_window(const struct model *model, int *failed, int *slow) {
    *failed = *slow = 0;
    for (int i = 0; i < model->count; i++) {
        *failed += model->ballots[i].failed;
        *slow += model->ballots[i].slow;
    }
}

static void model_vote(struct model *model, bool fails, bool drags, lull_time now) {
    model_look(model, now);
    if (rules->by_count && model->count == rules->size)
        memmove(model->ballots, model->ballots + 1,
                (size_t)--model->count * sizeof model->ballots[0]);
    assert_true(model->count <= MOST_VOTES);
    model->ballots[model->count++] = (struct ballot){fails, drags, model->slice};
    int failed, slow;
    model_window(model, &failed, &slow);
    if (model->state == LULL_BREAKER_CLOSED && model->count >= rules->minimum &&
        bad_share(failed, slow, model->count))
        model_enter(model, LULL_BREAKER_OPEN, model->count, failed, slow, now);
}

static void model_answer(struct model *model, bool fails, bool drags, lull_time now) {
    model->out--;
    model->answered++;
    model->failed_probes += fails;
    model->slow_probes += drags;
    int answered = model->answered, failed = model->failed_probes, slow = model->slow_probes;
    if (bad_share(failed, slow, rules->probes))
        model_enter(model, LULL_BREAKER_OPEN, answered, failed, slow, now);
    else if (answered == rules->probes)
        model_enter(model, LULL_BREAKER_CLOSED, answered, failed, slow, now);
}

static void model_record(struct model *model, uint32_t permit, enum lull_vote vote, bool drags,
                         lull_time now) {
    bool probing = model->state == LULL_BREAKER_HALF_OPEN;
    bool counting =
        model->state == LULL_BREAKER_CLOSED || model->state == LULL_BREAKER_METRICS_ONLY;
    if (model->state == LULL_BREAKER_DISABLED)
        return;
    if (vote == LULL_VOTE_NONE) {
        if (probing && permit == model->generation)
            model->out--;
        return;
    }
    if (permit != model->generation || !(probing || counting)) {
        model->late++;
        return;
    }
    bool fails = vote == LULL_VOTE_FAILURE;
    model->calls++;
    model->failed += fails;
    model->slow += drags;
    if (probing)
        model_answer(model, fails, drags, now);
    else
        model_vote(model, fails, drags, now);
}

static struct lull_verdict model_refuse(struct model *model, enum lull_reason reason,
                                        lull_time at) {
    model->refused++;
    return (struct lull_verdict){LULL_NO, LULL_POLICY_BREAKER, reason, at, 0};
}

static struct lull_verdict model_admit(struct model *model, lull_time now) {
    if (model->state == LULL_BREAKER_FORCED_OPEN)
        return model_refuse(model, LULL_REASON_CIRCUIT_FORCED_OPEN, LULL_NEVER);
    if (model->state == LULL_BREAKER_OPEN && now < model->open_until)
        return model_refuse(model, LULL_REASON_CIRCUIT_OPEN, model->open_until);
    if (model->state == LULL_BREAKER_OPEN)
        model_enter(model, LULL_BREAKER_HALF_OPEN, 0, 0, 0, now);
    if (model->state == LULL_BREAKER_HALF_OPEN) {
        lull_time over = model->last_probe + rules->lease;
        if (model->out + model->answered == rules->probes) {
            lull_time at = over < now + SLOW_CALL ? over : now + SLOW_CALL;
            if (now < over)
                return model_refuse(model, LULL_REASON_CIRCUIT_PROBING, at);
            model->generation++; /* those that are out are written off */
            model->out = 0;
        }
        model->out++;
        model->last_probe = now;
    }
    return (struct lull_verdict){LULL_GO, LULL_POLICY_BREAKER, LULL_REASON_NONE, now, LULL_NEVER};
}

static void model_set_mode(struct model *model, enum lull_breaker_mode mode, lull_time now) {
    const enum lull_breaker_state held[] = {LULL_BREAKER_CLOSED, LULL_BREAKER_FORCED_OPEN,
                                            LULL_BREAKER_DISABLED, LULL_BREAKER_METRICS_ONLY};
    bool normal = model->state <= LULL_BREAKER_HALF_OPEN;
    if (mode == LULL_BREAKER_NORMAL ? !normal : model->state != held[mode])
        model_enter(model, held[mode], 0, 0, 0, now);
}

/* ---- a state of both, side by side ---- */

/* As it is kept: the breaker without the part of its ring that a small one does not use. */
enum { RING_USED = 8, BREAKER_USED = offsetof(struct lull_breaker, ring) + RING_USED * 8 };

struct kept {
    unsigned char breaker[BREAKER_USED];
    struct model model;
    lull_time now;
    int in_flight;
    uint32_t permits[MOST_IN_FLIGHT];
};

static void keep(struct kept *kept, const struct world *world) {
    memcpy(kept->breaker, (const void *)&world->breaker, sizeof kept->breaker);
    kept->model = world->model;
    kept->now = world->now;
    kept->in_flight = world->in_flight;
    memcpy(kept->permits, world->permits, sizeof kept->permits);
}

static void take_up(struct world *world, const struct kept *kept) {
    memset((void *)&world->breaker, 0, sizeof world->breaker);
    memcpy((void *)&world->breaker, kept->breaker, sizeof kept->breaker);
    world->model = kept->model;
    world->now = kept->now;
    world->in_flight = kept->in_flight;
    memcpy(world->permits, kept->permits, sizeof kept->permits);
}

/* ---- what makes a state that state ---- */

struct fingerprint {
    uint64_t a, b;
};

static void mix(struct fingerprint *print, int64_t value) {
    print->a = (print->a ^ (uint64_t)value) * UINT64_C(0x9e3779b97f4a7c15);
    print->a ^= print->a >> 29;
    print->b = (print->b + (uint64_t)value) * UINT64_C(0xd6e8feb86659fd93);
    print->b ^= print->b >> 32;
}

/* Time left until a moment; once it has passed, it does not matter for how long. */
static int64_t left_until(lull_time moment, lull_time now) {
    return moment > now ? moment - now : 0;
}

/* Growth ends at the cap after two re-openings; the third and the thirteenth are alike. */
static int64_t row_of(uint32_t reopenings) {
    return reopenings < 2 ? reopenings : 2;
}

/* In a state that does not count only the rhythm of the slices matters: the next one that does
 * begins empty. */
static void mix_window(struct fingerprint *print, const struct lull_breaker *breaker, bool counting,
                       lull_time now) {
    lull_time end = breaker->window.slice_end;
    lull_duration past = end == INT64_MIN ? -1 : now - end;
    if (past >= (rules->size + 1) * SLICE) /* all is over but the rhythm */
        past = (rules->size + 1) * SLICE + past % SLICE;
    mix(print, past);
    mix(print, breaker->window.position);
    for (int i = 0; counting && i < TALLY_COUNT; i++) {
        mix(print, (int64_t)in_window(breaker->tally[i], breaker->oldest[i]));
        for (int k = 0; k < rules->size; k++)
            mix(print, (int64_t)in_window(breaker->tally[i], breaker->ring.notes[k * 3 + i]));
    }
}

static void mix_slots(struct fingerprint *print, const struct lull_breaker *breaker) {
    uint64_t tag = breaker->tally[TALLY_CALLS] & TALLY_GENERATION_MASK;
    uint64_t calls = breaker->tally[TALLY_CALLS] >> 16, size = (uint64_t)rules->size;
    mix(print, (int64_t)(calls < size ? calls : size + calls % size));
    mix(print, (int64_t)in_window(breaker->tally[TALLY_FAILED], tag));
    mix(print, (int64_t)in_window(breaker->tally[TALLY_SLOW], tag));
    for (uint64_t i = 0; i < size; i++) {
        uint64_t slot = breaker->ring.slots[i];
        mix(print, slot >> SLOT_GENERATION_SHIFT == tag ? (int64_t)(slot & SLOT_BITS) : -1);
    }
}

static struct fingerprint fingerprint(const struct world *world) {
    struct fingerprint print = {1, 2};
    const struct lull_breaker *breaker = &world->breaker;
    const struct model *model = &world->model;
    uint64_t word = breaker->word;
    mix(&print, (int64_t)(word & (BREAKER_STATE_MASK | BREAKER_SETTLING)));
    mix(&print, (int64_t)(word >> OUT_SHIFT));
    mix(&print, row_of(reopenings(word)));
    mix(&print, breaker_state(word) == LULL_BREAKER_OPEN
                    ? left_until(breaker->open_until, world->now)
                    : -1);
    mix(&print, breaker_state(word) == LULL_BREAKER_HALF_OPEN
                    ? left_until(breaker->probed_at + rules->lease, world->now)
                    : -1);
    bool counting = breaker_state(word) == LULL_BREAKER_CLOSED ||
                    breaker_state(word) == LULL_BREAKER_METRICS_ONLY;
    if (!rules->by_count)
        mix_window(&print, breaker, counting, world->now);
    else if (counting)
        mix_slots(&print, breaker);
    for (int i = 0; counting && i < model->count; i++) {
        mix(&print, model->ballots[i].failed + 2 * model->ballots[i].slow);
        mix(&print, model->slice - model->ballots[i].slice);
    }
    int current = 0; /* permits of this generation; those of any other are all alike */
    for (int i = 0; i < world->in_flight; i++)
        current += world->permits[i] == breaker_generation(word);
    mix(&print, current);
    mix(&print, world->in_flight - current);
    return print;
}

/* ---- invariants ---- */

static void same_told(void) {
    assert_int_equal(real_told.count, model_told.count);
    for (int i = 0; i < real_told.count; i++) {
        const struct lull_breaker_event *real = &real_told.events[i], *said = &model_told.events[i];
        assert_int_equal(real->from, said->from);
        assert_int_equal(real->to, said->to);
        assert_int_equal(real->generation, said->generation);
        assert_int_equal(real->at, said->at);
        assert_int_equal(real->open_until, said->open_until);
        assert_int_equal(real->calls, said->calls);
        assert_int_equal(real->failed, said->failed);
        assert_int_equal(real->slow, said->slow);
    }
}

/* The snapshot moves the real window on, so it is taken of copies. */
static void same_snapshot(const struct world *world) {
    static struct lull_breaker copy;
    memcpy((void *)&copy, (const void *)&world->breaker, sizeof copy);
    struct lull_breaker_stats real = lull_breaker_snapshot(&copy, world->now);
    struct model model = world->model;
    model_look(&model, world->now);
    bool counting = model.state == LULL_BREAKER_CLOSED || model.state == LULL_BREAKER_METRICS_ONLY;
    bool open = model.state == LULL_BREAKER_OPEN, probing = model.state == LULL_BREAKER_HALF_OPEN;
    int failed, slow;
    model_window(&model, &failed, &slow);
    assert_int_equal(real.state, model.state);
    assert_int_equal(real.generation, model.generation);
    assert_int_equal(real.reopenings, model.reopenings);
    assert_int_equal(real.open_until, open ? model.open_until : 0);
    assert_int_equal(real.window_calls, counting ? model.count : 0);
    assert_int_equal(real.window_failed, counting ? failed : 0);
    assert_int_equal(real.window_slow, counting ? slow : 0);
    assert_int_equal(real.probes_out, probing ? model.out : 0);
    assert_int_equal(real.probes_answered, probing ? model.answered : 0);
    assert_int_equal(real.calls, model.calls);
    assert_int_equal(real.failed, model.failed);
    assert_int_equal(real.slow, model.slow);
    assert_int_equal(real.refused, model.refused);
    assert_int_equal(real.late, model.late);
    assert_int_equal(real.transitions, model.transitions);
    assert_true((int)(real.probes_out + real.probes_answered) <= rules->probes);
}

/* ---- the events ---- */

enum happening {
    ADMIT,
    LOOK, /* take a snapshot */
    TO_NORMAL,
    TO_FORCED,
    TO_DISABLED,
    TO_METRICS,
    HALF_A_SLICE, /* pass */
    TO_SLICE_END,
    TO_OPEN_UNTIL,
    TO_LEASE_END,
    VANISH,                                  /* + number of the call in flight */
    ANSWER = VANISH + MOST_IN_FLIGHT,        /* + 6 · number + kind of answer */
    HAPPENINGS = ANSWER + 6 * MOST_IN_FLIGHT /* the sixth: a failure, told a little before now */
};

static bool admit_both(struct world *world) {
    if (world->in_flight == MOST_IN_FLIGHT)
        return false;
    uint32_t permit = UINT32_MAX;
    enum lull_breaker_state before = lull_breaker_current(&world->breaker);
    bool early = before == LULL_BREAKER_OPEN && world->now < world->breaker.open_until;
    struct lull_verdict real = lull_breaker_admit(&world->breaker, &permit, world->now);
    struct lull_verdict said = model_admit(&world->model, world->now);
    assert_int_equal(real.decision, said.decision);
    assert_int_equal(real.policy, said.policy);
    assert_int_equal(real.reason, said.reason);
    assert_int_equal(real.at, said.at);
    assert_true(real.timeout == said.timeout);
    if (early || before == LULL_BREAKER_FORCED_OPEN)
        assert_int_equal(real.decision, LULL_NO);
    if (real.decision != LULL_GO)
        return true;
    assert_int_equal(permit, world->model.generation);
    world->permits[world->in_flight++] = permit;
    return true;
}

static void forget(struct world *world, int call) {
    world->in_flight--;
    for (int i = call; i < world->in_flight; i++)
        world->permits[i] = world->permits[i + 1];
}

static bool answer_both(struct world *world, int call, int kind) {
    static const struct {
        enum lull_vote vote;
        bool slow;
        lull_duration earlier;
    } kinds[] = {{LULL_VOTE_SUCCESS, false, 0}, {LULL_VOTE_SUCCESS, true, 0},
                 {LULL_VOTE_FAILURE, false, 0}, {LULL_VOTE_FAILURE, true, 0},
                 {LULL_VOTE_NONE, true, 0},     {LULL_VOTE_FAILURE, false, SLICE / 2}};
    if (call >= world->in_flight)
        return false;
    uint32_t permit = world->permits[call];
    lull_time now = world->now - kinds[kind].earlier;
    bool late = permit != world->model.generation;
    static struct lull_breaker before;
    memcpy((void *)&before, (void *)&world->breaker, sizeof before);
    lull_breaker_record(&world->breaker, permit, kinds[kind].vote, kinds[kind].slow ? SLOW : QUICK,
                        0, now);
    model_record(&world->model, permit, kinds[kind].vote, kinds[kind].slow, now);
    if (late) { /* then nothing has changed but the count of such results */
        before.late = world->breaker.late;
        assert_memory_equal((void *)&before, (void *)&world->breaker, sizeof before);
    }
    forget(world, call);
    return true;
}

/* The next moment at which something could change: false if it is not ahead. */
static bool pass_to(struct world *world, lull_time moment) {
    if (moment <= world->now)
        return false;
    world->now = moment;
    return true;
}

/* False if it cannot happen here. */
static bool happen(struct world *world, int happening) {
    switch (happening) {
    case ADMIT:
        return admit_both(world);
    case LOOK:
        (void)lull_breaker_snapshot(&world->breaker, world->now);
        model_look(&world->model, world->now);
        return true;
    case TO_NORMAL:
    case TO_FORCED:
    case TO_DISABLED:
    case TO_METRICS: {
        enum lull_breaker_mode mode = (enum lull_breaker_mode)(happening - TO_NORMAL);
        lull_breaker_set_mode(&world->breaker, mode, world->now);
        model_set_mode(&world->model, mode, world->now);
        return true;
    }
    case HALF_A_SLICE:
        return pass_to(world, world->now + SLICE / 2);
    case TO_SLICE_END:
        return !rules->by_count && pass_to(world, world->breaker.window.slice_end);
    case TO_OPEN_UNTIL:
        return world->model.state == LULL_BREAKER_OPEN && pass_to(world, world->model.open_until);
    case TO_LEASE_END:
        return world->model.state == LULL_BREAKER_HALF_OPEN &&
               pass_to(world, world->model.last_probe + rules->lease);
    default:
        if (happening >= ANSWER)
            return answer_both(world, (happening - ANSWER) / 6, (happening - ANSWER) % 6);
        if (happening - VANISH >= world->in_flight)
            return false;
        forget(world, happening - VANISH);
        return true;
    }
}

/* ---- the search ---- */

static struct {
    struct kept *queue;
    size_t count, room;
    struct fingerprint *seen; /* open addressing */
    size_t seen_count, seen_room;
} search;

static struct fingerprint *place_of(struct fingerprint print) {
    size_t index = print.a & (search.seen_room - 1);
    while ((search.seen[index].a | search.seen[index].b) != 0 &&
           (search.seen[index].a != print.a || search.seen[index].b != print.b))
        index = (index + 1) & (search.seen_room - 1);
    return &search.seen[index];
}

static void make_room(void) {
    struct fingerprint *old = search.seen;
    size_t old_room = search.seen_room;
    search.seen_room = old_room == 0 ? 1 << 12 : old_room * 2;
    search.seen = calloc(search.seen_room, sizeof *search.seen);
    assert_non_null(search.seen);
    for (size_t i = 0; i < old_room; i++)
        if ((old[i].a | old[i].b) != 0)
            *place_of(old[i]) = old[i];
    free(old);
}

/* True if it had not been seen. */
static bool see(struct fingerprint print) {
    if (search.seen_count * 2 >= search.seen_room)
        make_room();
    struct fingerprint *place = place_of(print);
    if ((place->a | place->b) != 0)
        return false;
    *place = print;
    search.seen_count++;
    return true;
}

static void visit(const struct world *world) {
    if (!see(fingerprint(world)))
        return;
    never_wedged(world);
    if (search.count == search.room) {
        search.room = search.room == 0 ? 1 << 10 : search.room * 2;
        search.queue = realloc(search.queue, search.room * sizeof *search.queue);
        assert_non_null(search.queue);
    }
    keep(&search.queue[search.count++], world);
}

/* By time the window could fill without end while no time passes; the search looks at no more
 * than so many votes. */
static bool window_full(const struct world *world, int happening) {
    return happening >= ANSWER && !rules->by_count && world->model.count >= MOST_VOTES;
}

static void explore(const struct rules *which) {
    static struct world world;
    size_t states[6] = {0}, steps = 0;
    rules = which;
    memset(&search, 0, sizeof search);
    begin_world(&world);
    visit(&world);
    for (size_t next = 0; next < search.count; next++) {
        states[search.queue[next].model.state]++;
        for (int happening = 0; happening < HAPPENINGS; happening++) {
            take_up(&world, &search.queue[next]);
            real_told.count = model_told.count = 0;
            if (window_full(&world, happening) || !happen(&world, happening))
                continue;
            steps++;
            same_told();
            same_snapshot(&world);
            visit(&world);
        }
    }
    printf("%s: %zu states (", which->name, search.count);
    for (int i = 0; i < 6; i++) {
        printf("%s%s %zu", i == 0 ? "" : ", ", lull_breaker_state_name(i), states[i]);
        assert_true(states[i] > 0);
    }
    printf("), %zu steps, each as the model says\n", steps);
    free(search.queue);
    free(search.seen);
}

static void every_reachable_state(void **state) {
    (void)state;
    if (THREADS_ARE_WATCHED)
        skip();
    const struct rules all[] = {
        {"count 3, 2 probes", true, 3, 2, 2, 50, 80, 1000, 2000, 1500},
        {"count 2, 3 probes", true, 2, 2, 3, 60, 50, 1000, 2000, 1000},
        {"count 1, 1 probe", true, 1, 1, 1, 100, 100, 1000, 1000, 500},
        {"2 slices, 2 probes", false, 2, 2, 2, 50, 80, 1000, 2000, 1500},
        {"2 slices, 3 probes", false, 2, 3, 3, 60, 50, 1000, 2000, 1000},
    };
    for (size_t i = 0; i < COUNT(all); i++)
        explore(&all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reachable_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
