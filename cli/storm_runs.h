/* Runs a scenario under all of its policies, on as many processors as there are. Runs share
 * nothing, so the results do not depend on how many that is. */
#ifndef CLI_STORM_RUNS_H
#define CLI_STORM_RUNS_H

#include "problem.h"
#include "result.h"
#include "storm_progress.h"

/* LULL_OK, and results[i] is about policy i (each to be cleaned up); else `problem` says what
 * went wrong, and nothing is left to clean up. */
LULL_MUST_USE int storm_run_all(const struct sim_scenario *scenario, uint64_t seed,
                                struct storm_progress *progress, struct sim_result *results,
                                struct problem *problem);

#endif
