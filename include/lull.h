/* lull: retries that never become a storm.
 *
 * One header for the whole library. Each policy has its own header under lull/, which is also
 * its manual, and each can be used alone. The guard composes them:
 *
 *   struct lull_guard guard;
 *   lull_guard_init(&guard, lull_preset("interactive"), NULL);
 *   lull_run(&guard, call_the_bank, &payment, NULL, NULL);        blocking: sleeps between attempts
 *
 *   lull_call_begin(&guard, &call, NULL, seed, now);              or in your own event loop:
 *   verdict = lull_admit(&guard, &call, now);                     may this attempt start?
 *   verdict = lull_complete(&guard, &call, outcome, now);         it ended so: what now?
 *
 * Nothing in the library reads a clock, draws a random number, sleeps, prints, aborts or
 * allocates on the way from admit to complete: time and randomness are arguments. The two
 * exceptions, run.h and pool.h, are blocking helpers layered on top.
 */
#ifndef LULL_H
#define LULL_H

#include <lull/backoff.h>
#include <lull/base.h>
#include <lull/breaker.h>
#include <lull/bucket.h>
#include <lull/budget.h>
#include <lull/bulkhead.h>
#include <lull/classify.h>
#include <lull/guard.h>
#include <lull/idempotency.h>
#include <lull/pool.h>
#include <lull/preset.h>
#include <lull/random.h>
#include <lull/retry_after.h>
#include <lull/run.h>
#include <lull/storm.h>

#endif
