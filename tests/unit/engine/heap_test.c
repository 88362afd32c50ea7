#include "testing.h"

#include "heap.h"
#include "lane.h"

#include <stdlib.h>

#define LANES 100

static struct lane lanes[LANES];
static struct heap heap;

static void add(int index, lull_time wake) {
    lanes[index] = (struct lane){.destination = index, .wake = wake};
    assert_int_equal(heap_add(&heap, &lanes[index]), LULL_OK);
}

static void expect_first(int64_t destination) {
    assert_non_null(heap_first(&heap));
    assert_int_equal(heap_first(&heap)->destination, destination);
}

static void take_first(int64_t destination) {
    expect_first(destination);
    heap_remove(&heap, heap_first(&heap));
}

static int clean_up(void **state) {
    (void)state;
    heap_clean_up(&heap);
    return 0;
}

static void test_earliest_first_then_by_destination(void **state) {
    (void)state;
    assert_null(heap_first(&heap));
    add(1, 50);
    add(2, 10);
    add(3, 30);
    add(4, 10);
    add(5, LULL_NEVER);
    take_first(2);
    take_first(4);
    take_first(3);
    take_first(1);
    take_first(5);
    assert_null(heap_first(&heap));
}

static void test_moves_both_ways(void **state) {
    (void)state;
    for (int i = 1; i <= 5; i++)
        add(i, 10 * i);
    lanes[5].wake = 1;
    heap_move(&heap, &lanes[5]);
    expect_first(5);
    lanes[5].wake = 45;
    heap_move(&heap, &lanes[5]);
    lanes[1].wake = LULL_NEVER;
    heap_move(&heap, &lanes[1]);
    take_first(2);
    take_first(3);
    take_first(4);
    take_first(5);
    take_first(1);
}

static void test_removing_what_is_not_in(void **state) {
    (void)state;
    add(1, 10);
    add(2, 20);
    heap_remove(&heap, &lanes[1]);
    heap_remove(&heap, &lanes[1]);
    assert_int_equal(heap.count, 1);
    expect_first(2);
}

/* Whatever is added, moved and removed, the first is the least of those that are in. */
static void test_against_a_search(void **state) {
    (void)state;
    uint64_t random = 1;
    bool in[LANES] = {0};
    for (int step = 0; step < 20000; step++) {
        int i = (int)draw(&random, 0, LANES - 1);
        lull_time wake = draw(&random, 0, 50);
        if (!in[i]) {
            add(i, wake);
            in[i] = true;
        } else if (draw(&random, 0, 1)) {
            lanes[i].wake = wake;
            heap_move(&heap, &lanes[i]);
        } else {
            heap_remove(&heap, &lanes[i]);
            in[i] = false;
        }
        int first = -1;
        for (int j = 0; j < LANES; j++)
            if (in[j] && (first < 0 || lanes[j].wake < lanes[first].wake))
                first = j;
        if (first < 0)
            assert_null(heap_first(&heap));
        else
            expect_first(first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_earliest_first_then_by_destination, clean_up),
        cmocka_unit_test_teardown(test_moves_both_ways, clean_up),
        cmocka_unit_test_teardown(test_removing_what_is_not_in, clean_up),
        cmocka_unit_test_teardown(test_against_a_search, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
