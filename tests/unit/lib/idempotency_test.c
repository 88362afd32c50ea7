#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The module itself, for its hash, and with memory that runs out when asked to. Before cmocka,
 * whose `fail` is a macro. */
static int allocations_before_a_failure = -1; /* -1: none fails */

static void *scarce_calloc(size_t count, size_t size) {
    if (allocations_before_a_failure >= 0 && allocations_before_a_failure-- == 0)
        return NULL;
    return calloc(count, size);
}

#define calloc scarce_calloc
#include "idempotency.c"
#undef calloc

#include <cmocka.h>

#define MODEL_CHECK(condition) assert_true(condition)
#include "../../fuzz/idempotency_model.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What every adapter must do, asked through the port alone. The fixture makes one with room for two
 * keys and results of 8 bytes, a lease of 60 s and a ttl of 1 h. */

static struct lull_idempotency_memory *registry;
static struct lull_idempotency port;

static int set_up(void **state) {
    (void)state;
    struct lull_idempotency_config config = {.entries = 2, .result_max = 8, .ttl = LULL_HOUR};
    if (lull_idempotency_memory_new(&registry, &config, NULL) != LULL_OK)
        return -1;
    port = lull_idempotency_memory_port(registry);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    lull_idempotency_memory_destroy(registry);
    return 0;
}

#define S LULL_SECOND

static struct lull_idempotency_answer ask(const char *key, uint64_t fingerprint, lull_time now) {
    struct lull_idempotency_answer answer = {0};
    assert_int_equal(
        lull_idempotency_begin(&port, key, strlen(key), fingerprint, now, NULL, 0, &answer),
        LULL_OK);
    return answer;
}

/* Begins a run, which must be allowed. */
static uint64_t start(const char *key, uint64_t fingerprint, lull_time now) {
    struct lull_idempotency_answer answer = ask(key, fingerprint, now);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_RUN);
    assert_int_not_equal(answer.ticket, 0);
    assert_int_equal(answer.at, 0);
    assert_int_equal(answer.result_length, 0);
    return answer.ticket;
}

static int complete(uint64_t ticket, const char *result, lull_time now) {
    return lull_idempotency_complete(&port, ticket, result, strlen(result), now);
}

static void expect_replay(const char *key, uint64_t fingerprint, lull_time now,
                          const char *expected) {
    char result[16];
    memset(result, '#', sizeof result);
    struct lull_idempotency_answer answer = {0};
    assert_int_equal(lull_idempotency_begin(&port, key, strlen(key), fingerprint, now, result,
                                            sizeof result, &answer),
                     LULL_OK);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_REPLAY);
    assert_int_equal(answer.ticket, 0);
    assert_int_equal(answer.result_length, strlen(expected));
    assert_memory_equal(result, expected, strlen(expected));
    assert_int_equal(result[strlen(expected)], '#');
}

static void the_manuals_example(void **state) {
    (void)state;
    uint64_t first = start("k", 'A', 0);
    struct lull_idempotency_answer answer = ask("k", 'A', 1 * S);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_BUSY);
    assert_int_equal(answer.at, 60 * S);
    assert_int_equal(answer.ticket, 0);
    assert_int_equal(ask("k", 'B', 2 * S).state, LULL_IDEMPOTENCY_MISMATCH);
    uint64_t second = start("k", 'A', 70 * S);
    assert_int_not_equal(first, second);
    assert_int_equal(complete(first, "late", 71 * S), LULL_ESTALE);
    assert_int_equal(complete(second, "ok", 72 * S), LULL_OK);
    expect_replay("k", 'A', 73 * S, "ok");
}

static void the_lease_ends_on_time(void **state) {
    (void)state;
    start("k", 1, 5);
    assert_int_equal(ask("k", 1, 60 * S + 4).state, LULL_IDEMPOTENCY_BUSY);
    start("k", 1, 60 * S + 5);
    /* The new owner has a lease of its own. */
    struct lull_idempotency_answer answer = ask("k", 1, 120 * S + 4);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_BUSY);
    assert_int_equal(answer.at, 120 * S + 5);
}

static void a_late_result_is_welcome_while_nobody_else_runs(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(complete(ticket, "late", 100 * S), LULL_OK);
    expect_replay("k", 1, 101 * S, "late");
}

static void a_late_failure_does_not_disturb_the_new_owner(void **state) {
    (void)state;
    uint64_t first = start("k", 1, 0);
    uint64_t second = start("k", 1, 60 * S);
    assert_int_equal(lull_idempotency_fail(&port, first, 61 * S), LULL_ESTALE);
    assert_int_equal(ask("k", 1, 62 * S).state, LULL_IDEMPOTENCY_BUSY);
    assert_int_equal(complete(second, "ok", 63 * S), LULL_OK);
}

static void a_failed_key_runs_again_at_once(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(lull_idempotency_fail(&port, ticket, 1), LULL_OK);
    assert_int_equal(ask("k", 2, 1).state, LULL_IDEMPOTENCY_MISMATCH);
    ticket = start("k", 1, 1);
    assert_int_equal(complete(ticket, "second", 2), LULL_OK);
    expect_replay("k", 1, 3, "second");
}

static void a_ticket_is_good_once(void **state) {
    (void)state;
    uint64_t completed = start("c", 1, 0), failed = start("f", 1, 0);
    assert_int_equal(complete(completed, "ok", 1), LULL_OK);
    assert_int_equal(lull_idempotency_fail(&port, failed, 1), LULL_OK);
    assert_int_equal(complete(completed, "no", 2), LULL_ESTALE);
    assert_int_equal(lull_idempotency_fail(&port, completed, 2), LULL_ESTALE);
    assert_int_equal(complete(failed, "no", 2), LULL_ESTALE);
    assert_int_equal(lull_idempotency_fail(&port, failed, 2), LULL_ESTALE);
    expect_replay("c", 1, 3, "ok");
    start("f", 1, 3);
}

static void tickets_that_were_never_given(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    uint64_t made_up[] = {0, 1, 2, ticket + 1, ticket - 1, ticket ^ UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < COUNT(made_up); i++) {
        assert_int_equal(complete(made_up[i], "x", 1), LULL_ESTALE);
        assert_int_equal(lull_idempotency_fail(&port, made_up[i], 1), LULL_ESTALE);
    }
    assert_int_equal(complete(ticket, "ok", 2), LULL_OK);
}

static void results_are_kept_for_the_ttl(void **state) {
    (void)state;
    assert_int_equal(complete(start("k", 1, 0), "ok", 10 * S), LULL_OK);
    expect_replay("k", 1, 10 * S + LULL_HOUR - 1, "ok");
    assert_int_equal(ask("k", 2, 10 * S + LULL_HOUR - 1).state, LULL_IDEMPOTENCY_MISMATCH);
    start("k", 2, 10 * S + LULL_HOUR); /* as new: with any payload */
}

static void failures_are_kept_for_the_ttl(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(lull_idempotency_fail(&port, ticket, 10 * S), LULL_OK);
    assert_int_equal(ask("k", 2, 10 * S + LULL_HOUR - 1).state, LULL_IDEMPOTENCY_MISMATCH);
    start("k", 2, 10 * S + LULL_HOUR);
}

static void a_vanished_owner_is_kept_for_the_ttl(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(ask("k", 2, 60 * S + LULL_HOUR - 1).state, LULL_IDEMPOTENCY_MISMATCH);
    start("k", 2, 60 * S + LULL_HOUR);
    assert_int_equal(complete(ticket, "late", 61 * S + LULL_HOUR), LULL_ESTALE);
}

static void a_result_that_does_not_fit(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(complete(ticket, "123456789", 1), LULL_ETOOBIG);
    assert_int_equal(ask("k", 1, 2).state, LULL_IDEMPOTENCY_BUSY);
    assert_int_equal(complete(ticket, "12345678", 3), LULL_OK);
    expect_replay("k", 1, 4, "12345678");
    /* Stale comes first: there is no entry it would not fit into. */
    assert_int_equal(complete(ticket, "123456789", 5), LULL_ESTALE);
}

static void as_much_as_fits_is_replayed(void **state) {
    (void)state;
    assert_int_equal(complete(start("k", 1, 0), "12345678", 1), LULL_OK);
    char result[] = "#####";
    struct lull_idempotency_answer answer;
    assert_int_equal(lull_idempotency_begin(&port, "k", 1, 1, 2, result, 3, &answer), LULL_OK);
    assert_string_equal(result, "123##");
    assert_int_equal(answer.result_length, 8);
}

static void an_empty_result(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(lull_idempotency_complete(&port, ticket, NULL, 0, 1), LULL_OK);
    expect_replay("k", 1, 2, "");
}

static void a_shorter_result_hides_the_one_before(void **state) {
    (void)state;
    assert_int_equal(complete(start("k", 1, 0), "12345678", 1), LULL_OK);
    assert_int_equal(complete(start("k", 1, 2 * LULL_HOUR), "abc", 2 * LULL_HOUR), LULL_OK);
    expect_replay("k", 1, 2 * LULL_HOUR, "abc");
}

static void keys_are_bytes(void **state) {
    (void)state;
    char longest[LULL_IDEMPOTENCY_KEY_MAX + 1];
    memset(longest, 'k', sizeof longest);
    struct lull_idempotency_answer answer;
    static const char zeros[] = {0, 0};
    assert_int_equal(lull_idempotency_begin(&port, zeros, 1, 1, 0, NULL, 0, &answer), LULL_OK);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_RUN);
    assert_int_equal(lull_idempotency_fail(&port, answer.ticket, 0), LULL_OK);
    assert_int_equal(lull_idempotency_begin(&port, zeros, 2, 2, 0, NULL, 0, &answer), LULL_OK);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_RUN);
    assert_int_equal(lull_idempotency_begin(&port, longest, 255, 3, 0, NULL, 0, &answer), LULL_OK);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_RUN);
    assert_int_equal(lull_idempotency_begin(&port, longest, 255, 3, 0, NULL, 0, &answer), LULL_OK);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_BUSY);
}

static void misuse(void **state) {
    (void)state;
    struct lull_idempotency nobody = {0};
    struct lull_idempotency_answer answer = {.at = -7};
    char room[8], key[LULL_IDEMPOTENCY_KEY_MAX + 1];
    memset(key, 'k', sizeof key);
    assert_int_equal(lull_idempotency_begin(NULL, "k", 1, 1, 0, NULL, 0, &answer), LULL_EINVAL);
    assert_int_equal(lull_idempotency_begin(&nobody, "k", 1, 1, 0, NULL, 0, &answer), LULL_EINVAL);
    assert_int_equal(lull_idempotency_begin(&port, NULL, 1, 1, 0, NULL, 0, &answer), LULL_EINVAL);
    assert_int_equal(lull_idempotency_begin(&port, "k", 0, 1, 0, NULL, 0, &answer), LULL_EINVAL);
    assert_int_equal(lull_idempotency_begin(&port, key, sizeof key, 1, 0, NULL, 0, &answer),
                     LULL_EINVAL);
    assert_int_equal(lull_idempotency_begin(&port, "k", 1, 1, 0, NULL, 1, &answer), LULL_EINVAL);
    assert_int_equal(lull_idempotency_begin(&port, "k", 1, 1, 0, room, 8, NULL), LULL_EINVAL);
    assert_int_equal(answer.at, -7);

    uint64_t ticket = start("k", 1, 0);
    assert_int_equal(lull_idempotency_complete(NULL, ticket, "", 0, 0), LULL_EINVAL);
    assert_int_equal(lull_idempotency_complete(&nobody, ticket, "", 0, 0), LULL_EINVAL);
    assert_int_equal(lull_idempotency_complete(&port, ticket, NULL, 1, 0), LULL_EINVAL);
    assert_int_equal(lull_idempotency_fail(NULL, ticket, 0), LULL_EINVAL);
    assert_int_equal(lull_idempotency_fail(&nobody, ticket, 0), LULL_EINVAL);
    assert_int_equal(complete(ticket, "ok", 0), LULL_OK); /* none of it did harm */
}

/* What the in-memory adapter does beyond that. */

static void a_full_table_evicts_the_longest_finished(void **state) {
    (void)state;
    uint64_t a = start("a", 1, 0), b = start("b", 1, 0);
    assert_int_equal(complete(b, "b", 1 * S), LULL_OK);
    assert_int_equal(lull_idempotency_fail(&port, a, 2 * S), LULL_OK);
    start("c", 1, 3 * S); /* in b's place */
    assert_int_equal(ask("a", 2, 4 * S).state, LULL_IDEMPOTENCY_MISMATCH);
    start("d", 1, 5 * S); /* in a's place */
    struct lull_idempotency_answer answer = {.at = -7};
    assert_int_equal(lull_idempotency_begin(&port, "b", 1, 1, 6 * S, NULL, 0, &answer), LULL_EFULL);
    assert_int_equal(answer.at, -7);
    assert_int_equal(ask("c", 1, 7 * S).state, LULL_IDEMPOTENCY_BUSY);
    assert_int_equal(ask("d", 1, 7 * S).state, LULL_IDEMPOTENCY_BUSY);
    struct lull_idempotency_stats stats = lull_idempotency_memory_snapshot(registry);
    assert_int_equal(stats.entries, 2);
    assert_int_equal(stats.processing, 2);
    assert_int_equal(stats.evicted, 2);
    assert_int_equal(stats.mismatched, 1);
    assert_int_equal(stats.replayed, 0);
    assert_int_equal(stats.leases_lost, 0);
    /* The evicted ones' tickets are stale, though their places are in use. */
    assert_int_equal(complete(a, "a", 8 * S), LULL_ESTALE);
    assert_int_equal(complete(b, "b", 8 * S), LULL_ESTALE);
}

static void vanished_owners_are_evicted_last(void **state) {
    (void)state;
    uint64_t vanished = start("vanished", 1, 0);
    assert_int_equal(complete(start("done", 1, 0), "ok", 61 * S), LULL_OK);
    start("new", 1, 62 * S);   /* in done's place */
    start("newer", 1, 63 * S); /* in vanished's */
    assert_int_equal(complete(vanished, "late", 64 * S), LULL_ESTALE);
    struct lull_idempotency_stats stats = lull_idempotency_memory_snapshot(registry);
    assert_int_equal(stats.evicted, 2);
    assert_int_equal(stats.leases_lost, 1);
    assert_int_equal(stats.processing, 2);
}

static void what_is_forgotten_goes_first_and_is_not_counted(void **state) {
    (void)state;
    start("vanished", 1, 0);
    assert_int_equal(complete(start("done", 1, 0), "ok", 120 * S), LULL_OK);
    start("new", 1, 60 * S + LULL_HOUR); /* in vanished's place: forgotten since just now */
    expect_replay("done", 1, 120 * S + LULL_HOUR - 1, "ok");
    start("newer", 1, 120 * S + LULL_HOUR); /* in done's */
    struct lull_idempotency_stats stats = lull_idempotency_memory_snapshot(registry);
    assert_int_equal(stats.evicted, 0);
    assert_int_equal(stats.leases_lost, 1);
    assert_int_equal(stats.replayed, 1);
}

static void an_older_time_is_taken_for_now(void **state) {
    (void)state;
    uint64_t first = start("a", 1, 100 * S);
    uint64_t second = start("b", 1, 90 * S);
    assert_int_equal(ask("b", 1, 0).at, 160 * S);
    /* b ends after a, whatever the clocks say; so a goes first. */
    assert_int_equal(complete(first, "a", 101 * S), LULL_OK);
    assert_int_equal(complete(second, "b", 95 * S), LULL_OK);
    start("c", 1, 102 * S);
    expect_replay("b", 1, 102 * S, "b");
}

static void the_ends_of_time(void **state) {
    (void)state;
    uint64_t ticket = start("k", 1, INT64_MIN);
    assert_int_equal(ask("k", 1, INT64_MIN).at, INT64_MIN + 60 * S);
    assert_int_equal(complete(ticket, "ok", INT64_MAX - 1), LULL_OK);
    expect_replay("k", 1, INT64_MAX - 1, "ok");
    start("late", 1, INT64_MAX - 1);
    assert_int_equal(ask("late", 1, INT64_MAX - 1).at, LULL_NEVER);
}

static void no_results_are_kept_if_asked_so(void **state) {
    (void)state;
    struct lull_idempotency_memory *bare;
    struct lull_idempotency_config config = {.result_max = LULL_IDEMPOTENCY_NO_RESULT};
    assert_int_equal(lull_idempotency_memory_new(&bare, &config, NULL), LULL_OK);
    struct lull_idempotency bare_port = lull_idempotency_memory_port(bare);
    struct lull_idempotency_answer answer;
    char result[4] = "###";
    assert_int_equal(lull_idempotency_begin(&bare_port, "k", 1, 1, 0, result, 3, &answer), LULL_OK);
    assert_int_equal(lull_idempotency_complete(&bare_port, answer.ticket, "abc", 3, 0), LULL_OK);
    assert_int_equal(lull_idempotency_begin(&bare_port, "k", 1, 1, 0, result, 3, &answer), LULL_OK);
    assert_int_equal(answer.state, LULL_IDEMPOTENCY_REPLAY);
    assert_int_equal(answer.result_length, 0);
    assert_string_equal(result, "###");
    lull_idempotency_memory_destroy(bare);
}

static void results_of_one_byte(void **state) {
    (void)state;
    struct lull_idempotency_memory *narrow;
    struct lull_idempotency_config config = {.result_max = 1};
    assert_int_equal(lull_idempotency_memory_new(&narrow, &config, NULL), LULL_OK);
    struct lull_idempotency narrow_port = lull_idempotency_memory_port(narrow);
    struct lull_idempotency_answer answer;
    char result[3] = "##";
    assert_int_equal(lull_idempotency_begin(&narrow_port, "k", 1, 1, 0, NULL, 0, &answer), LULL_OK);
    assert_int_equal(lull_idempotency_complete(&narrow_port, answer.ticket, "ab", 2, 0),
                     LULL_ETOOBIG);
    assert_int_equal(lull_idempotency_complete(&narrow_port, answer.ticket, "a", 1, 0), LULL_OK);
    assert_int_equal(lull_idempotency_begin(&narrow_port, "k", 1, 1, 0, result, 2, &answer),
                     LULL_OK);
    assert_int_equal(answer.result_length, 1);
    assert_string_equal(result, "a#");
    lull_idempotency_memory_destroy(narrow);
}

static void defaults(void **state) {
    (void)state;
    struct lull_idempotency_memory *plain;
    assert_int_equal(lull_idempotency_memory_new(&plain, NULL, NULL), LULL_OK);
    struct lull_idempotency plain_port = lull_idempotency_memory_port(plain);
    struct lull_idempotency_answer answer;
    static const char result[LULL_IDEMPOTENCY_RESULT_MAX + 1] = {0};
    uint64_t ticket = 0;
    for (int i = 0; i < LULL_IDEMPOTENCY_ENTRIES; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(
            lull_idempotency_begin(&plain_port, key, (size_t)length, 1, 0, NULL, 0, &answer),
            LULL_OK);
        assert_int_equal(answer.state, LULL_IDEMPOTENCY_RUN);
        ticket = answer.ticket;
    }
    assert_int_equal(lull_idempotency_begin(&plain_port, "one more", 8, 1,
                                            LULL_IDEMPOTENCY_LEASE - 1, NULL, 0, &answer),
                     LULL_EFULL);
    assert_int_equal(lull_idempotency_complete(&plain_port, ticket, result, sizeof result, 0),
                     LULL_ETOOBIG);
    assert_int_equal(lull_idempotency_complete(&plain_port, ticket, result, sizeof result - 1, 0),
                     LULL_OK);
    lull_time end = LULL_IDEMPOTENCY_LEASE - 1 + LULL_IDEMPOTENCY_TTL;
    for (int i = 0; i < 2; i++) { /* the moment before the last one is forgotten, and then */
        assert_int_equal(
            lull_idempotency_begin(&plain_port, "key 1023", 8, 1, end - 1 + i, NULL, 0, &answer),
            LULL_OK);
        assert_int_equal(answer.state, i == 0 ? LULL_IDEMPOTENCY_REPLAY : LULL_IDEMPOTENCY_RUN);
    }
    lull_idempotency_memory_destroy(plain);
}

static void configurations_that_cannot_be(void **state) {
    (void)state;
    static const struct {
        struct lull_idempotency_config config;
        const char *field, *message;
    } cases[] = {
        {{.entries = 1000001},
         "idempotency.entries",
         "idempotency.entries is 1000001; it must be from 1 to 1000000"},
        {{.entries = UINT32_MAX},
         "idempotency.entries",
         "idempotency.entries is 4294967295; it must be from 1 to 1000000"},
        {{.result_max = 16 * 1024 * 1024 + 1},
         "idempotency.result_max",
         "idempotency.result_max is 16777217; it must be from 0 to 16777216"},
        {{.lease = -1},
         "idempotency.lease",
         "idempotency.lease is -1ns; it must be from 1ns to 8760h"},
        {{.lease = 366 * LULL_DAY},
         "idempotency.lease",
         "idempotency.lease is 8784h; it must be from 1ns to 8760h"},
        {{.ttl = LULL_NONE},
         "idempotency.ttl",
         "idempotency.ttl is -1ns; it must be from 1ns to 8760h"},
        {{.ttl = LULL_NEVER},
         "idempotency.ttl",
         "idempotency.ttl is 2.56205e+06h; it must be from 1ns to 8760h"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct lull_error error = {0};
        struct lull_idempotency_memory *none = NULL;
        assert_int_equal(lull_idempotency_memory_new(&none, &cases[i].config, &error), LULL_EINVAL);
        assert_null(none);
        assert_string_equal(error.field, cases[i].field);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(lull_idempotency_memory_new(&none, &cases[i].config, NULL), LULL_EINVAL);
    }
    assert_int_equal(lull_idempotency_memory_new(NULL, NULL, NULL), LULL_EINVAL);
}

static void bounds_are_included(void **state) {
    (void)state;
    struct lull_idempotency_memory *large;
    struct lull_idempotency_config config = {.entries = 1000000,
                                             .result_max = LULL_IDEMPOTENCY_NO_RESULT,
                                             .lease = 365 * LULL_DAY,
                                             .ttl = 365 * LULL_DAY};
    assert_int_equal(lull_idempotency_memory_new(&large, &config, NULL), LULL_OK);
    lull_idempotency_memory_destroy(large);
    config = (struct lull_idempotency_config){
        .entries = 1, .result_max = 16 * 1024 * 1024, .lease = 1, .ttl = 1};
    assert_int_equal(lull_idempotency_memory_new(&large, &config, NULL), LULL_OK);
    lull_idempotency_memory_destroy(large);
}

static void out_of_memory(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) { /* none of it leaks: the sanitizer would tell */
        struct lull_idempotency_memory *none = NULL;
        allocations_before_a_failure = i;
        assert_int_equal(lull_idempotency_memory_new(&none, NULL, NULL), LULL_ENOMEM);
        assert_int_equal(allocations_before_a_failure, -1);
        assert_null(none);
    }
    allocations_before_a_failure = 4; /* one more than there are */
    struct lull_idempotency_memory *some;
    assert_int_equal(lull_idempotency_memory_new(&some, NULL, NULL), LULL_OK);
    assert_int_equal(allocations_before_a_failure, 0);
    allocations_before_a_failure = -1;
    lull_idempotency_memory_destroy(some);
    lull_idempotency_memory_destroy(NULL);
}

/* The vectors published with SipHash: key 00 01 … 0f, of the bytes 00 01 … the first n, for n from
 * 0 to 63. */
static void siphash_as_published(void **state) {
    (void)state;
    static const uint64_t vectors[] = {
        0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
        0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
        0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
        0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
        0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
        0xbed65cf21aa2ee98, 0xd0f2cbb02e3b67c7, 0x93536795e3a33e88, 0xa80c038ccd5ccec8,
        0xb8ad50c6f649af94, 0xbce192de8a85b8ea, 0x17d835b85bbb15f3, 0x2f2e6163076bcfad,
        0xde4daaaca71dc9a5, 0xa6a2506687956571, 0xad87a3535c49ef28, 0x32d892fad841c342,
        0x7127512f72f27cce, 0xa7f32346f95978e3, 0x12e0b01abb051238, 0x15e034d40fa197ae,
        0x314dffbe0815a3b4, 0x027990f029623981, 0xcadcd4e59ef40c4d, 0x9abfd8766a33735c,
        0x0e3ea96b5304a7d0, 0xad0c42d6fc585992, 0x187306c89bc215a9, 0xd4a60abcf3792b95,
        0xf935451de4f21df2, 0xa9538f0419755787, 0xdb9acddff56ca510, 0xd06c98cd5c0975eb,
        0xe612a3cb9ecba951, 0xc766e62cfcadaf96, 0xee64435a9752fe72, 0xa192d576b245165a,
        0x0a8787bf8ecb74b2, 0x81b3e73d20b49b6f, 0x7fa8220ba3b2ecea, 0x245731c13ca42499,
        0xb78dbfaf3a8d83bd, 0xea1ad565322a1a0b, 0x60e61c23a3795013, 0x6606d7e446282b93,
        0x6ca4ecb15c5f91e1, 0x9f626da15c9625f3, 0xe51b38608ef25f57, 0x958a324ceb064572,
    };
    static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char data[COUNT(vectors)];
    for (size_t i = 0; i < COUNT(vectors); i++) {
        data[i] = (unsigned char)i;
        assert_true(siphash(key, data, i) == vectors[i]);
    }
}

/* Another seed puts the same keys in other chains. */
static void the_seed_keys_the_hash(void **state) {
    (void)state;
    uint64_t keys[2][2];
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct lull_idempotency_memory *seeded;
        struct lull_idempotency_config config = {.seed = seed};
        assert_int_equal(lull_idempotency_memory_new(&seeded, &config, NULL), LULL_OK);
        memcpy(keys[seed], seeded->hash_key, sizeof keys[seed]);
        lull_idempotency_memory_destroy(seeded);
    }
    assert_true(keys[0][0] != keys[1][0] && keys[0][1] != keys[1][1]);
    assert_true(keys[0][0] != keys[0][1] && keys[1][0] != keys[1][1]);
}

/* A look-up walks a few entries, however many there are. */
static void keys_spread_over_the_chains(void **state) {
    (void)state;
    struct lull_idempotency_memory *full;
    assert_int_equal(lull_idempotency_memory_new(&full, NULL, NULL), LULL_OK);
    struct lull_idempotency full_port = lull_idempotency_memory_port(full);
    for (uint32_t i = 0; i < LULL_IDEMPOTENCY_ENTRIES; i++) {
        struct lull_idempotency_answer answer;
        assert_int_equal(
            lull_idempotency_begin(&full_port, (const char *)&i, sizeof i, 1, 0, NULL, 0, &answer),
            LULL_OK);
    }
    for (uint32_t i = 0; i <= full->chain_mask; i++) {
        int length = 0;
        for (struct entry *entry = full->chains[i].first; entry != NULL; entry = entry->chained)
            length++;
        assert_true(length <= 12);
    }
    lull_idempotency_memory_destroy(full);
}

/* Random histories, checked step by step against the reference model. */
static void as_the_model_has_it(void **state) {
    (void)state;
    uint64_t random = 20;
    for (int history = 0; history < 300; history++) {
        struct model model;
        model_init(&model, lull_random_next(&random));
        for (int step = 0; step < 500; step++)
            model_step(&model, lull_random_next(&random));
        model_clean_up(&model);
    }
}

/* Eight threads want the same few keys. At any time each key is run by one of them at most, and
 * what is replayed is whole. */

#define THREADS 8
#define KEYS 4
#define ROUNDS 20000
#define RESULT 64

static struct {
    struct lull_idempotency port;
    _Atomic(int) inside[KEYS]; /* who runs it */
    _Atomic(int64_t) clock;
    _Atomic(uint64_t) runs, completions, failures, replays, errors;
} shared;

static void work_on(unsigned key, uint64_t word, const struct lull_idempotency_answer *answer) {
    add(&shared.runs, 1);
    if (add(&shared.inside[key], 1) != 0)
        add(&shared.errors, 1);
    char result[RESULT];
    memset(result, (int)(word & 0x7f), sizeof result);
    subtract(&shared.inside[key], 1); /* before the key can be had again */
    bool well = word & 0x80;
    lull_time now = add(&shared.clock, 1);
    int error =
        well ? lull_idempotency_complete(&shared.port, answer->ticket, result, sizeof result, now)
             : lull_idempotency_fail(&shared.port, answer->ticket, now);
    if (error != LULL_OK)
        add(&shared.errors, 1);
    add(well ? &shared.completions : &shared.failures, 1);
}

static void *worker(void *seed) {
    uint64_t random = *(const uint64_t *)seed;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t word = lull_random_next(&random);
        unsigned key = word >> 32 & (KEYS - 1);
        char name[] = "key 0", result[RESULT] = {0};
        name[4] = (char)('0' + key);
        struct lull_idempotency_answer answer;
        if (lull_idempotency_begin(&shared.port, name, 5, 1, add(&shared.clock, 1), result,
                                   sizeof result, &answer) != LULL_OK) {
            add(&shared.errors, 1);
            continue;
        }
        if (answer.state == LULL_IDEMPOTENCY_RUN)
            work_on(key, word, &answer);
        if (answer.state == LULL_IDEMPOTENCY_REPLAY) {
            add(&shared.replays, 1);
            if (answer.result_length != RESULT || memcmp(result, result + 1, RESULT - 1) != 0)
                add(&shared.errors, 1);
        }
    }
    return NULL;
}

static void one_run_at_a_time(void **state) {
    (void)state;
    struct lull_idempotency_memory *common;
    struct lull_idempotency_config config = {
        .entries = KEYS, .result_max = RESULT, .lease = LULL_HOUR, .ttl = 20};
    assert_int_equal(lull_idempotency_memory_new(&common, &config, NULL), LULL_OK);
    shared.port = lull_idempotency_memory_port(common);
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        seeds[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, worker, &seeds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    struct lull_idempotency_stats stats = lull_idempotency_memory_snapshot(common);
    assert_int_equal(load(&shared.errors), 0);
    assert_int_equal(load(&shared.completions) + load(&shared.failures), load(&shared.runs));
    assert_int_equal(stats.replayed, load(&shared.replays));
    assert_true(load(&shared.completions) > 0 && load(&shared.failures) > 0);
    assert_true(load(&shared.replays) > 0);
    assert_int_equal(stats.entries, KEYS);
    assert_int_equal(stats.processing, 0);
    assert_int_equal(stats.evicted, 0);
    assert_int_equal(stats.leases_lost, 0);
    lull_idempotency_memory_destroy(common);
}

#define ON_A_FRESH_REGISTRY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_A_FRESH_REGISTRY(the_manuals_example),
        ON_A_FRESH_REGISTRY(the_lease_ends_on_time),
        ON_A_FRESH_REGISTRY(a_late_result_is_welcome_while_nobody_else_runs),
        ON_A_FRESH_REGISTRY(a_late_failure_does_not_disturb_the_new_owner),
        ON_A_FRESH_REGISTRY(a_failed_key_runs_again_at_once),
        ON_A_FRESH_REGISTRY(a_ticket_is_good_once),
        ON_A_FRESH_REGISTRY(tickets_that_were_never_given),
        ON_A_FRESH_REGISTRY(results_are_kept_for_the_ttl),
        ON_A_FRESH_REGISTRY(failures_are_kept_for_the_ttl),
        ON_A_FRESH_REGISTRY(a_vanished_owner_is_kept_for_the_ttl),
        ON_A_FRESH_REGISTRY(a_result_that_does_not_fit),
        ON_A_FRESH_REGISTRY(as_much_as_fits_is_replayed),
        ON_A_FRESH_REGISTRY(an_empty_result),
        ON_A_FRESH_REGISTRY(a_shorter_result_hides_the_one_before),
        ON_A_FRESH_REGISTRY(keys_are_bytes),
        ON_A_FRESH_REGISTRY(misuse),
        ON_A_FRESH_REGISTRY(a_full_table_evicts_the_longest_finished),
        ON_A_FRESH_REGISTRY(vanished_owners_are_evicted_last),
        ON_A_FRESH_REGISTRY(what_is_forgotten_goes_first_and_is_not_counted),
        ON_A_FRESH_REGISTRY(an_older_time_is_taken_for_now),
        ON_A_FRESH_REGISTRY(the_ends_of_time),
        cmocka_unit_test(no_results_are_kept_if_asked_so),
        cmocka_unit_test(results_of_one_byte),
        cmocka_unit_test(defaults),
        cmocka_unit_test(configurations_that_cannot_be),
        cmocka_unit_test(bounds_are_included),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(siphash_as_published),
        cmocka_unit_test(the_seed_keys_the_hash),
        cmocka_unit_test(keys_spread_over_the_chains),
        cmocka_unit_test(as_the_model_has_it),
        cmocka_unit_test(one_run_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
