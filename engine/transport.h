/* The transport: a port. Makes one attempt to hand a message to a target, and tells how it went.
 *
 *   transport->start(transport, attempt);       … later, on the same thread, never from within start:
 *   attempt->ended(attempt);                    with the answer filled in
 *
 * It always ends, at the latest a little after its time-out. */
#ifndef ENGINE_TRANSPORT_H
#define ENGINE_TRANSPORT_H

#include "store.h"

#define TARGET_SECRETS 2

/* Where to and how: immutable and counted, for a change of settings makes a new one while attempts under way keep theirs. */
struct target {
    LULL_ATOMIC(uint32_t) references;
    char name[DESTINATION_NAME_LONGEST + 1];
    char *url;
    char *headers; /* of the operator's, each "name: value\n"; "" if none */
    /* Signing keys, decoded; the first is the newest. */
    struct {
        unsigned char *bytes;
        size_t length;   /* 0: none */
        lull_time until; /* LULL_NEVER, or when it is no longer used */
    } secrets[TARGET_SECRETS];
    lull_duration connect_timeout, timeout; /* of an attempt; > 0 */
    void *transport_data;                   /* the adapter's own, freed by free_transport_data */
    void (*free_transport_data)(void *);
};

struct target *target_share(struct target *target);
void target_release(struct target *target); /* NULL is fine */

struct attempt {
    struct target *target;         /* borrowed until it has ended */
    const struct message *message; /* the same */
    uint32_t number;               /* of this run, from 1 */
    lull_duration timeout;
    void (*ended)(struct attempt *attempt);
    void *transport_data; /* while under way */
    /* The answer: */
    struct lull_outcome outcome;
    bool gone; /* 410: the destination is not to be used any more */
    struct attempt_record
        record; /* but for its number; the excerpt becomes the attempt's owner's, to be freed */
};

struct transport_port {
    void (*start)(struct transport_port *port, struct attempt *attempt);
    /* Ends it soon, as cancelled. */
    void (*cancel)(struct transport_port *port, struct attempt *attempt);
};

#endif
