/* One attempt on its way: an easy handle of libcurl's and what belongs to it. Handles are used again and again, most of their options being set once. */
#ifndef NET_CLIENT_TRANSFER_H
#define NET_CLIENT_TRANSFER_H

#include "address.h"
#include "client_request.h"
#include "client_sockets.h"

/* What all transfers of a client share. */
struct transfer_settings {
    struct sockets sockets;
    struct cidr *allow;
    uint32_t allow_count;
    char *ca_file; /* NULL: the system's */
};

struct transfer {
    CURL *easy;
    struct transfer_settings *settings;
    struct attempt *attempt;
    struct transfer *next, *previous; /* of those under way, those over, or those spare */
    uint64_t serial;                  /* of the target whose URL is set */
    lull_time began_wall, began;      /* the latter monotonic */
    lull_duration timeout, connect_timeout;
    CURLcode result; /* once it is over */
    bool running;    /* with libcurl */
    bool cancelled;
    bool opened;            /* a socket to an address that may be called */
    const char *refused_as; /* "private": one to an address that may not; NULL: none */
    char refused[ADDRESS_TEXT_SIZE];
    size_t received;               /* bytes of the answer's body */
    char body[EXCERPT_LONGEST];    /* the first of them */
    char trouble[CURL_ERROR_SIZE]; /* in libcurl's words */
    struct request request;
};

/* NULL: out of memory. */
struct transfer *transfer_new(struct transfer_settings *settings);
void transfer_destroy(struct transfer *transfer);

/* Makes it ready to be given to libcurl. False: out of memory. */
LULL_MUST_USE bool transfer_prepare(struct transfer *transfer, struct attempt *attempt,
                                    lull_time now, lull_time wall);

/* It is over: fills in the attempt's answer. */
void transfer_conclude(struct transfer *transfer, lull_time now, lull_time wall);

#endif
