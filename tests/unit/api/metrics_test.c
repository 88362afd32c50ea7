#include "fixture.h"

#include <unistd.h>

/* A line of the page. */
static void assert_line(const struct exchange *exchange, const char *line) {
    char wanted[300];
    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    if (strstr(exchange->answer, wanted) == NULL)
        fail_msg("no line %s in\n%s", line, exchange->answer);
}

static void assert_no_line(const struct exchange *exchange, const char *beginning) {
    char wanted[300];
    snprintf(wanted, sizeof wanted, "\n%s", beginning);
    assert_null(strstr(exchange->answer, wanted));
}

static struct exchange *busy_page(struct worker *world) {
    struct lane *lane = lane_of(world, create(world, "shop", ""));
    struct lane_stats *stats = &lane->stats;
    create(world, "idle", "");
    atomic_store(&stats->attempts[0][LULL_SUCCESS], 7);
    atomic_store(&stats->attempts[1][LULL_SUCCESS], 2);
    atomic_store(&stats->attempts[1][LULL_TRANSIENT], 3);
    atomic_store(&stats->pending[0], 120);
    atomic_store(&stats->pending[1], -1);
    atomic_store(&stats->inflight, 10);
    atomic_store(&stats->dead, 4);
    atomic_store(&stats->accepted, 5000);
    atomic_store(&stats->delivered, UINT64_C(12345678901));
    atomic_store(&stats->dead_arrivals[LULL_REASON_PERMANENT], 5);
    atomic_store(&stats->breaker_transitions[1], 6);
    atomic_store(&stats->storm, 1);
    stats_observe(&stats->duration, stats_duration_bounds, STATS_DURATION_BUCKETS, 2 * MS);
    stats_observe(&stats->duration, stats_duration_bounds, STATS_DURATION_BUCKETS, 3 * MS);
    stats_observe(&stats->duration, stats_duration_bounds, STATS_DURATION_BUCKETS, LULL_HOUR);
    stats_observe(&stats->delay, stats_delay_bounds, STATS_DELAY_BUCKETS, 15 * SECOND);
    atomic_store(&lane->guard.refused[LULL_POLICY_BREAKER], 8);
    lull_breaker_set_mode(&lane->guard.breaker, LULL_BREAKER_MODE_FORCED_OPEN, NOON);
    world->figures = (struct service_figures){
        .started = NOON - 500 * MS,
        .store_failing = true,
        .store_transactions = 11,
        .store_requests = 12,
        .alerts = {1, 2, 3, 4},
        .reloads = 13,
        .reloads_failed = 14,
        .workers = 2,
    };
    return get(world, "/metrics");
}

static void test_page(void **state) {
    struct exchange *exchange = busy_page(*state);
    static const char *const lines[] = {
        "# TYPE lull_attempts_total counter",
        "lull_attempts_total{destination=\"shop\",kind=\"first\",outcome=\"ok\"} 7",
        "lull_attempts_total{destination=\"shop\",kind=\"retry\",outcome=\"ok\"} 2",
        "lull_attempts_total{destination=\"shop\",kind=\"retry\",outcome=\"transient\"} 3",
        "lull_retries_total{destination=\"shop\"} 5",
        "lull_retries_total{destination=\"idle\"} 0",
        "# TYPE lull_attempt_duration_seconds histogram",
        "lull_attempt_duration_seconds_bucket{destination=\"shop\",le=\"0.001\"} 0",
        "lull_attempt_duration_seconds_bucket{destination=\"shop\",le=\"0.0025\"} 1",
        "lull_attempt_duration_seconds_bucket{destination=\"shop\",le=\"0.005\"} 2",
        "lull_attempt_duration_seconds_bucket{destination=\"shop\",le=\"30\"} 2",
        "lull_attempt_duration_seconds_bucket{destination=\"shop\",le=\"+Inf\"} 3",
        "lull_attempt_duration_seconds_sum{destination=\"shop\"} 3600.005",
        "lull_attempt_duration_seconds_count{destination=\"shop\"} 3",
        "lull_retry_delay_seconds_bucket{destination=\"shop\",le=\"5\"} 0",
        "lull_retry_delay_seconds_bucket{destination=\"shop\",le=\"15\"} 1",
        "lull_retry_delay_seconds_bucket{destination=\"shop\",le=\"3600\"} 1",
        "lull_retry_delay_seconds_bucket{destination=\"shop\",le=\"+Inf\"} 1",
        "lull_retry_delay_seconds_sum{destination=\"shop\"} 15",
        "lull_backlog{destination=\"shop\",state=\"fresh\"} 120",
        "lull_backlog{destination=\"shop\",state=\"retry\"} 0",
        "lull_backlog{destination=\"shop\",state=\"inflight\"} 10",
        "lull_inflight{destination=\"shop\"} 10",
        "lull_dlq_size{destination=\"shop\"} 4",
        "lull_dlq_arrivals_total{destination=\"shop\",reason=\"the error is permanent\"} 5",
        "lull_events_accepted_total{destination=\"shop\"} 5000",
        "lull_events_delivered_total{destination=\"shop\"} 12345678901",
        "lull_breaker_state{destination=\"shop\"} 2",
        "lull_breaker_state{destination=\"idle\"} 0",
        "lull_breaker_transitions_total{destination=\"shop\",to=\"open\"} 6",
        "lull_rejected_total{destination=\"shop\",policy=\"breaker\"} 8",
        "lull_retry_ratio{destination=\"shop\"} 0",
        "lull_storm{destination=\"shop\"} 1",
        "lull_storm{destination=\"idle\"} 0",
        "lull_store_failing 1",
        "lull_store_transactions_total 11",
        "lull_store_requests_total 12",
        "lull_alerts_total{kind=\"dead_letter\"} 1",
        "lull_alerts_total{kind=\"storm\"} 2",
        "lull_alerts_total{kind=\"breaker\"} 3",
        "lull_alerts_total{kind=\"disabled\"} 4",
        "lull_config_reloads_total{result=\"ok\"} 13",
        "lull_config_reloads_total{result=\"failed\"} 14",
        "lull_destinations 2",
        "lull_build_info{version=\"" LULL_VERSION "\"} 1",
        "process_start_time_seconds 1772366399.5",
    };
    assert_int_equal(exchange->status, 200);
    assert_string_equal(exchange->content_type, "text/plain; version=0.0.4; charset=utf-8");
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_line(exchange, lines[i]);
    assert_no_line(exchange, "lull_attempts_total{destination=\"idle\"");
    assert_no_line(exchange, "lull_attempt_duration_seconds_count{destination=\"idle\"");
    /* For promtool: LULL_METRICS_PAGE=FILE keeps the page. */
    const char *file = getenv("LULL_METRICS_PAGE");
    FILE *stream = file != NULL ? fopen(file, "w") : NULL;
    if (stream != NULL) {
        fputs(exchange->answer, stream);
        fclose(stream);
    }
}

/* Each metric has one HELP and one TYPE, and its samples follow at once. */
static void test_order(void **state) {
    struct exchange *exchange = busy_page(*state);
    char name[100] = "";
    int metrics = 0;
    for (char *rest, *line = strtok_r(exchange->answer, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char word[100];
        if (sscanf(line, "# HELP %99s", word) == 1) {
            assert_string_not_equal(word, name);
            snprintf(name, sizeof name, "%s", word);
            metrics++;
        } else if (sscanf(line, "# TYPE %99s", word) == 1) {
            assert_string_equal(word, name);
        } else {
            assert_int_equal(strncmp(line, name, strlen(name)), 0);
        }
    }
    assert_int_equal(metrics, 29);
}

static double value_of(const struct exchange *exchange, const char *name) {
    char wanted[100];
    snprintf(wanted, sizeof wanted, "\n%s ", name);
    const char *at = strstr(exchange->answer, wanted);
    assert_non_null(at);
    return strtod(at + strlen(wanted), NULL);
}

static void test_process(void **state) {
    struct exchange *exchange = get(*state, "/metrics");
    assert_true(value_of(exchange, "process_resident_memory_bytes") >= 65536);
    assert_true(value_of(exchange, "process_cpu_seconds_total") >= 0);
    double before = value_of(exchange, "process_open_fds");
    int more = dup(0);
    assert_true(more >= 0);
    assert_int_equal(value_of(get(*state, "/metrics"), "process_open_fds"), before + 1);
    close(more);
}

static void test_many(void **state) {
    struct worker *world = *state;
    struct destination_settings *settings = calloc(1, sizeof *settings);
    for (int i = 0; i < 10000; i++) {
        struct destination_row row = {.id = i + 1};
        snprintf(row.name, sizeof row.name, "d%d", i);
        struct lane *lane = add_lane(world, settings, &row);
        atomic_store(&lane->stats.accepted, (uint64_t)i);
        assert_int_equal(registry_put(world->registry, destination_new(&row, settings, lane, 0)),
                         LULL_OK);
    }
    free(settings);
    struct exchange *exchange = get(world, "/metrics");
    assert_int_equal(exchange->status, 200);
    assert_line(exchange, "lull_destinations 10000");
    assert_line(exchange, "lull_events_accepted_total{destination=\"d0\"} 0");
    assert_line(exchange, "lull_events_accepted_total{destination=\"d9999\"} 9999");
    size_t lines = 0;
    const char *at = exchange->answer;
    while ((at = strstr(at, "\nlull_events_accepted_total{")) != NULL)
        lines++, at++;
    assert_int_equal(lines, 10000);
}

/* Names cannot have these in them, but if one had, the page would still be one. */
static void test_escaped_label(void **state) {
    struct worker *world = *state;
    struct destination_settings settings = {.url = "https://x.example/"};
    struct destination_row row = {.id = 1, .name = "a\"b\\c"};
    struct lane *lane = add_lane(world, &settings, &row);
    assert_int_equal(registry_put(world->registry, destination_new(&row, &settings, lane, 0)),
                     LULL_OK);
    assert_line(get(world, "/metrics"), "lull_inflight{destination=\"a\\\"b\\\\c\"} 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_escaped_label, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
