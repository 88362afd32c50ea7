/* A store under test, and short ways to ask it things. Times are small numbers of seconds after START. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "testing.h"

#include "adapter.h"

#include <stdlib.h>

#define START (INT64_C(1700000000) * LULL_SECOND)

static struct store_adapter *adapter;
static lull_time now = START;

static inline int ask(struct store_request *request) {
    request->next = NULL;
    assert_int_equal(adapter->run(adapter, request, now), LULL_OK);
    return request->result;
}

static inline int64_t create(const char *name) {
    struct store_put put = {.request = {.kind = STORE_PUT}, .row = {.settings = (char[]){"{}"}}};
    snprintf(put.row.name, sizeof put.row.name, "%s", name);
    assert_int_equal(ask(&put.request), LULL_OK);
    assert_true(put.created);
    assert_true(put.row.id > 0);
    return put.row.id;
}

static inline struct message *message_of(const char *payload) {
    struct message *message = message_new(&(struct message_parts){
        .type = "order.paid",
        .type_length = 10,
        .content_type = "text/plain",
        .content_type_length = 10,
        .headers = "traceparent: 00\n",
        .headers_length = 16,
        .payload = payload,
        .payload_length = strlen(payload),
    });
    assert_non_null(message);
    return message;
}

/* One event for one destination. */
static inline struct place accept_one(int64_t destination, const char *payload) {
    struct message *message = message_of(payload);
    struct accept_delivery delivery = {.destination = destination};
    struct accept_event event = {.message = message, .count = 1};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, &delivery, 1, 1};
    assert_int_equal(ask(&accept.request), LULL_OK);
    assert_int_equal(event.verdict, ACCEPT_NEW);
    assert_int_equal(message->id, event.id);
    assert_int_equal(message->accepted, now);
    message_release(message);
    return delivery.place;
}

#define ROWS 64
static struct load_row rows[ROWS];

/* Up to `limit` rows into `rows`; to be released by `unload`. */
static inline struct store_load load_from(int64_t destination, enum delivery_state state,
                                          struct place after, lull_time until, uint32_t limit) {
    struct store_load load = {
        .request = {.kind = STORE_LOAD},
        .destination = destination,
        .state = state,
        .after = after,
        .until = until,
        .limit = limit,
        .bytes = 1 << 20,
        .rows = rows,
    };
    assert_int_equal(ask(&load.request), LULL_OK);
    return load;
}

static inline void unload(struct store_load *load) {
    store_load_clean_up(load);
}

/* How many there are, due by `until`. */
static inline uint32_t count_of(int64_t destination, enum delivery_state state, lull_time until) {
    struct store_load load = load_from(destination, state, (struct place){0}, until, ROWS);
    uint32_t count = load.count;
    unload(&load);
    return count;
}

static inline struct store_settle settle_of(int64_t destination, struct place from,
                                            enum delivery_state from_state,
                                            enum delivery_state to_state, lull_time at) {
    bool ok = to_state == DELIVERY_DELIVERED;
    return (struct store_settle){
        .request = {.kind = STORE_SETTLE},
        .destination = destination,
        .from = from,
        .from_state = from_state,
        .to_state = to_state,
        .at = at,
        .attempts = 1,
        .tries = 1,
        .first_failed = ok ? 0 : now,
        .reason = LULL_REASON_ATTEMPTS_SPENT,
        .attempt =
            {
                .number = 1,
                .began = now,
                .took = 12 * MS,
                .class_ = ok ? LULL_SUCCESS : LULL_TRANSIENT,
                .status = ok ? 200 : 503,
            },
    };
}

static inline void settle(int64_t destination, struct place from, enum delivery_state from_state,
                          enum delivery_state to_state, lull_time at) {
    struct store_settle request = settle_of(destination, from, from_state, to_state, at);
    assert_int_equal(ask(&request.request), LULL_OK);
}

/* A dead letter, dead at `now`. */
static inline int64_t bury(int64_t destination, const char *payload) {
    struct place place = accept_one(destination, payload);
    settle(destination, place, DELIVERY_FRESH, DELIVERY_DEAD, now);
    return place.id;
}

static inline void assert_totals(int64_t destination, uint64_t fresh, uint64_t retry,
                                 uint64_t delivered, uint64_t dead) {
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    assert_int_equal(ask(&all.request), LULL_OK);
    bool found = false;
    for (uint32_t i = 0; i < all.count; i++) {
        if (all.rows[i].id != destination)
            continue;
        found = true;
        assert_int_equal(all.rows[i].pending[DELIVERY_FRESH], fresh);
        assert_int_equal(all.rows[i].pending[DELIVERY_RETRY], retry);
        assert_int_equal(all.rows[i].delivered, delivered);
        assert_int_equal(all.rows[i].dead, dead);
    }
    assert_true(found);
    store_destinations_clean_up(&all);
}

static inline struct store_tidy tidy(lull_time before, uint32_t limit) {
    struct store_tidy request = {
        .request = {.kind = STORE_TIDY}, .delivered_before = before, .limit = limit};
    assert_int_equal(ask(&request.request), LULL_OK);
    return request;
}

static inline int look_up(int64_t id, bool delivery) {
    struct store_get get = {.request = {.kind = STORE_GET}, .id = id, .delivery = delivery};
    int result = ask(&get.request);
    store_get_clean_up(&get);
    return result;
}

#endif
