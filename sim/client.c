/* Those who call: requests, attempts and what comes between them. Every decision is liblull's; here it is only carried out. */
#include "world.h"

#include "draw.h"

/* A refused job that may wait asks again no sooner than this; a full bulkhead names no better time. */
#define SHORTEST_WAIT (10 * LULL_MILLISECOND)

/* ---- arrivals ---- */

static void schedule_arrival(struct world *world, uint32_t index) {
    struct group *group = &world->groups[index];
    double gap = (double)LULL_SECOND / group->rate;
    lull_time at;
    if (group->config->steady)
        at = (lull_time)(gap * (double)++group->arrivals);
    else
        at = world->now + (lull_duration)(gap * draw_exponential(&world->random_arrivals));
    schedule(world, at, EVENT_ARRIVAL, index, 0, 0);
}

void client_start(struct world *world, uint32_t index) {
    struct group *group = &world->groups[index];
    if (group->rate > 0)
        schedule_arrival(world, index);
    for (uint32_t user = 0; user < group->users; user++) {
        double offset = draw_uniform(&world->random_arrivals) * (double)group->config->think;
        schedule(world, (lull_time)offset, EVENT_USER, user, index, 0);
    }
}

/* ---- a request begins ---- */

static uint32_t begin(struct world *world, struct lull_guard *guard, lull_duration deadline,
                      uint32_t service, bool hop) {
    uint32_t index = call_new(world);
    if (index == NOBODY)
        return NOBODY;
    struct call *call = call_at(world, index);
    struct lull_call_options options = {
        .deadline = deadline,
        .idempotent = true,
        .not_the_edge = hop && world->policy->edge_only,
    };
    call->guard = guard;
    call->service = service;
    call->began = world->now;
    lull_call_begin(guard, &call->ticket, &options, lull_random_next(&world->random_calls),
                    world->now);
    return index;
}

static void request(struct world *world, uint32_t index, uint32_t instance, uint32_t user) {
    struct group *group = &world->groups[index];
    uint32_t number =
        begin(world, &group->guards[instance], group->config->deadline, group->service, false);
    if (number == NOBODY)
        return;
    struct call *call = call_at(world, number);
    call->group = index;
    call->instance = instance;
    call->user = user;
    group->requests++;
    if (group->lanes != NULL)
        lane_add(world, number, true);
    else
        client_resume(world, number);
}

void client_arrival(struct world *world, uint32_t index) {
    struct group *group = &world->groups[index];
    uint32_t instance =
        (uint32_t)lull_uniform(lull_random_next(&world->random_arrivals), 0, group->instances - 1);
    schedule_arrival(world, index);
    request(world, index, instance, NOBODY);
}

void client_user(struct world *world, uint32_t index, uint32_t user) {
    request(world, index, user % world->groups[index].instances, user);
}

/* A service calls the next one on behalf of a job. */
void client_hop(struct world *world, struct service *from, uint32_t job) {
    uint32_t number = begin(world, from->hop, 0, from->next_service, true);
    if (number == NOBODY)
        return;
    struct call *call = call_at(world, number);
    call->parent = job;
    client_try(world, number);
}

/* ---- threads ---- */

static struct pool *pool_of(struct world *world, const struct call *call) {
    if (call->group == NOBODY || world->groups[call->group].pools == NULL)
        return NULL;
    return &world->groups[call->group].pools[call->instance];
}

static void give_thread_back(struct world *world, struct call *call) {
    if (!call->holds_thread)
        return;
    call->holds_thread = false;
    struct pool *pool = pool_of(world, call);
    pool->free++;
    if (pool->waiting.count > 0) {
        uint32_t next = call_list_pop(world, &pool->waiting);
        struct call *waiting = call_at(world, next);
        pool->free--;
        waiting->holds_thread = true;
        waiting->state = CALL_PAUSED;
        schedule(world, world->now, EVENT_RESUME, next, waiting->serial, 0);
    }
}

/* ---- attempts ---- */

/* The call goes on: with a thread, if it needs one. */
void client_resume(struct world *world, uint32_t index) {
    struct call *call = call_at(world, index);
    struct pool *pool = pool_of(world, call);
    if (call->group != NOBODY && world->groups[call->group].lanes != NULL) {
        lane_add(world, index, false);
        return;
    }
    if (pool != NULL && !call->holds_thread) {
        if (pool->free == 0) {
            call->state = CALL_NO_THREAD;
            call_list_push(world, &pool->waiting, index);
            return;
        }
        pool->free--;
        call->holds_thread = true;
    }
    client_try(world, index);
}

static bool durable(const struct world *world, const struct call *call) {
    return call->group != NOBODY && world->groups[call->group].config->durable;
}

static void pause_until(struct world *world, uint32_t index, lull_time at) {
    struct call *call = call_at(world, index);
    call->state = CALL_PAUSED;
    if (durable(world, call))
        give_thread_back(world, call);
    schedule(world, at, EVENT_RESUME, index, call->serial, 0);
}

/* A place at the bulkhead was handed over. */
void client_woken(struct lull_waiter *waiter) {
    struct call *call = waiter->context;
    schedule(call->world, call->world->now, EVENT_SETTLE, call->index, call->serial, 0);
}

void client_send(struct world *world, uint32_t index, lull_duration timeout) {
    struct call *call = call_at(world, index);
    call->state = CALL_TRYING;
    call->serial++;
    if (timeout != LULL_NEVER)
        schedule(world, world->now + timeout, EVENT_TIMEOUT, index, call->serial, 0);
    service_arrive(world, call->service, index, timeout == LULL_NEVER);
}

static void decide(struct world *world, uint32_t index, struct lull_verdict verdict) {
    struct call *call = call_at(world, index);
    switch (verdict.decision) {
    case LULL_GO:
        client_send(world, index, verdict.timeout);
        break;
    case LULL_WAIT:
        call->state = CALL_QUEUED;
        if (call->ticket.deadline != LULL_NEVER)
            schedule(world, call->ticket.deadline, EVENT_SETTLE, index, call->serial, 0);
        break;
    case LULL_NO:
        if (durable(world, call) && verdict.at < call->ticket.deadline) {
            lull_time soonest = world->now + SHORTEST_WAIT;
            pause_until(world, index, verdict.at > soonest ? verdict.at : soonest);
            break;
        }
        client_end(world, index, false, true);
        break;
    default:
        client_end(world, index, false, false);
        break;
    }
}

void client_try(struct world *world, uint32_t index) {
    struct call *call = call_at(world, index);
    decide(world, index, lull_admit_or_wait(call->guard, &call->ticket, &call->waiter, world->now));
}

void client_settle(struct world *world, uint32_t index) {
    struct call *call = call_at(world, index);
    if (call->state == CALL_QUEUED)
        decide(world, index, lull_settle(call->guard, &call->ticket, &call->waiter, world->now));
}

/* The attempt under way has ended so. */
void client_answer(struct world *world, uint32_t index, struct lull_outcome outcome) {
    struct call *call = call_at(world, index);
    call->serial++; /* whatever else comes for this attempt is too late */
    struct lull_verdict verdict = lull_complete(call->guard, &call->ticket, outcome, world->now);
    bool in_lane = call->group != NOBODY && world->groups[call->group].lanes != NULL;
    if (in_lane)
        lane_ended(world, index, outcome.class_ == LULL_SUCCESS);
    if (verdict.decision == LULL_RETRY)
        pause_until(world, index, verdict.at);
    else
        client_end(world, index, verdict.decision == LULL_DONE, false);
}

/* ---- a request ends ---- */

void client_end(struct world *world, uint32_t index, bool succeeded, bool refused) {
    struct call *call = call_at(world, index);
    uint32_t parent = call->parent;
    give_thread_back(world, call);
    if (call->group != NOBODY) {
        struct group *group = &world->groups[call->group];
        if (succeeded) {
            group->succeeded++;
            group->this_second++;
            histogram_add(&group->latency, world->now - call->began);
        } else {
            group->failed++;
            group->refused += refused;
        }
        if (call->user != NOBODY)
            schedule(world, world->now + group->config->think, EVENT_USER, call->user, call->group,
                     0);
    }
    call_free(world, index);
    if (parent != NOBODY)
        service_answer(world, parent, succeeded ? LULL_SUCCESS : LULL_TRANSIENT);
}
