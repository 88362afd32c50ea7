#include "model.h"

#include <stdlib.h>

#define CHUNK 1000

struct receiver *fixed_receiver(struct world *world, const struct lull_guard_config *config) {
    struct receiver *receiver = receiver_add(world, config);
    people_create(world, receiver);
    world_run(world, world->now + LULL_SECOND);
    return receiver;
}

static void fill_chunk(struct world *world, struct receiver *receiver, uint32_t count) {
    struct accept_event *events = calloc(count, sizeof *events);
    struct accept_delivery *deliveries = calloc(count, sizeof *deliveries);
    if (events == NULL || deliveries == NULL)
        abort();
    for (uint32_t i = 0; i < count; i++) {
        events[i] = (struct accept_event){
            .message = message_new(&(struct message_parts){.payload = "x", .payload_length = 1}),
            .first = i,
            .count = 1};
        if (events[i].message == NULL)
            abort();
        deliveries[i].destination = receiver->id;
    }
    struct store_accept accept = {
        .request = {.kind = STORE_ACCEPT},
        .events = events,
        .deliveries = deliveries,
        .event_count = count,
        .delivery_count = count,
    };
    disk_ask(world, &accept.request);
    model_committed(world, &accept.request);
    for (uint32_t i = 0; i < count; i++)
        message_release(events[i].message);
    free(events);
    free(deliveries);
}

void fixed_fill(struct world *world, struct receiver *receiver, uint32_t count) {
    for (uint32_t i = 0; i < count; i += CHUNK)
        fill_chunk(world, receiver, count - i < CHUNK ? count - i : CHUNK);
}

void fixed_kill_all(struct world *world) {
    for (uint32_t i = 0; i < world->model.count; i++) {
        const struct delivery *delivery = &world->model.deliveries[i];
        if (delivery->state > DELIVERY_RETRY)
            continue;
        struct store_settle settle = {
            .request = {.kind = STORE_SETTLE, .insistent = true},
            .destination = delivery->receiver->id,
            .from = {delivery->at, delivery->id},
            .from_state = (enum delivery_state)delivery->state,
            .to_state = DELIVERY_DEAD,
            .at = world->now,
            .attempts = 1,
            .tries = 1,
            .first_failed = world->now,
            .reason = LULL_REASON_PERMANENT,
            .attempt = {.number = 1, .class_ = LULL_PERMANENT, .status = 404},
        };
        disk_ask(world, &settle.request);
        model_committed(world, &settle.request);
    }
}
