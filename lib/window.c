#include "window.h"

#include "saturate.h"

void window_init(struct lull_window *window, lull_duration length, uint32_t slices) {
    store(&window->slice_end, INT64_MIN); /* no slice has begun */
    store(&window->slices, slices);
    store(&window->position, 0);
    store(&window->moving, false);
    window_resize(window, length);
}

void window_resize(struct lull_window *window, lull_duration length) {
    store(&window->slice, most(length / load(&window->slices), 1));
}

/* How many slices have begun by now, and when the last of them ends. */
static uint64_t slices_begun(const struct lull_window *window, lull_time now, lull_time *end) {
    lull_time slice_end = load(&window->slice_end);
    lull_duration slice = load(&window->slice);
    if (slice_end == INT64_MIN) {
        *end = add_saturated(now, slice);
        return 0; /* the first slice: its notes are the zeros of init */
    }
    /* Unsigned, because from one end of time to the other is more than INT64_MAX. */
    uint64_t past = ((uint64_t)now - (uint64_t)slice_end) / (uint64_t)slice;
    *end = add_saturated((lull_time)((uint64_t)slice_end + past * (uint64_t)slice), slice);
    return past + 1;
}

/* The next place in the ring. */
static uint32_t after(uint32_t position, uint32_t slices) {
    return position + 1 < slices ? position + 1 : 0;
}

void window_move(struct lull_window *window, lull_time now, const _Atomic(uint64_t) *counters,
                 uint32_t count, _Atomic(uint64_t) *notes, _Atomic(uint64_t) *oldest) {
    if (!try_lock(&window->moving))
        return;
    if (window_due(window, now)) {
        lull_time end;
        uint32_t slices = load(&window->slices);
        uint32_t position = load(&window->position);
        uint64_t begun = slices_begun(window, now, &end);
        for (uint64_t i = 0; i < begun && i < slices; i++) {
            position = after(position, slices);
            for (uint32_t k = 0; k < count; k++)
                store(&notes[position * count + k], load(&counters[k]));
        }
        /* The slice after the current one in the ring is the oldest in the window. */
        uint32_t first = after(position, slices);
        for (uint32_t k = 0; k < count; k++)
            store(&oldest[k], load(&notes[first * count + k]));
        store(&window->position, position);
        store(&window->slice_end, end);
    }
    unlock(&window->moving);
}
