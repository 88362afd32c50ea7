/* What a run showed. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "scenario.h"

/* Of one client group. */
struct sim_group {
    char name[SIM_NAME_SIZE];
    uint64_t requests; /* begun */
    uint64_t succeeded;
    uint64_t failed;       /* seen by the user: errors, refusals, time-outs */
    uint64_t refused;      /* of the failed: by a policy, without the last attempt being made */
    double p50_ms, p99_ms; /* from request to success; 0 if there was none */
};

struct sim_service_result {
    char name[SIM_NAME_SIZE];
    uint64_t attempts;    /* calls that arrived there */
    uint64_t wasted;      /* work done for callers who had given up */
    uint64_t turned_away; /* queue full or 429 */
    double peak_load;     /* busiest second after the warm-up ÷ a normal second */
    double calm_peak;     /* the same, after the last fault has ended */
};

struct sim_result {
    char policy[SIM_NAME_SIZE];
    /* About the watched service and the first client group, the users: */
    double attempts_per_request; /* attempts on the service ÷ requests of the users */
    double peak_load, calm_peak;
    double goodput;  /* succeeded ÷ requests ended */
    uint64_t errors; /* user-visible */
    double
        recovery_s; /* from the end of the last fault to 95 % of normal goodput, kept for 5 s; < 0: never */
    double p50_ms, p99_ms;
    uint32_t group_count;
    struct sim_group groups[SIM_MAX_CLIENTS];
    uint32_t service_count;
    struct sim_service_result services[SIM_MAX_SERVICES];
    uint64_t attempts; /* simulated, on all services: for the benchmark */
    /* Series, one value a second of the run, `length` long: */
    uint32_t length;
    double *offered;   /* attempts on the watched service */
    double *succeeded; /* requests of the users that succeeded */
    double *backlog;   /* their requests begun and not ended, at the end of the second */
    double *open;      /* share of their circuits not closed, at the end of the second: 0 … 1 */
};

/* Frees the series. */
void sim_result_clean_up(struct sim_result *result);

#endif
