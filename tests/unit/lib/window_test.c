/* The rolling window, slice by slice. The counters belong to the test, so every number can be
 * worked out by hand. */
#include "window.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_SLICES = 60, COUNTERS = 2 };
#define START (1000 * LULL_SECOND)

static struct {
    struct lull_window window;
    _Atomic(uint64_t) counters[COUNTERS];
    _Atomic(uint64_t) notes[MOST_SLICES * COUNTERS];
    _Atomic(uint64_t) oldest[COUNTERS];
} fixture;

static void begin(lull_duration length, uint32_t slices) {
    memset((void *)&fixture, 0, sizeof fixture);
    window_init(&fixture.window, length, slices);
}

static void move(lull_time now) {
    window_move(&fixture.window, now, fixture.counters, COUNTERS, fixture.notes, fixture.oldest);
}

/* Counts as a policy does: move if it is time, then add. The second counter counts threefold. */
static void count(uint64_t amount, lull_time now) {
    if (window_due(&fixture.window, now))
        move(now);
    add(&fixture.counters[0], amount);
    add(&fixture.counters[1], 3 * amount);
}

static uint64_t held(int counter) {
    return load(&fixture.counters[counter]) - load(&fixture.oldest[counter]);
}

/* What the window holds at a moment. */
static uint64_t held_at(lull_time now) {
    if (window_due(&fixture.window, now))
        move(now);
    assert_int_equal(held(1), 3 * held(0));
    return held(0);
}

static void note_is(uint32_t position, uint64_t value) {
    assert_int_equal(load(&fixture.notes[position * COUNTERS]), value);
    assert_int_equal(load(&fixture.notes[position * COUNTERS + 1]), 3 * value);
}

/* The numbers of lull/window.h. */
static void worked_example(void **state) {
    (void)state;
    begin(4 * LULL_SECOND, 4);
    for (int i = 0; i < 45; i++)
        count(1, START + i * 100 * LULL_MILLISECOND);
    uint64_t notes[] = {40, 10, 20, 30}; /* slice 4 has taken the place of slice 0 */
    for (uint32_t i = 0; i < 4; i++)
        note_is(i, notes[i]);
    assert_int_equal(load(&fixture.counters[0]), 45);
    assert_int_equal(load(&fixture.oldest[0]), 10);
    assert_int_equal(held_at(START + 4500 * LULL_MILLISECOND), 35);
}

static void first_slice_begins_with_the_first_move(void **state) {
    (void)state;
    const lull_time moments[] = {INT64_MIN + 1, -5, 0, START};
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        begin(4 * LULL_SECOND, 4);
        assert_true(window_due(&fixture.window, moments[i]));
        count(7, moments[i]);
        assert_int_equal(load(&fixture.window.slice_end), moments[i] + LULL_SECOND);
        assert_int_equal(load(&fixture.window.position), 0);
        assert_int_equal(held(0), 7);
        assert_false(window_due(&fixture.window, moments[i] + LULL_SECOND - 1));
        assert_true(window_due(&fixture.window, moments[i] + LULL_SECOND));
    }
}

/* One event in each of the first n slices leaves when its slice is n slices old, to the
 * nanosecond. */
static void events_leave_slice_by_slice(void **state) {
    (void)state;
    for (uint32_t slices = 2; slices <= MOST_SLICES; slices++) {
        begin(slices * LULL_SECOND, slices);
        for (uint32_t i = 0; i < slices; i++)
            count(1, START + i * LULL_SECOND + (i == 0 ? 0 : LULL_SECOND - 1));
        for (uint32_t i = 0; i < slices; i++) {
            lull_time leaves = START + (slices + i) * LULL_SECOND;
            assert_int_equal(held_at(leaves - 1), slices - i);
            assert_int_equal(held_at(leaves), slices - i - 1);
        }
    }
}

/* One event in each of slices 0 to 3, then a jump: what is left depends on how far. */
static void jumps(void **state) {
    (void)state;
    const struct {
        lull_duration by; /* from the start of slice 3 */
        uint64_t left;
        uint32_t begun; /* the slice that has begun then */
    } rows[] = {
        {0, 4, 3},
        {LULL_SECOND - 1, 4, 3},
        {LULL_SECOND, 3, 4},
        {2 * LULL_SECOND - 1, 3, 4},
        {2 * LULL_SECOND, 2, 5},
        {3 * LULL_SECOND, 1, 6},
        {4 * LULL_SECOND - 1, 1, 6},
        {4 * LULL_SECOND, 0, 7},
        {5 * LULL_SECOND, 0, 8},
        {9 * LULL_SECOND + 17, 0, 12},
        {86400 * LULL_SECOND + 1, 0, 86403},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(4 * LULL_SECOND, 4);
        for (int slice = 0; slice < 4; slice++)
            count(1, START + slice * LULL_SECOND);
        assert_int_equal(held_at(START + 3 * LULL_SECOND + rows[i].by), rows[i].left);
        /* The slices keep their grid however far the jump. */
        assert_int_equal(load(&fixture.window.slice_end),
                         START + (rows[i].begun + 1) * LULL_SECOND);
        /* What comes after it is counted as ever. */
        lull_time next = load(&fixture.window.slice_end);
        count(5, next);
        assert_int_equal(held_at(next + 4 * LULL_SECOND - 1), 5);
        assert_int_equal(held_at(next + 4 * LULL_SECOND), 0);
    }
}

static void older_time_is_now(void **state) {
    (void)state;
    begin(4 * LULL_SECOND, 4);
    count(1, START);
    count(1, START + 2 * LULL_SECOND);
    assert_false(window_due(&fixture.window, START));
    count(1, START + LULL_SECOND); /* into the current slice, the third */
    count(1, START - LULL_HOUR);
    move(START); /* not due: nothing moves */
    assert_int_equal(load(&fixture.window.slice_end), START + 3 * LULL_SECOND);
    assert_int_equal(load(&fixture.window.position), 2);
    assert_int_equal(held_at(START + 4 * LULL_SECOND), 3);
    assert_int_equal(held_at(START + 6 * LULL_SECOND - 1), 3);
    assert_int_equal(held_at(START + 6 * LULL_SECOND), 0);
}

static void resize_is_felt_from_the_next_slice(void **state) {
    (void)state;
    begin(4 * LULL_SECOND, 4);
    count(1, START);
    window_resize(&fixture.window, 8 * LULL_SECOND);
    assert_int_equal(load(&fixture.window.slice_end), START + LULL_SECOND);
    assert_int_equal(load(&fixture.window.slices), 4);
    count(1, START + LULL_SECOND); /* slice 1: from 1 s to 3 s */
    assert_int_equal(load(&fixture.window.slice_end), START + 3 * LULL_SECOND);
    assert_int_equal(held_at(START + 7 * LULL_SECOND - 1), 2);
    assert_int_equal(held_at(START + 7 * LULL_SECOND), 1); /* slice 4 begins: slice 0 is out */
    window_resize(&fixture.window, 2 * LULL_SECOND);
    assert_int_equal(held_at(START + 9 * LULL_SECOND - 1), 1);
    assert_int_equal(held_at(START + 9 * LULL_SECOND), 0);
    assert_int_equal(load(&fixture.window.slice_end), START + 9500 * LULL_MILLISECOND);
}

/* The window is never longer than its length, and a slice never shorter than a nanosecond. */
static void lengths_that_do_not_divide(void **state) {
    (void)state;
    const struct {
        lull_duration length;
        uint32_t slices;
        lull_duration slice;
    } rows[] = {{1000, 60, 16}, {100, 3, 33}, {59, 60, 1}, {1, 2, 1}, {60, 60, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(rows[i].length, rows[i].slices);
        count(1, START);
        assert_int_equal(load(&fixture.window.slice_end), START + rows[i].slice);
        assert_int_equal(held_at(START + rows[i].slice * rows[i].slices - 1), 1);
        assert_int_equal(held_at(START + rows[i].slice * rows[i].slices), 0);
    }
}

/* No jump is too far, whatever the clock's zero is: the slice that has begun holds `now`. */
static void ends_of_time(void **state) {
    (void)state;
    const struct {
        lull_time from, to;
    } rows[] = {
        {INT64_MIN + 1, 0},      {INT64_MIN + 1, INT64_MAX - LULL_MINUTE},
        {-LULL_DAY, LULL_DAY},   {0, INT64_MAX - LULL_MINUTE},
        {-LULL_DAY, -LULL_HOUR}, {INT64_MIN + 1, INT64_MIN + LULL_DAY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(3 * LULL_SECOND, 3);
        count(1, rows[i].from);
        assert_int_equal(held_at(rows[i].to), 0);
        lull_time end = load(&fixture.window.slice_end);
        assert_true(end > rows[i].to && end - LULL_SECOND <= rows[i].to);
        assert_int_equal(((uint64_t)end - (uint64_t)rows[i].from) % LULL_SECOND, 0);
    }
    begin(3 * LULL_SECOND, 3);
    count(1, INT64_MAX - 5); /* the last slice of all ends with time itself */
    assert_int_equal(load(&fixture.window.slice_end), INT64_MAX);
    assert_int_equal(held_at(INT64_MAX - 1), 1);
}

/* While one thread moves the window, others neither wait nor move it a second time. */
static void second_mover_goes_on(void **state) {
    (void)state;
    begin(4 * LULL_SECOND, 4);
    count(1, START);
    assert_true(try_lock(&fixture.window.moving));
    count(1, START + 9 * LULL_SECOND);
    assert_int_equal(load(&fixture.window.slice_end), START + LULL_SECOND);
    assert_int_equal(held(0), 2);
    unlock(&fixture.window.moving);
    assert_int_equal(held_at(START + 9 * LULL_SECOND), 0);
    assert_false(load(&fixture.window.moving));
}

/* Threads that count and move at once. While one is at the move, the others' events fall into
 * the slice before. */
enum { MOVERS = 4, ROUNDS = 200, EACH = 50, SLICES = 5 };

static pthread_barrier_t barrier;

static void *count_for_rounds(void *arg) {
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < EACH; i++)
            count(1, START + round * LULL_SECOND + i);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void concurrent_movers(void **state) {
    (void)state;
    begin(SLICES * LULL_SECOND, SLICES);
    pthread_t threads[MOVERS];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, MOVERS + 1), 0);
    for (int i = 0; i < MOVERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_for_rounds, NULL), 0);
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        uint64_t slices = round < SLICES ? (uint64_t)round + 1 : SLICES;
        uint64_t most = slices * MOVERS * EACH;
        uint64_t in_window = held(0);
        if (in_window > most || in_window + (MOVERS - 1) * EACH < most ||
            load(&fixture.window.slice_end) != START + (round + 1) * LULL_SECOND)
            wrong++;
    }
    for (int i = 0; i < MOVERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(wrong, 0);
    assert_int_equal(load(&fixture.counters[0]), MOVERS * ROUNDS * EACH);
    assert_int_equal(held_at(START + (ROUNDS + SLICES) * LULL_SECOND), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(first_slice_begins_with_the_first_move),
        cmocka_unit_test(events_leave_slice_by_slice),
        cmocka_unit_test(jumps),
        cmocka_unit_test(older_time_is_now),
        cmocka_unit_test(resize_is_felt_from_the_next_slice),
        cmocka_unit_test(lengths_that_do_not_divide),
        cmocka_unit_test(ends_of_time),
        cmocka_unit_test(second_mover_goes_on),
        cmocka_unit_test(concurrent_movers),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
