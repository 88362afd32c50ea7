#include "timers.h"

#include <stdlib.h>

static bool before(const struct timer *one, const struct timer *other) {
    return one->due != other->due ? one->due < other->due : one->sequence < other->sequence;
}

static void put(struct timers *timers, struct timer *timer, size_t place) {
    timers->heap[place] = timer;
    timer->place = place;
}

static void sift_up(struct timers *timers, struct timer *timer, size_t place) {
    for (; place > 1 && before(timer, timers->heap[place / 2]); place /= 2)
        put(timers, timers->heap[place / 2], place);
    put(timers, timer, place);
}

static void sift_down(struct timers *timers, struct timer *timer, size_t place) {
    for (;;) {
        size_t child = 2 * place;
        if (child < timers->count && before(timers->heap[child + 1], timers->heap[child]))
            child++;
        if (child > timers->count || !before(timers->heap[child], timer))
            break;
        put(timers, timers->heap[child], place);
        place = child;
    }
    put(timers, timer, place);
}

/* There is nobody to answer to when memory is out; a server in tests had better say so and stop. */
static void make_room(struct timers *timers) {
    if (timers->count + 1 < timers->room)
        return;
    timers->room = timers->room > 0 ? 2 * timers->room : 64;
    timers->heap = reallocarray(timers->heap, timers->room,
                                sizeof timers->heap[0]); /* NOLINT(bugprone-sizeof-expression) */
    if (timers->heap == NULL)
        abort();
}

void timers_clean_up(struct timers *timers) {
    free(timers->heap);
    *timers = (struct timers){0};
}

bool timer_is_set(const struct timer *timer) {
    return timer->place != 0;
}

void timer_drop(struct timers *timers, struct timer *timer) {
    if (!timer_is_set(timer))
        return;
    size_t place = timer->place;
    struct timer *last = timers->heap[timers->count--];
    timer->place = 0;
    if (last == timer)
        return;
    if (place > 1 && before(last, timers->heap[place / 2]))
        sift_up(timers, last, place);
    else
        sift_down(timers, last, place);
}

void timer_set(struct timers *timers, struct timer *timer, lull_time due) {
    timer_drop(timers, timer);
    if (due == LULL_NEVER)
        return;
    make_room(timers);
    timer->due = due;
    timer->sequence = timers->sequence++;
    sift_up(timers, timer, ++timers->count);
}

lull_time timers_next(const struct timers *timers) {
    return timers->count > 0 ? timers->heap[1]->due : LULL_NEVER;
}

void timers_fire(struct timers *timers, lull_time now, void *context) {
    uint64_t end = timers->sequence; /* what is set from here on waits for the next call */
    while (timers->count > 0 && timers->heap[1]->due <= now && timers->heap[1]->sequence < end) {
        struct timer *timer = timers->heap[1];
        timer_drop(timers, timer);
        timer->fire(timer, context);
    }
}
