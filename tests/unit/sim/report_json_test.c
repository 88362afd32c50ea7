#include "report/json.h"
#include "report_study.h"

#include <stdlib.h>

static char *printed(const struct study *study, uint32_t step) {
    struct written written;
    written_begin(&written);
    study_json(study, step, written.stream);
    written_end(&written);
    return written.text;
}

#define REST                                                                                       \
    "\"groups\":["                                                                                 \
    "{\"name\":\"buyers\",\"requests\":1000,\"succeeded\":300,\"failed\":700,\"refused\":0,"       \
    "\"goodput\":0.3,\"p50_ms\":14.25,\"p99_ms\":2637.5},"                                         \
    "{\"name\":\"passers-by\",\"requests\":50,\"succeeded\":50,\"failed\":0,\"refused\":0,"        \
    "\"goodput\":1,\"p50_ms\":5,\"p99_ms\":5}],"                                                   \
    "\"services\":["                                                                               \
    "{\"name\":\"door\",\"attempts\":50,\"wasted\":0,\"turned_away\":0,\"peak_load\":1.2,"         \
    "\"peak_after\":1.1},"                                                                         \
    "{\"name\":\"till\",\"attempts\":2718,\"wasted\":1200,\"turned_away\":17,\"peak_load\":4,"     \
    "\"peak_after\":4}],"                                                                          \
    "\"series\":{\"t\":[0,1,2,3,4,5,6,7,8,9],"

static void test_all(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    char *text = printed(&made_up.study, 1);
    assert_string_equal(
        text,
        "{\"scenario\":\"shop\",\"title\":\"A shop that refuses calls for 2 s\","
        "\"text\":\"Buyers come, whatever happens.\",\"seed\":42,\"scale\":1,\"duration_s\":10,"
        "\"watch\":\"till\",\"capacity\":120,\"normal_load\":100,"
        "\"faults\":[{\"service\":\"till\",\"kind\":\"refuse\",\"from_s\":3,\"to_s\":5}],"
        "\"policies\":["
        "{\"name\":\"naive\",\"note\":\"Again, and again, and again.\","
        "\"attempts_per_request\":2.7183,\"peak_load\":4,\"peak_after\":4,\"goodput\":0.299999,"
        "\"errors\":1234567,\"recovery_s\":null,\"p50_ms\":14.25,\"p99_ms\":2637.5," REST
        "\"offered\":[100,100,100,300,400,400,400,400,400,400],"
        "\"goodput\":[100,100,100,0,0,0,0,0,0,0],"
        "\"backlog\":[2,2,2,250,1234,1,2,3,4,5],"
        "\"open\":[0,0,0,0,0,0,0,0,0,0]}},"
        "{\"name\":\"lull\",\"note\":\"\","
        "\"attempts_per_request\":0.825,\"peak_load\":1.05,\"peak_after\":1,\"goodput\":0.72,"
        "\"errors\":280,\"recovery_s\":1,\"p50_ms\":9.949,\"p99_ms\":92," REST
        "\"offered\":[100,100,100,105,0,20,100,100,100,100],"
        "\"goodput\":[100,100,100,0,0,20,100,100,100,100],"
        "\"backlog\":[2,2,2,250,1234,1,2,3,4,5],"
        "\"open\":[0,0,0,0.333,1,0.5,0,0,0,0]}}]}");
    free(text);
}

static void test_steps(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    char *text = printed(&made_up.study, 4);
    /* The highest of load and backlog, the mean of the rest; the last step is shorter. */
    assert_non_null(strstr(text, "\"t\":[0,4,8],\"offered\":[105,100,100],\"goodput\":[75,55,100],"
                                 "\"backlog\":[250,1234,5],\"open\":[0.083,0.375,0]"));
    free(text);
}

static void test_what_is_not_there(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    made_up.scenario.watch[0] = '\0'; /* the first service, which has no limit */
    made_up.scenario.services[1].fault_count = 0;
    made_up.results[1].p99_ms = NAN;
    char *text = printed(&made_up.study, 1);
    assert_non_null(strstr(text, "\"watch\":\"door\",\"capacity\":null"));
    assert_non_null(strstr(text, "\"faults\":[]"));
    assert_non_null(strstr(text, "\"peak_after\":null,\"goodput\":0.72,\"errors\":280,"
                                 "\"recovery_s\":null,\"p50_ms\":9.949,\"p99_ms\":null"));
    free(text);
}

static void test_faults_and_names(void **state) {
    (void)state;
    struct made_up made_up;
    make_up(&made_up);
    struct sim_service *till = &made_up.scenario.services[1];
    till->fault_count = 4;
    till->faults[0] = (struct sim_fault){SIM_FAULT_HANG, 1500 * MS, SECOND, 0.25, 0};
    till->faults[1] = (struct sim_fault){SIM_FAULT_ERROR, 3 * SECOND, SECOND, 0, 0};
    till->faults[2] = (struct sim_fault){SIM_FAULT_SLOW, 5 * SECOND, SECOND, 0, 2.5};
    till->faults[3] = (struct sim_fault){SIM_FAULT_CAPACITY, 9 * SECOND, 5 * SECOND, 0, 0.4};
    snprintf(till->name, sizeof till->name, "t\"i\\ll");
    snprintf(made_up.scenario.watch, sizeof made_up.scenario.watch, "t\"i\\ll");
    made_up.scenario.scale = 0.02;
    char *text = printed(&made_up.study, 1);
    assert_non_null(strstr(text, "\"scale\":0.02"));
    assert_non_null(strstr(text, "\"watch\":\"t\\\"i\\\\ll\",\"capacity\":2.4,"));
    assert_non_null(strstr(
        text,
        "\"faults\":[{\"service\":\"t\\\"i\\\\ll\",\"kind\":\"hang\",\"from_s\":1.5,\"to_s\":2.5,"
        "\"share\":0.25},"
        "{\"service\":\"t\\\"i\\\\ll\",\"kind\":\"error\",\"from_s\":3,\"to_s\":4,\"share\":1},"
        "{\"service\":\"t\\\"i\\\\ll\",\"kind\":\"slow\",\"from_s\":5,\"to_s\":6,\"factor\":2.5},"
        "{\"service\":\"t\\\"i\\\\ll\",\"kind\":\"capacity\",\"from_s\":9,\"to_s\":10,"
        "\"factor\":0.4}]"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_faults_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
