/* What becomes of a request: decided here from settings, time, one random word and who is being
 * served; carried out elsewhere.
 *
 * In this order:
 *   1. an outage decides for every request that arrives in it
 *   2. the rate limit: over it, 429
 *   3. the gate (capacity and workers): over its queue, 503
 *   4. chance: one draw decides between hang, close, reset, truncate, garbage, fail and a good
 *      answer, so that of 100 requests with hang 0.1 and fail 0.3, in the long run, 10 hang, 30
 *      fail and 60 are answered well
 * and the answer is due after a latency, drawn from the same word. What 1 to 3 turn away is
 * turned away at once.
 */
#ifndef FLAKY_PLAN_H
#define FLAKY_PLAN_H

#include "gate.h"
#include "settings.h"

#include <lull/bucket.h>

/* How a request ended, as its client saw it. */
#define OUTCOME_MAP(X)                                                                             \
    X(PENDING, "pending") /* it has not */                                                         \
    X(OK, "ok")                                                                                    \
    X(FAILED, "failed")                                                                            \
    X(RATE_LIMITED, "rate_limited")                                                                \
    X(QUEUE_FULL, "queue_full")                                                                    \
    X(BAD_OVERRIDE, "bad_override")                                                                \
    X(HUNG, "hung")                                                                                \
    X(CLOSED, "closed")                                                                            \
    X(RESET, "reset")                                                                              \
    X(TRUNCATED, "truncated")                                                                      \
    X(GARBAGE, "garbage")                                                                          \
    X(CUT, "cut")                 /* by an outage that refuses, or by the end of the server */     \
    X(CLIENT_GONE, "client_gone") /* before its answer was out */

enum outcome {
#define FLAKY_X(name, text) OUTCOME_##name,
    OUTCOME_MAP(FLAKY_X)
#undef FLAKY_X
        OUTCOME_COUNT
};

const char *outcome_name(enum outcome outcome);

enum effect {
    EFFECT_ANSWER,
    EFFECT_HANG,     /* nothing, until `until` */
    EFFECT_CLOSE,    /* nothing, and the end of the connection */
    EFFECT_RESET,    /* part of an answer, and a reset */
    EFFECT_TRUNCATE, /* part of an answer, and the end of the connection */
    EFFECT_GARBAGE,  /* no HTTP, and the end of the connection */
};

struct plan {
    enum effect effect;
    enum outcome outcome;  /* if the client stays to see it */
    unsigned status;       /* of the answer, or of the part that is sent; 0: none is */
    enum gate_answer gate; /* START: gate_leave is due; WAIT: to be put in line; FULL: neither */
    lull_duration delay;   /* from its start to the effect */
    lull_time until;       /* of HANG; LULL_NEVER: until the client goes. After it, plan anew */
    uint64_t bytes_per_second;  /* of the body; 0: all at once */
    lull_duration token_due_in; /* RATE_LIMITED */
};

/* What the past has left. */
struct plan_state {
    lull_time schedule_start; /* outages count from here */
    struct lull_bucket bucket;
    struct gate gate;
};

/* Takes over rate and burst. A bucket that was in use stays as full as it is. */
void plan_limit_rate(struct plan_state *state, const struct settings *settings, bool in_use);

/* The outage there is, and the moment it ends or another begins. */
struct outage_state plan_outage(const struct settings *settings, const struct plan_state *state,
                                lull_time now);

/* `settings`: the server's. `own`: this request's, which decide in step 4; the same, but for an
 * override. */
struct plan plan_request(const struct settings *settings, const struct settings *own,
                         struct plan_state *state, uint64_t word, lull_time now);

#endif
