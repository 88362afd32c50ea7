#include "testing.h"

#include "timers.h"

static int fired[4096];
static int fired_count;

struct named {
    struct timer timer;
    int name;
};

static void note(struct timer *timer, void *context) {
    (void)context;
    fired[fired_count++] = ((struct named *)timer)->name;
}

static void assert_fired(const char *names) {
    char text[256] = "";
    for (int i = 0; i < fired_count; i++)
        text[i] = (char)fired[i];
    assert_string_equal(text, names);
    fired_count = 0;
}

static int set_up(void **state) {
    (void)state;
    fired_count = 0;
    return 0;
}

static void test_order(void **state) {
    (void)state;
    struct timers timers = {0};
    struct named a = {{.fire = note}, 'a'}, b = {{.fire = note}, 'b'}, c = {{.fire = note}, 'c'};
    assert_int_equal(timers_next(&timers), LULL_NEVER);
    timer_set(&timers, &c.timer, 20);
    timer_set(&timers, &b.timer, 10);
    timer_set(&timers, &a.timer, 20); /* as c, but set later */
    assert_int_equal(timers_next(&timers), 10);
    timers_fire(&timers, 9, NULL);
    assert_fired("");
    timers_fire(&timers, 20, NULL);
    assert_fired("bca");
    assert_false(timer_is_set(&a.timer));
    timers_clean_up(&timers);
}

static void test_move_and_drop(void **state) {
    (void)state;
    struct timers timers = {0};
    struct named a = {{.fire = note}, 'a'}, b = {{.fire = note}, 'b'};
    timer_set(&timers, &a.timer, 10);
    timer_set(&timers, &b.timer, 20);
    timer_set(&timers, &a.timer, 30);
    assert_int_equal(timers.count, 2);
    timers_fire(&timers, 25, NULL);
    assert_fired("b");
    timer_drop(&timers, &a.timer);
    timer_drop(&timers, &a.timer);
    timer_set(&timers, &b.timer, 5);
    timer_set(&timers, &b.timer, LULL_NEVER);
    timers_fire(&timers, 100, NULL);
    assert_fired("");
    timers_clean_up(&timers);
}

static void again(struct timer *timer, void *context) {
    note(timer, NULL);
    timer_set(context, timer, 0);
}

/* A timer that sets itself for now must not keep the loop from everything else. */
static void test_set_again_waits(void **state) {
    (void)state;
    struct timers timers = {0};
    struct named a = {{.fire = again}, 'a'};
    timer_set(&timers, &a.timer, 0);
    timers_fire(&timers, 10, &timers);
    assert_fired("a");
    timers_fire(&timers, 10, &timers);
    assert_fired("a");
    timers_clean_up(&timers);
}

static struct named many[1000];

/* Set, moved and dropped at random, then fired: in order, each once, none that was dropped. */
static void test_at_random(void **state) {
    (void)state;
    struct timers timers = {0};
    uint64_t random = 3;
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = (struct named){{.fire = note}, (int)i};
    for (int step = 0; step < 20000; step++) {
        struct named *one = &many[draw(&random, 0, (int64_t)COUNT(many) - 1)];
        if (draw(&random, 0, 3) == 0)
            timer_drop(&timers, &one->timer);
        else
            timer_set(&timers, &one->timer, draw(&random, 0, 500));
    }
    size_t set = timers.count;
    lull_time last = 0;
    for (lull_time now = 0; now <= 500; now += 7) {
        timers_fire(&timers, now, NULL);
        assert_true(timers_next(&timers) > now);
    }
    assert_int_equal(fired_count, set);
    for (int i = 0; i < fired_count; i++) {
        assert_true(many[fired[i]].timer.due >= last);
        assert_false(timer_is_set(&many[fired[i]].timer));
        last = many[fired[i]].timer.due;
    }
    timers_clean_up(&timers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, set_up),
        cmocka_unit_test_setup(test_move_and_drop, set_up),
        cmocka_unit_test_setup(test_set_again_waits, set_up),
        cmocka_unit_test_setup(test_at_random, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
