/* For the guard and the budget: the bucket's fast path, inlined, and its check. */
#ifndef LULL_LIB_BUCKET_H
#define LULL_LIB_BUCKET_H

#include "atomic.h"
#include "private.h"
#include "saturate.h"

#include <lull/bucket.h>

int bucket_check(const struct lull_bucket_config *config, struct lull_bucket_config *settled,
                 struct lull_error *error);
void bucket_reset(struct lull_bucket *bucket); /* full */
void bucket_apply(struct lull_bucket *bucket, const struct lull_bucket_config *settled);

/* Takes `cost` nanoseconds' worth of tokens: true, or false and *due is when they will be there. */
static inline bool bucket_take(struct lull_bucket *bucket, lull_duration cost, lull_time now,
                               lull_time *due) {
    lull_duration depth = load(&bucket->depth);
    lull_time full_at = load(&bucket->full_at);
    for (;;) {
        lull_time next = add_saturated(most(full_at, now), cost);
        if (subtract_saturated(next, now) > depth) {
            add(&bucket->refused, 1);
            *due = cost > depth ? LULL_NEVER : next - depth;
            return false;
        }
        if (atomic_compare_exchange_weak_explicit(&bucket->full_at, &full_at, next,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
}

#endif
