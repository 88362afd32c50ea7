#include "queue.h"

#include <stdlib.h>
#include <string.h>

#define FINE_SHIFT 16   /* 2^16 ns */
#define COARSE_SHIFT 30 /* QUEUE_FINE of them */
#define NOTHING UINT32_MAX

struct node {
    struct event event;
    uint32_t next;
};

/* ---- the heap ---- */

static bool before(const struct event *a, const struct event *b) {
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static void heap_push(struct queue *queue, const struct event *event) {
    if (queue->heap_count == queue->heap_room) {
        uint32_t room = queue->heap_room > 0 ? 2 * queue->heap_room : 64;
        struct event *heap = realloc(queue->heap, room * sizeof *heap);
        if (heap == NULL) {
            queue->failed = true;
            return;
        }
        queue->heap = heap;
        queue->heap_room = room;
    }
    struct event *heap = queue->heap;
    uint32_t at = queue->heap_count++;
    while (at > 0 && before(event, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = *event;
}

static struct event heap_pop(struct queue *queue) {
    struct event *heap = queue->heap;
    struct event top = heap[0], last = heap[--queue->heap_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= queue->heap_count)
            break;
        if (child + 1 < queue->heap_count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* ---- the wheels ---- */

static bool wheel_init(struct wheel *wheel, uint32_t size) {
    wheel->size = size;
    wheel->slots = calloc(size, sizeof *wheel->slots);
    wheel->filled = calloc(size / 64, sizeof *wheel->filled);
    return wheel->slots != NULL && wheel->filled != NULL;
}

static void wheel_put(struct wheel *wheel, struct node *nodes, uint32_t node, int64_t number) {
    uint32_t slot = (uint32_t)number & (wheel->size - 1);
    uint64_t bit = UINT64_C(1) << (slot % 64);
    nodes[node].next = wheel->filled[slot / 64] & bit ? wheel->slots[slot] : NOTHING;
    wheel->slots[slot] = node;
    wheel->filled[slot / 64] |= bit;
}

/* Moves on to the next slot that holds something, before number `end`, and empties it: its first event, or NOTHING if there
 * is no such slot. */
static uint32_t wheel_next(struct wheel *wheel, int64_t end) {
    for (int64_t number = wheel->current + 1; number < end;) {
        uint32_t slot = (uint32_t)number & (wheel->size - 1);
        uint64_t rest = wheel->filled[slot / 64] >> (slot % 64);
        if (rest == 0) {
            number += 64 - slot % 64;
            continue;
        }
        number += __builtin_ctzll(rest);
        slot = (uint32_t)number & (wheel->size - 1);
        wheel->filled[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
        wheel->current = number;
        return wheel->slots[slot];
    }
    return NOTHING;
}

static uint32_t node_new(struct queue *queue) {
    uint32_t node = queue->free;
    if (node != NOTHING) {
        queue->free = queue->nodes[node].next;
        return node;
    }
    if (queue->used == queue->room) {
        uint32_t room = queue->room > 0 ? 2 * queue->room : 1024;
        struct node *nodes = realloc(queue->nodes, room * sizeof *nodes);
        if (nodes == NULL)
            return NOTHING;
        queue->nodes = nodes;
        queue->room = room;
    }
    return queue->used++;
}

/* ---- */

void queue_init(struct queue *queue) {
    memset(queue, 0, sizeof *queue);
    queue->free = NOTHING;
    bool fine = wheel_init(&queue->fine, QUEUE_FINE);
    bool coarse = wheel_init(&queue->coarse, QUEUE_COARSE);
    queue->failed = !fine || !coarse;
}

void queue_clean_up(struct queue *queue) {
    free(queue->fine.slots);
    free(queue->fine.filled);
    free(queue->coarse.slots);
    free(queue->coarse.filled);
    free(queue->nodes);
    free(queue->heap);
}

void queue_push(struct queue *queue, struct event event) {
    event.number = queue->pushed++;
    if (queue->failed)
        return;
    int64_t fine = event.at >> FINE_SHIFT, coarse = event.at >> COARSE_SHIFT;
    if (fine <= queue->fine.current) {
        heap_push(queue, &event);
        return;
    }
    uint32_t node = coarse < QUEUE_COARSE ? node_new(queue) : NOTHING;
    if (node == NOTHING) {
        queue->failed = true;
        return;
    }
    queue->nodes[node].event = event;
    if (coarse == queue->coarse.current)
        wheel_put(&queue->fine, queue->nodes, node, fine);
    else
        wheel_put(&queue->coarse, queue->nodes, node, coarse);
}

/* The events of the next fine slot of this second go into the heap; false if there is none. */
static bool next_slot(struct queue *queue) {
    int64_t end = (queue->coarse.current + 1) * QUEUE_FINE;
    uint32_t node = wheel_next(&queue->fine, end);
    if (node == NOTHING)
        return false;
    while (node != NOTHING) {
        uint32_t next = queue->nodes[node].next;
        __builtin_prefetch(&queue->nodes[next == NOTHING ? 0 : next]);
        heap_push(queue, &queue->nodes[node].event);
        queue->nodes[node].next = queue->free;
        queue->free = node;
        node = next;
    }
    return true;
}

/* The events of the next coarse slot are spread over the fine ones; false if there is none. */
static bool next_second(struct queue *queue) {
    uint32_t node = wheel_next(&queue->coarse, QUEUE_COARSE);
    if (node == NOTHING)
        return false;
    queue->fine.current = queue->coarse.current * QUEUE_FINE - 1;
    while (node != NOTHING) {
        uint32_t next = queue->nodes[node].next;
        wheel_put(&queue->fine, queue->nodes, node, queue->nodes[node].event.at >> FINE_SHIFT);
        node = next;
    }
    return true;
}

bool queue_pop(struct queue *queue, struct event *event) {
    while (queue->heap_count == 0)
        if (!next_slot(queue) && !next_second(queue))
            return false;
    *event = heap_pop(queue);
    return true;
}
