#include "api/body.h"
#include "api/delivery_view.h"
#include "api/destination_view.h"
#include "api/handlers.h"
#include "api/page.h"
#include "api/reply.h"
#include "config/units.h"
#include "engine/id.h"

#include <stdlib.h>
#include <string.h>

static void reply_unknown_replay(struct exchange *exchange) {
    reply_problem(exchange, 404, "unknown_replay",
                  "there is no such replay; GET /v1/replays lists those there are");
}

static json_t *replay_view(struct worker *worker, const struct replay_row *row) {
    static const char *const states[] = {"running", "done", "cancelled", "stopped"};
    char rate[40];
    snprintf(rate, sizeof rate, "%.6g/m", row->rate);
    json_t *view = json_object();
    json_put(&view, "id", id_json(ID_REPLAY, row->id));
    json_put(&view, "destination", destination_name_json(worker, row->destination));
    json_put(&view, "state", json_string(states[row->state % 4]));
    json_put(&view, "rate", json_string(rate));
    json_put(&view, "total", json_integer((json_int_t)row->total));
    json_put(&view, "moved", json_integer((json_int_t)row->moved));
    json_put(&view, "succeeded", json_integer((json_int_t)row->succeeded));
    json_put(&view, "failed", json_integer((json_int_t)row->failed));
    json_put(&view, "created_at", json_time(row->created));
    json_put(&view, "ended_at", json_time(row->ended));
    return view;
}

/* ---- starting one ---- */

struct starting {
    struct store_replay_start start;
    struct worker *worker;
    struct exchange *exchange;
    char destination[DESTINATION_NAME_LONGEST + 1];
};

static void starting_destroy(struct starting *starting) {
    free(starting->start.ids);
    free(starting);
}

static void started(struct store_request *request) {
    struct starting *starting = request->owner;
    const struct store_replay_start *start = &starting->start;
    char absent[ID_TEXT_SIZE];
    switch (request->result) {
    case LULL_OK:
        service_replay_started(starting->worker, &start->row);
        reply_json(starting->exchange, 202, replay_view(starting->worker, &start->row));
        break;
    case STORE_ABSENT:
        if (start->absent != 0)
            reply_problem(starting->exchange, 404, "unknown_dead_letter",
                          "%s is not a dead letter of %s",
                          id_format(ID_DELIVERY, start->absent, absent), starting->destination);
        else
            reply_unknown_destination(starting->exchange, starting->destination);
        break;
    case STORE_EXISTS:
        reply_problem(starting->exchange, 409, "replay_running",
                      "a replay of %s is running; cancel it, or wait for its end",
                      starting->destination);
        break;
    default:
        reply_failed(starting->exchange, request->result);
    }
    starting_destroy(starting);
}

static bool refuse(struct starting *starting, const char *detail) {
    reply_problem(starting->exchange, 400, "bad_replay", "%s", detail);
    return false;
}

/* Each of these: false means answered. */

static bool read_destination(struct starting *starting, json_t *value) {
    if (!json_is_string(value))
        return refuse(starting, "destination must be the name of one");
    struct destination *destination =
        registry_find(service_registry(starting->worker), json_string_value(value));
    bool fine = false;
    if (destination == NULL) {
        reply_unknown_destination(starting->exchange, json_string_value(value));
    } else if (destination_state(destination) == DESTINATION_DISABLED) {
        reply_problem(starting->exchange, 409, "destination_disabled",
                      "%s is disabled, since it answered 410; resume it first",
                      destination->row.name);
    } else {
        starting->start.row.destination = destination->row.id;
        memcpy(starting->destination, destination->row.name, sizeof starting->destination);
        fine = true;
    }
    destination_release(destination);
    return fine;
}

static bool read_rate(struct starting *starting, json_t *value) {
    double count = 0;
    lull_duration per = LULL_MINUTE;
    starting->start.row.rate = REPLAY_RATE;
    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_string(value) || !rate_parse(json_string_value(value), &count, &per))
        return refuse(starting, "rate must be a rate; write for example \"100/m\"");
    starting->start.row.rate = count * ((double)LULL_MINUTE / (double)per);
    if (starting->start.row.rate >= REPLAY_SLOWEST && starting->start.row.rate <= REPLAY_FASTEST)
        return true;
    return refuse(starting, "rate must be within 1/m … 600000/m");
}

static int compare_ids(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* In order, and each once. */
static uint32_t sort_ids(int64_t *ids, size_t count) {
    uint32_t kept = 0;
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            ids[kept++] = ids[i];
    return kept;
}

static bool read_ids(struct starting *starting, json_t *value) {
    size_t count = json_array_size(value), i;
    json_t *one;
    if (value == NULL || json_is_null(value))
        return true;
    if (count == 0)
        return refuse(starting, "ids must be a list of dead letters' ids; leave it out for all");
    starting->start.ids = calloc(count, sizeof *starting->start.ids);
    if (starting->start.ids == NULL) {
        reply_no_memory(starting->exchange);
        return false;
    }
    json_array_foreach(value, i, one) {
        const char *text = json_string_value(one);
        if (text == NULL || !id_parse(ID_DELIVERY, text, &starting->start.ids[i]))
            return refuse(starting, "ids must be ids of dead letters, \"dlv_…\"");
    }
    starting->start.id_count = sort_ids(starting->start.ids, count);
    return true;
}

static bool only_known(struct starting *starting, json_t *body) {
    const char *name;
    json_t *value;
    json_object_foreach(body, name, value) {
        if (strcmp(name, "destination") != 0 && strcmp(name, "rate") != 0 &&
            strcmp(name, "ids") != 0) {
            reply_problem(starting->exchange, 400, "bad_replay",
                          "there is no %.100s; there are destination, rate and ids", name);
            return false;
        }
    }
    return true;
}

void replays_start(struct call *call) {
    json_t *body = body_object(call->exchange);
    if (body == NULL)
        return;
    struct starting *starting = calloc(1, sizeof *starting);
    if (starting == NULL) {
        json_decref(body);
        reply_no_memory(call->exchange);
        return;
    }
    starting->worker = call->worker;
    starting->exchange = call->exchange;
    starting->start.request =
        (struct store_request){.kind = STORE_REPLAY_START, .done = started, .owner = starting};
    bool fine = only_known(starting, body) &&
                read_destination(starting, json_object_get(body, "destination")) &&
                read_rate(starting, json_object_get(body, "rate")) &&
                read_ids(starting, json_object_get(body, "ids"));
    json_decref(body);
    if (!fine) {
        starting_destroy(starting);
        return;
    }
    struct store_port *store = service_store(call->worker);
    store->submit(store, &starting->start.request);
}

/* ---- looking ---- */

struct looking {
    struct store_replays replays;
    struct worker *worker;
    struct exchange *exchange;
};

static void looked(struct store_request *request) {
    struct looking *looking = request->owner;
    const struct store_replays *replays = &looking->replays;
    if (request->result != LULL_OK && request->result != STORE_ABSENT) {
        reply_failed(looking->exchange, request->result);
    } else if (replays->replay == 0) {
        json_t *items = json_array();
        for (uint32_t i = 0; request->result == LULL_OK && i < replays->count; i++)
            json_add(&items, replay_view(looking->worker, &replays->rows[i]));
        reply_page(looking->exchange, items, NULL);
    } else if (request->result == STORE_ABSENT || replays->count == 0) {
        reply_unknown_replay(looking->exchange);
    } else {
        reply_json(looking->exchange, 200, replay_view(looking->worker, &replays->rows[0]));
    }
    free(replays->rows);
    free(looking);
}

/* 0: all. */
static void look_at(struct call *call, int64_t id) {
    struct looking *looking = calloc(1, sizeof *looking);
    if (looking == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    looking->worker = call->worker;
    looking->exchange = call->exchange;
    looking->replays.request =
        (struct store_request){.kind = STORE_REPLAYS, .done = looked, .owner = looking};
    looking->replays.replay = id;
    struct store_port *store = service_store(call->worker);
    store->submit(store, &looking->replays.request);
}

void replays_list(struct call *call) {
    look_at(call, 0);
}

void replays_show(struct call *call) {
    int64_t id;
    if (id_parse(ID_REPLAY, call->parameter, &id))
        look_at(call, id);
    else
        reply_unknown_replay(call->exchange);
}

/* ---- cancelling ---- */

struct cancelling {
    struct store_replay_end end;
    struct worker *worker;
    struct exchange *exchange;
};

static void cancelled(struct store_request *request) {
    struct cancelling *cancelling = request->owner;
    const struct replay_row *row = &cancelling->end.row;
    if (request->result == STORE_ABSENT) {
        reply_unknown_replay(cancelling->exchange);
    } else if (request->result != LULL_OK) {
        reply_failed(cancelling->exchange, request->result);
    } else {
        /* One that had ended before stays as it was. */
        if (row->state == REPLAY_CANCELLED)
            service_replay_cancelled(cancelling->worker, row);
        reply_json(cancelling->exchange, 200, replay_view(cancelling->worker, row));
    }
    free(cancelling);
}

void replays_cancel(struct call *call) {
    int64_t id;
    if (!id_parse(ID_REPLAY, call->parameter, &id)) {
        reply_unknown_replay(call->exchange);
        return;
    }
    struct cancelling *cancelling = calloc(1, sizeof *cancelling);
    if (cancelling == NULL) {
        reply_no_memory(call->exchange);
        return;
    }
    cancelling->worker = call->worker;
    cancelling->exchange = call->exchange;
    cancelling->end.request =
        (struct store_request){.kind = STORE_REPLAY_END, .done = cancelled, .owner = cancelling};
    cancelling->end.replay = id;
    cancelling->end.state = REPLAY_CANCELLED;
    struct store_port *store = service_store(call->worker);
    store->submit(store, &cancelling->end.request);
}
