/* Destinations, and the way to them: the engine's transport. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void land(struct world *world, void *owner, int64_t id);

struct receiver *receiver_find(struct world *world, int64_t id) {
    for (uint32_t i = 0; i < world->receiver_count; i++)
        if (world->receivers[i].id == id)
            return &world->receivers[i];
    return NULL;
}

struct target *receiver_target(struct receiver *receiver) {
    struct target *target = calloc(1, sizeof *target);
    if (target == NULL)
        abort();
    atomic_store(&target->references, 1);
    memcpy(target->name, receiver->name, sizeof receiver->name);
    target->connect_timeout = LULL_SECOND;
    target->timeout = 10 * LULL_SECOND;
    target->transport_data = receiver;
    return target;
}

/* ---- how it behaves ---- */

struct answer {
    int status; /* 0: none */
    enum lull_class class_;
    lull_duration after, retry_after;
};

static struct answer http(int status, lull_duration after, int64_t retry_after) {
    char text[24];
    size_t length = (size_t)snprintf(text, sizeof text, "%lld", (long long)retry_after);
    struct lull_outcome outcome =
        lull_outcome_http(status, retry_after > 0 ? text : NULL, length, 0, NULL, 0);
    return (struct answer){status, outcome.class_, after, outcome.retry_after};
}

static struct answer throttle(struct receiver *receiver, lull_duration quick) {
    int64_t seconds = world_draw(&receiver->random, 1, 20);
    if (world_chance(&receiver->random, 0.05))
        seconds *= 300; /* more than the cap, at times */
    return http(world_chance(&receiver->random, 0.5) ? 429 : 503, quick, seconds);
}

static struct answer draw_answer(struct receiver *receiver, lull_duration timeout) {
    uint64_t *random = &receiver->random;
    lull_duration quick = world_draw(random, 2, 80) * LULL_MILLISECOND;
    double share = receiver->mood == MOOD_GONE ? 0.1 : 0.6;
    bool struck = world_chance(random, receiver->share > 0 ? receiver->share : share);
    if (receiver->latency != LULL_NONE)
        quick = receiver->latency;
    if (!struck && receiver->mood > MOOD_HANGING)
        return http(200, quick, 0);
    switch (receiver->mood) {
    case MOOD_SLOW:
        return http(200, world_draw(random, 500, 6000) * LULL_MILLISECOND, 0);
    case MOOD_REFUSING:
        return (struct answer){.class_ = LULL_TRANSIENT, .after = LULL_MILLISECOND};
    case MOOD_HANGING:
        return (struct answer){.class_ = LULL_TIMEOUT, .after = timeout};
    case MOOD_FAILING:
        return http(500, quick, 0);
    case MOOD_THROTTLING:
        return throttle(receiver, quick);
    case MOOD_REJECTING:
        return http(404, quick, 0);
    case MOOD_LOSING:
        return (struct answer){.class_ = LULL_UNKNOWN, .after = quick};
    case MOOD_GONE:
        return http(410, quick, 0);
    default:
        return http(200, quick, 0);
    }
}

/* One place of work, first come first served. */
static lull_duration queue_up(struct world *world, struct receiver *receiver) {
    lull_time begin = receiver->free_at > world->now ? receiver->free_at : world->now;
    receiver->free_at = begin + (lull_duration)((double)LULL_SECOND / receiver->capacity);
    return receiver->free_at - world->now;
}

static struct answer answer_of(struct world *world, struct receiver *receiver,
                               lull_duration timeout) {
    struct answer answer = draw_answer(receiver, timeout);
    if (receiver->capacity > 0 && receiver->mood == MOOD_UP)
        answer.after += queue_up(world, receiver);
    if (answer.after > timeout || answer.class_ == LULL_TIMEOUT)
        answer = (struct answer){.class_ = LULL_TIMEOUT,
                                 .after = timeout +
                                          world_draw(&receiver->random, 0, 3) * LULL_MILLISECOND};
    return answer;
}

/* ---- attempts ---- */

static void start(struct transport_port *port, struct attempt *attempt) {
    struct world *world = (struct world *)((char *)port - offsetof(struct world, transport));
    struct receiver *receiver = attempt->target->transport_data;
    struct delivery *delivery = model_of_attempt(world, attempt);
    struct flight *flight = calloc(1, sizeof *flight);
    if (flight == NULL)
        abort();
    if (delivery != NULL)
        model_started(world, receiver, delivery, attempt);
    struct answer answer = answer_of(world, receiver, attempt->timeout);
    *flight = (struct flight){
        .next = world->flights,
        .id = ++world->flight_number,
        .attempt = attempt,
        .receiver = receiver,
        .delivery = delivery != NULL ? delivery->id : 0,
        .began = world->now,
        .outcome = {answer.class_, answer.status, answer.retry_after},
        .outage = receiver->outages,
        .gone = answer.status == 410,
    };
    world->flights = flight;
    world->attempts++;
    receiver->arrivals++;
    attempt->transport_data = flight;
    if (receiver->arrived != NULL)
        receiver->arrived(world, receiver, flight->delivery);
    world_note(world, "%s: attempt %u of %lld begins", receiver->name, attempt->number,
               (long long)flight->delivery);
    world_alarm(world, answer.after, world->life, land, NULL, flight->id);
}

static void cancel(struct transport_port *port, struct attempt *attempt) {
    struct world *world = (struct world *)((char *)port - offsetof(struct world, transport));
    struct flight *flight = attempt->transport_data;
    if (flight->cancelled)
        return;
    flight->cancelled = true;
    world_alarm(world, 0, world->life, land, NULL, flight->id);
}

static struct flight *take_flight(struct world *world, int64_t id) {
    struct flight **link = &world->flights;
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    struct flight *flight = *link;
    if (flight != NULL)
        *link = flight->next;
    return flight;
}

static void end(struct world *world, const struct flight *flight) {
    struct attempt *attempt = flight->attempt;
    attempt->transport_data = NULL;
    attempt->outcome = flight->outcome;
    if (flight->cancelled)
        attempt->outcome = (struct lull_outcome){.class_ = LULL_CANCELLED};
    attempt->gone = flight->gone && !flight->cancelled;
    attempt->record = (struct attempt_record){
        .began = flight->began,
        .took = world->now - flight->began,
        .class_ = attempt->outcome.class_,
        .status = flight->cancelled ? 0 : flight->outcome.code,
    };
    if (attempt->outcome.class_ != LULL_SUCCESS)
        snprintf(attempt->record.error, sizeof attempt->record.error, "%s",
                 lull_class_name(attempt->outcome.class_));
    attempt->ended(attempt);
}

static void land(struct world *world, void *owner, int64_t id) {
    (void)owner;
    struct flight *flight = take_flight(world, id);
    if (flight == NULL)
        return; /* called off before */
    if (!flight->cancelled && flight->outcome.class_ != LULL_SUCCESS)
        flight->receiver->failures++;
    world_note(world, "%s: attempt of %lld ends: %s", flight->receiver->name,
               (long long)flight->delivery,
               flight->cancelled ? "cancelled" : lull_class_name(flight->outcome.class_));
    model_ends(world, flight);
    end(world, flight);
    model_ended(world, flight);
    free(flight);
}

void receivers_forget(struct world *world) {
    while (world->flights != NULL) {
        struct flight *flight = take_flight(world, world->flights->id);
        flight->cancelled = true;
        end(world, flight);
        free(flight);
    }
}

/* ---- life ---- */

static void change_mood(struct world *world, void *owner, int64_t argument) {
    (void)argument;
    struct receiver *receiver = owner;
    if (world->calm)
        return;
    bool up = world_chance(&receiver->random, 0.4);
    receiver->mood = up ? MOOD_UP : (enum mood)world_draw(&receiver->random, 0, MOOD_COUNT - 1);
    world_note(world, "%s: mood %d", receiver->name, receiver->mood);
    world_alarm(world, world_draw(&receiver->random, 1, 60) * LULL_SECOND, 0, change_mood, receiver,
                0);
}

struct receiver *receiver_add(struct world *world, const struct lull_guard_config *config) {
    struct receiver *receiver = &world->receivers[world->receiver_count];
    *receiver = (struct receiver){
        .random = world->seed * 31 + world->receiver_count,
        .latency = LULL_NONE,
        .config = model_filled(config),
    };
    snprintf(receiver->name, sizeof receiver->name, "to-%u", world->receiver_count++);
    return receiver;
}

void receivers_init(struct world *world) {
    world->transport = (struct transport_port){start, cancel};
}

void receiver_vary(struct world *world, struct receiver *receiver) {
    change_mood(world, receiver, 0);
}
