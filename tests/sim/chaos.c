/* A world in which everything that can go wrong does, for some minutes; then all is well again, and everything has to end. */
#include "model.h"

#include <lull/preset.h>

#define LONGEST (72 * LULL_HOUR)

/* ---- settings ---- */

static lull_duration draw_span(struct world *world, lull_duration low, lull_duration high) {
    return world_draw(&world->random, low, high);
}

static struct lull_guard_config draw_policies(struct world *world) {
    uint64_t *random = &world->random;
    struct lull_guard_config config = {
        .retry = {.attempts = (uint32_t)world_draw(random, 1, 8),
                  .deadline = LULL_NONE,
                  .backoff = {.base = draw_span(world, LULL_MILLISECOND, 5 * LULL_SECOND),
                              .jitter = (enum lull_jitter)world_draw(random, LULL_JITTER_NONE,
                                                                     LULL_JITTER_PROPORTIONAL)}},
        .breaker = {.by_count = world_chance(random, 0.3),
                    .minimum_calls = (uint32_t)world_draw(random, 2, 10),
                    .open_time = draw_span(world, LULL_SECOND, 30 * LULL_SECOND),
                    .open_max = LULL_MINUTE,
                    .probes = (uint32_t)world_draw(random, 1, 6)},
        .budget = {.ratio = world_chance(random, 0.2) ? LULL_NONE : 0.2,
                   .floor = world_draw(random, 1, 10)},
        .bucket = {.capacity = world_draw(random, 1, 50), .rate = world_draw(random, 1, 50)},
        .bulkhead = {.limit = (int32_t)world_draw(random, 1, 20)},
    };
    if (world_chance(random, 0.1))
        config.retry.backoff.base = 1; /* at once */
    if (world_chance(random, 0.2))
        config.bucket.per = 20 * LULL_SECOND;
    config.retry.backoff.cap = config.retry.backoff.base + draw_span(world, 0, 20 * LULL_SECOND);
    if (world_chance(random, 0.2))
        config.retry.deadline = draw_span(world, LULL_SECOND, 5 * LULL_MINUTE);
    if (world_chance(random, 0.2))
        config.retry.attempt_timeout = draw_span(world, LULL_SECOND, 5 * LULL_SECOND);
    if (world_chance(random, 0.3))
        config.without |= LULL_WITHOUT_BUCKET;
    if (world_chance(random, 0.1))
        config.without |= LULL_WITHOUT_BREAKER;
    if (world_chance(random, 0.1))
        config.without |= LULL_WITHOUT_BUDGET;
    return config;
}

static struct lull_guard_config draw_config(struct world *world) {
    if (!world_chance(&world->random, 0.3))
        return draw_policies(world);
    const char *name = lull_preset_name((size_t)world_draw(&world->random, 0, 5));
    return *lull_preset(name);
}

/* ---- what people do ---- */

static struct receiver *draw_receiver(struct world *world) {
    struct receiver *receiver =
        &world->receivers[world_draw(&world->random, 0, world->receiver_count - 1)];
    return receiver->lane != NULL && receiver->id != 0 ? receiver : NULL;
}

static bool busy(const struct world *world) {
    return world->life != 0 && !world->draining && !world->calm;
}

static void send_some(struct world *world) {
    struct receiver *chosen[RECEIVERS_MOST];
    uint32_t count = 0, events = 1;
    bool fan_out = world_chance(&world->random, 0.2);
    for (uint32_t i = 0; fan_out && i < world->receiver_count; i++) {
        struct receiver *receiver = &world->receivers[i];
        if (receiver->id != 0 && world_chance(&world->random, 0.6))
            chosen[count++] = receiver;
    }
    struct receiver *one = draw_receiver(world);
    if (count == 0 && one != NULL)
        chosen[count++] = one;
    if (world_chance(&world->random, 0.1))
        events = (uint32_t)world_draw(&world->random, 20, count == 1 ? 150 : 40);
    if (count > 0)
        people_send(world, chosen, count, events);
}

static void produce(struct world *world, void *owner, int64_t rate) {
    (void)owner;
    if (world->calm || world->accepted >= world->accept_most)
        return;
    if (busy(world))
        send_some(world);
    lull_duration mean = LULL_SECOND * 10 / rate;
    world_alarm(world, world_draw(&world->random, 0, 2 * mean), 0, produce, NULL, rate);
}

static const struct delivery *draw_dead(struct world *world) {
    const struct model *model = &world->model;
    uint32_t from = (uint32_t)world_draw(&world->random, 0, model->count);
    for (uint32_t i = 0; i < model->count; i++) {
        const struct delivery *delivery = &model->deliveries[(from + i) % model->count];
        if (delivery->state == DELIVERY_DEAD)
            return delivery;
    }
    return NULL;
}

static void replay_some(struct world *world) {
    const struct delivery *dead = draw_dead(world);
    if (dead == NULL || dead->receiver->lane == NULL)
        return;
    int64_t cancelled = dead->receiver->lane->replay.id;
    if (cancelled != 0 && world_chance(&world->random, 0.4))
        people_cancel_replay(world, cancelled);
    bool one = world_chance(&world->random, 0.3);
    people_replay(world, dead->receiver, one ? &dead->id : NULL, one ? 1 : 0);
}

static void operate_on(struct world *world, struct receiver *receiver) {
    uint64_t *random = &world->random;
    struct lull_guard_config config;
    switch (world_draw(random, 0, 9)) {
    case 0:
    case 1:
        if (receiver->state == DESTINATION_ACTIVE)
            people_set_state(world, receiver, DESTINATION_PAUSED);
        break;
    case 2:
    case 3:
    case 4:
        people_set_state(world, receiver, DESTINATION_ACTIVE);
        break;
    case 5:
    case 6:
        config = draw_config(world);
        people_configure(world, receiver, &config);
        break;
    case 7:
        if (world_chance(random, 0.2))
            people_remove(world, receiver, world_chance(random, 0.7));
        break;
    default:
        people_tidy(world, draw_span(world, 0, LULL_MINUTE));
    }
}

static void operate(struct world *world, void *owner, int64_t argument) {
    (void)owner, (void)argument;
    if (world->calm)
        return;
    struct receiver *receiver = draw_receiver(world);
    const struct delivery *dead = draw_dead(world);
    if (busy(world) && world_chance(&world->random, 0.4))
        replay_some(world);
    else if (busy(world) && dead != NULL && world_chance(&world->random, 0.1))
        people_drop(world, dead->id);
    else if (busy(world) && receiver != NULL)
        operate_on(world, receiver);
    world_alarm(world, draw_span(world, 0, 8 * LULL_SECOND), 0, operate, NULL, 0);
}

static void create_one(struct world *world) {
    struct lull_guard_config config = draw_config(world);
    struct receiver *receiver = receiver_add(world, &config);
    people_create(world, receiver);
    receiver_vary(world, receiver);
}

/* ---- ends ---- */

static void begin(struct world *world, void *owner, int64_t argument) {
    (void)owner, (void)argument;
    life_begin(world);
    if (!world->calm && world->receiver_count < RECEIVERS_MOST - 2)
        create_one(world);
}

static void begin_again(struct world *world) {
    model_compare(world);
    world_alarm(world,
                world_chance(&world->random, 0.5) ? 0 : draw_span(world, 0, 20 * LULL_SECOND), 0,
                begin, NULL, 0);
}

static void drained(struct world *world, void *owner, int64_t patience) {
    (void)owner;
    if (!engine_drained(&world->engine) || world->errands > 0) {
        if (patience <= 0)
            engine_call_off(&world->engine);
        world_alarm(world, 50 * LULL_MILLISECOND, world->life, drained, NULL, patience - 1);
        return;
    }
    life_end(world);
    begin_again(world);
}

static void crash(struct world *world, void *owner, int64_t argument) {
    (void)owner, (void)argument;
    if (world->calm)
        return;
    world_alarm(world, draw_span(world, LULL_SECOND, 90 * LULL_SECOND), 0, crash, NULL, 0);
    if (!busy(world))
        return;
    world->crashes++;
    if (world_chance(&world->random, 0.25)) {
        world_note(world, "drain");
        world->draining = true;
        engine_drain(&world->engine);
        drained(world, NULL, world_draw(&world->random, 0, 100));
        return;
    }
    world_note(world, "crash");
    life_crash(world);
    begin_again(world);
}

static void look(struct world *world, void *owner, int64_t argument) {
    (void)owner, (void)argument;
    if (world->life != 0 && !world->draining)
        model_look(world);
    world_alarm(world, LULL_SECOND, 0, look, NULL, 0);
}

/* ---- the run ---- */

static void calm_down(struct world *world) {
    world->calm = true;
    world_run(world, world->now + LULL_MINUTE); /* a restart under way comes to its end */
    for (uint32_t i = 0; i < world->receiver_count && !world->failed; i++) {
        struct receiver *receiver = &world->receivers[i];
        receiver->mood = MOOD_UP;
        if (receiver->lane != NULL)
            people_set_state(world, receiver, DESTINATION_ACTIVE);
    }
}

void chaos_run(struct world *world) {
    uint64_t *random = &world->random;
    world->disk.failing = world_chance(random, 0.5) ? 0.02 : 0;
    world->forgetful = world_chance(random, 0.1);
    world->disk.slow = world_chance(random, 0.3);
    world->accept_most = (uint64_t)world_draw(random, 50, 2500);
    life_begin(world);
    for (int64_t i = world_draw(random, 2, 8); i > 0; i--)
        create_one(world);
    produce(world, NULL, world_draw(random, 5, 100));
    operate(world, NULL, 0);
    world_alarm(world, draw_span(world, 0, LULL_MINUTE), 0, crash, NULL, 0);
    look(world, NULL, 0);
    world_run(world, world->now + draw_span(world, LULL_MINUTE, 6 * LULL_MINUTE));
    calm_down(world);
    lull_time end = world->now + LONGEST;
    while (!world->failed && world->now < end && !model_is_over(world))
        world_run(world, world->now + LULL_MINUTE);
    if (!world->failed) /* the storm detector looks back a quarter of an hour */
        world_run(world, world->now + LULL_HOUR);
    if (world->failed)
        return;
    model_all_over(world);
    model_compare(world);
}
