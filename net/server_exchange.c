#include "server_parts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* -- beginning and end -- */

static struct exchange *exchange_new(struct http_server *server, struct connection *connection) {
    struct exchange *exchange = server->spare_exchanges;
    if (exchange != NULL)
        server->spare_exchanges = exchange->spare;
    else
        exchange = malloc(sizeof *exchange);
    if (exchange == NULL)
        return NULL;
    memset(exchange, 0, offsetof(struct exchange, small));
    exchange->server = server;
    exchange->connection = connection;
    exchange->body = exchange->small;
    exchange->room = SMALL_BODY;
    connection->exchange = exchange;
    return exchange;
}

static void exchange_destroy(struct http_server *server, struct exchange *exchange) {
    exchange->connection->exchange = NULL;
    if (exchange->body != exchange->small) {
        server->held -= exchange->room;
        free(exchange->body);
    }
    if (exchange->response != NULL)
        MHD_destroy_response(exchange->response);
    exchange->spare = server->spare_exchanges;
    server->spare_exchanges = exchange;
}

void http_exchanges_clean_up(struct http_server *server) {
    while (server->spare_exchanges != NULL) {
        struct exchange *exchange = server->spare_exchanges;
        server->spare_exchanges = exchange->spare;
        free(exchange);
    }
}

void http_exchange_completed(void *context, struct MHD_Connection *http, void **place,
                             enum MHD_RequestTerminationCode how) {
    struct http_server *server = context;
    struct exchange *exchange = *place;
    (void)http, (void)how;
    if (exchange == NULL)
        return;
    struct connection *connection = exchange->connection;
    *place = NULL;
    exchange_destroy(server, exchange);
    if (connection->state == CONNECTION_CLOSING)
        return;
    connection_enter(server, connection, CONNECTION_IDLE);
    if (connection->left || server->quiescing)
        connection_see_off(server, connection);
}

/* -- answers -- */

static struct MHD_Response *make_response(struct exchange *exchange, const struct answer *answer) {
    size_t length = answer->content_type == NULL ? 0 : answer->length;
    bool small = length <= SMALL_BODY && !answer->take;
    void *body = small ? exchange->small : (void *)answer->body;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, body,
                                        small          ? MHD_RESPMEM_PERSISTENT
                                        : answer->take ? MHD_RESPMEM_MUST_FREE
                                                       : MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        if (answer->take)
            free((void *)answer->body);
        return NULL;
    }
    if (answer->content_type != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type);
    for (size_t i = 0; i < answer->field_count; i++)
        MHD_add_response_header(response, answer->fields[i].name, answer->fields[i].value);
    if (exchange->server->quiescing)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    /* Last: the answer may be made of the request's body, which lies in the same place. */
    if (small && length > 0)
        memmove(exchange->small, answer->body, length);
    return response;
}

void exchange_answer(struct exchange *exchange, const struct answer *answer) {
    bool waiting = exchange->state == EXCHANGE_WAITING;
    exchange->response = make_response(exchange, answer);
    exchange->status = (unsigned)answer->status;
    exchange->state = EXCHANGE_ANSWERED;
    exchange->server->exchange_count--;
    if (waiting) {
        MHD_resume_connection(exchange->connection->http);
        exchange->server->again = true;
    }
}

void http_exchange_cut(struct exchange *exchange) {
    exchange->state = EXCHANGE_CUT;
    exchange->server->exchange_count--;
    MHD_resume_connection(exchange->connection->http);
}

/* Inside libmicrohttpd's call of the handler. Without memory for a response: closed. */
static enum MHD_Result queue(struct exchange *exchange) {
    struct connection *connection = exchange->connection;
    struct MHD_Response *response = exchange->response;
    connection_enter(exchange->server, connection, CONNECTION_ANSWERING);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(connection->http, exchange->status, response);
    MHD_destroy_response(response);
    exchange->response = NULL;
    return queued;
}

/* Before the body has come; it will not be read. */
static enum MHD_Result refuse(struct exchange *exchange, const struct refusal *refusal) {
    char text[REFUSAL_SIZE];
    struct answer_field close = {MHD_HTTP_HEADER_CONNECTION, "close"};
    struct answer answer = {
        .status = refusal->status,
        .content_type = "application/problem+json",
        .body = text,
        .length = http_refusal_write(refusal, text),
        .fields = &close,
        .field_count = exchange->server->quiescing ? 0 : 1,
    };
    exchange->response = make_response(exchange, &answer);
    exchange->status = (unsigned)answer.status;
    exchange->state = EXCHANGE_ANSWERED;
    exchange->connection->linger = true;
    return queue(exchange);
}

/* -- the request -- */

/* False: all bodies together would be more than we keep, or than there is memory for. */
static bool make_room(struct exchange *exchange, size_t room) {
    struct http_server *server = exchange->server;
    bool small = exchange->body == exchange->small;
    size_t others = server->held - (small ? 0 : exchange->room);
    size_t most = server->options.bodies > 0 ? server->options.bodies : HTTP_BODIES;
    char *grown = others + room <= most ? realloc(small ? NULL : exchange->body, room) : NULL;
    if (grown == NULL)
        return false;
    if (small)
        memcpy(grown, exchange->small, exchange->length);
    exchange->body = grown;
    exchange->room = room;
    server->held = others + room;
    return true;
}

/* The header of a request is there. */
static enum MHD_Result open_exchange(struct http_server *server, struct MHD_Connection *http,
                                     const char *path, const char *method, const char *version,
                                     void **place) {
    struct connection *connection =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    struct exchange *exchange = connection == NULL ? NULL : exchange_new(server, connection);
    struct refusal refusal;
    int64_t length = 0;
    if (exchange == NULL)
        return MHD_NO;
    *place = exchange;
    exchange->method = method;
    exchange->path = path;
    connection_enter(server, connection, CONNECTION_READING);
    if (!http_check(server, exchange, version, &length, &refusal))
        return refuse(exchange, &refusal);
    if (length >= SMALL_BODY && !make_room(exchange, (size_t)length + 1)) {
        http_refuse_busy(&refusal);
        return refuse(exchange, &refusal);
    }
    return MHD_YES;
}

/* libmicrohttpd takes no answer while it reads a body. */
static enum MHD_Result stop_reading(struct exchange *exchange, const struct refusal *refusal) {
    wire_send_refusal(exchange->server, exchange->connection, refusal);
    exchange->connection->linger = true;
    return MHD_NO;
}

static enum MHD_Result take_upload(struct exchange *exchange, const char *bytes, size_t size) {
    if (exchange->state != EXCHANGE_READING)
        return MHD_NO;
    struct refusal refusal;
    if ((int64_t)size > exchange->limit - (int64_t)exchange->length) {
        http_refuse_length(&refusal, exchange->limit);
        return stop_reading(exchange, &refusal);
    }
    size_t needed = exchange->length + size + 1; /* a NUL at the end */
    if (needed > exchange->room && !make_room(exchange, 2 * needed)) {
        http_refuse_busy(&refusal);
        return stop_reading(exchange, &refusal);
    }
    memcpy(exchange->body + exchange->length, bytes, size);
    exchange->length += size;
    return MHD_YES;
}

static enum MHD_Result handle(struct http_server *server, struct exchange *exchange) {
    exchange->body[exchange->length] = '\0';
    exchange->state = EXCHANGE_HANDLING;
    connection_enter(server, exchange->connection, CONNECTION_HANDLING);
    server->exchange_count++;
    server->options.handle(server->options.context, exchange);
    if (exchange->state == EXCHANGE_ANSWERED)
        return queue(exchange);
    exchange->state = EXCHANGE_WAITING;
    MHD_suspend_connection(exchange->connection->http);
    return MHD_YES;
}

enum MHD_Result http_exchange_handle(void *context, struct MHD_Connection *http, const char *path,
                                     const char *method, const char *version, const char *upload,
                                     size_t *upload_size, void **place) {
    struct http_server *server = context;
    struct exchange *exchange = *place;
    if (exchange == NULL)
        return open_exchange(server, http, path, method, version, place);
    if (*upload_size > 0) {
        size_t size = *upload_size;
        *upload_size = 0;
        return take_upload(exchange, upload, size);
    }
    if (exchange->state == EXCHANGE_READING)
        return handle(server, exchange);
    return exchange->state == EXCHANGE_ANSWERED ? queue(exchange) : MHD_NO;
}

/* -- what the handler may ask -- */

const char *exchange_method(const struct exchange *exchange) {
    return exchange->method;
}

const char *exchange_path(const struct exchange *exchange) {
    return exchange->path;
}

struct search {
    const char *name, *value;
};

static enum MHD_Result look_at(void *context, enum MHD_ValueKind kind, const char *name,
                               const char *value) {
    struct search *search = context;
    (void)kind;
    if (strcmp(name, search->name) != 0)
        return MHD_YES;
    search->value = value == NULL ? "" : value;
    return MHD_NO;
}

const char *exchange_query(const struct exchange *exchange, const char *name) {
    struct search search = {.name = name};
    MHD_get_connection_values(exchange->connection->http, MHD_GET_ARGUMENT_KIND, look_at, &search);
    return search.value;
}

const char *exchange_header(const struct exchange *exchange, const char *name) {
    return MHD_lookup_connection_value(exchange->connection->http, MHD_HEADER_KIND, name);
}

char *exchange_body(struct exchange *exchange, size_t *length) {
    *length = exchange->length;
    return exchange->length == 0 ? NULL : exchange->body;
}

const char *exchange_client(const struct exchange *exchange, char text[64]) {
    const struct sockaddr *address =
        MHD_get_connection_info(exchange->connection->http, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
            ->client_addr;
    text[0] = '\0';
    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, 64);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
        bool mapped = IN6_IS_ADDR_V4MAPPED(six);
        inet_ntop(mapped ? AF_INET : AF_INET6, mapped ? &six->s6_addr[12] : &six->s6_addr[0], text,
                  64);
    }
    return text;
}

void exchange_set_data(struct exchange *exchange, void *data) {
    exchange->data = data;
}

void *exchange_data(const struct exchange *exchange) {
    return exchange->data;
}
