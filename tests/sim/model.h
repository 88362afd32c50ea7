/* What must hold, by an account of its own of every delivery.
 *
 *   - an accepted delivery is pending, in flight, delivered or dead, on disk as here (model_compare);
 *   - it is attempted by one flight at a time, never again once its end is on disk, never before it is due, never more often
 *     than the settings in force when the attempt was planned allow;
 *   - a destination has no more flights than its settings allow, none while it is paused, disabled, gone or asked to be left
 *     alone, none while its circuit is open, and at most `probes` in a half-open generation;
 *   - retries cost budget, and starts cost tokens: counted here, over ten seconds;
 *   - each stream starts in the order of (due, id), and leaves nothing behind (model_look);
 *   - a lane that can do something does it within seconds (model_look). */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H

#include "world.h"

enum progress {
    PROGRESS_NONE, /* pending, or over */
    PROGRESS_FLYING,
    PROGRESS_SETTLING, /* the outcome is with the disk */
};

#define MODEL_GONE DELIVERY_STATE_COUNT /* removed or dropped */

struct delivery {
    int64_t id, event;
    struct receiver *receiver;
    lull_time accepted;
    /* On disk. */
    int state; /* enum delivery_state, or MODEL_GONE */
    lull_time at;
    uint32_t attempts, tries;
    int64_t replay;
    /* In this life. */
    enum progress progress;
    bool put_back;   /* an attempt was called off */
    uint32_t number; /* of the attempt under way, or just ended */
    enum lull_class outcome;
    /* Ever. */
    uint32_t allowed,
        allowed_next;  /* attempts, when the next one was planned; when that is on disk */
    uint32_t received; /* with success */
    lull_time first_start;
    uint32_t seen; /* in the comparison of that number */
};

/* Every default filled in. */
struct lull_guard_config model_filled(const struct lull_guard_config *config);
/* The engine was told of it. */
void model_takes_config(struct receiver *receiver, const struct lull_guard_config *config);

void model_clean_up(struct model *model);
struct delivery *model_find(struct model *model, int64_t id); /* NULL: none */
struct delivery *model_of_attempt(struct world *world, const struct attempt *attempt);

void model_started(struct world *world, struct receiver *receiver, struct delivery *delivery,
                   const struct attempt *attempt);
/* Before the engine hears of it, and after. */
void model_ends(struct world *world, const struct flight *flight);
void model_ended(struct world *world, const struct flight *flight);
void model_submitted(struct world *world, const struct store_request *request);
void model_committed(struct world *world, const struct store_request *request);
/* The destination is, or was, out of reach: the next attempt is made alone, until one succeeds. */
void model_outage(struct receiver *receiver);
/* A new engine, or none. */
void model_new_life(struct world *world);
void model_compare(struct world *world);
void model_look(struct world *world);
/* All is over, and the lanes sleep. */
void model_all_over(struct world *world);
bool model_is_over(const struct world *world);

void tally_add(struct tally *tally, lull_time at);
uint32_t tally_since(const struct tally *tally, lull_time since);

#endif
