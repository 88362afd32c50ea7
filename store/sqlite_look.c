#include "list.h"
#include "sqlite_private.h"

#include <stdlib.h>
#include <string.h>

static void read_record(sqlite3_stmt *statement, struct delivery_record *record) {
    *record = (struct delivery_record){
        .id = sqlite3_column_int64(statement, 0),
        .event = sqlite3_column_int64(statement, 1),
        .destination = sqlite3_column_int64(statement, 2),
        .state = (enum delivery_state)sqlite3_column_int(statement, 3),
        .at = sqlite3_column_int64(statement, 4),
        .accepted = sqlite3_column_int64(statement, 5),
        .attempts = (uint32_t)sqlite3_column_int64(statement, 6),
        .tries = (uint32_t)sqlite3_column_int64(statement, 7),
        .first_failed = sqlite3_column_int64(statement, 8),
        .last_failed = sqlite3_column_int64(statement, 9),
        .status = sqlite3_column_int(statement, 10),
        .reason = sqlite3_column_int(statement, 11),
        .replay = sqlite3_column_int64(statement, 12),
    };
    column_copy(statement, 13, record->type, sizeof record->type);
    column_copy(statement, 14, record->error, sizeof record->error);
}

/* ---- LIST ---- */

static int read_stream(void *adapter, struct list_stream *stream) {
    struct store_sqlite *self = adapter;
    sqlite3_stmt *statement = USE(
        self, list_backwards(stream->state) ? STATEMENT_LIST_BACKWARDS : STATEMENT_LIST_FORWARDS,
        stream->destination, stream->state, stream->from.due, stream->from.id);
    int result;
    while ((result = step(self, statement)) > 0) {
        if (stream->count == stream->room) {
            stream->more = true;
            break;
        }
        read_record(statement, &stream->records[stream->count++]);
    }
    sqlite3_reset(statement);
    return result < 0 ? result : LULL_OK;
}

static int read_newest(void *adapter, struct list_newest *newest) {
    struct store_sqlite *self = adapter;
    sqlite3_stmt *statement = USE(self, STATEMENT_LIST_NEWEST, newest->from);
    uint32_t looked = 0;
    int result;
    while ((result = step(self, statement)) > 0) {
        int64_t destination = sqlite3_column_int64(statement, 2);
        if (newest->count == newest->room || looked++ == newest->scan)
            break;
        newest->reached = sqlite3_column_int64(statement, 0);
        if (newest->destination != 0 ? destination == newest->destination
                                     : live_destination(self, destination) != NULL)
            read_record(statement, &newest->records[newest->count++]);
    }
    if (result == 0)
        newest->reached = 0;
    sqlite3_reset(statement);
    return result < 0 ? result : LULL_OK;
}

static int64_t destination_after(void *adapter, int64_t id) {
    return live_destination_after(adapter, id);
}

int sqlite_list(struct store_sqlite *self, struct store_list *list) {
    return list_page(list,
                     &(struct list_source){destination_after, read_stream, read_newest, self});
}

/* ---- GET ---- */

static bool read_attempt(sqlite3_stmt *statement, struct attempt_record *attempt) {
    *attempt = (struct attempt_record){
        .number = (uint32_t)sqlite3_column_int64(statement, 0),
        .began = sqlite3_column_int64(statement, 1),
        .took = sqlite3_column_int64(statement, 2),
        .class_ = (enum lull_class)sqlite3_column_int(statement, 3),
        .status = sqlite3_column_int(statement, 4),
    };
    column_copy(statement, 5, attempt->error, sizeof attempt->error);
    const void *excerpt = sqlite3_column_blob(statement, 6);
    if (excerpt == NULL)
        return true;
    attempt->excerpt_length = (uint32_t)sqlite3_column_bytes(statement, 6);
    attempt->excerpt = malloc(attempt->excerpt_length);
    if (attempt->excerpt == NULL)
        return false;
    memcpy(attempt->excerpt, excerpt, attempt->excerpt_length);
    return true;
}

/* The success that ended it is kept in its own row. */
static void add_success(struct delivery_record *record, lull_time began, lull_duration took) {
    record->trace[record->trace_count++] = (struct attempt_record){
        .number = record->tries,
        .began = began,
        .took = took,
        .class_ = LULL_SUCCESS,
        .status = record->status,
    };
}

static int read_trace(struct store_sqlite *self, struct delivery_record *record, lull_time began,
                      lull_duration took) {
    int64_t count;
    if (read_integer(self, USE(self, STATEMENT_COUNT_TRACE, record->id), 0, &count) != LULL_OK)
        return LULL_ESYSTEM;
    record->trace = calloc((size_t)count + 1, sizeof *record->trace);
    if (record->trace == NULL)
        return LULL_ENOMEM;
    sqlite3_stmt *statement = USE(self, STATEMENT_GET_TRACE, record->id);
    int result = 0;
    while (record->trace_count < count && (result = step(self, statement)) > 0) {
        if (!read_attempt(statement, &record->trace[record->trace_count++])) {
            result = LULL_ENOMEM;
            break;
        }
    }
    sqlite3_reset(statement);
    if (result < 0)
        return result;
    if (record->state == DELIVERY_DELIVERED && began != 0)
        add_success(record, began, took);
    return LULL_OK;
}

static int read_message(struct store_sqlite *self, struct store_get *get, int64_t event,
                        int64_t *deliveries) {
    sqlite3_stmt *statement = USE(self, STATEMENT_GET_EVENT, event);
    int result = step(self, statement);
    if (result <= 0)
        return result < 0 ? result : STORE_ABSENT;
    get->message = message_of_columns(statement, 0);
    *deliveries = sqlite3_column_int64(statement, 6);
    sqlite3_reset(statement);
    return get->message == NULL ? LULL_ENOMEM : LULL_OK;
}

static int read_records(struct store_sqlite *self, struct store_get *get, int64_t first,
                        int64_t last) {
    get->records = calloc((size_t)(last - first + 2), sizeof *get->records);
    if (get->records == NULL)
        return LULL_ENOMEM;
    sqlite3_stmt *statement = USE(self, STATEMENT_GET_RECORDS, first, last);
    int result;
    while ((result = step(self, statement)) > 0) {
        if (live_destination(self, sqlite3_column_int64(statement, 2)) == NULL)
            continue;
        struct delivery_record *record = &get->records[get->count++];
        read_record(statement, record);
        result = read_trace(self, record, sqlite3_column_int64(statement, 15),
                            sqlite3_column_int64(statement, 16));
        if (result != LULL_OK)
            break;
    }
    sqlite3_reset(statement);
    return result;
}

int sqlite_get(struct store_sqlite *self, struct store_get *get) {
    get->message = NULL;
    get->records = NULL;
    get->count = 0;
    int64_t event = get->id, deliveries;
    if (get->delivery) {
        int result = read_integer(self, USE(self, STATEMENT_FIND_DELIVERY, get->id), 0, &event);
        if (result != LULL_OK || event == 0)
            return result != LULL_OK ? result : STORE_ABSENT;
    }
    int result = read_message(self, get, event, &deliveries);
    if (result == LULL_OK)
        result = get->delivery ? read_records(self, get, get->id, get->id)
                               : read_records(self, get, event + 1, event + deliveries);
    if (result == LULL_OK && get->delivery && get->count == 0)
        result = STORE_ABSENT;
    if (result != LULL_OK)
        store_get_clean_up(get);
    return result;
}

/* ---- DROP ---- */

int sqlite_drop(struct store_sqlite *self, struct store_drop *drop) {
    drop->destination = 0;
    sqlite3_stmt *find = USE(self, STATEMENT_FIND_DELIVERY, drop->id);
    int result = step(self, find);
    if (result <= 0)
        return result < 0 ? result : STORE_ABSENT;
    int64_t event = sqlite3_column_int64(find, 0), destination = sqlite3_column_int64(find, 1);
    int state = sqlite3_column_int(find, 2);
    sqlite3_reset(find);
    if (state != DELIVERY_DEAD || live_destination(self, destination) == NULL)
        return STORE_ABSENT;
    if (delete_delivery(self, drop->id, event) != LULL_OK)
        return LULL_ESYSTEM;
    count_deliveries(self, destination, DELIVERY_DEAD, -1);
    drop->destination = destination;
    return LULL_OK;
}
