#include "api/delivery_view.h"
#include "api/handlers.h"
#include "api/list.h"
#include "api/look.h"
#include "api/reply.h"
#include "engine/id.h"

#include <string.h>

#define STATE(name) (UINT32_C(1) << DELIVERY_##name)

void events_list(struct call *call) {
    const char *state = exchange_query(call->exchange, "state");
    uint32_t states = STATE(FRESH) | STATE(RETRY) | STATE(DELIVERED) | STATE(DEAD);
    if (state != NULL && state[0] != '\0') {
        states = strcmp(state, "pending") == 0     ? STATE(FRESH) | STATE(RETRY)
                 : strcmp(state, "delivered") == 0 ? STATE(DELIVERED)
                 : strcmp(state, "dead") == 0      ? STATE(DEAD)
                                                   : 0;
    }
    if (states == 0)
        reply_problem(call->exchange, 400, "bad_state", "state must be pending, delivered or dead");
    else
        list_deliveries(call, states, delivery_item);
}

/* ---- one event ---- */

static void reply_unknown_event(struct exchange *exchange) {
    reply_problem(exchange, 404, "unknown_event",
                  "there is no such event; delivered ones are kept for a while only");
}

static json_t *event_view(const struct looking *looking) {
    const struct store_get *get = &looking->get;
    const struct message *message = get->message;
    json_t *view = json_object(), *deliveries = json_array();
    json_put(&view, "id", id_json(ID_EVENT, message->id));
    json_put(&view, "type", json_text(message->type));
    json_put(&view, "content_type", json_text(message->content_type));
    json_put(&view, "accepted_at", json_time(message->accepted));
    json_put(&view, "payload_bytes", json_integer((json_int_t)message->payload_length));
    for (uint32_t i = 0; i < get->count; i++)
        json_add(&deliveries, delivery_of_event(looking->worker, &get->records[i]));
    json_put(&view, "deliveries", deliveries);
    return view;
}

static void show(const struct looking *looking) {
    reply_json(looking->exchange, 200, event_view(looking));
}

void events_show(struct call *call) {
    int64_t id;
    if (id_parse(ID_EVENT, call->parameter, &id))
        look_up(call, id, false, show, reply_unknown_event);
    else if (id_parse(ID_DELIVERY, call->parameter, &id))
        look_up(call, id, true, show, reply_unknown_event);
    else
        reply_unknown_event(call->exchange);
}
