#include "testing.h"

#include "settings.h"

#include <jansson.h>
#include <stdlib.h>

static bool read_json(struct settings *settings, const char *text, uint64_t *touched,
                      struct settings_problem *problem) {
    json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(object);
    bool good = settings_read_json(settings, object, touched, problem);
    json_decref(object);
    return good;
}

static void take(struct settings *settings, const char *text) {
    uint64_t touched = 0;
    struct settings_problem problem;
    if (!read_json(settings, text, &touched, &problem))
        fail_msg("%s: %s: %s", text, problem.field, problem.problem.text);
}

static char *written(const struct settings *settings) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    settings_write_json(stream, settings);
    fclose(stream);
    return text;
}

static const char everything[] =
    "{\"latency\":\"lognormal:50ms:p99=400ms\",\"fail\":0.25,\"status\":500,\"hang\":0.01,"
    "\"close\":0.02,\"reset\":0.03,\"truncate\":0.04,\"garbage\":0.05,\"slow_body\":1024,"
    "\"outage\":\"10s+30s:hang,1m+5s:refuse\",\"outage_every\":\"2m\",\"capacity\":12000.5,"
    "\"workers\":8,\"queue\":0,\"rate\":\"100/m\",\"burst\":7,\"retry_after\":\"soon\","
    "\"retry_after_form\":\"date\",\"body\":\"he said \\\"hé\\\"\\u000a\","
    "\"header\":[\"X-A: b\",\"X-C: d: e\"],\"redirect\":\"http://other/\",\"echo\":true,"
    "\"seed\":9007199254740991,\"allow_override\":true}";

/* Whatever is written can be read, and gives the same again. */
static void test_there_and_back(void **state) {
    (void)state;
    struct settings settings = settings_defaults, again = settings_defaults;
    take(&settings, everything);
    char *once = written(&settings);
    assert_string_equal(once, everything);
    take(&again, once);
    char *twice = written(&again);
    assert_string_equal(twice, once);
    free(once);
    free(twice);
}

static void test_defaults_there_and_back(void **state) {
    (void)state;
    struct settings settings = settings_defaults, again;
    settings.seed = 1; /* a server always has one */
    char *once = written(&settings);
    again = settings;
    take(&again, everything);
    take(&again, once);
    char *twice = written(&again);
    assert_string_equal(twice, once);
    free(once);
    free(twice);
}

/* A field means the same as text, as a number and as a flag. */
static void test_one_reader(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    take(&settings, "{\"latency\":50,\"fail\":\"0.5\",\"slow_body\":\"2k\",\"body\":\"64k\","
                    "\"retry_after\":5,\"header\":\"A: b\",\"status\":\"404\",\"echo\":\"true\"}");
    assert_int_equal(settings.latency.typical, 50 * MS);
    assert_true(settings.fail == 0.5);
    assert_int_equal(settings.slow_body, 2048);
    assert_int_equal(settings.body.size, 65536);
    assert_string_equal(settings.retry_after, "5");
    assert_int_equal(settings.header.count, 1);
    assert_int_equal(settings.status, 404);
    assert_true(settings.echo);
}

static void test_null_is_the_default(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    take(&settings, everything);
    take(&settings, "{\"fail\":null,\"queue\":null,\"header\":null,\"body\":null,\"outage\":null,"
                    "\"latency\":null,\"rate\":null,\"echo\":null}");
    assert_true(settings.fail == SHARE_UNSET);
    assert_int_equal(settings.gate.queue, GATE_QUEUE);
    assert_int_equal(settings.header.count, 0);
    assert_int_equal(settings.body.kind, BODY_DEFAULT);
    assert_int_equal(settings.outage.count, 0);
    assert_int_equal(settings.latency.typical, 0);
    assert_int_equal(settings.rate.count, 0);
    assert_false(settings.echo);
    assert_int_equal(settings.status, 500); /* what is not named stays */
}

static void test_lists_are_replaced(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    take(&settings, "{\"header\":[\"A: b\"],\"outage\":[\"1s+1s\",\"2s+1s\"]}");
    assert_int_equal(settings.outage.count, 2);
    take(&settings, "{\"header\":[\"C: d\"],\"outage\":\"5s+1s\"}");
    assert_int_equal(settings.header.count, 1);
    assert_string_equal(settings.header.list[0], "C: d");
    assert_int_equal(settings.outage.count, 1);
}

static void test_touched(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    struct settings_problem problem;
    uint64_t touched = 0;
    assert_true(read_json(&settings, "{\"fail\":0.1,\"seed\":null}", &touched, &problem));
    assert_true(touched == (UINT64_C(1) << SETTING_FAIL | UINT64_C(1) << SETTING_SEED));
}

static void test_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *field;
    } rows[] = {
        {"[]", ""},
        {"5", ""},
        {"{\"fial\":0.5}", "fial"},
        {"{\"slow-body\":5}", "slow-body"},
        {"{\"fail\":1.5}", "fail"},
        {"{\"fail\":-0.5}", "fail"},
        {"{\"fail\":true}", "fail"},
        {"{\"fail\":[1]}", "fail"},
        {"{\"fail\":{}}", "fail"},
        {"{\"fail\":\"\"}", "fail"},
        {"{\"status\":99}", "status"},
        {"{\"status\":199}", "status"},
        {"{\"status\":600}", "status"},
        {"{\"latency\":\"fast\"}", "latency"},
        {"{\"latency\":1.5}", "latency"},
        {"{\"slow_body\":\"1x\"}", "slow_body"},
        {"{\"outage\":\"10s\"}", "outage"},
        {"{\"outage\":[5]}", "outage"},
        {"{\"outage_every\":\"5\"}", "outage_every"},
        {"{\"outage\":\"10s+5s\",\"outage_every\":\"12s\"}", "outage_every"},
        {"{\"capacity\":-1}", "capacity"},
        {"{\"capacity\":1e300}", "capacity"},
        {"{\"workers\":1.5}", "workers"},
        {"{\"queue\":-1}", "queue"},
        {"{\"rate\":\"0/s\"}", "rate"},
        {"{\"rate\":\"1/h\",\"burst\":9007199254740991}", "burst"},
        {"{\"retry_after\":\"a\\nb\"}", "retry_after"},
        {"{\"retry_after_form\":\"days\"}", "retry_after_form"},
        {"{\"header\":[\"nocolon\"]}", "header"},
        {"{\"header\":[\"A:\"]}", "header"},
        {"{\"header\":[\": b\"]}", "header"},
        {"{\"header\":[\"A b: c\"]}", "header"},
        {"{\"header\":[\"Content-length: 5\"]}", "header"},
        {"{\"header\":[5]}", "header"},
        {"{\"header\":[\"A: b\\r\\nC: d\"]}", "header"},
        {"{\"redirect\":\"a\\rb\"}", "redirect"},
        {"{\"echo\":1}", "echo"},
        {"{\"seed\":9007199254740992}", "seed"},
        {"{\"fail\":0.6,\"hang\":0.5}", "fail"},
    };
    char *before = written(&settings_defaults);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings = settings_defaults;
        struct settings_problem problem;
        uint64_t touched = 0;
        if (read_json(&settings, rows[i].json, &touched, &problem))
            fail_msg("%s was taken", rows[i].json);
        assert_string_equal(problem.field, rows[i].field);
        assert_true(strlen(problem.problem.text) > 0);
        char *after = written(&settings); /* all or nothing */
        assert_string_equal(after, before);
        free(after);
    }
    free(before);
}

static void test_shares_may_add_up_to_one(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    take(&settings, "{\"fail\":0.1,\"hang\":0.2,\"close\":0.3,\"reset\":0.1,\"truncate\":0.2,"
                    "\"garbage\":0.1}");
}

static void test_suggestions(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    struct settings_problem problem;
    uint64_t touched = 0;
    assert_false(read_json(&settings, "{\"retry_aftre\":5}", &touched, &problem));
    assert_string_equal(problem.problem.text,
                        "there is no field retry_aftre; did you mean retry_after?");
}

static void test_too_many_headers(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    struct problem problem;
    for (int i = 0; i < HEADERS_MOST; i++)
        assert_true(setting_read(&settings, SETTING_HEADER, "A: b", &problem));
    assert_false(setting_read(&settings, SETTING_HEADER, "A: b", &problem));
}

static void test_bodies(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum body_kind kind;
        uint64_t size;
        const char *written;
    } rows[] = {
        {"64k", BODY_SIZED, 65536, "65536"},  {"0", BODY_SIZED, 0, "0"},
        {"hello", BODY_TEXT, 5, "\"hello\""}, {"=100", BODY_TEXT, 3, "\"=100\""},
        {"==", BODY_TEXT, 1, "\"==\""},       {"", BODY_TEXT, 0, "\"\""},
        {"2g", BODY_TEXT, 2, "\"2g\""}, /* larger than there is */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct body body;
        struct problem problem;
        char text[64] = "";
        assert_true(body_parse(rows[i].text, &body, &problem));
        assert_int_equal(body.kind, rows[i].kind);
        assert_int_equal(body.size, rows[i].size);
        FILE *stream = fmemopen(text, sizeof text, "w");
        body_write(stream, &body);
        fclose(stream);
        assert_string_equal(text, rows[i].written);
    }
}

static void test_blobs(void **state) {
    (void)state;
    struct body body;
    struct problem problem;
    assert_true(body_parse("130", &body, &problem));
    struct blob *blob = blob_of_body(&body);
    assert_int_equal(blob->size, 130);
    assert_memory_equal(blob->bytes, "0123456789", 10);
    assert_int_equal(blob->bytes[63], '\n');
    assert_memory_equal(blob->bytes + 128, "01", 2);
    assert_ptr_equal(blob_share(blob), blob);
    blob_release(blob);
    assert_int_equal(blob->size, 130); /* still there */
    blob_release(blob);
    blob_release(NULL);
}

static void test_override(void **state) {
    (void)state;
    struct settings settings = settings_defaults;
    struct settings_problem problem;
    take(&settings, "{\"fail\":0.9,\"hang\":0.1,\"status\":500,\"latency\":\"7ms\"}");
    assert_true(settings_override(&settings, " reset ; body = hi ;", &problem));
    assert_true(settings.reset == 1);
    assert_true(settings.fail == SHARE_UNSET); /* nothing is left to chance */
    assert_true(settings.hang == 0);
    assert_int_equal(settings.status, 0);
    assert_string_equal(settings.body.text, "hi");
    assert_int_equal(settings.latency.typical, 7 * MS); /* what is not named stays */
}

static void test_override_mistakes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *field;
    } rows[] = {
        {"statsu=503", "statsu"}, {"status", "status"},         {"status=5", "status"},
        {"rate=5/s", "rate"},     {"seed=5", "seed"},           {"=5", ""},
        {"reset; hang", "fail"},  {"slow_body=5", "slow_body"}, {"echo=maybe", "echo"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct settings settings = settings_defaults;
        struct settings_problem problem;
        if (settings_override(&settings, rows[i].text, &problem))
            fail_msg("%s was taken", rows[i].text);
        assert_string_equal(problem.field, rows[i].field);
        assert_true(strlen(problem.problem.text) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_defaults_there_and_back),
        cmocka_unit_test(test_one_reader),
        cmocka_unit_test(test_null_is_the_default),
        cmocka_unit_test(test_lists_are_replaced),
        cmocka_unit_test(test_touched),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_shares_may_add_up_to_one),
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_too_many_headers),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_blobs),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_override_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
