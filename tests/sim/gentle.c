/* A destination is down for a minute, and then has little more capacity than it needs. What has piled up must not bring it down again:
 * it never gets more than 1.2 times what it can take, nothing fails any more, and the backlog goes. */
#include "model.h"

#include <lull/preset.h>

#define CAPACITY 45.0
#define LOAD (CAPACITY / 1.1)
#define OUTAGE LULL_MINUTE
#define MOST (1.2 * CAPACITY)

static void produce(struct world *world, void *owner, int64_t argument) {
    struct receiver *receiver = owner;
    if (world->calm)
        return;
    people_send(world, &receiver, 1, 1);
    world_alarm(world, (lull_duration)((double)LULL_SECOND / LOAD), 0, produce, owner, argument);
}

static void arrived(struct world *world, struct receiver *receiver, int64_t delivery) {
    (void)delivery;
    uint32_t now = tally_since(&receiver->starts, world->now - LULL_SECOND + 1);
    if (receiver->mood == MOOD_UP && now > MOST)
        world_fail(world, "%u requests in a second, and it can take %.0f", now, CAPACITY);
}

static uint64_t pending(const struct receiver *receiver) {
    return (uint64_t)(receiver->lane->stats.pending[0] + receiver->lane->stats.pending[1]);
}

void gentle_run(struct world *world) {
    struct lull_guard_config config = *lull_preset("webhook");
    config.retry.attempts = 20;
    config.without = LULL_WITHOUT_BUCKET;
    world->disk.steady = true;
    world->model.strict = false;
    life_begin(world);
    struct receiver *receiver = fixed_receiver(world, &config);
    receiver->latency = 20 * LULL_MILLISECOND;
    receiver->capacity = CAPACITY;
    receiver->arrived = arrived;
    produce(world, receiver, 0);
    world_run(world, world->now + 20 * LULL_SECOND);
    if (pending(receiver) > 20 || receiver->failures > 0)
        world_fail(world, "it does not keep up on a good day");
    receiver->mood = MOOD_REFUSING;
    world_run(world, world->now + OUTAGE);
    receiver->mood = MOOD_UP;
    world_run(world, world->now + LULL_SECOND / 10);
    uint64_t failures = receiver->failures, backlog = pending(receiver);
    if (failures == 0 || backlog < (uint64_t)(LOAD * 50))
        world_fail(world, "an outage of a minute left %llu deliveries",
                   (unsigned long long)backlog);
    lull_time end = world->now + 30 * LULL_MINUTE;
    while (!world->failed && world->now < end && pending(receiver) > 20) {
        world_run(world, world->now + 10 * LULL_SECOND);
        model_look(world);
    }
    if (pending(receiver) > 20)
        world_fail(world, "the backlog does not go: %llu are left",
                   (unsigned long long)pending(receiver));
    if (receiver->failures != failures)
        world_fail(world, "it failed again, %llu times",
                   (unsigned long long)(receiver->failures - failures));
    world->calm = true;
    world_run(world, world->now + LULL_HOUR);
    if (world->failed)
        return;
    model_all_over(world);
    model_compare(world);
}
