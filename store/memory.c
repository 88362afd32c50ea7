#include "memory_private.h"

#include <stdlib.h>

void *memory_must(void *allocated) {
    if (allocated == NULL)
        abort();
    return allocated;
}

void memory_add(struct ordered *map, struct pair pair, void *value) {
    if (!ordered_add(map, pair, value))
        abort();
}

struct memory_destination *memory_live(struct store_memory *self, int64_t id) {
    struct memory_destination *destination = ordered_find(&self->destinations, by_id(id));
    return destination == NULL || destination->removed ? NULL : destination;
}

static uint64_t *total_of(struct memory_destination *destination, enum delivery_state state) {
    switch (state) {
    case DELIVERY_FRESH:
    case DELIVERY_RETRY:
        return &destination->row.pending[state];
    case DELIVERY_DELIVERED:
        return &destination->row.delivered;
    default:
        return &destination->row.dead;
    }
}

static struct pair place_of(const struct memory_delivery *delivery) {
    return (struct pair){delivery->record.at, delivery->record.id};
}

void memory_enter(struct store_memory *self, struct memory_delivery *delivery,
                  enum delivery_state state, lull_time at) {
    struct memory_destination *destination =
        ordered_find(&self->destinations, by_id(delivery->record.destination));
    delivery->record.state = state;
    delivery->record.at = at;
    memory_add(&destination->streams[state], place_of(delivery), delivery);
    ++*total_of(destination, state);
}

void memory_leave(struct store_memory *self, struct memory_delivery *delivery) {
    enum delivery_state state = delivery->record.state;
    struct memory_destination *destination =
        ordered_find(&self->destinations, by_id(delivery->record.destination));
    ordered_take(&destination->streams[state], place_of(delivery));
    if (state != DELIVERY_DELIVERED)
        --*total_of(destination, state);
}

void memory_delete_event(struct store_memory *self, struct memory_event *event) {
    ordered_take(&self->events, by_id(event->message->id));
    message_release(event->message);
    free(event);
}

static void free_delivery(struct memory_delivery *delivery) {
    for (uint32_t i = 0; i < delivery->record.trace_count; i++)
        free(delivery->record.trace[i].excerpt);
    free(delivery->record.trace);
    free(delivery);
}

void memory_delete(struct store_memory *self, struct memory_delivery *delivery) {
    memory_leave(self, delivery);
    ordered_take(&self->deliveries, by_id(delivery->record.id));
    if (--delivery->event->left == 0)
        memory_delete_event(self, delivery->event);
    free_delivery(delivery);
}

void memory_delete_destination(struct store_memory *self, struct memory_destination *destination) {
    ordered_take(&self->destinations, by_id(destination->row.id));
    for (int i = 0; i < DELIVERY_STATE_COUNT; i++)
        ordered_clean_up(&destination->streams[i]);
    destination_row_clean_up(&destination->row);
    free(destination);
}

void memory_delete_replay(struct store_memory *self, struct memory_replay *replay) {
    ordered_take(&self->replays, by_id(replay->row.id));
    free(replay->ids);
    free(replay);
}

static int run_look(struct store_memory *self, struct store_request *request) {
    switch (request->kind) {
    case STORE_DESTINATIONS:
        return memory_destinations(self, STORE_AS(store_destinations, request));
    case STORE_GET:
        return memory_get(self, STORE_AS(store_get, request));
    case STORE_LIST:
        return memory_list(self, STORE_AS(store_list, request));
    case STORE_DROP:
        return memory_drop(self, STORE_AS(store_drop, request));
    case STORE_REPLAY_START:
        return memory_replay_start(self, STORE_AS(store_replay_start, request));
    case STORE_REPLAY_STEP:
        return memory_replay_step(self, STORE_AS(store_replay_step, request));
    case STORE_REPLAY_END:
        return memory_replay_end(self, STORE_AS(store_replay_end, request));
    case STORE_REPLAYS:
        return memory_replays(self, STORE_AS(store_replays, request));
    case STORE_TIDY:
        return memory_tidy(self, STORE_AS(store_tidy, request));
    default:
        return LULL_EINVAL;
    }
}

static int run_one(struct store_memory *self, struct store_request *request) {
    switch (request->kind) {
    case STORE_ACCEPT:
        return memory_accept(self, STORE_AS(store_accept, request));
    case STORE_LOAD:
        return memory_load(self, STORE_AS(store_load, request));
    case STORE_SETTLE:
        return memory_settle(self, STORE_AS(store_settle, request));
    case STORE_CLOCK:
        return memory_clock(self, STORE_AS(store_clock, request));
    case STORE_PUT:
        return memory_put(self, STORE_AS(store_put, request));
    case STORE_REMOVE:
        return memory_remove(self, STORE_AS(store_remove, request));
    default:
        return run_look(self, request);
    }
}

/* Nothing that would have to be cleaned up: a run that fails has not begun. */
static int fail_all(struct store_request *list) {
    for (struct store_request *request = list; request != NULL; request = request->next)
        request->result = LULL_ESYSTEM;
    return LULL_ESYSTEM;
}

static int memory_run(struct store_adapter *adapter, struct store_request *list, lull_time now) {
    struct store_memory *self = (struct store_memory *)adapter;
    if (self->problem != NULL)
        return fail_all(list);
    self->now = now;
    for (struct store_request *request = list; request != NULL; request = request->next)
        request->result = run_one(self, request);
    return LULL_OK;
}

static const char *memory_problem(const struct store_adapter *adapter) {
    const char *problem = ((const struct store_memory *)adapter)->problem;
    return problem == NULL ? "" : problem;
}

static void memory_destroy(struct store_adapter *adapter) {
    struct store_memory *self = (struct store_memory *)adapter;
    if (self == NULL)
        return;
    while (self->deliveries.first[0] != NULL)
        memory_delete(self, self->deliveries.first[0]->value);
    while (self->events.first[0] != NULL)
        memory_delete_event(self, self->events.first[0]->value);
    while (self->destinations.first[0] != NULL)
        memory_delete_destination(self, self->destinations.first[0]->value);
    while (self->replays.first[0] != NULL)
        memory_delete_replay(self, self->replays.first[0]->value);
    while (self->first_key != NULL)
        memory_delete_key(self, self->first_key);
    free(self);
}

struct store_adapter *store_memory_new(void) {
    struct store_memory *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->adapter = (struct store_adapter){memory_run, memory_problem, memory_destroy};
    self->last_key = &self->first_key;
    return &self->adapter;
}

void store_memory_fail(struct store_adapter *adapter, const char *problem) {
    ((struct store_memory *)adapter)->problem = problem;
}
