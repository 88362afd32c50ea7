/* How long an answer takes: a distribution, as people write it, and draws from it.
 *
 *   50  or  50ms                    always 50 ms (a bare number counts milliseconds)
 *   50ms+-10ms                      uniform between 40 and 60 ms
 *   exponential:50ms                mean 50 ms
 *   lognormal:50ms:p99=400ms        half the answers within 50 ms, 99 in 100 within 400 ms
 *   lognormal:50ms:sigma=0.8        by its shape: p99 = 50 ms · e^(2.326 · 0.8) = 321 ms
 */
#ifndef FLAKY_LATENCY_H
#define FLAKY_LATENCY_H

#include "problem.h"

#include <lull/base.h>
#include <stdio.h>

enum latency_kind { LATENCY_FIXED, LATENCY_JITTERED, LATENCY_EXPONENTIAL, LATENCY_LOGNORMAL };

struct latency { /* all zero: none */
    enum latency_kind kind;
    lull_duration typical; /* the value, the middle, the mean or the median */
    lull_duration spread;  /* jittered: ± this */
    lull_duration p99;     /* lognormal: as given; 0: sigma was given */
    double sigma;          /* lognormal */
};

#define LATENCY_LONGEST LULL_DAY /* nothing drawn is longer: a tail has no end, a test has */

/* False if `text` is none of the forms above; `problem` says what would be right. */
bool latency_parse(const char *text, struct latency *latency, struct problem *problem);

/* In the form that latency_parse reads, exactly. */
void latency_print(FILE *stream, const struct latency *latency);

/* One draw, decided by the word alone. */
lull_duration latency_draw(const struct latency *latency, uint64_t word);

#endif
