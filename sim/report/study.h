/* A study: a scenario, run under each of its policies, and what each run showed. All reports are
 * made of it:
 *
 *   table.h   for a terminal        json.h   for programs        html.h   a page with charts
 */
#ifndef SIM_REPORT_STUDY_H
#define SIM_REPORT_STUDY_H

#include "../result.h"

struct study {
    const struct sim_scenario *scenario; /* borrowed; as it was run, scale and duration included */
    uint64_t seed;
    const struct sim_result *results; /* borrowed; one per policy of the scenario, in its order */
};

/* The service that the figures are about. */
const struct sim_service *study_watched(const struct study *study);

/* What that service can do in a second; 0: it has no limit. */
double study_capacity(const struct study *study);

/* Attempts on it in a second of the calm before the first fault; 0: there was none. Multiply a
 * peak_load by it to have attempts a second again. */
double study_normal_load(const struct study *study);

/* Does anything go wrong at all? If not, there is nothing to recover from. */
bool study_has_faults(const struct study *study);

/* "refuse", "hang", …, as in a scenario file. */
const char *fault_kind_name(enum sim_fault_kind kind);

/* The end of a fault; the run may end before it. */
lull_time study_fault_end(const struct study *study, const struct sim_fault *fault);

/* Succeeded ÷ ended; 0 if none has ended. */
double group_goodput(const struct sim_group *group);

#endif
