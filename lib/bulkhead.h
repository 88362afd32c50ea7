/* For the guard: entering and leaving, inlined, and the check. */
#ifndef LULL_LIB_BULKHEAD_H
#define LULL_LIB_BULKHEAD_H

#include "atomic.h"
#include "private.h"

#include <lull/bulkhead.h>

int bulkhead_check(const struct lull_bulkhead_config *config, struct lull_bulkhead_config *settled,
                   struct lull_error *error);
void bulkhead_apply(struct lull_bulkhead *bulkhead, const struct lull_bulkhead_config *settled);
void bulkhead_reset(struct lull_bulkhead *bulkhead);

/* Goes in if there is room and nobody waits. */
static inline bool bulkhead_enter(struct lull_bulkhead *bulkhead) {
    uint64_t limit = load(&bulkhead->limit);
    uint64_t word = load(&bulkhead->word);
    do {
        if (word >= limit) /* full, or somebody waits (the upper half is not zero) */
            return false;
    } while (!swap_if(&bulkhead->word, &word, word + 1));
    return true;
}

/* Leaves if nobody waits. (Nobody is inside: a leave too many, which changes nothing.) */
static inline bool bulkhead_leave(struct lull_bulkhead *bulkhead) {
    uint64_t word = load(&bulkhead->word);
    do {
        if (word >> 32 != 0)
            return false;
        if (word == 0)
            return true;
    } while (!swap_if(&bulkhead->word, &word, word - 1));
    return true;
}

/* Hands the place to the first who waits. */
void bulkhead_hand_over(struct lull_bulkhead *bulkhead);

/* Joins the queue: WAIT, or GO if a place is free after all, or NO if the queue is full. */
enum lull_decision bulkhead_queue(struct lull_bulkhead *bulkhead, struct lull_waiter *waiter);

#endif
