#include "engine.h"

#include "internal.h"

#include <stdlib.h>

void engine_init(struct engine *engine, const struct engine_options *options) {
    *engine = (struct engine){.options = *options, .random = options->seed};
    engine->run_last = &engine->run_first;
}

void engine_clean_up(struct engine *engine) {
    for (uint32_t i = 0; i < engine->heap.count; i++) {
        struct lane *lane = engine->heap.lanes[i];
        lane->place_in_heap = 0;
        for (int j = 0; j < 2; j++)
            stream_clean_up(&lane->streams[j]);
        job_list_clear(&lane->express);
        lane_release(lane);
    }
    heap_clean_up(&engine->heap);
    while (engine->spare != NULL) {
        struct job *job = engine->spare;
        engine->spare = job->next;
        free(job);
    }
}

void engine_tick(struct engine *engine, lull_time now) {
    if (now > engine->now)
        engine->now = now;
}

void lane_ask(struct lane *lane, struct store_request *request) {
    struct store_port *store = lane->engine->options.store;
    lane->engine->busy++;
    store->submit(store, request);
}

void lane_answered(struct lane *lane) {
    lane->engine->busy--;
    lane_soon(lane);
}

void lane_soon(struct lane *lane) {
    struct engine *engine = lane->engine;
    if (lane->in_run_list)
        return;
    lane->in_run_list = true;
    lane->next_to_run = NULL;
    *engine->run_last = lane;
    engine->run_last = &lane->next_to_run;
}

/* A removed lane goes when nothing of it is under way any more. */
static bool is_over(const struct lane *lane) {
    return lane->removed && lane->inflight == 0 && lane->settling == 0 &&
           !lane->streams[0].loading && !lane->streams[1].loading && !lane->clock_writing &&
           !lane->replay_stepping && !lane->replay_ending;
}

static void run_and_place(struct engine *engine, struct lane *lane) {
    if (is_over(lane)) {
        heap_remove(&engine->heap, lane);
        engine->lanes--;
        lane_release(lane);
        return;
    }
    lane_run(lane);
    heap_move(&engine->heap, lane);
}

void engine_turn(struct engine *engine) {
    struct lane *first = heap_first(&engine->heap);
    while (first != NULL && first->wake <= engine->now) {
        lane_soon(first);
        first->wake = LULL_NEVER; /* until it has run */
        heap_move(&engine->heap, first);
        first = heap_first(&engine->heap);
    }
    /* Lanes that ask to be run while others run are run in this turn, too. */
    while (engine->run_first != NULL) {
        struct lane *lane = engine->run_first;
        engine->run_first = lane->next_to_run;
        if (engine->run_first == NULL)
            engine->run_last = &engine->run_first;
        lane->in_run_list = false;
        run_and_place(engine, lane);
    }
}

lull_time engine_next(const struct engine *engine) {
    const struct lane *first = heap_first(&engine->heap);
    if (engine->run_first != NULL)
        return engine->now;
    return first != NULL ? first->wake : LULL_NEVER;
}

struct lane *engine_add(struct engine *engine, const struct lane_options *options) {
    struct lane *lane = lane_new(engine, options);
    if (lane == NULL)
        return NULL;
    if (heap_add(&engine->heap, lane) != LULL_OK) {
        lane->target = NULL; /* the caller's still */
        lane_release(lane);
        return NULL;
    }
    engine->lanes++;
    lane_soon(lane);
    return lane;
}

static void cancel_all(struct engine *engine, struct lane *lane) {
    struct transport_port *transport = engine->options.transport;
    for (struct job *job = lane->flying; job != NULL; job = job->next)
        transport->cancel(transport, &job->attempt);
}

void engine_remove(struct engine *engine, struct lane *lane) {
    lane->removed = true;
    lane->replay.id = 0;
    for (int i = 0; i < 2; i++)
        job_list_clear(&lane->streams[i].ready);
    job_list_clear(&lane->express);
    cancel_all(engine, lane);
    lane_soon(lane);
}

void engine_call_off(struct engine *engine) {
    for (uint32_t i = 0; i < engine->heap.count; i++)
        cancel_all(engine, engine->heap.lanes[i]);
}

void engine_dropped(struct engine *engine, struct lane *lane, uint32_t count) {
    (void)engine;
    atomic_fetch_sub_explicit(&lane->stats.dead, count, memory_order_relaxed);
}

void engine_missed(struct engine *engine) {
    for (uint32_t i = 0; i < engine->heap.count; i++) {
        struct stream *fresh = &engine->heap.lanes[i]->streams[DELIVERY_FRESH];
        fresh->behind = fresh->meanwhile = true;
        lane_soon(engine->heap.lanes[i]);
    }
}

void engine_drain(struct engine *engine) {
    engine->draining = true;
}

bool engine_drained(const struct engine *engine) {
    return engine->busy == 0;
}
