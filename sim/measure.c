/* Counting while the world runs, and what it comes to. */
#include "world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 5       /* seconds that do not count, if nothing goes wrong before them */
#define RECOVERED 0.95  /* of normal goodput */
#define RECOVERED_FOR 5 /* seconds */
#define RELAPSED 0.5    /* of normal goodput, over ten seconds: it was no recovery */
#define RELAPSED_FOR 10

/* ---- while it runs ---- */

static double share_open(const struct group *users) {
    uint32_t open = 0;
    for (uint32_t i = 0; i < users->instances; i++)
        open += lull_breaker_current(&users->guards[i].breaker) != LULL_BREAKER_CLOSED;
    return (double)open / (double)users->instances;
}

void measure_second(struct world *world) {
    uint32_t second = world->seconds++;
    struct group *users = &world->groups[0];
    world->succeeded[second] = (double)users->this_second;
    world->backlog[second] = (double)(users->requests - users->succeeded - users->failed);
    world->open[second] = share_open(users);
    for (uint32_t i = 0; i < world->scenario->client_count; i++)
        world->groups[i].this_second = 0;
    for (uint32_t i = 0; i < world->scenario->service_count; i++) {
        world->services[i].offered[second] = (double)world->services[i].this_second;
        world->services[i].this_second = 0;
    }
}

/* ---- what it comes to ---- */

struct phases {
    uint32_t warm;    /* from this second on things are as they should be … */
    uint32_t trouble; /* … until here, where the first fault begins … */
    uint32_t calm; /* … and here the last one has ended; the length of the run, if there is none */
    double fault_end_s; /* the same, exactly */
};

static struct phases phases_of(const struct world *world) {
    lull_time first = world->end, last = 0;
    bool any = false;
    for (uint32_t s = 0; s < world->scenario->service_count; s++)
        for (uint32_t i = 0; i < world->scenario->services[s].fault_count; i++) {
            const struct sim_fault *fault = &world->scenario->services[s].faults[i];
            any = true;
            first = fault->at < first ? fault->at : first;
            last = fault->at + fault->length > last ? fault->at + fault->length : last;
        }
    if (!any || last > world->end)
        last = world->end;
    struct phases phases = {
        .trouble = (uint32_t)(first / LULL_SECOND),
        .calm = (uint32_t)((last + LULL_SECOND - 1) / LULL_SECOND),
        .fault_end_s = (double)last / (double)LULL_SECOND,
    };
    phases.warm = phases.trouble > 2 * WARM_UP ? WARM_UP : phases.trouble / 2;
    return phases;
}

static double mean(const double *series, uint32_t from, uint32_t to) {
    double sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += series[i];
    return to > from ? sum / (to - from) : 0;
}

static double highest(const double *series, uint32_t from, uint32_t to) {
    double most = 0;
    for (uint32_t i = from; i < to; i++)
        most = series[i] > most ? series[i] : most;
    return most;
}

/* Seconds from the end of the trouble until goodput is normal again; negative: it never is. */
static double recovery(const struct world *world, struct phases phases) {
    const double *good = world->succeeded;
    double normal = mean(good, phases.warm, phases.trouble);
    uint32_t recovered = UINT32_MAX;
    for (uint32_t t = phases.calm; t + RELAPSED_FOR <= world->seconds; t++) {
        if (mean(good, t, t + RELAPSED_FOR) < RELAPSED * normal)
            recovered = UINT32_MAX;
        else if (recovered == UINT32_MAX && mean(good, t, t + RECOVERED_FOR) >= RECOVERED * normal)
            recovered = t;
    }
    return recovered == UINT32_MAX || normal == 0 ? -1 : recovered - phases.fault_end_s;
}

static double milliseconds(const struct histogram *histogram, double part) {
    return (double)histogram_quantile(histogram, part) / (double)LULL_MILLISECOND;
}

static void add_group(const struct group *group, struct sim_group *result) {
    memcpy(result->name, group->config->name, sizeof result->name);
    result->requests = group->requests;
    result->succeeded = group->succeeded;
    result->failed = group->failed;
    result->refused = group->refused;
    result->p50_ms = milliseconds(&group->latency, 0.5);
    result->p99_ms = milliseconds(&group->latency, 0.99);
}

static void add_service(const struct world *world, const struct service *service,
                        struct phases phases, struct sim_service_result *result) {
    memcpy(result->name, service->config->name, sizeof result->name);
    result->attempts = service->attempts;
    result->wasted = service->wasted;
    result->turned_away = service->turned_away;
    double normal = mean(service->offered, phases.warm, phases.trouble);
    if (normal > 0) {
        result->peak_load = highest(service->offered, phases.warm, world->seconds) / normal;
        result->calm_peak = highest(service->offered, phases.calm, world->seconds) / normal;
    }
}

/* The series pass from the world to the result. */
static void hand_over(struct world *world, struct sim_result *result) {
    result->length = world->seconds;
    result->offered = world->services[world->watched].offered;
    result->succeeded = world->succeeded;
    result->backlog = world->backlog;
    result->open = world->open;
    world->services[world->watched].offered = NULL;
    world->succeeded = world->backlog = world->open = NULL;
}

int measure_result(struct world *world, struct sim_result *result) {
    struct phases phases = phases_of(world);
    *result = (struct sim_result){.group_count = world->scenario->client_count,
                                  .service_count = world->scenario->service_count};
    memcpy(result->policy, world->policy->name, sizeof result->policy);
    for (uint32_t i = 0; i < result->group_count; i++)
        add_group(&world->groups[i], &result->groups[i]);
    for (uint32_t i = 0; i < result->service_count; i++) {
        add_service(world, &world->services[i], phases, &result->services[i]);
        result->attempts += result->services[i].attempts;
    }
    const struct sim_group *users = &result->groups[0];
    const struct sim_service_result *watched = &result->services[world->watched];
    uint64_t ended = users->succeeded + users->failed;
    result->attempts_per_request =
        users->requests > 0 ? (double)watched->attempts / (double)users->requests : 0;
    result->peak_load = watched->peak_load;
    result->calm_peak = watched->calm_peak;
    result->goodput = ended > 0 ? (double)users->succeeded / (double)ended : 0;
    result->errors = users->failed;
    result->p50_ms = users->p50_ms;
    result->p99_ms = users->p99_ms;
    result->recovery_s = recovery(world, phases);
    hand_over(world, result);
    return LULL_OK;
}

void sim_result_clean_up(struct sim_result *result) {
    free(result->offered);
    free(result->succeeded);
    free(result->backlog);
    free(result->open);
    result->offered = result->succeeded = result->backlog = result->open = NULL;
}
