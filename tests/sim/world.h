/* A world for the delivery engine: engine, store in memory, destinations and people, under a virtual clock, all from one seed.
 *
 *   producers, operators ──▶ disk (store.h as a port: commits take time, fail, survive crashes) ──▶ engine ──▶ receivers
 *                              └────────────── a model of its own looks at all of it ─────────────────┘
 *
 * Time is a heap of alarms in the order of (time, number); nothing else moves it. Everything random is drawn from generators that the
 * seed begins, so a seed is a run: the same commits, failures, crashes and attempts, step by step.
 *
 * The model (model.h) knows of the engine only what its ports see. It says what must hold whenever an attempt starts or ends, a request
 * is made or committed, and after crashes compares itself with the store. The first thing that does not hold ends the run. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "engine/engine.h"
#include "store/memory.h"

#define RECEIVERS_MOST 12
#define CONFIGS_MOST 64
#define TRACE_LINES 200
#define TRACE_SIZE 160
#define WORLD_BEGIN (1000 * LULL_SECOND)

struct world;

struct alarm {
    lull_time at;
    uint64_t number; /* order of equal times */
    uint32_t life;   /* 0, or of the engine for which it is meant */
    void (*ring)(struct world *world, void *owner, int64_t argument);
    void *owner;
    int64_t argument;
};

/* Times of the last events of a kind, to count how many there were in a stretch. */
struct tally {
    lull_time *times;
    uint32_t count, room;
};

enum mood {
    MOOD_UP,
    MOOD_SLOW,
    MOOD_REFUSING,   /* connections */
    MOOD_HANGING,    /* until the time-out */
    MOOD_FAILING,    /* a share of requests, 500 */
    MOOD_THROTTLING, /* a share of requests, 429 or 503 with Retry-After */
    MOOD_REJECTING,  /* a share of requests, 404 */
    MOOD_LOSING,     /* has received it, the answer is lost */
    MOOD_GONE,       /* a share of requests, 410 */
    MOOD_COUNT
};

/* A destination: how it behaves, and what the model knows of it. */
struct receiver {
    int64_t id; /* 0: not created yet */
    char name[16];
    uint64_t random;
    enum mood mood;
    double share;          /* of requests that its mood strikes; 0: of most */
    double capacity;       /* requests a second; 0: any. What is beyond waits */
    lull_time free_at;     /* with a capacity */
    lull_duration latency; /* LULL_NONE: drawn */
    uint64_t arrivals, failures;
    void (*arrived)(struct world *world, struct receiver *receiver, int64_t delivery);

    /* What the engine was told, in this life of it. */
    struct lane *lane;
    struct lull_guard_config config;
    int config_number;
    enum destination_state state;
    bool removed;
    /* What is on disk. */
    enum destination_state kept_state;
    int kept_config;
    lull_time kept_until;
    bool kept_removed;
    /* The model's, of this life. */
    lull_time paused_until;   /* Retry-After */
    lull_time pause_patience; /* it should run again by then */
    uint32_t flying, fastest; /* fastest: most at once, ever */
    uint32_t generation, probes;
    lull_time last_start;
    struct place started[2]; /* the last, of each stream */
    struct tally starts, retries, successes;
    double budget_ratio, budget_floor; /* the most generous of this life */
    bool bucket_changed;
    uint32_t outages;
    uint32_t alone;         /* attempts under way since the last outage */
    bool careful;           /* nothing has succeeded since that */
    uint32_t idle;          /* looks at it in a row without a start, though it could */
    uint32_t attempts_most; /* of any configuration it had */
    lull_duration deadline_most;
    bool expires; /* it had a deadline, at some time */
    bool has_due; /* scratch */
};

struct flight {
    struct flight *next;
    int64_t id;
    struct attempt *attempt;
    struct receiver *receiver;
    int64_t delivery;
    lull_time began;
    struct lull_outcome outcome;
    uint32_t outage; /* the last before it */
    bool gone, cancelled;
};

struct batch;

struct disk {
    struct store_port port;
    struct store_adapter *adapter;
    struct store_request *first, **last; /* not committed */
    struct batch *answers, **last_answer;
    uint64_t random;
    bool steady;    /* commits at whole milliseconds */
    bool slow;      /* commits take long */
    double failing; /* share of commits */
    bool scheduled;
    lull_time answered_until;
    uint64_t commits;
};

struct delivery;

struct model {
    struct delivery *deliveries; /* by id */
    uint32_t count, room;
    lull_time tidied_before;
    uint32_t looks;
    bool strict; /* compare with the store now and then */
};

struct world {
    uint64_t seed, random, step, alarms_set;
    lull_time now;
    struct alarm *alarms;
    uint32_t alarm_count, alarm_room;
    struct engine engine;
    struct transport_port transport;
    uint32_t life, lives; /* of the engine, from 1; 0: there is none */
    bool dying, draining;
    struct disk disk;
    struct model model;
    struct receiver receivers[RECEIVERS_MOST];
    uint32_t receiver_count;
    struct lull_guard_config configs[CONFIGS_MOST];
    int config_count;
    struct flight *flights;
    int64_t flight_number;
    bool calm;         /* no more faults, events or operators */
    uint32_t errands;  /* requests of people under way */
    uint64_t accepted; /* deliveries */
    uint64_t accept_most;
    uint64_t crashes, attempts, replays, duplicates;

    bool forgetful; /* accepted events are not always told of */
    bool failed, verbose;
    char failure[400];
    char (*trace)[TRACE_SIZE];
    uint64_t trace_count;
};

/* world.c */
void world_init(struct world *world, uint64_t seed, bool verbose);
void world_clean_up(struct world *world);
void world_alarm(struct world *world, lull_duration after, uint32_t life,
                 void (*ring)(struct world *, void *, int64_t), void *owner, int64_t argument);
/* Runs on until then, or until something fails. */
void world_run(struct world *world, lull_time until);
/* Something does not hold. Only the first counts. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_note(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t world_draw(uint64_t *random, int64_t low, int64_t high);
bool world_chance(uint64_t *random, double share);

/* life.c: the engine starts as the daemon starts it, and ends. */
void life_begin(struct world *world);
void life_crash(struct world *world); /* what is in memory vanishes */
void life_end(struct world *world);   /* it has drained */

/* disk.c */
void disk_init(struct world *world);
void disk_clean_up(struct world *world);
/* Carried out at once, faults aside. */
void disk_ask(struct world *world, struct store_request *request);
/* Everything that was not answered, in order, answered with LULL_ESYSTEM, to a dead engine. */
void disk_forget(struct world *world);

/* receivers.c */
void receivers_init(struct world *world);
struct receiver *receiver_add(struct world *world, const struct lull_guard_config *config);
/* From now on its mood changes every now and then. */
void receiver_vary(struct world *world, struct receiver *receiver);
void receivers_forget(struct world *world); /* cancels all flights, into a dead engine */
struct target *receiver_target(struct receiver *receiver);
struct receiver *receiver_find(struct world *world, int64_t id);

/* people.c: requests of producers and operators. */
void people_create(struct world *world, struct receiver *receiver);
void people_send(struct world *world, struct receiver *const *receivers, uint32_t count,
                 uint32_t events);
void people_set_state(struct world *world, struct receiver *receiver, enum destination_state state);
void people_configure(struct world *world, struct receiver *receiver,
                      const struct lull_guard_config *config);
void people_remove(struct world *world, struct receiver *receiver, bool force);
void people_replay(struct world *world, struct receiver *receiver, const int64_t *ids,
                   uint32_t count);
void people_cancel_replay(struct world *world, int64_t replay);
void people_drop(struct world *world, int64_t delivery);
void people_tidy(struct world *world, lull_duration retention);

/* fixed.c: what the worlds that are not random share. */
struct receiver *fixed_receiver(struct world *world, const struct lull_guard_config *config);
void fixed_fill(struct world *world, struct receiver *receiver,
                uint32_t count);          /* on disk, at once */
void fixed_kill_all(struct world *world); /* what is pending becomes dead, on disk */

/* The worlds: each runs one and tells whether all held. */
void chaos_run(struct world *world);
void gentle_run(struct world *world);
void isolation_run(struct world *world);
void replay_run(struct world *world);

#endif
