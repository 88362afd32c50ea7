#include "bucket.h"

#include "check.h"

#define DEEPEST (100 * 365 * LULL_DAY)

int bucket_check(const struct lull_bucket_config *config, struct lull_bucket_config *settled,
                 struct lull_error *error) {
    struct lull_bucket_config c = config != NULL ? *config : (struct lull_bucket_config){0};
    if (c.capacity == 0)
        c.capacity = LULL_BUCKET_CAPACITY;
    if (c.rate == 0)
        c.rate = LULL_BUCKET_RATE;
    if (c.per == 0)
        c.per = LULL_BUCKET_PER;
    if (check_integer(error, "bucket.capacity", c.capacity, 1, INT64_MAX) != LULL_OK ||
        check_duration(error, "bucket.per", c.per, 1, LULL_DAY) != LULL_OK ||
        check_integer(error, "bucket.rate", c.rate, 1, c.per) != LULL_OK)
        return LULL_EINVAL;
    lull_duration interval = c.per / c.rate + (c.per % c.rate != 0);
    if (c.capacity > DEEPEST / interval)
        return invalid(error, "bucket.capacity",
                       "is %lld; at that rate it would take over 100 years to fill",
                       (long long)c.capacity);
    *settled = c;
    return LULL_OK;
}

void bucket_apply(struct lull_bucket *bucket, const struct lull_bucket_config *settled) {
    /* Rounded up, so that the rate is never exceeded. */
    lull_duration interval = settled->per / settled->rate + (settled->per % settled->rate != 0);
    store(&bucket->interval, interval);
    store(&bucket->depth, settled->capacity * interval);
}

void bucket_reset(struct lull_bucket *bucket) {
    store(&bucket->full_at, INT64_MIN);
    store(&bucket->refused, 0);
}

int lull_bucket_init(struct lull_bucket *bucket, const struct lull_bucket_config *config,
                     struct lull_error *error) {
    int result = lull_bucket_configure(bucket, config, error);
    if (result == LULL_OK)
        bucket_reset(bucket);
    return result;
}

int lull_bucket_configure(struct lull_bucket *bucket, const struct lull_bucket_config *config,
                          struct lull_error *error) {
    struct lull_bucket_config settled;
    int result = bucket_check(config, &settled, error);
    if (result == LULL_OK)
        bucket_apply(bucket, &settled);
    return result;
}

struct lull_verdict lull_bucket_take(struct lull_bucket *bucket, int64_t tokens, lull_time now) {
    lull_time due;
    lull_duration cost = multiply_saturated(most(tokens, 1), load(&bucket->interval));
    if (bucket_take(bucket, cost, now, &due))
        return (struct lull_verdict){LULL_GO, LULL_POLICY_BUCKET, LULL_REASON_NONE, now,
                                     LULL_NEVER};
    return (struct lull_verdict){LULL_NO, LULL_POLICY_BUCKET, LULL_REASON_NO_TOKEN, due, 0};
}

void lull_bucket_return(struct lull_bucket *bucket, int64_t tokens) {
    subtract(&bucket->full_at, multiply_saturated(tokens, load(&bucket->interval)));
}

struct lull_bucket_stats lull_bucket_snapshot(const struct lull_bucket *bucket, lull_time now) {
    lull_duration interval = load(&bucket->interval);
    lull_duration depth = load(&bucket->depth);
    lull_time full_at = most(load(&bucket->full_at), now);
    lull_duration free = most(subtract_saturated(depth, subtract_saturated(full_at, now)), 0);
    return (struct lull_bucket_stats){
        .capacity = depth / interval,
        .tokens = free / interval,
        .next_at = most(now, add_saturated(full_at, interval - depth)),
        .full_at = full_at,
        .refused = load(&bucket->refused),
    };
}
