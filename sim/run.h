/* Runs a scenario under one policy: virtual time, seeded, the real liblull code.
 *
 * Same scenario, policy and seed: the same result to the last bit, on any machine. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "result.h"

/* Told now and then: how much of the virtual time has passed, 0 … 1. */
typedef void sim_progress_fn(void *context, double part);

/* LULL_OK; LULL_EINVAL with `error` filled (a client calls no known service, …); LULL_ENOMEM. */
LULL_MUST_USE int sim_run(const struct sim_scenario *scenario, uint32_t policy, uint64_t seed,
                          sim_progress_fn *progress, void *context, struct sim_result *result,
                          struct lull_error *error);

#endif
