#include "api/delivery_view.h"
#include "api/handlers.h"
#include "api/list.h"
#include "api/look.h"
#include "api/reply.h"
#include "api/text.h"
#include "engine/id.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

void dlq_list(struct call *call) {
    list_deliveries(call, UINT32_C(1) << DELIVERY_DEAD, dead_letter_item);
}

static void reply_unknown(struct exchange *exchange) {
    reply_problem(exchange, 404, "unknown_dead_letter",
                  "there is no such dead letter; it may have been replayed or dropped");
}

/* ---- one of them ---- */

/* "name: value\n"… as an object. */
static json_t *headers_view(const struct message *message) {
    json_t *headers = json_object();
    const char *at = message->headers, *end = at + message->headers_length;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        const char *colon = memchr(at, ':', (size_t)(line_end - at));
        if (colon != NULL) {
            const char *value = colon + 1 < line_end && colon[1] == ' ' ? colon + 2 : colon + 1;
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)(colon - at), at);
            json_put(&headers, name, json_bytes(value, (size_t)(line_end - value)));
        }
        at = line_end + 1;
    }
    return headers;
}

static json_t *base64_json(const char *bytes, size_t length) {
    char *text = length < INT32_MAX / 2 ? malloc((length + 2) / 3 * 4 + 1) : NULL;
    if (text == NULL)
        return NULL;
    int written = EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)bytes, (int)length);
    json_t *value = json_stringn(text, (size_t)written);
    free(text);
    return value;
}

static json_t *letter_view(const struct looking *looking) {
    const struct message *message = looking->get.message;
    const struct delivery_record *record = &looking->get.records[0];
    json_t *view = dead_letter_item(looking->worker, record);
    json_put(&view, "content_type", json_text(message->content_type));
    json_put(&view, "headers", headers_view(message));
    json_put(&view, "accepted_at", json_time(message->accepted));
    if (text_is_utf8(message->payload, message->payload_length))
        json_put(&view, "payload", json_bytes(message->payload, message->payload_length));
    else
        json_put(&view, "payload_base64", base64_json(message->payload, message->payload_length));
    json_put(&view, "trace", trace_view(record));
    return view;
}

static void show(const struct looking *looking) {
    const struct store_get *get = &looking->get;
    if (get->count > 0 && get->records[0].state == DELIVERY_DEAD)
        reply_json(looking->exchange, 200, letter_view(looking));
    else
        reply_unknown(looking->exchange);
}

void dlq_show(struct call *call) {
    int64_t id;
    if (id_parse(ID_DELIVERY, call->parameter, &id))
        look_up(call, id, true, show, reply_unknown);
    else
        reply_unknown(call->exchange);
}

/* ---- dropping ---- */

struct dropping {
    struct store_drop drop;
    struct worker *worker;
    struct exchange *exchange;
};

static void dropped(struct store_request *request) {
    struct dropping *dropping = request->owner;
    if (request->result == LULL_OK) {
        service_dropped(dropping->worker, dropping->drop.destination, 1);
        reply_nothing(dropping->exchange);
    } else if (request->result == STORE_ABSENT) {
        reply_unknown(dropping->exchange);
    } else {
        reply_failed(dropping->exchange, request->result);
    }
    free(dropping);
}

void dlq_drop(struct call *call) {
    int64_t id;
    if (!id_parse(ID_DELIVERY, call->parameter, &id)) {
        reply_unknown(call->exchange);
        return;
    }
    struct dropping *dropping = calloc(1, sizeof *dropping);
    if (dropping == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    dropping->worker = call->worker;
    dropping->exchange = call->exchange;
    dropping->drop.request =
        (struct store_request){.kind = STORE_DROP, .done = dropped, .owner = dropping};
    dropping->drop.id = id;
    struct store_port *store = service_store(call->worker);
    store->submit(store, &dropping->drop.request);
}
