#include "testing.h"

#include <semaphore.h>

static struct lull_bulkhead bulkhead_of(int32_t limit, int32_t queue) {
    struct lull_bulkhead bulkhead;
    struct lull_bulkhead_config config = {.limit = limit, .queue = queue};
    assert_int_equal(lull_bulkhead_init(&bulkhead, &config, NULL), LULL_OK);
    return bulkhead;
}

static void assert_holds(struct lull_bulkhead *bulkhead, uint32_t inside, uint32_t waiting) {
    struct lull_bulkhead_stats stats = lull_bulkhead_snapshot(bulkhead);
    assert_int_equal(stats.inside, inside);
    assert_int_equal(stats.waiting, waiting);
}

static int woken[8], woken_count;

static void note_wake(struct lull_waiter *waiter) {
    woken[woken_count++] = *(int *)waiter->context;
}

static void test_defaults(void **state) {
    (void)state;
    struct lull_bulkhead bulkhead;
    assert_int_equal(lull_bulkhead_init(&bulkhead, NULL, NULL), LULL_OK);
    assert_int_equal(lull_bulkhead_snapshot(&bulkhead).limit, LULL_BULKHEAD_LIMIT);
    struct lull_waiter waiters[60] = {0};
    for (int i = 0; i < 30; i++)
        assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiters[i]).decision, LULL_GO);
    for (int i = 30; i < 50; i++)
        assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiters[i]).decision, LULL_WAIT);
    struct lull_verdict verdict = lull_bulkhead_enter(&bulkhead, &waiters[50]);
    assert_int_equal(verdict.decision, LULL_NO);
    assert_int_equal(verdict.policy, LULL_POLICY_BULKHEAD);
    assert_int_equal(verdict.reason, LULL_REASON_FULL);
    assert_int_equal(lull_bulkhead_snapshot(&bulkhead).refused, 1);
    assert_holds(&bulkhead, 30, 20);
}

/* The header's example: A and B enter, C waits, D is refused; A leaves, C is in. */
static void test_first_come_first_served(void **state) {
    (void)state;
    int names[] = {0, 1, 2};
    woken_count = 0;
    struct lull_bulkhead bulkhead = bulkhead_of(1, 3);
    assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_GO);
    struct lull_waiter waiters[3];
    for (int i = 0; i < 3; i++) {
        waiters[i] = (struct lull_waiter){.wake = note_wake, .context = &names[i]};
        struct lull_verdict verdict = lull_bulkhead_enter(&bulkhead, &waiters[i]);
        assert_int_equal(verdict.decision, LULL_WAIT);
        assert_int_equal(verdict.reason, LULL_REASON_QUEUED);
    }
    assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_NO);
    for (int i = 0; i < 3; i++) {
        lull_bulkhead_leave(&bulkhead);
        assert_int_equal(woken_count, i + 1);
        assert_int_equal(woken[i], i);
        assert_true(lull_bulkhead_settle(&bulkhead, &waiters[i]));
        assert_holds(&bulkhead, 1, (uint32_t)(2 - i));
    }
    lull_bulkhead_leave(&bulkhead);
    assert_holds(&bulkhead, 0, 0);
    assert_false(lull_bulkhead_settle(&bulkhead, &waiters[0])); /* settled before: nothing to do */
    assert_holds(&bulkhead, 0, 0);
}

static void test_giving_up_anywhere_in_the_queue(void **state) {
    (void)state;
    for (int gone = 0; gone < 3; gone++) {
        struct lull_bulkhead bulkhead = bulkhead_of(1, 5);
        struct lull_waiter waiters[3] = {0};
        assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_GO);
        for (int i = 0; i < 3; i++)
            assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiters[i]).decision, LULL_WAIT);
        assert_false(lull_bulkhead_settle(&bulkhead, &waiters[gone]));
        assert_holds(&bulkhead, 1, 2);
        for (int i = 0; i < 3; i++)
            if (i != gone) {
                lull_bulkhead_leave(&bulkhead);
                assert_true(lull_bulkhead_settle(&bulkhead, &waiters[i]));
            }
        assert_holds(&bulkhead, 1, 0);
    }
}

static void test_without_a_queue(void **state) {
    (void)state;
    struct lull_bulkhead bulkhead = bulkhead_of(1, LULL_NONE);
    struct lull_waiter waiter = {0};
    assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiter).decision, LULL_GO);
    assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiter).decision, LULL_NO);
}

static void test_a_leave_too_many(void **state) {
    (void)state;
    struct lull_bulkhead bulkhead = bulkhead_of(1, 1);
    lull_bulkhead_leave(&bulkhead);
    assert_holds(&bulkhead, 0, 0);
    assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_GO);
    assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_NO);
}

static void test_raised_limit_lets_waiters_in(void **state) {
    (void)state;
    struct lull_bulkhead bulkhead = bulkhead_of(1, 5);
    struct lull_waiter waiters[3] = {0};
    assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_GO);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiters[i]).decision, LULL_WAIT);
    struct lull_bulkhead_config config = {.limit = 3, .queue = 5};
    assert_int_equal(lull_bulkhead_configure(&bulkhead, &config, NULL), LULL_OK);
    assert_holds(&bulkhead, 3, 1);
    assert_true(lull_bulkhead_settle(&bulkhead, &waiters[0]));
    assert_true(lull_bulkhead_settle(&bulkhead, &waiters[1]));
    assert_false(lull_bulkhead_settle(&bulkhead, &waiters[2]));
    struct lull_bulkhead_config bad = {.limit = -3};
    assert_int_equal(lull_bulkhead_configure(&bulkhead, &bad, NULL), LULL_EINVAL);
}

static void test_lowered_limit_is_reached_by_leaving(void **state) {
    (void)state;
    struct lull_bulkhead bulkhead = bulkhead_of(3, 5);
    struct lull_waiter waiter = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(lull_bulkhead_enter(&bulkhead, NULL).decision, LULL_GO);
    assert_int_equal(lull_bulkhead_enter(&bulkhead, &waiter).decision, LULL_WAIT);
    struct lull_bulkhead_config config = {.limit = 1, .queue = 5};
    assert_int_equal(lull_bulkhead_configure(&bulkhead, &config, NULL), LULL_OK);
    lull_bulkhead_leave(&bulkhead);
    lull_bulkhead_leave(&bulkhead);
    assert_holds(&bulkhead, 1, 1);
    lull_bulkhead_leave(&bulkhead);
    assert_holds(&bulkhead, 1, 0);
    assert_true(lull_bulkhead_settle(&bulkhead, &waiter));
}

static void test_bad_configurations(void **state) {
    (void)state;
    static const struct {
        struct lull_bulkhead_config config;
        const char *field;
    } rows[] = {
        {{.limit = -1}, "bulkhead.limit"},
        {{.limit = LULL_BULKHEAD_MAX + 1}, "bulkhead.limit"},
        {{.queue = -2}, "bulkhead.queue"},
        {{.queue = LULL_BULKHEAD_MAX + 1}, "bulkhead.queue"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_bulkhead bulkhead;
        struct lull_error error = {0};
        assert_names(lull_bulkhead_init(&bulkhead, &rows[i].config, &error), &error, rows[i].field);
    }
}

/* Threads that enter, wait or give up at random; their own counter shows that the limit holds. */
struct race {
    struct lull_bulkhead bulkhead;
    _Atomic(uint32_t) seed;
    _Atomic(int) inside, highest, entered;
};

static void post(struct lull_waiter *waiter) {
    sem_post(waiter->context);
}

static bool enter_or_give_up(struct race *race, uint64_t *random) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    struct lull_waiter waiter = {.wake = post, .context = &semaphore};
    bool inside = false;
    switch (lull_bulkhead_enter(&race->bulkhead, &waiter).decision) {
    case LULL_GO:
        inside = true;
        break;
    case LULL_WAIT:
        if (draw(random, 0, 3) > 0)
            while (sem_wait(&semaphore) != 0) {
            }
        inside = lull_bulkhead_settle(&race->bulkhead, &waiter);
        break;
    default:
        break;
    }
    sem_destroy(&semaphore);
    return inside;
}

static void *race_body(void *arg) {
    struct race *race = arg;
    uint64_t random = race->seed++;
    for (int i = 0; i < 5000; i++) {
        if (!enter_or_give_up(race, &random))
            continue;
        int inside = ++race->inside;
        int highest = race->highest;
        while (inside > highest &&
               !atomic_compare_exchange_weak(&race->highest, &highest, inside)) {
        }
        race->entered++;
        race->inside--;
        lull_bulkhead_leave(&race->bulkhead);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct race race = {.bulkhead = bulkhead_of(2, 4)};
    on_threads(8, race_body, &race);
    assert_in_range(race.highest, 1, 2);
    assert_true(race.entered > 0);
    assert_holds(&race.bulkhead, 0, 0);
    assert_null(race.bulkhead.first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_first_come_first_served),
        cmocka_unit_test(test_giving_up_anywhere_in_the_queue),
        cmocka_unit_test(test_without_a_queue),
        cmocka_unit_test(test_a_leave_too_many),
        cmocka_unit_test(test_raised_limit_lets_waiters_in),
        cmocka_unit_test(test_lowered_limit_is_reached_by_leaving),
        cmocka_unit_test(test_bad_configurations),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
