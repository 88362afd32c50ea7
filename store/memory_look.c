#include "memory_private.h"

#include <stdlib.h>
#include <string.h>

/* Without the trace. */
static struct delivery_record record_of(const struct memory_delivery *delivery) {
    struct delivery_record record = delivery->record;
    const struct message *message = delivery->event->message;
    size_t length = strnlen(message->type, sizeof record.type - 1);
    memcpy(record.type, message->type, length);
    record.type[length] = '\0';
    record.trace = NULL;
    record.trace_count = 0;
    return record;
}

static int64_t destination_after(void *adapter, int64_t id) {
    struct store_memory *self = adapter;
    struct ordered_node *node = ordered_after(&self->destinations, by_id(id));
    while (node != NULL && ((struct memory_destination *)node->value)->removed)
        node = node->next[0];
    return node == NULL ? 0 : node->pair.major;
}

static int read_stream(void *adapter, struct list_stream *stream) {
    struct store_memory *self = adapter;
    struct memory_destination *destination = memory_live(self, stream->destination);
    const struct ordered *rows = &destination->streams[stream->state];
    bool backwards = list_backwards(stream->state);
    struct pair at = {stream->from.due, stream->from.id};
    for (;;) {
        struct ordered_node *node = backwards ? ordered_before(rows, at) : ordered_after(rows, at);
        if (node == NULL)
            return LULL_OK;
        if (stream->count == stream->room) {
            stream->more = true;
            return LULL_OK;
        }
        stream->records[stream->count++] = record_of(node->value);
        at = node->pair;
    }
}

static int read_newest(void *adapter, struct list_newest *newest) {
    struct store_memory *self = adapter;
    struct ordered_node *node = ordered_before(&self->deliveries, by_id(newest->from));
    for (uint32_t looked = 0; node != NULL && newest->count < newest->room && looked < newest->scan;
         looked++) {
        const struct memory_delivery *delivery = node->value;
        int64_t destination = delivery->record.destination;
        newest->reached = delivery->record.id;
        if (newest->destination != 0 ? destination == newest->destination
                                     : memory_live(self, destination) != NULL)
            newest->records[newest->count++] = record_of(delivery);
        node = ordered_before(&self->deliveries, by_id(newest->reached));
    }
    if (node == NULL)
        newest->reached = 0;
    return LULL_OK;
}

int memory_list(struct store_memory *self, struct store_list *list) {
    return list_page(list,
                     &(struct list_source){destination_after, read_stream, read_newest, self});
}

static void add_record(struct store_get *get, const struct memory_delivery *delivery) {
    struct delivery_record *record = &get->records[get->count++];
    *record = record_of(delivery);
    uint32_t count = delivery->record.trace_count;
    record->trace = memory_must(calloc((size_t)count + 1, sizeof *record->trace));
    for (; record->trace_count < count; record->trace_count++) {
        struct attempt_record *entry = &record->trace[record->trace_count];
        *entry = delivery->record.trace[record->trace_count];
        if (entry->excerpt == NULL)
            continue;
        entry->excerpt = memory_must(malloc(entry->excerpt_length));
        memcpy(entry->excerpt, delivery->record.trace[record->trace_count].excerpt,
               entry->excerpt_length);
    }
}

static void get_records(struct store_memory *self, struct store_get *get, int64_t first,
                        int64_t last) {
    get->records = memory_must(calloc((size_t)(last - first + 2), sizeof *get->records));
    for (int64_t id = first; id <= last; id++) {
        const struct memory_delivery *delivery = ordered_find(&self->deliveries, by_id(id));
        if (delivery != NULL && memory_live(self, delivery->record.destination) != NULL)
            add_record(get, delivery);
    }
}

int memory_get(struct store_memory *self, struct store_get *get) {
    get->message = NULL;
    get->records = NULL;
    get->count = 0;
    const struct memory_event *event;
    if (get->delivery) {
        const struct memory_delivery *delivery = ordered_find(&self->deliveries, by_id(get->id));
        if (delivery == NULL || memory_live(self, delivery->record.destination) == NULL)
            return STORE_ABSENT;
        event = delivery->event;
        get_records(self, get, get->id, get->id);
    } else {
        event = ordered_find(&self->events, by_id(get->id));
        if (event == NULL)
            return STORE_ABSENT;
        get_records(self, get, get->id + 1, get->id + event->span);
    }
    get->message = message_share(event->message);
    return LULL_OK;
}

int memory_drop(struct store_memory *self, struct store_drop *drop) {
    drop->destination = 0;
    struct memory_delivery *delivery = ordered_find(&self->deliveries, by_id(drop->id));
    if (delivery == NULL || delivery->record.state != DELIVERY_DEAD ||
        memory_live(self, delivery->record.destination) == NULL)
        return STORE_ABSENT;
    drop->destination = delivery->record.destination;
    memory_delete(self, delivery);
    return LULL_OK;
}
