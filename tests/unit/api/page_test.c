#include "fixture.h"

#include "api/page.h"

static void test_cursors(void **state) {
    (void)state;
    static const struct list_cursor cursors[] = {
        {1, DELIVERY_FRESH, {INT64_MIN, INT64_MIN}},
        {INT64_MAX, DELIVERY_DEAD, {INT64_MAX, INT64_MAX}},
        {12, DELIVERY_DELIVERED, {NOON, 77}},
        {3, DELIVERY_RETRY, {0, 0}},
    };
    for (size_t i = 0; i < COUNT(cursors); i++) {
        char text[CURSOR_TEXT_SIZE];
        struct list_cursor again;
        assert_true(cursor_parse(cursor_format(&cursors[i], text), &again));
        assert_int_equal(again.destination, cursors[i].destination);
        assert_int_equal(again.state, cursors[i].state);
        assert_int_equal(again.place.due, cursors[i].place.due);
        assert_int_equal(again.place.id, cursors[i].place.id);
    }
}

static void test_garbage(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "x",
        "1",
        "1.0",
        "1.0.0",
        "1.0.0.0.0",
        "1.0.0.",
        "0.0.0.0",
        "-1.0.0.0",
        "1.4.0.0",
        "1.-1.0.0",
        "01.0.0.0",
        "1.00.0.0",
        "1.0.+1.0",
        "1.0.-0.0",
        "1.0. 1.0",
        "1.0.1.0 ",
        "1.0.1.0x",
        "1..1.0",
        "1.0.1.9223372036854775808",
        "99999999999999999999.0.0.0",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct list_cursor cursor;
        if (cursor_parse(texts[i], &cursor))
            fail_msg("%s was taken", texts[i]);
    }
}

static void test_limits(void **state) {
    static const struct {
        const char *path;
        bool fine;
    } rows[] = {
        {"/v1/dlq?limit=1", true},     {"/v1/dlq?limit=1000", true},
        {"/v1/dlq?limit=0010", true},  {"/v1/dlq?limit=0", false},
        {"/v1/dlq?limit=1001", false}, {"/v1/dlq?limit=", false},
        {"/v1/dlq?limit=-1", false},   {"/v1/dlq?limit=1x", false},
        {"/v1/dlq?limit=+1", false},   {"/v1/dlq?limit=99999999999999999999", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct exchange *exchange = get(*state, rows[i].path);
        if (rows[i].fine)
            assert_answer(exchange, 200, "{\"items\":[],\"next\":null}");
        else
            assert_problem(exchange, 400, "bad_limit", "1 … 1000");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
