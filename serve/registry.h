/* The registry: which destinations there are, for all workers.
 *
 * A `struct destination` is one version of a destination: immutable and counted. A change puts a new version in its place; who holds the old
 * one may finish with it. What changes all the time (state, backlog, circuit) is in its lane, which all versions share.
 *
 * Any thread may call anything; look-ups take a read lock for a moment. */
#ifndef SERVE_REGISTRY_H
#define SERVE_REGISTRY_H

#include "config/destination.h"
#include "engine/lane.h"

struct destination {
    LULL_ATOMIC(uint32_t) references;
    struct destination_row
        row; /* its texts are the destination's own; `state` and the totals are of the time it was made */
    struct destination_settings settings;
    struct lane *lane; /* one reference */
    uint32_t worker;   /* whose lane it is */
};

/* Copies the row's texts and the settings; takes a reference of the lane. NULL: out of memory. */
struct destination *destination_new(const struct destination_row *row,
                                    const struct destination_settings *settings, struct lane *lane,
                                    uint32_t worker);
struct destination *destination_share(struct destination *destination);
void destination_release(struct destination *destination); /* NULL is fine */

/* Now, whatever version this is. */
static inline enum destination_state destination_state(const struct destination *destination) {
    return (enum destination_state)atomic_load_explicit(&destination->lane->stats.state,
                                                        memory_order_relaxed);
}

struct registry;

struct registry *registry_new(void);
void registry_destroy(struct registry *registry);

/* NULL, or one reference, the caller's. */
struct destination *registry_find(struct registry *registry, const char *name);
struct destination *registry_find_id(struct registry *registry, int64_t id);
/* Those that take events of this type and are not disabled, by name; at most `room`. How many there are. Each is one reference, the caller's. */
uint32_t registry_match(struct registry *registry, const char *type, struct destination **found,
                        uint32_t room);
/* All of them by name, from the first name after `after` on (NULL: from the start). How many were given; each one reference. */
uint32_t registry_list(struct registry *registry, const char *after, struct destination **found,
                       uint32_t room);
uint32_t registry_count(struct registry *registry);

/* Adds it, or replaces the version with the same id. The reference is taken. LULL_ENOMEM; LULL_EINVAL if a newer one has its name. An older one
 * of that name makes room: in the store names are unique, so that one is gone from there, and the news of it is still on its way. */
LULL_MUST_USE int registry_put(struct registry *registry, struct destination *destination);
void registry_remove(struct registry *registry, int64_t id);

#endif
