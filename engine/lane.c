#include "internal.h"

#include <lull/random.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

struct lane *lane_share(struct lane *lane) {
    atomic_fetch_add_explicit(&lane->references, 1, memory_order_relaxed);
    return lane;
}

void lane_release(struct lane *lane) {
    if (lane == NULL || atomic_fetch_sub_explicit(&lane->references, 1, memory_order_acq_rel) > 1)
        return;
    for (int i = 0; i < 2; i++)
        free(lane->streams[i].rows);
    target_release(lane->target);
    free(lane);
}

static void restart_ramp(struct lane *lane) {
    ramp_restart(&lane->ramp);
    lane->recovering = !ramp_at_top(&lane->ramp);
    atomic_store_explicit(&lane->stats.window, lane->ramp.window, memory_order_relaxed);
}

static void follow_breaker(void *context, const struct lull_breaker_event *event) {
    struct lane *lane = context;
    if (event->to <= LULL_BREAKER_HALF_OPEN)
        stats_add(&lane->stats.breaker_transitions[event->to], 1);
    if (event->to == LULL_BREAKER_OPEN) {
        restart_ramp(lane); /* nobody may ask until it is half-open */
        lane_tell(lane, NEWS_BREAKER_OPENED, &(struct news){.at = event->open_until});
    } else if (event->to == LULL_BREAKER_CLOSED) {
        lane_tell(lane, NEWS_BREAKER_CLOSED, &(struct news){.at = event->at});
    }
}

static uint32_t limit_of(const struct lull_guard_config *config) {
    if (config->without & LULL_WITHOUT_BULKHEAD)
        return 1000;
    return config->bulkhead.limit > 0 ? (uint32_t)config->bulkhead.limit : LULL_BULKHEAD_LIMIT;
}

struct lane *lane_new(struct engine *engine, const struct lane_options *options) {
    struct lane *lane = calloc(1, sizeof *lane);
    struct lull_guard_config config = *options->config;
    if (lane == NULL)
        return NULL;
    config.breaker.on_transition = follow_breaker;
    config.breaker.context = lane;
    if (lull_guard_init(&lane->guard, &config, NULL) != LULL_OK) {
        free(lane);
        return NULL;
    }
    atomic_store(&lane->references, 1);
    lane->engine = engine;
    lane->destination = options->destination;
    memccpy(lane->name, options->name, 0, sizeof lane->name - 1);
    lane->target = options->target;
    lane->state = options->state;
    lane->wake = LULL_NEVER;
    stream_init(&lane->streams[DELIVERY_FRESH], DELIVERY_FRESH, options->pending[0] > 0);
    stream_init(&lane->streams[DELIVERY_RETRY], DELIVERY_RETRY, options->pending[1] > 0);
    job_list_init(&lane->express);
    ramp_init(&lane->ramp, limit_of(&config));
    struct lane_stats *stats = &lane->stats;
    atomic_store(&stats->window, lane->ramp.window);
    atomic_store(&stats->pending[0], (int64_t)options->pending[0]);
    atomic_store(&stats->pending[1], (int64_t)options->pending[1]);
    atomic_store(&stats->dead, (int64_t)options->dead);
    atomic_store(&stats->state, options->state);
    /* Whether the destination is up is not known. With a backlog to send, find out gently. */
    if (options->pending[0] + options->pending[1] > 0)
        restart_ramp(lane);
    if (options->blocked_until > engine->now) {
        lull_guard_pause(&lane->guard, options->blocked_until);
        lane->clock_kept = options->blocked_until;
        restart_ramp(lane);
    }
    return lane;
}

void engine_aim(struct lane *lane, struct target *target) {
    target_release(lane->target);
    lane->target = target;
}

int engine_configure(struct engine *engine, struct lane *lane, struct target *target,
                     const struct lull_guard_config *config) {
    int result = lull_guard_configure(&lane->guard, config, NULL);
    if (result != LULL_OK)
        return result;
    engine_aim(lane, target);
    uint32_t limit = limit_of(config);
    bool at_top = ramp_at_top(&lane->ramp);
    lane->ramp.limit = limit;
    if (at_top || lane->ramp.window > limit)
        lane->ramp.window = limit;
    atomic_store_explicit(&lane->stats.window, lane->ramp.window, memory_order_relaxed);
    /* Under the new settings there may be nothing to wait for: ask again. */
    lane->clock = lane->retry_clock = engine->now;
    lane->probing = false;
    lane_soon(lane);
    return LULL_OK;
}

/* ---- news ---- */

void lane_tell(struct lane *lane, enum news_kind kind, const struct news *news) {
    struct engine *engine = lane->engine;
    struct news copy = *news;
    if (engine->options.tell == NULL)
        return;
    copy.kind = kind;
    copy.lane = lane;
    copy.error = copy.error != NULL ? copy.error : "";
    engine->options.tell(engine->options.context, &copy);
}

/* A look at the storm detector, now and then. */
static void look(struct lane *lane) {
    lull_time now = lane->engine->now;
    struct lull_guard_stats stats;
    if (now < lane->look)
        return;
    lane->look = now + LANE_LOOK;
    lull_storm_backlog(&lane->guard.storm, lane->stats.pending[DELIVERY_RETRY], now);
    lull_guard_snapshot(&lane->guard, &stats, now);
    struct news news = {.ratio = stats.storm.ratio, .at = now};
    bool near = stats.storm.backlog_growing || stats.storm.rate_high;
    if (stats.storm.storm != lane->storm)
        lane_tell(lane, lane->storm ? NEWS_STORM_ENDED : NEWS_STORM_BEGAN, &news);
    else if (near && !lane->storm_near && !lane->storm)
        lane_tell(lane, NEWS_STORM_NEAR, &news);
    lane->storm = stats.storm.storm;
    lane->storm_near = near;
    atomic_store_explicit(&lane->stats.storm, lane->storm, memory_order_relaxed);
}

/* ---- the clock ---- */

static void clock_written(struct store_request *request) {
    struct lane *lane = request->owner;
    lane_answered(lane);
    lane->clock_writing = false;
    if (lane->clock_dirty)
        lane_keep_clock(lane);
}

/* One write at a time; what changed meanwhile is written next. */
void lane_keep_clock(struct lane *lane) {
    lane->clock_dirty = lane->clock_writing;
    if (lane->clock_writing || lane->removed)
        return;
    lane->clock_writing = true;
    lane->clock_request = (struct store_clock){
        .request = {.kind = STORE_CLOCK, .insistent = true, .done = clock_written, .owner = lane},
        .destination = lane->destination,
        .blocked_until = lane->clock_kept,
        .state = lane->state,
    };
    lane_ask(lane, &lane->clock_request.request);
}

bool lane_runs(const struct lane *lane) {
    return lane->state == DESTINATION_ACTIVE && !lane->removed &&
           lane->engine->now >= lane->clock && !lane->engine->draining;
}

static void show_block(struct lane *lane, enum lull_policy policy) {
    atomic_store_explicit(&lane->stats.blocked_by, policy, memory_order_relaxed);
    atomic_store_explicit(&lane->stats.blocked_until, lane->clock, memory_order_relaxed);
}

/* The guard said no: nobody of this lane asks before its time. */
static void move_clock(struct lane *lane, struct lull_verdict verdict) {
    lull_time now = lane->engine->now;
    bool outage = verdict.policy == LULL_POLICY_BREAKER || verdict.policy == LULL_POLICY_CLOCK;
    lane->clock = verdict.at > now ? verdict.at : now + LULL_MILLISECOND;
    lane->probing = verdict.reason == LULL_REASON_CIRCUIT_PROBING;
    if (outage && !lane->probing) {
        restart_ramp(lane);
        lane->streams[0].load_rows = lane->streams[1].load_rows = LANE_LOAD_LEAST;
    }
    show_block(lane, verdict.policy);
    if (!outage || lane->probing || lane->clock - now < LANE_CLOCK_KEPT)
        return;
    if (lane->clock != lane->clock_kept) {
        lane->clock_kept = lane->clock;
        lane_keep_clock(lane);
    }
    if (verdict.policy == LULL_POLICY_CLOCK)
        lane_tell(lane, NEWS_BLOCKED, &(struct news){.at = lane->clock, .reason = verdict.reason});
}

void lane_heed_pause(struct lane *lane) {
    struct lull_guard_stats stats;
    lull_guard_snapshot(&lane->guard, &stats, lane->engine->now);
    /* Not the clock: that may wait longer for a rate limit, which no restart remembers. */
    if (stats.not_before > lane->engine->now && stats.not_before > lane->clock_kept)
        move_clock(lane, (struct lull_verdict){.decision = LULL_NO,
                                               .policy = LULL_POLICY_CLOCK,
                                               .reason = LULL_REASON_RETRY_AFTER,
                                               .at = stats.not_before});
}

/* ---- choosing ---- */

/* Whose turn it is: the stream's job that is due first, or, in turn with those, a fresh one that overtakes. */
static struct job_list *choose(struct lane *lane) {
    struct job *fresh = lane->streams[DELIVERY_FRESH].ready.first;
    struct job *retry = lane->streams[DELIVERY_RETRY].ready.first;
    if (retry != NULL && lane->engine->now < lane->retry_clock)
        retry = NULL;
    bool has_express = lane->express.count > 0;
    if (has_express && (lane->express_next || (fresh == NULL && retry == NULL))) {
        lane->express_next = false;
        return &lane->express;
    }
    lane->express_next = has_express;
    if (retry != NULL && (fresh == NULL || place_before(retry->place, fresh->place)))
        return &lane->streams[DELIVERY_RETRY].ready;
    return fresh != NULL ? &lane->streams[DELIVERY_FRESH].ready : NULL;
}

static void begin_call(struct lane *lane, struct job *job) {
    struct lull_call_options options = {
        .idempotent = true, /* the receiver knows it by its id */
        .pays_at_admission = true,
        .attempts_made = job->attempts,
        .previous_delay = job->previous,
    };
    /* A deadline counts from when the event was accepted; for a replayed one, from now. */
    lull_time since = job->replay != 0 ? lane->engine->now : job->message->accepted;
    lull_call_begin(&lane->guard, &job->call, &options, lull_random_next(&lane->engine->random),
                    since);
    job->begun = true;
}

/* Tries to start the first job of a list. False: the lane has to wait. */
static bool start_one(struct lane *lane, struct job_list *list) {
    struct job *job = list->first;
    if (!job->begun)
        begin_call(lane, job);
    struct lull_verdict verdict = lull_admit(&lane->guard, &job->call, lane->engine->now);
    switch (verdict.decision) {
    case LULL_GO:
        attempt_start(lane, job_list_pop(list), verdict.timeout);
        return true;
    case LULL_NO:
        if (verdict.policy == LULL_POLICY_BUDGET) {
            lane->retry_clock = verdict.at;
            return true; /* first tries are free */
        }
        move_clock(lane, verdict);
        return false;
    default:
        job_died(lane, job_list_pop(list), verdict.reason, "");
        return true;
    }
}

static bool has_room(const struct lane *lane) {
    return lane->inflight < lane->ramp.window && lane->settling < LANE_SETTLING;
}

static lull_time earlier(lull_time a, lull_time b) {
    return a < b ? a : b;
}

static lull_time later(lull_time a, lull_time b) {
    return a > b ? a : b;
}

static lull_time next_turn(const struct lane *lane) {
    lull_time next = LULL_NEVER;
    if (lane->state != DESTINATION_ACTIVE || lane->removed || lane->engine->draining)
        return LULL_NEVER;
    for (int i = 0; i < 2; i++)
        next = earlier(next, stream_next(&lane->streams[i]));
    if (has_room(lane)) {
        if (lane->express.count + lane->streams[DELIVERY_FRESH].ready.count > 0)
            next = INT64_MIN;
        if (lane->streams[DELIVERY_RETRY].ready.count > 0)
            next = earlier(next, lane->retry_clock);
    }
    next = earlier(next, lane_replay_next(lane));
    next = later(next, lane->clock);
    bool active = lane->storm || lane->stats.pending[0] + lane->stats.pending[1] > 0;
    return active ? earlier(next, lane->look) : next;
}

void lane_run(struct lane *lane) {
    struct job_list *list;
    while (lane_runs(lane) && has_room(lane) && (list = choose(lane)) != NULL)
        if (!start_one(lane, list))
            break;
    if (lane_runs(lane)) {
        for (int i = 0; i < 2; i++)
            stream_refill(lane, &lane->streams[i]);
    }
    lane_replay_run(lane);
    look(lane);
    lane->wake = next_turn(lane);
}

/* ---- from outside ---- */

/* An express job may overtake a backlog, if the lane flows. */
static void take_express(struct lane *lane, struct message *message, struct place place) {
    if (lane->express_count >= LANE_EXPRESS || lane->express.bytes >= LANE_LOAD_BYTES ||
        !lane_runs(lane))
        return;
    struct job *job = job_new(lane->engine, lane, message);
    if (job == NULL)
        return;
    job->place = place;
    job->stream = DELIVERY_FRESH;
    job->express = true;
    job->older = lane->newest_express;
    if (job->older != NULL)
        job->older->newer = job;
    lane->newest_express = job;
    lane->express_count++;
    job_list_push(&lane->express, job);
}

void engine_accepted(struct engine *engine, struct lane *lane, struct message *message,
                     struct place place) {
    (void)engine;
    if (lane->removed)
        return;
    stats_add(&lane->stats.accepted, 1);
    atomic_fetch_add_explicit(&lane->stats.pending[DELIVERY_FRESH], 1, memory_order_relaxed);
    if (!stream_accept(lane, &lane->streams[DELIVERY_FRESH], message, place))
        take_express(lane, message, place);
    lane_soon(lane);
}

void engine_set_state(struct engine *engine, struct lane *lane, enum destination_state state) {
    lane->state = state;
    atomic_store_explicit(&lane->stats.state, state, memory_order_relaxed);
    if (state == DESTINATION_ACTIVE) {
        lull_guard_resume(&lane->guard);
        lane->clock = engine->now;
        lane->clock_kept = 0;
        show_block(lane, LULL_POLICY_NOBODY);
        restart_ramp(lane);
    }
    lane_soon(lane);
}
