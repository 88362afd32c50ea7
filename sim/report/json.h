/* A study as one JSON object, on one line. The same study gives the same bytes on any machine.
 *
 *   {"scenario":"checkout","title":…,"text":…,"seed":1,"scale":1,"duration_s":720,
 *    "watch":"checkout","capacity":12000,"normal_load":10003.2,
 *    "faults":[{"service":"checkout","kind":"refuse","from_s":60,"to_s":90}],
 *    "policies":[{"name":"lull","note":…,
 *                 "attempts_per_request":1.02,"peak_load":1.05,"peak_after":1.03,"goodput":0.9612,
 *                 "errors":4711,"recovery_s":3,"p50_ms":13.8,"p99_ms":92.1,
 *                 "groups":[{"name":"web","requests":…,"succeeded":…,"failed":…,"refused":…,
 *                            "goodput":…,"p50_ms":…,"p99_ms":…}],
 *                 "services":[{"name":"checkout","attempts":…,"wasted":…,"turned_away":…,
 *                              "peak_load":…,"peak_after":…}],
 *                 "series":{"t":[0,1,…],"offered":[…],"goodput":[…],"backlog":[…],"open":[…]}}]}
 *
 * recovery_s is null if there was none; capacity is null if there is no limit; recovery_s and
 * peak_after are null if nothing goes wrong in the scenario. A fault has a "share" or a "factor",
 * too, if its kind has. Value i of a series is about the second that begins at t[i]. docs/storm.md
 * says what each figure means.
 */
#ifndef SIM_REPORT_JSON_H
#define SIM_REPORT_JSON_H

#include "study.h"

#include <stdio.h>

/* `step`: how many seconds one value of a series stands for, 1 or more. Of its seconds, a value
 * is the highest for offered and backlog, for peaks are what these are looked at for, and the
 * mean for goodput and open. Ends without a newline. */
void study_json(const struct study *study, uint32_t step, FILE *stream);

#endif
