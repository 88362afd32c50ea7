#include "api/look.h"

#include "api/reply.h"

#include <stdlib.h>

static void got(struct store_request *request) {
    struct looking *looking = request->owner;
    if (request->result == LULL_OK)
        looking->show(looking);
    else if (request->result == STORE_ABSENT)
        looking->unknown(looking->exchange);
    else
        reply_failed(looking->exchange, request->result);
    store_get_clean_up(&looking->get);
    free(looking);
}

void look_up(struct call *call, int64_t id, bool is_delivery,
             void (*show)(const struct looking *looking),
             void (*unknown)(struct exchange *exchange)) {
    struct looking *looking = calloc(1, sizeof *looking);
    if (looking == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    looking->worker = call->worker;
    looking->exchange = call->exchange;
    looking->show = show;
    looking->unknown = unknown;
    looking->get.request = (struct store_request){.kind = STORE_GET, .done = got, .owner = looking};
    looking->get.id = id;
    looking->get.delivery = is_delivery;
    struct store_port *store = service_store(call->worker);
    store->submit(store, &looking->get.request);
}
