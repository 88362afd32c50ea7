/* The clockwork of a rolling window; part of other policies, not for use alone.
 *
 * A policy counts in counters that only grow. At the start of each slice their values are noted in a
 * ring; what happened in the window is then "now minus the value at the start of the oldest slice". Nothing
 * is ever cleared, so counting is one atomic add and needs no lock.
 *
 *   4 slices of 1 s, 10 events in each of the first five seconds: at 4.5 s the notes are 10, 20, 30, 40
 *   (starts of slices 1 to 4), the counter stands at 45, and the window holds 45 - 10 = 35.
 *
 * The window covers the current slice and the slices before it: at least (n-1)/n of its length,
 * never more than all of it.
 */
#ifndef LULL_WINDOW_H
#define LULL_WINDOW_H

#include <lull/base.h>

struct lull_window { /* private */
    LULL_ATOMIC(lull_time) slice_end;
    LULL_ATOMIC(lull_duration) slice;
    LULL_ATOMIC(uint32_t) slices;
    LULL_ATOMIC(uint32_t) position; /* of the current slice's note in the ring */
    LULL_ATOMIC(bool) moving;       /* one thread is noting a new slice; others go on */
};

#endif
