#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096 /* calls */

/* ---- calls and jobs ---- */

/* Calls live in pages that never move: a bulkhead's queue points at them. */
struct call *call_at(struct world *world, uint32_t index) {
    return &world->call_pages[index / PAGE][index % PAGE];
}

static bool add_page(struct world *world) {
    uint32_t count = world->call_pages_count;
    struct call **pages = realloc(world->call_pages, (count + 1) * sizeof(struct call *));
    if (pages == NULL)
        return false;
    world->call_pages = pages;
    pages[count] = aligned_alloc(64, PAGE * sizeof(struct call));
    if (pages[count] == NULL)
        return false;
    memset(pages[count], 0, PAGE * sizeof(struct call));
    world->call_pages_count++;
    return true;
}

uint32_t call_new(struct world *world) {
    uint32_t index = world->free_call;
    if (index != NOBODY) {
        world->free_call = call_at(world, index)->next;
    } else {
        index = world->calls_used;
        if (index / PAGE == world->call_pages_count && !add_page(world)) {
            world->out_of_memory = true;
            return NOBODY;
        }
        world->calls_used++;
    }
    struct call *call = call_at(world, index);
    uint32_t serial = call->serial; /* goes on, so that nothing of an earlier call matches */
    *call = (struct call){.world = world,
                          .index = index,
                          .serial = serial + 1,
                          .group = NOBODY,
                          .user = NOBODY,
                          .parent = NOBODY,
                          .state = CALL_PAUSED,
                          .waiter = {.wake = client_woken, .context = call}};
    return index;
}

void call_free(struct world *world, uint32_t index) {
    struct call *call = call_at(world, index);
    call->serial++;
    call->state = CALL_FREE;
    call->next = world->free_call;
    world->free_call = index;
}

uint32_t sim_job_new(struct world *world) {
    uint32_t index = world->free_job;
    if (index != NOBODY) {
        world->free_job = world->jobs[index].next;
        return index;
    }
    if (world->jobs_used == world->jobs_room) {
        uint32_t room = world->jobs_room > 0 ? 2 * world->jobs_room : 1024;
        struct job *jobs = realloc(world->jobs, room * sizeof *jobs);
        if (jobs == NULL) {
            world->out_of_memory = true;
            return NOBODY;
        }
        world->jobs = jobs;
        world->jobs_room = room;
    }
    return world->jobs_used++;
}

void job_free(struct world *world, uint32_t index) {
    world->jobs[index].next = world->free_job;
    world->free_job = index;
}

void call_list_push(struct world *world, struct list *list, uint32_t index) {
    call_at(world, index)->next = NOBODY;
    if (list->count++ == 0)
        list->first = index;
    else
        call_at(world, list->last)->next = index;
    list->last = index;
}

void call_list_push_front(struct world *world, struct list *list, uint32_t index) {
    call_at(world, index)->next = list->first;
    if (list->count++ == 0)
        list->last = index;
    list->first = index;
}

uint32_t call_list_pop(struct world *world, struct list *list) {
    uint32_t index = list->first;
    list->first = call_at(world, index)->next;
    list->count--;
    return index;
}

/* ---- setting up ---- */

static int complain(struct lull_error *error, const char *field, const char *name,
                    const char *what) {
    if (error != NULL) {
        error->field = field;
        snprintf(error->message, sizeof error->message, "%s \"%s\" %s", field, name, what);
    }
    return LULL_EINVAL;
}

static uint32_t service_named(const struct sim_scenario *scenario, const char *name) {
    for (uint32_t i = 0; i < scenario->service_count; i++)
        if (strcmp(scenario->services[i].name, name) == 0)
            return i;
    return NOBODY;
}

static double scale_of(const struct sim_scenario *scenario) {
    return scenario->scale > 0 ? scenario->scale : 1;
}

/* A count × the scale, but at least one of what there is. */
static uint32_t scaled(const struct sim_scenario *scenario, uint32_t count) {
    double result = (double)count * scale_of(scenario) + 0.5;
    return count == 0 ? 0 : result < 1 ? 1 : (uint32_t)result;
}

/* Workers and the mean time of a piece of work: either both are given, or the capacity fixes the product. */
static void set_capacity(const struct sim_scenario *scenario, struct service *service) {
    const struct sim_service *config = service->config;
    double mean = (double)config->latency.mean;
    double capacity = config->capacity * scale_of(scenario);
    service->work_mean = mean;
    service->workers = UINT64_MAX;
    if (capacity > 0) {
        double workers = capacity * mean / (double)LULL_SECOND + 0.5;
        service->workers = workers < 1 ? 1 : (uint64_t)workers;
        service->work_mean = (double)service->workers / capacity * (double)LULL_SECOND;
    } else if (config->workers > 0) {
        service->workers = scaled(scenario, config->workers);
    }
    service->workers_now = service->workers;
    service->queue_bound = scaled(scenario, config->queue);
}

/* Admission control: at most what the service can do, with a second's worth of burst at the most. */
static int set_admission(struct world *world, struct service *service, struct lull_error *error) {
    const struct sim_service *config = service->config;
    double rate = config->admission > 0 ? config->admission : config->capacity;
    rate *= scale_of(world->scenario);
    service->guarded = world->policy->admission && rate > 0;
    if (!service->guarded)
        return LULL_OK;
    struct lull_bucket_config bucket = {
        .capacity = rate < 10 ? 1 : (int64_t)(rate / 10),
        .rate = rate < 1 ? 1 : (int64_t)rate,
        .per = LULL_SECOND,
    };
    return lull_bucket_init(&service->bucket, &bucket, error);
}

static int new_guards(const struct world *world, uint32_t count, struct lull_guard **guards,
                      struct lull_error *error) {
    *guards = calloc(count, sizeof **guards);
    if (*guards == NULL)
        return LULL_ENOMEM;
    int result = LULL_OK;
    for (uint32_t i = 0; i < count && result == LULL_OK; i++)
        result = lull_guard_init(&(*guards)[i], &world->policy->guard, error);
    return result;
}

static int add_service(struct world *world, uint32_t index, struct lull_error *error) {
    struct service *service = &world->services[index];
    const struct sim_service *config = &world->scenario->services[index];
    service->config = config;
    service->index = index;
    service->next_service = NOBODY;
    service->slowness = 1;
    set_capacity(world->scenario, service);
    int result = set_admission(world, service, error);
    if (result == LULL_OK && config->calls[0] != '\0') {
        service->next_service = service_named(world->scenario, config->calls);
        if (service->next_service == NOBODY)
            return complain(error, "services.calls", config->calls, "is no service");
        result = new_guards(world, 1, &service->hop, error);
    }
    return result;
}

/* Threads of each instance: those of an earlier group with the same pool, or new ones. */
static int set_pool(struct world *world, struct group *group) {
    const struct sim_client *config = group->config;
    if (config->pool[0] == '\0' || world->policy->bulkheads || group->lanes != NULL)
        return LULL_OK;
    for (struct group *other = world->groups; other < group; other++)
        if (other->pools != NULL && strcmp(other->config->pool, config->pool) == 0) {
            group->pools = other->pools;
            return LULL_OK;
        }
    group->pools = calloc(group->instances, sizeof *group->pools);
    if (group->pools == NULL)
        return LULL_ENOMEM;
    for (uint32_t i = 0; i < group->instances; i++)
        group->pools[i].free = config->threads > 0 ? config->threads : 1;
    return LULL_OK;
}

static int set_lanes(struct world *world, struct group *group) {
    if (!group->config->durable || !world->policy->lanes)
        return LULL_OK;
    group->lanes = calloc(group->instances, sizeof *group->lanes);
    if (group->lanes == NULL)
        return LULL_ENOMEM;
    for (struct group *other = world->groups; other < group; other++)
        if (other->lanes != NULL)
            group->lane_base += other->instances;
    for (uint32_t i = 0; i < group->instances; i++) {
        struct lane *lane = &group->lanes[i];
        lane->guard = &group->guards[i];
        ramp_init(&lane->ramp, lull_bulkhead_snapshot(&lane->guard->bulkhead).limit);
    }
    return LULL_OK;
}

static int add_group(struct world *world, uint32_t index, struct lull_error *error) {
    struct group *group = &world->groups[index];
    const struct sim_client *config = &world->scenario->clients[index];
    group->config = config;
    group->instances = config->instances > 0 ? scaled(world->scenario, config->instances) : 1;
    group->users = scaled(world->scenario, config->users);
    group->rate = config->rate * scale_of(world->scenario);
    group->service = service_named(world->scenario, config->calls);
    if (group->service == NOBODY)
        return complain(error, "clients.calls", config->calls, "is no service");
    int result = new_guards(world, group->instances, &group->guards, error);
    if (result == LULL_OK)
        result = set_lanes(world, group);
    if (result == LULL_OK)
        result = set_pool(world, group);
    return result;
}

static int set_series(struct world *world) {
    size_t seconds = (size_t)(world->end / LULL_SECOND) + 1;
    world->succeeded = calloc(seconds, sizeof(double));
    world->backlog = calloc(seconds, sizeof(double));
    world->open = calloc(seconds, sizeof(double));
    bool fine = world->succeeded != NULL && world->backlog != NULL && world->open != NULL;
    for (uint32_t i = 0; i < world->scenario->service_count; i++) {
        world->services[i].offered = calloc(seconds, sizeof(double));
        fine = fine && world->services[i].offered != NULL;
    }
    return fine ? LULL_OK : LULL_ENOMEM;
}

static int build(struct world *world, struct lull_error *error) {
    const struct sim_scenario *scenario = world->scenario;
    int result = LULL_OK;
    if (scenario->watch[0] != '\0')
        world->watched = service_named(scenario, scenario->watch);
    if (world->watched == NOBODY)
        return complain(error, "watch", scenario->watch, "is no service");
    for (uint32_t i = 0; result == LULL_OK && i < scenario->service_count; i++)
        result = add_service(world, i, error);
    for (uint32_t i = 0; result == LULL_OK && i < scenario->client_count; i++)
        result = add_group(world, i, error);
    return result == LULL_OK ? set_series(world) : result;
}

int world_new(struct world **result, const struct sim_scenario *scenario, uint32_t policy,
              uint64_t seed, struct lull_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (world == NULL)
        return LULL_ENOMEM;
    queue_init(&world->queue);
    world->scenario = scenario;
    world->policy = &scenario->policies[policy];
    world->end = scenario->duration;
    world->free_call = world->free_job = NOBODY;
    /* Streams of their own, so that all policies meet the same arrivals. */
    world->random_arrivals = lull_random_next(&seed);
    world->random_work = lull_random_next(&seed);
    world->random_calls = lull_random_next(&seed);
    world->random_faults = lull_random_next(&seed);
    world->groups = calloc(scenario->client_count, sizeof *world->groups);
    int error_code = world->groups != NULL ? build(world, error) : LULL_ENOMEM;
    if (error_code == LULL_OK)
        *result = world;
    else
        world_destroy(world);
    return error_code;
}

/* ---- taking down ---- */

static bool borrows_pools(const struct world *world, uint32_t index) {
    for (uint32_t i = 0; i < index; i++)
        if (world->groups[i].pools == world->groups[index].pools)
            return true;
    return false;
}

void world_destroy(struct world *world) {
    if (world == NULL)
        return;
    queue_clean_up(&world->queue);
    for (uint32_t i = 0; i < world->scenario->service_count; i++) {
        free(world->services[i].hop);
        free(world->services[i].offered);
    }
    for (uint32_t i = 0; world->groups != NULL && i < world->scenario->client_count; i++) {
        free(world->groups[i].guards);
        free(world->groups[i].lanes);
        if (!borrows_pools(world, i))
            free(world->groups[i].pools);
    }
    for (uint32_t i = 0; i < world->call_pages_count; i++)
        free(world->call_pages[i]);
    free(world->call_pages);
    free(world->jobs);
    free(world->groups);
    free(world->succeeded);
    free(world->backlog);
    free(world->open);
    free(world);
}
