#include "fixture.h"

/* shop, with a dead letter. */
static int64_t dead_shop(struct worker *world) {
    int64_t shop = create(world, "shop", "");
    ask(world, "POST /v1/destinations/shop/events", "", "x");
    fail_first(world, shop, true);
    return shop;
}

static struct exchange *start(struct worker *world, const char *body) {
    return ask(world, "POST /v1/dlq/replay", "", body);
}

static void replay_text(char text[400], int64_t id, const char *state, const char *rate,
                        const char *ended) {
    char name[ID_TEXT_SIZE];
    snprintf(text, 400,
             "{\"id\":\"%s\",\"destination\":\"shop\",\"state\":\"%s\",\"rate\":\"%s\",\"total\":1,"
             "\"moved\":0,\"succeeded\":0,\"failed\":0,\"created_at\":\"" NOON_TEXT
             "\",\"ended_at\":%s}",
             id_format(ID_REPLAY, id, name), state, rate, ended);
}

static void test_walk(void **state) {
    struct worker *world = *state;
    char expected[400], list[500], path[100], id[ID_TEXT_SIZE];
    dead_shop(world);
    assert_answer(get(world, "/v1/replays"), 200, "{\"items\":[],\"next\":null}");
    struct exchange *exchange = start(world, "{\"destination\":\"shop\"}");
    assert_int_not_equal(world->started, 0);
    replay_text(expected, world->started, "running", "100/m", "null");
    assert_answer(exchange, 202, expected);
    snprintf(list, sizeof list, "{\"items\":[%s],\"next\":null}", expected);
    assert_answer(get(world, "/v1/replays"), 200, list);
    snprintf(path, sizeof path, "/v1/replays/%s", id_format(ID_REPLAY, world->started, id));
    assert_answer(get(world, path), 200, expected);
    assert_problem(start(world, "{\"destination\":\"shop\"}"), 409, "replay_running",
                   "a replay of shop is running");
    snprintf(path, sizeof path, "DELETE /v1/replays/%s", id);
    world->now += SECOND;
    replay_text(expected, world->started, "cancelled", "100/m", "\"2026-03-01T12:00:01.000Z\"");
    assert_answer(ask(world, path, "", ""), 200, expected);
    assert_int_equal(world->cancelled, world->started);
    /* Again: it stays as it is. */
    assert_answer(ask(world, path, "", ""), 200, expected);
}

static void test_rates(void **state) {
    struct worker *world = *state;
    char expected[400], body[100], request[100], id[ID_TEXT_SIZE];
    static const struct {
        const char *rate, *shown;
    } rows[] = {{"\"1/m\"", "1/m"},           {"\"10/s\"", "600/m"}, {"\"90/h\"", "1.5/m"},
                {"\"600000/m\"", "600000/m"}, {"null", "100/m"},     {"\"1/h\"", NULL},
                {"\"600001/m\"", NULL},       {"\"fast\"", NULL},    {"100", NULL}};
    dead_shop(world);
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(body, sizeof body, "{\"destination\":\"shop\",\"rate\":%s}", rows[i].rate);
        struct exchange *exchange = start(world, body);
        if (rows[i].shown == NULL) {
            assert_problem(exchange, 400, "bad_replay", "rate must be");
            continue;
        }
        replay_text(expected, world->started, "running", rows[i].shown, "null");
        assert_answer(exchange, 202, expected);
        snprintf(request, sizeof request, "DELETE /v1/replays/%s",
                 id_format(ID_REPLAY, world->started, id));
        ask(world, request, "", "");
    }
}

static void test_ids(void **state) {
    struct worker *world = *state;
    char body[300];
    dead_shop(world);
    snprintf(body, sizeof body, "{\"destination\":\"shop\",\"ids\":[\"%s\",\"%s\"]}",
             delivery_id(FIRST_ID + 1), delivery_id(FIRST_ID + 7));
    assert_problem(start(world, body), 404, "unknown_dead_letter", delivery_id(FIRST_ID + 7));
    assert_int_equal(world->started, 0);
    /* Named twice it is still one. */
    snprintf(body, sizeof body, "{\"destination\":\"shop\",\"ids\":[\"%s\",\"%s\"]}",
             delivery_id(FIRST_ID + 1), delivery_id(FIRST_ID + 1));
    struct exchange *exchange = start(world, body);
    assert_int_equal(exchange->status, 202);
    assert_non_null(strstr(exchange->answer, "\"total\":1,"));
    assert_int_equal(world->replay_ids, 1);
}

static void test_refused(void **state) {
    struct worker *world = *state;
    int64_t shop = dead_shop(world);
    static const struct {
        const char *body;
        int status;
        const char *code, *detail;
    } rows[] = {
        {"", 400, "bad_json", "empty"},
        {"{}", 400, "bad_replay", "destination must be"},
        {"{\"destination\":1}", 400, "bad_replay", "destination must be"},
        {"{\"destination\":\"shup\"}", 404, "unknown_destination", "shup"},
        {"{\"destination\":\"shop\",\"speed\":1}", 400, "bad_replay", "there is no speed"},
        {"{\"destination\":\"shop\",\"ids\":[]}", 400, "bad_replay", "leave it out for all"},
        {"{\"destination\":\"shop\",\"ids\":\"x\"}", 400, "bad_replay", "leave it out for all"},
        {"{\"destination\":\"shop\",\"ids\":[1]}", 400, "bad_replay", "dlv_…"},
        {"{\"destination\":\"shop\",\"ids\":[\"evt_0000000000001\"]}", 400, "bad_replay", "dlv_…"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_problem(start(world, rows[i].body), rows[i].status, rows[i].code, rows[i].detail);
    atomic_store(&lane_of(world, shop)->stats.state, DESTINATION_DISABLED);
    assert_problem(start(world, "{\"destination\":\"shop\"}"), 409, "destination_disabled",
                   "resume it first");
    assert_int_equal(world->started, 0);
}

static void test_unknown(void **state) {
    struct worker *world = *state;
    static const char *const ids[] = {"x", "evt_0000000000001", "rpl_0000000000001"};
    for (size_t i = 0; i < COUNT(ids); i++) {
        char request[100];
        snprintf(request, sizeof request, "GET /v1/replays/%s", ids[i]);
        assert_problem(ask(world, request, "", ""), 404, "unknown_replay", "no such replay");
        snprintf(request, sizeof request, "DELETE /v1/replays/%s", ids[i]);
        assert_problem(ask(world, request, "", ""), 404, "unknown_replay", "no such replay");
    }
    assert_int_equal(world->cancelled, 0);
}

static void test_store_fails(void **state) {
    struct worker *world = *state;
    dead_shop(world);
    store_memory_fail(world->adapter, "disk full");
    assert_problem(start(world, "{\"destination\":\"shop\"}"), 503, "store_unavailable", "again");
    assert_problem(get(world, "/v1/replays"), 503, "store_unavailable", "again");
    assert_problem(ask(world, "DELETE /v1/replays/rpl_0000000000001", "", ""), 503,
                   "store_unavailable", "again");
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_walk),    WORLD_TEST(test_rates),   WORLD_TEST(test_ids),
        WORLD_TEST(test_refused), WORLD_TEST(test_unknown), WORLD_TEST(test_store_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
