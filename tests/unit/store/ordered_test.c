#include "testing.h"

#include "ordered.h"

static struct pair pair_of(int64_t major, int64_t minor) {
    return (struct pair){major, minor};
}

static void test_order(void **state) {
    (void)state;
    struct ordered map = {0};
    char values[] = "abcdef";
    assert_true(ordered_add(&map, pair_of(2, 1), &values[2]));
    assert_true(ordered_add(&map, pair_of(1, 9), &values[1]));
    assert_true(ordered_add(&map, pair_of(2, 3), &values[3]));
    assert_true(ordered_add(&map, pair_of(-5, 0), &values[0]));
    assert_int_equal(map.count, 4);
    int i = 0;
    for (struct ordered_node *node = map.first[0]; node != NULL; node = node->next[0])
        assert_ptr_equal(node->value, &values[i++]);
    assert_int_equal(i, 4);
    assert_ptr_equal(ordered_find(&map, pair_of(2, 3)), &values[3]);
    assert_null(ordered_find(&map, pair_of(2, 2)));
    assert_ptr_equal(ordered_after(&map, pair_of(2, 1))->value, &values[3]);
    assert_ptr_equal(ordered_after(&map, pair_of(2, 0))->value, &values[2]);
    assert_null(ordered_after(&map, pair_of(2, 3)));
    assert_ptr_equal(ordered_before(&map, pair_of(2, 1))->value, &values[1]);
    assert_ptr_equal(ordered_before(&map, PAIR_GREATEST)->value, &values[3]);
    assert_null(ordered_before(&map, pair_of(-5, 0)));
    assert_ptr_equal(ordered_take(&map, pair_of(2, 1)), &values[2]);
    assert_null(ordered_take(&map, pair_of(2, 1)));
    assert_int_equal(map.count, 3);
    ordered_clean_up(&map);
    assert_null(map.first[0]);
}

/* Against a table of what should be there. */
static void test_many(void **state) {
    (void)state;
    enum { SIZE = 500 };
    static bool there[SIZE];
    struct ordered map = {0};
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++) {
        int64_t key = draw(&seed, 0, SIZE - 1);
        struct pair pair = pair_of(key / 7, key % 7);
        if (there[key])
            assert_ptr_equal(ordered_take(&map, pair), &there[key]);
        else
            assert_true(ordered_add(&map, pair, &there[key]));
        there[key] = !there[key];
    }
    const struct ordered_node *node = map.first[0];
    for (int key = 0; key < SIZE; key++) {
        struct pair pair = pair_of(key / 7, key % 7);
        assert_ptr_equal(ordered_find(&map, pair), there[key] ? &there[key] : NULL);
        if (!there[key])
            continue;
        assert_ptr_equal(node->value, &there[key]);
        node = node->next[0];
    }
    assert_null(node);
    ordered_clean_up(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
