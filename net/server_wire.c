#include "server_parts.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGERERS_MOST = 256, LINGER_MOST = 1 << 20 };
#define LINGER_TIME (2 * LULL_SECOND)

struct lingerer {
    struct watch watch;
    int socket;
    size_t left; /* bytes that are thrown away at most */
    lull_time deadline;
    TAILQ_ENTRY(lingerer) link;
};

/* -- answers by hand -- */

/* What does not fit into the socket's buffer is not sent: the connection is closed anyway. */
static void push(const struct http_server *server, const struct connection *connection,
                 const char *text, size_t size) {
    if (server->tls) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection->http, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        ssize_t sent = gnutls_record_send((gnutls_session_t)info->tls_session, text, size);
        (void)sent;
        return;
    }
    ssize_t sent = send(connection->socket, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
}

void wire_send_refusal(const struct http_server *server, struct connection *connection,
                       const struct refusal *refusal) {
    char body[REFUSAL_SIZE], text[REFUSAL_SIZE + 256];
    size_t length = http_refusal_write(refusal, body);
    int size = snprintf(text, sizeof text,
                        "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        refusal->status, refusal->title, length, body);
    push(server, connection, text, (size_t)size);
}

bool wire_pending(const struct connection *connection) {
    char byte;
    return recv(connection->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* -- lingering -- */

static void linger_end(struct http_server *server, struct lingerer *lingerer) {
    close(lingerer->socket);
    TAILQ_REMOVE(&server->lingerers, lingerer, link);
    server->lingerer_count--;
    free(lingerer);
}

void linger_start(struct http_server *server, int socket) {
    struct lingerer *lingerer =
        server->lingerer_count < LINGERERS_MOST ? malloc(sizeof *lingerer) : NULL;
    /* The set would keep the connection's entry as long as the copy is open. */
    epoll_ctl(server->watch, EPOLL_CTL_DEL, socket, NULL);
    if (lingerer == NULL)
        return;
    *lingerer = (struct lingerer){
        .watch.kind = WATCH_LINGERER,
        .socket = dup(socket),
        .left = LINGER_MOST,
        .deadline = server->now + LINGER_TIME,
    };
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = lingerer};
    TAILQ_INSERT_TAIL(&server->lingerers, lingerer, link);
    server->lingerer_count++;
    if (lingerer->socket < 0 || shutdown(lingerer->socket, SHUT_WR) != 0 ||
        epoll_ctl(server->watch, EPOLL_CTL_ADD, lingerer->socket, &event) != 0)
        linger_end(server, lingerer);
}

void linger_read(struct http_server *server, struct lingerer *lingerer) {
    /* MSG_TRUNC: thrown away without being copied. */
    ssize_t got = recv(lingerer->socket, NULL, lingerer->left, MSG_TRUNC | MSG_DONTWAIT);
    if (got > 0)
        lingerer->left -= (size_t)got;
    if (got <= 0 || lingerer->left == 0)
        linger_end(server, lingerer);
}

void linger_expire(struct http_server *server, lull_time now) {
    struct lingerer *lingerer = TAILQ_FIRST(&server->lingerers);
    while (lingerer != NULL && lingerer->deadline <= now) {
        struct lingerer *next = TAILQ_NEXT(lingerer, link);
        linger_end(server, lingerer);
        lingerer = next;
    }
}

lull_time linger_next(const struct http_server *server) {
    const struct lingerer *lingerer = TAILQ_FIRST(&server->lingerers);
    return lingerer == NULL ? LULL_NEVER : lingerer->deadline;
}
