/* A receiver that costs little and can tell how long events took: they begin with the moment at which they were due (see load.c).
 *
 *   sink --port 9000            answers everything with 200
 *   sink --port 9000 --hang     reads everything and never answers: a destination that is worse than dead
 *
 *   GET /report     {"received":N,"p50_ms":…,"p99_ms":…,"max_ms":…} of what came since the last report
 */
#include "histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define STAMP_DIGITS 20
#define ROOM (1 << 16)

struct connection {
    int socket;
    size_t length;
    char bytes[ROOM + 1];
};

struct sink {
    int epoll, listener;
    bool hang;
    struct histogram times;
    uint64_t received;
};

static _Noreturn void die(const char *what) {
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void observe(struct sink *sink, const char *body, size_t length) {
    char digits[STAMP_DIGITS + 1];
    char *end;
    sink->received++;
    if (length < STAMP_DIGITS)
        return;
    memcpy(digits, body, STAMP_DIGITS);
    digits[STAMP_DIGITS] = '\0';
    int64_t due = strtoll(digits, &end, 10);
    if (*end == '\0')
        histogram_add(&sink->times, now_ns() - due);
}

static size_t report(struct sink *sink, char *answer, size_t size) {
    char body[300];
    int length = snprintf(body, sizeof body,
                          "{\"received\":%" PRIu64 ",\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
                          "\"max_ms\":%.3f}\n",
                          sink->received, (double)histogram_quantile(&sink->times, 0.5) / 1e6,
                          (double)histogram_quantile(&sink->times, 0.99) / 1e6,
                          (double)sink->times.largest / 1e6);
    sink->received = 0;
    sink->times = (struct histogram){0};
    return (size_t)snprintf(answer, size, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length,
                            body);
}

/* Takes one request off the connection. False: it has not all arrived. */
static bool take(struct sink *sink, struct connection *connection) {
    char answer[500];
    connection->bytes[connection->length] = '\0';
    char *end = memmem(connection->bytes, connection->length, "\r\n\r\n", 4);
    if (end == NULL)
        return false;
    const char *field = strcasestr(connection->bytes, "\r\ncontent-length:");
    size_t body = field != NULL && field < end
                      ? strtoull(field + strlen("\r\ncontent-length:"), NULL, 10)
                      : 0;
    size_t whole = (size_t)(end + 4 - connection->bytes) + body;
    if (connection->length < whole)
        return false;
    size_t length;
    if (strncmp(connection->bytes, "GET /report", strlen("GET /report")) == 0) {
        length = report(sink, answer, sizeof answer);
    } else {
        observe(sink, end + 4, body);
        length =
            (size_t)snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    if (send(connection->socket, answer, length, MSG_NOSIGNAL) != (ssize_t)length)
        connection->length = whole; /* it has gone away: so will we, at the next read */
    connection->length -= whole;
    memmove(connection->bytes, connection->bytes + whole, connection->length);
    return true;
}

static void hang_up(struct connection *connection) {
    close(connection->socket);
    free(connection);
}

static void serve(struct sink *sink, struct connection *connection) {
    ssize_t count = recv(connection->socket, connection->bytes + connection->length,
                         ROOM - connection->length, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        hang_up(connection);
        return;
    }
    if (sink->hang)
        return;
    connection->length += (size_t)count;
    while (take(sink, connection))
        ;
    if (connection->length == ROOM)
        hang_up(connection); /* no request of ours is that long */
}

static void welcome(struct sink *sink) {
    int yes = 1;
    int socket = accept4(sink->listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0)
        return;
    struct connection *connection = malloc(sizeof *connection);
    if (connection == NULL)
        die("memory");
    connection->socket = socket;
    connection->length = 0;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(sink->epoll, EPOLL_CTL_ADD, socket, &event) != 0)
        die("epoll_ctl");
}

static void listen_on(struct sink *sink, uint16_t port) {
    int yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    sink->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(sink->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (sink->listener < 0 ||
        bind(sink->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(sink->listener, 1024) != 0)
        die("listen");
    sink->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(sink->epoll, EPOLL_CTL_ADD, sink->listener, &event) != 0)
        die("epoll_ctl");
}

int main(int count, char **arguments) {
    static struct sink sink;
    uint16_t port = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--hang") == 0)
            sink.hang = true;
        else if (strcmp(arguments[i], "--port") == 0 && i + 1 < count)
            port = (uint16_t)strtoul(arguments[++i], NULL, 10);
        else
            port = 0;
    }
    if (port == 0) {
        fputs("usage: sink --port PORT [--hang]\n", stderr);
        return 2;
    }
    listen_on(&sink, port);
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(sink.epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == NULL)
                welcome(&sink);
            else
                serve(&sink, events[i].data.ptr);
        }
    }
}
