#include "testing.h"

#include "guard.h"

struct shop {
    struct lull_guard_config guard;
};

static const struct spelling spellings[] = {
    {"bucket.per", "rate_limit.rate"},
    {"bucket.", "rate_limit."},
    {"backoff.", ""},
    {"retry.", ""},
    {0},
};

static bool check_shop(struct reader *reader, void *object) {
    return guard_check(reader, &((struct shop *)object)->guard, spellings);
}

static const struct field shop_fields[] = {
    {"preset", FIELD_CUSTOM, PLACE(struct shop, guard), .read = guard_read_preset},
    {NULL, FIELD_INCLUDE, PLACE(struct shop, guard.retry), .schema = &guard_retry_schema},
    {NULL, FIELD_INCLUDE, PLACE(struct shop, guard.retry), .schema = &guard_retry_after_schema},
    {"budget", FIELD_MAP, PLACE(struct shop, guard.budget), .schema = &guard_budget_schema},
    {"breaker", FIELD_MAP, PLACE(struct shop, guard.breaker), .schema = &guard_breaker_schema},
    {"rate_limit", FIELD_MAP, PLACE(struct shop, guard.bucket), .schema = &guard_bucket_schema},
    {"bulkhead", FIELD_MAP, PLACE(struct shop, guard.bulkhead), .schema = &guard_bulkhead_schema},
};
static const struct schema shop_schema = SCHEMA_WITH(struct shop, shop_fields, NULL, check_shop);

static int read_shop(const char *text, struct shop *shop, char said[1000]) {
    struct reader_error error;
    int result = reader_read_text("shop.yaml", text, strlen(text), &shop_schema, shop, &error);
    reader_error_format(&error, said, 1000);
    return result;
}

static void test_every_key(void **state) {
    (void)state;
    static const char text[] =
        "attempts: 7\nbase: 2s\ncap: 20s\nmultiplier: 3\njitter: additive\njitter_factor: 0.2\n"
        "tiers: [30s, 5m]\nretry_after_cap: 10m\n"
        "budget: {ratio: none, window: 20s, cap_seconds: 3, floor: none}\n"
        "breaker: {by_count: true, window: 1m, slices: 6, calls: 50, minimum_calls: 20, "
        "failure_rate: 0.4, slow_rate: 0.6, slow_call: none, open_time: 3s, open_max: 1m, "
        "open_growth: 1.5, open_jitter: none, probes: 3, lease: 10s}\n"
        "rate_limit: {capacity: 50, rate: 100/m}\nbulkhead: {limit: 5, queue: none}\n";
    struct shop shop;
    char said[1000];
    if (read_shop(text, &shop, said) != LULL_OK)
        fail_msg("%s", said);
    const struct lull_guard_config expected = {
        .retry = {.attempts = 7,
                  .backoff = {.base = 2 * SECOND,
                              .cap = 20 * SECOND,
                              .multiplier = 3,
                              .jitter = LULL_JITTER_ADDITIVE,
                              .jitter_factor = 0.2,
                              .tier_count = 2,
                              .tiers = {30 * SECOND, 5 * LULL_MINUTE}},
                  .retry_after_cap = 10 * LULL_MINUTE},
        .breaker = {.by_count = true,
                    .window = LULL_MINUTE,
                    .slices = 6,
                    .calls = 50,
                    .minimum_calls = 20,
                    .failure_rate = 0.4,
                    .slow_rate = 0.6,
                    .slow_call = LULL_NONE,
                    .open_time = 3 * SECOND,
                    .open_max = LULL_MINUTE,
                    .open_growth = 1.5,
                    .open_jitter = LULL_NONE,
                    .probes = 3,
                    .lease = 10 * SECOND},
        .budget = {.ratio = LULL_NONE, .window = 20 * SECOND, .cap_seconds = 3, .floor = LULL_NONE},
        .bucket = {.capacity = 50, .rate = 100, .per = LULL_MINUTE},
        .bulkhead = {.limit = 5, .queue = LULL_NONE},
    };
    assert_memory_equal(&shop.guard, &expected, sizeof expected);
}

static void test_preset(void **state) {
    (void)state;
    struct shop shop;
    char said[1000];
    for (size_t i = 0; lull_preset_name(i) != NULL; i++) {
        char text[100];
        snprintf(text, sizeof text, "attempts: 9\npreset: %s\n", lull_preset_name(i));
        struct lull_guard_config expected = *lull_preset(lull_preset_name(i));
        expected.retry.attempts = 9;
        assert_int_equal(read_shop(text, &shop, said), LULL_OK);
        assert_memory_equal(&shop.guard, &expected, sizeof expected);
    }
}

static void test_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"preset: webhok",
         "shop.yaml:1: preset: there is no preset \"webhok\"; did you mean webhook? There are "
         "interactive, gateway, worker, checkout, webhook, stream"},
        {"attempts: 1001",
         "shop.yaml:1: attempts: \"1001\" is out of range; it must be from 1 to 1000"},
        {"cap: 25h", "shop.yaml:1: cap: \"25h\" is out of range; it must be from 1us to 1d"},
        {"jitter_factor: 0.5",
         "shop.yaml:1: jitter_factor: is for the jitters additive and proportional only"},
        {"base: 2s\ncap: 1s", "shop.yaml:2: cap: is 1s, less than base (2s); raise the cap"},
        {"rate_limit:\n  rate: 1.5/s",
         "shop.yaml:2: rate_limit.rate: \"1.5/s\" is out of range; it must be a whole number from "
         "1 to 1000000000"},
        {"rate_limit: {rate: fast}", "shop.yaml:1: rate_limit.rate: \"fast\" is not a rate; write "
                                     "for example 1000/s or 100/m"},
        {"breaker: {failure_rate: 1.5}", "shop.yaml:1: breaker.failure_rate: \"1.5\" is out of "
                                         "range; it must be from 0.001 to 1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct shop shop;
        char said[1000];
        assert_int_equal(read_shop(rows[i].text, &shop, said), LULL_EINVAL);
        assert_string_equal(said, rows[i].said);
    }
}

static void test_spell(void **state) {
    (void)state;
    char text[100];
    guard_spell(spellings, "bucket.per and bucket.rate, backoff.cap", text, sizeof text);
    assert_string_equal(text, "rate_limit.rate and rate_limit.rate, cap");
    guard_spell(spellings, "bucket.capacity", text, 15); /* as much as fits */
    assert_string_equal(text, "rate_limit.cap");
    guard_spell(spellings, "bucket.capacity", text, 5);
    assert_string_equal(text, "rate");
    guard_spell(spellings, "", text, 1);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_preset),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_spell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
