/* The store as the engine meets it: requests queue up, a commit takes them all, answers come later and in order. */
#include "model.h"

#include <stdlib.h>

struct batch {
    struct batch *next;
    struct store_request *list;
};

static void commit(struct world *world, void *owner, int64_t argument);

static const char *const kind_names[] = {
#define LULL_X(name) #name,
    STORE_KIND_MAP(LULL_X)
#undef LULL_X
};

static lull_duration commit_delay(struct world *world) {
    struct disk *disk = &world->disk;
    if (disk->steady)
        return LULL_MILLISECOND - world->now % LULL_MILLISECOND;
    if (!world->calm && world_chance(&disk->random, disk->slow ? 0.5 : 0.002))
        return disk->slow ? world_draw(&disk->random, 5, 300) * LULL_MILLISECOND
                          : 500 * LULL_MILLISECOND;
    return world_draw(&disk->random, LULL_MILLISECOND / 10, 5 * LULL_MILLISECOND);
}

static void schedule(struct world *world, lull_duration delay) {
    if (world->disk.scheduled)
        return;
    world->disk.scheduled = true;
    world_alarm(world, delay, 0, commit, NULL, 0);
}

static void append(struct disk *disk, struct store_request *request) {
    request->next = NULL;
    *disk->last = request;
    disk->last = &request->next;
}

static void submit(struct store_port *port, struct store_request *request) {
    struct world *world = (struct world *)((char *)port - offsetof(struct world, disk.port));
    append(&world->disk, request);
    if (world->dying)
        return;
    model_submitted(world, request);
    schedule(world, commit_delay(world));
}

static void note_commit(struct world *world, const struct store_request *request) {
    const struct store_load *load = (const struct store_load *)request;
    if (!world->verbose)
        return;
    if (request->kind == STORE_LOAD)
        world_note(world, "load for %lld, state %d: %u rows from %lld, more %d, next in %.6f s",
                   (long long)load->destination, load->state, load->count,
                   load->count > 0 ? (long long)load->rows[0].place.id : 0, load->more,
                   load->next_due == LULL_NEVER
                       ? -1
                       : (double)(load->next_due - world->now) / (double)LULL_SECOND);
    else
        world_note(world, "%s committed, result %d", kind_names[request->kind], request->result);
}

/* ---- answers ---- */

/* Accepted deliveries first, as serve/hand_over.c does and says why. */
static void hand_over(struct world *world, const struct store_request *request) {
    const struct store_accept *accept = (const struct store_accept *)request;
    if (request->kind != STORE_ACCEPT || request->result != LULL_OK)
        return;
    for (uint32_t i = 0; i < accept->event_count; i++) {
        const struct accept_event *event = &accept->events[i];
        for (uint32_t j = event->first; j < event->first + event->count; j++) {
            const struct accept_delivery *delivery = &accept->deliveries[j];
            struct receiver *receiver = receiver_find(world, delivery->destination);
            if (delivery->place.id != 0 && receiver->lane != NULL)
                engine_accepted(&world->engine, receiver->lane, event->message, delivery->place);
        }
    }
}

static void call_done(struct store_request *list) {
    while (list != NULL) {
        struct store_request *request = list;
        list = request->next;
        request->done(request);
    }
}

static struct store_request *take_batch(struct disk *disk) {
    struct batch *batch = disk->answers;
    struct store_request *list = batch->list;
    disk->answers = batch->next;
    if (disk->answers == NULL)
        disk->last_answer = &disk->answers;
    free(batch);
    return list;
}

static void answer(struct world *world, void *owner, int64_t argument) {
    (void)owner, (void)argument;
    struct store_request *list = take_batch(&world->disk);
    /* Now and then there is no memory to say which: the engine is told to look for itself. */
    bool missed = world->forgetful && !world->calm && world_chance(&world->disk.random, 0.1);
    if (missed)
        engine_missed(&world->engine);
    for (struct store_request *request = list; request != NULL && !missed; request = request->next)
        hand_over(world, request);
    call_done(list);
}

static void answer_later(struct world *world, struct store_request *list) {
    struct disk *disk = &world->disk;
    struct batch *batch = malloc(sizeof *batch);
    if (batch == NULL)
        abort();
    *batch = (struct batch){.list = list};
    *disk->last_answer = batch;
    disk->last_answer = &batch->next;
    lull_time at = world->now;
    if (!disk->steady)
        at += world_draw(&disk->random, 0, LULL_MILLISECOND);
    if (at < disk->answered_until)
        at = disk->answered_until;
    disk->answered_until = at;
    world_alarm(world, at - world->now, world->life, answer, NULL, 0);
}

/* ---- commits ---- */

static struct store_request *take_all(struct disk *disk) {
    struct store_request *list = disk->first;
    disk->first = NULL;
    disk->last = &disk->first;
    return list;
}

/* The disk is full: those that insist stay, in their order. */
static void fail_commit(struct world *world) {
    struct disk *disk = &world->disk;
    struct store_request *list = take_all(disk), *refused = NULL, **last = &refused;
    while (list != NULL) {
        struct store_request *request = list;
        list = request->next;
        if (request->insistent) {
            append(disk, request);
            continue;
        }
        store_request_fail(request, LULL_ESYSTEM);
        request->next = NULL;
        *last = request;
        last = &request->next;
    }
    world_note(world, "a commit fails");
    if (refused != NULL)
        answer_later(world, refused);
    if (disk->first != NULL)
        schedule(world, world_draw(&disk->random, 50, 500) * LULL_MILLISECOND);
}

static void commit(struct world *world, void *owner, int64_t argument) {
    (void)owner, (void)argument;
    struct disk *disk = &world->disk;
    disk->scheduled = false;
    if (disk->first == NULL)
        return;
    if (!world->calm && world_chance(&disk->random, disk->failing)) {
        fail_commit(world);
        return;
    }
    struct store_request *list = take_all(disk);
    if (disk->adapter->run(disk->adapter, list, world->now) != LULL_OK)
        world_fail(world, "the store failed by itself");
    for (struct store_request *request = list; request != NULL; request = request->next) {
        note_commit(world, request);
        model_committed(world, request);
    }
    answer_later(world, list);
    if (++disk->commits % 256 == 0 && world->model.strict)
        model_compare(world);
}

/* ---- the rest ---- */

void disk_ask(struct world *world, struct store_request *request) {
    struct store_adapter *adapter = world->disk.adapter;
    request->next = NULL;
    if (adapter->run(adapter, request, world->now) != LULL_OK)
        world_fail(world, "the store failed by itself");
}

static void forget(struct store_request *list) {
    for (struct store_request *request = list; request != NULL; request = request->next) {
        if (request->kind == STORE_LOAD)
            store_load_clean_up((struct store_load *)request);
        request->result = LULL_ESYSTEM;
    }
    call_done(list);
}

void disk_forget(struct world *world) {
    struct disk *disk = &world->disk;
    while (disk->answers != NULL)
        forget(take_batch(disk));
    while (disk->first != NULL)
        forget(take_all(disk));
}

void disk_init(struct world *world) {
    struct disk *disk = &world->disk;
    *disk = (struct disk){
        .port = {submit},
        .adapter = store_memory_new(),
        .last = &disk->first,
        .last_answer = &disk->answers,
        .random = world->seed ^ UINT64_C(0x6469736b),
    };
    if (disk->adapter == NULL)
        abort();
}

void disk_clean_up(struct world *world) {
    disk_forget(world);
    world->disk.adapter->destroy(world->disk.adapter);
}
