/* The simulated world: what sim_run's parts share.
 *
 *   client.c   requests, attempts, backoff, thread pools, hops      service.c  queues, workers, faults, answers
 *   lane.c     durable deliveries with a lane per destination       measure.c  counting and the result
 *
 * A *call* is one request under way (a user's, or a hop's), with its lull_call. A *job* is one attempt as the service sees it; it
 * goes on when the caller has given up, for that work is done all the same. Every event and job names its call and the call's
 * serial number, which grows at each turn: what comes too late does not match, and is dropped.
 *
 * Memory grows with the requests under way, not with those simulated. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "../engine/ramp.h"
#include "histogram.h"
#include "queue.h"
#include "result.h"

#define NOBODY UINT32_MAX

enum event_kind {
    EVENT_ARRIVAL, /* subject: group. An open loop's next request */
    EVENT_USER,    /* subject: user, serial: group. A closed loop's next request */
    EVENT_RESUME,  /* subject: call. Its pause is over */
    EVENT_SETTLE,  /* subject: call. Woken at the bulkhead, or out of patience there */
    EVENT_TIMEOUT, /* subject: call. The attempt has taken too long */
    EVENT_FINISH,  /* subject: job. A worker is done with it */
    EVENT_ANSWER,  /* subject: call, extra: class | seconds of Retry-After << 8. Without any work */
    EVENT_FAULT,   /* subject: service. One begins or ends */
    EVENT_LANE,    /* subject: lane. Its clock has come */
    EVENT_SECOND,  /* one more second of the series is full */
};

enum call_state {
    CALL_FREE,      /* in the free list */
    CALL_PAUSED,    /* an EVENT_RESUME will come */
    CALL_NO_THREAD, /* in its pool's queue */
    CALL_IN_LANE,   /* in one of its lane's lists */
    CALL_QUEUED,    /* in the bulkhead's queue */
    CALL_TRYING,    /* an attempt is under way */
};

/* What each turn needs comes first, in one cache line: hundreds of thousands may be under way. */
struct call {
    _Alignas(64) struct lull_call ticket;
    uint32_t serial;
    uint32_t group; /* NOBODY: a hop */
    uint32_t instance;
    uint8_t state;
    bool holds_thread;
    struct lull_guard *guard; /* borrowed */
    uint32_t service;         /* called */
    uint32_t next;            /* in the free list, or in a pool's or lane's list */
    uint32_t index;           /* its own */
    uint32_t user;            /* of a closed loop */
    uint32_t parent;          /* the job that makes this call; NOBODY: a user's */
    lull_time began;
    struct world *world;
    struct lull_waiter waiter;
};

struct job {
    uint32_t call, serial; /* who waits for it */
    uint32_t service;
    uint32_t next; /* in the free list or the service's queue */
};

struct list { /* of calls or jobs, by their `next` */
    uint32_t first, last, count;
};

struct pool { /* threads of one instance */
    uint32_t free;
    struct list waiting;
};

struct lane { /* of one durable client instance */
    struct lull_guard *guard;
    struct ramp ramp;
    uint32_t inside;
    lull_time clock;
    bool fresh_next; /* fresh and old events take turns */
    struct list fresh, old;
};

struct service {
    const struct sim_service *config;
    uint32_t index, next_service; /* NOBODY: none */
    uint64_t workers, busy;       /* workers: UINT64_MAX if without limit */
    uint64_t workers_now;         /* less what a fault takes */
    double work_mean;             /* nanoseconds */
    uint64_t queue_bound;
    struct list queue; /* of jobs */
    bool guarded;      /* by `bucket` */
    struct lull_bucket bucket;
    struct lull_guard *hop; /* under which it calls the next service */
    bool refuses;
    double hang_share, error_share, slowness;
    lull_time fault_ends; /* of the hanging */
    uint64_t attempts, wasted, turned_away;
    uint64_t this_second;
    double *offered; /* series */
};

struct group { /* a sim_client */
    const struct sim_client *config;
    uint32_t service;
    uint32_t instances, users;
    double rate;
    struct lull_guard *guards; /* one per instance */
    struct pool *pools; /* one per instance; NULL: as many threads as needed. Borrowed if shared */
    struct lane *lanes; /* one per instance; NULL: none */
    uint32_t lane_base; /* number of lanes[0] among all lanes */
    uint64_t arrivals;
    uint64_t requests, succeeded, failed, refused;
    uint64_t this_second;
    struct histogram latency; /* of successes */
};

struct world {
    const struct sim_scenario *scenario;
    const struct sim_policy *policy;
    lull_time now, end;
    struct queue queue;
    uint64_t random_arrivals, random_work, random_calls, random_faults;
    struct service services[SIM_MAX_SERVICES];
    struct group *groups;
    struct call **call_pages;
    uint32_t call_pages_count, calls_used, free_call;
    struct job *jobs;
    uint32_t jobs_used, jobs_room, free_job;
    uint32_t watched;
    uint32_t seconds; /* of the series, so far */
    double *succeeded, *backlog, *open;
    bool out_of_memory;
};

/* world.c */
int world_new(struct world **result, const struct sim_scenario *scenario, uint32_t policy,
              uint64_t seed, struct lull_error *error);
void world_destroy(struct world *world);
struct call *call_at(struct world *world, uint32_t index);
uint32_t call_new(struct world *world); /* NOBODY: out of memory */
void call_free(struct world *world, uint32_t index);
uint32_t sim_job_new(struct world *world);
void job_free(struct world *world, uint32_t index);
void call_list_push(struct world *world, struct list *list, uint32_t index);
void call_list_push_front(struct world *world, struct list *list, uint32_t index);
uint32_t call_list_pop(struct world *world, struct list *list);

static inline void schedule(struct world *world, lull_time at, enum event_kind kind,
                            uint32_t subject, uint32_t serial, uint32_t extra) {
    queue_push(&world->queue, (struct event){.at = at > world->now ? at : world->now,
                                             .kind = kind,
                                             .subject = subject,
                                             .serial = serial,
                                             .extra = extra});
}

/* client.c */
void client_woken(struct lull_waiter *waiter);
void client_start(struct world *world, uint32_t index); /* of a group */
void client_arrival(struct world *world, uint32_t index);
void client_user(struct world *world, uint32_t index, uint32_t user);
void client_hop(struct world *world, struct service *from, uint32_t job);
void client_resume(struct world *world, uint32_t index); /* of a call, as are these */
void client_settle(struct world *world, uint32_t index);
void client_try(struct world *world, uint32_t index);
void client_send(struct world *world, uint32_t index, lull_duration timeout);
void client_answer(struct world *world, uint32_t index, struct lull_outcome outcome);
void client_end(struct world *world, uint32_t index, bool succeeded, bool refused);

/* service.c */
void service_start(struct world *world, uint32_t index); /* of a service */
void service_arrive(struct world *world, uint32_t index, uint32_t call, bool patient);
void service_finish(struct world *world, uint32_t job);
void service_answer(struct world *world, uint32_t index, enum lull_class class_); /* of a job */
void service_fault(struct world *world, uint32_t index);

/* lane.c */
void lane_add(struct world *world, uint32_t index, bool fresh);
void sim_lane_run(struct world *world, uint32_t number);
void lane_ended(struct world *world, uint32_t index, bool succeeded);

/* measure.c */
void measure_second(struct world *world);
int measure_result(struct world *world, struct sim_result *result);

#endif
