/* A running `lull serve`, asked over HTTP (docs/http.md).
 *
 *   struct remote remote;
 *   struct remote_path path = remote_path("/v1/destinations", "shop", NULL);
 *   struct remote_answer answer;
 *   if (!remote_init(&remote, &options, &problem) ||
 *       !remote_ask(&remote, &(struct remote_request){"GET", &path}, &answer, &problem))
 *       complain("%s", problem.text);          "there is no destination shop; …"
 *
 * It is a client like any other, so its calls are retried under the preset `interactive`: up to 5
 * attempts, 100 ms × 2 apart with full jitter, while the connection is refused or the answer is
 * 429, 503 or their like. Only where that is safe: GET, and requests with an Idempotency-Key.
 * Others are tried once. Nothing is retried inside `lull run`, which does that itself.
 */
#ifndef CLI_REMOTE_H
#define CLI_REMOTE_H

#include "problem.h"

#include <jansson.h>
#include <lull.h>

#define REMOTE_SERVER "http://127.0.0.1:8080"
#define REMOTE_TIMEOUT (30 * LULL_SECOND)        /* of a request, its retries included */
#define REMOTE_CONNECT_TIMEOUT (5 * LULL_SECOND) /* of one attempt at a connection */
#define REMOTE_ANSWER_MAX ((size_t)64 << 20)     /* bytes; more is no answer of ours */
#define REMOTE_KEY_SIZE 40

struct remote_options {
    const char *server; /* NULL: LULL_SERVER in the environment, or REMOTE_SERVER */
    const char *token;  /* NULL: LULL_TOKEN in the environment, or none */
    const char *
        ca; /* PEM file, instead of the system's authorities; NULL: LULL_CA in the environment, or none */
    lull_duration timeout; /* 0: REMOTE_TIMEOUT */
};

struct remote { /* private, but for `server` */
    void *curl;
    char *server; /* as shown to people: no slash at the end */
    char *authorization;
    lull_duration timeout;
    struct lull_guard guard;
    bool nested; /* somebody else retries */
};

/* False, with a problem and nothing to clean up, if the address or the token make no sense. Nothing
 * is sent yet. */
bool remote_init(struct remote *remote, const struct remote_options *options,
                 struct problem *problem);
void remote_clean_up(struct remote *remote);

/* A path and its query, escaped. */
struct remote_path {
    char text[8192];
    size_t length;
    bool has_query, too_long;
};
/* The base as it is, and up to two segments, as in "/v1/destinations", "shop", "pause"; NULL: none. */
struct remote_path remote_path(const char *base, const char *name, const char *action);
/* Adds name=value; nothing if `value` is NULL. */
void remote_path_query(struct remote_path *path, const char *name, const char *value);

struct remote_request {
    const char *method;
    const struct remote_path *path;
    const void *body; /* NULL: none */
    size_t length;
    const char *content_type;   /* of the body */
    const char *key;            /* Idempotency-Key; NULL: none */
    bool repeatable;            /* safe to send twice, even without one */
    const char *const *headers; /* "Name: value" */
    size_t header_count;
};

struct remote_answer {
    int status;   /* 0: there was none */
    json_t *json; /* owned; NULL: none */
    char *body;   /* owned; ends in a 0 */
    size_t length;
    bool replayed; /* the key was known: nothing new was accepted */
    uint32_t attempts;
};

/* True if the answer is 2xx, and JSON if it is anything. Else `problem` says what is wrong and what
 * to do. The answer needs cleaning up in either case. */
bool remote_ask(struct remote *remote, const struct remote_request *request,
                struct remote_answer *answer, struct problem *problem);
void remote_answer_clean_up(struct remote_answer *answer);

/* A random Idempotency-Key, so that a command's own retry cannot do a thing twice. */
void remote_make_key(char key[REMOTE_KEY_SIZE]);

/* Sent on as a header field, would it stay one field? */
bool remote_header_is_fine(const char *header);

#endif
