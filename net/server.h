/* The HTTP server of one worker, behind the exchanges of http.h.
 *
 * It has no thread and no loop of its own: it puts two descriptors into the worker's epoll set and
 * does everything inside http_server_run, which the worker calls once per turn of its loop:
 *
 *     for (;;) {
 *         count = epoll_wait(epoll, events, …, until http_server_next(server));
 *         for each event: if (event.data.ptr == tag) http_server_ready(server, event.events);
 *         …                                    exchange_answer for whatever has become ready
 *         http_server_run(server, now);        answers leave, requests arrive: calls `handle`
 *     }
 *
 * Several workers serve one port: http_listen opens a socket for each, and the kernel spreads the
 * connections over them. All calls for one server come from one thread, exchange_answer included.
 * SIGPIPE is to be ignored by the process.
 *
 * What a client can do wrong, and what it costs us, with idle = 60 s, request = 30 s:
 *
 *     no request, or a header byte by byte    closed 60 s after the connection or its last answer
 *     a body byte by byte                     408 and closed 30 s after its header
 *     an answer that is not read              closed 30 s after it was ready
 *     a body of 100 MB where 1 MB is allowed  413 as soon as that is known; closed
 *     many large bodies at once               503 for those that would be more than 256 MiB together
 *     a header of more than about 12 KiB      431 (or 414), closed
 *     more connections than allowed           the one idle for longest makes room; if all are
 *                                             busy, newcomers wait in the kernel's queue
 *     Content-Length twice, or beside Transfer-Encoding, an encoding other than chunked, Host twice,
 *     control characters in a field or a line break, %00 in the query: 400, closed
 *     leaving before the answer               the answer goes nowhere
 *
 * The time-outs are not extended by a client that drips, and cost the same however many wait: the
 * connections that wait for the same thing are in one line, in the order of their deadlines.
 *
 * Errors that the server finds itself are problem+json, as docs/http.md says; those that
 * libmicrohttpd finds (a request that cannot be parsed) are short pages of its own.
 */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "http.h"
#include "problem.h"

/* "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535" fits. */
enum { HTTP_ADDRESS_SIZE = 64 };

/* Opens `count` listening sockets on "127.0.0.1:8080", "[::1]:8080", "host:8080" or ":8080" (all
 * IPv4 addresses). Port 0 is any free port, the same for all of them. `address` says where they listen,
 * "127.0.0.1:8080". A port that somebody listens on already is refused, even by another lull.
 * False: nothing is open, and the problem says why. */
bool http_listen(const char *text, size_t count, int sockets[], char address[HTTP_ADDRESS_SIZE],
                 struct problem *problem);

struct http_server;

struct http_server_options {
    int epoll;               /* the worker's; borrowed */
    void *tag;               /* data.ptr of the events that are for http_server_ready */
    int socket;              /* from http_listen; taken, also if the server cannot be made */
    const char *certificate; /* PEM files, read once; NULL: no TLS */
    const char *key;         /* NULL: it is in the certificate's file, too */
    uint32_t connections;    /* at most; 0: HTTP_CONNECTIONS */
    size_t bodies;      /* bytes of all bodies at once; 0: HTTP_BODIES. Small ones do not count */
    lull_duration idle; /* for a header to be complete; 0: HTTP_IDLE */
    lull_duration request; /* for a body to be complete, and for an answer to be read; 0: … */

    void *context; /* for both: */
    /* How many bytes the body of this request may have. Its header is there; the body is not. */
    int64_t (*limit)(void *context, const struct exchange *exchange);
    /* A request is complete. See http.h. */
    void (*handle)(void *context, struct exchange *exchange);
};

#define HTTP_CONNECTIONS 10000
#define HTTP_BODIES ((size_t)256 << 20)
#define HTTP_IDLE (60 * LULL_SECOND)
#define HTTP_REQUEST (30 * LULL_SECOND)

/* NULL: the problem says why. */
struct http_server *http_server_new(const struct http_server_options *options,
                                    struct problem *problem);

/* The loop saw an event with the tag. Cheap; the work is left to http_server_run. */
void http_server_ready(struct http_server *server, uint32_t events);

/* Once per turn, after whatever else the turn does. `now` never goes back. */
void http_server_run(struct http_server *server, lull_time now);

/* When http_server_run is to be called even if no event comes. May have passed already. */
lull_time http_server_next(const struct http_server *server);

/* The drain begins: connections are no longer accepted, idle ones are closed, and each other one
 * is closed after the answer to its request. Done when http_server_connections is 0. */
void http_server_quiesce(struct http_server *server);

/* How many connections are open; how many exchanges are with the handler, unanswered. */
size_t http_server_connections(const struct http_server *server);
size_t http_server_exchanges(const struct http_server *server);

/* Closes all connections. Exchanges that were not answered are gone: not to be touched again. */
void http_server_destroy(struct http_server *server);

#endif
