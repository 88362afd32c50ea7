/* A heap of lanes by the time they can next do something; equal times by the destination's id. */
#ifndef ENGINE_HEAP_H
#define ENGINE_HEAP_H

#include <lull/base.h>

struct lane;

struct heap {
    struct lane **lanes;
    uint32_t count, room;
};

void heap_clean_up(struct heap *heap);
LULL_MUST_USE int heap_add(struct heap *heap, struct lane *lane); /* LULL_ENOMEM */
/* Its `wake` has changed. It is in. */
void heap_move(struct heap *heap, struct lane *lane);
void heap_remove(struct heap *heap, struct lane *lane); /* fine if it is not in */
struct lane *heap_first(const struct heap *heap);       /* NULL: empty */

#endif
