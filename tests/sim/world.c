#include "world.h"

#include "model.h"

#include <lull/random.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPIN_MOST 100 /* turns in a row in which nothing happens and no time passes */

int64_t world_draw(uint64_t *random, int64_t low, int64_t high) {
    return lull_uniform(lull_random_next(random), low, high);
}

bool world_chance(uint64_t *random, double share) {
    return (double)(lull_random_next(random) >> 11) * 0x1p-53 < share;
}

void world_fail(struct world *world, const char *format, ...) {
    va_list arguments;
    if (world->failed)
        return;
    world->failed = true;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
}

void world_note(struct world *world, const char *format, ...) {
    va_list arguments;
    if (!world->verbose || world->failed)
        return;
    char *line = world->trace[world->trace_count++ % TRACE_LINES];
    int length = snprintf(line, TRACE_SIZE, "step %llu, %.6f s: ", (unsigned long long)world->step,
                          (double)(world->now - WORLD_BEGIN) / (double)LULL_SECOND);
    va_start(arguments, format);
    vsnprintf(line + length, TRACE_SIZE - (size_t)length, format, arguments);
    va_end(arguments);
}

/* ---- alarms ---- */

static bool sooner(const struct alarm *a, const struct alarm *b) {
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

void world_alarm(struct world *world, lull_duration after, uint32_t life,
                 void (*ring)(struct world *, void *, int64_t), void *owner, int64_t argument) {
    if (world->alarm_count == world->alarm_room) {
        world->alarm_room = world->alarm_room > 0 ? 2 * world->alarm_room : 256;
        world->alarms = reallocarray(world->alarms, world->alarm_room, sizeof *world->alarms);
        if (world->alarms == NULL)
            abort();
    }
    struct alarm alarm = {world->now + after, world->alarms_set++, life, ring, owner, argument};
    uint32_t i = world->alarm_count++;
    for (; i > 0 && sooner(&alarm, &world->alarms[(i - 1) / 2]); i = (i - 1) / 2)
        world->alarms[i] = world->alarms[(i - 1) / 2];
    world->alarms[i] = alarm;
}

static struct alarm take_first(struct world *world) {
    struct alarm first = world->alarms[0], last = world->alarms[--world->alarm_count];
    uint32_t i = 0;
    for (uint32_t child = 1; child < world->alarm_count; child = 2 * i + 1) {
        if (child + 1 < world->alarm_count &&
            sooner(&world->alarms[child + 1], &world->alarms[child]))
            child++;
        if (sooner(&last, &world->alarms[child]))
            break;
        world->alarms[i] = world->alarms[child];
        i = child;
    }
    world->alarms[i] = last;
    return first;
}

static uint32_t ring_due(struct world *world) {
    uint32_t rung = 0;
    while (!world->failed && world->alarm_count > 0 && world->alarms[0].at <= world->now) {
        struct alarm alarm = take_first(world);
        if (alarm.life != 0 && alarm.life != world->life)
            continue;
        alarm.ring(world, alarm.owner, alarm.argument);
        rung++;
    }
    return rung;
}

/* ---- running ---- */

static lull_time next_moment(const struct world *world) {
    lull_time next = world->alarm_count > 0 ? world->alarms[0].at : LULL_NEVER;
    if (world->life != 0 && engine_next(&world->engine) < next)
        next = engine_next(&world->engine);
    return next > world->now ? next : world->now;
}

void world_run(struct world *world, lull_time until) {
    uint32_t spins = 0;
    while (!world->failed) {
        lull_time next = next_moment(world);
        if (next > until)
            break;
        spins = next > world->now ? 0 : spins + 1;
        world->step++;
        world->now = next;
        /* A loop has other things to do, too: now and then it is late, and finds more than one thing to do. */
        if (!world->disk.steady && world_chance(&world->random, 0.1))
            world->now += world_draw(&world->random, 0, 2 * LULL_MILLISECOND);
        if (world->life != 0)
            engine_tick(&world->engine, world->now);
        if (ring_due(world) > 0)
            spins = 0;
        if (world->life != 0 && !world->failed)
            engine_turn(&world->engine);
        if (spins > SPIN_MOST)
            world_fail(world, "the engine wants to run again and again, and does nothing");
    }
    if (!world->failed && until != LULL_NEVER && until > world->now)
        world->now = until;
}

/* ---- life ---- */

void world_init(struct world *world, uint64_t seed, bool verbose) {
    *world = (struct world){.seed = seed, .random = seed, .now = WORLD_BEGIN, .verbose = verbose};
    if (verbose && (world->trace = calloc(TRACE_LINES, TRACE_SIZE)) == NULL)
        abort();
    world->model.strict = true;
    disk_init(world);
    receivers_init(world);
}

void world_clean_up(struct world *world) {
    life_crash(world);
    disk_clean_up(world);
    model_clean_up(&world->model);
    for (uint32_t i = 0; i < world->receiver_count; i++) {
        struct receiver *receiver = &world->receivers[i];
        free(receiver->starts.times);
        free(receiver->retries.times);
        free(receiver->successes.times);
    }
    free(world->alarms);
    free(world->trace);
    *world = (struct world){0};
}
