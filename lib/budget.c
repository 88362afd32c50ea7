#include "budget.h"

#include "bucket.h"
#include "check.h"

/* Spending is counted in fractions of a success: 2^-20. */
#define FRACTION_BITS 20

int budget_check(const struct lull_budget_config *config, struct lull_budget_config *settled,
                 struct lull_error *error) {
    struct lull_budget_config c = config != NULL ? *config : (struct lull_budget_config){0};
    if (c.ratio == 0)
        c.ratio = LULL_BUDGET_RATIO;
    if (c.window == 0)
        c.window = LULL_BUDGET_WINDOW;
    if (c.cap_seconds == 0)
        c.cap_seconds = LULL_BUDGET_CAP_SECONDS;
    if (c.floor == 0)
        c.floor = LULL_BUDGET_FLOOR;
    if (c.ratio != LULL_NONE &&
        check_number(error, "budget.ratio", c.ratio, 0.000001, 1000) != LULL_OK)
        return LULL_EINVAL;
    if (check_duration(error, "budget.window", c.window, 10 * LULL_MICROSECOND, LULL_DAY) !=
        LULL_OK)
        return LULL_EINVAL;
    if (c.cap_seconds != LULL_NONE &&
        check_number(error, "budget.cap_seconds", c.cap_seconds, 1e-9, 86400) != LULL_OK)
        return LULL_EINVAL;
    if (c.floor != LULL_NONE &&
        check_integer(error, "budget.floor", c.floor, 1, 1000000) != LULL_OK)
        return LULL_EINVAL;
    *settled = c;
    return LULL_OK;
}

void budget_apply(struct lull_budget *budget, const struct lull_budget_config *settled) {
    double price = (double)(UINT64_C(1) << FRACTION_BITS) / settled->ratio + 0.5;
    store(&budget->price, settled->ratio == LULL_NONE ? 0 : (uint64_t)price);
    /* cap_seconds × (the window's earnings ÷ its seconds), as a share of those earnings */
    double window_seconds = (double)settled->window / (double)LULL_SECOND;
    bool capped = settled->cap_seconds != LULL_NONE;
    store(&budget->cap_share, capped ? settled->cap_seconds / window_seconds : 1);
    window_resize(&budget->window, settled->window);
    store(&budget->has_floor, settled->floor != LULL_NONE);
    if (settled->floor != LULL_NONE) {
        struct lull_bucket_config floor = {
            .capacity = settled->floor, .rate = settled->floor, .per = LULL_SECOND};
        bucket_apply(&budget->floor, &floor);
    }
}

/* An empty balance. */
void budget_reset(struct lull_budget *budget, lull_duration window) {
    store(&budget->earned, 0);
    store(&budget->spent, 0);
    store(&budget->expired, 0);
    for (uint32_t i = 0; i < LULL_BUDGET_SLICES; i++)
        store(&budget->starts[i], 0);
    window_init(&budget->window, window, LULL_BUDGET_SLICES);
    bucket_reset(&budget->floor);
    store(&budget->withdrawn, 0);
    store(&budget->refused, 0);
}

int lull_budget_init(struct lull_budget *budget, const struct lull_budget_config *config,
                     struct lull_error *error) {
    struct lull_budget_config settled;
    int result = budget_check(config, &settled, error);
    if (result == LULL_OK) {
        budget_reset(budget, settled.window);
        budget_apply(budget, &settled);
    }
    return result;
}

int lull_budget_configure(struct lull_budget *budget, const struct lull_budget_config *config,
                          struct lull_error *error) {
    struct lull_budget_config settled;
    int result = budget_check(config, &settled, error);
    if (result == LULL_OK)
        budget_apply(budget, &settled);
    return result;
}

void lull_budget_deposit(struct lull_budget *budget, lull_time now) {
    budget_deposit(budget, now);
}

/* Counters wrap round after 2^64, so they are compared by their difference. */
static uint64_t later(uint64_t a, uint64_t b) {
    return (int64_t)(a - b) > 0 ? a : b;
}

/* `spent`, with what has expired or is over the cap counted as spent. */
static uint64_t gone(const struct lull_budget *budget, uint64_t spent, uint64_t earned) {
    uint64_t expired = load(&budget->expired);
    uint64_t in_window = earned - expired;
    double cap = (double)in_window * load(&budget->cap_share) * (1 << FRACTION_BITS);
    uint64_t least_gone = expired << FRACTION_BITS;
    if (load(&budget->cap_share) < 1)
        least_gone = (earned << FRACTION_BITS) - (uint64_t)cap;
    return later(spent, least_gone);
}

bool lull_budget_withdraw(struct lull_budget *budget, lull_time now) {
    budget_move(budget, now);
    uint64_t price = load(&budget->price);
    uint64_t spent = load(&budget->spent);
    while (price > 0) {
        uint64_t earned = load(&budget->earned);
        uint64_t after = gone(budget, spent, earned) + price;
        if ((int64_t)((earned << FRACTION_BITS) - after) < 0)
            break;
        if (swap_if(&budget->spent, &spent, after)) {
            add(&budget->withdrawn, 1);
            return true;
        }
    }
    lull_time due;
    if (load(&budget->has_floor) &&
        bucket_take(&budget->floor, load(&budget->floor.interval), now, &due)) {
        add(&budget->withdrawn, 1);
        return true;
    }
    add(&budget->refused, 1);
    return false;
}

struct lull_budget_stats lull_budget_snapshot(struct lull_budget *budget, lull_time now) {
    budget_move(budget, now);
    uint64_t earned = load(&budget->earned), price = load(&budget->price);
    uint64_t spent = gone(budget, load(&budget->spent), earned);
    int64_t balance = (int64_t)((earned << FRACTION_BITS) - spent);
    double tokens = price > 0 ? (double)most(balance, 0) / (double)price : 0;
    if (load(&budget->has_floor))
        tokens += (double)lull_bucket_snapshot(&budget->floor, now).tokens;
    return (struct lull_budget_stats){
        .tokens = tokens,
        .successes = earned,
        .withdrawn = load(&budget->withdrawn),
        .refused = load(&budget->refused),
    };
}
