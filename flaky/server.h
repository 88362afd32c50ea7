/* The server: one thread, one loop.
 *
 * The loop is an epoll set of its own. In it are the listening sockets, the signals, the epoll
 * set of libmicrohttpd (which runs in external mode and only when told to), and every
 * connection's socket once more, to learn that its client has left: libmicrohttpd does not look
 * at a connection it has suspended, and it overlooks a client's farewell that arrives together
 * with its last request. Thousands of requests that wait for something cost a few hundred bytes
 * and a place in a heap each.
 *
 * A turn: wait; accept; fire timers; let libmicrohttpd run. Timers and events only mark a
 * request and resume its connection; everything that is done to a connection is done in
 * libmicrohttpd's call of the handler that follows. So no connection ends while a list of events
 * that may name it is being gone through.
 *
 * Connections are accepted here and handed over, rather than by libmicrohttpd, so that the
 * listening socket can be closed for an outage.
 */
#ifndef FLAKY_SERVER_H
#define FLAKY_SERVER_H

#include "journal.h"
#include "listener.h"
#include "plan.h"
#include "settings.h"
#include "timers.h"

#include <microhttpd.h>
#include <sys/queue.h>

enum watch_kind { WATCH_HTTP, WATCH_SIGNALS, WATCH_DOOR, WATCH_CLIENT };
struct watch { /* what an event of the loop's epoll set points to */
    enum watch_kind kind;
};

struct door { /* where connections come in */
    struct watch watch;
    struct timer again; /* no accepting until then: out of descriptors, or the port is taken */
    struct listener listener;
    bool control; /* never misbehaves, and serves nothing but the control endpoint */
};

struct connection {
    struct watch watch;
    TAILQ_ENTRY(connection) link; /* in server.connections */
    struct MHD_Connection *http;
    int socket;       /* libmicrohttpd's */
    bool client_left; /* or has shut down its sending half: few do, and then wait for an answer */
    bool departing;   /* in server.departing */
    TAILQ_ENTRY(connection) departing_link;
    bool control;
    struct request *request; /* NULL: between requests */
};

TAILQ_HEAD(connections, connection);
TAILQ_HEAD(requests, request);

struct server {
    struct settings settings;
    struct door doors[2]; /* the second is for control alone, and may be closed all the time */
    struct MHD_Daemon *http;
    int epoll;
    int signals;
    struct watch watch_http, watch_signals;
    struct timers timers;
    struct timer outage_timer, gate_timer, end_timer;

    lull_time started;
    lull_time now; /* read once per turn, and at each arrival */
    uint64_t random;
    struct plan_state state;
    struct journal journal;
    struct connections connections;
    struct connections departing; /* the client has left, and no request of its is under way */
    struct requests line;         /* QUEUED, in order */
    struct requests spare;        /* request structs to be used again */
    size_t connection_count;
    size_t hanging;
    enum outage_mode outage;

    struct blob *body;                           /* settings.body; NULL: by default */
    struct MHD_Response *answers[OUTCOME_COUNT]; /* made at first use, until settings change */
    const struct door *accepting;                /* while a connection is handed over */
    bool stop;
};

struct server_options {
    struct settings settings;
    struct listener listener;
    struct listener control;
    bool has_control;
    lull_duration run_for; /* 0: until a signal */
};

/* Serves until SIGINT, SIGTERM or the end of `run_for`. Gives the exit code. */
int server_run(struct server_options *options);

/* For the parts of the server: */

/* Reads the clock into server->now. */
lull_time server_tick(struct server *server);

/* Takes over changed settings, at once. `touched`: see settings_read_json. */
void server_configure(struct server *server, const struct settings *settings, uint64_t touched);

/* To be called when someone has come to or left the gate. */
void server_attend_gate(struct server *server);

/* Its client has left, and nothing more will be done for it: to be closed at the end of the
 * turn. */
void server_see_off(struct server *server, struct connection *connection);

#endif
