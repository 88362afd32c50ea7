/* A store's adapter: the same requests as engine/store.h, carried out at once, by the calling thread.
 *
 *   struct store_adapter *adapter = …;                      store_memory_new(), store_sqlite_open(…)
 *   adapter->run(adapter, &accept.request, now);            accept → load → settle …, linked by `next`
 *   adapter->destroy(adapter);
 *
 * A list is one transaction: its requests are carried out in order, then all is committed with one
 * sync of the disk. A request that fails by itself (STORE_ABSENT, …) leaves the others alone. If the
 * transaction fails, it has not happened: `run` and every request say LULL_ESYSTEM, nothing is left in
 * the requests for the asker to free, and `problem` says why. The next run may do better.
 *
 * `now` is wall time. It may stand still or step back; ids and places go forward all the same.
 *
 * One thread at a time. store/thread.h makes the port of engine/store.h out of an adapter. */
#ifndef STORE_ADAPTER_H
#define STORE_ADAPTER_H

#include "store.h"

struct store_adapter {
    int (*run)(struct store_adapter *adapter, struct store_request *list, lull_time now);
    /* Why the last run failed: a sentence, valid until the next. */
    const char *(*problem)(const struct store_adapter *adapter);
    void (*destroy)(struct store_adapter *adapter);
};

/* How much of a page of LIST may be spent on streams without rows. */
#define STORE_LIST_STREAMS 256
/* Deliveries looked at for one page of LIST that goes by their ids. */
#define STORE_LIST_SCAN 10000
/* Replays told of in one REPLAYS. */
#define STORE_REPLAYS_TOLD 1000

void store_load_clean_up(
    struct store_load *load); /* releases the messages; the rows stay the asker's */
void store_destinations_clean_up(struct store_destinations *destinations);
void store_list_clean_up(struct store_list *list);
void store_replays_clean_up(struct store_replays *replays);

/* The request ends so, with nothing in its outputs: what was there is freed. */
void store_request_fail(struct store_request *request, int result);

/* The request as its own kind. */
#define STORE_AS(type, pointer) ((struct type *)(void *)(pointer))

#endif
