#include "model.h"

#include <stdlib.h>

static void add_lane(struct world *world, const struct destination_row *row) {
    struct receiver *receiver = receiver_find(world, row->id);
    if (receiver == NULL) {
        world_fail(world, "the store has a destination %lld that nobody made", (long long)row->id);
        return;
    }
    receiver->config_number = atoi(row->settings);
    model_takes_config(receiver, &world->configs[receiver->config_number]);
    receiver->state = row->state;
    if (row->state != receiver->kept_state || row->blocked_until != receiver->kept_until ||
        receiver->config_number != receiver->kept_config || receiver->kept_removed)
        world_fail(world, "destination %s came back otherwise than it was committed",
                   receiver->name);
    if (row->blocked_until > world->now) {
        receiver->paused_until = row->blocked_until;
        receiver->pause_patience =
            row->blocked_until + (row->blocked_until - world->now) / 5 + LULL_SECOND;
    }
    if (row->pending[0] + row->pending[1] > 0)
        model_outage(receiver);
    struct lane_options options = {
        .destination = row->id,
        .name = row->name,
        .target = receiver_target(receiver),
        .config = &receiver->config,
        .state = row->state,
        .blocked_until = row->blocked_until,
        .pending = {row->pending[0], row->pending[1]},
        .dead = row->dead,
    };
    receiver->lane = engine_add(&world->engine, &options);
    if (receiver->lane == NULL)
        world_fail(world, "no lane for destination %s", receiver->name);
}

static void tell(void *context, const struct news *news) {
    struct world *world = context;
    static const char *const names[] = {
        "dead letter", "breaker opened", "breaker closed", "storm began",
        "storm ended", "storm near",     "disabled",       "blocked",
        "recovered",   "replay stopped", "replay done",
    };
    if (world->dying)
        return;
    if (news->kind == NEWS_BREAKER_OPENED)
        model_outage(receiver_find(world, news->lane->destination));
    world_note(world, "news of %s: %s %lld", news->lane->name, names[news->kind],
               (long long)news->id);
}

void life_begin(struct world *world) {
    world->life = ++world->lives;
    world->draining = false;
    model_new_life(world);
    engine_init(&world->engine, &(struct engine_options){
                                    .store = &world->disk.port,
                                    .transport = &world->transport,
                                    .seed = world->seed ^ world->step,
                                    .tell = tell,
                                    .context = world,
                                });
    engine_tick(&world->engine, world->now);
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    disk_ask(world, &all.request);
    for (uint32_t i = 0; i < all.count; i++)
        add_lane(world, &all.rows[i]);
    store_destinations_clean_up(&all);
    struct store_replays replays = {.request = {.kind = STORE_REPLAYS}};
    disk_ask(world, &replays.request);
    for (uint32_t i = 0; i < replays.count; i++) {
        struct receiver *receiver = receiver_find(world, replays.rows[i].destination);
        if (receiver != NULL && receiver->lane != NULL)
            engine_replay(&world->engine, receiver->lane, &replays.rows[i]);
    }
    store_replays_clean_up(&replays);
    world_note(world, "life %u begins", world->life);
}

static void forget_lanes(struct world *world) {
    world->life = 0;
    for (uint32_t i = 0; i < world->receiver_count; i++)
        world->receivers[i].lane = NULL;
    model_new_life(world);
}

/* Nothing of what the engine does from here on reaches anybody: it is told that all has failed, until it holds nothing any more. */
void life_crash(struct world *world) {
    if (world->life == 0)
        return;
    world->dying = true;
    engine_drain(&world->engine);
    receivers_forget(world);
    disk_forget(world);
    engine_clean_up(&world->engine);
    world->dying = false;
    forget_lanes(world);
}

void life_end(struct world *world) {
    if (!engine_drained(&world->engine) || world->flights != NULL)
        world_fail(world, "drained, but %u things are under way", world->engine.busy);
    life_crash(world);
}
