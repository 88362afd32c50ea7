/* Those who are called: workers, a queue, faults. Work once taken is done, whether or not somebody still waits for it: that is what
 * keeps an overloaded service down after the cause is gone. */
#include "world.h"

#include "draw.h"

/* How long it takes to be told no. */
#define QUICK_ANSWER LULL_MILLISECOND

/* ---- faults ---- */

void service_start(struct world *world, uint32_t index) {
    const struct sim_service *config = world->services[index].config;
    for (uint32_t i = 0; i < config->fault_count; i++) {
        schedule(world, config->faults[i].at, EVENT_FAULT, index, 0, 0);
        schedule(world, config->faults[i].at + config->faults[i].length, EVENT_FAULT, index, 0, 0);
    }
    service_fault(world, index);
}

static void apply_fault(struct service *service, const struct sim_fault *fault) {
    double share = fault->share > 0 ? fault->share : 1;
    switch (fault->kind) {
    case SIM_FAULT_REFUSE:
        service->refuses = true;
        break;
    case SIM_FAULT_HANG:
        service->hang_share = share;
        service->fault_ends = fault->at + fault->length;
        break;
    case SIM_FAULT_ERROR:
        service->error_share = share;
        break;
    case SIM_FAULT_SLOW:
        service->slowness *= fault->factor;
        break;
    case SIM_FAULT_CAPACITY:
        if (service->workers != UINT64_MAX)
            service->workers_now = (uint64_t)((double)service->workers_now * fault->factor);
        break;
    }
}

static void take_next(struct world *world, struct service *service);

/* Faults begin or end: the state is that of all that are on now. */
void service_fault(struct world *world, uint32_t index) {
    struct service *service = &world->services[index];
    service->refuses = false;
    service->hang_share = service->error_share = 0;
    service->slowness = 1;
    service->workers_now = service->workers;
    for (uint32_t i = 0; i < service->config->fault_count; i++) {
        const struct sim_fault *fault = &service->config->faults[i];
        if (world->now >= fault->at && world->now < fault->at + fault->length)
            apply_fault(service, fault);
    }
    while (service->queue.count > 0 && service->busy < service->workers_now)
        take_next(world, service);
}

/* ---- work ---- */

static void work_on(struct world *world, struct service *service, uint32_t job) {
    double shape = draw_latency(&service->config->latency, &world->random_work);
    service->busy++;
    schedule(world, world->now + (lull_duration)(service->work_mean * service->slowness * shape),
             EVENT_FINISH, job, 0, 0);
}

static void take_next(struct world *world, struct service *service) {
    uint32_t job = service->queue.first;
    service->queue.first = world->jobs[job].next;
    service->queue.count--;
    work_on(world, service, job);
}

static void quick_answer(struct world *world, uint32_t call, enum lull_class class_,
                         lull_duration retry_after) {
    /* Retry-After is told in whole seconds, as servers do. */
    uint32_t seconds = (uint32_t)((retry_after + LULL_SECOND - 1) / LULL_SECOND);
    schedule(world, world->now + QUICK_ANSWER, EVENT_ANSWER, call, call_at(world, call)->serial,
             (uint32_t)class_ | seconds << 8);
}

static bool happens(struct world *world, double share) {
    return share >= 1 || (share > 0 && draw_uniform(&world->random_faults) <= share);
}

static void enqueue(struct world *world, struct service *service, uint32_t job) {
    world->jobs[job].next = NOBODY;
    if (service->queue.count++ == 0)
        service->queue.first = job;
    else
        world->jobs[service->queue.last].next = job;
    service->queue.last = job;
}

/* An attempt arrives. `patient`: the caller has no time-out of its own. */
void service_arrive(struct world *world, uint32_t index, uint32_t call, bool patient) {
    struct service *service = &world->services[index];
    service->attempts++;
    service->this_second++;
    if (service->refuses || happens(world, service->error_share)) {
        quick_answer(world, call, LULL_TRANSIENT, 0);
        return;
    }
    if (happens(world, service->hang_share)) {
        if (patient) /* its connection breaks when the fault is mended */
            schedule(world, service->fault_ends, EVENT_ANSWER, call, call_at(world, call)->serial,
                     LULL_TRANSIENT);
        return;
    }
    if (service->guarded) {
        struct lull_verdict verdict = lull_bucket_take(&service->bucket, 1, world->now);
        if (verdict.decision != LULL_GO) {
            service->turned_away++;
            quick_answer(world, call, LULL_THROTTLED, verdict.at - world->now);
            return;
        }
    }
    bool free = service->busy < service->workers_now;
    if (!free && service->queue.count >= service->queue_bound) {
        service->turned_away++;
        quick_answer(world, call, LULL_TRANSIENT, 0);
        return;
    }
    uint32_t job = sim_job_new(world);
    if (job == NOBODY)
        return;
    world->jobs[job] = (struct job){call, call_at(world, call)->serial, index, NOBODY};
    if (free)
        work_on(world, service, job);
    else
        enqueue(world, service, job);
}

/* A worker has done its own part of a job; the next service may have to do its. */
void service_finish(struct world *world, uint32_t job) {
    struct service *service = &world->services[world->jobs[job].service];
    if (service->next_service != NOBODY)
        client_hop(world, service, job);
    else
        service_answer(world, job, LULL_SUCCESS);
}

/* The job is done: its worker is free, and its caller is told, if there still is one. */
void service_answer(struct world *world, uint32_t index, enum lull_class class_) {
    struct job job = world->jobs[index];
    struct service *service = &world->services[job.service];
    job_free(world, index);
    service->busy--;
    if (service->queue.count > 0 && service->busy < service->workers_now)
        take_next(world, service);
    struct call *call = call_at(world, job.call);
    if (call->state == CALL_TRYING && call->serial == job.serial)
        client_answer(world, job.call, (struct lull_outcome){class_, 0, 0});
    else
        service->wasted++;
}
