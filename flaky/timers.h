/* Moments at which something is due, in a heap: setting, moving and dropping one cost the
 * logarithm of how many there are.
 *
 * A timer lives inside what it wakes, and knows its place in the heap. Order is total: by
 * moment, then by when it was set.
 */
#ifndef FLAKY_TIMERS_H
#define FLAKY_TIMERS_H

#include <lull/base.h>

struct timer { /* all zero: not set */
    lull_time due;
    uint64_t sequence;
    size_t place; /* 1 …; 0: not in the heap */
    void (*fire)(struct timer *timer, void *context);
};

struct timers {          /* all zero: empty */
    struct timer **heap; /* from 1; borrowed */
    size_t count;
    size_t room;
    uint64_t sequence;
};

void timers_clean_up(struct timers *timers);

/* Due then, instead of when it was due before if it was set. LULL_NEVER drops it. */
void timer_set(struct timers *timers, struct timer *timer, lull_time due);
void timer_drop(struct timers *timers, struct timer *timer);
bool timer_is_set(const struct timer *timer);

/* LULL_NEVER: none is set. */
lull_time timers_next(const struct timers *timers);

/* Fires, in order, what is due at `now`. A timer that is set again from within `fire`, even for
 * now, waits for the next call. */
void timers_fire(struct timers *timers, lull_time now, void *context);

#endif
