/* The rolling window's moves; see lull/window.h for the model. */
#ifndef LULL_LIB_WINDOW_H
#define LULL_LIB_WINDOW_H

#include "atomic.h"
#include "private.h"

#include <lull/window.h>

void window_init(struct lull_window *window, lull_duration length, uint32_t slices);

/* A new length, from the next slice on. */
void window_resize(struct lull_window *window, lull_duration length);

/* Is it time for a new slice? Ask before counting. */
static inline bool window_due(const struct lull_window *window, lull_time now) {
    return now >= load(&window->slice_end);
}

/* Begins the slices that are due: notes the `count` counters in `notes` (slices × count words), and leaves in
 * `oldest` their values when the window now begins. If another thread is at it, does nothing. */
void window_move(struct lull_window *window, lull_time now, const _Atomic(uint64_t) *counters,
                 uint32_t count, _Atomic(uint64_t) *notes, _Atomic(uint64_t) *oldest);

#endif
