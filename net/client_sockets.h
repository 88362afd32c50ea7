/* Which sockets of the client's are in the worker's epoll, and for what.
 *
 * libcurl takes a socket away when a transfer is over and gives it back for the next one on the same connection. Following that to the letter
 * costs two system calls a request; so an idle connection stays where it is, and leaves when it has something to say (it was closed) or is
 * closed. That needs to know of every close, or a new socket with an old number would be taken for one that is in there already. Hence it
 * is done only for sockets that were opened and are closed here; libcurl's others (the resolver's) are followed to the letter. */
#ifndef NET_CLIENT_SOCKETS_H
#define NET_CLIENT_SOCKETS_H

#include <lull/base.h>

struct socket_slot {
    uint8_t ours;        /* opened by sockets_open */
    uint8_t asked;       /* libcurl wants to hear of it */
    uint32_t registered; /* EPOLLIN, EPOLLOUT; 0: not in the epoll */
};

struct sockets {
    int epoll;
    uint64_t tag;              /* of the events' data; the descriptor is or-ed to it */
    struct socket_slot *slots; /* by descriptor */
    size_t count;
};

void sockets_init(struct sockets *sockets, int epoll, uint64_t tag);
void sockets_clean_up(struct sockets *sockets);

int sockets_open(struct sockets *sockets, int family, int type, int protocol); /* -1: errno */
int sockets_close(struct sockets *sockets, int descriptor);
/* Wants to hear of these events from now on; 0: none. */
void sockets_watch(struct sockets *sockets, int descriptor, uint32_t events);
/* It is ready. False: nobody asked, nothing is to be done. */
bool sockets_ready(struct sockets *sockets, int descriptor);

#endif
