/* Bulkhead: at most `limit` calls at once, at most `queue` waiting, first come first served.
 *
 * A slow destination then holds at most its own share of the caller. The counter of calls inside and waiting
 * is one atomic word. Nobody overtakes: while somebody waits, a newcomer does not get in.
 *
 *   limit 2, queue 1:  A and B enter, C waits, D is refused at once. A leaves: its place is C's, and
 *                      C is woken.
 *
 * Waiting does not block: a waiter is a node in the caller's memory with a `wake` function, called when a
 * place has been handed to it.
 *
 *   struct lull_waiter w = { .wake = post_to_my_loop };
 *   switch (lull_bulkhead_enter(&b, &w).decision) {
 *   case LULL_GO:   … inside …
 *   case LULL_WAIT: … later, woken or out of patience:
 *                   if (lull_bulkhead_settle(&b, &w)) … inside, else not and no longer queued
 *   case LULL_NO:   … full …
 *   }
 *
 * Locking: entering and leaving take none. Only the list of waiters has one (a spin lock around a few
 * pointer moves), touched when somebody waits. `wake` runs with it held: signal and return, call nothing
 * of lull there. Every function may be called from any thread.
 */
#ifndef LULL_BULKHEAD_H
#define LULL_BULKHEAD_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_BULKHEAD_LIMIT 30
#define LULL_BULKHEAD_QUEUE 20
#define LULL_BULKHEAD_MAX 1000000

struct lull_bulkhead_config {
    int32_t limit; /* 1 … 1,000,000 */
    int32_t queue; /* 1 … 1,000,000; LULL_NONE: nobody waits */
};

struct lull_waiter {
    void (*wake)(struct lull_waiter *waiter); /* may be NULL if you poll lull_bulkhead_settle */
    void *context;                            /* yours */
    struct lull_waiter *next, *previous;      /* private */
    int state;                                /* private */
};

struct lull_bulkhead {          /* private */
    LULL_ATOMIC(uint64_t) word; /* waiting << 32 | inside */
    LULL_ATOMIC(uint32_t) limit, queue;
    LULL_ATOMIC(uint64_t) refused;
    LULL_ATOMIC(bool) locked; /* guards the list */
    struct lull_waiter *first, *last;
};

struct lull_bulkhead_stats {
    uint32_t limit, inside, waiting;
    uint64_t refused; /* since init */
};

LULL_MUST_USE LULL_API int lull_bulkhead_init(struct lull_bulkhead *bulkhead,
                                              const struct lull_bulkhead_config *config,
                                              struct lull_error *error);
/* New bounds. A raised limit lets waiters in at once; under a lowered one calls leave until it holds. */
LULL_MUST_USE LULL_API int lull_bulkhead_configure(struct lull_bulkhead *bulkhead,
                                                   const struct lull_bulkhead_config *config,
                                                   struct lull_error *error);

/* GO: inside; owes one lull_bulkhead_leave. WAIT: queued (only with a waiter, which stays yours and must stay
 * where it is); owes one lull_bulkhead_settle. NO: full; a place may become free at any moment, so `at` is 0. */
LULL_MUST_USE LULL_API struct lull_verdict lull_bulkhead_enter(struct lull_bulkhead *bulkhead,
                                                               struct lull_waiter *waiter);

/* Ends the waiting: true if a place was handed over, else the waiter is taken off the queue. */
LULL_MUST_USE LULL_API bool lull_bulkhead_settle(struct lull_bulkhead *bulkhead,
                                                 struct lull_waiter *waiter);

/* Leaves; the place goes to the first waiter, if there is one. */
LULL_API void lull_bulkhead_leave(struct lull_bulkhead *bulkhead);

LULL_API struct lull_bulkhead_stats lull_bulkhead_snapshot(const struct lull_bulkhead *bulkhead);

#ifdef __cplusplus
}
#endif
#endif
