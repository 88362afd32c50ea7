/* What producers and operators do, through the same requests as the daemon's HTTP interface (serve/change.c). */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Somebody's request on its way to the disk and back. */
struct errand {
    union {
        struct store_request request;
        struct store_accept accept;
        struct store_put put;
        struct store_remove remove;
        struct store_clock clock;
        struct store_drop drop;
        struct store_tidy tidy;
        struct store_replay_start start;
        struct store_replay_end end;
    } store;
    struct world *world;
    struct receiver *receiver;
    void (*finish)(struct errand *errand); /* it was answered LULL_OK */
    char settings[16];
    int64_t *ids;
};

static void done(struct store_request *request) {
    struct errand *errand = request->owner;
    struct world *world = errand->world;
    world->errands--;
    if (!world->dying && request->result == LULL_OK && errand->finish != NULL)
        errand->finish(errand);
    if (request->kind == STORE_ACCEPT) {
        for (uint32_t i = 0; i < errand->store.accept.event_count; i++)
            message_release(errand->store.accept.events[i].message);
        free(errand->store.accept.events);
        free(errand->store.accept.deliveries);
    }
    free(errand->ids);
    free(errand);
}

static struct errand *errand_new(struct world *world, struct receiver *receiver,
                                 void (*finish)(struct errand *)) {
    struct errand *errand = calloc(1, sizeof *errand);
    if (errand == NULL)
        abort();
    errand->world = world;
    errand->receiver = receiver;
    errand->finish = finish;
    world->errands++;
    return errand;
}

static struct store_request asked(enum store_kind kind, struct errand *errand) {
    return (struct store_request){.kind = kind, .done = done, .owner = errand};
}

static void submit(struct errand *errand) {
    struct store_port *port = &errand->world->disk.port;
    port->submit(port, &errand->store.request);
}

/* ---- producers ---- */

/* Each event goes to all these receivers. */
void people_send(struct world *world, struct receiver *const *receivers, uint32_t count,
                 uint32_t events) {
    struct errand *errand = errand_new(world, NULL, NULL);
    struct store_accept *accept = &errand->store.accept;
    *accept = (struct store_accept){
        .request = asked(STORE_ACCEPT, errand),
        .events = calloc(events, sizeof *accept->events),
        .deliveries = calloc((size_t)events * count, sizeof *accept->deliveries),
        .event_count = events,
        .delivery_count = events * count,
    };
    if (accept->events == NULL || accept->deliveries == NULL)
        abort();
    for (uint32_t i = 0; i < events; i++) {
        accept->events[i] = (struct accept_event){
            .message = message_new(&(struct message_parts){.payload = "x", .payload_length = 1}),
            .first = i * count,
            .count = count};
        if (accept->events[i].message == NULL)
            abort();
        for (uint32_t j = 0; j < count; j++)
            accept->deliveries[i * count + j].destination = receivers[j]->id;
    }
    submit(errand);
}

/* ---- operators ---- */

static void created(struct errand *errand) {
    struct world *world = errand->world;
    struct receiver *receiver = errand->receiver;
    struct lane_options options = {
        .destination = receiver->id,
        .name = receiver->name,
        .target = receiver_target(receiver),
        .config = &receiver->config,
    };
    model_takes_config(receiver, options.config);
    receiver->lane = engine_add(&world->engine, &options);
    if (receiver->lane == NULL)
        world_fail(world, "no lane for a new destination");
}

static void configured(struct errand *errand) {
    struct world *world = errand->world;
    struct receiver *receiver = errand->receiver;
    if (receiver->lane == NULL)
        return;
    int number = atoi(errand->settings);
    const struct lull_guard_config *config = &world->configs[number];
    struct target *target = receiver_target(receiver);
    if (engine_configure(&world->engine, receiver->lane, target, config) != LULL_OK) {
        target_release(target); /* the breaker's kind of window differs: at the next start */
        return;
    }
    model_takes_config(receiver, config);
    receiver->config_number = number;
}

static void put(struct world *world, struct receiver *receiver,
                const struct lull_guard_config *config, void (*finish)(struct errand *)) {
    if (world->config_count == CONFIGS_MOST)
        return;
    struct errand *errand = errand_new(world, receiver, finish);
    world->configs[world->config_count] = model_filled(config);
    snprintf(errand->settings, sizeof errand->settings, "%d", world->config_count++);
    errand->store.put = (struct store_put){
        .request = asked(STORE_PUT, errand),
        .row = {.id = receiver->id, .state = receiver->state, .settings = errand->settings},
    };
    memcpy(errand->store.put.row.name, receiver->name, sizeof receiver->name);
    submit(errand);
}

void people_create(struct world *world, struct receiver *receiver) {
    receiver->config_number = world->config_count;
    put(world, receiver, &receiver->config, created);
}

void people_configure(struct world *world, struct receiver *receiver,
                      const struct lull_guard_config *config) {
    put(world, receiver, config, configured);
}

void people_set_state(struct world *world, struct receiver *receiver,
                      enum destination_state state) {
    struct errand *errand = errand_new(world, receiver, NULL);
    engine_set_state(&world->engine, receiver->lane, state);
    receiver->state = state;
    if (state == DESTINATION_ACTIVE) {
        receiver->paused_until = receiver->pause_patience = 0;
        model_outage(receiver);
    }
    world_note(world, "%s: state %d", receiver->name, state);
    errand->store.clock = (struct store_clock){
        .request = asked(STORE_CLOCK, errand),
        .destination = receiver->id,
        .blocked_until = receiver->lane->clock_kept,
        .state = state,
    };
    submit(errand);
}

static void removed(struct errand *errand) {
    struct receiver *receiver = errand->receiver;
    if (receiver->lane == NULL)
        return;
    receiver->removed = true;
    engine_remove(&errand->world->engine, receiver->lane);
    receiver->lane = NULL;
}

void people_remove(struct world *world, struct receiver *receiver, bool force) {
    struct errand *errand = errand_new(world, receiver, removed);
    world_note(world, "%s: to be removed", receiver->name);
    errand->store.remove = (struct store_remove){
        .request = asked(STORE_REMOVE, errand), .destination = receiver->id, .force = force};
    submit(errand);
}

static void replay_started(struct errand *errand) {
    struct world *world = errand->world;
    world->replays++;
    world_note(world, "%s: replay %lld starts", errand->receiver->name,
               (long long)errand->store.start.row.id);
    if (errand->receiver->lane != NULL)
        engine_replay(&world->engine, errand->receiver->lane, &errand->store.start.row);
}

void people_replay(struct world *world, struct receiver *receiver, const int64_t *ids,
                   uint32_t count) {
    struct errand *errand = errand_new(world, receiver, replay_started);
    if (ids != NULL) {
        errand->ids = calloc(count, sizeof *ids);
        if (errand->ids == NULL)
            abort();
        memcpy(errand->ids, ids, count * sizeof *ids);
    }
    errand->store.start = (struct store_replay_start){
        .request = asked(STORE_REPLAY_START, errand),
        .row = {.destination = receiver->id, .rate = REPLAY_RATE},
        .ids = errand->ids,
        .id_count = count,
    };
    submit(errand);
}

static void replay_cancelled(struct errand *errand) {
    struct world *world = errand->world;
    const struct replay_row *row = &errand->store.end.row;
    struct receiver *receiver = receiver_find(world, row->destination);
    if (receiver != NULL && receiver->lane != NULL)
        engine_replay_cancelled(&world->engine, receiver->lane, row->id);
}

void people_cancel_replay(struct world *world, int64_t replay) {
    struct errand *errand = errand_new(world, NULL, replay_cancelled);
    errand->store.end = (struct store_replay_end){
        .request = asked(STORE_REPLAY_END, errand), .replay = replay, .state = REPLAY_CANCELLED};
    submit(errand);
}

static void dropped(struct errand *errand) {
    struct world *world = errand->world;
    struct receiver *receiver = receiver_find(world, errand->store.drop.destination);
    if (receiver != NULL && receiver->lane != NULL)
        engine_dropped(&world->engine, receiver->lane, 1);
}

void people_drop(struct world *world, int64_t delivery) {
    struct errand *errand = errand_new(world, NULL, dropped);
    errand->store.drop = (struct store_drop){.request = asked(STORE_DROP, errand), .id = delivery};
    submit(errand);
}

void people_tidy(struct world *world, lull_duration retention) {
    struct errand *errand = errand_new(world, NULL, NULL);
    errand->store.tidy = (struct store_tidy){
        .request = asked(STORE_TIDY, errand),
        .delivered_before = world->now - retention,
        .limit = 64,
    };
    submit(errand);
}
