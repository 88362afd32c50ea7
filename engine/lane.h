/* A lane: one destination's deliveries, with a guard, a clock and a concurrency of their own.
 *
 * What is pending is on disk. In memory a lane keeps a small window of each of its two streams (first tries, retries), loaded in order, and the
 * jobs under way. A place in a stream is remembered up to which all is loaded; whatever comes later comes after it, so nothing is missed and
 * nothing is loaded twice.
 *
 *   disk, FRESH   ····················|==============>          loaded up to here, the `ready` window is the last part of it
 *   disk, RETRY   ······|====>          next due at 12:00:30
 *   express       e1 e2                 accepted just now, while the disk has a backlog: sent in turn with it, so that fresh events are
 *                                       not stuck behind an outage's. The stream comes across their rows later and skips them if
 *                                       they are still under way
 *
 * An accepted event goes straight into the window if the disk has nothing before it; it is not read back.
 *
 * Refusals of the guard (circuit open, rate limit, Retry-After) and a pause move the lane's clock. No attempt is charged, no row rewritten.
 * An empty retry budget moves the clock of retries only. After an outage the lane ramps: one at a time, then twice as many (ramp.h).
 *
 * A job's states, and where it lives:
 *   JOB_READY     in its stream's or the express list
 *   JOB_FLYING    with the transport; counted by `inflight`
 *   JOB_SETTLING  with the store: its outcome is being written; counted by `settling`. Then it is gone from memory
 *
 * A lane belongs to one engine, that is, to one thread. Others may read `stats` and the guard, and hold a reference. */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include "news.h"
#include "ramp.h"
#include "replay.h"
#include "stats.h"
#include "transport.h"

#include <lull/guard.h>

#define LANE_LOAD_LEAST 16 /* rows a load asks for at first, and after a pause */
#define LANE_LOAD_MOST 256 /* it doubles up to here while the lane flows */
#define LANE_LOAD_BYTES                                                                            \
    (1 << 18)           /* of messages, in one load; and accepted ones in memory, in either list */
#define LANE_EXPRESS 64 /* fresh events that may overtake a backlog, in memory at once */
#define LANE_SETTLING 512 /* outcomes being written; more are not made meanwhile */
#define LANE_LOAD_AGAIN (100 * LULL_MILLISECOND) /* after a load failed */
#define LANE_LOOK (5 * LULL_SECOND)              /* between looks at storm and backlog */
#define LANE_CLOCK_KEPT LULL_SECOND              /* pauses longer than this survive a restart */

struct engine;

enum job_state { JOB_READY, JOB_FLYING, JOB_SETTLING };

struct job {
    struct job *next, *before; /* in its list; `before` only among those flying */
    struct job *newer, *older; /* among the lane's express jobs, all states */
    struct lane *lane;
    struct message *message; /* one reference */
    struct place place;
    enum delivery_state stream; /* FRESH or RETRY */
    enum job_state state;
    bool express;
    bool begun; /* its call */
    uint32_t attempts, tries;
    lull_duration previous;
    lull_time first_failed;
    int64_t replay;
    struct lull_call call;
    struct attempt attempt;
    struct store_settle settle;
};

struct job_list {
    struct job *first, **last;
    uint32_t count;
    size_t bytes; /* of their messages */
};

struct stream {
    enum delivery_state state;
    struct job_list ready;
    struct place loaded; /* all up to here has been in memory */
    bool behind;         /* the disk may have rows past it that are due */
    lull_time next_due;  /* no other row past it is due before this */
    bool loading;
    bool meanwhile;          /* something was accepted since the load was asked for */
    lull_time meanwhile_due; /* the earliest retry planned since then */
    lull_time load_again;    /* not before */
    uint32_t load_rows;      /* to ask for next */
    struct store_load load;
    struct load_row *rows; /* while loading */
};

struct lane {
    LULL_ATOMIC(uint32_t) references;
    struct engine *engine;
    int64_t destination;
    char name[DESTINATION_NAME_LONGEST + 1];
    struct target *target;
    struct lull_guard guard;
    struct lane_stats stats;

    struct stream streams[2];
    struct job_list express;
    struct job *newest_express; /* all that are in memory, whatever their state */
    uint32_t express_count;
    bool express_next; /* whose turn it is */

    enum destination_state state;
    bool removed;
    struct ramp ramp;
    uint32_t inflight, settling;
    lull_time clock;       /* nothing is sent before */
    lull_time retry_clock; /* no retry is */
    bool probing;          /* the clock waits for the circuit's probes: ask again when one ends */
    bool recovering;       /* below the top of the ramp */
    lull_time look;        /* at storm and backlog, next */
    bool storm, storm_near;

    struct store_clock clock_request; /* keeps the clock on disk */
    bool clock_writing, clock_dirty;
    lull_time clock_kept;

    struct replay_row replay; /* id 0: none runs */
    struct replay_pace pace;
    bool replay_stepping, replay_over, replay_ending;
    struct store_replay_step replay_step;
    struct store_replay_end replay_end;

    lull_time wake; /* can do something then; in the engine's heap by it */
    uint32_t place_in_heap;
    bool in_run_list;
    struct lane *next_to_run;
    struct job *flying; /* the first of them */
};

struct lane_options {
    int64_t destination;
    const char *name;
    struct target *target;                  /* one reference, taken */
    const struct lull_guard_config *config; /* borrowed */
    enum destination_state state;
    lull_time blocked_until;
    uint64_t pending[2], dead; /* on disk */
};

struct lane *lane_share(struct lane *lane);
void lane_release(struct lane *lane);

#endif
