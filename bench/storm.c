/* How fast the simulator is: the checkout scenario under each of its policies, one core.
 *
 * Prints a table, or with --json one object. Memory is the process's peak, divided by the most requests that were under way at
 * once: it grows with those, not with what has been simulated. */
#include "run.h"
#include "scenario_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double most_under_way(const struct sim_result *result) {
    double most = 0;
    for (uint32_t i = 0; i < result->length; i++)
        most = result->backlog[i] > most ? result->backlog[i] : most;
    return most;
}

static void report(const struct sim_result *result, double seconds, bool json, bool first) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double rate = (double)result->attempts / seconds;
    if (json)
        printf("%s{\"subject\":\"%s\",\"metric\":\"attempts_per_cpu_second\",\"value\":%.0f}",
               first ? "" : ",", result->policy, rate);
    else
        printf("%-14s %12llu attempts %8.2f s CPU %6.2f million/s %10.0f under way %6ld MiB peak\n",
               result->policy, (unsigned long long)result->attempts, seconds, rate / 1e6,
               most_under_way(result), usage.ru_maxrss / 1024);
    fflush(stdout);
}

int main(int argc, char **argv) {
    struct sim_scenario scenario;
    struct reader_error reading;
    struct lull_error error = {0};
    bool json = false;
    double scale = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            scale = 0.1;
        } else {
            fprintf(stderr, "usage: storm [--quick] [--json]\n");
            return 2;
        }
    }
    if (scenario_read("checkout", &scenario, &reading) != LULL_OK) {
        fprintf(stderr, "bench/storm: %s\n", reading.message);
        return 1;
    }
    scenario.scale = scale;
    if (json)
        printf("{\"bench\":\"storm\",\"results\":[");
    for (uint32_t i = 0; i < scenario.policy_count; i++) {
        struct sim_result result;
        double began = cpu_seconds();
        if (sim_run(&scenario, i, scenario.seed, NULL, NULL, &result, &error) != LULL_OK) {
            fprintf(stderr, "bench/storm: %s\n", error.message);
            return 1;
        }
        report(&result, cpu_seconds() - began, json, i == 0);
        sim_result_clean_up(&result);
    }
    if (json)
        printf("]}\n");
    return 0;
}
