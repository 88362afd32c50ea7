/* A lane's replay: asks the store for the next dead letters when the pace says so. */
#include "internal.h"

static void stepped(struct store_request *request);

void engine_replay(struct engine *engine, struct lane *lane, const struct replay_row *row) {
    if (row->state != REPLAY_RUNNING || lane->removed)
        return;
    lane->replay = *row;
    lane->replay_over = false;
    replay_pace_init(&lane->pace, row->rate, engine->now);
    lane_soon(lane);
}

/* Another one may have been started since it was asked about. */
static void forget(struct lane *lane, int64_t replay) {
    if (lane->replay.id == replay)
        lane->replay.id = 0;
}

void engine_replay_cancelled(struct engine *engine, struct lane *lane, int64_t replay) {
    (void)engine;
    forget(lane, replay);
}

/* The end of one is written before the next begins. */
static bool may_step(const struct lane *lane) {
    return lane->replay.id != 0 && !lane->replay_stepping && !lane->replay_over &&
           !lane->replay_ending;
}

lull_time lane_replay_next(const struct lane *lane) {
    if (!may_step(lane))
        return LULL_NEVER;
    return lane->pace.next;
}

/* A lane that cannot keep up is not filled further: what waits is at most some seconds' worth of the replay. */
static bool keeps_up(const struct lane *lane) {
    double seconds = 5 * lane->pace.rate / 60;
    return (double)lane->stats.pending[DELIVERY_FRESH] < LANE_LOAD_MOST + seconds;
}

void lane_replay_run(struct lane *lane) {
    struct engine *engine = lane->engine;
    if (!may_step(lane))
        return;
    if (!lane_runs(lane)) {
        replay_pace_hold(&lane->pace);
        return;
    }
    uint32_t count = replay_pace_step(&lane->pace, engine->now);
    if (count == 0 || !keeps_up(lane))
        return;
    lane->replay_stepping = true;
    lane->replay_step = (struct store_replay_step){
        .request = {.kind = STORE_REPLAY_STEP, .done = stepped, .owner = lane},
        .replay = lane->replay.id,
        .count = count,
        .rate = lane->pace.rate,
    };
    lane_ask(lane, &lane->replay_step.request);
}

static void stepped(struct store_request *request) {
    struct store_replay_step *step = (struct store_replay_step *)request;
    struct lane *lane = request->owner;
    lane_answered(lane);
    lane->replay_stepping = false;
    if (request->result == STORE_ABSENT)
        forget(lane, step->replay);
    if (request->result != LULL_OK)
        return;
    if (step->moved > 0) {
        struct stream *fresh = &lane->streams[DELIVERY_FRESH];
        fresh->behind = true;
        fresh->meanwhile = true;
        atomic_fetch_add_explicit(&lane->stats.pending[DELIVERY_FRESH], step->moved,
                                  memory_order_relaxed);
        atomic_fetch_sub_explicit(&lane->stats.dead, step->moved, memory_order_relaxed);
    }
    if (step->row.state != REPLAY_RUNNING && lane->replay.id == step->replay) {
        if (step->row.state == REPLAY_DONE)
            lane_tell(lane, NEWS_REPLAY_DONE, &(struct news){.id = step->replay});
        forget(lane, step->replay);
    }
}

static void stopped(struct store_request *request) {
    struct lane *lane = request->owner;
    lane_answered(lane);
    lane->replay_ending = false;
    lane->replay_over = false;
    forget(lane, lane->replay_end.replay);
}

void lane_replay_outcome(struct lane *lane, const struct job *job, bool succeeded) {
    struct engine *engine = lane->engine;
    if (job->replay != lane->replay.id || lane->replay_over ||
        replay_pace_outcome(&lane->pace, succeeded, engine->now))
        return;
    lane->replay_over = true;
    lane->replay_ending = true;
    lane_tell(lane, NEWS_REPLAY_STOPPED, &(struct news){.id = lane->replay.id});
    lane->replay_end = (struct store_replay_end){
        .request = {.kind = STORE_REPLAY_END, .insistent = true, .done = stopped, .owner = lane},
        .replay = lane->replay.id,
        .state = REPLAY_STOPPED,
    };
    lane_ask(lane, &lane->replay_end.request);
}
