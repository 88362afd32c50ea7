/* An engine with one lane, whose store and transport do nothing by themselves: they keep what they are asked for, and the test answers. */
#ifndef LULL_TESTS_ENGINE_SCRIPTED_H
#define LULL_TESTS_ENGINE_SCRIPTED_H

#include "testing.h"

#include "engine.h"

#include <stdlib.h>

#define DESTINATION 7
#define SCRIPT_ROOM 256

static struct engine engine;
static struct lane *lane;
static struct store_request *asked[SCRIPT_ROOM]; /* not answered */
static uint32_t asked_count;
static struct attempt *flying[SCRIPT_ROOM]; /* in the order of their starts */
static uint32_t flying_count, cancelled_count;
static int64_t started_ids[SCRIPT_ROOM];
static uint32_t started_count;
static uint32_t news_count[NEWS_REPLAY_DONE + 1];

static void script_submit(struct store_port *port, struct store_request *request) {
    (void)port;
    asked[asked_count++] = request;
}

static void script_start(struct transport_port *port, struct attempt *attempt) {
    (void)port;
    flying[flying_count++] = attempt;
    started_ids[started_count++] = attempt->message->id;
}

static void script_cancel(struct transport_port *port, struct attempt *attempt) {
    (void)port, (void)attempt;
    cancelled_count++;
}

static void script_tell(void *context, const struct news *news) {
    (void)context;
    news_count[news->kind]++;
}

static struct store_port script_store = {script_submit};
static struct transport_port script_transport = {script_start, script_cancel};

static inline struct target *script_target(void) {
    struct target *target = calloc(1, sizeof *target);
    assert_non_null(target);
    atomic_store(&target->references, 1);
    target->timeout = 10 * SECOND;
    return target;
}

/* No jitter, so that times are exact. */
static inline struct lull_guard_config script_config(void) {
    return (struct lull_guard_config){
        .retry = {.attempts = 3,
                  .deadline = LULL_NONE,
                  .backoff = {.base = SECOND, .cap = 60 * SECOND, .jitter = LULL_JITTER_NONE},
                  .retry_after_jitter = LULL_NONE},
        .breaker = {.minimum_calls = 2, .open_jitter = LULL_NONE, .probes = 1},
        .bulkhead = {.limit = 4},
    };
}

/* Lets everybody do what can be done at that time. */
static inline void at(lull_time now) {
    engine_tick(&engine, now);
    engine_turn(&engine);
}

static inline void begin_with(const struct lull_guard_config *config, uint64_t fresh,
                              uint64_t retry) {
    asked_count = flying_count = cancelled_count = started_count = 0;
    memset(news_count, 0, sizeof news_count);
    engine_init(&engine, &(struct engine_options){.store = &script_store,
                                                  .transport = &script_transport,
                                                  .seed = 1,
                                                  .tell = script_tell});
    engine_tick(&engine, SECOND);
    lane = engine_add(&engine, &(struct lane_options){.destination = DESTINATION,
                                                      .name = "shop",
                                                      .target = script_target(),
                                                      .config = config,
                                                      .pending = {fresh, retry}});
    assert_non_null(lane);
    at(SECOND);
}

static inline void begin(void) {
    struct lull_guard_config config = script_config();
    begin_with(&config, 0, 0);
}

/* The first request of that kind that is not answered; NULL: none. */
static inline struct store_request *find_asked(enum store_kind kind) {
    for (uint32_t i = 0; i < asked_count; i++)
        if (asked[i]->kind == kind)
            return asked[i];
    return NULL;
}

static inline void *must_ask(enum store_kind kind) {
    struct store_request *request = find_asked(kind);
    assert_non_null(request);
    return request;
}

static inline void answer(void *request, int result) {
    uint32_t i = 0;
    while (asked[i] != request)
        assert_true(++i < asked_count);
    memmove(asked + i, asked + i + 1, (asked_count - i - 1) * sizeof asked[0]);
    asked_count--;
    ((struct store_request *)request)->result = result;
    ((struct store_request *)request)->done(request);
}

static inline struct message *script_message(int64_t id, lull_time accepted) {
    struct message *message = message_new(&(struct message_parts){.payload = "x"});
    assert_non_null(message);
    message->id = id;
    message->accepted = accepted;
    return message;
}

/* The store has accepted an event; its only delivery has the same id here. */
static inline void accepted(int64_t id, lull_time due) {
    struct message *message = script_message(id, due);
    engine_accepted(&engine, lane, message, (struct place){due, id});
    message_release(message);
}

static inline void add_row(struct store_load *load, int64_t id, lull_time due, uint32_t attempts) {
    assert_true(load->count < load->limit);
    load->rows[load->count++] = (struct load_row){.place = {due, id},
                                                  .message = script_message(id, due),
                                                  .attempts = attempts,
                                                  .tries = attempts};
}

static inline struct store_load *must_load(enum delivery_state state) {
    for (uint32_t i = 0; i < asked_count; i++) {
        struct store_load *load = (struct store_load *)asked[i];
        if (asked[i]->kind == STORE_LOAD && load->state == state) {
            load->next_due = LULL_NEVER;
            return load;
        }
    }
    fail_msg("no load of state %d", state);
    return NULL;
}

static inline void end_as(uint32_t index, struct lull_outcome outcome, bool gone) {
    assert_true(index < flying_count);
    struct attempt *attempt = flying[index];
    memmove(flying + index, flying + index + 1, (flying_count - index - 1) * sizeof flying[0]);
    flying_count--;
    attempt->outcome = outcome;
    attempt->gone = gone;
    attempt->ended(attempt);
}

static inline void end_flight(uint32_t index, enum lull_class class_) {
    end_as(index, (struct lull_outcome){.class_ = class_}, false);
}

static inline void expect_settle(int64_t id, enum delivery_state to, lull_time when) {
    struct store_settle *settle = must_ask(STORE_SETTLE);
    assert_int_equal(settle->destination, DESTINATION);
    assert_int_equal(settle->from.id, id);
    assert_int_equal(settle->to_state, to);
    assert_int_equal(settle->at, when);
    assert_true(settle->request.insistent);
    answer(settle, LULL_OK);
}

/* Whatever is under way ends badly, and the engine is gone. */
static inline int finish(void **state) {
    (void)state;
    engine_drain(&engine);
    while (flying_count > 0)
        end_flight(0, LULL_CANCELLED);
    while (asked_count > 0) {
        if (asked[0]->kind == STORE_LOAD) {
            struct store_load *load = (struct store_load *)asked[0];
            while (load->count > 0)
                message_release(load->rows[--load->count].message);
        }
        answer(asked[0], LULL_ESYSTEM);
    }
    assert_true(engine_drained(&engine));
    engine_clean_up(&engine);
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, finish)

#endif
