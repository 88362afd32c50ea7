#include "testing.h"

#include "builtin.h"
#include "scenario_file.h"

#include <stdlib.h>

/* What each test adds its mistake to. */
#define HEAD "name: test\nduration: 2m\n"
#define CLIENTS "clients: [{name: web, calls: shop, rate: 100/s}]\n"
#define SERVICES "services: [{name: shop, capacity: 200/s, latency: {mean: 20ms}}]\n"

static int read_text(const char *text, struct sim_scenario *scenario, char said[1000]) {
    struct reader_error error;
    int result = scenario_read_text("test.yaml", text, strlen(text), scenario, &error);
    reader_error_format(&error, said, 1000);
    return result;
}

struct row {
    const char *text, *said;
};

static void assert_all_refused(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        static struct sim_scenario scenario;
        char said[1000];
        assert_int_equal(read_text(rows[i].text, &scenario, said), LULL_EINVAL);
        assert_string_equal(said, rows[i].said);
        assert_string_equal(scenario.name, "");
    }
}

static void test_everything(void **state) {
    (void)state;
    static const char text[] =
        "name: all\n"
        "title: A title\n"
        "text: >\n"
        "  Some\n"
        "  words.\n"
        "duration: 1h\n"
        "seed: 7\n"
        "watch: stock\n"
        "clients:\n"
        "  - name: web\n"
        "    calls: shop\n"
        "    instances: 3\n"
        "    rate: 600/m\n"
        "    arrivals: steady\n"
        "    durable: true\n"
        "    deadline: 2s\n"
        "    pool: p\n"
        "    threads: 5\n"
        "  - {name: app, calls: stock, users: 10, think: 3s, pool: p, threads: "
        "5, instances: 3}\n"
        "services:\n"
        "  - name: shop\n"
        "    workers: 4\n"
        "    latency: {kind: lognormal, mean: 20ms, sigma: 0.7}\n"
        "    queue: 9\n"
        "    admission: 150/s\n"
        "    calls: stock\n"
        "    faults:\n"
        "      - {kind: refuse, at: 0, for: 1s}\n"
        "      - {kind: hang, at: 1s, for: 1s, share: 0.3}\n"
        "      - {kind: error, at: 1s, for: 1s}\n"
        "      - {kind: slow, at: 1s, for: 2h, factor: 10}\n"
        "      - {kind: capacity, at: 1s, for: 1s, factor: 0}\n"
        "  - {name: stock, capacity: 1/h, latency: {kind: exponential, mean: "
        "1s}}\n"
        "policies:\n"
        "  - {name: naive, attempts: 4}\n";
    struct sim_scenario scenario;
    char said[1000];
    if (read_text(text, &scenario, said) != LULL_OK)
        fail_msg("%s", said);
    assert_string_equal(scenario.name, "all");
    assert_string_equal(scenario.title, "A title");
    assert_string_equal(scenario.text, "Some words.");
    assert_int_equal(scenario.duration, LULL_HOUR);
    assert_int_equal(scenario.seed, 7);
    assert_string_equal(scenario.watch, "stock");
    assert_int_equal(scenario.client_count, 2);
    const struct sim_client *client = &scenario.clients[0];
    assert_string_equal(client->name, "web");
    assert_string_equal(client->calls, "shop");
    assert_int_equal(client->instances, 3);
    assert_true(client->rate == 10);
    assert_true(client->steady);
    assert_true(client->durable);
    assert_int_equal(client->deadline, 2 * SECOND);
    assert_string_equal(client->pool, "p");
    assert_int_equal(client->threads, 5);
    assert_int_equal(scenario.clients[1].users, 10);
    assert_int_equal(scenario.clients[1].think, 3 * SECOND);
    assert_int_equal(scenario.service_count, 2);
    const struct sim_service *service = &scenario.services[0];
    assert_int_equal(service->workers, 4);
    assert_int_equal(service->latency.kind, SIM_LATENCY_LOGNORMAL);
    assert_int_equal(service->latency.mean, 20 * MS);
    assert_true(service->latency.sigma == 0.7);
    assert_int_equal(service->queue, 9);
    assert_true(service->admission == 150);
    assert_string_equal(service->calls, "stock");
    assert_int_equal(service->fault_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(service->faults[i].kind, (enum sim_fault_kind)i);
    assert_true(service->faults[1].share == 0.3);
    assert_true(service->faults[2].share == 1);
    assert_int_equal(service->faults[3].length, 2 * LULL_HOUR);
    assert_true(service->faults[3].factor == 10);
    assert_true(service->faults[4].factor == 0);
    assert_true(scenario.services[1].capacity == 1.0 / 3600);
    assert_int_equal(scenario.policy_count, 1);
}

static void test_defaults(void **state) {
    (void)state;
    struct sim_scenario scenario;
    char said[1000];
    assert_int_equal(read_text(HEAD
                               "clients: [{name: web, calls: shop, users: 5}]\n"
                               "services: [{name: shop, latency: {kind: lognormal, mean: 1s}}]",
                               &scenario, said),
                     LULL_OK);
    assert_int_equal(scenario.seed, SCENARIO_SEED);
    assert_int_equal(scenario.clients[0].instances, 1);
    assert_int_equal(scenario.clients[0].think, SCENARIO_THINK);
    assert_true(scenario.services[0].latency.sigma == SCENARIO_SIGMA);
    assert_int_equal(scenario.policy_count, 0);
    assert_int_equal(read_text(HEAD CLIENTS SERVICES, &scenario, said), LULL_OK);
    assert_int_equal(scenario.services[0].latency.kind, SIM_LATENCY_FIXED);
    assert_int_equal(scenario.clients[0].think, 0);
}

static void test_the_whole(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", "test.yaml: is empty"},
        {"duration: 2m\n" CLIENTS SERVICES, "test.yaml:1: name: is missing"},
        {"name: test\n" CLIENTS SERVICES, "test.yaml:1: duration: is missing"},
        {HEAD SERVICES, "test.yaml:1: clients: is missing"},
        {HEAD CLIENTS, "test.yaml:1: services: is missing"},
        {HEAD "clients: []\n" SERVICES,
         "test.yaml:3: clients: has too few entries; at least 1 must be there"},
        {HEAD CLIENTS "services: []\n",
         "test.yaml:4: services: has too few entries; at least 1 must be there"},
        {"name: test\nduration: 25h\n" CLIENTS SERVICES,
         "test.yaml:2: duration: \"25h\" is out of range; it must be from 1s to 1d"},
        {HEAD CLIENTS SERVICES "wach: shop\n",
         "test.yaml:5: wach: there is no such key; did you mean watch?"},
        {HEAD CLIENTS SERVICES "watch: shpo\n",
         "test.yaml:5: watch: there is no service \"shpo\"; did you mean shop? There is shop"},
        {HEAD CLIENTS SERVICES "policies: [{name: a}, {name: b}, {name: a}]\n",
         "test.yaml:5: policies[2].name: \"a\" is the name of policies[0], too; choose another"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_clients(void **state) {
    (void)state;
    static const struct row rows[] = {
        {HEAD SERVICES "clients:\n  - name: web\n    calls: bank\n    rate: 1/s\n",
         "test.yaml:6: clients[0].calls: there is no service \"bank\"; there is shop"},
        {HEAD SERVICES "clients:\n  - name: web\n    rate: 1/s\n",
         "test.yaml:5: clients[0].calls: is missing"},
        {HEAD SERVICES "clients:\n  - name: web\n    calls: shop\n",
         "test.yaml:5: clients[0]: has neither rate nor users; how many requests are there?"},
        {HEAD SERVICES "clients:\n  - name: web\n    calls: shop\n    users: 3\n    rate: 1/s\n",
         "test.yaml:7: clients[0].users: is given beside rate; an open loop has a rate, a closed "
         "one "
         "has users"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, rate: 1/s, think: 1s}]\n",
         "test.yaml:4: clients[0].think: is for a closed loop, which has users, only"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, users: 1, arrivals: steady}]\n",
         "test.yaml:4: clients[0].arrivals: is for an open loop, which has a rate, only"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, users: 1, think: 0}]\n",
         "test.yaml:4: clients[0].think: \"0\" is out of range; it must be from 1us to 1d"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, rate: 1/s, arrivals: stedy}]\n",
         "test.yaml:4: clients[0].arrivals: \"stedy\" is not known; did you mean steady? There are "
         "poisson, steady"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, rate: 1/s, pool: p}]\n",
         "test.yaml:4: clients[0].threads: is missing: how many has the pool?"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, rate: 1/s, threads: 3}]\n",
         "test.yaml:4: clients[0].pool: is missing: which pool has these threads?"},
        {HEAD SERVICES "clients:\n"
                       "  - {name: a, calls: shop, rate: 1/s}\n"
                       "  - {name: a, calls: shop, rate: 1/s}\n",
         "test.yaml:6: clients[1].name: \"a\" is the name of clients[0], too; choose another"},
        {HEAD SERVICES "clients:\n"
                       "  - {name: a, calls: shop, rate: 1/s, pool: p, threads: 2}\n"
                       "  - {name: b, calls: shop, rate: 1/s, pool: q, threads: 3}\n"
                       "  - {name: c, calls: shop, rate: 1/s, pool: p, threads: 4}\n",
         "test.yaml:7: clients[2].threads: is 4, but clients[0] shares the pool and says 2"},
        {HEAD SERVICES "clients:\n"
                       "  - {name: a, calls: shop, rate: 1/s, pool: p, threads: 2}\n"
                       "  - {name: b, calls: shop, rate: 1/s, pool: p, threads: 2, instances: 4}\n",
         "test.yaml:6: clients[1].instances: is 4, but clients[0] shares the pool, a pool per "
         "instance, and has 1"},
        {HEAD SERVICES "clients: [{name: web, calls: shop, rate: 1/s, instances: 0}]\n",
         "test.yaml:4: clients[0].instances: \"0\" is out of range; it must be from 1 to 10000"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_services(void **state) {
    (void)state;
    static const struct row rows[] = {
        {HEAD CLIENTS "services:\n  - name: shop\n    capacity: 12k\n    latency: {mean: 1s}\n",
         "test.yaml:6: services[0].capacity: \"12k\" is not a rate; write for example 1000/s or "
         "100/m"},
        {HEAD CLIENTS "services: [{name: shop}]\n", "test.yaml:4: services[0].latency: is missing"},
        {HEAD CLIENTS "services: [{name: shop, latency: {kind: fixed}}]\n",
         "test.yaml:4: services[0].latency.mean: is missing"},
        {HEAD CLIENTS "services: [{name: shop, latency: {kind: normal, mean: 1s}}]\n",
         "test.yaml:4: services[0].latency.kind: \"normal\" is not known; did you mean lognormal? "
         "There are fixed, exponential, lognormal"},
        {HEAD CLIENTS "services: [{name: shop, latency: {mean: 1s, sigma: 1}}]\n",
         "test.yaml:4: services[0].latency.sigma: is for lognormal only"},
        {HEAD CLIENTS "services: [{name: shop, capacity: 1/s, workers: 2, latency: {mean: 1s}}]\n",
         "test.yaml:4: services[0].workers: is given beside capacity, which makes as many as it "
         "needs; remove one"},
        {HEAD CLIENTS "services:\n"
                      "  - {name: shop, latency: {mean: 1s}}\n"
                      "  - {name: shop, latency: {mean: 1s}}\n",
         "test.yaml:6: services[1].name: \"shop\" is the name of services[0], too; choose another"},
        {HEAD CLIENTS "services:\n"
                      "  - {name: shop, latency: {mean: 1s}}\n"
                      "  - {name: stock, latency: {mean: 1s}, calls: shops}\n",
         "test.yaml:6: services[1].calls: there is no service \"shops\"; did you mean shop? There "
         "are "
         "shop, stock"},
        {HEAD CLIENTS "services: [{name: shop, latency: {mean: 1s}, calls: shop}]\n",
         "test.yaml:4: services[0].calls: goes round in a circle: shop -> shop"},
        {HEAD CLIENTS "services:\n"
                      "  - {name: shop, latency: {mean: 1s}, calls: a}\n"
                      "  - {name: a, latency: {mean: 1s}, calls: b}\n"
                      "  - {name: b, latency: {mean: 1s}, calls: a}\n",
         "test.yaml:6: services[1].calls: goes round in a circle: a -> b -> a"},
    };
    assert_all_refused(rows, COUNT(rows));
}

#define FAULT(text)                                                                                \
    HEAD CLIENTS "services:\n"                                                                     \
                 "  - name: shop\n"                                                                \
                 "    capacity: 1/s\n"                                                             \
                 "    latency: {mean: 1s}\n"                                                       \
                 "    faults:\n"                                                                   \
                 "      - " text "\n"

static void test_faults(void **state) {
    (void)state;
    static const struct row rows[] = {
        {FAULT("{at: 1s, for: 1s}"), "test.yaml:9: services[0].faults[0].kind: is missing"},
        {FAULT("{kind: refuse, for: 1s}"), "test.yaml:9: services[0].faults[0].at: is missing"},
        {FAULT("{kind: refuse, at: 1s}"), "test.yaml:9: services[0].faults[0].for: is missing"},
        {FAULT("{kind: refuse, at: 2m, for: 1s}"),
         "test.yaml:9: services[0].faults[0].at: is not before the end of the run (duration)"},
        {FAULT("{kind: refuse, at: 1s, for: 0}"), "test.yaml:9: services[0].faults[0].for: \"0\" "
                                                  "is out of range; it must be from 1us to 1d"},
        {FAULT("{kind: refuse, at: 1s, for: 1s, share: 0.5}"),
         "test.yaml:9: services[0].faults[0].share: is for hang and error only"},
        {FAULT("{kind: hang, at: 1s, for: 1s, share: 0}"),
         "test.yaml:9: services[0].faults[0].share: \"0\" is out of range; it must be from 0.001 "
         "to 1"},
        {FAULT("{kind: hang, at: 1s, for: 1s, factor: 2}"),
         "test.yaml:9: services[0].faults[0].factor: is for slow and capacity only"},
        {FAULT("{kind: slow, at: 1s, for: 1s}"),
         "test.yaml:9: services[0].faults[0].factor: is missing"},
        {FAULT("{kind: slow, at: 1s, for: 1s, factor: 1}"),
         "test.yaml:9: services[0].faults[0].factor: must be above 1: work takes that many times "
         "as "
         "long"},
        {FAULT("{kind: capacity, at: 1s, for: 1s, factor: 1}"),
         "test.yaml:9: services[0].faults[0].factor: must be below 1: it is the share that is "
         "left"},
        {HEAD CLIENTS "services:\n"
                      "  - name: shop\n"
                      "    latency: {mean: 1s}\n"
                      "    faults: [{kind: error, at: 1s, for: 1s}, {kind: capacity, at: 1s, for: "
                      "1s, factor: 0}]",
         "test.yaml:7: services[0].faults[1].kind: the service has no limit to lose; give it a "
         "capacity or workers"},
        {FAULT("{kind: outage, at: 1s, for: 1s}"),
         "test.yaml:9: services[0].faults[0].kind: \"outage\" is not known; there are refuse, "
         "hang, "
         "error, slow, capacity"},
    };
    assert_all_refused(rows, COUNT(rows));
}

/* ---- built-in scenarios ---- */

static void test_built_ins(void **state) {
    (void)state;
    static const char *const names[] = {"checkout", "gateway", "webhook", "push", "chain"};
    for (size_t i = 0; i < COUNT(names); i++) {
        static struct sim_scenario scenario;
        struct reader_error error;
        char said[1000];
        const struct builtin *builtin = builtin_at(i);
        assert_non_null(builtin);
        assert_string_equal(builtin->name, names[i]);
        assert_ptr_equal(builtin_scenario(names[i]), builtin->text);
        if (scenario_read(names[i], &scenario, &error) != LULL_OK)
            fail_msg("%s", reader_error_format(&error, said, sizeof said));
        assert_string_equal(scenario.name, names[i]);
        assert_string_equal(scenario.title, builtin->summary);
        assert_true(strlen(scenario.text) > 100);
        assert_true(scenario.policy_count >= 4);
        assert_string_equal(scenario.policies[scenario.policy_count - 1].name, "lull");
        for (uint32_t j = 0; j < scenario.policy_count; j++) {
            assert_int_equal(lull_guard_check(&scenario.policies[j].guard, NULL), LULL_OK);
            assert_true(strlen(scenario.policies[j].note) > 10);
            /* Services hang, and nobody waits for ever. */
            assert_true(scenario.policies[j].guard.retry.attempt_timeout > 0);
        }
    }
    assert_null(builtin_at(COUNT(names)));
    assert_null(builtin_scenario("check"));
    assert_null(builtin_scenario(""));
}

static void test_name_or_file(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"chekout", "chekout: there is no such scenario, and no such file; did you mean checkout? "
                    "There are checkout, gateway, webhook, push, chain"},
        {"storm",
         "storm: there is no such scenario, and no such file; there are checkout, gateway, "
         "webhook, push, chain"},
        {"./checkout", "./checkout: cannot be opened: No such file or directory"},
        {"chekout.yaml", "chekout.yaml: cannot be opened: No such file or directory"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sim_scenario scenario;
        struct reader_error error;
        char said[1000];
        assert_int_equal(scenario_read(rows[i].text, &scenario, &error), LULL_ESYSTEM);
        assert_string_equal(reader_error_format(&error, said, sizeof said), rows[i].said);
    }
}

static void test_a_file(void **state) {
    (void)state;
    char path[] = "/tmp/lull-scenario-test-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    fputs(builtin_scenario("chain"), file);
    fclose(file);
    static struct sim_scenario scenario, same;
    struct reader_error error;
    assert_int_equal(scenario_read(path, &scenario, &error), LULL_OK);
    assert_int_equal(scenario_read("chain", &same, &error), LULL_OK);
    assert_memory_equal(&scenario, &same, sizeof same);
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_the_whole),  cmocka_unit_test(test_clients),
        cmocka_unit_test(test_services),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_built_ins),  cmocka_unit_test(test_name_or_file),
        cmocka_unit_test(test_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
