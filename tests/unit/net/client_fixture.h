/* A server in a thread that does as it is told, and a loop with a client in it. Nothing leaves the machine. */
#ifndef LULL_TESTS_CLIENT_FIXTURE_H
#define LULL_TESTS_CLIENT_FIXTURE_H

#include "testing.h"

#include "client.h"
#include "target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* ---- the server ---- */

enum manner {
    ANSWERS,        /* `answer`, then the next request */
    ANSWERS_CLOSES, /* and closes */
    HANGS,          /* reads, says `answer` if there is one, and no more */
    RESETS,         /* the same, then resets */
    NEVER_ENDS,     /* the same, then sends bytes for ever */
    DRIPS,          /* the same, but one now and then */
};

#define CONNECTIONS 64
#define REQUEST_SIZE (512 * 1024)

struct server {
    enum manner manner;
    const char *answer;
    SSL_CTX *tls; /* NULL: none */
    int listener;
    char url[64];
    pthread_t thread, handlers[CONNECTIONS];
    atomic_int connections, requests, stopped;
    pthread_mutex_t lock; /* of the following: the last request */
    char request[REQUEST_SIZE];
    size_t head_length, body_length; /* the head includes its empty line */
};

struct connection {
    struct server *server;
    int descriptor;
    SSL *ssl;
};

static inline ssize_t get_bytes(struct connection *connection, char *bytes, size_t room) {
    if (connection->ssl != NULL)
        return SSL_read(connection->ssl, bytes, (int)room);
    return recv(connection->descriptor, bytes, room, 0);
}

static inline bool put_bytes(struct connection *connection, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = connection->ssl != NULL
                           ? SSL_write(connection->ssl, bytes, (int)length)
                           : send(connection->descriptor, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static inline size_t body_length_of(const char *head) {
    const char *field = strcasestr(head, "\r\nContent-Length: ");
    return field != NULL ? strtoul(field + 18, NULL, 10) : 0;
}

/* One request into the server's memory. False: there is none any more. */
static inline bool get_request(struct connection *connection) {
    struct server *server = connection->server;
    static _Thread_local char buffer[REQUEST_SIZE];
    size_t length = 0, head = 0, wanted = 0;
    while (head == 0 || length < wanted) {
        ssize_t got = get_bytes(connection, buffer + length, sizeof buffer - 1 - length);
        if (got <= 0)
            return false;
        length += (size_t)got;
        buffer[length] = '\0';
        const char *end = head == 0 ? strstr(buffer, "\r\n\r\n") : NULL;
        if (end != NULL) {
            head = (size_t)(end - buffer) + 4;
            wanted = head + body_length_of(buffer);
        }
    }
    pthread_mutex_lock(&server->lock);
    memcpy(server->request, buffer, length + 1);
    server->head_length = head;
    server->body_length = length - head;
    pthread_mutex_unlock(&server->lock);
    atomic_fetch_add(&server->requests, 1);
    return true;
}

static inline void wait_for_end(struct connection *connection) {
    char byte;
    while (get_bytes(connection, &byte, 1) > 0)
        ;
}

static inline void behave(struct connection *connection) {
    struct server *server = connection->server;
    static const char noise[4096] = {'n'};
    while (get_request(connection)) {
        const char *answer = server->answer != NULL ? server->answer : "";
        if (!put_bytes(connection, answer, strlen(answer)) || server->manner == ANSWERS_CLOSES)
            return;
        if (server->manner == HANGS)
            wait_for_end(connection);
        while (server->manner == NEVER_ENDS && put_bytes(connection, noise, sizeof noise))
            ;
        while (server->manner == DRIPS && put_bytes(connection, noise, 1))
            poll(NULL, 0, 5);
        if (server->manner == RESETS) {
            struct linger now = {.l_onoff = 1};
            setsockopt(connection->descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
            return;
        }
    }
}

static inline void *handle(void *argument) {
    struct connection *connection = argument;
    sigset_t pipe; /* OpenSSL's writes; the client's own must do without this */
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    if (connection->server->tls != NULL) {
        connection->ssl = SSL_new(connection->server->tls);
        SSL_set_fd(connection->ssl, connection->descriptor);
    }
    if (connection->ssl == NULL || SSL_accept(connection->ssl) == 1)
        behave(connection);
    SSL_free(connection->ssl);
    close(connection->descriptor);
    free(connection);
    return NULL;
}

static inline void *accept_all(void *argument) {
    struct server *server = argument;
    int descriptor;
    while (!atomic_load(&server->stopped) &&
           (descriptor = accept(server->listener, NULL, NULL)) >= 0) {
        if (atomic_load(&server->stopped)) {
            close(descriptor);
            break;
        }
        struct connection *connection = calloc(1, sizeof *connection);
        *connection = (struct connection){.server = server, .descriptor = descriptor};
        int index = atomic_fetch_add(&server->connections, 1);
        assert_true(index < CONNECTIONS);
        assert_int_equal(pthread_create(&server->handlers[index], NULL, handle, connection), 0);
    }
    return NULL;
}

/* A socket bound to a free port of the loopback; nobody listens yet. */
static inline int bound_socket(int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return descriptor;
}

static inline struct server *server_start(enum manner manner, const char *answer, SSL_CTX *tls) {
    struct server *server = calloc(1, sizeof *server);
    int port;
    assert_non_null(server);
    server->manner = manner;
    server->answer = answer;
    server->tls = tls;
    pthread_mutex_init(&server->lock, NULL);
    server->listener = bound_socket(&port);
    assert_int_equal(listen(server->listener, 128), 0);
    snprintf(server->url, sizeof server->url, "http%s://127.0.0.1:%d/", tls != NULL ? "s" : "",
             port);
    assert_int_equal(pthread_create(&server->thread, NULL, accept_all, server), 0);
    return server;
}

/* After the client has closed its connections: handlers end with them. */
static inline void server_stop(struct server *server) {
    atomic_store(&server->stopped, 1);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    for (int i = 0; i < atomic_load(&server->connections); i++)
        pthread_join(server->handlers[i], NULL);
    close(server->listener);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

/* ---- the loop ---- */

struct loop {
    int epoll;
    struct client *client;
    int ended;
};

struct loop_attempt {
    struct attempt attempt;
    struct loop *loop;
    int ended;
    struct loop_attempt *cancels; /* when it ends */
    struct loop_attempt *starts;  /* the same */
};

static inline void attempt_ended(struct attempt *attempt) {
    struct loop_attempt *own = (struct loop_attempt *)(void *)attempt;
    struct transport_port *port = client_port(own->loop->client);
    own->ended++;
    own->loop->ended++;
    if (own->cancels != NULL)
        port->cancel(port, &own->cancels->attempt);
    if (own->starts != NULL)
        port->start(port, &own->starts->attempt);
}

static inline void loop_init_with(struct loop *loop, const struct client_options *options) {
    *loop = (struct loop){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    assert_true(loop->epoll >= 0);
    loop->client = client_new(loop->epoll, options);
    assert_non_null(loop->client);
}

/* With a client that may call the loopback. */
static inline void loop_init(struct loop *loop) {
    struct cidr allow[2];
    assert_true(cidr_parse("127.0.0.0/8", &allow[0]) && cidr_parse("::1", &allow[1]));
    loop_init_with(loop, &(struct client_options){.allow = allow, .allow_count = 2});
}

static inline void loop_clean_up(struct loop *loop) {
    assert_int_equal(client_under_way(loop->client), 0);
    client_destroy(loop->client);
    close(loop->epoll);
}

static inline lull_time monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (lull_time)now.tv_sec * LULL_SECOND + now.tv_nsec;
}

static inline void loop_turn(struct loop *loop) {
    struct epoll_event events[16];
    lull_time next = client_next(loop->client), now = monotonic();
    int wait = 20000; /* something is wrong if nothing happens for so long */
    if (next <= now)
        wait = 0;
    else if (next != LULL_NEVER && (next - now) / LULL_MILLISECOND < wait)
        wait = (int)((next - now) / LULL_MILLISECOND) + 1;
    int count = epoll_wait(loop->epoll, events, COUNT(events), wait);
    if (count == 0 && wait == 20000)
        fail_msg("nothing happens");
    for (int i = 0; i < count; i++) {
        assert_true(client_owns(events[i].data.u64));
        client_ready(loop->client, events[i].data.u64, events[i].events);
    }
    client_turn(loop->client);
}

static inline void loop_run(struct loop *loop, int ended) {
    while (loop->ended < ended)
        loop_turn(loop);
    assert_int_equal(loop->ended, ended);
}

static inline void loop_start(struct loop *loop, struct loop_attempt *own, struct target *target,
                              struct message *message) {
    int before = loop->ended;
    *own = (struct loop_attempt){
        .attempt = {.target = target,
                    .message = message,
                    .number = 1,
                    .timeout = LULL_NEVER,
                    .ended = attempt_ended},
        .loop = loop,
    };
    own->attempt.record.number = 77; /* not the client's to change */
    client_port(loop->client)->start(client_port(loop->client), &own->attempt);
    assert_int_equal(loop->ended, before);
}

/* ---- what is sent, and where to ---- */

static inline struct target *target_of(const char *url, const char *headers) {
    static struct destination_settings settings;
    static const struct target_secret none[TARGET_SECRETS];
    memset(&settings, 0, sizeof settings);
    snprintf(settings.name, sizeof settings.name, "shop");
    snprintf(settings.url, sizeof settings.url, "%s", url);
    struct target *target = target_new(&settings, none);
    assert_non_null(target);
    free(target->headers);
    target->headers = strdup(headers);
    return target;
}

static inline struct message *message_of(const char *content_type, const char *headers,
                                         const char *payload, size_t length) {
    struct message *message = message_new(&(struct message_parts){
        .content_type = content_type,
        .content_type_length = strlen(content_type),
        .headers = headers,
        .headers_length = strlen(headers),
        .payload = payload,
        .payload_length = length,
    });
    assert_non_null(message);
    message->id = 513;
    return message;
}

/* One attempt at a URL, from start to end. Free its excerpt. */
static inline struct attempt call(struct loop *loop, const char *url, lull_duration timeout) {
    struct loop_attempt own;
    struct target *target = target_of(url, "");
    struct message *message = message_of("application/json", "", "{}", 2);
    target->timeout = timeout;
    loop_start(loop, &own, target, message);
    loop_run(loop, loop->ended + 1);
    target_release(target);
    message_release(message);
    assert_int_equal(own.ended, 1);
    assert_int_equal(own.attempt.record.number, 77);
    assert_int_equal(own.attempt.record.class_, own.attempt.outcome.class_);
    assert_true(own.attempt.record.took >= 0 && own.attempt.record.began > 0);
    assert_null(own.attempt.transport_data);
    return own.attempt;
}

#endif
