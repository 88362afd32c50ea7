#include "fixture.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define OTHER_SECRET "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define IDLE                                                                                       \
    "\"backlog\":{\"fresh\":0,\"retry\":0,\"inflight\":0,\"dead\":0},\"accepted\":0,"              \
    "\"delivered\":0,\"circuit\":\"closed\",\"window\":0,\"blocked_until\":null,"                  \
    "\"blocked_by\":null,\"storm\":false"
#define SHOP                                                                                       \
    "{\"name\":\"shop\",\"url\":\"https://shop.example/hooks\",\"types\":[\"order.*\"],"           \
    "\"attempts\":8,\"headers\":{\"X-Team\":\"payments\"},\"policy\":\"webhook\","

static const char create_shop[] =
    "{\"url\":\"https://shop.example/hooks\",\"name\":\"shop\",\"types\":[\"order.*\"],"
    "\"attempts\":8,\"cap\":null,\"headers\":{\"X-Team\":\"payments\"},\"secret\":\"" SECRET "\"}";

static struct destination *find(struct worker *world, const char *name) {
    struct destination *destination = registry_find(world->registry, name);
    if (destination != NULL)
        destination_release(destination); /* the registry holds it */
    return destination;
}

static void test_create(void **state) {
    struct worker *world = *state;
    struct exchange *exchange = ask(world, "POST /v1/destinations", "", create_shop);
    assert_answer(exchange, 201,
                  SHOP "\"state\":\"active\",\"source\":\"api\",\"signed\":true,\"created_at\":"
                       "\"" NOON_TEXT "\"," IDLE ",\"secret\":\"" SECRET "\"}");
    assert_string_equal(field(exchange, "Location"), "/v1/destinations/shop");
    assert_answer(get(world, "/v1/destinations/shop"), 200,
                  SHOP "\"state\":\"active\",\"source\":\"api\",\"signed\":true,\"created_at\":"
                       "\"" NOON_TEXT "\"," IDLE "}");
    const struct destination *shop = find(world, "shop");
    assert_string_equal(shop->row.settings,
                        "{\"url\":\"https://shop.example/hooks\",\"name\":\"shop\",\"types\":"
                        "[\"order.*\"],\"attempts\":8,\"headers\":{\"X-Team\":\"payments\"}}");
    assert_string_equal(shop->row.secret, SECRET);
    assert_int_equal(shop->settings.guard.retry.attempts, 8);
    assert_problem(ask(world, "POST /v1/destinations", "", create_shop), 409, "destination_exists",
                   "there is a destination shop already");
}

static void test_secrets(void **state) {
    struct worker *world = *state;
    struct exchange *exchange =
        ask(world, "POST /v1/destinations", "", "{\"name\":\"a\",\"url\":\"https://a.example/\"}");
    json_t *answer = json_loads(exchange->answer, 0, NULL);
    const char *secret = json_string_value(json_object_get(answer, "secret"));
    assert_int_equal(strncmp(secret, "whsec_", 6), 0);
    assert_string_equal(secret, find(world, "a")->row.secret);
    assert_true(json_is_true(json_object_get(answer, "signed")));
    json_decref(answer);
    exchange = ask(world, "POST /v1/destinations", "",
                   "{\"name\":\"b\",\"url\":\"https://b.example/\",\"secret\":\"\"}");
    assert_non_null(strstr(exchange->answer, "\"signed\":false"));
    assert_non_null(strstr(exchange->answer, "\"secret\":null"));
    assert_null(find(world, "b")->row.secret);
}

static void test_bad_settings(void **state) {
    static const struct {
        const char *body, *code, *detail;
    } rows[] = {
        {"", "bad_json", "the body is empty"},
        {"{\"name\":", "bad_json", "line 1, column"},
        {"[1]", "bad_json", "must be a JSON object"},
        {"{\"name\":\"a\",\"name\":\"b\"}", "bad_json", "duplicate object key"},
        {"{\"name\":\"\xFF\"}", "bad_json", "not JSON"},
        {"{}", "bad_settings", "name"},
        {"{\"name\":\"a\"}", "bad_settings", "url"},
        {"{\"name\":\"_a\",\"url\":\"https://a.example\"}", "bad_settings", "name"},
        {"{\"name\":\"a/b\",\"url\":\"https://a.example\"}", "bad_settings", "name"},
        {"{\"name\":\"a\",\"url\":\"ftp://a.example\"}", "bad_settings", "url"},
        {"{\"name\":\"a\",\"url\":\"https://a.example\",\"colour\":1}", "bad_settings", "colour"},
        {"{\"name\":\"a\",\"url\":\"https://a.example\",\"secret\":\"x\"}", "bad_settings",
         "secret"},
        {"{\"name\":\"a\",\"url\":\"https://a.example\",\"headers\":{\"A\":\"b\\r\\nC: d\"}}",
         "bad_settings", "headers"},
        {"{\"name\":\"a\",\"url\":\"https://a.example\",\"types\":[\"a\\nb\"]}", "bad_settings",
         "types"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_problem(ask(*state, "POST /v1/destinations", "", rows[i].body), 400, rows[i].code,
                       rows[i].detail);
}

static void test_live_state(void **state) {
    struct worker *world = *state;
    struct lane *lane = lane_of(world, create(world, "shop", ""));
    struct lane_stats *stats = &lane->stats;
    atomic_store(&stats->pending[0], 120);
    atomic_store(&stats->pending[1], 3);
    atomic_store(&stats->inflight, 10);
    atomic_store(&stats->dead, -1); /* between two steps of its thread */
    atomic_store(&stats->accepted, 5000);
    atomic_store(&stats->delivered, 4876);
    atomic_store(&stats->window, 4);
    atomic_store(&stats->state, DESTINATION_PAUSED);
    atomic_store(&stats->blocked_until, NOON + 1500 * MS);
    atomic_store(&stats->blocked_by, LULL_POLICY_CLOCK);
    atomic_store(&stats->storm, 1);
    lull_breaker_set_mode(&lane->guard.breaker, LULL_BREAKER_MODE_FORCED_OPEN, NOON);
    assert_answer(
        get(world, "/v1/destinations/shop"), 200,
        "{\"name\":\"shop\",\"url\":\"https://shop.example/\",\"policy\":\"webhook\",\"state\":"
        "\"paused\",\"source\":\"api\",\"signed\":false,\"created_at\":\"" NOON_TEXT
        "\",\"backlog\":{\"fresh\":120,\"retry\":3,\"inflight\":10,\"dead\":0},\"accepted\":5000,"
        "\"delivered\":4876,\"circuit\":\"open\",\"window\":4,\"blocked_until\":"
        "\"2026-03-01T12:00:01.500Z\",\"blocked_by\":\"retry_after\",\"storm\":true}");
    world->now += 2 * SECOND;
    struct exchange *exchange = get(world, "/v1/destinations/shop");
    assert_non_null(strstr(exchange->answer, "\"blocked_until\":null,\"blocked_by\":null"));
}

/* ---- lists ---- */

static json_t *names_of(struct exchange *exchange, char *next, size_t size) {
    json_t *page = json_loads(exchange->answer, 0, NULL), *names = json_array(), *item;
    size_t i;
    json_array_foreach(json_object_get(page, "items"), i, item) {
        json_array_append(names, json_object_get(item, "name"));
    }
    const char *text = json_string_value(json_object_get(page, "next"));
    snprintf(next, size, "%s", text != NULL ? text : "");
    json_decref(page);
    return names;
}

static void assert_page(struct worker *world, const char *path, const char *names,
                        const char *next) {
    char told[80];
    json_t *found = names_of(get(world, path), told, sizeof told);
    char *text = json_line(found);
    assert_string_equal(text, names);
    assert_string_equal(told, next);
    free(text);
    json_decref(found);
}

/* One of lull's own, as alerts are. */
static void add_internal(struct worker *world, const char *name) {
    struct destination_settings settings = {.url = "https://x.example/"};
    struct destination_row row = {.id = 1000};
    snprintf(row.name, sizeof row.name, "%s", name);
    struct lane *lane = add_lane(world, &settings, &row);
    assert_int_equal(registry_put(world->registry, destination_new(&row, &settings, lane, 0)),
                     LULL_OK);
}

static void test_list(void **state) {
    struct worker *world = *state;
    assert_answer(get(world, "/v1/destinations"), 200, "{\"items\":[],\"next\":null}");
    create(world, "c", "");
    create(world, "a", "");
    create(world, "b", "");
    add_internal(world, "_alerts");
    assert_page(world, "/v1/destinations", "[\"a\",\"b\",\"c\"]", "");
    assert_page(world, "/v1/destinations?limit=4&other=1", "[\"a\",\"b\",\"c\"]", "");
    assert_page(world, "/v1/destinations?limit=1", "[]", "_alerts");
    assert_page(world, "/v1/destinations?limit=2", "[\"a\"]", "a");
    assert_page(world, "/v1/destinations?limit=2&cursor=a", "[\"b\",\"c\"]", "");
    assert_page(world, "/v1/destinations?cursor=aa", "[\"b\",\"c\"]", "");
    assert_problem(get(world, "/v1/destinations?cursor=a%20b"), 400, "bad_cursor", "cursor");
    assert_problem(get(world, "/v1/destinations?cursor="), 400, "bad_cursor", "cursor");
    assert_problem(get(world, "/v1/destinations?limit=x"), 400, "bad_limit", "limit");
}

static void test_internal(void **state) {
    struct worker *world = *state;
    add_internal(world, "_alerts");
    assert_int_equal(get(world, "/v1/destinations/_alerts")->status, 200);
    assert_problem(ask(world, "POST /v1/destinations/_alerts/events", "", "x"), 404,
                   "unknown_destination", "_alerts");
    assert_problem(ask(world, "PATCH /v1/destinations/_alerts", "", "{}"), 409, "from_config", "");
    assert_problem(ask(world, "DELETE /v1/destinations/_alerts", "", ""), 409, "from_config", "");
}

/* ---- changes ---- */

static void test_patch(void **state) {
    struct worker *world = *state;
    ask(world, "POST /v1/destinations", "", create_shop);
    struct exchange *exchange = ask(world, "PATCH /v1/destinations/shop", "",
                                    "{\"attempts\":null,\"concurrency\":3,\"name\":\"shop\","
                                    "\"headers\":{\"X-Team\":null,\"X-New\":\"1\"}}");
    assert_int_equal(exchange->status, 200);
    assert_null(strstr(exchange->answer, "secret"));
    const struct destination *shop = find(world, "shop");
    assert_string_equal(shop->row.settings,
                        "{\"name\":\"shop\",\"url\":\"https://shop.example/hooks\",\"types\":"
                        "[\"order.*\"],\"headers\":{\"X-New\":\"1\"},\"concurrency\":3}");
    assert_int_equal(shop->settings.guard.retry.attempts, 5);
    assert_int_equal(shop->settings.guard.bulkhead.limit, 3);
    /* What was not named stays: the secret, too. */
    assert_string_equal(shop->row.secret, SECRET);
    assert_null(shop->row.previous_secret);
    static const struct {
        const char *body, *code, *detail;
    } rows[] = {
        {"{\"url\":null}", "bad_settings", "url"},
        {"{\"name\":\"other\"}", "bad_settings", "cannot be renamed"},
        {"{\"name\":null}", "bad_settings", "cannot be renamed"},
        {"{\"secret\":null}", "bad_settings", "rotate-secret"},
        {"{\"state\":\"paused\"}", "bad_settings", "state"},
        {"nope", "bad_json", "not JSON"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_problem(ask(world, "PATCH /v1/destinations/shop", "", rows[i].body), 400,
                       rows[i].code, rows[i].detail);
    assert_problem(ask(world, "PATCH /v1/destinations/none", "", "{}"), 404, "unknown_destination",
                   "there is no destination none");
}

/* A patch leaves the state alone, which only the lane knows. */
static void test_patch_keeps_state(void **state) {
    struct worker *world = *state;
    int64_t id = create(world, "shop", "");
    ask(world, "POST /v1/destinations/shop/pause", "", "");
    ask(world, "PATCH /v1/destinations/shop", "", "{\"attempts\":2}");
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    assert_int_equal(run_now(world, &all.request), LULL_OK);
    assert_int_equal(all.rows[0].id, id);
    assert_int_equal(all.rows[0].state, DESTINATION_PAUSED);
    store_destinations_clean_up(&all);
}

static void test_patch_secret(void **state) {
    struct worker *world = *state;
    ask(world, "POST /v1/destinations", "", create_shop);
    ask(world, "PATCH /v1/destinations/shop", "", "{\"secret\":\"" OTHER_SECRET "\"}");
    const struct destination *shop = find(world, "shop");
    assert_string_equal(shop->row.secret, OTHER_SECRET);
    assert_string_equal(shop->row.previous_secret, SECRET);
    assert_int_equal(shop->row.previous_until, NOON + LULL_DAY);
    assert_null(strstr(shop->row.settings, "secret"));
    ask(world, "PATCH /v1/destinations/shop", "", "{\"secret\":\"\"}");
    shop = find(world, "shop");
    assert_null(shop->row.secret);
    assert_null(shop->row.previous_secret);
}

static void test_rotate(void **state) {
    struct worker *world = *state;
    ask(world, "POST /v1/destinations", "", create_shop);
    struct exchange *exchange = ask(world, "POST /v1/destinations/shop/rotate-secret", "", "");
    const struct destination *shop = find(world, "shop");
    char expected[200];
    snprintf(expected, sizeof expected,
             "{\"secret\":\"%s\",\"previous_valid_until\":\"2026-03-02T12:00:00.000Z\"}",
             shop->row.secret);
    assert_answer(exchange, 200, expected);
    assert_string_not_equal(shop->row.secret, SECRET);
    assert_string_equal(shop->row.previous_secret, SECRET);
    assert_int_equal(shop->settings.guard.retry.attempts, 8);
    /* From unsigned to signed there is nothing to keep. */
    create(world, "plain", "");
    exchange = ask(world, "POST /v1/destinations/plain/rotate-secret", "", "");
    assert_non_null(strstr(exchange->answer, "\"previous_valid_until\":null"));
    assert_non_null(find(world, "plain")->row.secret);
}

static void test_pause_and_resume(void **state) {
    struct worker *world = *state;
    int64_t id = create(world, "shop", "");
    struct exchange *exchange = ask(world, "POST /v1/destinations/shop/pause", "", "");
    assert_int_equal(exchange->status, 200);
    assert_non_null(strstr(exchange->answer, "\"state\":\"paused\""));
    exchange = ask(world, "POST /v1/destinations/shop/resume", "", "");
    assert_non_null(strstr(exchange->answer, "\"state\":\"active\""));
    atomic_store(&lane_of(world, id)->stats.state, DESTINATION_DISABLED);
    assert_problem(ask(world, "POST /v1/destinations/shop/pause", "", ""), 409,
                   "destination_disabled", "resume it first");
    exchange = ask(world, "POST /v1/destinations/shop/resume", "", "");
    assert_non_null(strstr(exchange->answer, "\"state\":\"active\""));
    assert_problem(ask(world, "POST /v1/destinations/none/pause", "", ""), 404,
                   "unknown_destination", "none");
    assert_problem(ask(world, "POST /v1/destinations/none/resume", "", ""), 404,
                   "unknown_destination", "none");
}

static void test_from_config(void **state) {
    struct worker *world = *state;
    struct destination_settings settings = {
        .url = "https://x.example/", .types = {{"a.*"}}, .type_count = 1, .policy = "worker"};
    settings.has_secret = true;
    struct store_put put = {.request = {.kind = STORE_PUT},
                            .row = {.name = "fixed", .from_config = true, .created = NOON}};
    assert_int_equal(run_now(world, &put.request), LULL_OK);
    struct lane *lane = add_lane(world, &settings, &put.row);
    assert_int_equal(registry_put(world->registry, destination_new(&put.row, &settings, lane, 0)),
                     LULL_OK);
    assert_answer(get(world, "/v1/destinations/fixed"), 200,
                  "{\"name\":\"fixed\",\"url\":\"https://x.example/\",\"types\":[\"a.*\"],"
                  "\"policy\":\"worker\",\"state\":\"active\",\"source\":\"config\",\"signed\":"
                  "false,\"created_at\":\"" NOON_TEXT "\"," IDLE "}");
    static const char *const refused[] = {"PATCH /v1/destinations/fixed",
                                          "DELETE /v1/destinations/fixed",
                                          "POST /v1/destinations/fixed/rotate-secret"};
    for (size_t i = 0; i < COUNT(refused); i++)
        assert_problem(ask(world, refused[i], "", "{}"), 409, "from_config",
                       "fixed comes from the configuration file");
    assert_int_equal(ask(world, "POST /v1/destinations/fixed/pause", "", "")->status, 200);
    assert_int_equal(ask(world, "POST /v1/destinations/fixed/resume", "", "")->status, 200);
}

static void test_remove(void **state) {
    struct worker *world = *state;
    create(world, "shop", "");
    ask(world, "POST /v1/destinations/shop/events", "", "x");
    ask(world, "POST /v1/destinations/shop/events", "", "x");
    assert_problem(ask(world, "DELETE /v1/destinations/shop", "", ""), 409, "not_empty",
                   "shop still has 2 pending and 0 dead deliveries");
    assert_problem(ask(world, "DELETE /v1/destinations/shop?force=false", "", ""), 409, "not_empty",
                   "");
    assert_problem(ask(world, "DELETE /v1/destinations/shop?force=yes", "", ""), 400, "bad_force",
                   "true or false");
    struct exchange *exchange = ask(world, "DELETE /v1/destinations/shop?force=true", "", "");
    assert_int_equal(exchange->status, 204);
    assert_null(exchange->content_type);
    assert_null(find(world, "shop"));
    assert_problem(ask(world, "DELETE /v1/destinations/shop", "", ""), 404, "unknown_destination",
                   "shop");
}

static void test_store_fails(void **state) {
    struct worker *world = *state;
    create(world, "shop", "");
    store_memory_fail(world->adapter, "disk full");
    static const char *const requests[] = {
        "PATCH /v1/destinations/shop", "DELETE /v1/destinations/shop",
        "POST /v1/destinations/shop/pause", "POST /v1/destinations/shop/rotate-secret"};
    for (size_t i = 0; i < COUNT(requests); i++)
        assert_problem(ask(world, requests[i], "", "{}"), 503, "store_unavailable", "try again");
    assert_problem(
        ask(world, "POST /v1/destinations", "", "{\"name\":\"a\",\"url\":\"https://a.example/\"}"),
        503, "store_unavailable", "try again");
    assert_null(find(world, "a"));
}

static int put_version(struct worker *world, int64_t id) {
    struct destination_settings settings = {.url = "https://x.example/"};
    struct destination_row row = {.id = id, .name = "shop"};
    struct lane *lane = add_lane(world, &settings, &row);
    return registry_put(world->registry, destination_new(&row, &settings, lane, 0));
}

static int64_t id_of_shop(struct worker *world) {
    struct destination *found = registry_find(world->registry, "shop");
    assert_non_null(found);
    int64_t id = found->row.id;
    destination_release(found);
    return id;
}

/* Removed and created again by two at once: that the old one is gone may be heard of later. */
static void test_the_newest_of_a_name_stays(void **state) {
    struct worker *world = *state;
    assert_int_equal(put_version(world, 7), LULL_OK);
    assert_int_equal(put_version(world, 9), LULL_OK);
    assert_int_equal(id_of_shop(world), 9);
    assert_int_equal(registry_count(world->registry), 1);
    assert_null(registry_find_id(world->registry, 7));
    assert_int_equal(put_version(world, 8), LULL_EINVAL);
    registry_remove(world->registry, 7);
    assert_int_equal(id_of_shop(world), 9);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_create),
        WORLD_TEST(test_secrets),
        WORLD_TEST(test_bad_settings),
        WORLD_TEST(test_live_state),
        WORLD_TEST(test_list),
        WORLD_TEST(test_internal),
        WORLD_TEST(test_patch),
        WORLD_TEST(test_patch_keeps_state),
        WORLD_TEST(test_patch_secret),
        WORLD_TEST(test_rotate),
        WORLD_TEST(test_pause_and_resume),
        WORLD_TEST(test_from_config),
        WORLD_TEST(test_remove),
        WORLD_TEST(test_store_fails),
        WORLD_TEST(test_the_newest_of_a_name_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
