/* A server without a network: exchanges are made by hand, the service is a registry over the store in memory, and time stands
 * still at noon of 1 March 2026.
 *
 *   struct exchange *exchange = ask(world, "POST /v1/destinations/shop/events?type=a.b", "Content-Type: text/plain\n", "hello");
 *   assert_answer(exchange, 202, "{\"id\":…}");
 *
 * An exchange is the world's until the test ends. */
#ifndef LULL_TESTS_API_FIXTURE_H
#define LULL_TESTS_API_FIXTURE_H

#include "testing.h"

#include "api/api.h"
#include "api/json.h"
#include "api/text.h"
#include "engine/id.h"
#include "store/memory.h"

#include <stdlib.h>
#include <strings.h>

#define NOON (INT64_C(1772366400) * LULL_SECOND)
#define NOON_TEXT "2026-03-01T12:00:00.000Z"
/* The store's ids begin with the millisecond. */
#define FIRST_ID ((NOON / LULL_MILLISECOND) << 20)
#define PAIRS 16

struct pair {
    char *name, *value;
};

struct exchange {
    char *method, *path;
    struct pair query[PAIRS], headers[PAIRS];
    char *body;
    size_t length;
    int answers; /* how often it was answered */
    int status;
    char *content_type, *answer;
    size_t answer_length;
    struct pair fields[PAIRS];
    struct exchange *next;
};

struct worker {
    struct store_port port;
    struct store_adapter *adapter;
    struct registry *registry;
    struct serve_config config;
    lull_time now;
    bool ready;
    struct service_figures figures;
    struct store_request *queue, **queue_end;
    struct change *changes[8];
    int change_count;
    struct lane *lanes[12000];
    uint32_t lane_count;
    struct exchange *exchanges;
    /* What the service was told. */
    int64_t dropped_of, started, cancelled;
    uint32_t replay_ids; /* named when a replay was asked for */
    uint32_t dropped;
    /* Between a request and its commit this destination disappears. */
    int64_t vanishing;
};

#define UNUSED __attribute__((unused))

/* ---- net/http.h ---- */

const char *exchange_method(const struct exchange *exchange) {
    return exchange->method;
}

const char *exchange_path(const struct exchange *exchange) {
    return exchange->path;
}

static const char *pair_value(const struct pair *pairs, const char *name) {
    for (int i = 0; i < PAIRS && pairs[i].name != NULL; i++)
        if (strcasecmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

const char *exchange_query(const struct exchange *exchange, const char *name) {
    return pair_value(exchange->query, name);
}

const char *exchange_header(const struct exchange *exchange, const char *name) {
    return pair_value(exchange->headers, name);
}

char *exchange_body(struct exchange *exchange, size_t *length) {
    *length = exchange->length;
    return exchange->length > 0 ? exchange->body : NULL;
}

static void add_pair(struct pair *pairs, const char *name, const char *value) {
    int i = 0;
    while (pairs[i].name != NULL)
        i++;
    assert_in_range(i, 0, PAIRS - 2);
    pairs[i] = (struct pair){strdup(name), strdup(value)};
}

void exchange_answer(struct exchange *exchange, const struct answer *answer) {
    exchange->answers++;
    exchange->status = answer->status;
    exchange->content_type = answer->content_type != NULL ? strdup(answer->content_type) : NULL;
    exchange->answer = malloc(answer->length + 1);
    if (answer->length > 0)
        memcpy(exchange->answer, answer->body, answer->length);
    exchange->answer_length = answer->length;
    if (answer->content_type != NULL && strstr(answer->content_type, "json") != NULL) {
        assert_true(answer->length > 0 && answer->body[answer->length - 1] == '\n');
        exchange->answer_length--; /* the tests write JSON without it */
    }
    exchange->answer[exchange->answer_length] = '\0';
    for (size_t i = 0; i < answer->field_count; i++)
        add_pair(exchange->fields, answer->fields[i].name, answer->fields[i].value);
    if (answer->take)
        free((char *)answer->body);
    /* What the request said is gone from now on. */
    free(exchange->body);
    exchange->body = NULL;
}

/* ---- serve/service.h ---- */

const struct serve_config *service_config(struct worker *worker) {
    return &worker->config;
}

struct registry *service_registry(struct worker *worker) {
    return worker->registry;
}

struct store_port *service_store(struct worker *worker) {
    return &worker->port;
}

lull_time service_now(struct worker *worker) {
    return worker->now;
}

bool service_ready(struct worker *worker, char *why, size_t size) {
    if (!worker->ready)
        snprintf(why, size, "the store cannot write: disk full");
    return worker->ready;
}

void service_figures(struct worker *worker, struct service_figures *figures) {
    *figures = worker->figures;
}

void service_change(struct worker *worker, struct change *change) {
    worker->changes[worker->change_count++] = change;
}

void service_replay_started(struct worker *worker, const struct replay_row *row) {
    worker->started = row->id;
}

void service_replay_cancelled(struct worker *worker, const struct replay_row *row) {
    worker->cancelled = row->id;
}

void service_dropped(struct worker *worker, int64_t destination, uint32_t count) {
    worker->dropped_of = destination;
    worker->dropped += count;
}

/* ---- the store and the lanes ---- */

static void submit(struct store_port *port, struct store_request *request) {
    struct worker *world = (struct worker *)(void *)port;
    request->next = NULL;
    if (request->kind == STORE_REPLAY_START)
        world->replay_ids = ((struct store_replay_start *)(void *)request)->id_count;
    *world->queue_end = request;
    world->queue_end = &request->next;
}

/* A request carried out at once. */
static int run_now(struct worker *world, struct store_request *request) {
    request->next = NULL;
    world->adapter->run(world->adapter, request, world->now);
    return request->result;
}

static struct lane *add_lane(struct worker *world, const struct destination_settings *settings,
                             const struct destination_row *row) {
    struct lane *lane = calloc(1, sizeof *lane);
    assert_non_null(lane);
    atomic_store(&lane->references, 1);
    lane->destination = row->id;
    assert_int_equal(lull_guard_init(&lane->guard, &settings->guard, NULL), LULL_OK);
    atomic_store(&lane->stats.state, row->state);
    assert_true(world->lane_count < COUNT(world->lanes));
    world->lanes[world->lane_count++] = lane;
    return lane;
}

static struct lane *lane_of(struct worker *world, int64_t id) {
    for (uint32_t i = 0; i < world->lane_count; i++)
        if (world->lanes[i]->destination == id)
            return world->lanes[i];
    fail();
    return NULL;
}

static void put_in_registry(struct worker *world, const struct change *change, struct lane *lane) {
    struct destination *destination = destination_new(&change->row, change->settings, lane, 0);
    assert_int_equal(registry_put(world->registry, destination), LULL_OK);
}

static void carry_out(struct worker *world, struct change *change) {
    struct store_put put = {.request = {.kind = STORE_PUT}, .row = change->row};
    struct store_clock clock = {.request = {.kind = STORE_CLOCK},
                                .destination = change->row.id,
                                .state = change->row.state};
    struct store_remove removal = {
        .request = {.kind = STORE_REMOVE}, .destination = change->row.id, .force = change->force};
    switch (change->kind) {
    case CHANGE_CREATE:
    case CHANGE_UPDATE:
        change->result = run_now(world, &put.request);
        change->row.id = change->result == LULL_OK ? put.row.id : change->row.id;
        if (change->result == LULL_OK)
            put_in_registry(world, change,
                            change->kind == CHANGE_CREATE
                                ? add_lane(world, change->settings, &change->row)
                                : lane_of(world, change->row.id));
        break;
    case CHANGE_STATE:
        change->result = run_now(world, &clock.request);
        if (change->result == LULL_OK)
            atomic_store(&lane_of(world, change->row.id)->stats.state, change->row.state);
        break;
    case CHANGE_REMOVE:
        change->result = run_now(world, &removal.request);
        change->pending = removal.pending;
        change->dead = removal.dead;
        if (change->result == LULL_OK)
            registry_remove(world->registry, change->row.id);
        break;
    }
    change->done(change);
}

/* Lets everything that is under way end. */
static void turn(struct worker *world) {
    while (world->change_count > 0 || world->queue != NULL) {
        struct store_request *list = world->queue;
        world->queue = NULL;
        world->queue_end = &world->queue;
        if (world->vanishing != 0) {
            struct store_remove removal = {
                .request = {.kind = STORE_REMOVE}, .destination = world->vanishing, .force = true};
            assert_int_equal(run_now(world, &removal.request), LULL_OK);
            world->vanishing = 0;
        }
        if (list != NULL)
            world->adapter->run(world->adapter, list, world->now);
        while (list != NULL) {
            struct store_request *next = list->next;
            list->done(list);
            list = next;
        }
        int count = world->change_count;
        world->change_count = 0;
        for (int i = 0; i < count; i++)
            carry_out(world, world->changes[i]);
    }
}

/* ---- exchanges ---- */

static char *decoded(const char *text, const char *end) {
    char *value = malloc((size_t)(end - text) + 1);
    assert_true(text_decode(text, end, value, (size_t)(end - text) + 1));
    return value;
}

static void read_query(struct exchange *exchange, const char *at) {
    while (*at != '\0') {
        const char *end = at + strcspn(at, "&"), *equal = memchr(at, '=', (size_t)(end - at));
        char *name = decoded(at, equal != NULL ? equal : end);
        char *value = decoded(equal != NULL ? equal + 1 : end, end);
        add_pair(exchange->query, name, value);
        free(name);
        free(value);
        at = *end == '&' ? end + 1 : end;
    }
}

static void read_headers(struct exchange *exchange, const char *at) {
    while (*at != '\0') {
        const char *end = at + strcspn(at, "\n"), *colon = strstr(at, ": ");
        char *name = strndup(at, (size_t)(colon - at));
        char *value = strndup(colon + 2, (size_t)(end - colon - 2));
        add_pair(exchange->headers, name, value);
        free(name);
        free(value);
        at = *end == '\n' ? end + 1 : end;
    }
}

static struct exchange *exchange_new(struct worker *world, const char *request, const char *headers,
                                     const void *body, size_t length) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    const char *space = strchr(request, ' '), *question = strchr(request, '?');
    exchange->next = world->exchanges;
    world->exchanges = exchange;
    exchange->method = strndup(request, (size_t)(space - request));
    exchange->path =
        question != NULL ? strndup(space + 1, (size_t)(question - space - 1)) : strdup(space + 1);
    if (question != NULL)
        read_query(exchange, question + 1);
    read_headers(exchange, headers);
    exchange->body = malloc(length > 0 ? length : 1); /* exactly: ASan watches its end */
    if (length > 0)
        memcpy(exchange->body, body, length);
    exchange->length = length;
    return exchange;
}

static struct exchange *ask_bytes(struct worker *world, const char *request, const char *headers,
                                  const void *body, size_t length) {
    struct exchange *exchange = exchange_new(world, request, headers, body, length);
    api_handle(world, exchange);
    turn(world);
    assert_int_equal(exchange->answers, 1);
    return exchange;
}

UNUSED static struct exchange *ask(struct worker *world, const char *request, const char *headers,
                                   const char *body) {
    return ask_bytes(world, request, headers, body, strlen(body));
}

UNUSED static struct exchange *get(struct worker *world, const char *path) {
    char request[400];
    snprintf(request, sizeof request, "GET %s", path);
    return ask(world, request, "", "");
}

UNUSED static const char *field(const struct exchange *exchange, const char *name) {
    return pair_value(exchange->fields, name);
}

UNUSED static void assert_answer(const struct exchange *exchange, int status, const char *body) {
    assert_string_equal(exchange->answer, body);
    assert_int_equal(exchange->status, status);
    assert_string_equal(exchange->content_type, "application/json");
}

/* A problem with this code, whose detail has this in it. */
UNUSED static void assert_problem(const struct exchange *exchange, int status, const char *code,
                                  const char *detail) {
    json_t *problem = json_loads(exchange->answer, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(problem);
    assert_string_equal(json_string_value(json_object_get(problem, "code")), code);
    assert_int_equal(exchange->status, status);
    assert_int_equal(json_integer_value(json_object_get(problem, "status")), status);
    assert_string_equal(json_string_value(json_object_get(problem, "type")), "about:blank");
    assert_string_equal(exchange->content_type, "application/problem+json");
    const char *text = json_string_value(json_object_get(problem, "detail"));
    if (strstr(text, detail) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", detail, text);
    assert_true((status == 503) == (field(exchange, "Retry-After") != NULL));
    json_decref(problem);
}

/* ---- the world ---- */

static struct worker *world_new(void) {
    struct worker *world = calloc(1, sizeof *world);
    struct reader_error error;
    assert_non_null(world);
    world->port.submit = submit;
    world->adapter = store_memory_new();
    world->registry = registry_new();
    world->queue_end = &world->queue;
    world->now = NOON;
    world->ready = true;
    assert_int_equal(serve_config_read(NULL, &world->config, &error), LULL_OK);
    return world;
}

static void pairs_free(struct pair *pairs) {
    for (int i = 0; i < PAIRS; i++) {
        free(pairs[i].name);
        free(pairs[i].value);
    }
}

static void world_destroy(struct worker *world) {
    while (world->exchanges != NULL) {
        struct exchange *exchange = world->exchanges;
        world->exchanges = exchange->next;
        pairs_free(exchange->query);
        pairs_free(exchange->headers);
        pairs_free(exchange->fields);
        free(exchange->method);
        free(exchange->path);
        free(exchange->body);
        free(exchange->content_type);
        free(exchange->answer);
        free(exchange);
    }
    registry_destroy(world->registry);
    /* The last reference is ours: nobody else may hold one by now. */
    for (uint32_t i = 0; i < world->lane_count; i++) {
        assert_int_equal(atomic_load(&world->lanes[i]->references), 1);
        free(world->lanes[i]);
    }
    world->adapter->destroy(world->adapter);
    serve_config_clean_up(&world->config);
    free(world);
}

UNUSED static int set_up(void **state) {
    *state = world_new();
    return 0;
}

UNUSED static int tear_down(void **state) {
    world_destroy(*state);
    return 0;
}

/* A destination, unsigned, with these further settings: ",\"types\":[\"*\"]". Its id. */
UNUSED static int64_t create(struct worker *world, const char *name, const char *more) {
    char body[600];
    snprintf(body, sizeof body,
             "{\"name\":\"%s\",\"url\":\"https://%s.example/\",\"secret\":\"\"%s}", name, name,
             more);
    struct exchange *exchange = ask(world, "POST /v1/destinations", "", body);
    if (exchange->status != 201)
        fail_msg("%s", exchange->answer);
    struct destination *destination = registry_find(world->registry, name);
    int64_t id = destination->row.id;
    destination_release(destination);
    return id;
}

UNUSED static const char *event_id(int64_t id) {
    static char texts[4][ID_TEXT_SIZE];
    static int at;
    return id_format(ID_EVENT, id, texts[at++ % 4]);
}

UNUSED static const char *delivery_id(int64_t id) {
    static char texts[4][ID_TEXT_SIZE];
    static int at;
    return id_format(ID_DELIVERY, id, texts[at++ % 4]);
}

/* The first event went to this destination, and was attempted once: 503 after 12.5 ms. It is dead, or due in a minute. */
UNUSED static void fail_first(struct worker *world, int64_t destination, bool dead) {
    char excerpt[] = "over\xFFload";
    struct store_load load = {.request = {.kind = STORE_LOAD},
                              .destination = destination,
                              .until = NOON,
                              .limit = 1,
                              .bytes = 1 << 20,
                              .rows = calloc(1, sizeof(struct load_row))};
    assert_int_equal(run_now(world, &load.request), LULL_OK);
    assert_int_equal(load.count, 1);
    struct store_settle settle = {
        .request = {.kind = STORE_SETTLE},
        .destination = destination,
        .from = load.rows[0].place,
        .from_state = DELIVERY_FRESH,
        .to_state = dead ? DELIVERY_DEAD : DELIVERY_RETRY,
        .at = NOON + (dead ? SECOND : LULL_MINUTE),
        .attempts = 1,
        .tries = 1,
        .first_failed = NOON + SECOND,
        .reason = dead ? LULL_REASON_ATTEMPTS_SPENT : 0,
        .attempt = {.number = 1,
                    .began = NOON + 987 * MS,
                    .took = 12500 * LULL_MICROSECOND,
                    .class_ = LULL_TRANSIENT,
                    .status = 503,
                    .error = "it answered 503",
                    .excerpt = excerpt,
                    .excerpt_length = sizeof excerpt - 1},
    };
    assert_int_equal(run_now(world, &settle.request), LULL_OK);
    message_release(load.rows[0].message);
    free(load.rows);
}

#endif
