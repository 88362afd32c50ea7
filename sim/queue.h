/* The events to come, in the order (time, number): a total order, so a seed reproduces a run.
 *
 * Two wheels: slots of about a second for the days ahead, and of about 65 µs for the second at hand. Adding an event is one
 * push on its slot's list; each is moved at most twice; only the few of the slot at hand are sorted, in a small heap. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <lull.h>

struct event {
    lull_time at;    /* not negative, less than 39 hours */
    uint64_t number; /* given by queue_push */
    uint32_t kind;
    uint32_t subject, serial, extra; /* whom it is about */
};

#define QUEUE_FINE 16384
#define QUEUE_COARSE 131072

struct wheel {
    uint32_t *slots;  /* the first event of each */
    uint64_t *filled; /* a bit per slot that holds something */
    uint32_t size;
    int64_t current; /* number of the slot at hand, from the beginning of time */
};

struct queue {
    struct wheel fine, coarse;
    struct node *nodes; /* events in slots, and the free ones */
    uint32_t used, room, free;
    struct event *heap; /* up to the end of the fine slot at hand */
    uint32_t heap_count, heap_room;
    uint64_t pushed;
    bool failed; /* memory ran out; events were lost */
};

void queue_init(struct queue *queue);
void queue_clean_up(struct queue *queue);
void queue_push(struct queue *queue, struct event event);
/* The next event; false if there is none. */
bool queue_pop(struct queue *queue, struct event *event);
/* What probably comes next, or NULL if nobody knows yet. */
static inline const struct event *queue_peek(const struct queue *queue) {
    return queue->heap_count > 0 ? &queue->heap[0] : NULL;
}

#endif
