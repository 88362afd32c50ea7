/* Nothing is left behind, and nobody sleeps who has work to do. */
#include "model.h"

#define IDLE_LOOKS 12 /* seconds: a slow commit, a failed one, a slow probe */

static bool in_express(const struct lane *lane, int64_t id) {
    const struct job *job = lane->newest_express;
    while (job != NULL && job->place.id != id)
        job = job->older;
    return job != NULL;
}

static bool waits(const struct world *world, const struct delivery *delivery) {
    return delivery->state <= DELIVERY_RETRY && delivery->progress == PROGRESS_NONE &&
           (delivery->state == DELIVERY_FRESH || delivery->at <= world->now) &&
           delivery->receiver->lane != NULL;
}

static bool circuit_admits(struct receiver *receiver, lull_time now) {
    if (receiver->config.without & LULL_WITHOUT_BREAKER)
        return true;
    struct lull_breaker_stats stats = lull_breaker_snapshot(&receiver->lane->guard.breaker, now);
    switch (stats.state) {
    case LULL_BREAKER_OPEN:
        return now >= stats.open_until;
    case LULL_BREAKER_HALF_OPEN:
        return stats.probes_out + stats.probes_answered < receiver->config.breaker.probes;
    default:
        return true;
    }
}

static bool could_run(struct world *world, struct receiver *receiver) {
    struct lane *lane = receiver->lane;
    return receiver->state == DESTINATION_ACTIVE && !world->draining &&
           world->now >= receiver->pause_patience && world->now >= receiver->paused_until &&
           lane->inflight < lane->ramp.window && lane->settling < LANE_SETTLING &&
           circuit_admits(receiver, world->now) &&
           ((receiver->config.without & LULL_WITHOUT_BUCKET) ||
            lull_bucket_snapshot(&lane->guard.bucket, world->now).tokens > 0);
}

static bool affordable(struct world *world, const struct delivery *delivery) {
    struct receiver *receiver = delivery->receiver;
    return delivery->state == DELIVERY_FRESH || (receiver->config.without & LULL_WITHOUT_BUDGET) ||
           lull_budget_snapshot(&receiver->lane->guard.budget, world->now).tokens >= 1;
}

static void look_at(struct world *world, struct delivery *delivery) {
    struct receiver *receiver = delivery->receiver;
    struct place place = {delivery->at, delivery->id};
    if (!waits(world, delivery))
        return;
    if (!receiver->has_due)
        receiver->has_due = affordable(world, delivery);
    if (!delivery->put_back && place_before(place, receiver->started[delivery->state]) &&
        !in_express(receiver->lane, delivery->id))
        world_fail(world, "delivery %lld is left behind: later ones of %s have started",
                   (long long)delivery->id, receiver->name);
}

/* When all is written, the disk knows the lane's clock and state. (An operator's write may fail, if the disk fails.) */
static void check_kept(struct world *world, const struct receiver *receiver) {
    if (receiver->lane == NULL || world->disk.first != NULL || world->disk.answers != NULL ||
        receiver->kept_removed)
        return;
    lull_time kept = receiver->kept_until, clock = receiver->lane->clock_kept;
    bool past = kept <= world->now && clock <= world->now;
    if ((kept != clock && !past) || receiver->kept_state != receiver->state)
        world_fail(world, "%s: state and clock are not on disk", receiver->name);
}

static double seconds_to(const struct world *world, lull_time at) {
    return (double)(at - world->now) / (double)LULL_SECOND;
}

void model_look(struct world *world) {
    for (uint32_t i = 0; i < world->receiver_count; i++)
        world->receivers[i].has_due = false;
    for (uint32_t i = 0; i < world->model.count; i++)
        look_at(world, &world->model.deliveries[i]);
    for (uint32_t i = 0; i < world->receiver_count; i++) {
        struct receiver *receiver = &world->receivers[i];
        bool idle = receiver->has_due && could_run(world, receiver) &&
                    receiver->last_start < world->now - LULL_SECOND;
        receiver->idle = idle ? receiver->idle + 1 : 0;
        if (world->disk.failing == 0)
            check_kept(world, receiver);
        if (receiver->idle > IDLE_LOOKS)
            world_fail(world,
                       "%s has something to do, and does nothing: its clock is at %+.3f s, that of "
                       "its retries at %+.3f s, it wakes at %+.3f s",
                       receiver->name, seconds_to(world, receiver->lane->clock),
                       seconds_to(world, receiver->lane->retry_clock),
                       seconds_to(world, receiver->lane->wake));
    }
}

bool model_is_over(const struct world *world) {
    for (uint32_t i = 0; i < world->model.count; i++)
        if (world->model.deliveries[i].state <= DELIVERY_RETRY)
            return false;
    for (uint32_t i = 0; i < world->receiver_count; i++)
        if (world->receivers[i].lane != NULL && world->receivers[i].lane->replay.id != 0)
            return false;
    return world->errands == 0 && world->flights == NULL && world->disk.first == NULL &&
           world->disk.answers == NULL;
}

static void check_sleep(struct world *world, const struct receiver *receiver) {
    const struct lane *lane = receiver->lane;
    uint64_t dead = 0;
    for (uint32_t i = 0; i < world->model.count; i++)
        dead += world->model.deliveries[i].receiver == receiver &&
                world->model.deliveries[i].state == DELIVERY_DEAD;
    if (!world->forgetful && (lane->stats.pending[0] != 0 || lane->stats.pending[1] != 0 ||
                              (uint64_t)lane->stats.dead != dead))
        world_fail(world, "%s counts %lld fresh, %lld to be retried, %lld dead, and %llu are dead",
                   receiver->name, (long long)lane->stats.pending[0],
                   (long long)lane->stats.pending[1], (long long)lane->stats.dead,
                   (unsigned long long)dead);
    if (lane->inflight != 0 || lane->settling != 0 || lane->express_count != 0 ||
        lane->guard.bulkhead.word != 0)
        world_fail(world, "%s holds something, and nothing is under way", receiver->name);
}

void model_all_over(struct world *world) {
    if (!model_is_over(world)) {
        for (uint32_t i = 0; i < world->model.count; i++)
            if (world->model.deliveries[i].state <= DELIVERY_RETRY)
                world_fail(world, "delivery %lld of %s never ends",
                           (long long)world->model.deliveries[i].id,
                           world->model.deliveries[i].receiver->name);
        world_fail(world, "something never ends");
    }
    if (world->engine.busy != 0)
        world_fail(world, "all is over, and the engine is busy with %u things", world->engine.busy);
    if (engine_next(&world->engine) < world->now + LULL_HOUR)
        world_fail(world, "all is over, and a lane does not sleep");
    for (uint32_t i = 0; i < world->receiver_count; i++)
        if (world->receivers[i].lane != NULL)
            check_sleep(world, &world->receivers[i]);
}
