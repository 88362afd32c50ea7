#include "fixture.h"

static struct exchange *send_batch(struct worker *world, const char *body) {
    return ask(world, "POST /v1/events:batch", "Content-Type: application/x-ndjson\n", body);
}

static struct message *message_of(struct worker *world, int64_t id) {
    struct store_get look = {.request = {.kind = STORE_GET}, .id = id};
    assert_int_equal(run_now(world, &look.request), LULL_OK);
    struct message *message = message_share(look.message);
    store_get_clean_up(&look);
    return message;
}

static void assert_message(struct worker *world, int64_t id, const char *type,
                           const char *content_type, const char *payload) {
    struct message *message = message_of(world, id);
    assert_string_equal(message->type, type);
    assert_string_equal(message->content_type, content_type);
    assert_string_equal(message->payload, payload);
    assert_int_equal(message->payload_length, strlen(payload));
    message_release(message);
}

static void test_batch(void **state) {
    struct worker *world = *state;
    char expected[300];
    create(world, "shop", "");
    create(world, "a", ",\"types\":[\"order.*\"]");
    create(world, "b", ",\"types\":[\"order.*\"]");
    struct exchange *exchange = send_batch(
        world,
        "{\"destination\":\"shop\",\"payload\":{\"n\": 1.0}}\n"
        "\n"
        "{\"type\":\"order.paid\",\"payload\":\"te\\u0078t\",\"content_type\":\"text/csv\"}\r\n"
        "{\"type\":\"order.paid\",\"payload\":\"a\"}\n"
        "{\"destination\":\"shop\",\"type\":\"t\",\"payload\":[]}");
    snprintf(expected, sizeof expected, "{\"accepted\":4,\"ids\":[\"%s\",\"%s\",\"%s\",\"%s\"]}",
             event_id(FIRST_ID), event_id(FIRST_ID + 2), event_id(FIRST_ID + 5),
             event_id(FIRST_ID + 8));
    assert_answer(exchange, 202, expected);
    assert_message(world, FIRST_ID, "", "application/json", "{\"n\": 1.0}");
    assert_message(world, FIRST_ID + 2, "order.paid", "text/csv", "text");
    assert_message(world, FIRST_ID + 5, "order.paid", "text/plain; charset=utf-8", "a");
    assert_message(world, FIRST_ID + 8, "t", "application/json", "[]");
}

/* A name and a type may be the same word; from line to line it is not mistaken. */
static void test_name_or_type(void **state) {
    struct worker *world = *state;
    create(world, "t", "");
    create(world, "a", ",\"types\":[\"t\"]");
    create(world, "b", ",\"types\":[\"t\"]");
    char expected[300];
    struct exchange *exchange = send_batch(
        world, "{\"destination\":\"t\",\"payload\":1}\n{\"type\":\"t\",\"payload\":2}\n"
               "{\"destination\":\"t\",\"payload\":3}\n{\"type\":\"t\",\"payload\":4}\n");
    /* Ids leave room for one, two, one and two deliveries. */
    snprintf(expected, sizeof expected, "{\"accepted\":4,\"ids\":[\"%s\",\"%s\",\"%s\",\"%s\"]}",
             event_id(FIRST_ID), event_id(FIRST_ID + 2), event_id(FIRST_ID + 5),
             event_id(FIRST_ID + 7));
    assert_answer(exchange, 202, expected);
}

#define GOOD "{\"destination\":\"shop\",\"payload\":1}\n"

static void test_errors(void **state) {
    struct worker *world = *state;
    create(world, "shop", "");
    int64_t off = create(world, "off", "");
    atomic_store(&lane_of(world, off)->stats.state, DESTINATION_DISABLED);
    static const struct {
        const char *body;
        int status, line;
        const char *code, *detail;
    } rows[] = {
        {"", 400, 0, "bad_batch", "no event in it"},
        {" \n\r\n", 400, 0, "bad_batch", "no event in it"},
        {GOOD "{", 400, 2, "bad_batch", "line 2: column 2: here must be a name"},
        {GOOD "\n\n" GOOD "{\"destination\":\"shop\"}", 400, 5, "bad_batch",
         "line 5: payload is missing"},
        {GOOD "{\"destination\":\"shup\",\"payload\":1}", 400, 2, "unknown_destination",
         "line 2: there is no destination shup"},
        {"{\"destination\":\"shop\\u0000x\",\"payload\":1}", 400, 1, "unknown_destination",
         "line 1: there is no destination shop"},
        {"{\"destination\":\"\",\"payload\":1}", 400, 1, "unknown_destination", "line 1"},
        {"{\"destination\":\"_alerts\",\"payload\":1}", 400, 1, "unknown_destination", "_alerts"},
        {GOOD "{\"destination\":\"off\",\"payload\":1}", 409, 2, "destination_disabled",
         "line 2: off is disabled"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct exchange *exchange = send_batch(world, rows[i].body);
        assert_problem(exchange, rows[i].status, rows[i].code, rows[i].detail);
        json_t *problem = json_loads(exchange->answer, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(problem, "line")), rows[i].line);
        json_decref(problem);
    }
    /* Nothing of all that was accepted. */
    assert_answer(get(world, "/v1/events"), 200, "{\"items\":[],\"next\":null}");
}

static void test_long_name(void **state) {
    struct worker *world = *state;
    char name[400], body[500];
    memset(name, 'x', 300);
    name[300] = '\0';
    snprintf(body, sizeof body, "{\"destination\":\"%s\",\"payload\":1}", name);
    assert_problem(send_batch(world, body), 400, "unknown_destination", "line 1: there is no");
}

static void test_keys(void **state) {
    struct worker *world = *state;
    char expected[400];
    create(world, "shop", "");
    struct exchange *exchange =
        send_batch(world, "{\"destination\":\"shop\",\"payload\":1,\"key\":\"K\"}\n"
                          "{\"destination\":\"shop\",\"payload\":1,\"key\":\"K\"}\n"
                          "{\"destination\":\"shop\",\"payload\":2,\"key\":\"K\"}\n"
                          "{\"destination\":\"shop\",\"payload\":2,\"key\":\"L\"}\n");
    snprintf(expected, sizeof expected,
             "{\"accepted\":3,\"ids\":[\"%s\",\"%s\",null,\"%s\"],\"errors\":[{\"line\":3,\"code\":"
             "\"key_reused\",\"detail\":\"this idempotency key was used for another event in the "
             "last 24 hours\"}]}",
             event_id(FIRST_ID), event_id(FIRST_ID), event_id(FIRST_ID + 2));
    assert_answer(exchange, 202, expected);
    /* The same event, sent alone. */
    exchange = ask(world, "POST /v1/destinations/shop/events",
                   "Idempotency-Key: K\nContent-Type: application/json\n", "1");
    assert_string_equal(field(exchange, "Idempotency-Replayed"), "true");
}

static void test_vanishing(void **state) {
    struct worker *world = *state;
    char expected[400];
    create(world, "bank", "");
    world->vanishing = create(world, "shop", ",\"types\":[\"t\"]");
    struct exchange *exchange = send_batch(world, "{\"destination\":\"bank\",\"payload\":1}\n" GOOD
                                                  "{\"type\":\"t\",\"payload\":1}\n");
    snprintf(expected, sizeof expected,
             "{\"accepted\":2,\"ids\":[\"%s\",null,\"%s\"],\"errors\":[{\"line\":2,\"code\":"
             "\"unknown_destination\",\"detail\":\"the destination was removed meanwhile\"}]}",
             event_id(FIRST_ID), event_id(FIRST_ID + 4));
    assert_answer(exchange, 202, expected);
}

/* The answer and the order hold for more than fits into the first arrays. */
static void test_many(void **state) {
    struct worker *world = *state;
    char *body = NULL, name[20];
    size_t length;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "d%d", i);
        create(world, name, "");
    }
    FILE *stream = open_memstream(&body, &length);
    for (int i = 0; i < 3000; i++)
        fprintf(stream, "{\"destination\":\"d%d\",\"payload\":%d}\n", i % 3, i);
    fclose(stream);
    struct exchange *exchange = send_batch(world, body);
    free(body);
    json_t *answer = json_loads(exchange->answer, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(answer, "accepted")), 3000);
    const json_t *ids = json_object_get(answer, "ids");
    assert_int_equal(json_array_size(ids), 3000);
    for (int i = 0; i < 3000; i += 777) {
        int64_t id;
        char payload[20];
        assert_true(id_parse(ID_EVENT, json_string_value(json_array_get(ids, (size_t)i)), &id));
        snprintf(payload, sizeof payload, "%d", i);
        assert_message(world, id, "", "application/json", payload);
    }
    json_decref(answer);
}

static void test_too_many_deliveries(void **state) {
    struct worker *world = *state;
    char *body = NULL, name[20];
    size_t length;
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "d%d", i);
        create(world, name, ",\"types\":[\"t\"]");
    }
    FILE *stream = open_memstream(&body, &length);
    for (int i = 0; i < 101; i++)
        fputs("{\"type\":\"t\",\"payload\":1}\n", stream);
    fclose(stream);
    assert_problem(send_batch(world, body), 413, "too_many_deliveries",
                   "line 101: a batch may have 100000");
    free(body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_name_or_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vanishing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many_deliveries, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
