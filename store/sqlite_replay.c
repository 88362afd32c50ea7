#include "sqlite_private.h"

#include <stdlib.h>

/* What is not in struct replay_row: */
struct kept_replay {
    struct replay_row row;
    lull_time until; /* letters that died later are not its matter */
    bool has_items;  /* it goes over those in replay_item */
};

static struct kept_replay read_columns(sqlite3_stmt *statement) {
    return (struct kept_replay){
        .row =
            {
                .id = sqlite3_column_int64(statement, 0),
                .destination = sqlite3_column_int64(statement, 1),
                .state = (enum replay_state)sqlite3_column_int(statement, 2),
                .created = sqlite3_column_int64(statement, 3),
                .ended = sqlite3_column_int64(statement, 4),
                .rate = sqlite3_column_double(statement, 5),
                .total = (uint64_t)sqlite3_column_int64(statement, 6),
                .moved = (uint64_t)sqlite3_column_int64(statement, 7),
                .succeeded = (uint64_t)sqlite3_column_int64(statement, 8),
                .failed = (uint64_t)sqlite3_column_int64(statement, 9),
                .after = {sqlite3_column_int64(statement, 10), sqlite3_column_int64(statement, 11)},
            },
        .until = sqlite3_column_int64(statement, 12),
        .has_items = sqlite3_column_int(statement, 13) != 0,
    };
}

static int find_replay(struct store_sqlite *self, int64_t id, struct kept_replay *kept) {
    sqlite3_stmt *statement = USE(self, STATEMENT_GET_REPLAY, id);
    int result = step(self, statement);
    if (result <= 0)
        return result < 0 ? result : STORE_ABSENT;
    *kept = read_columns(statement);
    sqlite3_reset(statement);
    return LULL_OK;
}

static int write_replay(struct store_sqlite *self, const struct replay_row *row) {
    sqlite3_stmt *statement = USE(self, STATEMENT_SET_REPLAY, row->id, row->state, row->ended,
                                  (int64_t)row->moved, row->after.due, row->after.id);
    if (statement == NULL)
        return LULL_ESYSTEM;
    sqlite3_bind_double(statement, 7, row->rate);
    return run_statement(self, statement);
}

/* ---- start ---- */

static int find_absent(struct store_sqlite *self, struct store_replay_start *start) {
    for (uint32_t i = 0; i < start->id_count; i++) {
        sqlite3_stmt *find = USE(self, STATEMENT_FIND_DELIVERY, start->ids[i]);
        int result = step(self, find);
        if (result < 0)
            return result;
        bool there = result > 0 && sqlite3_column_int64(find, 1) == start->row.destination &&
                     sqlite3_column_int(find, 2) == DELIVERY_DEAD;
        sqlite3_reset(find);
        if (!there) {
            start->absent = start->ids[i];
            return STORE_ABSENT;
        }
    }
    return LULL_OK;
}

static int add_items(struct store_sqlite *self, struct store_replay_start *start) {
    for (uint32_t i = 0; i < start->id_count; i++)
        if (RUN(self, STATEMENT_ADD_ITEM, start->row.id, start->ids[i]) != LULL_OK)
            return LULL_ESYSTEM;
    int64_t count; /* one may be named twice */
    if (read_integer(self, USE(self, STATEMENT_COUNT_ITEMS, start->row.id), 0, &count) != LULL_OK)
        return LULL_ESYSTEM;
    start->row.total = (uint64_t)count;
    return RUN(self, STATEMENT_SET_TOTAL, start->row.id, count);
}

static int add_replay(struct store_sqlite *self, struct store_replay_start *start) {
    int64_t until;
    sqlite3_stmt *last = USE(self, STATEMENT_LAST_PLACE, start->row.destination, DELIVERY_DEAD);
    if (read_integer(self, last, 0, &until) != LULL_OK)
        return LULL_ESYSTEM;
    struct replay_row *row = &start->row;
    *row = (struct replay_row){
        .destination = row->destination,
        .created = self->now,
        .rate = row->rate,
        .total = (uint64_t)known_destination(self, row->destination)->totals[DELIVERY_DEAD],
        .after = {INT64_MIN, INT64_MIN},
    };
    sqlite3_stmt *add =
        USE(self, STATEMENT_ADD_REPLAY, row->destination, row->created, (int64_t)row->total,
            row->after.due, row->after.id, until, start->ids != NULL);
    if (add == NULL)
        return LULL_ESYSTEM;
    sqlite3_bind_double(add, 8, row->rate);
    if (run_statement(self, add) != LULL_OK)
        return LULL_ESYSTEM;
    row->id = sqlite3_last_insert_rowid(self->database);
    return start->ids == NULL ? LULL_OK : add_items(self, start);
}

int sqlite_replay_start(struct store_sqlite *self, struct store_replay_start *start) {
    start->absent = 0;
    if (live_destination(self, start->row.destination) == NULL)
        return STORE_ABSENT;
    int64_t running;
    sqlite3_stmt *find = USE(self, STATEMENT_FIND_RUNNING, start->row.destination);
    if (read_integer(self, find, 0, &running) != LULL_OK)
        return LULL_ESYSTEM;
    if (running != 0)
        return STORE_EXISTS;
    int result = start->ids == NULL ? LULL_OK : find_absent(self, start);
    return result == LULL_OK ? add_replay(self, start) : result;
}

/* ---- step ---- */

/* The letters to be moved next, one more than asked for if there are so many. */
static int next_letters(struct store_sqlite *self, const struct kept_replay *kept,
                        struct place *letters, uint32_t room, uint32_t *count) {
    const struct replay_row *row = &kept->row;
    sqlite3_stmt *statement = kept->has_items
                                  ? USE(self, STATEMENT_NEXT_ITEM, row->id, row->after.id, room)
                                  : USE(self, STATEMENT_NEXT_DEAD, row->destination, row->after.due,
                                        row->after.id, kept->until, row->id, room);
    int result;
    *count = 0;
    while ((result = step(self, statement)) > 0)
        letters[(*count)++] =
            (struct place){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)};
    return result;
}

static int move(struct store_sqlite *self, struct replay_row *row, const struct place *letters,
                uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (RUN(self, STATEMENT_REVIVE, letters[i].id, places_stamp(&self->places, self->now),
                row->id) != LULL_OK)
            return LULL_ESYSTEM;
    if (count > 0)
        row->after = letters[count - 1];
    row->moved += count;
    count_deliveries(self, row->destination, DELIVERY_DEAD, -(int64_t)count);
    count_deliveries(self, row->destination, DELIVERY_FRESH, count);
    return LULL_OK;
}

static int end_replay(struct store_sqlite *self, struct replay_row *row, enum replay_state state) {
    row->state = state;
    row->ended = self->now;
    return RUN(self, STATEMENT_DELETE_ITEMS, row->id);
}

static int move_some(struct store_sqlite *self, struct store_replay_step *order,
                     const struct kept_replay *kept) {
    struct place *letters = calloc((size_t)order->count + 1, sizeof *letters);
    if (letters == NULL)
        return LULL_ENOMEM;
    uint32_t found = 0;
    int result = next_letters(self, kept, letters, order->count + 1, &found);
    order->moved = found < order->count ? found : order->count;
    if (result == LULL_OK)
        result = move(self, &order->row, letters, order->moved);
    free(letters);
    if (result == LULL_OK && found <= order->count)
        result = end_replay(self, &order->row, REPLAY_DONE);
    return result;
}

int sqlite_replay_step(struct store_sqlite *self, struct store_replay_step *order) {
    order->moved = 0;
    struct kept_replay kept;
    int result = find_replay(self, order->replay, &kept);
    if (result != LULL_OK)
        return result;
    order->row = kept.row;
    if (kept.row.state != REPLAY_RUNNING)
        return LULL_OK;
    order->row.rate = order->rate;
    result = move_some(self, order, &kept);
    return result == LULL_OK ? write_replay(self, &order->row) : result;
}

/* ---- end, look ---- */

int sqlite_replay_end(struct store_sqlite *self, struct store_replay_end *end) {
    struct kept_replay kept;
    int result = find_replay(self, end->replay, &kept);
    if (result != LULL_OK)
        return result;
    end->row = kept.row;
    if (kept.row.state != REPLAY_RUNNING)
        return LULL_OK;
    if (end_replay(self, &end->row, end->state) != LULL_OK)
        return LULL_ESYSTEM;
    return write_replay(self, &end->row);
}

int sqlite_replays(struct store_sqlite *self, struct store_replays *replays) {
    uint32_t room = replays->replay == 0 ? STORE_REPLAYS_TOLD : 1;
    replays->count = 0;
    replays->rows = calloc(room, sizeof *replays->rows);
    if (replays->rows == NULL)
        return LULL_ENOMEM;
    sqlite3_stmt *statement = replays->replay == 0
                                  ? USE(self, STATEMENT_GET_REPLAYS, room)
                                  : USE(self, STATEMENT_GET_REPLAY, replays->replay);
    int result;
    while ((result = step(self, statement)) > 0)
        replays->rows[replays->count++] = read_columns(statement).row;
    if (result == LULL_OK && replays->replay != 0 && replays->count == 0) {
        store_replays_clean_up(replays);
        return STORE_ABSENT;
    }
    return result;
}
