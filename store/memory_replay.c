#include "memory_private.h"

#include <stdlib.h>
#include <string.h>

static bool dead_at(struct store_memory *self, int64_t id, int64_t destination) {
    const struct memory_delivery *delivery = ordered_find(&self->deliveries, by_id(id));
    return delivery != NULL && delivery->record.state == DELIVERY_DEAD &&
           delivery->record.destination == destination;
}

static int compare_ids(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Each once, in order. */
static void copy_ids(struct memory_replay *replay, const int64_t *ids, uint32_t count) {
    replay->ids = memory_must(calloc((size_t)count + 1, sizeof *replay->ids));
    if (count > 0)
        memcpy(replay->ids, ids, count * sizeof *ids);
    qsort(replay->ids, count, sizeof *replay->ids, compare_ids);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || replay->ids[i] != replay->ids[i - 1])
            replay->ids[replay->id_count++] = replay->ids[i];
    replay->row.total = replay->id_count;
}

static bool is_running(struct store_memory *self, int64_t destination) {
    for (struct ordered_node *node = self->replays.first[0]; node; node = node->next[0]) {
        const struct replay_row *row = &((struct memory_replay *)node->value)->row;
        if (row->destination == destination && row->state == REPLAY_RUNNING)
            return true;
    }
    return false;
}

int memory_replay_start(struct store_memory *self, struct store_replay_start *start) {
    start->absent = 0;
    struct memory_destination *destination = memory_live(self, start->row.destination);
    if (destination == NULL)
        return STORE_ABSENT;
    if (is_running(self, start->row.destination))
        return STORE_EXISTS;
    for (uint32_t i = 0; start->ids != NULL && i < start->id_count; i++)
        if (!dead_at(self, start->ids[i], start->row.destination)) {
            start->absent = start->ids[i];
            return STORE_ABSENT;
        }
    struct memory_replay *replay = memory_must(calloc(1, sizeof *replay));
    const struct ordered_node *last =
        ordered_before(&destination->streams[DELIVERY_DEAD], PAIR_GREATEST);
    replay->until = last == NULL ? 0 : last->pair.major;
    replay->row = (struct replay_row){
        .id = ++self->last_replay,
        .destination = start->row.destination,
        .created = self->now,
        .rate = start->row.rate,
        .total = destination->row.dead,
        .after = {INT64_MIN, INT64_MIN},
    };
    if (start->ids != NULL)
        copy_ids(replay, start->ids, start->id_count);
    memory_add(&self->replays, by_id(replay->row.id), replay);
    start->row = replay->row;
    return LULL_OK;
}

/* The next letter to be moved; NULL: there is none left. */
static struct memory_delivery *next_item(struct store_memory *self, struct memory_replay *replay) {
    for (; replay->id_next < replay->id_count; replay->id_next++) {
        int64_t id = replay->ids[replay->id_next];
        struct memory_delivery *delivery = ordered_find(&self->deliveries, by_id(id));
        if (dead_at(self, id, replay->row.destination) && delivery->record.replay != replay->row.id)
            return delivery;
    }
    return NULL;
}

static struct memory_delivery *next_dead(struct store_memory *self, struct memory_replay *replay) {
    const struct memory_destination *destination = memory_live(self, replay->row.destination);
    if (destination == NULL)
        return NULL;
    struct pair after = {replay->row.after.due, replay->row.after.id};
    struct ordered_node *node = ordered_after(&destination->streams[DELIVERY_DEAD], after);
    for (; node != NULL && node->pair.major <= replay->until; node = node->next[0]) {
        struct memory_delivery *delivery = node->value;
        if (delivery->record.replay != replay->row.id)
            return delivery;
    }
    return NULL;
}

static struct memory_delivery *next_letter(struct store_memory *self,
                                           struct memory_replay *replay) {
    return replay->ids == NULL ? next_dead(self, replay) : next_item(self, replay);
}

static void move(struct store_memory *self, struct memory_replay *replay,
                 struct memory_delivery *delivery) {
    struct delivery_record *record = &delivery->record;
    replay->row.after = (struct place){record->at, record->id};
    replay->row.moved++;
    memory_leave(self, delivery);
    memory_enter(self, delivery, DELIVERY_FRESH, places_stamp(&self->places, self->now));
    record->attempts = 0;
    record->reason = LULL_REASON_NONE;
    record->replay = replay->row.id;
    delivery->previous = 0;
}

static void end_replay(struct store_memory *self, struct memory_replay *replay,
                       enum replay_state state) {
    replay->row.state = state;
    replay->row.ended = self->now;
}

int memory_replay_step(struct store_memory *self, struct store_replay_step *order) {
    order->moved = 0;
    struct memory_replay *replay = ordered_find(&self->replays, by_id(order->replay));
    if (replay == NULL)
        return STORE_ABSENT;
    if (replay->row.state == REPLAY_RUNNING) {
        replay->row.rate = order->rate;
        struct memory_delivery *delivery;
        while ((delivery = next_letter(self, replay)) != NULL && order->moved < order->count) {
            move(self, replay, delivery);
            order->moved++;
        }
        if (delivery == NULL)
            end_replay(self, replay, REPLAY_DONE);
    }
    order->row = replay->row;
    return LULL_OK;
}

int memory_replay_end(struct store_memory *self, struct store_replay_end *end) {
    struct memory_replay *replay = ordered_find(&self->replays, by_id(end->replay));
    if (replay == NULL)
        return STORE_ABSENT;
    if (replay->row.state == REPLAY_RUNNING)
        end_replay(self, replay, end->state);
    end->row = replay->row;
    return LULL_OK;
}

/* Newest first: those running, or the others. */
static void tell(const struct store_memory *self, struct store_replays *replays, bool running) {
    for (struct ordered_node *node = ordered_before(&self->replays, PAIR_GREATEST);
         node != NULL && replays->count < STORE_REPLAYS_TOLD;
         node = ordered_before(&self->replays, node->pair)) {
        const struct memory_replay *replay = node->value;
        if ((replay->row.state == REPLAY_RUNNING) == running)
            replays->rows[replays->count++] = replay->row;
    }
}

int memory_replays(struct store_memory *self, struct store_replays *replays) {
    replays->rows = NULL;
    replays->count = 0;
    const struct memory_replay *replay = ordered_find(&self->replays, by_id(replays->replay));
    if (replays->replay != 0 && replay == NULL)
        return STORE_ABSENT;
    replays->rows = memory_must(calloc(STORE_REPLAYS_TOLD, sizeof *replays->rows));
    if (replay != NULL) {
        replays->rows[replays->count++] = replay->row;
        return LULL_OK;
    }
    tell(self, replays, true);
    tell(self, replays, false);
    return LULL_OK;
}
