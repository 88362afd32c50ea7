#include "request.h"

#include "answer.h"
#include "control.h"
#include "override.h"
#include "wire.h"

#include <lull/random.h>
#include <stdlib.h>
#include <string.h>

/* Time for part of an answer to reach the client before the reset, which may overtake it. */
#define RESET_PAUSE (20 * LULL_MILLISECOND)

const struct settings *request_settings(const struct server *server,
                                        const struct request *request) {
    return request->own != NULL ? request->own : &server->settings;
}

/* -- waiting -- */

static bool is_suspended(const struct request *request) {
    switch (request->state) {
    case REQUEST_QUEUED:
    case REQUEST_DELAYED:
    case REQUEST_HANGING:
    case REQUEST_BREAKING:
    case REQUEST_DRIPPING:
        return true;
    case REQUEST_READING:
    case REQUEST_READ:
    case REQUEST_READY:
    case REQUEST_BROKEN:
    case REQUEST_ANSWERED:
    case REQUEST_CUT:
        break;
    }
    return false;
}

void request_suspend(struct server *server, struct request *request, enum request_state state,
                     lull_time until) {
    request->state = state;
    timer_set(&server->timers, &request->timer, until);
    MHD_suspend_connection(request->connection->http);
}

/* Out of wherever its state keeps it. */
static void detach(struct server *server, struct request *request) {
    timer_drop(&server->timers, &request->timer);
    if (request->state == REQUEST_QUEUED)
        TAILQ_REMOVE(&server->line, request, link);
    else if (request->state == REQUEST_HANGING)
        server->hanging--;
}

/* The handler, or the reader of a body that drips, is called next. */
static void resume(struct server *server, struct request *request, enum request_state state) {
    detach(server, request);
    request->state = state;
    MHD_resume_connection(request->connection->http);
}

static void wake(struct timer *timer, void *context) {
    struct request *request = (struct request *)timer; /* its first member */
    static const enum request_state next[] = {
        [REQUEST_DELAYED] = REQUEST_READY,
        [REQUEST_HANGING] = REQUEST_READ,
        [REQUEST_BREAKING] = REQUEST_BROKEN,
        [REQUEST_DRIPPING] = REQUEST_ANSWERED,
    };
    resume(context, request, next[request->state]);
}

void request_let_in(struct server *server, struct request *request) {
    request->in_gate = true;
    if (request->plan.delay == 0) {
        resume(server, request, REQUEST_READY);
        return;
    }
    detach(server, request);
    request->state = REQUEST_DELAYED;
    timer_set(&server->timers, &request->timer, server->now + request->plan.delay);
}

void request_stop_hanging(struct server *server, struct request *request) {
    if (request->state == REQUEST_HANGING && timer_is_set(&request->timer))
        resume(server, request, REQUEST_READ);
}

void request_cut(struct server *server, struct request *request, enum outcome outcome) {
    request->outcome = outcome;
    if (request->state == REQUEST_QUEUED)
        gate_quit(&server->state.gate);
    if (is_suspended(request))
        resume(server, request, REQUEST_CUT);
    else
        request->state = REQUEST_CUT;
}

/* -- beginning and end -- */

static struct request *request_new(struct server *server, struct connection *connection) {
    struct request *request = TAILQ_FIRST(&server->spare);
    if (request != NULL)
        TAILQ_REMOVE(&server->spare, request, link);
    else
        request = malloc(sizeof *request);
    if (request == NULL)
        return NULL;
    *request = (struct request){
        .timer.fire = wake,
        .server = server,
        .connection = connection,
        .outcome = OUTCOME_CLIENT_GONE,
    };
    connection->request = request;
    return request;
}

static void request_destroy(struct server *server, struct request *request) {
    request->connection->request = NULL;
    free(request->upload.bytes);
    free(request->own);
    free(request->override_problem);
    blob_release(request->drip);
    TAILQ_INSERT_HEAD(&server->spare, request, link);
}

void requests_clean_up(struct server *server) {
    struct request *request;
    while ((request = TAILQ_FIRST(&server->spare)) != NULL) {
        TAILQ_REMOVE(&server->spare, request, link);
        free(request);
    }
}

void request_completed(void *context, struct MHD_Connection *http, void **place,
                       enum MHD_RequestTerminationCode how) {
    struct server *server = context;
    struct request *request = *place;
    (void)http;
    if (request == NULL)
        return;
    *place = NULL;
    detach(server, request);
    if (request->in_gate) {
        gate_leave(&server->state.gate);
        server_attend_gate(server);
    }
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK && !request->client_left_early)
        request->outcome = request->plan.outcome;
    if (!request->control && request->arrived != 0)
        journal_end(&server->journal, request->number, request->outcome, request->status,
                    server_tick(server) - request->arrived);
    if (request->control && server->outage == OUTAGE_REFUSE && !request->connection->control)
        wire_end(request->connection->socket); /* it was spared for its answer only */
    if (request->connection->client_left)
        server_see_off(server, request->connection);
    request_destroy(server, request);
}

/* -- what is done to it, always inside the handler -- */

static void copy_header(struct MHD_Connection *http, const char *name, char *target, size_t size) {
    const char *value = MHD_lookup_connection_value(http, MHD_HEADER_KIND, name);
    snprintf(target, size, "%s", value == NULL ? "" : value);
}

static void arrive(struct server *server, struct request *request) {
    struct MHD_Connection *http = request->connection->http;
    struct arrival *arrival = journal_arrive(&server->journal);
    request->arrived = server_tick(server);
    request->number = server->journal.requests - 1;
    request->word = lull_random_next(&server->random);
    arrival->at = request->arrived - server->started;
    arrival->outcome = OUTCOME_PENDING;
    arrival->status = 0;
    snprintf(arrival->method, sizeof arrival->method, "%s", request->method);
    snprintf(arrival->path, sizeof arrival->path, "%s", request->path);
    copy_header(http, "Idempotency-Key", arrival->idempotency_key, sizeof arrival->idempotency_key);
    copy_header(http, "webhook-id", arrival->webhook_id, sizeof arrival->webhook_id);
    copy_header(http, "Lull-Attempt", arrival->attempt, sizeof arrival->attempt);
}

/* The effect is done, and seen by the client whatever becomes of the connection now. Gives what
 * makes libmicrohttpd close it. */
static enum MHD_Result leave(struct request *request, bool sent_status) {
    request->outcome = request->plan.outcome;
    request->status = sent_status ? request->plan.status : 0;
    return MHD_NO;
}

static void send_part(const struct server *server, struct request *request) {
    struct blob *body = answer_body(server, request);
    if (body == NULL)
        return;
    wire_send_part(request->connection->socket, request->plan.status, body, request->is_head);
    blob_release(body);
}

static enum MHD_Result carry_out(struct server *server, struct request *request) {
    int socket = request->connection->socket;
    switch (request->plan.effect) {
    case EFFECT_ANSWER:
        request->state = REQUEST_ANSWERED;
        request->status = request->plan.status;
        return answer_queue(server, request);
    case EFFECT_HANG:
        if (request->connection->client_left)
            return leave(request, false);
        request->outcome = OUTCOME_HUNG;
        request_suspend(server, request, REQUEST_HANGING, request->plan.until);
        server->hanging++;
        return MHD_YES;
    case EFFECT_RESET:
        send_part(server, request);
        request_suspend(server, request, REQUEST_BREAKING, server->now + RESET_PAUSE);
        return MHD_YES;
    case EFFECT_CLOSE:
        wire_end(socket);
        return leave(request, false);
    case EFFECT_TRUNCATE:
        send_part(server, request);
        wire_end(socket);
        return leave(request, true);
    case EFFECT_GARBAGE:
        wire_send_garbage(socket, request->word);
        wire_end(socket);
        return leave(request, false);
    }
    return MHD_NO;
}

static enum MHD_Result start(struct server *server, struct request *request) {
    const struct settings *own = request_settings(server, request);
    request->plan =
        request->override_problem != NULL
            ? override_refused()
            : plan_request(&server->settings, own, &server->state, request->word, server->now);
    request->outcome = OUTCOME_CLIENT_GONE;
    if (request->plan.gate == GATE_WAIT) {
        request_suspend(server, request, REQUEST_QUEUED, LULL_NEVER);
        TAILQ_INSERT_TAIL(&server->line, request, link);
        server_attend_gate(server);
        return MHD_YES;
    }
    request->in_gate = request->plan.gate == GATE_START;
    if (request->plan.delay > 0) {
        request_suspend(server, request, REQUEST_DELAYED, server->now + request->plan.delay);
        return MHD_YES;
    }
    return carry_out(server, request);
}

static enum MHD_Result go_on(struct server *server, struct request *request) {
    switch (request->state) {
    case REQUEST_READ:
        return start(server, request);
    case REQUEST_READY:
        request->client_left_early = request->connection->client_left;
        return carry_out(server, request);
    case REQUEST_BROKEN:
        wire_reset(request->connection->socket);
        return leave(request, true);
    case REQUEST_READING:
    case REQUEST_QUEUED:
    case REQUEST_DELAYED:
    case REQUEST_HANGING:
    case REQUEST_BREAKING:
    case REQUEST_ANSWERED:
    case REQUEST_DRIPPING:
    case REQUEST_CUT:
        break;
    }
    return MHD_NO;
}

static bool keep_upload(struct upload *upload, const char *bytes, size_t size) {
    if (size > UPLOAD_MOST - upload->size) {
        size = UPLOAD_MOST - upload->size;
        upload->cut = true;
    }
    if (upload->size + size > upload->room) {
        size_t room = 2 * (upload->size + size);
        char *grown = realloc(upload->bytes, room);
        if (grown == NULL)
            return false;
        upload->bytes = grown;
        upload->room = room;
    }
    memcpy(upload->bytes + upload->size, bytes, size);
    upload->size += size;
    return true;
}

/* The header of a request is there. */
static enum MHD_Result open_request(struct server *server, struct MHD_Connection *http,
                                    const char *path, const char *method, void **place) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct connection *connection = info->socket_context;
    struct request *request = request_new(server, connection);
    if (request == NULL)
        return MHD_NO;
    *place = request;
    request->method = method;
    request->path = path;
    request->control = connection->control || control_owns(path);
    request->is_head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    if (!request->control && server->settings.allow_override)
        override_read(server, request);
    request->keeps_upload = request->control || request_settings(server, request)->echo;
    return MHD_YES;
}

enum MHD_Result request_handle(void *context, struct MHD_Connection *http, const char *path,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **place) {
    struct server *server = context;
    struct request *request = *place;
    (void)version;
    if (request == NULL)
        return open_request(server, http, path, method, place);
    if (*upload_size > 0) {
        bool kept = !request->keeps_upload || keep_upload(&request->upload, upload, *upload_size);
        *upload_size = 0;
        return kept ? MHD_YES : MHD_NO;
    }
    if (request->control)
        return control_answer(server, request);
    if (request->state == REQUEST_READING) {
        arrive(server, request);
        request->state = REQUEST_READ;
    }
    return go_on(server, request);
}
