#include "heap.h"

#include "lane.h"

#include <stdlib.h>

/* A lane's `place_in_heap` is its index + 1; 0: not in. */

static bool before(const struct lane *a, const struct lane *b) {
    return a->wake != b->wake ? a->wake < b->wake : a->destination < b->destination;
}

static void put(struct heap *heap, uint32_t index, struct lane *lane) {
    heap->lanes[index] = lane;
    lane->place_in_heap = index + 1;
}

static void rise(struct heap *heap, uint32_t index, struct lane *lane) {
    while (index > 0 && before(lane, heap->lanes[(index - 1) / 2])) {
        put(heap, index, heap->lanes[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, lane);
}

static void sink(struct heap *heap, uint32_t index, struct lane *lane) {
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(heap->lanes[child + 1], heap->lanes[child]))
            child++;
        if (before(lane, heap->lanes[child]))
            break;
        put(heap, index, heap->lanes[child]);
        index = child;
    }
    put(heap, index, lane);
}

static void settle(struct heap *heap, uint32_t index, struct lane *lane) {
    if (index > 0 && before(lane, heap->lanes[(index - 1) / 2]))
        rise(heap, index, lane);
    else
        sink(heap, index, lane);
}

void heap_move(struct heap *heap, struct lane *lane) {
    settle(heap, lane->place_in_heap - 1, lane);
}

int heap_add(struct heap *heap, struct lane *lane) {
    if (heap->count == heap->room) {
        uint32_t room = heap->room > 0 ? 2 * heap->room : 64;
        struct lane **lanes = reallocarray(heap->lanes, room, sizeof(struct lane *));
        if (lanes == NULL)
            return LULL_ENOMEM;
        heap->lanes = lanes;
        heap->room = room;
    }
    rise(heap, heap->count++, lane);
    return LULL_OK;
}

void heap_remove(struct heap *heap, struct lane *lane) {
    if (lane->place_in_heap == 0)
        return;
    uint32_t index = lane->place_in_heap - 1;
    struct lane *last = heap->lanes[--heap->count];
    lane->place_in_heap = 0;
    if (last != lane)
        settle(heap, index, last);
}

struct lane *heap_first(const struct heap *heap) {
    return heap->count > 0 ? heap->lanes[0] : NULL;
}

void heap_clean_up(struct heap *heap) {
    free(heap->lanes);
    *heap = (struct heap){0};
}
