#include "testing.h"

#include "guard.h"
#include "serve.h"

#include <stdlib.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

static struct named_policy policies[] = {
    {.name = "quiet", .guard = {.retry = {.attempts = 2, .attempt_timeout = 3 * SECOND}}},
};
static const struct serve_config with_policies = {.policies = policies, .policy_count = 1};

static int read_json(const char *json, struct destination_settings *settings, char said[1000]) {
    struct reader_error error;
    memset(settings, 0xa5, sizeof *settings);
    int result = destination_settings_read(&with_policies, json, strlen(json), settings, &error);
    assert_string_equal(error.file, "");
    assert_int_equal(error.line, 0);
    snprintf(said, 1000, "%s: %s", error.key, error.message);
    return result;
}

/* What stands between {"name":"a","url":"https://a.example/" and }. */
static struct destination_settings *read_fine(const char *more) {
    static struct destination_settings settings;
    char json[6000], said[1000];
    snprintf(json, sizeof json, "{\"name\":\"a\",\"url\":\"https://a.example/\"%s}", more);
    if (read_json(json, &settings, said) != LULL_OK)
        fail_msg("%s: %s", json, said);
    return &settings;
}

static void assert_wrong(const char *more, const char *expected) {
    static const struct destination_settings zero;
    struct destination_settings settings;
    char json[6000], said[1000];
    snprintf(json, sizeof json, "{\"name\":\"a\",\"url\":\"https://a.example/\"%s}", more);
    assert_int_equal(read_json(json, &settings, said), LULL_EINVAL);
    assert_string_equal(said, expected);
    assert_memory_equal(&settings, &zero, sizeof zero);
}

static void test_defaults(void **state) {
    (void)state;
    const struct destination_settings *settings = read_fine("");
    assert_string_equal(settings->name, "a");
    assert_string_equal(settings->url, "https://a.example/");
    assert_string_equal(settings->policy, "webhook");
    assert_int_equal(settings->type_count, 0);
    assert_int_equal(settings->header_count, 0);
    assert_false(settings->has_secret);
    struct lull_guard_config expected = *lull_preset(DESTINATION_POLICY);
    expected.without = LULL_WITHOUT_BUCKET;
    expected.retry.attempt_timeout = 15 * SECOND;
    expected.connect_timeout = 5 * SECOND;
    assert_memory_equal(&settings->guard, &expected, sizeof expected);
    assert_int_equal(settings->guard.retry.deadline, LULL_NONE);
    assert_int_equal(settings->guard.bulkhead.limit, DESTINATION_CONCURRENCY);
}

static void test_every_key(void **state) {
    (void)state;
    const struct destination_settings *settings = read_fine(
        ",\"types\":[\"order.*\",\"refund.created\",\"*\",\"caf\xC3\xA9\"],\"policy\":\"checkout\","
        "\"attempts\":8,\"base\":\"2s\",\"multiplier\":3,\"cap\":\"20s\",\"jitter\":\"additive\","
        "\"jitter_factor\":0.25,\"tiers\":[\"1s\",\"2s\"],\"deadline\":\"3d\","
        "\"retry_after_cap\":\"10m\",\"timeout\":\"9s\",\"connect_timeout\":\"1s\","
        "\"concurrency\":3,\"rate\":\"100/m\",\"burst\":7,\"budget\":{\"ratio\":0.5},"
        "\"breaker\":{\"failure_rate\":0.25},\"headers\":{\"X-Team\":\"payments\",\"x.y\":"
        "\"\\u00e9 2\"},"
        "\"secret\":\"" SECRET "\"");
    assert_int_equal(settings->type_count, 4);
    assert_string_equal(settings->types[0].pattern, "order.*");
    assert_string_equal(settings->types[2].pattern, "*");
    assert_string_equal(settings->types[3].pattern, "caf\xC3\xA9");
    assert_int_equal(settings->header_count, 2);
    assert_string_equal(settings->headers[0].name, "X-Team");
    assert_string_equal(settings->headers[0].value, "payments");
    assert_string_equal(settings->headers[1].name, "x.y");
    assert_string_equal(settings->headers[1].value, "\xC3\xA9 2");
    assert_true(settings->has_secret);
    assert_string_equal(settings->secret, SECRET);
    assert_string_equal(settings->policy, "checkout");
    const struct lull_guard_config expected = {
        .retry = {.attempts = 8,
                  .backoff = {.base = 2 * SECOND,
                              .multiplier = 3,
                              .cap = 20 * SECOND,
                              .jitter = LULL_JITTER_ADDITIVE,
                              .jitter_factor = 0.25,
                              .tiers = {SECOND, 2 * SECOND},
                              .tier_count = 2},
                  .deadline = 3 * LULL_DAY,
                  .attempt_timeout = 9 * SECOND,
                  .retry_after_cap = 10 * LULL_MINUTE},
        .breaker = {.failure_rate = 0.25},
        .budget = {.ratio = 0.5},
        .bucket = {.capacity = 7, .rate = 100, .per = LULL_MINUTE},
        .bulkhead = {.limit = 3},
        .connect_timeout = SECOND,
    };
    assert_memory_equal(&settings->guard, &expected, sizeof expected);
}

static void test_policies(void **state) {
    (void)state;
    const struct destination_settings *settings = read_fine(",\"attempts\":9,\"policy\":\"quiet\"");
    assert_string_equal(settings->policy, "quiet");
    assert_int_equal(settings->guard.retry.attempts, 9);
    assert_int_equal(settings->guard.retry.attempt_timeout, 3 * SECOND);
    /* A preset's own time-outs: to connect, and then to read. */
    settings = read_fine(",\"policy\":\"gateway\"");
    assert_int_equal(settings->guard.retry.attempt_timeout, 7 * SECOND);
    assert_int_equal(settings->guard.connect_timeout, 2 * SECOND);
    assert_int_equal(settings->guard.retry.deadline, 30 * SECOND);
    assert_int_equal(settings->guard.bulkhead.limit, DESTINATION_CONCURRENCY);
    for (size_t i = 0; lull_preset_name(i) != NULL; i++) {
        char more[60];
        snprintf(more, sizeof more, ",\"policy\":\"%s\"", lull_preset_name(i));
        settings = read_fine(more);
        assert_string_equal(settings->policy, lull_preset_name(i));
        assert_int_equal(settings->guard.without, LULL_WITHOUT_BUCKET);
        assert_true(settings->guard.retry.attempt_timeout > 0);
        assert_true(settings->guard.connect_timeout > 0);
        assert_int_equal(lull_guard_check(&settings->guard, NULL), LULL_OK);
    }
    assert_wrong(",\"policy\":\"webhok\"",
                 "policy: there is no policy \"webhok\"; did you mean webhook? There are quiet, "
                 "interactive, gateway, worker, checkout, webhook, stream");
    assert_wrong(",\"policy\":\"qiuet\"",
                 "policy: there is no policy \"qiuet\"; did you mean quiet? There are quiet, "
                 "interactive, gateway, worker, checkout, webhook, stream");
    assert_wrong(
        ",\"preset\":\"webhook\"",
        "preset: there is no such key; there are policy, name, url, types, attempts, base, "
        "cap, multiplier, jitter, jitter_factor, tiers, retry_after_cap, deadline, timeout, "
        "connect_timeout, concurrency, rate, burst, budget, breaker, headers, secret");
}

static void test_rate(void **state) {
    (void)state;
    static const struct {
        const char *more;
        int64_t rate;
        lull_duration per;
        int64_t burst;
    } rows[] = {
        {",\"rate\":\"100/s\"", 100, SECOND, 100},
        {",\"rate\":\"100/m\"", 100, LULL_MINUTE, 2},
        {",\"rate\":\"5/h\"", 5, LULL_HOUR, 1},
        {",\"burst\":3,\"rate\":\"5/h\"", 5, LULL_HOUR, 3},
        {",\"rate\":\"1000000000/s\"", 1000000000, SECOND, 1000000000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct lull_guard_config *guard = &read_fine(rows[i].more)->guard;
        assert_int_equal(guard->without, 0);
        assert_int_equal(guard->bucket.rate, rows[i].rate);
        assert_int_equal(guard->bucket.per, rows[i].per);
        assert_int_equal(guard->bucket.capacity, rows[i].burst);
    }
    /* The policy's own, changed and taken back. */
    policies[0].guard.bucket =
        (struct lull_bucket_config){.rate = 10, .per = SECOND, .capacity = 40};
    const struct lull_guard_config *guard = &read_fine(",\"policy\":\"quiet\"")->guard;
    assert_int_equal(guard->bucket.capacity, 40);
    guard = &read_fine(",\"policy\":\"quiet\",\"burst\":50")->guard;
    assert_int_equal(guard->bucket.capacity, 50);
    guard = &read_fine(",\"policy\":\"quiet\",\"rate\":\"20/s\"")->guard;
    assert_int_equal(guard->bucket.capacity, 20);
    guard = &read_fine(",\"policy\":\"quiet\",\"rate\":\"none\"")->guard;
    assert_int_equal(guard->without, LULL_WITHOUT_BUCKET);
    assert_wrong(",\"burst\":5", "burst: needs a rate; add one, for example rate: 100/s");
    assert_wrong(",\"policy\":\"quiet\",\"rate\":\"none\",\"burst\":5",
                 "burst: needs a rate; add one, for example rate: 100/s");
    assert_wrong(",\"rate\":100", "rate: \"100\" is not a rate; write for example 1000/s or 100/m");
}

static void test_without(void **state) {
    (void)state;
    assert_int_equal(read_fine(",\"budget\":\"none\"")->guard.without,
                     LULL_WITHOUT_BUCKET | LULL_WITHOUT_BUDGET);
    assert_int_equal(read_fine(",\"breaker\":\"none\"")->guard.without,
                     LULL_WITHOUT_BUCKET | LULL_WITHOUT_BREAKER);
    policies[0].guard.without = LULL_WITHOUT_BREAKER;
    assert_int_equal(read_fine(",\"policy\":\"quiet\"")->guard.without, LULL_WITHOUT_BREAKER);
    assert_int_equal(read_fine(",\"policy\":\"quiet\",\"breaker\":{}")->guard.without, 0);
    policies[0].guard.without = 0;
    assert_wrong(",\"breaker\":false", "breaker: must be a map of keys, or none");
}

static void test_timeouts(void **state) {
    (void)state;
    const struct lull_guard_config *guard = &read_fine(",\"timeout\":\"2s\"")->guard;
    assert_int_equal(guard->retry.attempt_timeout, 2 * SECOND);
    assert_int_equal(guard->connect_timeout, 2 * SECOND);
    guard = &read_fine(",\"connect_timeout\":\"15s\"")->guard;
    assert_int_equal(guard->connect_timeout, 15 * SECOND);
    assert_wrong(",\"connect_timeout\":\"16s\"", "connect_timeout: is 16s, longer than the timeout "
                                                 "of an attempt (15s); shorten it");
    assert_wrong(",\"timeout\":\"none\"", "timeout: \"none\" is not a duration; write for example "
                                          "500ms, 2s, 5m, 1h or 1h30m");
    assert_wrong(",\"base\":\"2h\"", "cap: is 1h, less than base (2h); raise the cap");
    assert_wrong(",\"breaker\":{\"open_time\":\"10m\"}",
                 "breaker.open_max: is 5m, less than breaker.open_time (10m); raise it");
}

static void test_names(void **state) {
    (void)state;
    static const char *const fine[] = {
        "a", "7", "Shop.eu-1_b",
        "0123456789012345678901234567890123456789012345678901234567890123"};
    static const struct {
        const char *name, *said;
    } rows[] = {
        {"", "name: must not be empty"},
        {"_lull", "name: \"_lull\" begins with _, as names of lull's own do; choose another"},
        {"-a", "name: \"-a\" is not a name; it must begin with a letter or digit and have only "
               "letters, digits, '.', '_' and '-'"},
        {"a/b", "name: \"a/b\" is not a name; it must begin with a letter or digit and have only "
                "letters, digits, '.', '_' and '-'"},
        {"caf\xC3\xA9", "name: \"caf\xC3\xA9\" is not a name; it must begin with a letter or digit "
                        "and have only letters, digits, '.', '_' and '-'"},
        {"01234567890123456789012345678901234567890123456789012345678901234",
         "name: is 65 bytes long; at most 64 are kept"},
    };
    struct destination_settings settings;
    char json[300], said[1000];
    for (size_t i = 0; i < COUNT(fine); i++) {
        snprintf(json, sizeof json, "{\"name\":\"%s\",\"url\":\"http://a/\"}", fine[i]);
        assert_int_equal(read_json(json, &settings, said), LULL_OK);
        assert_string_equal(settings.name, fine[i]);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(json, sizeof json, "{\"name\":\"%s\",\"url\":\"http://a/\"}", rows[i].name);
        assert_int_equal(read_json(json, &settings, said), LULL_EINVAL);
        assert_string_equal(said, rows[i].said);
    }
    assert_int_equal(read_json("{\"url\":\"http://a/\"}", &settings, said), LULL_EINVAL);
    assert_string_equal(said, "name: is missing");
}

static void test_urls(void **state) {
    (void)state;
    struct destination_settings settings;
    char json[5000], said[1000], url[2100];
    assert_int_equal(read_json("{\"name\":\"a\"}", &settings, said), LULL_EINVAL);
    assert_string_equal(said, "url: is missing");
    assert_int_equal(read_json("{\"name\":\"a\",\"url\":\"ftp://a/\"}", &settings, said),
                     LULL_EINVAL);
    assert_string_equal(said, "url: must begin with http:// or https://");
    for (size_t length = 2047; length <= 2048; length++) {
        memset(url, 'a', length);
        memcpy(url, "http://a/", 9);
        url[length] = '\0';
        snprintf(json, sizeof json, "{\"name\":\"a\",\"url\":\"%s\"}", url);
        int result = read_json(json, &settings, said);
        assert_int_equal(result, length == 2047 ? LULL_OK : LULL_EINVAL);
    }
    assert_string_equal(said, "url: is 2048 bytes long; at most 2047 are kept");
}

static void test_types(void **state) {
    (void)state;
    assert_wrong(",\"types\":[\"a\",\"*.paid\"]",
                 "types[1]: \"*.paid\" has a * that is not at its end; write for example order.*");
    assert_wrong(",\"types\":[\"a**\"]",
                 "types[0]: \"a**\" has a * that is not at its end; write for example order.*");
    assert_wrong(",\"types\":[\"\"]", "types[0]: must not be empty");
    assert_wrong(",\"types\":[\"a\\nb\"]", "types[0]: has a control character in it; remove it");
    assert_wrong(",\"types\":\"a\"", "types: must be a list, not a single value");
    char more[400] = ",\"types\":[\"a\"";
    for (int i = 0; i < 32; i++)
        strcat(more, ",\"a\"");
    strcat(more, "]");
    assert_wrong(more, "types: has 33 entries; at most 32 are allowed");
}

static void test_type_matches(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *type;
        bool matches;
    } rows[] = {
        {"order.*", "order.paid", true},
        {"order.*", "order.paid.late", true},
        {"order.*", "order", false},
        {"order.*", "orders.paid", false},
        {"order.*", "", false},
        {"*", "order", true},
        {"*", "", true},
        {"order.paid", "order.paid", true},
        {"order.paid", "order.pai", false},
        {"order.paid", "order.paid2", false},
        {"ord*", "order", true},
        {"ord*", "or", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (type_matches(rows[i].pattern, rows[i].type) != rows[i].matches)
            fail_msg("%s, %s", rows[i].pattern, rows[i].type);
}

static void test_headers(void **state) {
    (void)state;
    static const char *const ours[] = {
        "Host",
        "content-length",
        "Transfer-Encoding",
        "connection",
        "Webhook-Id",
        "webhook-",
        "Lull-Attempt",
        "Idempotency-Key",
        "Content-Type",
        "proxy-authorization",
        "Keep-Alive",
        "TE",
        "Expect",
        "Upgrade",
        "Trailer",
    };
    char more[200], said[200];
    for (size_t i = 0; i < COUNT(ours); i++) {
        snprintf(more, sizeof more, ",\"headers\":{\"%s\":\"x\"}", ours[i]);
        snprintf(said, sizeof said, "headers.%s: is set by lull itself; remove it", ours[i]);
        assert_wrong(more, said);
    }
    assert_int_equal(
        read_fine(",\"headers\":{\"Authorization\":\"Bearer x\",\"Hosts\":\"y\"}")->header_count,
        2);
    assert_wrong(",\"headers\":{\"X Team\":\"x\"}",
                 "headers.X Team: is not the name of a header field; write for example X-Team");
    assert_wrong(",\"headers\":{\"X:\":\"x\"}",
                 "headers.X:: is not the name of a header field; write for example X-Team");
    assert_wrong(",\"headers\":{\"X-A\":\"a\\r\\nHost: b\"}",
                 "headers.X-A: has a control character in it; remove it");
    assert_wrong(",\"headers\":{\"X-A\":\"\"}", "headers.X-A: must not be empty");
    assert_wrong(",\"headers\":{\"X-A\":\"a\",\"x-a\":\"b\"}",
                 "headers: X-A and x-a are the same header field");
}

/* A request must not learn what is in the server's files or environment. */
static void test_secrets(void **state) {
    (void)state;
    const struct destination_settings *settings = read_fine(",\"secret\":\"\"");
    assert_true(settings->has_secret);
    assert_string_equal(settings->secret, "");
    setenv("LULL_TEST_SECRET", SECRET, 1);
    assert_wrong(",\"secret\":\"env:LULL_TEST_SECRET\"", "secret: must begin with whsec_");
    assert_wrong(",\"secret\":\"file:/etc/hostname\"", "secret: must begin with whsec_");
    assert_wrong(",\"secret\":\"whsec_c2hvcnQ=\"",
                 "secret: holds a key of 5 bytes; it must be 24 to 64");
    assert_wrong(",\"secret\":null", "secret: has no value; it must be a value");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_policies), cmocka_unit_test(test_rate),
        cmocka_unit_test(test_without),  cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_urls),
        cmocka_unit_test(test_types),    cmocka_unit_test(test_type_matches),
        cmocka_unit_test(test_headers),  cmocka_unit_test(test_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
