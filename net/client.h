/* The HTTP client of a worker: a transport (engine/transport.h) on libcurl's multi interface, within the worker's own epoll loop.
 *
 *   struct client *client = client_new(epoll, &(struct client_options){.allow = config.allow, .allow_count = config.allow_count});
 *   struct transport_port *port = client_port(client);
 *   for (;;) {
 *       int count = epoll_wait(epoll, events, …, until client_next(client));
 *       for (int i = 0; i < count; i++)
 *           if (client_owns(events[i].data.u64))
 *               client_ready(client, events[i].data.u64, events[i].events);
 *           else …
 *       client_turn(client);        attempts end here, and only here; new ones may be started from their `ended`
 *   }
 *
 * An attempt is one POST:
 *
 *   POST /hooks HTTP/1.1
 *   Host: shop.example
 *   User-Agent: lull/0.1.0
 *   Content-Type: application/json            as it came; application/octet-stream if it came with none
 *   traceparent: …                            the message's further fields
 *   webhook-id: evt_00000000000g1             the same for all attempts
 *   webhook-timestamp: 1772366400             of this attempt
 *   webhook-signature: v1,… v1,…              if the target has secrets
 *   Idempotency-Key: evt_00000000000g1
 *   Lull-Attempt: 2
 *   Lull-Deadline-Ms: 15000                   what is left for this attempt
 *   X-Team: payments                          the target's own fields: they win over all but webhook-…; an empty one takes ours away
 *
 * Fields about the connection (Content-Length, Transfer-Encoding, …) and such as hold control characters are not sent.
 *
 * How it ends, in `outcome` and `record`:
 *
 *   2xx             ok           the answer's body is read, up to a bound, and dropped
 *   3xx             permanent    "answered with a redirect to …, which is not followed"
 *   410             permanent    and `gone`
 *   other           lull_outcome_http with the answer's Retry-After; "status 503"; the first EXCERPT_LONGEST bytes are the excerpt
 *   no answer       lull_classify of libcurl's code; "connection refused", "no answer within 15s", "certificate: …"
 *   refused here    permanent    "the address 10.0.0.1 is private and not allowed; see addresses.allow" (address.h)
 *   called off      cancelled
 *
 * A body is read to its end, so that the connection can be used again, unless it is longer than CLIENT_BODY_LONGEST: then the connection is
 * closed, and the status decides as ever. A body that does not end in time is a time-out, whatever the status was.
 *
 * `record.began` is wall time; client_next is on CLOCK_MONOTONIC. Nothing follows redirects, reads a proxy from the environment, keeps cookies or
 * speaks anything but HTTP/1.1 with or without TLS (1.2 or later, verified). The name server is asked on threads of libcurl's; the loop never waits
 * for it.
 *
 * A client and its targets belong to one thread. The program ignores SIGPIPE. */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "address.h"
#include "transport.h"

#define CLIENT_CONNECTIONS 512                            /* idle ones kept at most */
#define CLIENT_BODY_LONGEST (EXCERPT_LONGEST + 64 * 1024) /* of an answer */

struct client_options {
    const struct cidr *allow; /* copied */
    uint32_t allow_count;
    const char *ca_file;  /* trusted instead of the system's; copied; NULL: the system's */
    uint32_t connections; /* 0: CLIENT_CONNECTIONS */
};

struct client;

/* `epoll` is borrowed. NULL: out of memory, or the CA file cannot be read. */
struct client *client_new(int epoll, const struct client_options *options);
/* Attempts that are under way just stop: `ended` is not called for them. NULL is fine. */
void client_destroy(struct client *client);

/* Other addresses may be called from now on; connections to those that may not any more end. False: out of memory, nothing has changed. */
bool client_allow(struct client *client, const struct cidr *allow, uint32_t count);

struct transport_port *client_port(struct client *client);
uint32_t client_under_way(const struct client *client);

/* Events of the client's have such data: no pointer and no small number looks like it. */
#define CLIENT_EVENT (UINT64_C(0xC11E) << 48)
static inline bool client_owns(uint64_t data) {
    return data >> 48 == CLIENT_EVENT >> 48;
}

/* One of its sockets is ready. */
void client_ready(struct client *client, uint64_t data, uint32_t events);
/* At the end of each turn of the loop: does what is due and ends attempts that are over. */
void client_turn(struct client *client);
/* When client_turn has something to do even if no socket becomes ready; LULL_NEVER: nothing. */
lull_time client_next(const struct client *client);

#endif
