/* Changes to destinations, on their way through the threads.
 *
 *   create            asker ─▶ store ─▶ asker ─▶ the lane's worker: lane and registry ─▶ asker: done
 *   update, remove    asker ─▶ the lane's worker ─▶ store ─▶ lane's worker: lane and registry ─▶ asker: done
 *   pause, resume     asker ─▶ the lane's worker: lane ─▶ store ─▶ asker: done
 *
 * All changes of one destination go to the store from one thread, so lane and registry hear of them in the order in which they are on disk.
 *
 * A lane writes its own state to the store, too, with its clock; so what sets that state has to begin there, or an older write of the lane's could
 * follow and undo it. */
#include "daemon.h"
#include "log.h"
#include "net/target.h"

#include <stdlib.h>
#include <string.h>

static struct change *change_of(struct letter *letter) {
    return (struct change *)((char *)letter - offsetof(struct change, letter));
}

static void mail(struct worker *to, struct change *change, void (*open)(struct letter *)) {
    change->letter = (struct letter){.open = open};
    inbox_push(&to->inbox, &change->letter, &change->letter);
}

static void open_done(struct letter *letter) {
    struct change *change = change_of(letter);
    change->done(change);
}

static void finish(struct change *change) {
    mail(change->asker, change, open_done);
}

struct target *target_of(const struct destination_row *row,
                         const struct destination_settings *settings) {
    const struct target_secret secrets[TARGET_SECRETS] = {
        {.text = row->secret, .until = LULL_NEVER},
        {.text = row->previous_secret, .until = row->previous_until},
    };
    return target_new(settings, secrets);
}

/* ---- at the lane ---- */

static int update_lane(struct worker *worker, struct change *change) {
    struct lane *lane = worker_lane(worker, change->row.id);
    if (lane == NULL)
        return STORE_ABSENT;
    struct target *target = target_of(&change->row, change->settings);
    struct destination *destination =
        destination_new(&change->row, change->settings, lane, worker->index);
    if (target == NULL || destination == NULL) {
        target_release(target);
        destination_release(destination);
        return LULL_ENOMEM;
    }
    if (engine_configure(&worker->engine, lane, target, &change->settings->guard) != LULL_OK) {
        engine_aim(lane, target); /* URL, fields and secrets do not wait */
        log_event(LOG_WARN, "settings_deferred", "destination=%s detail=%s", change->row.name,
                  "\"the breaker's kind of window changes at the next start; so do retries, limits "
                  "and rate\"");
    }
    return registry_put(worker->service->registry, destination);
}

static void apply(struct change *change) {
    struct worker *worker = owner_of(change->asker->service, change->row.id);
    struct lane *lane = worker_lane(worker, change->row.id);
    switch (change->kind) {
    case CHANGE_CREATE:
        change->result = worker_add_lane(worker, &change->row, change->settings);
        break;
    case CHANGE_UPDATE:
        change->result = update_lane(worker, change);
        break;
    default:
        registry_remove(worker->service->registry, change->row.id);
        if (lane != NULL) {
            engine_remove(&worker->engine, lane);
            worker->slots[change->row.id] = (struct slot){0};
        }
    }
    finish(change);
}

static void open_at_lane(struct letter *letter) {
    apply(change_of(letter));
}

/* ---- at the store ---- */

static void created(struct store_request *request) {
    struct change *change = request->owner;
    change->result = request->result;
    if (request->result != LULL_OK) {
        change->done(change);
        return;
    }
    change->row.id = change->store.put.row.id;
    mail(owner_of(change->asker->service, change->row.id), change, open_at_lane);
}

static void stored(struct store_request *request) {
    struct change *change = request->owner;
    struct worker *worker = owner_of(change->asker->service, change->row.id);
    if (worker->slots[change->row.id].changing > 0)
        worker->slots[change->row.id].changing--;
    change->result = request->result;
    if (change->kind == CHANGE_REMOVE) {
        change->pending = change->store.remove.pending;
        change->dead = change->store.remove.dead;
    }
    if (request->result == LULL_OK)
        apply(change);
    else
        finish(change);
}

static void ask_store(struct worker *worker, struct change *change,
                      void (*done)(struct store_request *)) {
    struct store_request asked = {.kind = STORE_PUT, .done = done, .owner = change};
    struct store_request *request = &change->store.put.request;
    if (change->kind == CHANGE_REMOVE) {
        asked.kind = STORE_REMOVE;
        change->store.remove = (struct store_remove){
            .request = asked, .destination = change->row.id, .force = change->force};
        request = &change->store.remove.request;
    } else {
        change->store.put = (struct store_put){.request = asked, .row = change->row};
    }
    worker->store.port.submit(&worker->store.port, request);
}

/* Nobody else has changed it since, or is about to. */
static bool is_newest(struct worker *worker, const struct change *change) {
    if (change->base == NULL)
        return true;
    struct destination *newest = registry_find_id(worker->service->registry, change->row.id);
    bool same = newest == change->base;
    destination_release(newest);
    return same && worker->slots[change->row.id].changing == 0;
}

static void open_ask_store(struct letter *letter) {
    struct change *change = change_of(letter);
    struct worker *worker = owner_of(change->asker->service, change->row.id);
    if (worker_lane(worker, change->row.id) == NULL) {
        change->result = STORE_ABSENT;
    } else if (!is_newest(worker, change)) {
        change->result = CHANGE_CONFLICT;
    } else {
        worker->slots[change->row.id].changing++;
        ask_store(worker, change, stored);
        return;
    }
    finish(change);
}

/* ---- pause and resume ---- */

static void state_stored(struct store_request *request) {
    struct change *change = request->owner;
    struct worker *worker = owner_of(change->asker->service, change->row.id);
    struct lane *lane = worker_lane(worker, change->row.id);
    change->result = request->result;
    if (request->result != LULL_OK && lane != NULL) /* as if nothing had been asked */
        engine_set_state(&worker->engine, lane, change->state_before);
    finish(change);
}

static void open_set_state(struct letter *letter) {
    struct change *change = change_of(letter);
    struct worker *worker = owner_of(change->asker->service, change->row.id);
    struct lane *lane = worker_lane(worker, change->row.id);
    if (lane == NULL) {
        change->result = STORE_ABSENT;
        finish(change);
        return;
    }
    change->state_before = lane->state;
    engine_set_state(&worker->engine, lane, change->row.state);
    change->store.clock = (struct store_clock){
        .request = {.kind = STORE_CLOCK, .done = state_stored, .owner = change},
        .destination = change->row.id,
        .blocked_until = lane->clock_kept,
        .state = change->row.state,
    };
    worker->store.port.submit(&worker->store.port, &change->store.clock.request);
}

void service_change(struct worker *worker, struct change *change) {
    change->asker = worker;
    switch (change->kind) {
    case CHANGE_CREATE:
        ask_store(worker, change, created);
        break;
    case CHANGE_STATE:
        mail(owner_of(worker->service, change->row.id), change, open_set_state);
        break;
    default:
        mail(owner_of(worker->service, change->row.id), change, open_ask_store);
    }
}

/* ---- what lanes are told of ---- */

struct notice {
    struct letter letter;
    struct worker *worker;
    enum { NOTICE_STARTED, NOTICE_CANCELLED, NOTICE_DROPPED } kind;
    struct replay_row replay;
    int64_t destination;
    uint32_t count;
};

static void open_notice(struct letter *letter) {
    struct notice *notice = (struct notice *)letter;
    struct engine *engine = &notice->worker->engine;
    struct lane *lane = worker_lane(notice->worker, notice->destination);
    if (lane != NULL) {
        switch (notice->kind) {
        case NOTICE_STARTED:
            engine_replay(engine, lane, &notice->replay);
            break;
        case NOTICE_CANCELLED:
            engine_replay_cancelled(engine, lane, notice->replay.id);
            break;
        case NOTICE_DROPPED:
            engine_dropped(engine, lane, notice->count);
            break;
        }
    }
    free(notice);
}

/* If there is no memory for it, a replay starts after the next restart. */
static void notify(struct worker *worker, const struct notice *notice) {
    struct notice *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        log_event(LOG_ERROR, "out_of_memory", "destination_id=%lld",
                  (long long)notice->destination);
        return;
    }
    *copy = *notice;
    copy->letter = (struct letter){.open = open_notice};
    copy->worker = owner_of(worker->service, notice->destination);
    inbox_push(&copy->worker->inbox, &copy->letter, &copy->letter);
}

void service_replay_started(struct worker *worker, const struct replay_row *row) {
    notify(worker, &(struct notice){
                       .kind = NOTICE_STARTED, .replay = *row, .destination = row->destination});
}

void service_replay_cancelled(struct worker *worker, const struct replay_row *row) {
    notify(worker, &(struct notice){
                       .kind = NOTICE_CANCELLED, .replay = *row, .destination = row->destination});
}

void service_dropped(struct worker *worker, int64_t destination, uint32_t count) {
    notify(worker,
           &(struct notice){.kind = NOTICE_DROPPED, .destination = destination, .count = count});
}
