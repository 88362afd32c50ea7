/* Policies to compare: read from a scenario's YAML, or put together on the command line.
 *
 * In YAML a policy is a map:
 *
 *   - name: lull
 *     note: The checkout preset, and every guard policy.
 *     preset: checkout             start from a preset of the library; what follows changes it
 *     attempts: 4
 *     base: 1s                     also cap, multiplier, jitter, jitter_factor, tiers: [30s, 5m]
 *     deadline: none               also attempt_timeout, retry_after_cap
 *     with: [budget, breaker]      guard policies that are on, of budget, breaker, rate_limit and
 *                                  bulkhead; none of them if this is not given
 *     budget: {ratio: 0.1}         settings of those, by the names of the library's fields
 *     admission: true              services protect themselves; also edge_only, bulkheads, lanes
 *
 * What is not given is the preset's or, without one, the library's default. Settings of a guard
 * policy that is not on are an error: they would be without effect.
 *
 * On the command line a policy is the first of these that fits:
 *
 *   lull                 the name of a policy of the scenario
 *   gateway              a preset of the library, all guard policies on. A simulated service may
 *                        hang for good, so attempts time out after the preset's read time-out or,
 *                        if it has none, after that of the start below
 *   full+budget+breaker  words joined by '+':
 *     a start            one of the above, as the first word; else attempts, base, cap and
 *                        time-outs are those of the scenario's `naive`, or `fixed`, or 4 attempts
 *                        of 1 s each, 1 s to 30 s apart, without a deadline
 *     a way to wait      none (one attempt), fixed, exponential, and full, equal, decorrelated,
 *                        additive, proportional: exponential with that jitter. If the delays of the
 *                        start do not grow, these double from its base to 30 times that
 *     features           budget, breaker, rate_limit, bulkhead (which replaces shared thread pools,
 *                        too), admission, edge, lanes; set as in the scenario's `lull` if there is
 *                        one, else as in the start
 *     lull               all features of the scenario's `lull`; without one it is
 *                        full+budget+breaker+bulkhead+admission
 */
#ifndef SIM_POLICY_H
#define SIM_POLICY_H

#include "reader.h"
#include "scenario.h"

#define POLICY_ATTEMPTS 4
#define POLICY_BASE LULL_SECOND
#define POLICY_CAP (30 * LULL_SECOND)
#define POLICY_ATTEMPT_TIMEOUT LULL_SECOND

/* Of a struct sim_policy. */
extern const struct schema policy_schema;

/* Reads an expression as above. The scenario may have no policies. LULL_OK, and the policy is
 * named after the expression; or LULL_EINVAL, and `message` says which word is wrong and what
 * there is. */
LULL_MUST_USE int policy_parse(const struct sim_scenario *scenario, const char *expression,
                               struct sim_policy *policy, char message[READER_MESSAGE_SIZE]);

#endif
