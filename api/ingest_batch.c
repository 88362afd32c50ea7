/* Many events in one request: all are accepted, or none. */
#include "api/batch.h"
#include "api/buffer.h"
#include "api/destination_view.h"
#include "api/handlers.h"
#include "api/reply.h"
#include "engine/id.h"

#include <stdlib.h>
#include <string.h>

/* In one transaction, so that a batch does not hold up the store for long. */
#define BATCH_DELIVERIES_MOST 100000

#define JSON_PAYLOAD "application/json"
#define TEXT_PAYLOAD "text/plain; charset=utf-8"

/* Where an event stands. */
struct origin {
    uint32_t line;
    bool by_type;
};

struct batch {
    struct store_accept accept;
    struct worker *worker;
    struct exchange *exchange;
    struct accept_event *events;
    struct origin *origins; /* one for each event */
    struct accept_delivery *deliveries;
    uint32_t event_room, delivery_room;
};

/* Where events go, kept from line to line: neighbours mostly go to the same place. */
struct target_ids {
    bool known, by_type;
    size_t length;
    char name[MESSAGE_TYPE_LONGEST + 1];
    uint32_t count;
    int64_t ids[FAN_OUT_MOST];
};

static void batch_destroy(struct batch *batch) {
    for (uint32_t i = 0; i < batch->accept.event_count; i++)
        message_release(batch->events[i].message);
    free(batch->events);
    free(batch->origins);
    free(batch->deliveries);
    free(batch);
}

/* ---- answering ---- */

/* The destination that it names was removed between the look-up and the commit. */
static bool is_lost(const struct batch *batch, uint32_t i) {
    const struct accept_event *event = &batch->events[i];
    return event->verdict == ACCEPT_NEW && !batch->origins[i].by_type &&
           batch->deliveries[event->first].place.id == 0;
}

static void add_error(struct buffer *errors, uint32_t line, bool lost) {
    buffer_text(errors, errors->length > 0 ? ",{\"line\":" : "{\"line\":");
    buffer_number(errors, line);
    buffer_text(errors, lost
                            ? ",\"code\":\"unknown_destination\",\"detail\":\"the destination was "
                              "removed meanwhile\"}"
                            : ",\"code\":\"key_reused\",\"detail\":\"this idempotency key was used "
                              "for another event in the last 24 hours\"}");
}

/* "evt_…",null,…; how many there are. */
static uint32_t add_ids(const struct batch *batch, struct buffer *ids, struct buffer *errors) {
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < batch->accept.event_count; i++) {
        const struct accept_event *event = &batch->events[i];
        char quoted[1 + ID_TEXT_SIZE] = "\"";
        bool lost = is_lost(batch, i);
        if (i > 0)
            buffer_add(ids, ",", 1);
        if (event->verdict == ACCEPT_MISMATCH || lost) {
            buffer_text(ids, "null");
            add_error(errors, batch->origins[i].line, lost);
            continue;
        }
        id_format(ID_EVENT, event->id, quoted + 1);
        quoted[ID_TEXT_SIZE] = '"'; /* in the place of the NUL */
        buffer_add(ids, quoted, sizeof quoted);
        accepted++;
    }
    return accepted;
}

static void answer(const struct batch *batch) {
    struct buffer ids = {0}, errors = {0}, body = {0};
    uint32_t accepted = add_ids(batch, &ids, &errors);
    buffer_text(&body, "{\"accepted\":");
    buffer_number(&body, accepted);
    buffer_text(&body, ",\"ids\":[");
    buffer_add(&body, ids.text, ids.length);
    buffer_text(&body, "]");
    if (errors.length > 0) {
        buffer_text(&body, ",\"errors\":[");
        buffer_add(&body, errors.text, errors.length);
        buffer_text(&body, "]");
    }
    buffer_text(&body, "}\n");
    body.failed |= ids.failed || errors.failed;
    free(ids.text);
    free(errors.text);
    reply_buffer(batch->exchange, 202, JSON_TYPE, &body);
}

static void accepted(struct store_request *request) {
    struct batch *batch = request->owner;
    if (request->result == LULL_OK)
        answer(batch);
    else
        reply_failed(batch->exchange, request->result);
    batch_destroy(batch);
}

/* ---- where to ---- */

/* False: answered. */
static bool find_named(const struct batch *batch, struct target_ids *target, uint32_t line) {
    struct destination *destination = registry_find(service_registry(batch->worker), target->name);
    bool fine = false;
    if (destination == NULL || destination_is_internal(destination)) {
        reply_problem_line(batch->exchange, 400, "unknown_destination", line,
                           "line %u: there is no destination %.100s", (unsigned)line, target->name);
    } else if (destination_state(destination) == DESTINATION_DISABLED) {
        reply_problem_line(batch->exchange, 409, "destination_disabled", line,
                           "line %u: %s is disabled, since it answered 410; resume it first",
                           (unsigned)line, target->name);
    } else {
        target->count = 1;
        target->ids[0] = destination->row.id;
        fine = true;
    }
    destination_release(destination);
    return fine;
}

static bool find_typed(const struct batch *batch, struct target_ids *target, uint32_t line) {
    struct destination *found[FAN_OUT_MOST + 1];
    uint32_t count =
        registry_match(service_registry(batch->worker), target->name, found, FAN_OUT_MOST + 1);
    for (uint32_t i = 0; i < count && i <= FAN_OUT_MOST; i++) {
        if (i < FAN_OUT_MOST)
            target->ids[i] = found[i]->row.id;
        destination_release(found[i]);
    }
    target->count = count;
    if (count <= FAN_OUT_MOST)
        return true;
    reply_problem_line(batch->exchange, 409, "too_many_destinations", line,
                       "line %u: more than %d destinations take events of this type",
                       (unsigned)line, FAN_OUT_MOST);
    return false;
}

/* False: answered. */
static bool find_target(const struct batch *batch, const struct batch_line *parsed,
                        struct target_ids *target, uint32_t line) {
    bool by_type = parsed->destination.text == NULL;
    struct slice name = by_type ? parsed->type : parsed->destination;
    if (target->known && target->by_type == by_type && target->length == name.length &&
        memcmp(target->name, name.text, name.length) == 0)
        return true;
    /* A type has been checked; a name may be anything, and cut or with a NUL in it must not become another. */
    size_t longest = sizeof target->name - 1;
    size_t length = name.length < longest ? name.length : longest;
    memcpy(target->name, name.text, length);
    target->name[length] = '\0';
    if (strlen(target->name) != name.length) {
        reply_problem_line(batch->exchange, 400, "unknown_destination", line,
                           "line %u: there is no destination %.100s", (unsigned)line, target->name);
        return false;
    }
    target->length = name.length;
    target->by_type = by_type;
    target->known = by_type ? find_typed(batch, target, line) : find_named(batch, target, line);
    return target->known;
}

/* ---- collecting ---- */

static bool grow(void **array, uint32_t *room, size_t size, uint32_t needed) {
    if (needed <= *room)
        return true;
    uint32_t more = *room > 0 ? *room : 64;
    while (more < needed)
        more *= 2;
    void *grown = reallocarray(*array, more, size);
    if (grown == NULL)
        return false;
    *array = grown;
    *room = more;
    return true;
}

static bool make_room(struct batch *batch, uint32_t deliveries) {
    uint32_t room = batch->event_room;
    void *events = batch->events, *origins = batch->origins, *places = batch->deliveries;
    uint32_t needed = batch->accept.event_count + 1;
    bool fine = grow(&events, &batch->event_room, sizeof *batch->events, needed) &&
                grow(&origins, &room, sizeof *batch->origins, needed) &&
                grow(&places, &batch->delivery_room, sizeof *batch->deliveries,
                     batch->accept.delivery_count + deliveries);
    batch->events = events;
    batch->origins = origins;
    batch->deliveries = places;
    return fine;
}

/* False: out of memory. */
static bool add_event(struct batch *batch, const struct batch_line *parsed,
                      const struct target_ids *target, uint32_t line) {
    struct slice content_type = parsed->content_type;
    if (content_type.text == NULL)
        content_type = parsed->is_text ? (struct slice){TEXT_PAYLOAD, sizeof TEXT_PAYLOAD - 1}
                                       : (struct slice){JSON_PAYLOAD, sizeof JSON_PAYLOAD - 1};
    if (!make_room(batch, target->count))
        return false;
    struct accept_event event = {
        .message = message_new(&(struct message_parts){
            .type = parsed->type.text,
            .type_length = parsed->type.length,
            .content_type = content_type.text,
            .content_type_length = content_type.length,
            .payload = parsed->payload.text,
            .payload_length = parsed->payload.length,
        }),
        .key = parsed->key.text,
        .key_length = parsed->key.length,
        .first = batch->accept.delivery_count,
        .count = target->count,
    };
    if (event.message == NULL)
        return false;
    batch->origins[batch->accept.event_count] =
        (struct origin){.line = line, .by_type = target->by_type};
    for (uint32_t i = 0; i < target->count; i++)
        batch->deliveries[batch->accept.delivery_count++] =
            (struct accept_delivery){.destination = target->ids[i]};
    bool fine =
        event.key == NULL || event_fingerprint(parsed->destination, parsed->type, content_type,
                                               parsed->payload, &event.fingerprint);
    batch->events[batch->accept.event_count++] = event;
    return fine;
}

/* False: answered. */
static bool add_line(struct batch *batch, char *text, size_t length, uint32_t line,
                     struct target_ids *target) {
    struct batch_line parsed;
    char message[BATCH_MESSAGE_SIZE];
    if (!batch_read(text, length, &parsed, message)) {
        reply_problem_line(batch->exchange, 400, "bad_batch", line, "line %u: %s", (unsigned)line,
                           message);
        return false;
    }
    if (!find_target(batch, &parsed, target, line))
        return false;
    if (target->count > BATCH_DELIVERIES_MOST - batch->accept.delivery_count) {
        reply_problem_line(batch->exchange, 413, "too_many_deliveries", line,
                           "line %u: a batch may have %d deliveries in all; send the rest in "
                           "another",
                           (unsigned)line, BATCH_DELIVERIES_MOST);
        return false;
    }
    if (add_event(batch, &parsed, target, line))
        return true;
    reply_no_memory(batch->exchange);
    return false;
}

/* False: answered. */
static bool add_lines(struct batch *batch) {
    struct target_ids target;
    size_t length = 0;
    char *at = exchange_body(batch->exchange, &length), *end = at + length;
    target.known = false;
    for (uint32_t line = 1; at < end; line++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t taken = (size_t)((newline != NULL ? newline : end) - at);
        if (!batch_is_empty(at, taken) && !add_line(batch, at, taken, line, &target))
            return false;
        at += taken + (newline != NULL);
    }
    if (batch->accept.event_count > 0)
        return true;
    reply_problem(batch->exchange, 400, "bad_batch",
                  "the body has no event in it; it must be one JSON object a line");
    return false;
}

void ingest_batch(struct call *call) {
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    batch->worker = call->worker;
    batch->exchange = call->exchange;
    batch->accept.request =
        (struct store_request){.kind = STORE_ACCEPT, .done = accepted, .owner = batch};
    if (!add_lines(batch)) {
        batch_destroy(batch);
        return;
    }
    batch->accept.events = batch->events;
    batch->accept.deliveries = batch->deliveries;
    struct store_port *store = service_store(call->worker);
    store->submit(store, &batch->accept.request);
}
