#include "fixture.h"

#include "api/route.h"

static void assert_route(const char *method, const char *path, const char *pattern,
                         const char *wanted) {
    char parameter[PARAMETER_SIZE], allow[ALLOW_SIZE];
    const struct route *route = route_find(method, path, parameter, allow);
    assert_non_null(route);
    assert_string_equal(route->pattern, pattern);
    assert_string_equal(parameter, wanted);
}

static void test_routes(void **state) {
    (void)state;
    assert_route("POST", "/v1/destinations/shop/events", "/v1/destinations/{name}/events", "shop");
    assert_route("POST", "/v1/destinations/a%2Fb%ff/events", "/v1/destinations/{name}/events",
                 "a/b\xFF");
    assert_route("POST", "/v1/events%3Abatch", "/v1/events:batch", "");
    assert_route("GET", "/v1/dlq/dlv_1", "/v1/dlq/{id}", "dlv_1");
    assert_route("POST", "/v1/dlq/replay", "/v1/dlq/replay", "");
    assert_route("HEAD", "/healthz", "/healthz", "");
    assert_route("GET", "/", "/", "");
}

static void test_no_routes(void **state) {
    (void)state;
    static const struct {
        const char *method, *path, *allow;
    } rows[] = {
        {"GET", "", ""},
        {"GET", "*", ""},
        {"GET", "/v1", ""},
        {"GET", "//", ""},
        {"GET", "/v1/events/", ""},
        {"GET", "/v1/destinations//", ""},
        {"POST", "/v1/destinations//events", ""},
        {"GET", "/v1/destinations/%00", ""},
        {"GET", "/v1/destinations/%4", ""},
        {"GET", "/V1/events", ""},
        {"PUT", "/v1/destinations/shop", "GET, HEAD, PATCH, DELETE"},
        {"GET", "/v1/dlq/replay", "POST"},
        {"DELETE", "/v1/events", "POST, GET, HEAD"},
        {"POST", "/", "GET, HEAD"},
        {"get", "/", "GET, HEAD"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char parameter[PARAMETER_SIZE], allow[ALLOW_SIZE];
        assert_null(route_find(rows[i].method, rows[i].path, parameter, allow));
        assert_string_equal(allow, rows[i].allow);
    }
}

/* Each route leads somewhere. */
static void test_every_route_answers(void **state) {
    struct worker *world = *state;
    const struct route *route;
    for (size_t i = 0; (route = route_at(i)) != NULL; i++) {
        char request[200];
        snprintf(request, sizeof request, "%s %s", route->method, route->pattern);
        struct exchange *exchange = ask(world, request, "", "");
        assert_in_range(exchange->status, 200, 404);
        assert_int_not_equal(exchange->status, 405);
    }
}

static void test_not_found(void **state) {
    assert_problem(get(*state, "/nowhere"), 404, "not_found", "there is no path /nowhere");
    assert_problem(get(*state, "/no\xFFwhere"), 404, "not_found", "/no\xEF\xBF\xBDwhere");
    struct exchange *exchange = ask(*state, "PUT /v1/events", "", "");
    assert_problem(exchange, 405, "method_not_allowed", "PUT is not for this path; it takes POST");
    assert_string_equal(field(exchange, "Allow"), "POST, GET, HEAD");
}

static void test_pages(void **state) {
    struct worker *world = *state;
    struct exchange *exchange = get(world, "/healthz");
    assert_string_equal(exchange->answer, "ok\n");
    assert_int_equal(exchange->status, 200);
    assert_string_equal(get(world, "/readyz")->answer, "ready\n");
    world->ready = false;
    assert_problem(get(world, "/readyz"), 503, "not_ready", "the store cannot write: disk full");
    exchange = get(world, "/");
    assert_string_equal(exchange->content_type, "text/html; charset=utf-8");
    assert_non_null(strstr(exchange->answer, "/v1/openapi.json"));
}

static void test_body_limits(void **state) {
    struct worker *world = *state;
    world->config.limits.body = 100;
    world->config.limits.batch = 200;
    static const struct {
        const char *method, *path;
        int64_t limit;
    } rows[] = {
        {"POST", "/v1/events", 100},       {"POST", "/v1/destinations/shop/events", 100},
        {"POST", "/v1/events:batch", 200}, {"POST", "/v1/destinations", 1 << 20},
        {"POST", "/nowhere", 1 << 20},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct exchange exchange = {.method = (char *)rows[i].method, .path = (char *)rows[i].path};
        assert_int_equal(api_body_limit(&world->config, &exchange), rows[i].limit);
    }
    /* Nobody without a token makes us keep much. */
    world->config.auth.token_count = 1;
    strcpy(world->config.auth.tokens[0].text, "first-token");
    world->config.limits.batch = 1 << 24;
    struct exchange exchange = {.method = (char *)"POST", .path = (char *)"/v1/events:batch"};
    assert_int_equal(api_body_limit(&world->config, &exchange), 16 << 10);
    exchange.headers[0] = (struct pair){(char *)"Authorization", (char *)"Bearer first-token"};
    assert_int_equal(api_body_limit(&world->config, &exchange), 1 << 24);
}

static void test_problem(void **state) {
    (void)state;
    size_t length;
    char *problem = api_problem(413, "too_large", "at most 1 MiB \xFF", &length);
    assert_string_equal(problem,
                        "{\"type\":\"about:blank\",\"title\":\"Content Too Large\",\"status\":413,"
                        "\"code\":\"too_large\",\"detail\":\"at most 1 MiB \xEF\xBF\xBD\"}");
    assert_int_equal(length, strlen(problem));
    free(problem);
}

/* ---- who may ask ---- */

static void with_tokens(struct worker *world) {
    world->config.auth.token_count = 2;
    strcpy(world->config.auth.tokens[0].text, "first-token");
    strcpy(world->config.auth.tokens[1].text, "second");
    /* Whatever stands behind a token's end means nothing. */
    strcpy(world->config.auth.tokens[1].text + 7, "rest");
}

static void test_tokens(void **state) {
    struct worker *world = *state;
    static const struct {
        const char *headers;
        int status;
    } rows[] = {
        {"Authorization: Bearer first-token\n", 200},
        {"Authorization: bearer   second\n", 200},
        {"Authorization: Bearer secon\n", 401},
        {"Authorization: Bearer seconds\n", 401},
        {"Authorization: Bearer \n", 401},
        {"Authorization: Bearer\n", 401},
        {"Authorization: Basic second\n", 401},
        {"Authorization: second\n", 401},
        {"", 401},
    };
    with_tokens(world);
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(ask(world, "GET /v1/destinations", rows[i].headers, "")->status,
                         rows[i].status);
    struct exchange *exchange = ask(world, "GET /nowhere", "", "");
    assert_problem(exchange, 401, "unauthorized", "Authorization: Bearer TOKEN");
    assert_string_equal(field(exchange, "WWW-Authenticate"), "Bearer realm=\"lull\"");
    exchange = ask(world, "GET /metrics", "Authorization: Bearer nope\n", "");
    assert_problem(exchange, 401, "unauthorized", "not one of auth.tokens");
    assert_string_equal(field(exchange, "WWW-Authenticate"),
                        "Bearer realm=\"lull\", error=\"invalid_token\"");
    assert_int_equal(get(world, "/healthz")->status, 200);
    assert_int_equal(get(world, "/readyz")->status, 401);
}

static void test_long_token(void **state) {
    struct worker *world = *state;
    char headers[600] = "Authorization: Bearer ";
    with_tokens(world);
    memset(headers + strlen(headers), 'x', 500);
    assert_int_equal(ask(world, "GET /metrics", headers, "")->status, 401);
}

/* Pages of other sites may be open in a browser on the same machine. */
static void test_origins(void **state) {
    struct worker *world = *state;
    static const struct {
        const char *request, *headers;
        int status;
    } rows[] = {
        {"POST /v1/dlq/replay", "Origin: https://evil.example\nHost: 127.0.0.1:8080\n", 403},
        {"POST /v1/dlq/replay", "Origin: null\nHost: 127.0.0.1:8080\n", 403},
        {"POST /v1/dlq/replay", "Origin: https://evil.example\n", 403},
        {"POST /v1/dlq/replay", "Origin: http://127.0.0.1:8080\nHost: 127.0.0.1:8080\n", 400},
        {"POST /v1/dlq/replay", "Host: 127.0.0.1:8080\n", 400},
        {"GET /v1/dlq", "Origin: https://evil.example\nHost: 127.0.0.1:8080\n", 200},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(ask(world, rows[i].request, rows[i].headers, "")->status, rows[i].status);
    with_tokens(world);
    assert_int_equal(ask(world, "POST /v1/dlq/replay",
                         "Origin: https://a.example\nAuthorization: Bearer second\n", "")
                         ->status,
                     400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_no_routes),
        cmocka_unit_test_setup_teardown(test_every_route_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_body_limits, set_up, tear_down),
        cmocka_unit_test(test_problem),
        cmocka_unit_test_setup_teardown(test_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_token, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_origins, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
