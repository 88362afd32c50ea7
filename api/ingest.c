/* One event in: the hot path. One message, one block with the request to the store, one answer; no JSON. */
#include "api/destination_view.h"
#include "api/event.h"
#include "api/handlers.h"
#include "api/reply.h"
#include "api/text.h"
#include "engine/id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ingest {
    struct store_accept accept;
    struct accept_event event;
    struct exchange *exchange;
    bool to_one;
    struct accept_delivery deliveries[];
};

/* What the request says beside its path; borrowed from the exchange. */
struct parts {
    struct slice destination; /* not given: by type */
    struct slice type, content_type, key;
    size_t headers_length;
    char headers[MESSAGE_HEADERS_LONGEST];
};

static struct slice slice_of(const char *text) {
    return (struct slice){text, text != NULL ? strlen(text) : 0};
}

/* ---- reading ---- */

/* Field values that travel on with the event. */
static bool add_header(struct call *call, struct parts *parts, const char *name) {
    struct slice value = slice_of(exchange_header(call->exchange, name));
    if (value.length == 0)
        return true;
    size_t length = strlen(name) + 2 + value.length + 1;
    if (!text_is_field(value.text, value.length)) {
        reply_problem(call->exchange, 400, "bad_header",
                      "%s must be printable ASCII, as it is sent on in a header field", name);
        return false;
    }
    /* One byte is for the NUL that snprintf adds. */
    if (length >= sizeof parts->headers - parts->headers_length) {
        reply_problem(call->exchange, 400, "bad_header",
                      "%s is too long; %d bytes of header fields are sent on", name,
                      MESSAGE_HEADERS_LONGEST);
        return false;
    }
    snprintf(parts->headers + parts->headers_length, sizeof parts->headers - parts->headers_length,
             "%s: %s\n", name, value.text);
    parts->headers_length += length;
    return true;
}

static bool refuse(struct call *call, const char *code, const char *wrong) {
    if (wrong != NULL)
        reply_problem(call->exchange, 400, code, "%s", wrong);
    return wrong != NULL;
}

/* False: answered. */
static bool read_parts(struct call *call, struct parts *parts) {
    struct exchange *exchange = call->exchange;
    parts->headers_length = 0;
    parts->type = slice_of(exchange_query(exchange, "type"));
    parts->content_type = slice_of(exchange_header(exchange, "Content-Type"));
    parts->key = slice_of(exchange_header(exchange, "Idempotency-Key"));
    if ((parts->type.text != NULL && refuse(call, "bad_type", event_wrong_type(parts->type))) ||
        (parts->key.text != NULL && refuse(call, "bad_key", event_wrong_key(parts->key))) ||
        refuse(call, "bad_header", event_wrong_content_type(parts->content_type)))
        return false;
    return add_header(call, parts, "Content-Encoding") && add_header(call, parts, "traceparent") &&
           add_header(call, parts, "tracestate");
}

/* ---- answering ---- */

static uint32_t accepted_count(const struct ingest *ingest) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ingest->event.count; i++)
        count += ingest->deliveries[i].place.id != 0;
    return count;
}

static void answer_new(struct ingest *ingest) {
    char body[80], id[ID_TEXT_SIZE];
    uint32_t count = accepted_count(ingest);
    if (ingest->to_one && count == 0) {
        reply_problem(ingest->exchange, 404, "unknown_destination",
                      "the destination was removed meanwhile");
        return;
    }
    int length = snprintf(body, sizeof body, "{\"id\":\"%s\",\"deliveries\":%u}\n",
                          id_format(ID_EVENT, ingest->event.id, id), (unsigned)count);
    reply_text(ingest->exchange, 202, JSON_TYPE, body, (size_t)length);
}

static void answer_replayed(struct ingest *ingest) {
    static const struct answer_field replayed = {"Idempotency-Replayed", "true"};
    char body[80], id[ID_TEXT_SIZE];
    int length =
        snprintf(body, sizeof body, "{\"id\":\"%s\"}\n", id_format(ID_EVENT, ingest->event.id, id));
    exchange_answer(ingest->exchange, &(struct answer){.status = 202,
                                                       .content_type = JSON_TYPE,
                                                       .body = body,
                                                       .length = (size_t)length,
                                                       .fields = &replayed,
                                                       .field_count = 1});
}

static void accepted(struct store_request *request) {
    struct ingest *ingest = request->owner;
    if (request->result != LULL_OK)
        reply_failed(ingest->exchange, request->result);
    else if (ingest->event.verdict == ACCEPT_NEW)
        answer_new(ingest);
    else if (ingest->event.verdict == ACCEPT_REPLAYED)
        answer_replayed(ingest);
    else
        reply_problem(ingest->exchange, 422, "key_reused",
                      "this idempotency key was used for another event in the last 24 hours");
    message_release(ingest->event.message);
    free(ingest);
}

/* ---- submitting ---- */

static bool fill_event(struct ingest *ingest, const struct parts *parts, struct slice payload) {
    struct accept_event *event = &ingest->event;
    event->message = message_new(&(struct message_parts){
        .type = parts->type.text,
        .type_length = parts->type.length,
        .content_type = parts->content_type.text,
        .content_type_length = parts->content_type.length,
        .headers = parts->headers,
        .headers_length = parts->headers_length,
        .payload = payload.text,
        .payload_length = payload.length,
    });
    event->key = parts->key.text;
    event->key_length = parts->key.length;
    return event->message != NULL &&
           (event->key == NULL ||
            event_fingerprint(parts->destination, parts->type, parts->content_type, payload,
                              &event->fingerprint));
}

static void submit(struct call *call, const struct parts *parts,
                   struct destination *const *destinations, uint32_t count) {
    struct ingest *ingest = malloc(sizeof *ingest + count * sizeof ingest->deliveries[0]);
    struct slice payload = {0};
    payload.text = exchange_body(call->exchange, &payload.length);
    if (ingest == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    memset(ingest, 0, sizeof *ingest);
    if (!fill_event(ingest, parts, payload)) {
        message_release(ingest->event.message);
        free(ingest);
        reply_no_memory(call->exchange);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        ingest->deliveries[i] = (struct accept_delivery){.destination = destinations[i]->row.id};
    ingest->event.count = count;
    ingest->exchange = call->exchange;
    ingest->to_one = parts->destination.text != NULL;
    ingest->accept = (struct store_accept){
        .request = {.kind = STORE_ACCEPT, .done = accepted, .owner = ingest},
        .events = &ingest->event,
        .deliveries = ingest->deliveries,
        .event_count = 1,
        .delivery_count = count,
    };
    struct store_port *store = service_store(call->worker);
    store->submit(store, &ingest->accept.request);
}

void ingest_to_one(struct call *call) {
    struct parts parts;
    struct destination *destination = destination_named(call);
    if (destination == NULL)
        return;
    if (destination_is_internal(destination)) {
        reply_unknown_destination(call->exchange, call->parameter);
    } else if (destination_state(destination) == DESTINATION_DISABLED) {
        reply_problem(call->exchange, 409, "destination_disabled",
                      "%s is disabled, since it answered 410; POST /v1/destinations/%s/resume "
                      "makes it take events again",
                      destination->row.name, destination->row.name);
    } else if (read_parts(call, &parts)) {
        parts.destination = slice_of(destination->row.name);
        submit(call, &parts, &destination, 1);
    }
    destination_release(destination);
}

void ingest_by_type(struct call *call) {
    struct destination *found[FAN_OUT_MOST + 1];
    struct parts parts;
    if (!read_parts(call, &parts))
        return;
    if (parts.type.text == NULL) {
        reply_problem(call->exchange, 400, "bad_type",
                      "type is missing; POST /v1/events?type=order.paid, or "
                      "/v1/destinations/{name}/events to name the destination");
        return;
    }
    parts.destination = (struct slice){0};
    uint32_t count =
        registry_match(service_registry(call->worker), parts.type.text, found, FAN_OUT_MOST + 1);
    if (count > FAN_OUT_MOST)
        reply_problem(call->exchange, 409, "too_many_destinations",
                      "more than %d destinations take events of this type", FAN_OUT_MOST);
    else
        submit(call, &parts, found, count);
    for (uint32_t i = 0; i < count && i <= FAN_OUT_MOST; i++)
        destination_release(found[i]);
}
