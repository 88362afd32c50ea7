#include "testing.h"

#include "journal.h"

#include <stdlib.h>

static struct journal journal;

static int set_up(void **state) {
    (void)state;
    return journal_init(&journal, 1700000000000000) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    journal_clean_up(&journal);
    return 0;
}

/* Arrives at `at` and is over at once. */
static void pass(lull_duration at, enum outcome outcome, unsigned status, lull_duration took) {
    struct arrival *arrival = journal_arrive(&journal);
    *arrival = (struct arrival){.at = at, .method = "GET", .path = "/"};
    journal_end(&journal, journal.requests - 1, outcome, status, took);
}

static char *written(void (*write)(FILE *)) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    write(stream);
    fclose(stream);
    return text;
}

static void write_counters(FILE *stream) {
    journal_write_counters(stream, &journal);
}

static void write_metrics(FILE *stream) {
    journal_write_metrics(stream, &journal);
}

static uint64_t since, limit;
static void write_arrivals(FILE *stream) {
    journal_write_arrivals(stream, &journal, since, limit);
}

static void assert_has(void (*write)(FILE *), const char *part) {
    char *text = written(write);
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %.2000s", part, text);
    free(text);
}

static void assert_arrivals(uint64_t since_, uint64_t limit_, const char *start) {
    since = since_;
    limit = limit_;
    char *text = written(write_arrivals);
    text[strlen(start) < strlen(text) ? strlen(start) : strlen(text)] = '\0';
    assert_string_equal(text, start);
    free(text);
}

static void test_counters(void **state) {
    (void)state;
    pass(0, OUTCOME_OK, 200, 0);
    pass(0, OUTCOME_OK, 200, 0);
    pass(0, OUTCOME_FAILED, 503, 0);
    journal_arrive(&journal);
    assert_int_equal(journal_in_flight(&journal), 1);
    assert_has(write_counters, "{\"requests\":4,\"in_flight\":1,\"ok\":2,\"failed\":1,");
    assert_has(write_metrics, "\nlull_flaky_requests_total{outcome=\"ok\"} 2\n");
    assert_has(write_metrics, "\nlull_flaky_responses_total{status=\"503\"} 1\n");
    assert_has(write_metrics, "\nlull_flaky_in_flight 1\n");
}

static void test_histogram(void **state) {
    (void)state;
    pass(0, OUTCOME_OK, 200, 1 * MS); /* an end belongs to its bucket */
    pass(0, OUTCOME_OK, 200, 1 * MS + 1);
    pass(0, OUTCOME_OK, 200, LULL_HOUR);
    assert_has(write_metrics, "_bucket{le=\"0.001\"} 1\n");
    assert_has(write_metrics, "_bucket{le=\"0.0025\"} 2\n");
    assert_has(write_metrics, "_bucket{le=\"60\"} 2\n");
    assert_has(write_metrics, "_bucket{le=\"+Inf\"} 3\n");
    assert_has(write_metrics, "_sum 3600.002000001\n");
    assert_has(write_metrics, "_count 3\n");
}

static void test_arrivals(void **state) {
    (void)state;
    struct arrival *arrival = journal_arrive(&journal);
    *arrival = (struct arrival){
        .at = 1234567,
        .method = "POST",
        .path = "/a\"b",
        .idempotency_key = "k1",
        .webhook_id = "evt_1",
        .attempt = "2",
    };
    assert_arrivals(0, 10,
                    "{\"next\":1,\"dropped\":0,\"arrivals\":[{\"number\":0,\"at_us\":1234,"
                    "\"wall_us\":1700000000001234,\"method\":\"POST\",\"path\":\"/a\\\"b\","
                    "\"outcome\":\"pending\",\"status\":null,\"idempotency_key\":\"k1\","
                    "\"webhook_id\":\"evt_1\",\"attempt\":\"2\"}]}");
    journal_end(&journal, 0, OUTCOME_FAILED, 503, 0);
    pass(2000000, OUTCOME_OK, 200, 0);
    assert_arrivals(1, 10,
                    "{\"next\":2,\"dropped\":0,\"arrivals\":[{\"number\":1,\"at_us\":2000,"
                    "\"wall_us\":1700000000002000,\"method\":\"GET\",\"path\":\"/\","
                    "\"outcome\":\"ok\",\"status\":200}]}");
    assert_arrivals(0, 1, "{\"next\":1,\"dropped\":0,\"arrivals\":[{\"number\":0,");
    assert_arrivals(0, 0, "{\"next\":0,\"dropped\":0,\"arrivals\":[]}");
    assert_arrivals(2, 10, "{\"next\":2,\"dropped\":0,\"arrivals\":[]}");
    assert_arrivals(99, 10, "{\"next\":2,\"dropped\":0,\"arrivals\":[]}");
}

static void test_ring(void **state) {
    (void)state;
    for (int i = 0; i < JOURNAL_ARRIVALS + 5; i++)
        pass(i, OUTCOME_OK, 200, 0);
    assert_arrivals(0, 1, "{\"next\":6,\"dropped\":5,\"arrivals\":[{\"number\":5,");
    assert_arrivals(3, 1, "{\"next\":6,\"dropped\":2,\"arrivals\":[{\"number\":5,");
    assert_arrivals(7, 1, "{\"next\":8,\"dropped\":0,\"arrivals\":[{\"number\":7,");
    /* One whose place was given away ends without touching its heir. */
    journal_end(&journal, 0, OUTCOME_FAILED, 503, 0);
    assert_int_equal(journal.arrivals[0].outcome, OUTCOME_OK);
    assert_int_equal(journal.outcomes[OUTCOME_FAILED], 1);
}

static void test_reset(void **state) {
    (void)state;
    pass(0, OUTCOME_OK, 200, 0);
    journal_arrive(&journal); /* number 1, still there */
    journal_reset(&journal);
    assert_int_equal(journal_in_flight(&journal), 0);
    journal_end(&journal, 1, OUTCOME_OK, 200, 0);
    assert_has(write_counters, "{\"requests\":0,\"in_flight\":0,\"ok\":0,");
    assert_arrivals(0, 10, "{\"next\":2,\"dropped\":0,\"arrivals\":[]}");
    pass(0, OUTCOME_OK, 200, 0);
    assert_has(write_counters, "{\"requests\":1,\"in_flight\":0,\"ok\":1,");
    assert_arrivals(0, 10, "{\"next\":3,\"dropped\":0,\"arrivals\":[{\"number\":2,");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_histogram, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arrivals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reset, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
