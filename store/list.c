#include "list.h"

#include <stdlib.h>

static struct place start_of(enum delivery_state state) {
    return list_backwards(state) ? (struct place){INT64_MAX, INT64_MAX}
                                 : (struct place){INT64_MIN, INT64_MIN};
}

/* The destination that is looked at next, `after` one; 0: none. */
static int64_t destination_after(const struct store_list *list, const struct list_source *source,
                                 int64_t after) {
    int64_t id = source->destination_after(
        source->adapter, list->destination != 0 && after == 0 ? list->destination - 1 : after);
    return list->destination != 0 && id != list->destination ? 0 : id;
}

/* The start of the first stream of `states` at or after `state`, at or after this destination. */
static struct list_cursor stream_from(const struct store_list *list,
                                      const struct list_source *source, int64_t destination,
                                      int state) {
    for (; destination != 0; destination = destination_after(list, source, destination), state = 0)
        for (; state < DELIVERY_STATE_COUNT; state++)
            if ((list->states >> state & 1) != 0)
                return (struct list_cursor){destination, (enum delivery_state)state,
                                            start_of((enum delivery_state)state)};
    return (struct list_cursor){0};
}

/* Where the page begins. The cursor's destination may be gone by now. */
static struct list_cursor begin(const struct store_list *list, const struct list_source *source) {
    struct list_cursor from = list->from;
    if (from.destination == 0)
        return stream_from(list, source, destination_after(list, source, 0), 0);
    if (destination_after(list, source, from.destination - 1) == from.destination)
        return from;
    return stream_from(list, source, destination_after(list, source, from.destination), 0);
}

static int fill(struct store_list *list, const struct list_source *source) {
    struct list_cursor at = begin(list, source);
    for (int streams = 0; at.destination != 0 && list->count < list->limit; streams++) {
        if (streams == STORE_LIST_STREAMS)
            break;
        struct list_stream stream = {
            .destination = at.destination,
            .state = at.state,
            .from = at.place,
            .room = list->limit - list->count,
            .records = list->records + list->count,
        };
        if (source->read(source->adapter, &stream) != LULL_OK)
            return LULL_ESYSTEM;
        list->count += stream.count;
        if (stream.more) {
            const struct delivery_record *last = &list->records[list->count - 1];
            at.place = (struct place){last->at, last->id};
        } else {
            at = stream_from(list, source, at.destination, (int)at.state + 1);
        }
    }
    list->next = at;
    return LULL_OK;
}

static int fill_by_id(struct store_list *list, const struct list_source *source) {
    struct list_newest newest = {
        .destination = list->destination,
        .from = list->from.destination == LIST_BY_ID ? list->from.place.id : INT64_MAX,
        .room = list->limit,
        .scan = STORE_LIST_SCAN,
        .records = list->records,
    };
    if (source->newest(source->adapter, &newest) != LULL_OK)
        return LULL_ESYSTEM;
    list->count = newest.count;
    if (newest.reached != 0)
        list->next = (struct list_cursor){.destination = LIST_BY_ID, .place.id = newest.reached};
    return LULL_OK;
}

int list_page(struct store_list *list, const struct list_source *source) {
    list->count = 0;
    list->next = (struct list_cursor){0};
    list->records = calloc(list->limit > 0 ? list->limit : 1, sizeof *list->records);
    if (list->records == NULL)
        return LULL_ENOMEM;
    if (list->limit == 0)
        return LULL_OK;
    return list->states == LIST_ALL ? fill_by_id(list, source) : fill(list, source);
}
