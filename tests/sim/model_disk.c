/* What is on disk, as the model sees it: commits, and comparing. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 256

static void add(struct world *world, const struct accept_event *event,
                const struct accept_delivery *accepted) {
    struct model *model = &world->model;
    struct receiver *receiver = receiver_find(world, accepted->destination);
    if (accepted->place.id == 0) {
        if (!receiver->kept_removed)
            world_fail(world, "%s: an event was not accepted", receiver->name);
        return;
    }
    if (model->count == model->room) {
        model->room = model->room > 0 ? 2 * model->room : 256;
        model->deliveries = reallocarray(model->deliveries, model->room, sizeof *model->deliveries);
        if (model->deliveries == NULL)
            abort();
    }
    if (model->count > 0 && model->deliveries[model->count - 1].id >= accepted->place.id)
        world_fail(world, "ids do not go up");
    model->deliveries[model->count++] = (struct delivery){
        .id = accepted->place.id,
        .event = event->id,
        .receiver = receiver,
        .accepted = event->message->accepted,
        .at = accepted->place.due,
        .allowed = receiver->attempts_most,
    };
    world->accepted++;
}

static void committed_accept(struct world *world, const struct store_accept *accept) {
    for (uint32_t i = 0; i < accept->event_count; i++) {
        const struct accept_event *event = &accept->events[i];
        for (uint32_t j = 0; j < event->count; j++)
            add(world, event, &accept->deliveries[event->first + j]);
    }
}

static void committed_settle(struct world *world, const struct store_settle *settle) {
    struct delivery *delivery = model_find(&world->model, settle->from.id);
    if (delivery == NULL || delivery->state == MODEL_GONE)
        return;
    delivery->state = settle->to_state;
    delivery->at = settle->at;
    delivery->attempts = settle->attempts;
    delivery->tries = settle->tries;
    delivery->allowed = delivery->allowed_next;
    delivery->progress = PROGRESS_NONE;
}

static void committed_put(struct world *world, const struct store_put *put) {
    for (uint32_t i = 0; i < world->receiver_count; i++) {
        struct receiver *receiver = &world->receivers[i];
        if (strcmp(receiver->name, put->row.name) != 0)
            continue;
        receiver->id = put->row.id;
        if (put->created) /* after that it is the lane's to write */
            receiver->kept_state = put->row.state;
        receiver->kept_config = atoi(put->row.settings);
        const struct lull_retry_config *retry = &world->configs[receiver->kept_config].retry;
        lull_duration deadline = retry->deadline == LULL_NONE ? LULL_NEVER : retry->deadline;
        if (retry->attempts > receiver->attempts_most)
            receiver->attempts_most = retry->attempts;
        receiver->expires |= deadline != LULL_NEVER;
        if (deadline > receiver->deadline_most)
            receiver->deadline_most = deadline;
    }
}

static void committed_clock(struct world *world, const struct store_clock *clock) {
    struct receiver *receiver = receiver_find(world, clock->destination);
    receiver->kept_state = clock->state;
    receiver->kept_until = clock->blocked_until;
}

static void committed_remove(struct world *world, const struct store_remove *remove) {
    struct receiver *receiver = receiver_find(world, remove->destination);
    receiver->kept_removed = true;
    for (uint32_t i = 0; i < world->model.count; i++)
        if (world->model.deliveries[i].receiver == receiver)
            world->model.deliveries[i].state = MODEL_GONE;
}

static void committed_drop(struct world *world, const struct store_drop *drop) {
    struct delivery *delivery = model_find(&world->model, drop->id);
    if (delivery == NULL || delivery->state != DELIVERY_DEAD)
        world_fail(world, "delivery %lld was dropped, but was not dead", (long long)drop->id);
    else
        delivery->state = MODEL_GONE;
}

/* ---- replays: which letters were moved is the store's choice; that they were dead is not ---- */

static uint32_t find_moved(struct world *world, const struct store_replay_step *step,
                           const struct store_list *list) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct delivery_record *record = &list->records[i];
        struct delivery *delivery = model_find(&world->model, record->id);
        if (delivery == NULL || delivery->state != DELIVERY_DEAD || record->replay != step->replay)
            continue;
        delivery->state = DELIVERY_FRESH;
        delivery->at = record->at;
        delivery->attempts = 0;
        delivery->replay = step->replay;
        delivery->allowed = delivery->receiver->attempts_most;
        found++;
    }
    return found;
}

static void committed_step(struct world *world, const struct store_replay_step *step) {
    struct list_cursor from = {0};
    uint32_t found = 0, seen = 0;
    if (step->moved == 0)
        return;
    do {
        struct store_list list = {
            .request = {.kind = STORE_LIST},
            .destination = step->row.destination,
            .states = 1U << DELIVERY_FRESH,
            .from = from,
            .limit = PAGE,
        };
        disk_ask(world, &list.request);
        found += find_moved(world, step, &list);
        seen += list.count;
        from = list.next;
        store_list_clean_up(&list);
    } while (from.destination != 0);
    if (found != step->moved && seen > 0) /* none: it was removed in the same commit */
        world_fail(world, "replay %lld moved %u letters, and %u came back", (long long)step->replay,
                   step->moved, found);
}

void model_committed(struct world *world, const struct store_request *request) {
    if (request->result != LULL_OK) {
        if (request->insistent && request->kind != STORE_CLOCK && request->kind != STORE_REPLAY_END)
            world_fail(world, "the store refuses an outcome: %d", request->result);
        return;
    }
    switch (request->kind) {
    case STORE_ACCEPT:
        committed_accept(world, (const struct store_accept *)request);
        break;
    case STORE_SETTLE:
        committed_settle(world, (const struct store_settle *)request);
        break;
    case STORE_CLOCK:
        committed_clock(world, (const struct store_clock *)request);
        break;
    case STORE_PUT:
        committed_put(world, (const struct store_put *)request);
        break;
    case STORE_REMOVE:
        committed_remove(world, (const struct store_remove *)request);
        break;
    case STORE_DROP:
        committed_drop(world, (const struct store_drop *)request);
        break;
    case STORE_REPLAY_STEP:
        committed_step(world, (const struct store_replay_step *)request);
        break;
    case STORE_TIDY: {
        lull_time before = ((const struct store_tidy *)request)->delivered_before;
        if (before > world->model.tidied_before)
            world->model.tidied_before = before;
        break;
    }
    default:
        break;
    }
}

/* ---- comparing ---- */

static void compare_record(struct world *world, const struct delivery_record *record) {
    struct delivery *delivery = model_find(&world->model, record->id);
    if (delivery == NULL) {
        world_fail(world, "delivery %lld is in the store, and nobody sent it",
                   (long long)record->id);
        return;
    }
    delivery->seen = world->model.looks;
    if (delivery->state != (int)record->state || delivery->at != record->at ||
        delivery->tries != record->tries || delivery->attempts != record->attempts ||
        delivery->receiver->id != record->destination)
        world_fail(world,
                   "delivery %lld: state %d at %lld after %u of %u attempts, should be %d at %lld "
                   "after %u of %u",
                   (long long)record->id, record->state, (long long)record->at, record->attempts,
                   record->tries, delivery->state, (long long)delivery->at, delivery->attempts,
                   delivery->tries);
}

static void compare_records(struct world *world) {
    struct list_cursor from = {0};
    do {
        struct store_list list = {
            .request = {.kind = STORE_LIST}, .states = 15, .from = from, .limit = PAGE};
        disk_ask(world, &list.request);
        for (uint32_t i = 0; i < list.count; i++)
            compare_record(world, &list.records[i]);
        from = list.next;
        store_list_clean_up(&list);
    } while (from.destination != 0);
}

/* One of them in full, another one each time. */
static void compare_one(struct world *world) {
    struct model *model = &world->model;
    if (model->count == 0)
        return;
    const struct delivery *delivery = &model->deliveries[model->looks * 31 % model->count];
    struct store_get get = {.request = {.kind = STORE_GET}, .id = delivery->id, .delivery = true};
    disk_ask(world, &get.request);
    bool there = get.request.result == LULL_OK && get.count == 1 && get.message != NULL &&
                 get.message->id == delivery->event && get.records[0].tries == delivery->tries &&
                 (int)get.records[0].state == delivery->state &&
                 get.records[0].trace_count <= delivery->tries;
    if (!there && delivery->state <= DELIVERY_RETRY)
        world_fail(world, "delivery %lld is not to be had", (long long)delivery->id);
    store_get_clean_up(&get);
}

static void compare_totals(struct world *world) {
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    disk_ask(world, &all.request);
    for (uint32_t i = 0; i < all.count; i++) {
        const struct destination_row *row = &all.rows[i];
        uint64_t counts[DELIVERY_STATE_COUNT + 1] = {0};
        for (uint32_t j = 0; j < world->model.count; j++)
            if (world->model.deliveries[j].receiver->id == row->id)
                counts[world->model.deliveries[j].state]++;
        if (row->pending[0] != counts[0] || row->pending[1] != counts[1] ||
            row->dead != counts[DELIVERY_DEAD])
            world_fail(world, "%s: the totals are wrong", row->name);
    }
    store_destinations_clean_up(&all);
}

void model_compare(struct world *world) {
    struct model *model = &world->model;
    model->looks++;
    compare_records(world);
    for (uint32_t i = 0; i < model->count; i++) {
        const struct delivery *delivery = &model->deliveries[i];
        bool may_be_gone =
            delivery->state == MODEL_GONE ||
            (delivery->state == DELIVERY_DELIVERED && delivery->at < model->tidied_before);
        if (delivery->seen != model->looks && !may_be_gone)
            world_fail(world, "delivery %lld is lost; its state was %d", (long long)delivery->id,
                       delivery->state);
    }
    compare_one(world);
    compare_totals(world);
}
