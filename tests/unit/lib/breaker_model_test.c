/* The circuit breaker, explored.
 *
 * Part one walks through every state that a small breaker can reach: breadth first over copies of
 * the real struct, by every event that can happen, comparing each step with a model of the rules in
 * plain C. Two states are the same if nothing but the names of their generations, the time of day
 * and the totals differ.
 *
 * Part two takes a few scenes in which two or three threads meet, and plays every order of their
 * atomic steps with up to two interruptions (three for pairs). For that the breaker's source is
 * included here, with a switch point before each atomic operation; each "thread" is a context of
 * its own, run by hand. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- switch points ---- */

static void before_step(void); /* does nothing in part one */

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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

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
static struct told model_told, real_told;

static void write_down(struct told *told, const struct lull_breaker_event *event) {
    assert_true(told->count < MOST_EVENTS);
    told->events[told->count++] = *event;
}

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

struct world {
    struct lull_breaker breaker;
    struct model model;
    lull_time now;
    int in_flight;
    uint32_t permits[MOST_IN_FLIGHT]; /* oldest first; one that has vanished is not here any more */
};

/* As it is kept: the breaker without the part of its ring that a small one does not use. */
enum { RING_USED = 8, BREAKER_USED = offsetof(struct lull_breaker, ring) + RING_USED * 8 };

struct kept {
    unsigned char breaker[BREAKER_USED];
    struct model model;
    lull_time now;
    int in_flight;
    uint32_t permits[MOST_IN_FLIGHT];
};

static void note_event(void *context, const struct lull_breaker_event *event) {
    write_down(context, event);
}

static void begin_world(struct world *world) {
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

/* From here, with every call in flight gone for good, asking when told to and answering well
 * leads back to closed. */
static void never_wedged(const struct world *world) {
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

/* ---- part two: threads, step by step ---- */

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
        cmocka_unit_test(every_reachable_state),
        cmocka_unit_test(every_order_of_steps),
    };
    return cmocka_run_group_tests_name("breaker_model", tests, NULL, NULL);
}
