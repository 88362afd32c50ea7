/* LIST, for any adapter: a walk over streams (a destination's deliveries of one state), destination by
 * destination in the order of their ids, state by state, as many as a page may cost. Or, for all states, backwards
 * over all deliveries. */
#ifndef STORE_LIST_H
#define STORE_LIST_H

#include "adapter.h"

/* Rows of one stream, in its order, beyond `from`. */
struct list_stream {
    int64_t destination;
    enum delivery_state state;
    struct place from;
    uint32_t room;
    struct delivery_record *records; /* room for so many */
    uint32_t count;                  /* out */
    bool more;                       /* out: there are further ones */
};

/* Deliveries of a destination (0: of all), by their ids, backwards from below `from`. */
struct list_newest {
    int64_t destination;
    int64_t from;
    uint32_t room, scan; /* so many at most are given, and looked at */
    struct delivery_record *records;
    uint32_t count;  /* out */
    int64_t reached; /* out: the last one looked at; 0: there are no further ones */
};

struct list_source {
    int64_t (*destination_after)(void *adapter, int64_t id);  /* the next one; 0: none */
    int (*read)(void *adapter, struct list_stream *stream);   /* LULL_OK or LULL_ESYSTEM */
    int (*newest)(void *adapter, struct list_newest *newest); /* the same */
    void *adapter;
};

/* Delivered and dead are told newest first. */
static inline bool list_backwards(enum delivery_state state) {
    return state >= DELIVERY_DELIVERED;
}

int list_page(struct store_list *list, const struct list_source *source);

#endif
