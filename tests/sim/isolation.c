/* A dead destination with 100,000 deliveries waiting costs the others nothing: each of theirs starts at the very moment at which it
 * would start without it. */
#include "model.h"

#include <stdlib.h>

#define HEALTHY 3
#define WAITING 100000
#define EVERY (50 * LULL_MILLISECOND)
#define LONG (30 * LULL_SECOND)

static void produce(struct world *world, void *owner, int64_t argument) {
    struct receiver *receiver = owner;
    if (world->calm)
        return;
    people_send(world, &receiver, 1, 1);
    world_alarm(world, EVERY, 0, produce, owner, argument);
}

/* Tries all the time, as often as it may. */
static const struct lull_guard_config dead_config = {
    .retry = {.attempts = 5, .deadline = LULL_NONE},
    .bucket = {.capacity = 20, .rate = 100},
    .without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET,
};

static void play(struct world *world, bool with_dead) {
    struct lull_guard_config config = {.retry = {.deadline = LULL_NONE}};
    struct receiver *healthy[HEALTHY];
    world->disk.steady = true;
    world->model.strict = false;
    life_begin(world);
    for (int i = 0; i < HEALTHY; i++)
        healthy[i] = fixed_receiver(world, &config);
    struct receiver *dead = fixed_receiver(world, &dead_config);
    dead->mood = MOOD_REFUSING;
    life_crash(world);
    if (with_dead)
        fixed_fill(world, dead, WAITING);
    life_begin(world);
    for (int i = 0; i < HEALTHY; i++)
        produce(world, healthy[i], 0);
    world_run(world, world->now + LONG);
    world->calm = true;
    if (with_dead && dead->arrivals < 1000)
        world_fail(world, "the dead destination was tried only %llu times",
                   (unsigned long long)dead->arrivals);
}

/* The next delivery of a healthy one from `from` on; NULL: none. */
static const struct delivery *next_healthy(const struct world *world, uint32_t *from) {
    while (*from < world->model.count) {
        const struct delivery *delivery = &world->model.deliveries[(*from)++];
        if (delivery->receiver < world->receivers + HEALTHY)
            return delivery;
    }
    return NULL;
}

void isolation_run(struct world *world) {
    static struct world quiet;
    world_init(&quiet, world->seed, false);
    play(world, true);
    play(&quiet, false);
    uint32_t one = 0, other = 0, count = 0;
    for (;; count++) {
        const struct delivery *here = next_healthy(world, &one);
        const struct delivery *there = next_healthy(&quiet, &other);
        if (here == NULL || there == NULL) {
            if (here != there)
                world_fail(world, "not the same number of deliveries");
            break;
        }
        if (here->first_start != there->first_start || here->state != there->state ||
            here->at != there->at)
            world_fail(world, "delivery %u starts at %.3f ms instead of %.3f ms", count,
                       (double)(here->first_start - here->accepted) / (double)LULL_MILLISECOND,
                       (double)(there->first_start - there->accepted) / (double)LULL_MILLISECOND);
    }
    if (count < HEALTHY * (LONG / EVERY) - HEALTHY)
        world_fail(world, "only %u deliveries", count);
    world_clean_up(&quiet);
}
