#include "registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct registry {
    pthread_rwlock_t lock;
    struct destination **by_name, **by_id; /* the same, sorted either way */
    uint32_t count, room;
};

/* ---- destinations ---- */

static char *copy(const char *text, bool *failed) {
    char *copied = text != NULL ? strdup(text) : NULL;
    *failed |= text != NULL && copied == NULL;
    return copied;
}

struct destination *destination_new(const struct destination_row *row,
                                    const struct destination_settings *settings, struct lane *lane,
                                    uint32_t worker) {
    struct destination *destination = calloc(1, sizeof *destination);
    bool failed = false;
    if (destination == NULL)
        return NULL;
    atomic_store(&destination->references, 1);
    destination->row = *row;
    destination->row.settings = copy(row->settings, &failed);
    destination->row.secret = copy(row->secret, &failed);
    destination->row.previous_secret = copy(row->previous_secret, &failed);
    destination->settings = *settings;
    destination->lane = lane_share(lane);
    destination->worker = worker;
    if (failed) {
        destination_release(destination);
        return NULL;
    }
    return destination;
}

struct destination *destination_share(struct destination *destination) {
    atomic_fetch_add_explicit(&destination->references, 1, memory_order_relaxed);
    return destination;
}

void destination_release(struct destination *destination) {
    if (destination == NULL ||
        atomic_fetch_sub_explicit(&destination->references, 1, memory_order_acq_rel) > 1)
        return;
    destination_row_clean_up(&destination->row);
    lane_release(destination->lane);
    free(destination);
}

/* ---- the registry ---- */

struct registry *registry_new(void) {
    struct registry *registry = calloc(1, sizeof *registry);
    if (registry != NULL)
        pthread_rwlock_init(&registry->lock, NULL);
    return registry;
}

void registry_destroy(struct registry *registry) {
    if (registry == NULL)
        return;
    for (uint32_t i = 0; i < registry->count; i++)
        destination_release(registry->by_name[i]);
    pthread_rwlock_destroy(&registry->lock);
    free(registry->by_name);
    free(registry->by_id);
    free(registry);
}

/* The first index whose name is not before `name`. */
static uint32_t name_place(const struct registry *registry, const char *name) {
    uint32_t low = 0, high = registry->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (strcmp(registry->by_name[middle]->row.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t id_place(const struct registry *registry, int64_t id) {
    uint32_t low = 0, high = registry->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (registry->by_id[middle]->row.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool name_at(const struct registry *registry, uint32_t place, const char *name) {
    return place < registry->count && strcmp(registry->by_name[place]->row.name, name) == 0;
}

static bool id_at(const struct registry *registry, uint32_t place, int64_t id) {
    return place < registry->count && registry->by_id[place]->row.id == id;
}

struct destination *registry_find(struct registry *registry, const char *name) {
    pthread_rwlock_rdlock(&registry->lock);
    uint32_t place = name_place(registry, name);
    struct destination *found =
        name_at(registry, place, name) ? destination_share(registry->by_name[place]) : NULL;
    pthread_rwlock_unlock(&registry->lock);
    return found;
}

struct destination *registry_find_id(struct registry *registry, int64_t id) {
    pthread_rwlock_rdlock(&registry->lock);
    uint32_t place = id_place(registry, id);
    struct destination *found =
        id_at(registry, place, id) ? destination_share(registry->by_id[place]) : NULL;
    pthread_rwlock_unlock(&registry->lock);
    return found;
}

static bool takes(const struct destination *destination, const char *type) {
    if (destination_state(destination) == DESTINATION_DISABLED)
        return false;
    for (uint32_t i = 0; i < destination->settings.type_count; i++)
        if (type_matches(destination->settings.types[i].pattern, type))
            return true;
    return false;
}

uint32_t registry_match(struct registry *registry, const char *type, struct destination **found,
                        uint32_t room) {
    uint32_t count = 0;
    pthread_rwlock_rdlock(&registry->lock);
    for (uint32_t i = 0; i < registry->count && count < room; i++)
        if (takes(registry->by_name[i], type))
            found[count++] = destination_share(registry->by_name[i]);
    pthread_rwlock_unlock(&registry->lock);
    return count;
}

uint32_t registry_list(struct registry *registry, const char *after, struct destination **found,
                       uint32_t room) {
    uint32_t count = 0;
    pthread_rwlock_rdlock(&registry->lock);
    uint32_t place = after != NULL ? name_place(registry, after) : 0;
    if (after != NULL && name_at(registry, place, after))
        place++;
    while (place < registry->count && count < room)
        found[count++] = destination_share(registry->by_name[place++]);
    pthread_rwlock_unlock(&registry->lock);
    return count;
}

uint32_t registry_count(struct registry *registry) {
    pthread_rwlock_rdlock(&registry->lock);
    uint32_t count = registry->count;
    pthread_rwlock_unlock(&registry->lock);
    return count;
}

static bool make_room(struct registry *registry) {
    if (registry->count < registry->room)
        return true;
    uint32_t room = registry->room > 0 ? 2 * registry->room : 64;
    struct destination **by_name =
        reallocarray(registry->by_name, room, sizeof(struct destination *));
    if (by_name == NULL)
        return false;
    registry->by_name = by_name;
    struct destination **by_id = reallocarray(registry->by_id, room, sizeof(struct destination *));
    if (by_id == NULL)
        return false;
    registry->by_id = by_id;
    registry->room = room;
    return true;
}

static void insert(struct destination **list, uint32_t count, uint32_t place,
                   struct destination *destination) {
    memmove(list + place + 1, list + place, (count - place) * sizeof(struct destination *));
    list[place] = destination;
}

static void cut(struct destination **list, uint32_t count, uint32_t place) {
    memmove(list + place, list + place + 1, (count - place - 1) * sizeof(struct destination *));
}

static struct destination *take_out(struct registry *registry, int64_t id) {
    uint32_t place = id_place(registry, id);
    if (!id_at(registry, place, id))
        return NULL;
    struct destination *destination = registry->by_id[place];
    cut(registry->by_id, registry->count, place);
    cut(registry->by_name, registry->count, name_place(registry, destination->row.name));
    registry->count--;
    return destination;
}

int registry_put(struct registry *registry, struct destination *destination) {
    int result = LULL_OK;
    struct destination *old = NULL, *namesake = NULL;
    pthread_rwlock_wrlock(&registry->lock);
    uint32_t place = name_place(registry, destination->row.name);
    int64_t holder = name_at(registry, place, destination->row.name)
                         ? registry->by_name[place]->row.id
                         : destination->row.id;
    if (holder > destination->row.id) {
        result = LULL_EINVAL;
    } else if (!make_room(registry)) {
        result = LULL_ENOMEM;
    } else {
        if (holder != destination->row.id)
            namesake = take_out(registry, holder);
        old = take_out(registry, destination->row.id);
        insert(registry->by_name, registry->count, name_place(registry, destination->row.name),
               destination);
        insert(registry->by_id, registry->count, id_place(registry, destination->row.id),
               destination);
        registry->count++;
    }
    pthread_rwlock_unlock(&registry->lock);
    destination_release(namesake);
    destination_release(result == LULL_OK ? old : destination);
    return result;
}

void registry_remove(struct registry *registry, int64_t id) {
    pthread_rwlock_wrlock(&registry->lock);
    struct destination *old = take_out(registry, id);
    pthread_rwlock_unlock(&registry->lock);
    destination_release(old);
}
