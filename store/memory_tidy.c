#include "memory_private.h"

static bool room(const struct store_tidy *tidy) {
    return tidy->removed < tidy->limit;
}

static void tidy_keys(struct store_memory *self, struct store_tidy *tidy) {
    for (; room(tidy) && self->first_key != NULL &&
           self->first_key->at <= self->now - IDEMPOTENCY_KEPT;
         tidy->removed++)
        memory_delete_key(self, self->first_key);
}

static void tidy_live(struct store_memory *self, struct store_tidy *tidy,
                      struct memory_destination *destination) {
    const struct ordered *delivered = &destination->streams[DELIVERY_DELIVERED];
    for (; room(tidy) && delivered->first[0] != NULL &&
           delivered->first[0]->pair.major < tidy->delivered_before;
         tidy->removed++)
        memory_delete(self, delivered->first[0]->value);
}

static void tidy_removed(struct store_memory *self, struct store_tidy *tidy,
                         struct memory_destination *destination) {
    for (int state = 0; state < DELIVERY_STATE_COUNT; state++)
        for (; room(tidy) && destination->streams[state].first[0] != NULL; tidy->removed++)
            memory_delete(self, destination->streams[state].first[0]->value);
    if (room(tidy)) {
        memory_delete_destination(self, destination);
        tidy->removed++;
    }
}

static void tidy_destinations(struct store_memory *self, struct store_tidy *tidy) {
    struct ordered_node *node = self->destinations.first[0];
    while (node != NULL && room(tidy)) {
        struct memory_destination *destination = node->value;
        node = node->next[0];
        (destination->removed ? tidy_removed : tidy_live)(self, tidy, destination);
    }
}

static void tidy_lonely_events(struct store_memory *self, struct store_tidy *tidy) {
    struct ordered_node *node = self->events.first[0];
    while (node != NULL && room(tidy)) {
        struct memory_event *event = node->value;
        node = node->next[0];
        if (event->message->accepted >= tidy->delivered_before)
            break;
        if (event->left == 0) {
            memory_delete_event(self, event);
            tidy->removed++;
        }
    }
}

static void tidy_replays(struct store_memory *self, struct store_tidy *tidy) {
    struct ordered_node *node = self->replays.first[0];
    while (node != NULL && room(tidy)) {
        struct memory_replay *replay = node->value;
        node = node->next[0];
        if (replay->row.state != REPLAY_RUNNING && replay->row.ended < tidy->delivered_before) {
            memory_delete_replay(self, replay);
            tidy->removed++;
        }
    }
}

int memory_tidy(struct store_memory *self, struct store_tidy *tidy) {
    tidy->removed = 0;
    tidy_keys(self, tidy);
    tidy_destinations(self, tidy);
    tidy_lonely_events(self, tidy);
    tidy_replays(self, tidy);
    tidy->more = tidy->limit > 0 && !room(tidy);
    return LULL_OK;
}
