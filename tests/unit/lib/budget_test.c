#include "testing.h"

static struct lull_budget budget_of(struct lull_budget_config config) {
    struct lull_budget budget;
    assert_int_equal(lull_budget_init(&budget, &config, NULL), LULL_OK);
    return budget;
}

/* Only what was earned counts: no floor, and no cap but the window. */
static struct lull_budget bare(double ratio) {
    return budget_of(
        (struct lull_budget_config){.ratio = ratio, .cap_seconds = LULL_NONE, .floor = LULL_NONE});
}

static void deposit(struct lull_budget *budget, int count, lull_time now) {
    for (int i = 0; i < count; i++)
        lull_budget_deposit(budget, now);
}

static int withdraw_all(struct lull_budget *budget, lull_time now) {
    int withdrawn = 0;
    while (lull_budget_withdraw(budget, now))
        withdrawn++;
    return withdrawn;
}

static void test_share_of_successes(void **state) {
    (void)state;
    static const struct {
        double ratio;
        int retries;
    } rows[] = {{0.1, 1000}, {0.25, 2500}, {0.5, 5000}, {1, 10000}, {2, 20000}, {0.000001, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_budget budget = bare(rows[i].ratio);
        deposit(&budget, 10000, 0);
        assert_int_equal(withdraw_all(&budget, SECOND), rows[i].retries);
        assert_int_equal(withdraw_all(&budget, SECOND), 0);
    }
}

/* The same share with the default cap, when retries come as the successes do. */
static void test_share_in_steady_traffic(void **state) {
    (void)state;
    static const double ratios[] = {0.1, 0.25, 0.5};
    for (size_t i = 0; i < COUNT(ratios); i++) {
        struct lull_budget budget =
            budget_of((struct lull_budget_config){.ratio = ratios[i], .floor = LULL_NONE});
        int retries = 0;
        for (int n = 0; n < 10000; n++) { /* 1,000 a second */
            lull_budget_deposit(&budget, n * MS);
            retries += lull_budget_withdraw(&budget, n * MS);
        }
        int share = (int)(ratios[i] * 10000);
        assert_in_range(retries, share - 1, share + 1);
    }
}

static void test_deposits_expire(void **state) {
    (void)state;
    struct lull_budget budget = bare(1);
    lull_budget_deposit(&budget, 0);
    deposit(&budget, 5, 500 * MS);
    deposit(&budget, 7, 9999 * MS);
    /* The first six are of slice 0 and leave with it when slice 10 begins. */
    assert_true(lull_budget_snapshot(&budget, 9999 * MS).tokens == 13);
    assert_true(lull_budget_snapshot(&budget, 10 * SECOND).tokens == 7);
    assert_true(lull_budget_snapshot(&budget, 18999 * MS).tokens == 7);
    assert_true(lull_budget_snapshot(&budget, 19 * SECOND).tokens == 0);
    assert_int_equal(withdraw_all(&budget, 19 * SECOND), 0);
}

/* The oldest deposits are spent first: a withdrawal now is no debt later. */
static void test_spending_takes_the_oldest(void **state) {
    (void)state;
    struct lull_budget budget = bare(1);
    deposit(&budget, 10, 0);
    deposit(&budget, 10, 5 * SECOND);
    for (int i = 0; i < 10; i++)
        assert_true(lull_budget_withdraw(&budget, 9 * SECOND));
    assert_int_equal(withdraw_all(&budget, 10 * SECOND), 10); /* those of second 5 */
}

/* 1,000 successes in one second earn 100 tokens; averaged over 10 s that is 10 a second; 5 × 10 may be held. */
static void test_balance_is_capped(void **state) {
    (void)state;
    struct lull_budget budget = budget_of((struct lull_budget_config){.floor = LULL_NONE});
    deposit(&budget, 1000, 0);
    assert_true(lull_budget_snapshot(&budget, 0).tokens == 50);
    assert_int_equal(withdraw_all(&budget, 0), 50);
}

static void test_floor(void **state) {
    (void)state;
    struct lull_budget budget = budget_of((struct lull_budget_config){0});
    assert_true(lull_budget_snapshot(&budget, 0).tokens == LULL_BUDGET_FLOOR);
    assert_int_equal(withdraw_all(&budget, 0), 10); /* a quiet client can still retry */
    assert_int_equal(withdraw_all(&budget, 99 * MS), 0);
    assert_int_equal(withdraw_all(&budget, 100 * MS), 1);
    assert_int_equal(withdraw_all(&budget, 1100 * MS), 10);
    assert_int_equal(withdraw_all(&budget, LULL_HOUR), 10); /* not saved up */
    struct lull_budget_stats stats = lull_budget_snapshot(&budget, LULL_HOUR);
    assert_int_equal(stats.withdrawn, 31);
    assert_int_equal(stats.refused, 5);
    assert_true(stats.tokens == 0);
}

static void test_only_the_floor(void **state) {
    (void)state;
    struct lull_budget budget = budget_of((struct lull_budget_config){.ratio = LULL_NONE});
    deposit(&budget, 1000, 0);
    assert_int_equal(withdraw_all(&budget, 0), 10);
}

/* 10,000 failures over 1,000 successes cost at most 100 retries plus the floor. */
static void test_amplification_sample(void **state) {
    (void)state;
    struct lull_budget budget = budget_of((struct lull_budget_config){.cap_seconds = LULL_NONE});
    uint64_t random = 5;
    int retries = 0;
    for (int n = 0; n < 11000; n++) { /* over 10 s */
        lull_time now = n * 10 * SECOND / 11000;
        if (draw(&random, 1, 11) == 1)
            lull_budget_deposit(&budget, now);
        else
            retries += lull_budget_withdraw(&budget, now);
    }
    assert_true(retries <= 100 + 10 + 10 * 10);
    assert_true(retries >= 150);
}

static void test_counters_may_wrap(void **state) {
    (void)state;
    struct lull_budget budget = bare(1);
    uint64_t last = (UINT64_C(1) << 44) - 1; /* × 2^20 fills 64 bits */
    budget.earned = budget.expired = last;
    budget.spent = last << 20;
    for (int i = 0; i < LULL_BUDGET_SLICES; i++)
        budget.starts[i] = last;
    deposit(&budget, 3, 0);
    assert_int_equal(withdraw_all(&budget, 0), 3);
}

static void test_reconfigure_keeps_the_balance(void **state) {
    (void)state;
    struct lull_budget budget = bare(1);
    deposit(&budget, 5, 0);
    struct lull_budget_config config = {
        .ratio = 0.5, .cap_seconds = LULL_NONE, .floor = LULL_NONE, .window = 20 * SECOND};
    assert_int_equal(lull_budget_configure(&budget, &config, NULL), LULL_OK);
    deposit(&budget, 3, 0);
    assert_int_equal(withdraw_all(&budget, 0), 4); /* 8 successes, two a retry */
    assert_int_equal(lull_budget_snapshot(&budget, 0).successes, 8);
    struct lull_budget_config bad = {.ratio = -2};
    assert_int_equal(lull_budget_configure(&budget, &bad, NULL), LULL_EINVAL);
}

static void test_bad_configurations(void **state) {
    (void)state;
    static const struct {
        struct lull_budget_config config;
        const char *field;
    } rows[] = {
        {{.ratio = -0.5}, "budget.ratio"},
        {{.ratio = NAN}, "budget.ratio"},
        {{.ratio = INFINITY}, "budget.ratio"},
        {{.ratio = 1e-9}, "budget.ratio"},
        {{.window = -1}, "budget.window"},
        {{.window = 2 * LULL_DAY}, "budget.window"},
        {{.cap_seconds = -2}, "budget.cap_seconds"},
        {{.cap_seconds = NAN}, "budget.cap_seconds"},
        {{.floor = -2}, "budget.floor"},
        {{.floor = INT64_MAX}, "budget.floor"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct lull_budget budget;
        struct lull_error error = {0};
        assert_names(lull_budget_init(&budget, &rows[i].config, &error), &error, rows[i].field);
    }
}

/* Random traffic against the rule written out: a list of deposits with their slices. */
static void test_against_a_model(void **state) {
    (void)state;
    uint64_t random = 11;
    for (int round = 0; round < 200; round++) {
        struct lull_budget budget = bare(1);
        int per_slice[400] = {0}, expected = 0;
        lull_time now = 0, slice = 0;
        for (int step = 0; step < 300; step++) {
            now += draw(&random, 0, 1) ? draw(&random, 0, 300 * MS) : 0;
            for (; slice < now / SECOND; slice++)
                if (slice >= 9) /* slice+1 begins: what is left of slice-9 expires */
                    per_slice[slice - 9] = 0;
            expected = 0;
            for (int i = 0; i < 400; i++)
                expected += per_slice[i];
            if (draw(&random, 0, 2) > 0) {
                lull_budget_deposit(&budget, now);
                per_slice[now / SECOND]++;
                continue;
            }
            assert_int_equal(lull_budget_withdraw(&budget, now), expected > 0);
            for (int i = 0; expected > 0 && i < 400; i++)
                if (per_slice[i] > 0) {
                    per_slice[i]--;
                    break;
                }
        }
    }
}

struct race {
    struct lull_budget budget;
    _Atomic(uint32_t) seed;
    _Atomic(int64_t) deposits, withdrawals;
};

static void *race_body(void *arg) {
    struct race *race = arg;
    uint64_t random = race->seed++;
    int64_t deposits = 0, withdrawals = 0;
    for (lull_time now = 0; now <= 3 * SECOND; now += draw(&random, 0, 200 * LULL_MICROSECOND))
        if (draw(&random, 0, 3) == 0) {
            lull_budget_deposit(&race->budget, now);
            deposits++;
        } else {
            withdrawals += lull_budget_withdraw(&race->budget, now);
        }
    race->deposits += deposits;
    race->withdrawals += withdrawals;
    return NULL;
}

static void test_threads_cannot_overspend(void **state) {
    (void)state;
    struct race race = {.budget = budget_of((struct lull_budget_config){.ratio = 0.25})};
    on_threads(8, race_body, &race);
    assert_true(race.withdrawals <= race.deposits / 4 + 10 + 10 * 3);
    assert_true(race.withdrawals >= 10 + 10 * 3);
    assert_int_equal(lull_budget_snapshot(&race.budget, 3 * SECOND).withdrawn, race.withdrawals);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_of_successes),
        cmocka_unit_test(test_share_in_steady_traffic),
        cmocka_unit_test(test_deposits_expire),
        cmocka_unit_test(test_spending_takes_the_oldest),
        cmocka_unit_test(test_balance_is_capped),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_only_the_floor),
        cmocka_unit_test(test_amplification_sample),
        cmocka_unit_test(test_counters_may_wrap),
        cmocka_unit_test(test_reconfigure_keeps_the_balance),
        cmocka_unit_test(test_bad_configurations),
        cmocka_unit_test(test_against_a_model),
        cmocka_unit_test(test_threads_cannot_overspend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
