#include "fixture.h"

static void accepted_text(char text[100], int64_t id, int deliveries) {
    snprintf(text, 100, "{\"id\":\"%s\",\"deliveries\":%d}", event_id(id), deliveries);
}

/* What the store has of an event. */
static struct message *message_of(struct worker *world, int64_t id) {
    struct store_get look = {.request = {.kind = STORE_GET}, .id = id};
    assert_int_equal(run_now(world, &look.request), LULL_OK);
    struct message *message = message_share(look.message);
    store_get_clean_up(&look);
    return message;
}

static void test_to_one(void **state) {
    struct worker *world = *state;
    char expected[100];
    create(world, "shop", "");
    struct exchange *exchange = ask_bytes(
        world, "POST /v1/destinations/shop/events?type=order.paid",
        "Content-Type: application/json\nContent-Encoding: gzip\ntraceparent: 00-ab-cd-01\n"
        "TraceState: a=1\nX-Other: no\n",
        "a\0b\xFF", 4);
    accepted_text(expected, FIRST_ID, 1);
    assert_answer(exchange, 202, expected);
    assert_null(field(exchange, "Idempotency-Replayed"));
    struct message *message = message_of(world, FIRST_ID);
    assert_string_equal(message->type, "order.paid");
    assert_string_equal(message->content_type, "application/json");
    assert_string_equal(message->headers,
                        "Content-Encoding: gzip\ntraceparent: 00-ab-cd-01\ntracestate: a=1\n");
    assert_int_equal(message->payload_length, 4);
    assert_memory_equal(message->payload, "a\0b\xFF", 4);
    message_release(message);
    /* Nothing but the body is needed, and not even that. */
    accepted_text(expected, FIRST_ID + 2, 1);
    assert_answer(ask(world, "POST /v1/destinations/shop/events", "", ""), 202, expected);
}

static void test_fan_out(void **state) {
    struct worker *world = *state;
    char expected[100];
    create(world, "a", ",\"types\":[\"order.*\"]");
    create(world, "b", ",\"types\":[\"order.paid\",\"x\"]");
    create(world, "c", ",\"types\":[\"*\"]");
    create(world, "d", "");
    int64_t gone = create(world, "e", ",\"types\":[\"*\"]");
    atomic_store(&lane_of(world, gone)->stats.state, DESTINATION_DISABLED);
    accepted_text(expected, FIRST_ID, 3);
    assert_answer(ask(world, "POST /v1/events?type=order.paid", "", "x"), 202, expected);
    accepted_text(expected, FIRST_ID + 4, 1);
    assert_answer(ask(world, "POST /v1/events?type=nothing", "", "x"), 202, expected);
}

static void test_no_subscribers(void **state) {
    struct worker *world = *state;
    char expected[100];
    accepted_text(expected, FIRST_ID, 0);
    assert_answer(ask(world, "POST /v1/events?type=order.paid", "", "x"), 202, expected);
}

static void test_wide_fan_out(void **state) {
    struct worker *world = *state;
    char name[20], expected[100];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "d%d", i);
        create(world, name, ",\"types\":[\"*\"]");
    }
    accepted_text(expected, FIRST_ID, 1000);
    assert_answer(ask(world, "POST /v1/events?type=t", "", "x"), 202, expected);
    create(world, "onemore", ",\"types\":[\"*\"]");
    assert_problem(ask(world, "POST /v1/events?type=t", "", "x"), 409, "too_many_destinations",
                   "more than 1000");
    assert_problem(ask(world, "POST /v1/events:batch", "", "{\"type\":\"t\",\"payload\":1}"), 409,
                   "too_many_destinations", "line 1: more than 1000");
    assert_int_equal(ask(world, "POST /v1/destinations/onemore/events", "", "x")->status, 202);
}

static void test_refused(void **state) {
    struct worker *world = *state;
    char long_text[300];
    memset(long_text, 'x', 256);
    long_text[256] = '\0';
    char long_type[400], long_key[400], long_content_type[400];
    snprintf(long_type, sizeof long_type, "POST /v1/events?type=%s", long_text);
    snprintf(long_key, sizeof long_key, "Idempotency-Key: %s", long_text);
    snprintf(long_content_type, sizeof long_content_type, "Content-Type: %s", long_text);
    create(world, "shop", "");
    const struct {
        const char *request, *headers;
        int status;
        const char *code, *detail;
    } rows[] = {
        {"POST /v1/destinations/shup/events", "", 404, "unknown_destination",
         "there is no destination shup"},
        {"POST /v1/destinations/%ff/events", "", 404, "unknown_destination", "\xEF\xBF\xBD"},
        {"POST /v1/events", "", 400, "bad_type", "type is missing"},
        {"POST /v1/events?type=", "", 400, "bad_type", "must not be empty"},
        {"POST /v1/events?type=a%0d%0aX-Evil:1", "", 400, "bad_type", "control characters"},
        {"POST /v1/events?type=%ff", "", 400, "bad_type", "UTF-8"},
        {long_type, "", 400, "bad_type", "at most 255"},
        {"POST /v1/destinations/shop/events?type=", "", 400, "bad_type", "must not be empty"},
        {"POST /v1/events?type=t", "Content-Type: a\rb\n", 400, "bad_header", "content type"},
        {"POST /v1/events?type=t", "Content-Type: a\xC3\xA9\n", 400, "bad_header", "content type"},
        {"POST /v1/events?type=t", long_content_type, 400, "bad_header", "at most 255"},
        {"POST /v1/events?type=t", "Content-Encoding: a\rb\n", 400, "bad_header",
         "Content-Encoding must be"},
        {"POST /v1/events?type=t", "traceparent: a\x01\n", 400, "bad_header", "traceparent must"},
        {"POST /v1/events?type=t", "tracestate: \x7F\n", 400, "bad_header", "tracestate must"},
        {"POST /v1/events?type=t", "Idempotency-Key: \n", 400, "bad_key", "must not be empty"},
        {"POST /v1/events?type=t", "Idempotency-Key: a\tb\n", 400, "bad_key", "control"},
        {"POST /v1/events?type=t", "Idempotency-Key: \xFF\n", 400, "bad_key", "UTF-8"},
        {"POST /v1/events?type=t", long_key, 400, "bad_key", "at most 255"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_problem(ask(world, rows[i].request, rows[i].headers, "x"), rows[i].status,
                       rows[i].code, rows[i].detail);
}

static void test_long_headers(void **state) {
    struct worker *world = *state;
    static char headers[9000];
    create(world, "shop", "");
    /* "tracestate: …\n" and the NUL after it just fit. */
    size_t most = MESSAGE_HEADERS_LONGEST - strlen("tracestate: \n") - 1;
    for (size_t length = most; length <= most + 1; length++) {
        memset(headers, 'x', sizeof headers);
        memcpy(headers, "tracestate: ", 12);
        headers[12 + length] = '\0';
        struct exchange *exchange = ask(world, "POST /v1/destinations/shop/events", headers, "x");
        if (length == most)
            assert_int_equal(exchange->status, 202);
        else
            assert_problem(exchange, 400, "bad_header", "tracestate is too long; 8192 bytes");
    }
}

static void test_states(void **state) {
    struct worker *world = *state;
    int64_t id = create(world, "shop", "");
    atomic_store(&lane_of(world, id)->stats.state, DESTINATION_PAUSED);
    assert_int_equal(ask(world, "POST /v1/destinations/shop/events", "", "x")->status, 202);
    atomic_store(&lane_of(world, id)->stats.state, DESTINATION_DISABLED);
    assert_problem(ask(world, "POST /v1/destinations/shop/events", "", "x"), 409,
                   "destination_disabled", "POST /v1/destinations/shop/resume");
}

static void test_idempotency(void **state) {
    struct worker *world = *state;
    char expected[100], replayed[100];
    create(world, "shop", ",\"types\":[\"t\"]");
    create(world, "bank", "");
    accepted_text(expected, FIRST_ID, 1);
    snprintf(replayed, sizeof replayed, "{\"id\":\"%s\"}", event_id(FIRST_ID));
    const char *request = "POST /v1/destinations/shop/events?type=t";
    const char *headers = "Idempotency-Key: K 1\nContent-Type: text/plain\n";
    assert_answer(ask(world, request, headers, "x"), 202, expected);
    struct exchange *exchange = ask(world, request, headers, "x");
    assert_answer(exchange, 202, replayed);
    assert_string_equal(field(exchange, "Idempotency-Replayed"), "true");
    /* A trace differs from try to try. */
    exchange = ask(world, request,
                   "Idempotency-Key: K 1\nContent-Type: text/plain\ntraceparent: 00-1-1-01\n", "x");
    assert_answer(exchange, 202, replayed);
    const struct {
        const char *request, *headers, *body;
    } others[] = {
        {request, headers, "y"},
        {request, headers, ""},
        {request, "Idempotency-Key: K 1\nContent-Type: text/html\n", "x"},
        {request, "Idempotency-Key: K 1\nContent-Type: text/plaim\n", "x"},
        {request, "Idempotency-Key: K 1\n", "x"},
        {"POST /v1/destinations/shop/events?type=u", headers, "x"},
        {"POST /v1/destinations/shop/events", headers, "x"},
        {"POST /v1/destinations/bank/events?type=t", headers, "x"},
        {"POST /v1/events?type=t", headers, "x"},
    };
    for (size_t i = 0; i < COUNT(others); i++)
        assert_problem(ask(world, others[i].request, others[i].headers, others[i].body), 422,
                       "key_reused", "another event");
    world->now += LULL_DAY;
    assert_int_equal(ask(world, request, headers, "y")->status, 202);
}

static void test_store_fails(void **state) {
    struct worker *world = *state;
    create(world, "shop", "");
    store_memory_fail(world->adapter, "disk full");
    struct exchange *exchange = ask(world, "POST /v1/destinations/shop/events", "", "x");
    assert_problem(exchange, 503, "store_unavailable", "nothing of it has happened");
    assert_string_equal(field(exchange, "Retry-After"), "1");
    assert_problem(
        ask(world, "POST /v1/events:batch", "", "{\"destination\":\"shop\",\"payload\":1}\n"), 503,
        "store_unavailable", "nothing of it has happened");
}

/* Removed between the look-up and the commit. */
static void test_vanishing(void **state) {
    struct worker *world = *state;
    world->vanishing = create(world, "shop", ",\"types\":[\"t\"]");
    assert_problem(ask(world, "POST /v1/destinations/shop/events", "", "x"), 404,
                   "unknown_destination", "removed meanwhile");
    char expected[100];
    accepted_text(expected, FIRST_ID + 2, 0);
    assert_answer(ask(world, "POST /v1/events?type=t", "", "x"), 202, expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_to_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fan_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_subscribers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wide_fan_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idempotency, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_store_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vanishing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
