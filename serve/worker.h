/* A worker: one thread, one event loop, with its own HTTP server, HTTP client, lanes and way to the store.
 *
 *   epoll ─▶ inbox: answers of the store, accepted events for lanes of ours, changes
 *         ─▶ client: attempts end
 *         ─▶ http: requests arrive, answers leave
 *         then engine_turn: what can be sent is sent; and one flush to the store: what this turn has written goes into one transaction
 *
 * A destination's lane belongs to worker id % workers. Nothing here is shared but what says so. */
#ifndef SERVE_WORKER_H
#define SERVE_WORKER_H

#include "net/client.h"
#include "net/server.h"
#include "service.h"
#include "store/thread.h"

struct service;

/* What a worker knows of a destination whose lane it has. */
struct slot {
    struct lane *lane; /* the engine's reference; NULL: none */
    lull_time told;    /* when its dead letters were told last */
    uint64_t untold;   /* dead letters since */
    uint32_t changing; /* changes of it that are with the store */
};

struct worker {
    struct service *service;
    uint32_t index;
    pthread_t thread;
    bool started;
    int epoll;
    int socket; /* listening, until the doors open; -1 */
    struct inbox inbox;
    struct store_client store;
    struct client *client;
    struct http_server *http; /* NULL until the doors open */
    struct engine engine;
    struct config_version *config;
    struct slot *slots; /* by destination's id */
    int64_t slot_room;
    lull_time now;
    lull_time chores; /* next */
    struct store_tidy tidy;
    bool tidying;
    bool draining, called_off;
    lull_time drain_end;      /* of patience; called off: of everything */
    LULL_ATOMIC(bool) quiet;  /* draining, and nothing is under way; read by the other workers */
    LULL_ATOMIC(bool) missed; /* set by the store thread: look on disk */
};

/* A configuration, counted: workers take up a new one when they are told. */
struct config_version {
    LULL_ATOMIC(uint32_t) references;
    struct serve_config config;
};
struct config_version *config_share(struct config_version *version);
void config_release(struct config_version *version);

LULL_MUST_USE int worker_init(struct worker *worker, struct service *service, uint32_t index,
                              struct config_version *config, int socket, struct problem *problem);
void worker_clean_up(struct worker *worker);
LULL_MUST_USE int worker_start(struct worker *worker);

/* A lane for a destination, on its own worker. Before the threads run, or on that worker's thread. LULL_ENOMEM, LULL_EINVAL. */
LULL_MUST_USE int worker_add_lane(struct worker *worker, const struct destination_row *row,
                                  const struct destination_settings *settings);
struct lane *worker_lane(const struct worker *worker, int64_t destination);

/* change.c */
struct target *target_of(const struct destination_row *row,
                         const struct destination_settings *settings);
/* alerts.c */
void alerts_tell(void *context, const struct news *news);
void alerts_chores(struct worker *worker);

#endif
