#include "run.h"

#include "world.h"

#define PROGRESS_EVERY 65536 /* events */

/* Is this event about what the call is doing now, or about something it has left behind? */
static bool current(struct world *world, const struct event *event, enum call_state state) {
    const struct call *call = call_at(world, event->subject);
    return call->serial == event->serial && call->state == state;
}

static struct lull_outcome answer_of(const struct event *event) {
    return (struct lull_outcome){
        .class_ = (enum lull_class)(event->extra & 0xff),
        .retry_after = (event->extra >> 8) * LULL_SECOND,
    };
}

static void happen(struct world *world, const struct event *event) {
    switch ((enum event_kind)event->kind) {
    case EVENT_ARRIVAL:
        client_arrival(world, event->subject);
        break;
    case EVENT_USER:
        client_user(world, event->serial, event->subject);
        break;
    case EVENT_RESUME:
        if (current(world, event, CALL_PAUSED))
            client_resume(world, event->subject);
        break;
    case EVENT_SETTLE:
        if (current(world, event, CALL_QUEUED))
            client_settle(world, event->subject);
        break;
    case EVENT_TIMEOUT:
        if (current(world, event, CALL_TRYING))
            client_answer(world, event->subject, (struct lull_outcome){LULL_TIMEOUT, 0, 0});
        break;
    case EVENT_ANSWER:
        if (current(world, event, CALL_TRYING))
            client_answer(world, event->subject, answer_of(event));
        break;
    case EVENT_FINISH:
        service_finish(world, event->subject);
        break;
    case EVENT_FAULT:
        service_fault(world, event->subject);
        break;
    case EVENT_LANE:
        sim_lane_run(world, event->subject);
        break;
    case EVENT_SECOND:
        measure_second(world);
        schedule(world, world->now + LULL_SECOND, EVENT_SECOND, 0, 0, 0);
        break;
    }
}

/* Calls are many and come in no order; fetching the next one while this one is at work hides most of the way to memory. */
static void look_ahead(struct world *world) {
    const struct event *next = queue_peek(&world->queue);
    if (next != NULL && (next->kind == EVENT_RESUME || next->kind == EVENT_TIMEOUT))
        __builtin_prefetch(call_at(world, next->subject));
}

static void start(struct world *world) {
    for (uint32_t i = 0; i < world->scenario->service_count; i++)
        service_start(world, i);
    for (uint32_t i = 0; i < world->scenario->client_count; i++)
        client_start(world, i);
    schedule(world, LULL_SECOND, EVENT_SECOND, 0, 0, 0);
}

int sim_run(const struct sim_scenario *scenario, uint32_t policy, uint64_t seed,
            sim_progress_fn *progress, void *context, struct sim_result *result,
            struct lull_error *error) {
    struct world *world;
    int code = world_new(&world, scenario, policy, seed, error);
    if (code != LULL_OK)
        return code;
    start(world);
    struct event event;
    for (uint64_t count = 1; queue_pop(&world->queue, &event) && event.at <= world->end; count++) {
        world->now = event.at;
        look_ahead(world);
        happen(world, &event);
        if (count % PROGRESS_EVERY == 0 && progress != NULL)
            progress(context, (double)world->now / (double)world->end);
    }
    code = world->out_of_memory || world->queue.failed ? LULL_ENOMEM : LULL_OK;
    if (code == LULL_OK)
        code = measure_result(world, result);
    world_destroy(world);
    return code;
}
