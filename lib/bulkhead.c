/* The word counts those inside (low half) and those waiting (high half). The high half changes only under the lock,
 * together with the list; the low half by anyone, but never while somebody waits and a place is free: whoever
 * leaves then hands the place over under the lock, and the count stays. */
#include "bulkhead.h"

#include "check.h"

#define ONE_WAITING (UINT64_C(1) << 32)
#define INSIDE(word) ((uint32_t)(word))

enum { WAITER_IDLE, WAITER_QUEUED, WAITER_INSIDE };

int bulkhead_check(const struct lull_bulkhead_config *config, struct lull_bulkhead_config *settled,
                   struct lull_error *error) {
    struct lull_bulkhead_config c = config != NULL ? *config : (struct lull_bulkhead_config){0};
    if (c.limit == 0)
        c.limit = LULL_BULKHEAD_LIMIT;
    if (c.queue == 0)
        c.queue = LULL_BULKHEAD_QUEUE;
    if (check_integer(error, "bulkhead.limit", c.limit, 1, LULL_BULKHEAD_MAX) != LULL_OK)
        return LULL_EINVAL;
    if (c.queue == LULL_NONE)
        c.queue = 0;
    else if (check_integer(error, "bulkhead.queue", c.queue, 1, LULL_BULKHEAD_MAX) != LULL_OK)
        return LULL_EINVAL;
    *settled = c;
    return LULL_OK;
}

void bulkhead_reset(struct lull_bulkhead *bulkhead) {
    store(&bulkhead->word, 0);
    store(&bulkhead->limit, 0);
    store(&bulkhead->refused, 0);
    store(&bulkhead->locked, false);
    bulkhead->first = NULL;
    bulkhead->last = NULL;
}

/* ---- under the lock ---- */

static void append(struct lull_bulkhead *bulkhead, struct lull_waiter *waiter) {
    waiter->next = NULL;
    waiter->previous = bulkhead->last;
    if (bulkhead->last != NULL)
        bulkhead->last->next = waiter;
    else
        bulkhead->first = waiter;
    bulkhead->last = waiter;
    waiter->state = WAITER_QUEUED;
}

static void take_off(struct lull_bulkhead *bulkhead, struct lull_waiter *waiter) {
    if (waiter->previous != NULL)
        waiter->previous->next = waiter->next;
    else
        bulkhead->first = waiter->next;
    if (waiter->next != NULL)
        waiter->next->previous = waiter->previous;
    else
        bulkhead->last = waiter->previous;
}

static void let_in(struct lull_bulkhead *bulkhead, struct lull_waiter *waiter) {
    take_off(bulkhead, waiter);
    waiter->state = WAITER_INSIDE;
    if (waiter->wake != NULL)
        waiter->wake(waiter);
}

/* ---- */

void bulkhead_hand_over(struct lull_bulkhead *bulkhead) {
    spin_lock(&bulkhead->locked);
    struct lull_waiter *first = bulkhead->first;
    /* Under a lowered limit the place is closed instead of handed over. */
    bool room = INSIDE(load(&bulkhead->word)) <= load(&bulkhead->limit);
    if (first != NULL && room) {
        atomic_fetch_sub_explicit(&bulkhead->word, ONE_WAITING, memory_order_acq_rel);
        let_in(bulkhead, first);
    } else {
        atomic_fetch_sub_explicit(&bulkhead->word, 1, memory_order_acq_rel);
    }
    unlock(&bulkhead->locked);
}

enum lull_decision bulkhead_queue(struct lull_bulkhead *bulkhead, struct lull_waiter *waiter) {
    enum lull_decision decision = LULL_NO;
    spin_lock(&bulkhead->locked);
    uint64_t word = load(&bulkhead->word);
    for (;;) {
        /* A place may have become free since; with a swap of the whole word it cannot do so unseen. */
        bool free = word < load(&bulkhead->limit);
        if (!free && word >> 32 >= load(&bulkhead->queue))
            break;
        if (swap_if(&bulkhead->word, &word, free ? word + 1 : word + ONE_WAITING)) {
            decision = free ? LULL_GO : LULL_WAIT;
            break;
        }
    }
    if (decision == LULL_WAIT)
        append(bulkhead, waiter);
    unlock(&bulkhead->locked);
    return decision;
}

void bulkhead_apply(struct lull_bulkhead *bulkhead, const struct lull_bulkhead_config *settled) {
    spin_lock(&bulkhead->locked);
    store(&bulkhead->queue, (uint32_t)settled->queue);
    store(&bulkhead->limit, (uint32_t)settled->limit);
    while (bulkhead->first != NULL && INSIDE(load(&bulkhead->word)) < (uint32_t)settled->limit) {
        atomic_fetch_sub_explicit(&bulkhead->word, ONE_WAITING - 1, memory_order_acq_rel);
        let_in(bulkhead, bulkhead->first);
    }
    unlock(&bulkhead->locked);
}

int lull_bulkhead_init(struct lull_bulkhead *bulkhead, const struct lull_bulkhead_config *config,
                       struct lull_error *error) {
    struct lull_bulkhead_config settled;
    int result = bulkhead_check(config, &settled, error);
    if (result == LULL_OK) {
        bulkhead_reset(bulkhead);
        bulkhead_apply(bulkhead, &settled);
    }
    return result;
}

int lull_bulkhead_configure(struct lull_bulkhead *bulkhead,
                            const struct lull_bulkhead_config *config, struct lull_error *error) {
    struct lull_bulkhead_config settled;
    int result = bulkhead_check(config, &settled, error);
    if (result == LULL_OK)
        bulkhead_apply(bulkhead, &settled);
    return result;
}

/* A place may become free at any moment, so a refusal names no time. */
static struct lull_verdict answer(enum lull_decision decision, enum lull_reason reason) {
    return (struct lull_verdict){decision, LULL_POLICY_BULKHEAD, reason, 0,
                                 decision == LULL_GO ? LULL_NEVER : 0};
}

struct lull_verdict lull_bulkhead_enter(struct lull_bulkhead *bulkhead,
                                        struct lull_waiter *waiter) {
    if (bulkhead_enter(bulkhead))
        return answer(LULL_GO, LULL_REASON_NONE);
    enum lull_decision decision = waiter != NULL ? bulkhead_queue(bulkhead, waiter) : LULL_NO;
    if (decision != LULL_NO)
        return answer(decision, decision == LULL_WAIT ? LULL_REASON_QUEUED : LULL_REASON_NONE);
    add(&bulkhead->refused, 1);
    return answer(LULL_NO, LULL_REASON_FULL);
}

bool lull_bulkhead_settle(struct lull_bulkhead *bulkhead, struct lull_waiter *waiter) {
    spin_lock(&bulkhead->locked);
    bool inside = waiter->state == WAITER_INSIDE;
    if (waiter->state == WAITER_QUEUED) {
        take_off(bulkhead, waiter);
        atomic_fetch_sub_explicit(&bulkhead->word, ONE_WAITING, memory_order_acq_rel);
    }
    waiter->state = WAITER_IDLE;
    unlock(&bulkhead->locked);
    return inside;
}

void lull_bulkhead_leave(struct lull_bulkhead *bulkhead) {
    if (!bulkhead_leave(bulkhead))
        bulkhead_hand_over(bulkhead);
}

struct lull_bulkhead_stats lull_bulkhead_snapshot(const struct lull_bulkhead *bulkhead) {
    uint64_t word = load(&bulkhead->word);
    return (struct lull_bulkhead_stats){
        .limit = load(&bulkhead->limit),
        .inside = INSIDE(word),
        .waiting = (uint32_t)(word >> 32),
        .refused = load(&bulkhead->refused),
    };
}
