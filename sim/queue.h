/* The events to come, in the order (time, number): a total order, so a seed reproduces a run.
 *
 * Nearly all events are at most seconds away, so the near future is a ring of buckets of about a millisecond: adding to one is an append. The bucket
 * at hand is a heap, as is the far future. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <lull.h>

struct event {
    lull_time at;
    uint64_t number; /* given by queue_push */
    uint32_t kind;
    uint32_t subject, serial, extra; /* whom it is about */
};

struct events {
    struct event *items;
    uint32_t count, room;
};

#define QUEUE_BUCKETS 8192

struct queue {
    struct events near; /* heap: all up to the end of bucket `current` */
    struct events far;  /* heap: beyond the ring when pushed */
    struct events buckets[QUEUE_BUCKETS];
    uint64_t filled[QUEUE_BUCKETS / 64]; /* a bit per bucket that holds something */
    int64_t current;
    uint64_t pushed;
    bool failed; /* memory ran out; events were lost */
};

void queue_init(struct queue *queue);
void queue_clean_up(struct queue *queue);
void queue_push(struct queue *queue, struct event event);
/* The next event; false if there is none. */
bool queue_pop(struct queue *queue, struct event *event);

#endif
