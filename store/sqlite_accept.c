#include "sqlite_private.h"

/* Was there something under this key? Sets verdict and id if so. A key past its time is forgotten. */
static int look_up_key(struct store_sqlite *self, struct accept_event *event) {
    sqlite3_stmt *find = use_statement(self, STATEMENT_FIND_KEY);
    if (find == NULL)
        return LULL_ESYSTEM;
    sqlite3_bind_blob64(find, 1, event->key, event->key_length, SQLITE_STATIC);
    int result = step(self, find);
    if (result <= 0)
        return result;
    int64_t sequence = sqlite3_column_int64(find, 0), at = sqlite3_column_int64(find, 3);
    if (at <= self->now - IDEMPOTENCY_KEPT) {
        sqlite3_reset(find);
        return RUN(self, STATEMENT_DELETE_KEY, sequence);
    }
    bool same = (uint64_t)sqlite3_column_int64(find, 1) == event->fingerprint;
    event->verdict = same ? ACCEPT_REPLAYED : ACCEPT_MISMATCH;
    event->id = sqlite3_column_int64(find, 2);
    sqlite3_reset(find);
    return LULL_OK;
}

static int add_key(struct store_sqlite *self, const struct accept_event *event) {
    sqlite3_stmt *add =
        USE(self, STATEMENT_ADD_KEY, (int64_t)event->fingerprint, event->id, self->now);
    if (add == NULL)
        return LULL_ESYSTEM;
    sqlite3_bind_blob64(add, 4, event->key, event->key_length, SQLITE_STATIC);
    return run_statement(self, add);
}

static int add_message(struct store_sqlite *self, const struct message *message,
                       uint32_t deliveries) {
    sqlite3_stmt *add = USE(self, STATEMENT_ADD_EVENT, message->id, message->accepted, deliveries);
    if (add == NULL)
        return LULL_ESYSTEM;
    sqlite3_bind_text(add, 4, message->type, (int)message->type_length, SQLITE_STATIC);
    sqlite3_bind_text(add, 5, message->content_type, (int)message->content_type_length,
                      SQLITE_STATIC);
    sqlite3_bind_text(add, 6, message->headers, (int)message->headers_length, SQLITE_STATIC);
    sqlite3_bind_blob64(add, 7, message->payload, message->payload_length, SQLITE_STATIC);
    return run_statement(self, add);
}

/* Those whose destination is there. Tells whether there is one such. */
static int add_deliveries(struct store_sqlite *self, int64_t event, lull_time stamp,
                          struct accept_delivery *deliveries, uint32_t count, bool *any) {
    *any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (live_destination(self, deliveries[i].destination) == NULL)
            continue;
        *any = true;
        deliveries[i].place = (struct place){stamp, event + i + 1};
        if (RUN(self, STATEMENT_ADD_DELIVERY, deliveries[i].place.id, event,
                deliveries[i].destination, stamp) != LULL_OK)
            return LULL_ESYSTEM;
        count_deliveries(self, deliveries[i].destination, DELIVERY_FRESH, 1);
    }
    return LULL_OK;
}

static int accept_one(struct store_sqlite *self, struct accept_event *event,
                      struct accept_delivery *deliveries) {
    event->verdict = ACCEPT_NEW;
    for (uint32_t i = 0; i < event->count; i++)
        deliveries[i].place = (struct place){0};
    if (event->key != NULL) {
        if (look_up_key(self, event) != LULL_OK)
            return LULL_ESYSTEM;
        if (event->verdict != ACCEPT_NEW)
            return LULL_OK;
    }
    event->id = places_event(&self->places, event->count, self->now);
    event->message->id = event->id;
    event->message->accepted = self->now;
    /* Each event has a stamp of its own: a LOAD that goes on after a place passes over all that have its stamp. */
    lull_time stamp = places_stamp(&self->places, self->now);
    bool any;
    if (add_deliveries(self, event->id, stamp, deliveries, event->count, &any) != LULL_OK ||
        add_message(self, event->message, any ? event->count : 0) != LULL_OK)
        return LULL_ESYSTEM;
    /* Who is told that the destination is gone may send it again when there is one of that name. */
    bool refused = event->count > 0 && !any;
    return event->key == NULL || refused ? LULL_OK : add_key(self, event);
}

int sqlite_accept(struct store_sqlite *self, struct store_accept *accept) {
    for (uint32_t i = 0; i < accept->event_count; i++) {
        struct accept_event *event = &accept->events[i];
        if (accept_one(self, event, accept->deliveries + event->first) != LULL_OK)
            return LULL_ESYSTEM;
    }
    return LULL_OK;
}
