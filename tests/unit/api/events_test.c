#include "fixture.h"

static void send_one(struct worker *world, const char *headers, const char *body) {
    assert_int_equal(
        ask(world, "POST /v1/destinations/shop/events?type=order.paid", headers, body)->status,
        202);
}

static struct exchange *show(struct worker *world, const char *folder, const char *id) {
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, id);
    return get(world, path);
}

#define TRACE                                                                                      \
    "\"trace\":[{\"number\":1,\"began_at\":\"2026-03-01T12:00:00.987Z\",\"took_ms\":12.5,"         \
    "\"outcome\":\"transient\",\"status\":503,\"error\":\"it answered 503\",\"excerpt\":"          \
    "\"over\xEF\xBF\xBDload\"}]"

static void test_show(void **state) {
    struct worker *world = *state;
    char expected[900];
    int64_t shop = create(world, "shop", "");
    send_one(world, "Content-Type: text/plain\n", "hello");
    snprintf(
        expected, sizeof expected,
        "{\"id\":\"%s\",\"type\":\"order.paid\",\"content_type\":\"text/plain\",\"accepted_at\":"
        "\"" NOON_TEXT "\",\"payload_bytes\":5,\"deliveries\":[{\"id\":\"%s\",\"destination\":"
        "\"shop\",\"state\":\"pending\",\"attempts\":0,\"at\":\"" NOON_TEXT
        "\",\"reason\":null,\"trace\":[]}]}",
        event_id(FIRST_ID), delivery_id(FIRST_ID + 1));
    assert_answer(show(world, "/v1/events", event_id(FIRST_ID)), 200, expected);
    fail_first(world, shop, true);
    snprintf(
        expected, sizeof expected,
        "{\"id\":\"%s\",\"type\":\"order.paid\",\"content_type\":\"text/plain\",\"accepted_at\":"
        "\"" NOON_TEXT "\",\"payload_bytes\":5,\"deliveries\":[{\"id\":\"%s\",\"destination\":"
        "\"shop\",\"state\":\"dead\",\"attempts\":1,\"at\":\"2026-03-01T12:00:01.000Z\","
        "\"reason\":\"all attempts are spent\"," TRACE "}]}",
        event_id(FIRST_ID), delivery_id(FIRST_ID + 1));
    assert_answer(show(world, "/v1/events", event_id(FIRST_ID)), 200, expected);
    /* By its delivery's id it is the same. */
    assert_answer(show(world, "/v1/events", delivery_id(FIRST_ID + 1)), 200, expected);
}

static void test_unknown(void **state) {
    struct worker *world = *state;
    static const char *const ids[] = {"evt_",
                                      "x",
                                      "%ff",
                                      "evt_0000000000000",
                                      "evt_0000000000001",
                                      "rpl_0000000000001",
                                      "dlv_0000000000001"};
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_problem(show(world, "/v1/events", ids[i]), 404, "unknown_event", "no such event");
        assert_problem(show(world, "/v1/dlq", ids[i]), 404, "unknown_dead_letter", "dead letter");
        char request[100];
        snprintf(request, sizeof request, "DELETE /v1/dlq/%s", ids[i]);
        assert_problem(ask(world, request, "", ""), 404, "unknown_dead_letter", "dead letter");
    }
}

static void test_list(void **state) {
    struct worker *world = *state;
    char of_shop[400], of_bank[400], expected[900];
    int64_t shop = create(world, "shop", "");
    create(world, "bank", "");
    send_one(world, "", "a");
    fail_first(world, shop, false);
    ask(world, "POST /v1/destinations/bank/events", "", "b");
    snprintf(of_shop, sizeof of_shop,
             "{\"id\":\"%s\",\"event\":\"%s\",\"destination\":\"shop\",\"type\":"
             "\"order.paid\",\"state\":\"pending\",\"attempts\":1,\"at\":"
             "\"2026-03-01T12:01:00.000Z\",\"accepted_at\":\"" NOON_TEXT
             "\",\"error\":\"it answered 503\",\"status\":503}",
             delivery_id(FIRST_ID + 1), event_id(FIRST_ID));
    snprintf(of_bank, sizeof of_bank,
             "{\"id\":\"%s\",\"event\":\"%s\","
             "\"destination\":\"bank\",\"type\":null,\"state\":\"pending\",\"attempts\":0,\"at\":"
             "\"" NOON_TEXT "\",\"accepted_at\":\"" NOON_TEXT "\",\"error\":null,\"status\":null}",
             delivery_id(FIRST_ID + 3), event_id(FIRST_ID + 2));
    /* The last accepted first; of one state: destination by destination. */
    snprintf(expected, sizeof expected, "{\"items\":[%s,%s],\"next\":null}", of_bank, of_shop);
    assert_answer(get(world, "/v1/events"), 200, expected);
    assert_answer(get(world, "/v1/events?state=&destination=&colour=red"), 200, expected);
    snprintf(expected, sizeof expected, "{\"items\":[%s,%s],\"next\":null}", of_shop, of_bank);
    assert_answer(get(world, "/v1/events?state=pending"), 200, expected);
    assert_answer(get(world, "/v1/events?state=dead"), 200, "{\"items\":[],\"next\":null}");
    assert_answer(get(world, "/v1/events?state=delivered"), 200, "{\"items\":[],\"next\":null}");
    assert_non_null(strstr(get(world, "/v1/events?destination=bank")->answer, "\"bank\""));
    assert_null(strstr(get(world, "/v1/events?destination=bank")->answer, "\"shop\""));
    assert_problem(get(world, "/v1/events?state=late"), 400, "bad_state", "pending, delivered");
    assert_problem(get(world, "/v1/events?destination=shup"), 404, "unknown_destination", "shup");
    assert_problem(get(world, "/v1/events?limit=0"), 400, "bad_limit", "limit");
}

/* Page by page, each delivery comes once. */
static void test_pages(void **state) {
    struct worker *world = *state;
    char path[200] = "/v1/events?limit=2";
    int seen = 0, pages = 0;
    create(world, "shop", "");
    create(world, "bank", "");
    for (int i = 0; i < 5; i++)
        send_one(world, "", "a");
    ask(world, "POST /v1/destinations/bank/events", "", "b");
    for (; path[0] != '\0'; pages++) {
        json_t *page = json_loads(get(world, path)->answer, 0, NULL);
        assert_in_range(json_array_size(json_object_get(page, "items")), 0, 2);
        seen += (int)json_array_size(json_object_get(page, "items"));
        const char *next = json_string_value(json_object_get(page, "next"));
        if (next != NULL)
            snprintf(path, sizeof path, "/v1/events?limit=2&cursor=%s", next);
        else
            path[0] = '\0';
        json_decref(page);
        assert_in_range(pages, 0, 20);
    }
    assert_int_equal(seen, 6);
    assert_in_range(pages, 3, 20);
}

static void test_bad_cursors(void **state) {
    struct worker *world = *state;
    create(world, "shop", "");
    static const char *const paths[] = {
        "/v1/events?cursor=",
        "/v1/events?cursor=garbage",
        "/v1/events?cursor=1.0.0",
        "/v1/dlq?cursor=1.0.0.0", /* not a dead one */
        "/v1/events?state=dead&cursor=1.2.0.0",
        "/v1/events?state=pending&destination=shop&cursor=2.0.0.0",
        "/v1/events?cursor=1.0.0.0",                                 /* of a list of some states */
        "/v1/events?state=pending&cursor=9223372036854775807.0.0.5", /* of one of all */
    };
    for (size_t i = 0; i < COUNT(paths); i++) {
        assert_problem(get(world, paths[i]), 400, "bad_cursor", "cursor");
    }
    assert_int_equal(get(world, "/v1/events?state=pending&destination=shop&cursor=1.0.0.0")->status,
                     200);
}

/* ---- dead letters ---- */

static void test_dead_letters(void **state) {
    struct worker *world = *state;
    char item[600], expected[1500];
    int64_t shop = create(world, "shop", "");
    send_one(world, "Content-Type: text/plain\ntraceparent: 00-ab-cd-01\nContent-Encoding: x: y\n",
             "h\"i");
    assert_answer(get(world, "/v1/dlq"), 200, "{\"items\":[],\"next\":null}");
    assert_problem(show(world, "/v1/dlq", delivery_id(FIRST_ID + 1)), 404, "unknown_dead_letter",
                   "replayed or dropped");
    fail_first(world, shop, true);
    snprintf(item, sizeof item,
             "{\"id\":\"%s\",\"event\":\"%s\",\"destination\":\"shop\",\"type\":\"order.paid\","
             "\"failures\":1,\"first_failed_at\":\"2026-03-01T12:00:01.000Z\",\"last_failed_at\":"
             "\"2026-03-01T12:00:00.999Z\",\"died_at\":\"2026-03-01T12:00:01.000Z\",\"reason\":"
             "\"all attempts are spent\",\"error\":\"it answered 503\",\"status\":503",
             delivery_id(FIRST_ID + 1), event_id(FIRST_ID));
    snprintf(expected, sizeof expected, "{\"items\":[%s}],\"next\":null}", item);
    assert_answer(get(world, "/v1/dlq"), 200, expected);
    assert_answer(get(world, "/v1/dlq?destination=shop"), 200, expected);
    assert_problem(get(world, "/v1/dlq?destination=x"), 404, "unknown_destination", "x");
    snprintf(expected, sizeof expected,
             "%s,\"content_type\":\"text/plain\",\"headers\":{\"Content-Encoding\":\"x: y\","
             "\"traceparent\":\"00-ab-cd-01\"},\"accepted_at\":\"" NOON_TEXT
             "\",\"payload\":\"h\\\"i\"," TRACE "}",
             item);
    assert_answer(show(world, "/v1/dlq", delivery_id(FIRST_ID + 1)), 200, expected);
    char request[100];
    snprintf(request, sizeof request, "DELETE /v1/dlq/%s", delivery_id(FIRST_ID + 1));
    assert_int_equal(ask(world, request, "", "")->status, 204);
    assert_int_equal(world->dropped, 1);
    assert_int_equal(world->dropped_of, shop);
    assert_problem(ask(world, request, "", ""), 404, "unknown_dead_letter", "dead letter");
    assert_int_equal(world->dropped, 1);
}

static void test_binary_payload(void **state) {
    struct worker *world = *state;
    int64_t shop = create(world, "shop", "");
    ask_bytes(world, "POST /v1/destinations/shop/events", "", "\xFF\0\x01\x02", 4);
    fail_first(world, shop, true);
    struct exchange *exchange = show(world, "/v1/dlq", delivery_id(FIRST_ID + 1));
    assert_non_null(strstr(exchange->answer, ",\"payload_base64\":\"/wABAg==\",\"trace\""));
    assert_null(strstr(exchange->answer, "\"payload\""));
    assert_non_null(strstr(exchange->answer, "\"content_type\":null,\"headers\":{},"));
}

/* What belonged to a destination that is gone is still shown. */
static void test_removed_destination(void **state) {
    struct worker *world = *state;
    int64_t shop = create(world, "shop", "");
    send_one(world, "", "a");
    fail_first(world, shop, true);
    registry_remove(world->registry, shop);
    assert_non_null(strstr(get(world, "/v1/dlq")->answer, "\"destination\":null"));
}

static void test_store_fails(void **state) {
    struct worker *world = *state;
    static const char *const requests[] = {"GET /v1/events", "GET /v1/events/evt_0000000000001",
                                           "GET /v1/dlq", "GET /v1/dlq/dlv_0000000000001",
                                           "DELETE /v1/dlq/dlv_0000000000001"};
    store_memory_fail(world->adapter, "disk full");
    for (size_t i = 0; i < COUNT(requests); i++)
        assert_problem(ask(world, requests[i], "", ""), 503, "store_unavailable", "try again");
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_show),           WORLD_TEST(test_unknown),
        WORLD_TEST(test_list),           WORLD_TEST(test_pages),
        WORLD_TEST(test_bad_cursors),    WORLD_TEST(test_dead_letters),
        WORLD_TEST(test_binary_payload), WORLD_TEST(test_removed_destination),
        WORLD_TEST(test_store_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
