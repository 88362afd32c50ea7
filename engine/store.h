/* The store: a port. What must survive a crash is told to it, and it tells when it is safe.
 *
 * Everything is a request. The asker owns it, fills it in, submits it and does not touch it until `done` is called, on the asker's
 * thread. Requests of one asker take effect in the order submitted. `result` says how it went; on LULL_ESYSTEM nothing of the request
 * has happened (disk full, I/O error).
 *
 *   struct store_load *load = …;
 *   load->request = (struct store_request){.kind = STORE_LOAD, .done = loaded, .owner = lane};
 *   store->submit(store, &load->request);
 *
 * What is kept, at two levels: a row per destination, with the lane's clock and its totals; and a row per delivery, that is one event for
 * one destination. An event's payload is apart from both.
 *
 * A delivery is in one of four states. FRESH (never attempted in this run) and RETRY (attempted, to be tried again) are pending; each is a
 * stream of its own, in the order of `struct place`: due time, then id. Whether a pending delivery is being attempted right now is known
 * in memory only: after a crash it is simply pending.
 *
 *   FRESH ──▶ RETRY ──▶ RETRY …
 *     │         │
 *     └────┬────┘
 *          ├──▶ DELIVERED
 *          └──▶ DEAD ──replay──▶ FRESH, with its id and its history
 *
 * The store gives places to what it accepts and replays such that they come after every place that it has handed out or loaded
 * before (`until` of a load included). So a lane that remembers how far it has loaded never misses one. */
#ifndef ENGINE_STORE_H
#define ENGINE_STORE_H

#include "message.h"

#include <lull/classify.h>

#define DESTINATION_NAME_LONGEST 64
#define IDEMPOTENCY_KEY_LONGEST 255
#define IDEMPOTENCY_KEPT LULL_DAY
#define EXCERPT_LONGEST 1024
#define ERROR_LONGEST 200

enum delivery_state {
    DELIVERY_FRESH,
    DELIVERY_RETRY,
    DELIVERY_DELIVERED,
    DELIVERY_DEAD,
    DELIVERY_STATE_COUNT,
};

/* Where in its stream; a total order, for ids are unique. */
struct place {
    lull_time due;
    int64_t id;
};

static inline bool place_before(struct place a, struct place b) {
    return a.due != b.due ? a.due < b.due : a.id < b.id;
}

#define STORE_KIND_MAP(X)                                                                          \
    X(ACCEPT)                                                                                      \
    X(LOAD)                                                                                        \
    X(SETTLE)                                                                                      \
    X(CLOCK)                                                                                       \
    X(DESTINATIONS)                                                                                \
    X(PUT)                                                                                         \
    X(REMOVE)                                                                                      \
    X(GET)                                                                                         \
    X(LIST)                                                                                        \
    X(DROP)                                                                                        \
    X(REPLAY_START)                                                                                \
    X(REPLAY_STEP)                                                                                 \
    X(REPLAY_END)                                                                                  \
    X(REPLAYS)                                                                                     \
    X(TIDY)

enum store_kind {
#define LULL_X(name) STORE_##name,
    STORE_KIND_MAP(LULL_X)
#undef LULL_X
        STORE_KIND_COUNT
};

/* Beside LULL_OK, LULL_ESYSTEM and LULL_ENOMEM: */
enum {
    STORE_ABSENT = -100,   /* there is no such thing */
    STORE_EXISTS = -101,   /* there is one already */
    STORE_NOT_EMPTY = -102 /* the destination still has deliveries pending or dead */
};

struct store_request {
    enum store_kind kind;
    /* Cannot be given up: if the disk is full it is tried again until it is not. (Outcomes. An ingest, though, is refused.) */
    bool insistent;
    int result;
    void (*done)(struct store_request *request);
    void *owner; /* the asker's own */
    void *asker; /* where `done` is to be called; the adapter's matter */
    struct store_request *next;
};

struct store_port {
    void (*submit)(struct store_port *port, struct store_request *request);
};

/* ---- the walk of an event ---- */

enum accept_verdict {
    ACCEPT_NEW,
    ACCEPT_REPLAYED, /* the same under this key before: `id` is that one's */
    ACCEPT_MISMATCH, /* something else under this key before; not accepted */
};

struct accept_event {
    struct message *message; /* borrowed; its id and accepted time are set */
    const char *
        key; /* idempotency key, not terminated; NULL: none. Not kept if the event is for destinations that are all gone */
    size_t key_length;
    uint64_t fingerprint;        /* of all that must be the same under this key */
    uint32_t first, count;       /* its deliveries: those of the request from `first` on */
    enum accept_verdict verdict; /* out */
    int64_t id;                  /* out: the event's, new or from before */
};

struct accept_delivery {
    int64_t destination;
    struct place
        place; /* out; id 0: not accepted (the event was not new, or the destination is gone) */
};

/* Events become durable with their deliveries, FRESH and due at once. All or nothing. The k-th delivery of an event has the
 * event's id + k. */
struct store_accept {
    struct store_request request;
    struct accept_event *events;
    struct accept_delivery *deliveries;
    uint32_t event_count, delivery_count;
};

struct load_row {
    struct place place;
    struct message *message; /* one reference, the asker's */
    uint32_t attempts;       /* in this run: 0 for FRESH */
    uint32_t tries;          /* ever */
    lull_duration previous;  /* delay before the last attempt */
    lull_time first_failed;  /* 0: never */
    int64_t replay;          /* 0: none */
};

/* The next rows of a stream: after `after`, due at `until` or before, in order. */
struct store_load {
    struct store_request request;
    int64_t destination;
    enum delivery_state state; /* FRESH or RETRY */
    struct place after;
    lull_time until;
    uint32_t limit; /* rows */
    size_t
        bytes; /* stop after the row with which messages take this much; at least one row is given */
    struct load_row *rows; /* out: room for `limit` */
    uint32_t count;        /* out */
    bool more;             /* out: there are further rows due at `until` */
    lull_time
        next_due; /* out, if not more: of the first row after `until`; LULL_NEVER: there is none */
};

/* One attempt, for the log. */
struct attempt_record {
    uint32_t number; /* of all tries, from 1 */
    lull_time began;
    lull_duration took;
    enum lull_class class_;
    int status;                /* HTTP; 0: no answer */
    char error[ERROR_LONGEST]; /* "" or why there was no answer, or why this one counts as failed */
    char *excerpt;             /* the answer's first bytes; NULL: none */
    uint32_t excerpt_length;
};

/* How an attempt of a delivery ended, and what comes next. The log keeps the attempt: of a success its status and time only. */
struct store_settle {
    struct store_request request;
    int64_t destination;
    struct place from;
    enum delivery_state from_state, to_state;
    lull_time at; /* RETRY: due then; DELIVERED, DEAD: when */
    uint32_t attempts, tries;
    lull_duration previous;
    lull_time first_failed; /* 0: never */
    int64_t replay;         /* counts this outcome; 0: none */
    int reason;             /* DEAD: enum lull_reason */
    struct attempt_record attempt;
};

/* ---- destinations ---- */

enum destination_state {
    DESTINATION_ACTIVE,
    DESTINATION_PAUSED,   /* by the operator: accepts, does not send */
    DESTINATION_DISABLED, /* by a 410: does neither */
};

struct destination_row {
    int64_t id; /* 0: new, the store gives one */
    char name[DESTINATION_NAME_LONGEST + 1];
    enum destination_state state;
    bool from_config;
    lull_time created, blocked_until;
    char *settings;        /* JSON, as config/destination.h reads it; without the secrets */
    char *secret;          /* "whsec_…"; NULL: not signed */
    char *previous_secret; /* still valid until `previous_until`; NULL: none */
    lull_time previous_until;
    /* Totals; PUT leaves them alone. */
    uint64_t pending[2], dead; /* on disk now; pending: DELIVERY_FRESH, DELIVERY_RETRY */
    uint64_t delivered;        /* ever */
};

void destination_row_clean_up(struct destination_row *row); /* frees its texts */

/* All of them, at start. The array and its texts are the asker's. */
struct store_destinations {
    struct store_request request;
    struct destination_row *rows;
    uint32_t count;
    lull_time newest; /* when the newest event was accepted, about; 0: none */
};

/* Creates (id 0; STORE_EXISTS if the name is taken) or replaces all but totals, blocked_until and state: those are the lane's to write (CLOCK), and
 * what the asker knows of them may be old. The row is borrowed; its id is set. */
struct store_put {
    struct store_request request;
    struct destination_row row;
    bool created; /* out: it was new */
};

/* Removes it with all its deliveries (in slices, by TIDY). Not empty and not forced: STORE_NOT_EMPTY, and the totals are told. */
struct store_remove {
    struct store_request request;
    int64_t destination;
    bool force;
    uint64_t pending, dead; /* out */
};

/* The lane's clock, and whether it runs: one row, never the backlog. */
struct store_clock {
    struct store_request request;
    int64_t destination;
    lull_time blocked_until;
    enum destination_state state;
};

/* ---- looking at it ---- */

struct delivery_record {
    int64_t id, event, destination;
    enum delivery_state state;
    lull_time at; /* due, or ended */
    lull_time accepted;
    uint32_t attempts, tries;
    lull_time first_failed, last_failed; /* 0: never */
    int status;                          /* of the last attempt */
    int reason;                          /* DEAD: enum lull_reason */
    int64_t replay;
    char type[MESSAGE_TYPE_LONGEST + 1];
    char error[ERROR_LONGEST];    /* of the last failure */
    struct attempt_record *trace; /* GET only; excerpts too */
    uint32_t trace_count;
};

/* An event and its deliveries, by the id of either. STORE_ABSENT. The message (payload and all) is one reference, the records and
 * their traces are the asker's; store_get_clean_up frees them. */
struct store_get {
    struct store_request request;
    int64_t id;
    bool delivery; /* id is a delivery's: that one alone is given */
    struct message *message;
    struct delivery_record *records;
    uint32_t count;
};
void store_get_clean_up(struct store_get *get);

/* Deliveries of all states: the last accepted first. Of some: destination by destination and state by state, delivered and dead ones newest
 * first, pending ones in their order. Pass `next` of the last page as `from`. A page may be shorter than `limit`, even empty, and yet have a
 * next one. */
#define LIST_ALL ((1U << DELIVERY_STATE_COUNT) - 1)
#define LIST_BY_ID INT64_MAX /* a cursor's destination, in a list of all states */
struct list_cursor {
    int64_t destination; /* 0: from the start; as `next`: there are no more */
    enum delivery_state state;
    struct place place;
};
struct store_list {
    struct store_request request;
    int64_t destination; /* 0: all */
    uint32_t states;     /* 1 << enum delivery_state, or-ed */
    struct list_cursor from;
    uint32_t limit;
    struct delivery_record *records; /* out: the asker's, to be freed */
    uint32_t count;
    struct list_cursor next;
};

/* Removes a dead letter. STORE_ABSENT. Its event goes with its last delivery. */
struct store_drop {
    struct store_request request;
    int64_t id;          /* a delivery's */
    int64_t destination; /* out */
};

/* ---- replay ---- */

enum replay_state { REPLAY_RUNNING, REPLAY_DONE, REPLAY_CANCELLED, REPLAY_STOPPED };

struct replay_row {
    int64_t id, destination;
    enum replay_state state;
    lull_time created, ended;
    double rate;                /* per minute, now */
    uint64_t total;             /* to be moved in all, as counted at the start */
    uint64_t moved;             /* back into the lane so far */
    uint64_t succeeded, failed; /* attempts of those moved */
    struct place after;         /* the last dead letter moved, in the order of (died, id) */
};

/* Starts one over a destination's dead letters, or over those named (each must be a dead letter of it: STORE_ABSENT names the first
 * that is not in `absent`). One at a time for a destination: STORE_EXISTS. */
struct store_replay_start {
    struct store_request request;
    struct replay_row row; /* destination and rate in; the rest out */
    int64_t *ids;          /* borrowed; NULL: all that are dead now */
    uint32_t id_count;
    int64_t absent;
};

/* Moves up to `count` further dead letters into the lane, and keeps the rate. */
struct store_replay_step {
    struct store_request request;
    int64_t replay;
    uint32_t count;
    double rate;
    uint32_t moved; /* out */
    struct replay_row
        row; /* out: after it; DONE if there is nothing left to move. Not running any more: nothing is moved */
};

/* Ends it: CANCELLED, by the operator, or STOPPED, for errors. One that has ended already stays as it is. */
struct store_replay_end {
    struct store_request request;
    int64_t replay;
    enum replay_state state;
    struct replay_row row; /* out */
};

/* By id, or (0) all, newest first, those running first. The array is the asker's. STORE_ABSENT. */
struct store_replays {
    struct store_request request;
    int64_t replay;
    struct replay_row *rows;
    uint32_t count;
};

/* ---- keeping house ---- */

/* One small slice of: events delivered before `delivered_before`, keys past their time, what is left of removed destinations. */
struct store_tidy {
    struct store_request request;
    lull_time delivered_before;
    uint32_t limit;   /* rows */
    uint32_t removed; /* out */
    bool more;        /* out: call again soon */
};

#endif
