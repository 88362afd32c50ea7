#include "model.h"

#include <stdlib.h>

#define STRETCH (10 * LULL_SECOND) /* over which budgets and rates are counted */

/* ---- accounts ---- */

void tally_add(struct tally *tally, lull_time at) {
    if (tally->count == tally->room) {
        tally->room = tally->room > 0 ? 2 * tally->room : 64;
        tally->times = reallocarray(tally->times, tally->room, sizeof *tally->times);
        if (tally->times == NULL)
            abort();
    }
    tally->times[tally->count++] = at;
}

uint32_t tally_since(const struct tally *tally, lull_time since) {
    uint32_t low = 0, high = tally->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (tally->times[middle] < since)
            low = middle + 1;
        else
            high = middle;
    }
    return tally->count - low;
}

void model_clean_up(struct model *model) {
    free(model->deliveries);
    *model = (struct model){0};
}

/* The first delivery with this id or a greater one. */
static uint32_t first_from(const struct model *model, int64_t id) {
    uint32_t low = 0, high = model->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (model->deliveries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct delivery *model_find(struct model *model, int64_t id) {
    uint32_t i = first_from(model, id);
    return i < model->count && model->deliveries[i].id == id ? &model->deliveries[i] : NULL;
}

struct delivery *model_of_attempt(struct world *world, const struct attempt *attempt) {
    struct model *model = &world->model;
    int64_t event = attempt->message->id;
    for (uint32_t i = first_from(model, event);
         i < model->count && model->deliveries[i].event == event; i++)
        if (model->deliveries[i].receiver == attempt->target->transport_data)
            return &model->deliveries[i];
    world_fail(world, "an attempt of event %lld, which was not accepted for %s", (long long)event,
               attempt->target->name);
    return NULL;
}

void model_new_life(struct world *world) {
    struct model *model = &world->model;
    for (uint32_t i = 0; i < model->count; i++) {
        model->deliveries[i].progress = PROGRESS_NONE;
        model->deliveries[i].put_back = false;
        model->deliveries[i].number = 0;
    }
    for (uint32_t i = 0; i < world->receiver_count; i++) {
        struct receiver *receiver = &world->receivers[i];
        receiver->removed = receiver->kept_removed;
        receiver->paused_until = receiver->pause_patience = receiver->last_start = 0;
        receiver->flying = receiver->generation = receiver->probes = receiver->idle = 0;
        receiver->started[0] = receiver->started[1] = (struct place){INT64_MIN, INT64_MIN};
        receiver->starts.count = receiver->retries.count = receiver->successes.count = 0;
        receiver->budget_ratio = receiver->budget_floor = 0;
        receiver->bucket_changed = receiver->careful = false;
        receiver->alone = 0;
    }
}

/* ---- settings ---- */

#define FILL(field, value) ((field) = (field) != 0 ? (field) : (value))

struct lull_guard_config model_filled(const struct lull_guard_config *config) {
    struct lull_guard_config filled = *config;
    FILL(filled.retry.attempts, LULL_RETRY_ATTEMPTS);
    FILL(filled.retry.deadline, LULL_RETRY_DEADLINE);
    FILL(filled.retry.retry_after_cap, LULL_RETRY_AFTER_CAP);
    FILL(filled.retry.retry_after_jitter, LULL_RETRY_AFTER_JITTER);
    FILL(filled.retry.backoff.base, LULL_BACKOFF_BASE);
    FILL(filled.retry.backoff.cap, LULL_BACKOFF_CAP);
    FILL(filled.breaker.probes, LULL_BREAKER_PROBES);
    FILL(filled.budget.ratio, LULL_BUDGET_RATIO);
    FILL(filled.budget.window, LULL_BUDGET_WINDOW);
    FILL(filled.budget.floor, LULL_BUDGET_FLOOR);
    FILL(filled.bucket.capacity, LULL_BUCKET_CAPACITY);
    FILL(filled.bucket.rate, LULL_BUCKET_RATE);
    FILL(filled.bucket.per, LULL_BUCKET_PER);
    FILL(filled.bulkhead.limit, LULL_BULKHEAD_LIMIT);
    return filled;
}

static double greater(double a, double b) {
    return a > b ? a : b;
}

/* A balance earned under one set of terms may be spent under the next, so the most generous of them count. */
void model_takes_config(struct receiver *receiver, const struct lull_guard_config *config) {
    bool paid = !(config->without & LULL_WITHOUT_BUDGET);
    double floor = config->budget.floor == LULL_NONE ? 0 : (double)config->budget.floor;
    double ratio = config->budget.ratio == LULL_NONE ? 0 : config->budget.ratio;
    receiver->bucket_changed = receiver->starts.count > 0;
    receiver->config = *config;
    receiver->careful = false; /* the ramp has a new top */
    receiver->probes = 0;      /* the circuit decides by the new number */
    receiver->budget_floor = greater(receiver->budget_floor, paid ? floor : 1e9);
    receiver->budget_ratio = greater(receiver->budget_ratio, ratio);
}

void model_outage(struct receiver *receiver) {
    receiver->outages++;
    receiver->careful = true;
    receiver->alone = 0;
}

/* ---- an attempt starts ---- */

static bool express(const struct receiver *receiver, int64_t id) {
    const struct job *job = receiver->lane->newest_express;
    while (job != NULL && job->place.id != id)
        job = job->older;
    return job != NULL;
}

static void check_delivery(struct world *world, const struct delivery *delivery,
                           const struct attempt *attempt) {
    const struct receiver *receiver = delivery->receiver;
    long long id = (long long)delivery->id;
    bool gone = delivery->state == MODEL_GONE && receiver->kept_removed;
    if (delivery->state > DELIVERY_RETRY && !gone)
        world_fail(world, "delivery %lld is attempted after its end (state %d)", id,
                   delivery->state);
    if (delivery->progress != PROGRESS_NONE)
        world_fail(world, "delivery %lld is attempted twice at once", id);
    if (attempt->number != delivery->attempts + 1)
        world_fail(world, "delivery %lld: attempt %u after %u", id, attempt->number,
                   delivery->attempts);
    if (attempt->number > delivery->allowed)
        world_fail(world, "delivery %lld: attempt %u of %u", id, attempt->number,
                   delivery->allowed);
    if (delivery->state == DELIVERY_RETRY && world->now < delivery->at)
        world_fail(world, "delivery %lld is attempted %lld ns before it is due", id,
                   (long long)(delivery->at - world->now));
    if (delivery->replay == 0 && receiver->deadline_most != LULL_NEVER &&
        world->now >= delivery->accepted + receiver->deadline_most)
        world_fail(world, "delivery %lld is attempted past its deadline", id);
    if (attempt->timeout <= 0 || attempt->timeout > attempt->target->timeout)
        world_fail(world, "delivery %lld has a time-out of %lld ns", id,
                   (long long)attempt->timeout);
}

static void check_order(struct world *world, struct receiver *receiver,
                        const struct delivery *delivery) {
    struct place place = {delivery->at, delivery->id};
    if (delivery->state > DELIVERY_RETRY || delivery->put_back || express(receiver, delivery->id))
        return;
    if (!place_before(receiver->started[delivery->state], place))
        world_fail(world, "delivery %lld starts out of order", (long long)delivery->id);
    receiver->started[delivery->state] = place;
}

static void check_circuit(struct world *world, struct receiver *receiver) {
    if (receiver->config.without & LULL_WITHOUT_BREAKER)
        return;
    struct lull_breaker *breaker = &receiver->lane->guard.breaker;
    enum lull_breaker_state state = lull_breaker_current(breaker);
    if (state == LULL_BREAKER_OPEN)
        world_fail(world, "%s: an attempt starts while the circuit is open", receiver->name);
    if (state != LULL_BREAKER_HALF_OPEN)
        return;
    uint32_t generation = lull_breaker_snapshot(breaker, world->now).generation;
    if (generation != receiver->generation)
        receiver->probes = 0;
    receiver->generation = generation;
    if (++receiver->probes > receiver->config.breaker.probes)
        world_fail(world, "%s: probe %u of %u", receiver->name, receiver->probes,
                   receiver->config.breaker.probes);
}

static void check_spending(struct world *world, struct receiver *receiver, bool retry) {
    const struct lull_guard_config *config = &receiver->config;
    lull_time since = world->now - STRETCH;
    double seconds = (double)STRETCH / (double)LULL_SECOND;
    tally_add(&receiver->starts, world->now);
    const struct lull_bucket_config *bucket = &config->bucket;
    double tokens =
        (double)bucket->capacity + (double)bucket->rate * (double)STRETCH / (double)bucket->per + 1;
    if (!(config->without & LULL_WITHOUT_BUCKET) && !receiver->bucket_changed &&
        tally_since(&receiver->starts, since) > tokens)
        world_fail(world, "%s: the rate limit is exceeded", receiver->name);
    if (!retry)
        return;
    tally_add(&receiver->retries, world->now);
    uint32_t earned = tally_since(&receiver->successes, since - config->budget.window);
    double most =
        receiver->budget_floor * (seconds + 1) + receiver->budget_ratio * (double)earned + 1;
    if (tally_since(&receiver->retries, since) > most)
        world_fail(world, "%s: %u retries in 10 s, where %.1f may be", receiver->name,
                   tally_since(&receiver->retries, since), most);
}

void model_started(struct world *world, struct receiver *receiver, struct delivery *delivery,
                   const struct attempt *attempt) {
    if (receiver->lane == NULL || receiver->removed || world->draining ||
        receiver->state != DESTINATION_ACTIVE) {
        world_fail(world, "%s: an attempt starts, though it does not run", receiver->name);
        return;
    }
    check_delivery(world, delivery, attempt);
    if (world->now < receiver->paused_until)
        world_fail(world, "%s: an attempt starts %lld ns before the end of a pause", receiver->name,
                   (long long)(receiver->paused_until - world->now));
    if (++receiver->flying > (uint32_t)receiver->config.bulkhead.limit &&
        !(receiver->config.without & LULL_WITHOUT_BULKHEAD))
        world_fail(world, "%s: %u attempts at once", receiver->name, receiver->flying);
    if (receiver->alone++ > 0 && receiver->careful)
        world_fail(world, "%s: %u attempts at once, and none has succeeded since the outage",
                   receiver->name, receiver->alone);
    check_order(world, receiver, delivery);
    check_circuit(world, receiver);
    check_spending(world, receiver, attempt->number > 1);
    receiver->fastest = receiver->flying > receiver->fastest ? receiver->flying : receiver->fastest;
    receiver->last_start = world->now;
    delivery->progress = PROGRESS_FLYING;
    delivery->number = attempt->number;
    delivery->put_back = false;
    if (delivery->first_start == 0)
        delivery->first_start = world->now;
    if (delivery->received > 0)
        world->duplicates++;
}

/* ---- an attempt ends ---- */

static void heed_answer(struct world *world, struct receiver *receiver,
                        const struct flight *flight) {
    lull_duration asked = flight->outcome.retry_after;
    if (asked > receiver->config.retry.retry_after_cap)
        asked = receiver->config.retry.retry_after_cap;
    if (asked > 0 && world->now + asked > receiver->paused_until) {
        receiver->paused_until = world->now + asked;
        receiver->pause_patience = receiver->paused_until + asked / 5 + LULL_SECOND;
        model_outage(receiver);
    }
    if (flight->gone)
        receiver->state = DESTINATION_DISABLED;
    if (flight->outcome.class_ == LULL_SUCCESS)
        tally_add(&receiver->successes, world->now);
}

void model_ends(struct world *world, const struct flight *flight) {
    struct receiver *receiver = flight->receiver;
    struct delivery *delivery = model_find(&world->model, flight->delivery);
    if (delivery == NULL)
        return;
    receiver->flying--;
    receiver->alone -= flight->outage == receiver->outages;
    delivery->progress = PROGRESS_NONE;
    delivery->put_back = flight->cancelled;
    delivery->outcome = flight->cancelled ? LULL_CANCELLED : flight->outcome.class_;
    if (flight->cancelled) {
        delivery->number = 0;
        receiver->probes -= receiver->probes > 0;
        return;
    }
    if (delivery->outcome == LULL_SUCCESS || delivery->outcome == LULL_UNKNOWN)
        delivery->received++;
    if (!receiver->removed)
        heed_answer(world, receiver, flight);
}

void model_ended(struct world *world, const struct flight *flight) {
    const struct delivery *delivery = model_find(&world->model, flight->delivery);
    if (delivery == NULL || flight->receiver->removed)
        return;
    bool settling = delivery->progress == PROGRESS_SETTLING;
    if (settling == flight->cancelled)
        world_fail(world, "delivery %lld: the outcome is %s", (long long)delivery->id,
                   settling ? "written, though it was called off" : "not written");
    if (!flight->cancelled &&
        (delivery->outcome == LULL_SUCCESS || delivery->outcome == LULL_PERMANENT))
        flight->receiver->careful = false;
    if (!flight->cancelled && flight->outcome.retry_after >= LANE_CLOCK_KEPT &&
        flight->receiver->lane->clock_kept < flight->receiver->paused_until)
        world_fail(world, "%s: a pause would not survive a crash", flight->receiver->name);
}

/* ---- requests ---- */

/* What an attempt's outcome may lead to. */
static void check_next(struct world *world, const struct delivery *delivery,
                       const struct store_settle *settle) {
    const struct receiver *receiver = delivery->receiver;
    const struct lull_retry_config *retry = &receiver->config.retry;
    bool spent = delivery->number >= retry->attempts;
    bool fine;
    switch (settle->to_state) {
    case DELIVERY_DELIVERED:
        fine = delivery->outcome == LULL_SUCCESS;
        break;
    case DELIVERY_RETRY:
        fine = delivery->outcome != LULL_SUCCESS && delivery->outcome != LULL_PERMANENT && !spent &&
               settle->at > world->now && settle->at >= receiver->paused_until;
        break;
    default:
        fine = settle->reason == LULL_REASON_PERMANENT        ? delivery->outcome == LULL_PERMANENT
               : settle->reason == LULL_REASON_ATTEMPTS_SPENT ? spent
               : settle->reason == LULL_REASON_DEADLINE_TOO_NEAR ? receiver->expires
                                                                 : false;
    }
    if (!fine || settle->attempts != delivery->number || settle->tries != delivery->tries + 1)
        world_fail(world, "delivery %lld: after attempt %u ended as %s comes state %d, reason %d",
                   (long long)delivery->id, delivery->number, lull_class_name(delivery->outcome),
                   settle->to_state, settle->reason);
}

static void submitted_settle(struct world *world, const struct store_settle *settle) {
    struct delivery *delivery = model_find(&world->model, settle->from.id);
    if (delivery == NULL || delivery->receiver->id != settle->destination) {
        world_fail(world, "the outcome of delivery %lld, which nobody knows",
                   (long long)settle->from.id);
        return;
    }
    if (delivery->progress != PROGRESS_NONE)
        world_fail(world, "delivery %lld is settled while it is under way",
                   (long long)delivery->id);
    if (delivery->state != MODEL_GONE &&
        (delivery->state != (int)settle->from_state || delivery->at != settle->from.due))
        world_fail(world, "delivery %lld is settled from where it is not", (long long)delivery->id);
    if (delivery->number > 0)
        check_next(world, delivery, settle);
    else if (settle->to_state != DELIVERY_DEAD || settle->reason != LULL_REASON_DEADLINE_PASSED ||
             !delivery->receiver->expires)
        world_fail(world, "delivery %lld ends without an attempt, reason %d",
                   (long long)delivery->id, settle->reason);
    delivery->allowed_next = delivery->receiver->config.retry.attempts;
    delivery->progress = PROGRESS_SETTLING;
    delivery->number = 0;
}

void model_submitted(struct world *world, const struct store_request *request) {
    if (request->kind == STORE_SETTLE)
        submitted_settle(world, (const struct store_settle *)request);
}
