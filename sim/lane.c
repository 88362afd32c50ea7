/* Durable deliveries, a lane per destination: its own queue, its own concurrency, its own clock. What the guard refuses moves the
 * lane's clock; no job is charged or rescheduled for it. After an outage the lane ramps. */
#include "world.h"

/* Lanes are numbered through all groups that have them. */
static struct lane *lane_at(struct world *world, uint32_t number) {
    struct group *group = world->groups;
    while (group->lanes == NULL || number - group->lane_base >= group->instances)
        group++;
    return &group->lanes[number - group->lane_base];
}

static uint32_t lane_number(const struct world *world, const struct call *call) {
    return world->groups[call->group].lane_base + call->instance;
}

void lane_add(struct world *world, uint32_t index, bool fresh) {
    struct call *call = call_at(world, index);
    struct lane *lane = &world->groups[call->group].lanes[call->instance];
    call->state = CALL_IN_LANE;
    call_list_push(world, fresh ? &lane->fresh : &lane->old, index);
    sim_lane_run(world, lane_number(world, call));
}

/* The guard said no: nobody of this lane asks before its time. */
static void move_clock(struct world *world, struct lane *lane, uint32_t number,
                       struct lull_verdict verdict) {
    if (verdict.policy == LULL_POLICY_BREAKER || verdict.policy == LULL_POLICY_CLOCK)
        ramp_restart(&lane->ramp);
    lull_time soonest = world->now + LULL_MILLISECOND;
    lane->clock = verdict.at > soonest ? verdict.at : soonest;
    if (lane->clock != LULL_NEVER)
        schedule(world, lane->clock, EVENT_LANE, number, 0, 0);
}

void sim_lane_run(struct world *world, uint32_t number) {
    struct lane *lane = lane_at(world, number);
    while (world->now >= lane->clock && lane->inside < lane->ramp.window &&
           lane->fresh.count + lane->old.count > 0) {
        bool fresh = lane->old.count == 0 || (lane->fresh.count > 0 && lane->fresh_next);
        struct list *list = fresh ? &lane->fresh : &lane->old;
        lane->fresh_next = !fresh;
        uint32_t index = call_list_pop(world, list);
        struct call *call = call_at(world, index);
        struct lull_verdict verdict = lull_admit(lane->guard, &call->ticket, world->now);
        if (verdict.decision == LULL_GO) {
            lane->inside++;
            client_send(world, index, verdict.timeout);
        } else if (verdict.decision == LULL_NO) {
            call_list_push_front(world, list, index);
            move_clock(world, lane, number, verdict);
        } else {
            client_end(world, index, false, false);
        }
    }
}

/* An attempt of this lane ended; there is room for another. */
void lane_ended(struct world *world, uint32_t index, bool succeeded) {
    struct call *call = call_at(world, index);
    struct lane *lane = &world->groups[call->group].lanes[call->instance];
    lane->inside--;
    if (succeeded)
        ramp_success(&lane->ramp);
    else
        ramp_failure(&lane->ramp);
    schedule(world, world->now, EVENT_LANE, lane_number(world, call), 0, 0);
}
