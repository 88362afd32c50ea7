#include "api/list.h"

#include "api/destination_view.h"
#include "api/page.h"
#include "api/reply.h"

#include <stdlib.h>

struct listing {
    struct store_list list;
    struct worker *worker;
    struct exchange *exchange;
    json_t *(*view)(struct worker *worker, const struct delivery_record *record);
};

static void listed(struct store_request *request) {
    struct listing *listing = request->owner;
    const struct store_list *list = &listing->list;
    char next[CURSOR_TEXT_SIZE];
    if (request->result != LULL_OK) {
        reply_failed(listing->exchange, request->result);
    } else {
        json_t *items = json_array();
        for (uint32_t i = 0; i < list->count; i++)
            json_add(&items, listing->view(listing->worker, &list->records[i]));
        reply_page(listing->exchange, items,
                   list->next.destination != 0 ? cursor_format(&list->next, next) : NULL);
    }
    free(list->records);
    free(listing);
}

/* 0: all. False: answered. */
static bool read_destination(struct call *call, int64_t *id) {
    const char *name = exchange_query(call->exchange, "destination");
    *id = 0;
    if (name == NULL || name[0] == '\0')
        return true;
    struct destination *destination = registry_find(service_registry(call->worker), name);
    if (destination == NULL) {
        reply_unknown_destination(call->exchange, name);
        return false;
    }
    *id = destination->row.id;
    destination_release(destination);
    return true;
}

/* False: answered. */
static bool read_cursor(struct call *call, struct store_list *list) {
    const char *text = exchange_query(call->exchange, "cursor");
    if (text == NULL)
        return true;
    bool by_id = list->states == LIST_ALL;
    if (cursor_parse(text, &list->from) && by_id == (list->from.destination == LIST_BY_ID) &&
        (by_id || ((list->destination == 0 || list->destination == list->from.destination) &&
                   (list->states >> list->from.state & 1) != 0)))
        return true;
    reply_bad_cursor(call->exchange);
    return false;
}

void list_deliveries(struct call *call, uint32_t states,
                     json_t *(*view)(struct worker *worker, const struct delivery_record *record)) {
    struct store_list list = {.states = states};
    if (!page_limit(call->exchange, &list.limit) || !read_destination(call, &list.destination) ||
        !read_cursor(call, &list))
        return;
    struct listing *listing = malloc(sizeof *listing);
    if (listing == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    list.request = (struct store_request){.kind = STORE_LIST, .done = listed, .owner = listing};
    *listing = (struct listing){
        .list = list, .worker = call->worker, .exchange = call->exchange, .view = view};
    struct store_port *store = service_store(call->worker);
    store->submit(store, &listing->list.request);
}
