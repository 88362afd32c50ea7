/* A request on its way through the server.
 *
 *   READING ─▶ READ ─▶ (planned) ─┬─▶ QUEUED ─▶ DELAYED ─▶ READY ─┬─▶ ANSWERED (⇄ DRIPPING) ─▶ gone
 *                ▲                └──────────▶────────┘           ├─▶ BREAKING ─▶ BROKEN ─▶ gone
 *                └── end of an outage ── HANGING ◀────────────────┘
 *   and from everywhere ─▶ CUT ─▶ gone
 */
#ifndef FLAKY_REQUEST_H
#define FLAKY_REQUEST_H

#include "server.h"

enum { UPLOAD_MOST = 1 << 20 };

enum request_state {
    REQUEST_READING,  /* libmicrohttpd reads it */
    REQUEST_READ,     /* to be planned */
    REQUEST_QUEUED,   /* suspended; in the server's line */
    REQUEST_DELAYED,  /* suspended; has its timer set */
    REQUEST_HANGING,  /* suspended; has its timer set if there is an end to it */
    REQUEST_READY,    /* its effect comes next */
    REQUEST_BREAKING, /* suspended; part of its answer is out; has its timer set for the reset */
    REQUEST_BROKEN,   /* the reset comes next */
    REQUEST_ANSWERED, /* libmicrohttpd sends the answer */
    REQUEST_DRIPPING, /* the same, suspended between two pieces; has its timer set */
    REQUEST_CUT,      /* the connection is to be closed, whatever was planned */
};

struct upload {
    char *bytes;
    size_t size;
    size_t room;
    bool cut; /* there was more than UPLOAD_MOST */
};

struct request {
    struct timer timer;
    TAILQ_ENTRY(request) link; /* in the server's line, or among its spare ones */
    struct server *server;
    struct connection *connection;
    const char *method; /* libmicrohttpd's, as long as the request is there */
    const char *path;   /* likewise; as it came, nothing is decoded */
    enum request_state state;
    bool control;           /* for the control endpoint */
    bool is_head;           /* its answer has no body */
    bool keeps_upload;      /* its body is wanted */
    bool client_left_early; /* it is answered all the same, as by a server that cannot know */
    bool in_gate;           /* gate_leave is due */
    struct upload upload;
    struct settings *own;                      /* with its override; NULL: the server's */
    struct settings_problem *override_problem; /* NULL: none */
    uint64_t number;                           /* in the journal */
    uint64_t word;                             /* of randomness */
    lull_time arrived;
    struct plan plan;
    enum outcome outcome; /* as it would be counted if it ended now */
    unsigned status;      /* as far as it was sent */
    struct blob *drip;    /* the body that is being sent in pieces */
    lull_time drip_began;
};

/* The settings that hold for it. */
const struct settings *request_settings(const struct server *server, const struct request *request);

/* libmicrohttpd's handler for all requests: `context` is the server, `*place` the request. */
enum MHD_Result request_handle(void *context, struct MHD_Connection *http, const char *path,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **place);

/* Likewise, when one is over. */
void request_completed(void *context, struct MHD_Connection *http, void **place,
                       enum MHD_RequestTerminationCode how);

/* The first in line may start. */
void request_let_in(struct server *server, struct request *request);

/* Its client is gone, or the server will be: to be closed without an answer. */
void request_cut(struct server *server, struct request *request, enum outcome outcome);

/* A hang that has an end ends now. */
void request_stop_hanging(struct server *server, struct request *request);

/* Suspended until then. */
void request_suspend(struct server *server, struct request *request, enum request_state state,
                     lull_time until);

/* Frees those kept for later use. */
void requests_clean_up(struct server *server);

#endif
