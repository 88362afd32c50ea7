#include "memory_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- ACCEPT ---- */

static int64_t hash_of(const char *text, size_t length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return (int64_t)hash;
}

static struct memory_key *find_key(struct store_memory *self, const struct accept_event *event) {
    int64_t hash = hash_of(event->key, event->key_length);
    struct ordered_node *node = ordered_after(&self->keys, (struct pair){hash, 0});
    for (; node != NULL && node->pair.major == hash; node = node->next[0]) {
        struct memory_key *key = node->value;
        if (key->length == event->key_length && memcmp(key->text, event->key, key->length) == 0)
            return key;
    }
    return NULL;
}

void memory_delete_key(struct store_memory *self, struct memory_key *key) {
    struct memory_key **link = &self->first_key;
    while (*link != key)
        link = &(*link)->next;
    *link = key->next;
    if (key->next == NULL)
        self->last_key = link;
    ordered_take(&self->keys, key->pair);
    free(key);
}

static void add_key(struct store_memory *self, const struct accept_event *event) {
    struct memory_key *key = memory_must(calloc(1, sizeof *key + event->key_length));
    key->pair = (struct pair){hash_of(event->key, event->key_length), ++self->last_sequence};
    key->at = self->now;
    key->fingerprint = event->fingerprint;
    key->event = event->id;
    key->length = event->key_length;
    memcpy(key->text, event->key, event->key_length);
    memory_add(&self->keys, key->pair, key);
    *self->last_key = key;
    self->last_key = &key->next;
}

/* Sets verdict and id if there was something under this key. */
static void look_up_key(struct store_memory *self, struct accept_event *event) {
    struct memory_key *key = find_key(self, event);
    if (key == NULL)
        return;
    if (key->at <= self->now - IDEMPOTENCY_KEPT) {
        memory_delete_key(self, key);
        return;
    }
    event->verdict = key->fingerprint == event->fingerprint ? ACCEPT_REPLAYED : ACCEPT_MISMATCH;
    event->id = key->event;
}

static void add_delivery(struct store_memory *self, struct memory_event *event, struct place place,
                         int64_t destination) {
    struct memory_delivery *delivery = memory_must(calloc(1, sizeof *delivery));
    delivery->event = event;
    delivery->record.id = place.id;
    delivery->record.event = event->message->id;
    delivery->record.destination = destination;
    delivery->record.accepted = event->message->accepted;
    memory_add(&self->deliveries, by_id(place.id), delivery);
    memory_enter(self, delivery, DELIVERY_FRESH, place.due);
    event->left++;
}

static void accept_one(struct store_memory *self, struct accept_event *asked,
                       struct accept_delivery *deliveries) {
    asked->verdict = ACCEPT_NEW;
    for (uint32_t i = 0; i < asked->count; i++)
        deliveries[i].place = (struct place){0};
    if (asked->key != NULL)
        look_up_key(self, asked);
    if (asked->verdict != ACCEPT_NEW)
        return;
    struct memory_event *event = memory_must(calloc(1, sizeof *event));
    asked->id = places_event(&self->places, asked->count, self->now);
    event->message = message_share(asked->message);
    event->message->id = asked->id;
    event->message->accepted = self->now;
    event->span = asked->count;
    memory_add(&self->events, by_id(asked->id), event);
    lull_time stamp = places_stamp(&self->places, self->now);
    for (uint32_t i = 0; i < asked->count; i++) {
        if (memory_live(self, deliveries[i].destination) == NULL)
            continue;
        deliveries[i].place = (struct place){stamp, asked->id + i + 1};
        add_delivery(self, event, deliveries[i].place, deliveries[i].destination);
    }
    bool refused = asked->count > 0 && event->left == 0;
    if (asked->key != NULL && !refused)
        add_key(self, asked);
}

int memory_accept(struct store_memory *self, struct store_accept *accept) {
    for (uint32_t i = 0; i < accept->event_count; i++)
        accept_one(self, &accept->events[i], accept->deliveries + accept->events[i].first);
    return LULL_OK;
}

/* ---- LOAD ---- */

static struct load_row row_of(const struct memory_delivery *delivery) {
    const struct delivery_record *record = &delivery->record;
    return (struct load_row){
        .place = {record->at, record->id},
        .message = message_share(delivery->event->message),
        .attempts = record->attempts,
        .tries = record->tries,
        .previous = delivery->previous,
        .first_failed = record->first_failed,
        .replay = record->replay,
    };
}

int memory_load(struct store_memory *self, struct store_load *load) {
    load->count = 0;
    load->more = false;
    load->next_due = LULL_NEVER;
    if (load->state == DELIVERY_FRESH)
        places_loaded(&self->places, load->until);
    struct memory_destination *destination = memory_live(self, load->destination);
    if (destination == NULL)
        return LULL_OK;
    size_t bytes = 0;
    for (struct ordered_node *node = ordered_after(&destination->streams[load->state],
                                                   (struct pair){load->after.due, load->after.id});
         node != NULL; node = node->next[0]) {
        if (node->pair.major > load->until) {
            load->next_due = node->pair.major;
            break;
        }
        if (load->count == load->limit || (load->count > 0 && bytes >= load->bytes)) {
            load->more = true;
            break;
        }
        load->rows[load->count++] = row_of(node->value);
        bytes += message_size(load->rows[load->count - 1].message);
    }
    return LULL_OK;
}

/* ---- SETTLE ---- */

static void log_attempt(struct memory_delivery *delivery, const struct store_settle *settle) {
    struct delivery_record *record = &delivery->record;
    if (settle->attempt.number == 0)
        return;
    bool failed = settle->to_state != DELIVERY_DELIVERED;
    record->trace =
        memory_must(reallocarray(record->trace, record->trace_count + 1, sizeof *record->trace));
    struct attempt_record *entry = &record->trace[record->trace_count++];
    *entry = settle->attempt;
    entry->excerpt = NULL;
    record->status = entry->status;
    if (!failed) {
        entry->class_ = LULL_SUCCESS;
        entry->error[0] = '\0';
        entry->excerpt_length = 0;
        return;
    }
    record->last_failed = entry->began + entry->took;
    memcpy(record->error, entry->error, sizeof record->error);
    if (settle->attempt.excerpt == NULL)
        entry->excerpt_length = 0;
    if (entry->excerpt_length > 0) {
        entry->excerpt = memory_must(malloc(entry->excerpt_length));
        memcpy(entry->excerpt, settle->attempt.excerpt, entry->excerpt_length);
    }
}

static void count_for_replay(struct store_memory *self, const struct store_settle *settle) {
    struct memory_replay *replay = ordered_find(&self->replays, by_id(settle->replay));
    if (replay == NULL)
        return;
    if (settle->to_state == DELIVERY_DELIVERED)
        replay->row.succeeded++;
    else
        replay->row.failed++;
}

int memory_settle(struct store_memory *self, struct store_settle *settle) {
    if (settle->to_state == DELIVERY_FRESH || settle->from_state > DELIVERY_RETRY)
        return LULL_EINVAL;
    struct memory_delivery *delivery = ordered_find(&self->deliveries, by_id(settle->from.id));
    if (delivery == NULL || delivery->record.state != settle->from_state)
        return LULL_OK;
    memory_leave(self, delivery);
    memory_enter(self, delivery, settle->to_state, settle->at);
    struct delivery_record *record = &delivery->record;
    record->attempts = settle->attempts;
    record->tries = settle->tries;
    record->first_failed = settle->first_failed;
    record->reason = settle->to_state == DELIVERY_DEAD ? settle->reason : LULL_REASON_NONE;
    delivery->previous = settle->previous;
    log_attempt(delivery, settle);
    if (settle->replay != 0)
        count_for_replay(self, settle);
    return LULL_OK;
}
