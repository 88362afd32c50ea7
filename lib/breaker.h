/* For the guard: the breaker's fast paths, inlined, and its check.
 *
 * The word:
 *   bits  0–2   state                      bits 32–39  permits out     (half-open)
 *   bit   3     settling: open_until is    bits 40–47  probes answered
 *               being written              bits 48–55  of them failed
 *   bits  4–27  generation                 bits 56–63  of them slow
 *   bits 28–31  re-openings in a row, at most 15
 *
 * Whoever changes the state does so by one compare-and-swap on the word, and so knows that it alone did. Votes in
 * the closed state go to `tally`, whose words carry the low 16 bits of the generation they count for: a vote is one
 * compare-and-swap that fails if the generation has moved on, so no late vote slips in between check and count.
 */
#ifndef LULL_LIB_BREAKER_H
#define LULL_LIB_BREAKER_H

#include "atomic.h"
#include "private.h"
#include "window.h"

#include <lull/breaker.h>

#define BREAKER_STATE_MASK UINT64_C(0x7)
#define BREAKER_SETTLING UINT64_C(0x8)
#define BREAKER_GENERATION_SHIFT 4
#define BREAKER_GENERATION_MASK UINT64_C(0xffffff)

enum { TALLY_CALLS, TALLY_FAILED, TALLY_SLOW, TALLY_COUNT };
#define TALLY_GENERATION_MASK UINT64_C(0xffff)
#define TALLY_ONE UINT64_C(0x10000)

int breaker_check(const struct lull_breaker_config *config, struct lull_breaker_config *settled,
                  struct lull_error *error);
/* Are these settings, already checked, ones that a breaker in use can take on? */
int breaker_check_change(const struct lull_breaker *breaker,
                         const struct lull_breaker_config *settled, struct lull_error *error);
void breaker_apply(struct lull_breaker *breaker, const struct lull_breaker_config *settled);
void breaker_reset(struct lull_breaker *breaker, const struct lull_breaker_config *settled);

static inline enum lull_breaker_state breaker_state(uint64_t word) {
    return (enum lull_breaker_state)(word & BREAKER_STATE_MASK);
}

static inline uint32_t breaker_generation(uint64_t word) {
    return (uint32_t)(word >> BREAKER_GENERATION_SHIFT & BREAKER_GENERATION_MASK);
}

/* By value, in two registers: the common answer, LULL_REASON_NONE, costs no memory. */
struct refusal {
    enum lull_reason reason; /* LULL_REASON_NONE: admitted */
    lull_time at;
};

/* Admission in any state but closed. */
struct refusal breaker_admit_slow(struct lull_breaker *breaker, uint32_t *permit, lull_time now);

static inline struct refusal breaker_admit(struct lull_breaker *breaker, uint32_t *permit,
                                           lull_time now) {
    uint64_t word = atomic_load_explicit(&breaker->word, memory_order_acquire);
    if (breaker_state(word) != LULL_BREAKER_CLOSED)
        return breaker_admit_slow(breaker, permit, now);
    *permit = breaker_generation(word);
    return (struct refusal){LULL_REASON_NONE, now};
}

/* Any vote, in any state. */
void breaker_record_slow(struct lull_breaker *breaker, uint32_t permit, enum lull_vote vote,
                         lull_duration took, uint64_t random, lull_time now);

/* Adds `amount` to a tally of this generation; false if the generation is over. */
static inline bool tally_add(_Atomic(uint64_t) *tally, uint32_t generation, uint64_t amount,
                             uint64_t *before) {
    uint64_t value = load(tally);
    do {
        if ((value & TALLY_GENERATION_MASK) != (generation & TALLY_GENERATION_MASK))
            return false;
    } while (!swap_if(tally, &value, value + amount));
    *before = value;
    return true;
}

/* The common case, a quick success in a closed circuit by time without a failure or slow call in its window,
 * is one atomic step, and opens nothing. False: it is not that case; the vote is breaker_record_slow's. */
static inline bool breaker_record_quick(struct lull_breaker *breaker, uint32_t permit,
                                        lull_duration took, lull_time now) {
    uint64_t now_word = load(&breaker->word);
    if (breaker_state(now_word) == LULL_BREAKER_CLOSED && breaker_generation(now_word) == permit &&
        took <= load(&breaker->slow_call) && !load(&breaker->by_count) &&
        !window_due(&breaker->window, now) &&
        load(&breaker->tally[TALLY_FAILED]) == load(&breaker->oldest[TALLY_FAILED]) &&
        load(&breaker->tally[TALLY_SLOW]) == load(&breaker->oldest[TALLY_SLOW])) {
        uint64_t before;
        return tally_add(&breaker->tally[TALLY_CALLS], permit, TALLY_ONE, &before);
    }
    return false;
}

static inline void breaker_record_success(struct lull_breaker *breaker, uint32_t permit,
                                          lull_duration took, uint64_t word, lull_time now) {
    if (!breaker_record_quick(breaker, permit, took, now))
        breaker_record_slow(breaker, permit, LULL_VOTE_SUCCESS, took, word, now);
}

#endif
