/* A scenario: who calls whom, what goes wrong, and which policies are to be compared. Plain data, filled by scenario_file.c from YAML (the
 * built-in ones are YAML, too: sim/scenarios/) or by a test.
 *
 *   clients ──▶ service ──▶ service ──▶ …        a service may call the next one: a chain of hops
 *
 * A run is one scenario under one policy and one seed. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <lull.h>

#define SIM_NAME_SIZE 48
#define SIM_TEXT_SIZE 400
#define SIM_MAX_SERVICES 8
#define SIM_MAX_CLIENTS 8
#define SIM_MAX_FAULTS 8
#define SIM_MAX_POLICIES 12

enum sim_latency_kind { SIM_LATENCY_FIXED, SIM_LATENCY_EXPONENTIAL, SIM_LATENCY_LOGNORMAL };

struct sim_latency {
    enum sim_latency_kind kind;
    lull_duration mean; /* > 0 */
    double sigma;       /* lognormal: of the logarithm; 0: 0.5 */
};

enum sim_fault_kind {
    SIM_FAULT_REFUSE,   /* connections are refused */
    SIM_FAULT_HANG,     /* `share` of the calls are taken and never answered */
    SIM_FAULT_ERROR,    /* `share` of the calls fail at once */
    SIM_FAULT_SLOW,     /* work takes `factor` times as long */
    SIM_FAULT_CAPACITY, /* only `factor` of the workers are there */
};

struct sim_fault {
    enum sim_fault_kind kind;
    lull_time at;         /* from the start of the run */
    lull_duration length; /* "for" in YAML */
    double share;         /* hang, error; 0: all */
    double factor;        /* slow: > 1; capacity: 0 … 1 */
};

struct sim_service {
    char name[SIM_NAME_SIZE];
    double capacity;            /* requests a second; 0: as many workers as below */
    uint32_t workers;           /* at once; 0 with capacity 0: no limit */
    struct sim_latency latency; /* of one piece of work, waiting not included */
    uint32_t queue;             /* how many may wait for a worker; 0: none */
    double
        admission; /* token bucket in front, requests a second, answers 429 with Retry-After; used by policies
                              that say `admission`; 0: the capacity */
    char calls[SIM_NAME_SIZE]; /* the next service, called by each piece of work; "": none */
    uint32_t fault_count;
    struct sim_fault faults[SIM_MAX_FAULTS];
};

struct sim_client {
    char name[SIM_NAME_SIZE];
    char calls[SIM_NAME_SIZE]; /* a service */
    uint32_t instances;        /* processes, each with a guard of its own; 0: 1 */
    double rate;               /* open loop: requests a second, over all instances */
    uint32_t users;      /* closed loop: each waits for its answer, then `think`, then asks again */
    lull_duration think; /* 0: 1 s */
    bool steady;         /* arrivals evenly spaced; false: Poisson */
    bool
        durable; /* a job that may wait (webhook), not a request that somebody waits for: refusals are waited
                                  out, and a worker is held only during attempts */
    lull_duration deadline; /* of a request; 0: the policy's */
    char pool
        [SIM_NAME_SIZE]; /* threads shared by all clients of the same pool, per instance; "": as many as needed */
    uint32_t threads; /* of that pool */
};

struct sim_policy {
    char name[SIM_NAME_SIZE];
    char note[SIM_TEXT_SIZE];       /* a sentence for people */
    struct lull_guard_config guard; /* what each client instance, and each hop, runs under */
    bool admission;                 /* services protect themselves with a token bucket */
    bool edge_only;                 /* hops pass errors up instead of retrying */
    bool bulkheads;                 /* no shared thread pools: the guard's bulkhead instead */
    bool lanes; /* durable clients: a lane per destination, with ramp; no shared workers */
};

struct sim_scenario {
    char name[SIM_NAME_SIZE];
    char title[SIM_TEXT_SIZE];
    char text[SIM_TEXT_SIZE]; /* what it shows */
    lull_duration duration;   /* of a run */
    uint64_t seed;
    double
        scale; /* set by --scale, not by the file: rates, capacities, instances, users and queues × this; 0: 1 */
    char watch[SIM_NAME_SIZE]; /* the service whose load the figures are about; "": the first */
    uint32_t service_count;
    struct sim_service services[SIM_MAX_SERVICES];
    uint32_t client_count;
    struct sim_client
        clients[SIM_MAX_CLIENTS]; /* the first are the users whom the figures are about */
    uint32_t policy_count;
    struct sim_policy policies[SIM_MAX_POLICIES];
};

#endif
