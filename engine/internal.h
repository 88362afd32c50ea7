/* What the engine's own files share. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "engine.h"

/* engine.c */
void lane_soon(struct lane *lane); /* look at it in this turn */
/* A request of the lane to the store; its `done` begins with lane_answered. */
void lane_ask(struct lane *lane, struct store_request *request);
void lane_answered(struct lane *lane);

/* job.c */
struct job *job_new(struct engine *engine, struct lane *lane, struct message *message);
void job_destroy(struct job *job); /* releases its message; it must be in no list */
void job_list_init(struct job_list *list);
void job_list_push(struct job_list *list, struct job *job);
void job_list_push_first(struct job_list *list, struct job *job);
struct job *job_list_pop(struct job_list *list);
void job_list_clear(struct job_list *list);

/* stream.c */
void stream_init(struct stream *stream, enum delivery_state state, bool behind);
void stream_clean_up(struct stream *stream);
/* Asks for more if the window runs low and the disk has some. */
void stream_refill(struct lane *lane, struct stream *stream);
/* When the stream may have something new, by itself. */
lull_time stream_next(const struct stream *stream);
/* The next event was accepted. True: it is in the window, or was. */
bool stream_accept(struct lane *lane, struct stream *stream, struct message *message,
                   struct place place);
/* A retry will be on disk, due then. */
void stream_planned(struct stream *stream, lull_time due);

/* lane.c */
struct lane *lane_new(struct engine *engine, const struct lane_options *options);
void lane_run(struct lane *lane);
void lane_tell(struct lane *lane, enum news_kind kind, const struct news *news);
/* The clock moved for good reason: keep it on disk if it is worth it. */
void lane_keep_clock(struct lane *lane);
/* The destination has asked for a pause: the lane's clock moves now, not when the next job asks, so that the pause survives a restart. */
void lane_heed_pause(struct lane *lane);
bool lane_runs(const struct lane *lane); /* active, and its clock has come */

/* outcome.c */
void attempt_start(struct lane *lane, struct job *job, lull_duration timeout);
void job_died(struct lane *lane, struct job *job, enum lull_reason reason, const char *error);

/* replaying.c */
void lane_replay_run(struct lane *lane);
lull_time lane_replay_next(const struct lane *lane);
void lane_replay_outcome(struct lane *lane, const struct job *job, bool succeeded);

#endif
