#include "breaker.h"

#include "check.h"
#include "saturate.h"

#include <lull/random.h>

#define MILLION 1000000
#define REOPENINGS_SHIFT 28
#define REOPENINGS_MASK UINT64_C(0xf)
#define OUT_SHIFT 32
#define ANSWERED_SHIFT 40
#define FAILED_SHIFT 48
#define SLOW_SHIFT 56
#define PROBE_MASK UINT64_C(0xff)
#define LONGEST LULL_DAY

/* A slot of the count window: generation (16 bits) | number of the call (46) | slow | failed. */
#define SLOT_BITS UINT64_C(0x3)
#define SLOT_FAILED UINT64_C(0x1)
#define SLOT_SLOW UINT64_C(0x2)
#define SLOT_NUMBER_SHIFT 2
#define SLOT_NUMBER_MASK ((UINT64_C(1) << 46) - 1)
#define SLOT_GENERATION_SHIFT 48

static uint32_t field(uint64_t word, int shift) {
    return (uint32_t)(word >> shift & PROBE_MASK);
}

static uint32_t reopenings(uint64_t word) {
    return (uint32_t)(word >> REOPENINGS_SHIFT & REOPENINGS_MASK);
}

/* The word that begins a new state: the next generation, no probes. */
static uint64_t begin(uint64_t word, enum lull_breaker_state state, uint32_t reopened) {
    uint64_t generation = (breaker_generation(word) + UINT64_C(1)) & BREAKER_GENERATION_MASK;
    return (uint64_t)state | generation << BREAKER_GENERATION_SHIFT |
           (uint64_t)reopened << REOPENINGS_SHIFT;
}

/* ---- configuration ---- */

static void fill_defaults(struct lull_breaker_config *c) {
    if (c->window == 0)
        c->window = LULL_BREAKER_WINDOW;
    if (c->slices == 0)
        c->slices = LULL_BREAKER_SLICES;
    if (c->calls == 0)
        c->calls = LULL_BREAKER_CALLS;
    if (c->minimum_calls == 0)
        c->minimum_calls = c->by_count && c->calls < LULL_BREAKER_MINIMUM_CALLS
                               ? c->calls
                               : LULL_BREAKER_MINIMUM_CALLS;
    if (c->failure_rate == 0)
        c->failure_rate = LULL_BREAKER_FAILURE_RATE;
    if (c->slow_rate == 0)
        c->slow_rate = LULL_BREAKER_SLOW_RATE;
    if (c->slow_call == 0)
        c->slow_call = LULL_BREAKER_SLOW_CALL;
    if (c->open_time == 0)
        c->open_time = LULL_BREAKER_OPEN_TIME;
    if (c->open_max == 0)
        c->open_max = LULL_BREAKER_OPEN_MAX;
    if (c->open_growth == 0)
        c->open_growth = LULL_BREAKER_OPEN_GROWTH;
    if (c->open_jitter == 0)
        c->open_jitter = LULL_BREAKER_OPEN_JITTER;
    if (c->probes == 0)
        c->probes = LULL_BREAKER_PROBES;
    if (c->lease == 0)
        c->lease = LULL_BREAKER_LEASE;
}

static int check_window(const struct lull_breaker_config *c, struct lull_error *error) {
    if (check_duration(error, "breaker.window", c->window, LULL_MICROSECOND, LULL_DAY) != LULL_OK ||
        check_integer(error, "breaker.slices", c->slices, 2, LULL_BREAKER_MAX_SLICES) != LULL_OK ||
        check_integer(error, "breaker.calls", c->calls, 1, LULL_BREAKER_MAX_CALLS) != LULL_OK)
        return LULL_EINVAL;
    return check_integer(error, "breaker.minimum_calls", c->minimum_calls, 1,
                         c->by_count ? c->calls : UINT32_MAX);
}

static int check_open(const struct lull_breaker_config *c, struct lull_error *error) {
    if (check_duration(error, "breaker.open_time", c->open_time, 1, LONGEST) != LULL_OK ||
        check_duration(error, "breaker.open_max", c->open_max, 1, LONGEST) != LULL_OK ||
        check_number(error, "breaker.open_growth", c->open_growth, 1, 1000) != LULL_OK)
        return LULL_EINVAL;
    if (c->open_max < c->open_time) {
        char most_text[32], time_text[32];
        return invalid(error, "breaker.open_max",
                       "is %s, less than breaker.open_time (%s); raise it",
                       duration_text(c->open_max, most_text, sizeof most_text),
                       duration_text(c->open_time, time_text, sizeof time_text));
    }
    if (c->open_jitter != LULL_NONE)
        return check_number(error, "breaker.open_jitter", c->open_jitter, 0, 0.999);
    return LULL_OK;
}

int breaker_check(const struct lull_breaker_config *config, struct lull_breaker_config *settled,
                  struct lull_error *error) {
    struct lull_breaker_config c = config != NULL ? *config : (struct lull_breaker_config){0};
    fill_defaults(&c);
    if (check_window(&c, error) != LULL_OK ||
        check_number(error, "breaker.failure_rate", c.failure_rate, 1e-6, 1) != LULL_OK ||
        check_number(error, "breaker.slow_rate", c.slow_rate, 1e-6, 1) != LULL_OK ||
        check_open(&c, error) != LULL_OK ||
        check_integer(error, "breaker.probes", c.probes, 1, LULL_BREAKER_MAX_PROBES) != LULL_OK ||
        check_duration(error, "breaker.lease", c.lease, 1, LONGEST) != LULL_OK)
        return LULL_EINVAL;
    if (c.slow_call == LULL_NONE)
        c.slow_call = LULL_NEVER;
    else if (check_duration(error, "breaker.slow_call", c.slow_call, 1, LONGEST) != LULL_OK)
        return LULL_EINVAL;
    *settled = c;
    return LULL_OK;
}

int breaker_check_change(const struct lull_breaker *breaker,
                         const struct lull_breaker_config *settled, struct lull_error *error) {
    if (settled->by_count != load(&breaker->by_count))
        return invalid(error, "breaker.by_count", "cannot change while the breaker is in use");
    if (settled->by_count && settled->calls != load(&breaker->calls))
        return invalid(error, "breaker.calls", "cannot change while the breaker is in use");
    if (!settled->by_count && settled->slices != load(&breaker->window.slices))
        return invalid(error, "breaker.slices", "cannot change while the breaker is in use");
    return LULL_OK;
}

/* Rounded down, or 2 of 3 would not reach a rate of 2/3; but 0.0157 times a million, a hair less
 * than 15,700, is 15,700. */
static uint32_t parts_per_million(double rate) {
    return (uint32_t)(rate * MILLION + 0.001);
}

void breaker_apply(struct lull_breaker *breaker, const struct lull_breaker_config *settled) {
    window_resize(&breaker->window, settled->window);
    store(&breaker->slow_call, settled->slow_call);
    store(&breaker->open_time, settled->open_time);
    store(&breaker->open_max, settled->open_max);
    store(&breaker->lease, settled->lease);
    store(&breaker->open_growth, settled->open_growth);
    store(&breaker->open_jitter, settled->open_jitter == LULL_NONE ? 0 : settled->open_jitter);
    store(&breaker->failure_ppm, parts_per_million(settled->failure_rate));
    store(&breaker->slow_ppm, parts_per_million(settled->slow_rate));
    store(&breaker->minimum_calls, settled->minimum_calls);
    store(&breaker->probes, settled->probes);
}

/* A closed breaker with an empty window. */
void breaker_reset(struct lull_breaker *breaker, const struct lull_breaker_config *settled) {
    store(&breaker->word, LULL_BREAKER_CLOSED);
    for (int i = 0; i < TALLY_COUNT; i++) {
        store(&breaker->tally[i], 0);
        store(&breaker->oldest[i], 0);
    }
    for (int i = 0; i < LULL_BREAKER_MAX_CALLS; i++) /* all of the union */
        store(&breaker->ring.slots[i], 0);
    window_init(&breaker->window, settled->window, settled->slices);
    store(&breaker->open_until, 0);
    store(&breaker->probed_at, 0);
    store(&breaker->past_calls, 0);
    store(&breaker->failed, 0);
    store(&breaker->slow, 0);
    store(&breaker->refused, 0);
    store(&breaker->late, 0);
    store(&breaker->transitions, 0);
    store(&breaker->by_count, settled->by_count);
    store(&breaker->calls, settled->calls);
    breaker->on_transition = settled->on_transition;
    breaker->context = settled->context;
}

int lull_breaker_init(struct lull_breaker *breaker, const struct lull_breaker_config *config,
                      struct lull_error *error) {
    struct lull_breaker_config settled;
    int result = breaker_check(config, &settled, error);
    if (result == LULL_OK) {
        breaker_reset(breaker, &settled);
        breaker_apply(breaker, &settled);
    }
    return result;
}

int lull_breaker_configure(struct lull_breaker *breaker, const struct lull_breaker_config *config,
                           struct lull_error *error) {
    struct lull_breaker_config settled;
    int result = breaker_check(config, &settled, error);
    if (result == LULL_OK)
        result = breaker_check_change(breaker, &settled, error);
    if (result == LULL_OK)
        breaker_apply(breaker, &settled);
    return result;
}

/* ---- the window ---- */

struct counts {
    uint64_t calls, failed, slow;
};

static bool same_generation(uint64_t a, uint64_t b) {
    return ((a ^ b) & TALLY_GENERATION_MASK) == 0;
}

/* What the window holds of one tally. A note of an older generation counts as zero. */
static uint64_t in_window(uint64_t tally, uint64_t oldest) {
    int64_t count = (int64_t)(same_generation(tally, oldest) ? tally - oldest : tally) >> 16;
    return count > 0 ? (uint64_t)count : 0;
}

static struct counts window_counts(const struct lull_breaker *breaker) {
    uint64_t counted[TALLY_COUNT];
    bool by_count = load(&breaker->by_count);
    for (int i = 0; i < TALLY_COUNT; i++) {
        uint64_t tally = load(&breaker->tally[i]);
        uint64_t oldest = by_count ? tally & TALLY_GENERATION_MASK : load(&breaker->oldest[i]);
        counted[i] = in_window(tally, oldest);
    }
    struct counts counts = {counted[TALLY_CALLS], counted[TALLY_FAILED], counted[TALLY_SLOW]};
    if (by_count && counts.calls > load(&breaker->calls))
        counts.calls = load(&breaker->calls);
    return counts;
}

static bool reaches(uint64_t part, uint64_t whole, uint32_t ppm) {
    return part * MILLION >= whole * ppm;
}

static bool too_bad(const struct lull_breaker *breaker, struct counts counts) {
    return reaches(counts.failed, counts.calls, load(&breaker->failure_ppm)) ||
           reaches(counts.slow, counts.calls, load(&breaker->slow_ppm));
}

static void adjust(_Atomic(uint64_t) *tally, uint32_t generation, int amount) {
    uint64_t before;
    if (amount != 0)
        (void)tally_add(tally, generation, (uint64_t)amount * TALLY_ONE, &before);
}

/* Puts call `number` of this generation into its slot; what was there leaves the window. A slot
 * that a later call already took (this thread was asleep for a whole window) is left alone: this
 * call has left the window, too. What another generation left is nothing, unless it is this one
 * that is over. */
static void count_slot(struct lull_breaker *breaker, uint32_t generation, uint64_t number,
                       uint64_t bits) {
    uint64_t tag = generation & TALLY_GENERATION_MASK;
    uint64_t mine =
        tag << SLOT_GENERATION_SHIFT | (number & SLOT_NUMBER_MASK) << SLOT_NUMBER_SHIFT | bits;
    _Atomic(uint64_t) *slot = &breaker->ring.slots[number % load(&breaker->calls)];
    uint64_t old = load(slot);
    uint64_t left;
    do {
        bool same = old >> SLOT_GENERATION_SHIFT == tag;
        if (same ? (old & ~SLOT_BITS) > mine
                 : !same_generation(load(&breaker->tally[TALLY_CALLS]), generation))
            return;
        left = same ? old & SLOT_BITS : 0;
    } while (!swap_if(slot, &old, mine));
    adjust(&breaker->tally[TALLY_FAILED], generation,
           (int)(bits & SLOT_FAILED) - (int)(left & SLOT_FAILED));
    adjust(&breaker->tally[TALLY_SLOW], generation,
           (int)((bits & SLOT_SLOW) >> 1) - (int)((left & SLOT_SLOW) >> 1));
}

/* Counts one vote; false if its generation is over. */
static bool count_vote(struct lull_breaker *breaker, uint32_t generation, bool failed, bool slow,
                       lull_time now) {
    bool by_count = load(&breaker->by_count);
    if (!by_count && window_due(&breaker->window, now))
        window_move(&breaker->window, now, breaker->tally, TALLY_COUNT, breaker->ring.notes,
                    breaker->oldest);
    uint64_t before;
    if (!tally_add(&breaker->tally[TALLY_CALLS], generation, TALLY_ONE, &before))
        return false;
    if (by_count) {
        uint64_t bits = (failed ? SLOT_FAILED : 0) | (slow ? SLOT_SLOW : 0);
        count_slot(breaker, generation, before >> 16, bits);
    } else {
        adjust(&breaker->tally[TALLY_FAILED], generation, failed);
        adjust(&breaker->tally[TALLY_SLOW], generation, slow);
    }
    return true;
}

/* ---- transitions; each is called by the one thread whose swap began the state ---- */

static void tell(struct lull_breaker *breaker, uint64_t from, uint64_t to, lull_time open_until,
                 struct counts counts, lull_time now) {
    add(&breaker->transitions, 1);
    if (breaker->on_transition == NULL)
        return;
    struct lull_breaker_event event = {
        .from = breaker_state(from),
        .to = breaker_state(to),
        .generation = breaker_generation(to),
        .at = now,
        .open_until = open_until,
        .calls = counts.calls,
        .failed = counts.failed,
        .slow = counts.slow,
    };
    breaker->on_transition(breaker->context, &event);
}

/* How long to stay open: grown per re-opening, capped, then jittered both ways. */
static lull_duration open_length(const struct lull_breaker *breaker, uint32_t reopened,
                                 uint64_t word) {
    double length = (double)load(&breaker->open_time);
    double cap = (double)load(&breaker->open_max);
    for (uint32_t i = 0; i < reopened && length < cap; i++)
        length *= load(&breaker->open_growth);
    lull_duration whole = from_double(length < cap ? length : cap);
    lull_duration part = from_double((double)whole * load(&breaker->open_jitter));
    return lull_uniform(word, whole - part, whole + part);
}

/* The tallies start again for the generation of `word`, a state that counts. If the operator has
 * begun another state meanwhile, its tallies are left alone: an older generation in them would
 * make the breaker deaf. Calls come last, because a vote looks at them first. */
static void restart_tallies(struct lull_breaker *breaker, uint64_t word) {
    uint64_t empty = breaker_generation(word) & TALLY_GENERATION_MASK;
    for (int i = TALLY_COUNT - 1; i >= TALLY_CALLS; i--) {
        uint64_t value = atomic_load_explicit(&breaker->tally[i], memory_order_acquire);
        do {
            if (breaker_generation(load(&breaker->word)) != breaker_generation(word))
                return;
        } while (!swap_if(&breaker->tally[i], &value, empty));
        if (i == TALLY_CALLS)
            add(&breaker->past_calls, value >> 16);
    }
}

/* The word that opens the circuit; until the time is written it is settling, and calls are
 * refused. */
static uint64_t begin_open(uint64_t word) {
    uint32_t again = 0;
    if (breaker_state(word) == LULL_BREAKER_HALF_OPEN)
        again = reopenings(word) < REOPENINGS_MASK ? reopenings(word) + 1 : reopenings(word);
    return begin(word, LULL_BREAKER_OPEN, again) | BREAKER_SETTLING;
}

static void finish_open(struct lull_breaker *breaker, uint64_t from, uint64_t open,
                        struct counts counts, uint64_t random, lull_time now) {
    lull_time until = add_saturated(now, open_length(breaker, reopenings(open), random));
    store(&breaker->open_until, until);
    /* Only the operator may have moved the word meanwhile; then it is theirs. */
    uint64_t expected = open;
    atomic_compare_exchange_strong_explicit(&breaker->word, &expected, open & ~BREAKER_SETTLING,
                                            memory_order_acq_rel, memory_order_relaxed);
    tell(breaker, from, open, until, counts, now);
}

void lull_breaker_set_mode(struct lull_breaker *breaker, enum lull_breaker_mode mode,
                           lull_time now) {
    static const enum lull_breaker_state states[] = {
        [LULL_BREAKER_NORMAL] = LULL_BREAKER_CLOSED,
        [LULL_BREAKER_MODE_FORCED_OPEN] = LULL_BREAKER_FORCED_OPEN,
        [LULL_BREAKER_MODE_DISABLED] = LULL_BREAKER_DISABLED,
        [LULL_BREAKER_MODE_METRICS_ONLY] = LULL_BREAKER_METRICS_ONLY,
    };
    if ((unsigned)mode >= sizeof states / sizeof states[0])
        return;
    enum lull_breaker_state state = states[mode];
    uint64_t word = load(&breaker->word);
    uint64_t next;
    do {
        /* Asking for what is so already changes nothing; "normal" is any of its three states. */
        if (breaker_state(word) == state ||
            (mode == LULL_BREAKER_NORMAL && breaker_state(word) <= LULL_BREAKER_HALF_OPEN))
            return;
        next = begin(word, state, 0);
    } while (!swap_if(&breaker->word, &word, next));
    restart_tallies(breaker, next);
    tell(breaker, word, next, 0, (struct counts){0}, now);
}

/* ---- admission ---- */

static struct refusal refuse(struct lull_breaker *breaker, enum lull_reason reason, lull_time at) {
    add(&breaker->refused, 1);
    return (struct refusal){reason, at};
}

/* The next word when one more probe goes out of `word`, half-open; 0 if none may. */
static uint64_t one_more_probe(const struct lull_breaker *breaker, uint64_t word, lull_time now) {
    uint32_t out = field(word, OUT_SHIFT), answered = field(word, ANSWERED_SHIFT);
    /* With none out there is nobody to decide: one more, even if fewer are configured by now. */
    if (out == 0 || out + answered < load(&breaker->probes))
        return word + (UINT64_C(1) << OUT_SHIFT);
    if (now < add_saturated(load(&breaker->probed_at), load(&breaker->lease)))
        return 0;
    /* The missing probes are written off; the answers there are still count. */
    uint64_t votes = word & ~((UINT64_C(1) << ANSWERED_SHIFT) - 1);
    return begin(word, LULL_BREAKER_HALF_OPEN, reopenings(word)) | votes | UINT64_C(1) << OUT_SHIFT;
}

struct refusal breaker_admit_slow(struct lull_breaker *breaker, uint32_t *permit, lull_time now) {
    const struct refusal admitted = {LULL_REASON_NONE, now};
    uint64_t word = atomic_load_explicit(&breaker->word, memory_order_acquire);
    for (;;) {
        enum lull_breaker_state state = breaker_state(word);
        uint64_t next = word;
        if (state == LULL_BREAKER_FORCED_OPEN)
            return refuse(breaker, LULL_REASON_CIRCUIT_FORCED_OPEN, LULL_NEVER);
        if (state == LULL_BREAKER_OPEN) {
            if (word & BREAKER_SETTLING)
                return refuse(breaker, LULL_REASON_CIRCUIT_OPEN,
                              add_saturated(now, load(&breaker->open_time)));
            if (now < load(&breaker->open_until))
                return refuse(breaker, LULL_REASON_CIRCUIT_OPEN, load(&breaker->open_until));
            next = begin(word, LULL_BREAKER_HALF_OPEN, reopenings(word)) | UINT64_C(1) << OUT_SHIFT;
        } else if (state == LULL_BREAKER_HALF_OPEN) {
            next = one_more_probe(breaker, word, now);
            /* By then a probe has answered or is slow; or the lease is over. */
            if (next == 0)
                return refuse(breaker, LULL_REASON_CIRCUIT_PROBING,
                              least(add_saturated(load(&breaker->probed_at), load(&breaker->lease)),
                                    add_saturated(now, load(&breaker->slow_call))));
        }
        if (next == word) { /* closed, disabled or metrics-only: nothing to count out */
            *permit = breaker_generation(word);
            return admitted;
        }
        store(&breaker->probed_at, now);
        uint64_t before = word;
        if (swap_if(&breaker->word, &word, next)) {
            if (state == LULL_BREAKER_OPEN)
                tell(breaker, before, next, 0, (struct counts){0}, now);
            *permit = breaker_generation(next);
            return admitted;
        }
    }
}

struct lull_verdict lull_breaker_admit(struct lull_breaker *breaker, uint32_t *permit,
                                       lull_time now) {
    struct refusal refusal = breaker_admit(breaker, permit, now);
    if (refusal.reason == LULL_REASON_NONE)
        return (struct lull_verdict){LULL_GO, LULL_POLICY_BREAKER, LULL_REASON_NONE, now,
                                     LULL_NEVER};
    return (struct lull_verdict){LULL_NO, LULL_POLICY_BREAKER, refusal.reason, refusal.at, 0};
}

/* ---- results ---- */

static void note_bad(struct lull_breaker *breaker, bool failed, bool slow) {
    if (failed)
        add(&breaker->failed, 1);
    if (slow)
        add(&breaker->slow, 1);
}

/* A probe answered, or gives its permit back. */
static uint64_t settle_probe(uint64_t word, enum lull_vote vote, bool slow) {
    word -= UINT64_C(1) << OUT_SHIFT;
    if (vote == LULL_VOTE_NONE)
        return word;
    word += UINT64_C(1) << ANSWERED_SHIFT;
    if (vote == LULL_VOTE_FAILURE)
        word += UINT64_C(1) << FAILED_SHIFT;
    if (slow)
        word += UINT64_C(1) << SLOW_SHIFT;
    return word;
}

static struct counts probe_counts(uint64_t word) {
    return (struct counts){field(word, ANSWERED_SHIFT), field(word, FAILED_SHIFT),
                           field(word, SLOW_SHIFT)};
}

/* What the answers so far make of the word: open as soon as the other probes cannot change that,
 * closed when all have answered. Answer and decision are one swap, so that nobody slips in
 * between as one probe too many. */
static uint64_t decide(const struct lull_breaker *breaker, uint64_t word) {
    struct counts whole = probe_counts(word);
    uint32_t probes = load(&breaker->probes);
    bool all = whole.calls >= probes; /* more than all, if fewer are configured by now */
    if (!all)
        whole.calls = probes;
    if (too_bad(breaker, whole))
        return begin_open(word);
    return all ? begin(word, LULL_BREAKER_CLOSED, 0) : word;
}

static void record_probe(struct lull_breaker *breaker, uint64_t word, uint32_t permit,
                         enum lull_vote vote, bool slow, uint64_t random, lull_time now) {
    uint64_t answered, next;
    do {
        if (breaker_generation(word) != permit || field(word, OUT_SHIFT) == 0) {
            if (vote != LULL_VOTE_NONE)
                add(&breaker->late, 1);
            return;
        }
        answered = settle_probe(word, vote, slow);
        next = vote == LULL_VOTE_NONE ? answered : decide(breaker, answered);
    } while (!swap_if(&breaker->word, &word, next));
    if (vote == LULL_VOTE_NONE)
        return;
    add(&breaker->past_calls, 1);
    note_bad(breaker, vote == LULL_VOTE_FAILURE, slow);
    if (breaker_state(next) == LULL_BREAKER_OPEN) {
        finish_open(breaker, word, next, probe_counts(answered), random, now);
    } else if (breaker_state(next) == LULL_BREAKER_CLOSED) {
        restart_tallies(breaker, next);
        tell(breaker, word, next, 0, probe_counts(answered), now);
    }
}

void breaker_record_slow(struct lull_breaker *breaker, uint32_t permit, enum lull_vote vote,
                         lull_duration took, uint64_t random, lull_time now) {
    uint64_t word = atomic_load_explicit(&breaker->word, memory_order_acquire);
    enum lull_breaker_state state = breaker_state(word);
    bool slow = took > load(&breaker->slow_call);
    if (state == LULL_BREAKER_HALF_OPEN) {
        record_probe(breaker, word, permit, vote, slow, random, now);
        return;
    }
    if (vote == LULL_VOTE_NONE || state == LULL_BREAKER_DISABLED)
        return;
    bool counts_here = state == LULL_BREAKER_CLOSED || state == LULL_BREAKER_METRICS_ONLY;
    if (!counts_here || breaker_generation(word) != permit ||
        !count_vote(breaker, permit, vote == LULL_VOTE_FAILURE, slow, now)) {
        add(&breaker->late, 1);
        return;
    }
    note_bad(breaker, vote == LULL_VOTE_FAILURE, slow);
    struct counts counts = window_counts(breaker);
    if (state != LULL_BREAKER_CLOSED || counts.calls < load(&breaker->minimum_calls) ||
        !too_bad(breaker, counts))
        return;
    uint64_t open = begin_open(word), expected = word;
    if (atomic_compare_exchange_strong_explicit(&breaker->word, &expected, open,
                                                memory_order_acq_rel, memory_order_relaxed))
        finish_open(breaker, word, open, counts, random, now);
}

void lull_breaker_record(struct lull_breaker *breaker, uint32_t permit, enum lull_vote vote,
                         lull_duration took, uint64_t word, lull_time now) {
    if (vote == LULL_VOTE_SUCCESS)
        breaker_record_success(breaker, permit, took, word, now);
    else
        breaker_record_slow(breaker, permit, vote, took, word, now);
}

/* ---- looking at it ---- */

enum lull_breaker_state lull_breaker_current(const struct lull_breaker *breaker) {
    return breaker_state(load(&breaker->word));
}

struct lull_breaker_stats lull_breaker_snapshot(struct lull_breaker *breaker, lull_time now) {
    if (!load(&breaker->by_count) && window_due(&breaker->window, now))
        window_move(&breaker->window, now, breaker->tally, TALLY_COUNT, breaker->ring.notes,
                    breaker->oldest);
    uint64_t word = load(&breaker->word);
    enum lull_breaker_state state = breaker_state(word);
    struct lull_breaker_stats stats = {
        .state = state,
        .generation = breaker_generation(word),
        .reopenings = reopenings(word),
        .open_until = state == LULL_BREAKER_OPEN ? load(&breaker->open_until) : 0,
        .refused = load(&breaker->refused),
        .late = load(&breaker->late),
        .transitions = load(&breaker->transitions),
        .calls = load(&breaker->past_calls) + (load(&breaker->tally[TALLY_CALLS]) >> 16),
        .failed = load(&breaker->failed),
        .slow = load(&breaker->slow),
    };
    if (state == LULL_BREAKER_CLOSED || state == LULL_BREAKER_METRICS_ONLY) {
        struct counts counts = window_counts(breaker);
        stats.window_calls = counts.calls;
        stats.window_failed = counts.failed;
        stats.window_slow = counts.slow;
    } else if (state == LULL_BREAKER_HALF_OPEN) {
        stats.probes_out = field(word, OUT_SHIFT);
        stats.probes_answered = field(word, ANSWERED_SHIFT);
    }
    return stats;
}

const char *lull_breaker_state_name(enum lull_breaker_state state) {
    static const char *const names[] = {
        [LULL_BREAKER_CLOSED] = "closed",       [LULL_BREAKER_OPEN] = "open",
        [LULL_BREAKER_HALF_OPEN] = "half-open", [LULL_BREAKER_FORCED_OPEN] = "forced-open",
        [LULL_BREAKER_DISABLED] = "disabled",   [LULL_BREAKER_METRICS_ONLY] = "metrics-only",
    };
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}
