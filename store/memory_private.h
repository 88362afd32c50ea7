/* What the files of the adapter in memory share. */
#ifndef STORE_MEMORY_PRIVATE_H
#define STORE_MEMORY_PRIVATE_H

#include "list.h"
#include "memory.h"
#include "ordered.h"
#include "places.h"

struct memory_event {
    struct message *message;
    uint32_t left; /* deliveries that are there */
    uint32_t span; /* ids of deliveries that were given */
};

struct memory_delivery {
    struct delivery_record
        record; /* without type; its trace is the log, the success that ended it included */
    struct memory_event *event;
    lull_duration previous;
};

struct memory_destination {
    struct destination_row row; /* its totals are kept up to date */
    bool removed;
    struct ordered streams[DELIVERY_STATE_COUNT]; /* deliveries by (at, id) */
};

struct memory_key {
    struct memory_key *next; /* in the order of their time */
    struct pair pair;        /* in `keys` */
    lull_time at;
    uint64_t fingerprint;
    int64_t event;
    size_t length;
    char text[];
};

struct memory_replay {
    struct replay_row row;
    lull_time until;
    int64_t *ids; /* NULL: all that were dead */
    uint32_t id_count, id_next;
};

struct store_memory {
    struct store_adapter adapter;
    const char *problem; /* NULL: it works */
    lull_time now;
    struct places places;
    struct ordered events, deliveries, destinations, replays; /* by (id, 0) */
    struct ordered keys;                                      /* by (hash, sequence) */
    struct memory_key *first_key, **last_key;
    int64_t last_destination, last_replay, last_sequence;
};

static inline struct pair by_id(int64_t id) {
    return (struct pair){id, 0};
}

void *memory_must(void *allocated);
void memory_add(struct ordered *map, struct pair pair, void *value);
struct memory_destination *memory_live(struct store_memory *self, int64_t id); /* NULL: none */
/* Into the stream of a state, out of the one it is in. Totals follow. */
void memory_enter(struct store_memory *self, struct memory_delivery *delivery,
                  enum delivery_state state, lull_time at);
void memory_leave(struct store_memory *self, struct memory_delivery *delivery);
/* With its event, if it is the last. */
void memory_delete(struct store_memory *self, struct memory_delivery *delivery);
void memory_delete_key(struct store_memory *self, struct memory_key *key);
void memory_delete_event(struct store_memory *self, struct memory_event *event);
void memory_delete_destination(struct store_memory *self, struct memory_destination *destination);
void memory_delete_replay(struct store_memory *self, struct memory_replay *replay);

int memory_accept(struct store_memory *self, struct store_accept *accept);
int memory_load(struct store_memory *self, struct store_load *load);
int memory_settle(struct store_memory *self, struct store_settle *settle);
int memory_clock(struct store_memory *self, struct store_clock *clock);
int memory_destinations(struct store_memory *self, struct store_destinations *destinations);
int memory_put(struct store_memory *self, struct store_put *put);
int memory_remove(struct store_memory *self, struct store_remove *remove);
int memory_get(struct store_memory *self, struct store_get *get);
int memory_list(struct store_memory *self, struct store_list *list);
int memory_drop(struct store_memory *self, struct store_drop *drop);
int memory_replay_start(struct store_memory *self, struct store_replay_start *start);
int memory_replay_step(struct store_memory *self, struct store_replay_step *order);
int memory_replay_end(struct store_memory *self, struct store_replay_end *end);
int memory_replays(struct store_memory *self, struct store_replays *replays);
int memory_tidy(struct store_memory *self, struct store_tidy *tidy);

#endif
