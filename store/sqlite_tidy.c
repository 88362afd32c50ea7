#include "sqlite_private.h"

#include <stdlib.h>

/* A slice looks at so many destinations at most. */
#define TIDY_DESTINATIONS 1000

struct found {
    int64_t id, other;
};

/* Deleting while a SELECT walks the same rows is undefined, so: read a few, then delete them. */
struct slice {
    struct store_sqlite *self;
    struct store_tidy *tidy;
    struct found *found; /* room for `limit` */
    uint32_t count;
};

static uint32_t left(const struct slice *slice) {
    return slice->tidy->limit - slice->tidy->removed;
}

/* Up to what is left of rows (id, other). */
static int collect(struct slice *slice, sqlite3_stmt *statement) {
    int result;
    slice->count = 0;
    while ((result = step(slice->self, statement)) > 0)
        slice->found[slice->count++] =
            (struct found){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)};
    return result;
}

int delete_delivery(struct store_sqlite *self, int64_t id, int64_t event) {
    self->id_at_risk = true;
    if (RUN(self, STATEMENT_DELETE_DELIVERY, id) != LULL_OK ||
        RUN(self, STATEMENT_DELETE_ATTEMPTS, id) != LULL_OK)
        return LULL_ESYSTEM;
    return RUN(self, STATEMENT_DELETE_EVENT_IF_LAST, event);
}

static int delete_found(struct slice *slice) {
    for (uint32_t i = 0; i < slice->count; i++)
        if (delete_delivery(slice->self, slice->found[i].id, slice->found[i].other) != LULL_OK)
            return LULL_ESYSTEM;
    slice->tidy->removed += slice->count;
    return LULL_OK;
}

/* In a table whose order is that of time, those whose time was before: `delete` takes the id. */
static int delete_old(struct slice *slice, sqlite3_stmt *statement, enum statement delete,
                      lull_time before) {
    if (collect(slice, statement) != LULL_OK)
        return LULL_ESYSTEM;
    for (uint32_t i = 0; i < slice->count && slice->found[i].other < before; i++) {
        if (RUN(slice->self, delete, slice->found[i].id) != LULL_OK)
            return LULL_ESYSTEM;
        slice->tidy->removed++;
    }
    return LULL_OK;
}

static int tidy_keys(struct slice *slice) {
    return delete_old(slice, USE(slice->self, STATEMENT_OLD_KEYS, left(slice)),
                      STATEMENT_DELETE_KEY, slice->self->now - IDEMPOTENCY_KEPT + 1);
}

static int tidy_lonely_events(struct slice *slice) {
    uint32_t before = slice->tidy->removed;
    int result = delete_old(slice, USE(slice->self, STATEMENT_LONELY_EVENTS, left(slice)),
                            STATEMENT_DELETE_EVENT, slice->tidy->delivered_before);
    /* Only then: a look that finds nothing is to write nothing. */
    slice->self->id_at_risk |= slice->tidy->removed > before;
    return result;
}

static int tidy_replays(struct slice *slice) {
    sqlite3_stmt *old =
        USE(slice->self, STATEMENT_OLD_REPLAYS, slice->tidy->delivered_before, left(slice));
    if (collect(slice, old) != LULL_OK)
        return LULL_ESYSTEM;
    for (uint32_t i = 0; i < slice->count; i++)
        if (RUN(slice->self, STATEMENT_DELETE_REPLAY, slice->found[i].id) != LULL_OK ||
            RUN(slice->self, STATEMENT_DELETE_ITEMS, slice->found[i].id) != LULL_OK)
            return LULL_ESYSTEM;
    slice->tidy->removed += slice->count;
    return LULL_OK;
}

static int tidy_live(struct slice *slice, int64_t destination) {
    sqlite3_stmt *old = USE(slice->self, STATEMENT_OLD_DELIVERED, destination,
                            slice->tidy->delivered_before, left(slice));
    return collect(slice, old) == LULL_OK ? delete_found(slice) : LULL_ESYSTEM;
}

static int tidy_removed(struct slice *slice, int64_t destination) {
    struct store_sqlite *self = slice->self;
    uint32_t room = left(slice);
    if (collect(slice, USE(self, STATEMENT_REMOVED_DELIVERIES, destination, room)) != LULL_OK ||
        delete_found(slice) != LULL_OK)
        return LULL_ESYSTEM;
    if (slice->count == room)
        return LULL_OK;
    if (RUN(self, STATEMENT_DELETE_DESTINATION, destination) != LULL_OK ||
        RUN(self, STATEMENT_DELETE_TALLY, destination) != LULL_OK)
        return LULL_ESYSTEM;
    known_forget(self, destination);
    slice->tidy->removed++;
    return LULL_OK;
}

/* From where the last slice ended, once around at most. */
static int tidy_destinations(struct slice *slice) {
    struct store_sqlite *self = slice->self;
    size_t count = self->destination_count;
    size_t look = count < TIDY_DESTINATIONS ? count : TIDY_DESTINATIONS;
    while (look-- > 0 && left(slice) > 0) {
        const struct known_destination *next = known_after(self, self->tidied);
        if (next == NULL)
            next = known_after(self, 0);
        int64_t id = next->id;
        if ((next->removed ? tidy_removed : tidy_live)(slice, id) != LULL_OK)
            return LULL_ESYSTEM;
        /* One that has more is the first of the next slice. */
        self->tidied = left(slice) > 0 ? id : id - 1;
    }
    return LULL_OK;
}

int sqlite_tidy(struct store_sqlite *self, struct store_tidy *tidy) {
    tidy->removed = 0;
    tidy->more = false;
    if (tidy->limit == 0)
        return LULL_OK;
    struct slice slice = {.self = self, .tidy = tidy};
    slice.found = calloc(tidy->limit, sizeof *slice.found);
    if (slice.found == NULL)
        return LULL_ENOMEM;
    int (*const parts[])(struct slice *) = {tidy_keys, tidy_destinations, tidy_lonely_events,
                                            tidy_replays};
    int result = LULL_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && result == LULL_OK; i++)
        if (left(&slice) > 0)
            result = parts[i](&slice);
    tidy->more = left(&slice) == 0;
    free(slice.found);
    return result;
}
