/* A listening socket that can be taken away and put back.
 *
 * While it is away the kernel refuses connections, as it does when a service is down. A second
 * socket stays bound to the same port all the time and never listens: so nobody else gets the
 * port meanwhile, and no client on this machine is given it as its own end of a connection, with
 * which it would be talking to itself.
 */
#ifndef FLAKY_LISTENER_H
#define FLAKY_LISTENER_H

#include "problem.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct listener {
    struct sockaddr_storage address; /* with the port chosen, once open */
    socklen_t address_size;
    int placeholder;                 /* bound, never listening; -1: not open */
    int socket;                      /* listening; -1: connections are refused */
    char url[INET6_ADDRSTRLEN + 32]; /* "http://127.0.0.1:9000" */
};

/* Takes ADDR:PORT, [ADDR]:PORT with IPv6, or a host's name for ADDR. Opens nothing. */
bool listener_init(struct listener *listener, const char *text, struct problem *problem);

/* Binds and listens. Port 0 becomes a free one. */
bool listener_open(struct listener *listener, struct problem *problem);
void listener_clean_up(struct listener *listener);

void listener_refuse(struct listener *listener);
bool listener_accept_again(struct listener *listener); /* false: try again later */

#endif
