#include "memory_private.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *text) {
    return text == NULL ? NULL : memory_must(strdup(text));
}

/* With texts of its own. */
static struct destination_row copy_row(const struct destination_row *row) {
    struct destination_row copied = *row;
    copied.settings = copy(row->settings);
    copied.secret = copy(row->secret);
    copied.previous_secret = copy(row->previous_secret);
    return copied;
}

int memory_clock(struct store_memory *self, struct store_clock *clock) {
    struct memory_destination *destination = memory_live(self, clock->destination);
    if (destination == NULL)
        return STORE_ABSENT;
    destination->row.blocked_until = clock->blocked_until;
    destination->row.state = clock->state;
    return LULL_OK;
}

int memory_destinations(struct store_memory *self, struct store_destinations *destinations) {
    destinations->count = 0;
    destinations->newest = places_newest(&self->places);
    destinations->rows =
        memory_must(calloc(self->destinations.count + 1, sizeof *destinations->rows));
    for (struct ordered_node *node = self->destinations.first[0]; node; node = node->next[0]) {
        const struct memory_destination *destination = node->value;
        if (!destination->removed)
            destinations->rows[destinations->count++] = copy_row(&destination->row);
    }
    return LULL_OK;
}

static struct memory_destination *find_name(struct store_memory *self, const char *name) {
    for (struct ordered_node *node = self->destinations.first[0]; node; node = node->next[0]) {
        struct memory_destination *destination = node->value;
        if (!destination->removed && strcmp(destination->row.name, name) == 0)
            return destination;
    }
    return NULL;
}

static void create(struct store_memory *self, struct store_put *put) {
    struct memory_destination *destination = memory_must(calloc(1, sizeof *destination));
    if (put->row.created == 0)
        put->row.created = self->now;
    put->row.id = ++self->last_destination;
    put->created = true;
    destination->row = copy_row(&put->row);
    destination->row.pending[0] = destination->row.pending[1] = 0;
    destination->row.dead = destination->row.delivered = 0;
    memory_add(&self->destinations, by_id(put->row.id), destination);
}

static void replace(struct memory_destination *destination, const struct destination_row *row) {
    struct destination_row old = destination->row;
    destination->row = copy_row(row);
    destination->row.blocked_until = old.blocked_until;
    destination->row.state = old.state;
    memcpy(destination->row.pending, old.pending, sizeof old.pending);
    destination->row.dead = old.dead;
    destination->row.delivered = old.delivered;
    destination_row_clean_up(&old);
}

int memory_put(struct store_memory *self, struct store_put *put) {
    put->created = false;
    struct memory_destination *namesake = find_name(self, put->row.name);
    struct memory_destination *destination = memory_live(self, put->row.id);
    if (put->row.id != 0 && destination == NULL)
        return STORE_ABSENT;
    if (namesake != NULL && namesake != destination)
        return STORE_EXISTS;
    if (destination == NULL)
        create(self, put);
    else
        replace(destination, &put->row);
    return LULL_OK;
}

int memory_remove(struct store_memory *self, struct store_remove *remove) {
    remove->pending = remove->dead = 0;
    struct memory_destination *destination = memory_live(self, remove->destination);
    if (destination == NULL)
        return STORE_ABSENT;
    remove->pending = destination->row.pending[0] + destination->row.pending[1];
    remove->dead = destination->row.dead;
    if (!remove->force && remove->pending + remove->dead > 0)
        return STORE_NOT_EMPTY;
    destination->removed = true;
    for (struct ordered_node *node = self->replays.first[0]; node; node = node->next[0]) {
        struct replay_row *row = &((struct memory_replay *)node->value)->row;
        if (row->destination == remove->destination && row->state == REPLAY_RUNNING) {
            row->state = REPLAY_CANCELLED;
            row->ended = self->now;
        }
    }
    return LULL_OK;
}
