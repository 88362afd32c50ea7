#include "testing.h"

#include "outage.h"

static struct outages outages_of(const char *text) {
    struct outages outages = {0};
    struct problem problem = {{0}};
    if (!outages_parse(text, &outages, &problem))
        fail_msg("%s: %s", text, problem.text);
    return outages;
}

static void assert_state(struct outage_state state, enum outage_mode mode, lull_duration change) {
    assert_string_equal(outage_mode_name(state.mode), outage_mode_name(mode));
    assert_int_equal(state.change, change);
}

static void test_forms(void **state) {
    (void)state;
    struct outages outages = outages_of("10s+30s,2m+5s:hang,0+1ms:error");
    assert_int_equal(outages.count, 3);
    assert_int_equal(outages.list[0].from, 10 * SECOND);
    assert_int_equal(outages.list[0].length, 30 * SECOND);
    assert_int_equal(outages.list[0].mode, OUTAGE_REFUSE);
    assert_int_equal(outages.list[1].mode, OUTAGE_HANG);
    assert_int_equal(outages.list[2].from, 0);
    assert_int_equal(outages_end(&outages), 125 * SECOND);

    char printed[128];
    FILE *stream = fmemopen(printed, sizeof printed, "w");
    outages_print(stream, &outages);
    fclose(stream);
    assert_string_equal(printed, "10s+30s:refuse,2m+5s:hang,0s+1ms:error");
}

static void test_reading_adds(void **state) {
    (void)state;
    struct outages outages = outages_of("10s+1s");
    struct problem problem;
    assert_true(outages_parse("20s+1s", &outages, &problem));
    assert_int_equal(outages.count, 2);
    for (size_t i = outages.count; i < OUTAGES_MOST; i++)
        assert_true(outages_parse("30s+1s", &outages, &problem));
    assert_false(outages_parse("30s+1s", &outages, &problem));
}

static void test_every_mode_has_a_name(void **state) {
    (void)state;
    for (int i = OUTAGE_NONE + 1; i < OUTAGE_MODE_COUNT; i++) {
        char text[64];
        snprintf(text, sizeof text, "1s+1s:%s", outage_mode_name((enum outage_mode)i));
        struct outages outages = outages_of(text);
        assert_int_equal(outages.list[0].mode, i);
    }
}

static void test_mistakes(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",           "10s",    "10s+",   "+10s",   "10+5",       "1s+0s",        "1s+1s:no",
        "1s+1s:none", "1s+1s,", "1s+1s:", "-1s+1s", "1s+100000d", "1s+1s:hang:5",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outages outages = {0};
        struct problem problem = {{0}};
        if (outages_parse(rows[i], &outages, &problem))
            fail_msg("%s was taken", rows[i]);
        assert_true(strlen(problem.text) > 0);
    }
}

static void test_once(void **state) {
    (void)state;
    struct outages outages = outages_of("10s+30s:error");
    assert_state(outages_at(&outages, 0, 0), OUTAGE_NONE, 10 * SECOND);
    assert_state(outages_at(&outages, 0, 10 * SECOND - 1), OUTAGE_NONE, 10 * SECOND);
    assert_state(outages_at(&outages, 0, 10 * SECOND), OUTAGE_ERROR, 40 * SECOND);
    assert_state(outages_at(&outages, 0, 40 * SECOND - 1), OUTAGE_ERROR, 40 * SECOND);
    assert_state(outages_at(&outages, 0, 40 * SECOND), OUTAGE_NONE, LULL_NEVER);
}

static void test_none(void **state) {
    (void)state;
    struct outages outages = {0};
    assert_state(outages_at(&outages, 0, 0), OUTAGE_NONE, LULL_NEVER);
    assert_state(outages_at(&outages, SECOND, 0), OUTAGE_NONE, LULL_NEVER);
}

/* Down from 10 to 15 s, from 70 to 75 s, and so on. */
static void test_every(void **state) {
    (void)state;
    struct outages outages = outages_of("10s+5s:error");
    lull_duration every = LULL_MINUTE;
    assert_state(outages_at(&outages, every, 10 * SECOND), OUTAGE_ERROR, 15 * SECOND);
    assert_state(outages_at(&outages, every, 15 * SECOND), OUTAGE_NONE, 60 * SECOND);
    assert_state(outages_at(&outages, every, 60 * SECOND), OUTAGE_NONE, 70 * SECOND);
    assert_state(outages_at(&outages, every, 3670 * SECOND), OUTAGE_ERROR, 3675 * SECOND);
}

static void test_down_all_the_time(void **state) {
    (void)state;
    struct outages outages = outages_of("0s+1s:hang");
    assert_state(outages_at(&outages, SECOND, 0), OUTAGE_HANG, SECOND);
    assert_state(outages_at(&outages, SECOND, SECOND), OUTAGE_HANG, 2 * SECOND);
}

/* Where they overlap, the first one named counts; a change is no later than any begin or end. */
static void test_overlap(void **state) {
    (void)state;
    struct outages outages = outages_of("2s+2s:error,1s+4s:hang");
    assert_state(outages_at(&outages, 0, 0), OUTAGE_NONE, 1 * SECOND);
    assert_state(outages_at(&outages, 0, 1 * SECOND), OUTAGE_HANG, 2 * SECOND);
    assert_state(outages_at(&outages, 0, 2 * SECOND), OUTAGE_ERROR, 4 * SECOND);
    assert_state(outages_at(&outages, 0, 4 * SECOND), OUTAGE_HANG, 5 * SECOND);
    assert_state(outages_at(&outages, 0, 5 * SECOND), OUTAGE_NONE, LULL_NEVER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_reading_adds),
        cmocka_unit_test(test_every_mode_has_a_name),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_every),
        cmocka_unit_test(test_down_all_the_time),
        cmocka_unit_test(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
