#include "queue.h"

#include <stdlib.h>
#include <string.h>

#define BUCKET_SHIFT 20 /* 2^20 ns */
#define RING_MASK (QUEUE_BUCKETS - 1)

static bool before(const struct event *a, const struct event *b) {
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static bool append(struct events *events, const struct event *event) {
    if (events->count == events->room) {
        uint32_t room = events->room > 0 ? 2 * events->room : 16;
        struct event *items = realloc(events->items, room * sizeof *items);
        if (items == NULL)
            return false;
        events->items = items;
        events->room = room;
    }
    events->items[events->count++] = *event;
    return true;
}

static bool heap_push(struct events *heap, const struct event *event) {
    if (!append(heap, event))
        return false;
    struct event *items = heap->items;
    uint32_t at = heap->count - 1;
    while (at > 0 && before(event, &items[(at - 1) / 2])) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = *event;
    return true;
}

static struct event heap_pop(struct events *heap) {
    struct event *items = heap->items;
    struct event top = items[0], last = items[--heap->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&items[child + 1], &items[child]))
            child++;
        if (!before(&items[child], &last))
            break;
        items[at] = items[child];
        at = child;
    }
    items[at] = last;
    return top;
}

void queue_init(struct queue *queue) {
    memset(queue, 0, sizeof *queue);
}

void queue_clean_up(struct queue *queue) {
    free(queue->near.items);
    free(queue->far.items);
    for (int i = 0; i < QUEUE_BUCKETS; i++)
        free(queue->buckets[i].items);
}

void queue_push(struct queue *queue, struct event event) {
    event.number = queue->pushed++;
    int64_t bucket = event.at >> BUCKET_SHIFT;
    bool kept;
    if (bucket <= queue->current) {
        kept = heap_push(&queue->near, &event);
    } else if (bucket - queue->current < QUEUE_BUCKETS) {
        uint32_t slot = (uint32_t)bucket & RING_MASK;
        kept = append(&queue->buckets[slot], &event);
        queue->filled[slot / 64] |= UINT64_C(1) << (slot % 64);
    } else {
        kept = heap_push(&queue->far, &event);
    }
    if (!kept)
        queue->failed = true;
}

/* The next bucket of the ring that holds something, or INT64_MAX. */
static int64_t next_filled(const struct queue *queue) {
    int64_t bucket = queue->current + 1, end = queue->current + QUEUE_BUCKETS;
    while (bucket < end) {
        uint32_t slot = (uint32_t)bucket & RING_MASK;
        uint64_t rest = queue->filled[slot / 64] >> (slot % 64);
        if (rest != 0) {
            bucket += __builtin_ctzll(rest);
            return bucket < end ? bucket : INT64_MAX;
        }
        bucket += 64 - slot % 64;
    }
    return INT64_MAX;
}

/* Moves on to the next bucket that has events; false if there are none at all. */
static bool advance(struct queue *queue) {
    int64_t next = next_filled(queue);
    if (queue->far.count > 0 && queue->far.items[0].at >> BUCKET_SHIFT < next)
        next = queue->far.items[0].at >> BUCKET_SHIFT;
    if (next == INT64_MAX)
        return false;
    queue->current = next;
    uint32_t slot = (uint32_t)next & RING_MASK;
    if (queue->filled[slot / 64] >> (slot % 64) & 1) {
        struct events *bucket = &queue->buckets[slot];
        for (uint32_t i = 0; i < bucket->count; i++)
            if (!heap_push(&queue->near, &bucket->items[i]))
                queue->failed = true;
        bucket->count = 0;
        queue->filled[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    }
    while (queue->far.count > 0 && queue->far.items[0].at >> BUCKET_SHIFT <= next) {
        struct event event = heap_pop(&queue->far);
        if (!heap_push(&queue->near, &event))
            queue->failed = true;
    }
    return true;
}

bool queue_pop(struct queue *queue, struct event *event) {
    while (queue->near.count == 0)
        if (!advance(queue))
            return false;
    *event = heap_pop(&queue->near);
    return true;
}
