/* Scenarios from YAML. sim/scenarios/ has commented ones to start from; in short:
 *
 *   name: checkout                  one word; a title and a text for people may follow
 *   duration: 12m                   of a run, 1 s … 24 h
 *   seed: 1                         of the dice
 *   watch: shop                     the service that the figures are about; else the first
 *   clients:                        the first are the users whom the figures are about
 *     - name: buyers
 *       calls: shop
 *       instances: 50               processes, each with a guard of its own
 *       rate: 10000/s               open loop: they come, whatever happens; by chance (poisson)
 *                                   or, with `arrivals: steady`, evenly spaced
 *       users: 1000                 or a closed loop: each waits for its answer, then `think: 1s`
 *       deadline: 5s                of a request, instead of the policy's
 *       durable: true               a job that may wait, not a request that somebody waits for
 *       pool: web                   threads shared by all clients that name the pool, per instance
 *       threads: 200                how many
 *   services:
 *     - name: shop
 *       capacity: 12000/s           or `workers: 240` at once; neither: no limit
 *       latency: {kind: exponential, mean: 20ms}      or fixed, or lognormal with a sigma
 *       queue: 30000                how many may wait for a worker
 *       admission: 11000/s          its own token bucket, for policies that use it
 *       calls: stock                the next service of a chain
 *       faults:
 *         - {kind: refuse, at: 1m, for: 30s}
 *         - {kind: hang, at: 1m, for: 30s, share: 0.3}          error: likewise
 *         - {kind: slow, at: 1m, for: 30s, factor: 10}          ten times as slow
 *         - {kind: capacity, at: 1m, for: 30s, factor: 0.4}     40 % of the workers are left
 *   policies:                       see policy.h; may be left out
 *
 * Errors name the file, the line and the key, and say what is wrong:
 *
 *   checkout.yaml:12: services[0].capacity: "12k" is not a rate; write for example 1000/s or 100/m
 *   checkout.yaml:9: clients[0].calls: there is no service "shpo"; did you mean shop? There is shop
 */
#ifndef SIM_SCENARIO_FILE_H
#define SIM_SCENARIO_FILE_H

#include "reader.h"
#include "scenario.h"

#define SCENARIO_SEED 1
#define SCENARIO_THINK LULL_SECOND
#define SCENARIO_SIGMA 0.5

/* LULL_OK, with every default filled in; else `error` is filled and the scenario all zero:
 * LULL_EINVAL, LULL_ENOMEM, and LULL_ESYSTEM if the file cannot be read. `file` is what errors
 * call it. */
LULL_MUST_USE int scenario_read_file(const char *file, struct sim_scenario *scenario,
                                     struct reader_error *error);
LULL_MUST_USE int scenario_read_text(const char *file, const char *text, size_t length,
                                     struct sim_scenario *scenario, struct reader_error *error);

/* As `lull storm` takes it: the name of a built-in scenario, or else a file. */
LULL_MUST_USE int scenario_read(const char *name_or_file, struct sim_scenario *scenario,
                                struct reader_error *error);

#endif
