/* 10,000 dead letters go back: 100 in the first minute, twice as many after each clean one, half as many after a bad one; a crash does
 * not start it anew; it stops when most fail, and when it is told to. */
#include "model.h"

#define LETTERS 10000

static struct replay_row row_of(struct world *world, int64_t id) {
    struct store_replays all = {.request = {.kind = STORE_REPLAYS}, .replay = id};
    disk_ask(world, &all.request);
    struct replay_row row = all.count > 0 ? all.rows[0] : (struct replay_row){0};
    store_replays_clean_up(&all);
    return row;
}

static uint64_t arrivals_within(struct world *world, const struct receiver *receiver,
                                lull_duration span) {
    uint64_t before = receiver->arrivals;
    world_run(world, world->now + span);
    return receiver->arrivals - before;
}

static void expect(struct world *world, const char *what, uint64_t is, double should) {
    world_note(world, "%s: %llu", what, (unsigned long long)is);
    if ((double)is < 0.93 * should - 1 || (double)is > 1.07 * should + 1)
        world_fail(world, "%s: %llu, not %.0f", what, (unsigned long long)is, should);
}

static void expect_state(struct world *world, int64_t replay, enum replay_state state) {
    if (row_of(world, replay).state != state)
        world_fail(world, "replay %lld is in state %d, not %d", (long long)replay,
                   row_of(world, replay).state, state);
}

static uint64_t count_state(const struct world *world, int state) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < world->model.count; i++)
        count += world->model.deliveries[i].state == state;
    return count;
}

static struct receiver *prepare(struct world *world) {
    const struct lull_guard_config config = {
        .retry = {.attempts = 1, .deadline = LULL_NONE},
        .bulkhead = {.limit = 100},
        .without = LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET,
    };
    world->model.strict = false;
    life_begin(world);
    struct receiver *receiver = fixed_receiver(world, &config);
    life_crash(world);
    fixed_fill(world, receiver, LETTERS);
    fixed_kill_all(world);
    life_begin(world);
    return receiver;
}

static void speeds_up_and_survives(struct world *world, const struct receiver *receiver) {
    expect(world, "in the first minute", arrivals_within(world, receiver, LULL_MINUTE), 100);
    expect(world, "in the second", arrivals_within(world, receiver, LULL_MINUTE), 200);
    expect(world, "in the third", arrivals_within(world, receiver, LULL_MINUTE), 400);
    expect(world, "in half of the fourth", arrivals_within(world, receiver, LULL_MINUTE / 2), 400);
    uint64_t moved = row_of(world, 1).moved;
    life_crash(world);
    model_compare(world);
    life_begin(world);
    if (row_of(world, 1).moved != moved)
        world_fail(world, "a crash changed how far the replay has come");
    expect(world, "in the minute after a crash", arrivals_within(world, receiver, LULL_MINUTE),
           800);
}

static void slows_down_and_stops(struct world *world, struct receiver *receiver) {
    receiver->mood = MOOD_FAILING;
    receiver->share = 0.2;
    expect(world, "in the bad minute", arrivals_within(world, receiver, LULL_MINUTE), 1600);
    expect(world, "in the one after it", arrivals_within(world, receiver, LULL_MINUTE), 800);
    receiver->share = 0.9;
    uint64_t last = arrivals_within(world, receiver, LULL_MINUTE);
    if (last > 600)
        world_fail(world, "%llu letters were sent to a destination that fails",
                   (unsigned long long)last);
    expect_state(world, 1, REPLAY_STOPPED);
    expect(world, "after it was stopped", arrivals_within(world, receiver, LULL_MINUTE), 0);
    receiver->mood = MOOD_UP;
}

static void is_cancelled(struct world *world, struct receiver *receiver) {
    people_replay(world, receiver, NULL, 0);
    expect(world, "in half a minute of the second replay",
           arrivals_within(world, receiver, LULL_MINUTE / 2), 50);
    people_cancel_replay(world, 2);
    world_run(world, world->now + LULL_SECOND);
    expect(world, "after it was cancelled", arrivals_within(world, receiver, LULL_MINUTE), 0);
    expect_state(world, 2, REPLAY_CANCELLED);
}

void replay_run(struct world *world) {
    struct receiver *receiver = prepare(world);
    people_replay(world, receiver, NULL, 0);
    speeds_up_and_survives(world, receiver);
    slows_down_and_stops(world, receiver);
    is_cancelled(world, receiver);
    people_replay(world, receiver, NULL, 0);
    world_run(world, world->now + 30 * LULL_MINUTE);
    if (world->failed)
        return;
    expect_state(world, 3, REPLAY_DONE);
    if (count_state(world, DELIVERY_DELIVERED) != LETTERS)
        world_fail(world, "%llu of %d were delivered",
                   (unsigned long long)count_state(world, DELIVERY_DELIVERED), LETTERS);
    if (world->duplicates > 10) /* what was in flight at the crash */
        world_fail(world, "%llu letters were sent again after they had arrived",
                   (unsigned long long)world->duplicates);
    world_run(world, world->now + LULL_HOUR);
    model_all_over(world);
    model_compare(world);
}
