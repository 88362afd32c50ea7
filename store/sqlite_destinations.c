#include "sqlite_private.h"

#include <stdlib.h>
#include <string.h>

int sqlite_clock(struct store_sqlite *self, struct store_clock *clock) {
    if (live_destination(self, clock->destination) == NULL)
        return STORE_ABSENT;
    return RUN(self, STATEMENT_SET_CLOCK, clock->destination, clock->blocked_until, clock->state);
}

/* False: out of memory. */
static bool copy_column(sqlite3_stmt *statement, int column, char **text) {
    const unsigned char *from = sqlite3_column_text(statement, column);
    *text = from == NULL ? NULL : strdup((const char *)from);
    return from == NULL || *text != NULL;
}

static bool read_row(sqlite3_stmt *statement, struct destination_row *row) {
    *row = (struct destination_row){
        .id = sqlite3_column_int64(statement, 0),
        .state = (enum destination_state)sqlite3_column_int(statement, 2),
        .from_config = sqlite3_column_int(statement, 3) != 0,
        .created = sqlite3_column_int64(statement, 4),
        .blocked_until = sqlite3_column_int64(statement, 5),
        .previous_until = sqlite3_column_int64(statement, 9),
    };
    column_copy(statement, 1, row->name, sizeof row->name);
    return copy_column(statement, 6, &row->settings) && copy_column(statement, 7, &row->secret) &&
           copy_column(statement, 8, &row->previous_secret);
}

/* As they are now: those on disk are of the last transaction. */
static void fill_totals(struct store_sqlite *self, struct destination_row *row) {
    const struct known_destination *known = known_destination(self, row->id);
    if (known == NULL)
        return;
    row->pending[DELIVERY_FRESH] = (uint64_t)known->totals[DELIVERY_FRESH];
    row->pending[DELIVERY_RETRY] = (uint64_t)known->totals[DELIVERY_RETRY];
    row->delivered = (uint64_t)known->totals[DELIVERY_DELIVERED];
    row->dead = (uint64_t)known->totals[DELIVERY_DEAD];
}

int sqlite_destinations(struct store_sqlite *self, struct store_destinations *destinations) {
    destinations->count = 0;
    destinations->newest = places_newest(&self->places);
    destinations->rows = calloc(self->destination_count + 1, sizeof *destinations->rows);
    if (destinations->rows == NULL)
        return LULL_ENOMEM;
    sqlite3_stmt *statement = use_statement(self, STATEMENT_DESTINATIONS);
    int result = LULL_OK;
    while (destinations->count < self->destination_count && (result = step(self, statement)) > 0) {
        struct destination_row *row = &destinations->rows[destinations->count++];
        if (!read_row(statement, row)) {
            result = LULL_ENOMEM;
            break;
        }
        fill_totals(self, row);
    }
    sqlite3_reset(statement);
    return result < 0 ? result : LULL_OK;
}

/* The one of this name; 0: none. */
static int find_name(struct store_sqlite *self, const char *name, int64_t *id) {
    sqlite3_stmt *find = use_statement(self, STATEMENT_FIND_DESTINATION);
    if (find == NULL)
        return LULL_ESYSTEM;
    bind_text(find, 1, name);
    return read_integer(self, find, 0, id);
}

static int write_row(struct store_sqlite *self, enum statement statement, int64_t first,
                     const struct destination_row *row) {
    sqlite3_stmt *write = USE(self, statement, first, row->state, row->from_config, row->created,
                              row->previous_until);
    if (write == NULL)
        return LULL_ESYSTEM;
    bind_text(write, 6, row->name);
    bind_text(write, 7, row->settings);
    bind_text(write, 8, row->secret);
    bind_text(write, 9, row->previous_secret);
    return run_statement(self, write);
}

static int create(struct store_sqlite *self, struct store_put *put) {
    if (put->row.created == 0)
        put->row.created = self->now;
    if (write_row(self, STATEMENT_ADD_DESTINATION, put->row.blocked_until, &put->row) != LULL_OK)
        return LULL_ESYSTEM;
    put->row.id = sqlite3_last_insert_rowid(self->database);
    put->created = true;
    if (RUN(self, STATEMENT_ADD_TALLY, put->row.id) != LULL_OK)
        return LULL_ESYSTEM;
    return known_add(self, put->row.id);
}

int sqlite_put(struct store_sqlite *self, struct store_put *put) {
    put->created = false;
    int64_t namesake;
    if (find_name(self, put->row.name, &namesake) != LULL_OK)
        return LULL_ESYSTEM;
    if (put->row.id != 0 && live_destination(self, put->row.id) == NULL)
        return STORE_ABSENT;
    if (namesake != 0 && namesake != put->row.id)
        return STORE_EXISTS;
    if (put->row.id == 0)
        return create(self, put);
    return write_row(self, STATEMENT_CHANGE_DESTINATION, put->row.id, &put->row);
}

int sqlite_remove(struct store_sqlite *self, struct store_remove *remove) {
    remove->pending = remove->dead = 0;
    struct known_destination *known = live_destination(self, remove->destination);
    if (known == NULL)
        return STORE_ABSENT;
    remove->pending = (uint64_t)(known->totals[DELIVERY_FRESH] + known->totals[DELIVERY_RETRY]);
    remove->dead = (uint64_t)known->totals[DELIVERY_DEAD];
    if (!remove->force && remove->pending + remove->dead > 0)
        return STORE_NOT_EMPTY;
    if (RUN(self, STATEMENT_REMOVE_DESTINATION, remove->destination) != LULL_OK ||
        RUN(self, STATEMENT_CANCEL_REPLAYS, remove->destination, self->now) != LULL_OK)
        return LULL_ESYSTEM;
    known->removed = true;
    return LULL_OK;
}
