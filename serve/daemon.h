/* The whole service: the store's thread, the workers, and what they share. The main thread starts them, waits for signals, and ends them.
 *
 *   SIGHUP    reads the configuration again: destinations, policies, tokens, limits of bodies, retention, allowed addresses, alerts and log
 *             level take effect, without dropping a connection or a lane's state. `listen`, `store`, `workers`, `tls`, and limits of connections
 *             need a restart
 *   SIGTERM, SIGINT   drains: no new connections and attempts; those under way are finished, for at most shutdown.patience; then
 *             they are called off, and two seconds later the workers leave, whatever the store says */
#ifndef SERVE_DAEMON_H
#define SERVE_DAEMON_H

#include "worker.h"

struct service {
    struct registry *registry;
    struct store_adapter *adapter;
    struct store_thread *store;
    struct worker *workers;
    uint32_t worker_count;
    const char *config_file; /* NULL: none */
    lull_time started;
    LULL_ATOMIC(bool) stopping;
    LULL_ATOMIC(uint64_t) reloads, reloads_failed;
    LULL_ATOMIC(uint64_t) alerts[4];
};

static inline struct worker *owner_of(struct service *service, int64_t destination) {
    uint32_t workers = service->worker_count > 0 ? service->worker_count : 1;
    return &service->workers[(uint64_t)destination % workers];
}

struct daemon_options {
    const char *config_file;    /* NULL: none */
    const char *listen, *store; /* instead of the configuration's; NULL: the configuration's */
};

/* Runs until told to stop. The exit code. */
int daemon_run(const struct daemon_options *options);

bool worker_open_doors(struct worker *worker, struct problem *problem);

/* Makes the store agree with the destinations of the configuration, change by change, on the first worker's thread. Then `done`. */
void reconcile(struct worker *worker, void (*done)(struct worker *worker));

/* On the store's thread, after each transaction: accepted events go to the lanes that they are for. */
void hand_over(void *context, struct store_request *finished);

#endif
