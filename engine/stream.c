/* A stream's window.
 *
 * What holds, between any two calls:
 *   - every row at or before `loaded` has been in memory: it is ready, under way, or settled to another state;
 *   - every row past it that is due is announced by `behind`, or was asked for (`loading`), or is due at `next_due` or later.
 * The store helps: rows that it stamps come after all that it has ever loaded. Retries are planned for a moment later than now,
 * and loads look at rows due now or before. */
#include "internal.h"

#include <stdlib.h>

static void loaded(struct store_request *request);

void stream_init(struct stream *stream, enum delivery_state state, bool behind) {
    *stream = (struct stream){
        .state = state,
        .loaded = {INT64_MIN, 0},
        .behind = behind,
        .next_due = LULL_NEVER,
        .load_rows = LANE_LOAD_LEAST,
    };
    job_list_init(&stream->ready);
}

void stream_clean_up(struct stream *stream) {
    job_list_clear(&stream->ready);
    free(stream->rows);
    stream->rows = NULL;
}

static bool wants_more(const struct lane *lane, const struct stream *stream) {
    lull_time now = lane->engine->now;
    return !stream->loading && stream->ready.count < (stream->load_rows + 1) / 2 &&
           (stream->behind || stream->next_due <= now) && now >= stream->load_again;
}

void stream_refill(struct lane *lane, struct stream *stream) {
    struct engine *engine = lane->engine;
    if (!wants_more(lane, stream))
        return;
    stream->rows = malloc(stream->load_rows * sizeof *stream->rows);
    if (stream->rows == NULL) {
        stream->load_again = engine->now + LANE_LOAD_AGAIN;
        return;
    }
    stream->loading = true;
    stream->meanwhile = false;
    stream->meanwhile_due = LULL_NEVER;
    stream->load = (struct store_load){
        .request = {.kind = STORE_LOAD, .done = loaded, .owner = lane},
        .destination = lane->destination,
        .state = stream->state,
        .after = stream->loaded,
        .until = engine->now,
        .limit = stream->load_rows,
        .bytes = LANE_LOAD_BYTES,
        .rows = stream->rows,
    };
    lane_ask(lane, &stream->load.request);
}

/* An express job of this row is in memory already. */
static bool under_way(const struct lane *lane, int64_t id) {
    for (const struct job *job = lane->newest_express; job != NULL && job->place.id >= id;
         job = job->older)
        if (job->place.id == id)
            return true;
    return false;
}

static bool take_row(struct lane *lane, struct stream *stream, const struct load_row *row) {
    if (stream->state == DELIVERY_FRESH && under_way(lane, row->place.id))
        return true;
    struct job *job = job_new(lane->engine, lane, row->message);
    if (job == NULL)
        return false;
    job->place = row->place;
    job->stream = stream->state;
    job->attempts = row->attempts;
    job->tries = row->tries;
    job->previous = row->previous;
    job->first_failed = row->first_failed;
    job->replay = row->replay;
    job_list_push(&stream->ready, job);
    return true;
}

static void loaded(struct store_request *request) {
    struct store_load *load = (struct store_load *)request;
    struct lane *lane = request->owner;
    struct stream *stream = &lane->streams[load->state];
    bool good = request->result == LULL_OK;
    uint32_t taken = 0;
    lane_answered(lane);
    stream->loading = false;
    while (good && !lane->removed && taken < load->count &&
           take_row(lane, stream, &load->rows[taken])) {
        stream->loaded = load->rows[taken].place;
        taken++;
    }
    if (good)
        for (uint32_t i = 0; i < load->count; i++)
            message_release(load->rows[i].message);
    free(stream->rows);
    stream->rows = NULL;
    bool all = good && taken == load->count;
    stream->behind = !all || load->more || stream->meanwhile;
    stream->next_due = all && !load->more ? load->next_due : LULL_NEVER;
    if (stream->meanwhile_due < stream->next_due)
        stream->next_due = stream->meanwhile_due;
    stream->load_again = all ? 0 : lane->engine->now + LANE_LOAD_AGAIN;
    if (all && load->more && stream->load_rows < LANE_LOAD_MOST)
        stream->load_rows *= 2;
    else if (all && !load->more)
        stream->load_rows = LANE_LOAD_LEAST;
}

lull_time stream_next(const struct stream *stream) {
    if (stream->loading || stream->ready.count >= (stream->load_rows + 1) / 2)
        return LULL_NEVER;
    lull_time next = stream->behind ? INT64_MIN : stream->next_due;
    return next > stream->load_again ? next : stream->load_again;
}

bool stream_accept(struct lane *lane, struct stream *stream, struct message *message,
                   struct place place) {
    struct job *job = NULL;
    if (!place_before(stream->loaded, place)) /* a load saw it before we heard of it */
        return true;
    /* A step of a replay may have stamped letters before this one, and its answer is still to come. */
    if (!stream->behind && !stream->loading && !lane->replay_stepping &&
        place.due < stream->next_due && stream->ready.count < LANE_LOAD_MOST &&
        stream->ready.bytes < LANE_LOAD_BYTES)
        job = job_new(lane->engine, lane, message);
    if (job == NULL) {
        stream->behind = true;
        stream->meanwhile = true;
        return false;
    }
    job->place = place;
    job->stream = stream->state;
    stream->loaded = place;
    job_list_push(&stream->ready, job);
    return true;
}

void stream_planned(struct stream *stream, lull_time due) {
    if (due < stream->next_due)
        stream->next_due = due;
    if (stream->loading && due < stream->meanwhile_due)
        stream->meanwhile_due = due;
}
