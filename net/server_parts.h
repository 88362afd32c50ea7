/* What the parts of the server share: server.c (the turn, connections), server_exchange.c (one
 * request), server_wire.c (what is done to a socket behind libmicrohttpd's back).
 *
 * libmicrohttpd runs in external mode: its epoll set lies in the worker's, and it moves only when
 * MHD_run is called. A second set, `watch`, holds the listening socket, and each connection's
 * socket once more to learn that its client has left: libmicrohttpd does not look at a connection
 * that is suspended, and (0.9.75) it overlooks a farewell that arrives together with data.
 *
 * Events and time-outs only mark a connection or shut its socket down; connections and exchanges
 * end in libmicrohttpd's callbacks, inside MHD_run. So none ends while a list of events that may
 * name it is being gone through. A suspended connection ends only after it was resumed, and only
 * the answer resumes it: an exchange is there until it is answered, whatever the client does.
 */
#ifndef NET_SERVER_PARTS_H
#define NET_SERVER_PARTS_H

#include "server.h"

#include <microhttpd.h>
#include <sys/queue.h>

enum { SMALL_BODY = 4096 };

enum watch_kind { WATCH_DOOR, WATCH_CLIENT, WATCH_LINGERER };
struct watch { /* what an event of server.watch points to */
    enum watch_kind kind;
};

enum connection_state {
    CONNECTION_IDLE,      /* in server.idle: no header is complete */
    CONNECTION_READING,   /* in server.busy: the body is on its way */
    CONNECTION_HANDLING,  /* in server.handling: the handler has the exchange */
    CONNECTION_ANSWERING, /* in server.busy: the answer is on its way */
    CONNECTION_CLOSING,   /* in no line: shut down, libmicrohttpd will find out */
};

struct connection {
    struct watch watch;
    enum connection_state state;
    TAILQ_ENTRY(connection) link; /* in its line, or among the spare ones */
    lull_time deadline;
    TAILQ_ENTRY(connection) departing_link; /* in server.departing */
    struct MHD_Connection *http;
    struct exchange *exchange; /* NULL: between requests */
    int socket;                /* libmicrohttpd's */
    bool left;                 /* the client has, or has shut down its sending half */
    bool departing;            /* in server.departing */
    bool linger;               /* its client may still be sending when it is closed */
};

enum exchange_state {
    EXCHANGE_READING,  /* the body is on its way */
    EXCHANGE_HANDLING, /* inside `handle` */
    EXCHANGE_WAITING,  /* suspended: will be answered later */
    EXCHANGE_ANSWERED, /* there is a response (or there was no memory for one) */
    EXCHANGE_CUT,      /* the server ends: close it */
};

struct exchange {
    struct http_server *server;
    struct connection *connection;
    struct exchange *spare; /* the next one to be used again */
    enum exchange_state state;
    unsigned status;
    struct MHD_Response *response; /* until it is queued */
    const char *method, *path;     /* libmicrohttpd's */
    void *data;
    int64_t limit;
    char *body; /* `small`, or on the heap */
    size_t length, room;
    char small[SMALL_BODY]; /* the body, and then the answer's, if they fit. Not cleared. */
};

TAILQ_HEAD(connections, connection);
TAILQ_HEAD(lingerers, lingerer);

struct http_server {
    struct http_server_options options;
    struct MHD_Daemon *http;
    int watch;
    struct watch door; /* options.socket; -1: shut for good */
    bool door_open;    /* in `watch` */
    lull_time door_opens;

    lull_time now;
    bool http_ready, watch_ready;
    bool again; /* libmicrohttpd wants to be called, whatever the events are */
    bool quiescing;
    bool tls;

    struct connections idle, busy; /* two lines: equal time-outs, so the first is due first */
    struct connections handling;   /* no time-out: the handler will answer */
    struct connections departing;  /* to be closed unless they have something to read */
    struct connections spare;
    struct lingerers lingerers;
    struct exchange *spare_exchanges;
    size_t connection_count, exchange_count, lingerer_count;
    size_t held;             /* bytes of bodies, but for the small ones */
    struct problem *problem; /* while the server is made: for what libmicrohttpd says */
};

/* -- server.c -- */

/* Into its next state, and the line that goes with it. */
void connection_enter(struct http_server *server, struct connection *connection,
                      enum connection_state state);
/* Its client has left, or the server will: to be closed once everything it sent is served. */
void connection_see_off(struct http_server *server, struct connection *connection);

/* -- server_exchange.c: libmicrohttpd's handlers; `context` is the server, `*place` the exchange */

enum MHD_Result http_exchange_handle(void *context, struct MHD_Connection *http, const char *path,
                                     const char *method, const char *version, const char *upload,
                                     size_t *upload_size, void **place);
void http_exchange_completed(void *context, struct MHD_Connection *http, void **place,
                             enum MHD_RequestTerminationCode how);
void http_exchange_cut(struct exchange *exchange);
void http_exchanges_clean_up(struct http_server *server);

/* -- server_check.c -- */

enum { REFUSAL_SIZE = 512 };
struct refusal { /* an answer of the server's own */
    int status;
    const char *title, *code;
    char detail[128];
};

/* False: `refusal` says what is wrong with the header of a request, or its promised body. Decodes
 * the query in place. `*length`: the body's, -1 if it is not known. */
bool http_check(const struct http_server *server, struct exchange *exchange, const char *version,
                int64_t *length, struct refusal *refusal);
void http_refuse_timeout(struct refusal *refusal, lull_duration limit);
void http_refuse_length(struct refusal *refusal, int64_t limit);
void http_refuse_busy(struct refusal *refusal);
size_t http_refusal_write(const struct refusal *refusal, char text[REFUSAL_SIZE]);

/* -- server_wire.c -- */

/* Sends an answer by hand. Only in a moment at which nothing of another one is on its way. */
void wire_send_refusal(const struct http_server *server, struct connection *connection,
                       const struct refusal *refusal);
bool wire_pending(const struct connection *connection);

/* A socket about to be closed by libmicrohttpd is kept open for a moment longer, and what the client
 * still sends is thrown away: otherwise the kernel would answer it with a reset, which can overtake
 * the answer. */
void linger_start(struct http_server *server, int socket);
void linger_read(struct http_server *server, struct lingerer *lingerer);
void linger_expire(struct http_server *server, lull_time now); /* LULL_NEVER: all */
lull_time linger_next(const struct http_server *server);

#endif
