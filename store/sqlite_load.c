#include "sqlite_private.h"

static bool add_row(struct store_load *load, sqlite3_stmt *statement) {
    struct message *message = message_of_columns(statement, 7);
    if (message == NULL)
        return false;
    load->rows[load->count++] = (struct load_row){
        .place = {sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)},
        .message = message,
        .attempts = (uint32_t)sqlite3_column_int64(statement, 2),
        .tries = (uint32_t)sqlite3_column_int64(statement, 3),
        .previous = sqlite3_column_int64(statement, 4),
        .first_failed = sqlite3_column_int64(statement, 5),
        .replay = sqlite3_column_int64(statement, 6),
    };
    return true;
}

/* Rows are read one by one, in the order of the index, so looking at one too many tells what comes next and costs
 * nothing. */
static int read_rows(struct store_sqlite *self, struct store_load *load, sqlite3_stmt *statement) {
    size_t bytes = 0;
    int result;
    while ((result = step(self, statement)) > 0) {
        lull_time due = sqlite3_column_int64(statement, 0);
        if (due > load->until) {
            load->next_due = due;
            break;
        }
        if (load->count == load->limit || (load->count > 0 && bytes >= load->bytes)) {
            load->more = true;
            break;
        }
        if (!add_row(load, statement))
            return LULL_ENOMEM;
        bytes += message_size(load->rows[load->count - 1].message);
    }
    return result < 0 ? result : LULL_OK;
}

int sqlite_load(struct store_sqlite *self, struct store_load *load) {
    load->count = 0;
    load->more = false;
    load->next_due = LULL_NEVER;
    if (load->state == DELIVERY_FRESH)
        places_loaded(&self->places, load->until);
    if (live_destination(self, load->destination) == NULL)
        return LULL_OK;
    sqlite3_stmt *statement =
        USE(self, STATEMENT_LOAD, load->destination, load->state, load->after.due, load->after.id);
    int result = read_rows(self, load, statement);
    sqlite3_reset(statement);
    return result;
}
