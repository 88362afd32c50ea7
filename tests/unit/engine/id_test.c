#include "testing.h"

#include "id.h"

static void test_exact(void **state) {
    (void)state;
    static const struct {
        enum id_kind kind;
        int64_t id;
        const char *text;
    } rows[] = {
        {ID_EVENT, 1, "evt_0000000000001"},
        {ID_DELIVERY, 31, "dlv_000000000000z"},
        {ID_REPLAY, 32, "rpl_0000000000010"},
        {ID_EVENT, 18, "evt_000000000000j"}, /* no i */
        {ID_EVENT, 20, "evt_000000000000m"}, /* no l */
        {ID_EVENT, 22, "evt_000000000000p"}, /* no o */
        {ID_EVENT, 27, "evt_000000000000v"}, /* no u */
        {ID_EVENT, INT64_C(1) << 60, "evt_1000000000000"},
        {ID_EVENT, INT64_MAX, "evt_7zzzzzzzzzzzz"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[ID_TEXT_SIZE];
        int64_t id = -1;
        assert_ptr_equal(id_format(rows[i].kind, rows[i].id, text), text);
        assert_string_equal(text, rows[i].text);
        assert_true(id_parse(rows[i].kind, text, &id));
        assert_int_equal(id, rows[i].id);
    }
}

static void test_no_ids(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "evt_",
        "evt_1",
        "evt_000000000001",   /* short */
        "evt_00000000000001", /* long */
        "dlv_0000000000001",  /* another kind */
        "EVT_0000000000001",
        "evt-0000000000001",
        "evt_000000000000A",
        "evt_000000000000i",
        "evt_000000000000l",
        "evt_000000000000o",
        "evt_000000000000u",
        "evt_000000000000-",
        "evt_00000000000 1",
        " evt_0000000000001",
        "evt_0000000000001 ",
        "evt_8000000000000", /* 2^63 */
        "evt_zzzzzzzzzzzzz",
        "evt_0000000000000", /* stands for none */
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t id = -77;
        if (id_parse(ID_EVENT, texts[i], &id))
            fail_msg("\"%s\" was taken for an id", texts[i]);
        assert_int_equal(id, -77);
    }
}

/* The order of texts is the order of numbers, near to each other and far apart. */
static void test_order(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) {
        int64_t a = draw(&random, 1, INT64_MAX >> draw(&random, 0, 62));
        int64_t b = i % 2 ? draw(&random, 1, INT64_MAX) : a + (a < INT64_MAX);
        char a_text[ID_TEXT_SIZE], b_text[ID_TEXT_SIZE];
        int order = strcmp(id_format(ID_EVENT, a, a_text), id_format(ID_EVENT, b, b_text));
        assert_int_equal(order < 0, a < b);
        assert_int_equal(order > 0, a > b);
        int64_t again;
        assert_true(id_parse(ID_EVENT, a_text, &again));
        assert_int_equal(again, a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_no_ids),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
