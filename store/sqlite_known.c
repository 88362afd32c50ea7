#include "sqlite_private.h"

#include <stdlib.h>
#include <string.h>

/* The first whose id is not less. There are seldom more than some hundreds. */
static size_t position_of(const struct store_sqlite *self, int64_t id) {
    size_t low = 0, high = self->destination_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (self->destinations[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct known_destination *known_destination(struct store_sqlite *self, int64_t id) {
    size_t at = position_of(self, id);
    return at < self->destination_count && self->destinations[at].id == id ? &self->destinations[at]
                                                                           : NULL;
}

struct known_destination *live_destination(struct store_sqlite *self, int64_t id) {
    struct known_destination *known = known_destination(self, id);
    return known == NULL || known->removed ? NULL : known;
}

const struct known_destination *known_after(const struct store_sqlite *self, int64_t id) {
    size_t at = position_of(self, id + 1);
    return at < self->destination_count ? &self->destinations[at] : NULL;
}

int64_t live_destination_after(const struct store_sqlite *self, int64_t id) {
    for (size_t i = position_of(self, id + 1); i < self->destination_count; i++)
        if (!self->destinations[i].removed)
            return self->destinations[i].id;
    return 0;
}

/* Ids come in order: from the file, and from AUTOINCREMENT. */
int known_add(struct store_sqlite *self, int64_t id) {
    if (self->destination_count == self->destination_room) {
        size_t room = self->destination_room * 2 + 16;
        void *grown = realloc(self->destinations, room * sizeof *self->destinations);
        if (grown == NULL) {
            memcpy(self->problem, "out of memory", sizeof "out of memory");
            return LULL_ESYSTEM;
        }
        self->destinations = grown;
        self->destination_room = room;
    }
    self->destinations[self->destination_count++] = (struct known_destination){.id = id};
    return LULL_OK;
}

void known_forget(struct store_sqlite *self, int64_t id) {
    size_t at = position_of(self, id);
    self->destination_count--;
    memmove(&self->destinations[at], &self->destinations[at + 1],
            (self->destination_count - at) * sizeof *self->destinations);
}

void count_deliveries(struct store_sqlite *self, int64_t destination, enum delivery_state state,
                      int64_t more) {
    struct known_destination *known = known_destination(self, destination);
    if (known == NULL)
        return;
    known->totals[state] += more;
    known->changed = true;
    self->totals_changed = true;
}

static int write_totals(struct store_sqlite *self, const struct known_destination *known) {
    return RUN(self, STATEMENT_SET_TALLY, known->id, known->totals[DELIVERY_FRESH],
               known->totals[DELIVERY_RETRY], known->totals[DELIVERY_DELIVERED],
               known->totals[DELIVERY_DEAD]);
}

int known_write(struct store_sqlite *self) {
    if (self->id_at_risk && RUN(self, STATEMENT_SET_MARK, self->places.last_id) != LULL_OK)
        return LULL_ESYSTEM;
    self->id_at_risk = false;
    if (!self->totals_changed)
        return LULL_OK;
    for (size_t i = 0; i < self->destination_count; i++) {
        struct known_destination *known = &self->destinations[i];
        if (!known->changed)
            continue;
        if (write_totals(self, known) != LULL_OK)
            return LULL_ESYSTEM;
        known->changed = false;
    }
    self->totals_changed = false;
    return LULL_OK;
}

static int read_destinations(struct store_sqlite *self) {
    sqlite3_stmt *statement = use_statement(self, STATEMENT_KNOWN_DESTINATIONS);
    int result;
    while ((result = step(self, statement)) > 0) {
        if (known_add(self, sqlite3_column_int64(statement, 0)) != LULL_OK) {
            sqlite3_reset(statement);
            return LULL_ESYSTEM;
        }
        struct known_destination *known = &self->destinations[self->destination_count - 1];
        known->removed = sqlite3_column_int(statement, 1) != 0;
        for (int i = 0; i < DELIVERY_STATE_COUNT; i++)
            known->totals[i] = sqlite3_column_int64(statement, 2 + i);
    }
    return result;
}

/* Ids and places go on behind all that is in the file, should the clock have been set back. */
static int read_places(struct store_sqlite *self) {
    static const enum statement ids[] = {STATEMENT_LAST_EVENT, STATEMENT_LAST_DELIVERY,
                                         STATEMENT_LAST_MARK};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        int64_t id;
        if (read_integer(self, use_statement(self, ids[i]), 0, &id) != LULL_OK)
            return LULL_ESYSTEM;
        if (id > self->places.last_id)
            self->places.last_id = id;
    }
    for (size_t i = 0; i < self->destination_count; i++) {
        int64_t at;
        sqlite3_stmt *statement =
            USE(self, STATEMENT_LAST_PLACE, self->destinations[i].id, DELIVERY_FRESH);
        if (read_integer(self, statement, 0, &at) != LULL_OK)
            return LULL_ESYSTEM;
        places_loaded(&self->places, at);
    }
    return LULL_OK;
}

int known_read(struct store_sqlite *self) {
    self->destination_count = 0;
    self->totals_changed = self->id_at_risk = false;
    self->stale = true;
    if (read_destinations(self) != LULL_OK || read_places(self) != LULL_OK)
        return LULL_ESYSTEM;
    self->stale = false;
    return LULL_OK;
}
