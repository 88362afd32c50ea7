/* The delivery engine of one worker: its lanes, run over two ports (store.h, transport.h) with time as an argument. It never waits, reads no
 * clock and does no I/O, so a fleet of destinations with crashes and slow disks runs in one process under a virtual clock.
 *
 *   engine_turn(engine, now);                       at the end of each turn of the loop: starts what can start
 *   epoll_wait(… until engine_next(engine))
 *   … inbox: engine_accepted, answers of the store (their `done`); transport: attempts end …
 *
 * Everything is called on the worker's thread. `now` is told once a turn, by engine_tick; whatever happens in that turn happens then.
 *
 * Accepted events must be told in the order of their places: the store makes that order, so it is the order of its commits. A load that saw an event
 * may be answered before the engine is told of it. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "heap.h"
#include "lane.h"

struct engine_options {
    struct store_port *store;         /* borrowed */
    struct transport_port *transport; /* borrowed */
    uint64_t seed;
    void (*tell)(void *context, const struct news *news); /* may be NULL */
    void *context;
};

struct engine {
    struct engine_options options;
    lull_time now;
    uint64_t random;
    struct heap heap;
    struct lane *run_first, **run_last; /* lanes to look at in this turn */
    struct job *spare;
    uint32_t spare_count;
    uint32_t lanes;
    uint32_t busy; /* attempts under way and requests with the store, of all lanes */
    bool draining;
};

void engine_init(struct engine *engine, const struct engine_options *options);
/* No attempt may be under way and no request with the store. */
void engine_clean_up(struct engine *engine);

void engine_tick(struct engine *engine, lull_time now);
/* Lets every lane do what it can do now. */
void engine_turn(struct engine *engine);
/* When there is something to do even if nothing happens before. */
lull_time engine_next(const struct engine *engine);

/* A lane for a destination that is in the store. NULL: out of memory, or the config is invalid. The reference is the engine's until
 * engine_remove; share it to keep it. */
struct lane *engine_add(struct engine *engine, const struct lane_options *options);
/* New settings; state, backlog and attempts under way are kept. The target's reference is taken. */
LULL_MUST_USE int engine_configure(struct engine *engine, struct lane *lane, struct target *target,
                                   const struct lull_guard_config *config);
/* Another target alone; its reference is taken. */
void engine_aim(struct lane *lane, struct target *target);
/* Pauses, resumes or disables. Resuming also forgets a pause the destination asked for. The store has been told. */
void engine_set_state(struct engine *engine, struct lane *lane, enum destination_state state);
/* The destination is gone from the store. Attempts under way are cancelled. */
void engine_remove(struct engine *engine, struct lane *lane);

/* The store has accepted an event for this lane, at that place. The message is borrowed. */
void engine_accepted(struct engine *engine, struct lane *lane, struct message *message,
                     struct place place);

/* Events were accepted, but there was no memory to tell which: look on disk. */
void engine_missed(struct engine *engine);

/* A replay was started, or is running after a restart. */
void engine_replay(struct engine *engine, struct lane *lane, const struct replay_row *row);
/* It was cancelled. */
void engine_replay_cancelled(struct engine *engine, struct lane *lane, int64_t replay);
/* Dead letters were dropped by hand. */
void engine_dropped(struct engine *engine, struct lane *lane, uint32_t count);

/* From now on no attempt is started. Drained when nothing is under way any more. */
void engine_drain(struct engine *engine);
bool engine_drained(const struct engine *engine);
/* Cancels what is under way; it stays pending. */
void engine_call_off(struct engine *engine);

#endif
