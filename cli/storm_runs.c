#include "storm_runs.h"

#include "run.h"

#include <sched.h>
#include <stdatomic.h>

struct runs {
    const struct sim_scenario *scenario;
    uint64_t seed;
    struct storm_progress *progress;
    struct sim_result *results;
    int codes[SIM_MAX_POLICIES];
    struct lull_error errors[SIM_MAX_POLICIES];
    atomic_uint next; /* the policy that is to be run next */
};

struct teller {
    struct storm_progress *progress;
    uint32_t run;
};

static void tell(void *context, double part) {
    const struct teller *teller = context;
    storm_progress_tell(teller->progress, teller->run, part);
}

static void *work(void *context) {
    struct runs *runs = context;
    uint32_t i;
    while ((i = atomic_fetch_add(&runs->next, 1)) < runs->scenario->policy_count) {
        struct teller teller = {runs->progress, i};
        tell(&teller, 0);
        runs->codes[i] = sim_run(runs->scenario, i, runs->seed, tell, &teller, &runs->results[i],
                                 &runs->errors[i]);
        tell(&teller, 1);
    }
    return NULL;
}

static uint32_t processors(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 1 ? (uint32_t)count : 1;
}

/* This thread works, too; if no other can be had, it does everything. */
static void work_in_parallel(struct runs *runs) {
    pthread_t threads[SIM_MAX_POLICIES];
    uint32_t wanted = processors(), started = 0;
    if (wanted > runs->scenario->policy_count)
        wanted = runs->scenario->policy_count;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, runs) == 0)
        started++;
    work(runs);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

int storm_run_all(const struct sim_scenario *scenario, uint64_t seed,
                  struct storm_progress *progress, struct sim_result *results,
                  struct problem *problem) {
    struct runs runs = {
        .scenario = scenario, .seed = seed, .progress = progress, .results = results};
    work_in_parallel(&runs);
    for (uint32_t i = 0; i < scenario->policy_count; i++) {
        if (runs.codes[i] == LULL_OK)
            continue;
        if (runs.codes[i] == LULL_EINVAL)
            problem_say(problem, "%s: policy %s: %s", scenario->name, scenario->policies[i].name,
                        runs.errors[i].message);
        else
            problem_say(problem, "%s: policy %s: %s", scenario->name, scenario->policies[i].name,
                        lull_strerror(runs.codes[i]));
        for (uint32_t k = 0; k < scenario->policy_count; k++)
            if (runs.codes[k] == LULL_OK)
                sim_result_clean_up(&results[k]);
        return runs.codes[i];
    }
    return LULL_OK;
}
