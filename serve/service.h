/* What the HTTP interface (api/) may ask of the running service. All of it is called on a worker's thread, with that worker, from within an
 * exchange's handler or a `done`. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include "config/serve.h"
#include "engine/engine.h"
#include "net/inbox.h"
#include "registry.h"

struct worker;

/* The configuration in force; good until the handler returns. */
const struct serve_config *service_config(struct worker *worker);
struct registry *service_registry(struct worker *worker);
/* The store, through this worker: `done` is called on its thread. */
struct store_port *service_store(struct worker *worker);
/* Nanoseconds since 1970, never running backwards: the engine's and the store's clock. */
lull_time service_now(struct worker *worker);
/* False: `why` says what is wrong ("the store cannot write: disk full", "shutting down"). */
bool service_ready(struct worker *worker, char *why, size_t size);

/* Figures of the whole process, for /metrics. */
struct service_figures {
    lull_time started;
    bool store_failing;
    uint64_t store_transactions, store_requests;
    uint64_t alerts[4]; /* told, by bit of enum alert_kind */
    uint64_t reloads, reloads_failed;
    uint32_t workers;
};
void service_figures(struct worker *worker, struct service_figures *figures);

/* A change to a destination: told to the store, then to its lane (on the thread whose it is), then to the registry; then `done`, on the
 * asker's thread. */
enum change_kind {
    CHANGE_CREATE, /* row and settings; row.id is set. STORE_EXISTS */
    CHANGE_UPDATE, /* row (its id set) and settings */
    CHANGE_STATE,  /* row.id and row.state: pause, resume */
    CHANGE_REMOVE, /* row.id, force. STORE_NOT_EMPTY */
};

enum { CHANGE_CONFLICT = -110 };

struct change {
    enum change_kind kind;
    struct destination_row row;                  /* texts are borrowed until done */
    const struct destination_settings *settings; /* borrowed until done */
    bool force;
    /* An update that was made from this version is refused (CHANGE_CONFLICT) if it is no longer the newest. NULL: whatever it is. Borrowed. */
    const struct destination *base;
    int result;             /* LULL_OK; or as the store says; STORE_ABSENT */
    uint64_t pending, dead; /* STORE_NOT_EMPTY */
    void (*done)(struct change *change);
    void *owner; /* the asker's */
    /* Private from here on. */
    struct worker *asker;
    enum destination_state state_before;
    union {
        struct store_put put;
        struct store_clock clock;
        struct store_remove remove;
    } store;
    struct letter letter;
};

void service_change(struct worker *worker, struct change *change);

/* The store has said yes; the lane is to know. */
void service_replay_started(struct worker *worker, const struct replay_row *row);
void service_replay_cancelled(struct worker *worker, const struct replay_row *row);
void service_dropped(struct worker *worker, int64_t destination, uint32_t count);

#endif
