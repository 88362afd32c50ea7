/* For the guard: the deposit, inlined, and the check. */
#ifndef LULL_LIB_BUDGET_H
#define LULL_LIB_BUDGET_H

#include "private.h"
#include "window.h"

#include <lull/budget.h>

int budget_check(const struct lull_budget_config *config, struct lull_budget_config *settled,
                 struct lull_error *error);
void budget_apply(struct lull_budget *budget, const struct lull_budget_config *settled);
void budget_reset(struct lull_budget *budget, lull_duration window);

static inline void budget_move(struct lull_budget *budget, lull_time now) {
    if (window_due(&budget->window, now))
        window_move(&budget->window, now, &budget->earned, 1, budget->starts, &budget->expired);
}

/* How long until asking again may help: the floor's next token, or else a slice of the window. */
static inline lull_duration budget_pause(const struct lull_budget *budget) {
    if (load(&budget->has_floor))
        return load(&budget->floor.interval);
    return LULL_BUDGET_WINDOW / LULL_BUDGET_SLICES;
}

static inline void budget_deposit(struct lull_budget *budget, lull_time now) {
    budget_move(budget, now);
    /* Release: the guard counts a retry before its success. */
    atomic_fetch_add_explicit(&budget->earned, 1, memory_order_release);
}

#endif
