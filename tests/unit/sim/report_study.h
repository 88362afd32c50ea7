/* A small study with made-up results, for the tests of the reports. */
#ifndef TESTS_REPORT_STUDY_H
#define TESTS_REPORT_STUDY_H

#include "report/study.h"
#include "testing.h"

enum { SECONDS = 10 };

struct made_up {
    struct sim_scenario scenario;
    struct sim_result results[2];
    struct study study;
};

static inline void fill_scenario(struct sim_scenario *scenario) {
    *scenario = (struct sim_scenario){
        .name = "shop",
        .title = "A shop that refuses calls for 2 s",
        .text = "Buyers come, whatever happens.",
        .duration = SECONDS * SECOND,
        .watch = "till",
        .service_count = 2,
        .services =
            {{.name = "door", .latency = {.mean = 5 * MS}},
             {.name = "till",
              .capacity = 120,
              .latency = {.mean = 20 * MS},
              .fault_count = 1,
              .faults = {{.kind = SIM_FAULT_REFUSE, .at = 3 * SECOND, .length = 2 * SECOND}}}},
        .client_count = 2,
        .clients = {{.name = "buyers", .calls = "till"}, {.name = "passers-by", .calls = "door"}},
        .policy_count = 2,
        .policies = {{.name = "naive", .note = "Again, and again, and again."}, {.name = "lull"}},
    };
}

/* Results that have the same shape, and 0.5 circuits open in one second of the second one. */
static inline void fill_results(struct sim_result results[2]) {
    static double naive[SECONDS] = {100, 100, 100, 300, 400, 400, 400, 400, 400, 400};
    static double lull[SECONDS] = {100, 100, 100, 105, 0, 20, 100, 100, 100, 100};
    static double failing[SECONDS] = {100, 100, 100, 0, 0, 0, 0, 0, 0, 0};
    static double fine[SECONDS] = {100, 100, 100, 0, 0, 20, 100, 100, 100, 100};
    static double backlog[SECONDS] = {2, 2, 2, 250, 1234, 1, 2, 3, 4, 5};
    static double closed[SECONDS] = {0};
    static double open[SECONDS] = {0, 0, 0, 0.3333333, 1, 0.5, 0, 0, 0, 0};
    results[0] = (struct sim_result){
        .policy = "naive",
        .attempts_per_request = 2.71828,
        .peak_load = 4,
        .calm_peak = 4,
        .goodput = 0.299999,
        .errors = 1234567,
        .recovery_s = -1,
        .p50_ms = 14.25,
        .p99_ms = 2637.5,
        .length = SECONDS,
        .offered = naive,
        .succeeded = failing,
        .backlog = backlog,
        .open = closed,
    };
    results[1] = (struct sim_result){
        .policy = "lull",
        .attempts_per_request = 0.825,
        .peak_load = 1.05,
        .calm_peak = 1,
        .goodput = 0.72,
        .errors = 280,
        .recovery_s = 1,
        .p50_ms = 9.949,
        .p99_ms = 92,
        .length = SECONDS,
        .offered = lull,
        .succeeded = fine,
        .backlog = backlog,
        .open = open,
    };
    for (int i = 0; i < 2; i++) {
        struct sim_result *result = &results[i];
        result->group_count = 2;
        result->groups[0] = (struct sim_group){"buyers", 1000, 300, 700, 0, 14.25, 2637.5};
        result->groups[1] = (struct sim_group){"passers-by", 50, 50, 0, 0, 5, 5};
        result->service_count = 2;
        result->services[0] = (struct sim_service_result){"door", 50, 0, 0, 1.2, 1.1};
        result->services[1] = (struct sim_service_result){"till", 2718, 1200, 17, 4, 4};
    }
}

/* The study points into `made_up`. */
static inline void make_up(struct made_up *made_up) {
    fill_scenario(&made_up->scenario);
    fill_results(made_up->results);
    made_up->study = (struct study){&made_up->scenario, 42, made_up->results};
}

/* Where a report is written to be compared. */
struct written {
    char *text;
    size_t length;
    FILE *stream;
};

static inline void written_begin(struct written *written) {
    *written = (struct written){NULL, 0, NULL};
    written->stream = open_memstream(&written->text, &written->length);
    assert_non_null(written->stream);
}

static inline void written_end(struct written *written) {
    assert_int_equal(fclose(written->stream), 0);
}

#endif
