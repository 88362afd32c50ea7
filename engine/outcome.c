/* What becomes of a job: the attempt, its outcome, and how that is written down. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static void attempt_ended(struct attempt *attempt);
static void settled(struct store_request *request);

static void count_inflight(struct lane *lane, int change) {
    lane->inflight += (uint32_t)change;
    lane->engine->busy += (uint32_t)change;
    atomic_store_explicit(&lane->stats.inflight, lane->inflight, memory_order_relaxed);
}

void attempt_start(struct lane *lane, struct job *job, lull_duration timeout) {
    struct transport_port *transport = lane->engine->options.transport;
    job->state = JOB_FLYING;
    job->before = NULL;
    job->next = lane->flying;
    if (job->next != NULL)
        job->next->before = job;
    lane->flying = job;
    count_inflight(lane, 1);
    if (job->call.attempt > 1)
        stats_observe(&lane->stats.delay, stats_delay_bounds, STATS_DELAY_BUCKETS, job->previous);
    job->attempt = (struct attempt){
        .target = target_share(lane->target),
        .message = job->message,
        .number = job->call.attempt,
        .timeout = timeout < lane->target->timeout ? timeout : lane->target->timeout,
        .ended = attempt_ended,
    };
    transport->start(transport, &job->attempt);
}

static void land(struct lane *lane, struct job *job) {
    if (job->next != NULL)
        job->next->before = job->before;
    if (job->before != NULL)
        job->before->next = job->next;
    else
        lane->flying = job->next;
    job->next = job->before = NULL;
    count_inflight(lane, -1);
}

/* Writes down what came of the job. It stays in memory until that is done. */
static void settle(struct lane *lane, struct job *job, enum delivery_state to, lull_time at,
                   enum lull_reason reason) {
    job->state = JOB_SETTLING;
    lane->settling++;
    job->settle = (struct store_settle){
        .request = {.kind = STORE_SETTLE, .insistent = true, .done = settled, .owner = job},
        .destination = lane->destination,
        .from = job->place,
        .from_state = job->stream,
        .to_state = to,
        .at = at,
        .attempts = job->call.attempt,
        .tries = job->tries,
        .previous = job->call.previous,
        .first_failed = job->first_failed,
        .replay = job->replay,
        .reason = reason,
        .attempt = job->attempt.record,
    };
    if (to == DELIVERY_RETRY)
        stream_planned(&lane->streams[DELIVERY_RETRY], at);
    lane_ask(lane, &job->settle.request);
}

static void follow_ramp(struct lane *lane, enum lull_class class_) {
    if (class_ == LULL_CANCELLED || class_ == LULL_IGNORED)
        return;
    if (class_ == LULL_SUCCESS || class_ == LULL_PERMANENT) /* it answered */
        ramp_success(&lane->ramp);
    else
        ramp_failure(&lane->ramp);
    atomic_store_explicit(&lane->stats.window, lane->ramp.window, memory_order_relaxed);
    if (lane->recovering && ramp_at_top(&lane->ramp)) {
        lane->recovering = false;
        lane_tell(lane, NEWS_RECOVERED, &(struct news){.at = lane->engine->now});
    }
}

static void disable(struct lane *lane) {
    if (lane->state == DESTINATION_DISABLED)
        return;
    lane->state = DESTINATION_DISABLED;
    atomic_store_explicit(&lane->stats.state, DESTINATION_DISABLED, memory_order_relaxed);
    lane_keep_clock(lane);
    lane_tell(lane, NEWS_DISABLED, &(struct news){.at = lane->engine->now});
}

static void count_attempt(struct lane *lane, const struct job *job) {
    const struct attempt_record *record = &job->attempt.record;
    bool retry = job->call.attempt > 1;
    stats_add(&lane->stats.attempts[retry][record->class_], 1);
    stats_observe(&lane->stats.duration, stats_duration_bounds, STATS_DURATION_BUCKETS,
                  record->took);
}

void job_died(struct lane *lane, struct job *job, enum lull_reason reason, const char *error) {
    stats_add(&lane->stats.dead_arrivals[reason], 1);
    lane_tell(lane, NEWS_DEAD_LETTER,
              &(struct news){
                  .id = job->place.id, .reason = reason, .error = error, .at = lane->engine->now});
    settle(lane, job, DELIVERY_DEAD, lane->engine->now, reason);
}

/* Cancelled, by us: it goes back as if it had not been tried. Its row is as it was, so there is nothing to write; but the
 * stream has passed it by, so it is put where it came from. */
static void put_back(struct lane *lane, struct job *job) {
    job->state = JOB_READY;
    job->begun = false;
    job_list_push_first(job->express ? &lane->express : &lane->streams[job->stream].ready, job);
}

static void attempt_ended(struct attempt *attempt) {
    struct job *job = (struct job *)((char *)attempt - offsetof(struct job, attempt));
    struct lane *lane = job->lane;
    lull_time now = lane->engine->now;
    land(lane, job);
    target_release(attempt->target);
    attempt->target = NULL;
    attempt->record.number = ++job->tries;
    attempt->record.class_ = attempt->outcome.class_;
    struct lull_verdict verdict = lull_complete(&lane->guard, &job->call, attempt->outcome, now);
    if (lane->removed || attempt->outcome.class_ == LULL_CANCELLED) {
        job->tries--;
        if (lane->removed)
            job_destroy(job);
        else
            put_back(lane, job);
        lane_soon(lane);
        return;
    }
    bool succeeded = verdict.decision == LULL_DONE;
    count_attempt(lane, job);
    follow_ramp(lane, attempt->outcome.class_);
    if (lane->probing) { /* the circuit may have made up its mind */
        lane->probing = false;
        lane->clock = now;
    }
    if (attempt->outcome.retry_after > 0)
        lane_heed_pause(lane);
    if (!succeeded && job->first_failed == 0)
        job->first_failed = now;
    if (job->replay != 0)
        lane_replay_outcome(lane, job, succeeded);
    if (attempt->gone)
        disable(lane);
    if (succeeded)
        settle(lane, job, DELIVERY_DELIVERED, now, LULL_REASON_NONE);
    else if (verdict.decision == LULL_RETRY)
        /* Later than now, for what is due now may have been loaded already. */
        settle(lane, job, DELIVERY_RETRY, verdict.at > now ? verdict.at : now + 1,
               LULL_REASON_NONE);
    else
        job_died(lane, job, verdict.reason, attempt->record.error);
    lane_soon(lane);
}

static void settled(struct store_request *request) {
    struct job *job = request->owner;
    struct lane *lane = job->lane;
    struct store_settle *settle = &job->settle;
    struct lane_stats *stats = &lane->stats;
    lane_answered(lane);
    lane->settling--;
    atomic_fetch_sub_explicit(&stats->pending[settle->from_state], 1, memory_order_relaxed);
    if (settle->to_state == DELIVERY_RETRY)
        atomic_fetch_add_explicit(&stats->pending[DELIVERY_RETRY], 1, memory_order_relaxed);
    else if (settle->to_state == DELIVERY_DEAD)
        atomic_fetch_add_explicit(&stats->dead, 1, memory_order_relaxed);
    else
        stats_add(&stats->delivered, 1);
    job_destroy(job);
}
