/* Words that every part of lull shares: time, errors, verdicts.
 *
 * Time is a count of nanoseconds on a clock of the caller's choice, as long as it is always the
 * same one and does not run backwards (CLOCK_MONOTONIC, or a simulator's). It is passed in, never
 * read. Threads may pass times that differ a little; a policy treats an older one as "now".
 *
 * In every config struct zero means "the default", and each default is one constant,
 * LULL_<POLICY>_<FIELD>. Where "none" is a real choice, it is spelt LULL_NONE.
 */
#ifndef LULL_BASE_H
#define LULL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LULL_VERSION "0.1.0"

#if defined(__GNUC__)
#define LULL_API __attribute__((visibility("default")))
#define LULL_MUST_USE __attribute__((warn_unused_result))
#else
#define LULL_API
#define LULL_MUST_USE
#endif

/* Fields that several threads share. C++ sees them as plain words of the same size and place; it
 * has no business touching them. */
#ifdef __cplusplus
#define LULL_ATOMIC(type) alignas(sizeof(type)) type
extern "C" {
#else
#define LULL_ATOMIC(type) _Atomic(type)
#endif

typedef int64_t lull_time;     /* a moment, in nanoseconds */
typedef int64_t lull_duration; /* a length of time, in nanoseconds */

#define LULL_MICROSECOND INT64_C(1000)
#define LULL_MILLISECOND (1000 * LULL_MICROSECOND)
#define LULL_SECOND (1000 * LULL_MILLISECOND)
#define LULL_MINUTE (60 * LULL_SECOND)
#define LULL_HOUR (60 * LULL_MINUTE)
#define LULL_DAY (24 * LULL_HOUR)
#define LULL_NEVER INT64_MAX /* a moment that does not come */
#define LULL_NONE (-1)       /* in a config: no deadline, no floor, no queue, … */

/* Everything a function can fail with. One list makes the codes, their names and their texts. */
#define LULL_ERROR_MAP(X)                                                                          \
    X(EINVAL, -1, "invalid argument or configuration")                                             \
    X(EMALFORMED, -2, "malformed input")                                                           \
    X(ENOMEM, -3, "out of memory")                                                                 \
    X(EFULL, -4, "the table or queue is full")                                                     \
    X(ESTALE, -5, "the lease or generation is over")                                               \
    X(ETOOBIG, -6, "larger than the configured bound")                                             \
    X(EREFUSED, -7, "refused by a policy before it was tried")                                     \
    X(EFAILED, -8, "tried, and failed for good")                                                   \
    X(ECANCELLED, -9, "cancelled")                                                                 \
    X(ESYSTEM, -10, "the operating system refused a resource")

enum lull_errno {
    LULL_OK = 0,
#define LULL_X(name, value, text) LULL_##name = (value),
    LULL_ERROR_MAP(LULL_X)
#undef LULL_X
};

LULL_API const char *lull_strerror(int error);   /* "invalid argument or configuration" */
LULL_API const char *lull_error_name(int error); /* "LULL_EINVAL"; or "unknown" */

/* What is wrong with a configuration. `field` is a static string such as "breaker.failure_rate";
 * the message is a sentence that names the field, the value and what would be right. */
struct lull_error {
    const char *field;
    char message[200];
};

/* Who spoke. */
#define LULL_POLICY_MAP(X)                                                                         \
    X(NOBODY, "none")                                                                              \
    X(RETRY, "retry")                                                                              \
    X(DEADLINE, "deadline")                                                                        \
    X(BUDGET, "budget")                                                                            \
    X(CLOCK, "retry_after")                                                                        \
    X(BREAKER, "breaker")                                                                          \
    X(BUCKET, "rate_limit")                                                                        \
    X(BULKHEAD, "bulkhead")                                                                        \
    X(CLASSIFIER, "classifier")                                                                    \
    X(CALLER, "caller")

enum lull_policy {
#define LULL_X(name, text) LULL_POLICY_##name,
    LULL_POLICY_MAP(LULL_X)
#undef LULL_X
        LULL_POLICY_COUNT
};

/* Why. */
#define LULL_REASON_MAP(X)                                                                         \
    X(NONE, "none")                                                                                \
    X(SUCCEEDED, "succeeded")                                                                      \
    X(BACKING_OFF, "backing off before the next attempt")                                          \
    X(RETRY_AFTER, "the destination asked for a pause")                                            \
    X(CIRCUIT_OPEN, "the circuit is open")                                                         \
    X(CIRCUIT_FORCED_OPEN, "the circuit is held open by the operator")                             \
    X(CIRCUIT_PROBING, "the circuit is half-open and all its probes are out")                      \
    X(NO_TOKEN, "the rate limit is reached")                                                       \
    X(FULL, "too many calls at once")                                                              \
    X(QUEUED, "waiting for a free place")                                                          \
    X(WAITED_TOO_LONG, "no place became free in time")                                             \
    X(ATTEMPTS_SPENT, "all attempts are spent")                                                    \
    X(DEADLINE_PASSED, "the deadline has passed")                                                  \
    X(DEADLINE_TOO_NEAR, "the next attempt would start past the deadline")                         \
    X(BUDGET_SPENT, "the retry budget is spent")                                                   \
    X(PERMANENT, "the error is permanent")                                                         \
    X(IGNORED, "the outcome counts for nothing")                                                   \
    X(CANCELLED, "cancelled")                                                                      \
    X(NOT_IDEMPOTENT, "sent without an answer, and not safe to send again")                        \
    X(NOT_THE_EDGE, "a caller upstream retries, so this hop does not")                             \
    X(MISUSE, "the library was called out of order")

enum lull_reason {
#define LULL_X(name, text) LULL_REASON_##name,
    LULL_REASON_MAP(LULL_X)
#undef LULL_X
        LULL_REASON_COUNT
};

LULL_API const char *lull_policy_name(enum lull_policy policy);
LULL_API const char *lull_reason_text(enum lull_reason reason);

enum lull_decision {
    LULL_GO,    /* start the attempt now */
    LULL_NO,    /* refused: ask again at `at`, or give up */
    LULL_WAIT,  /* queued at the bulkhead: its waiter will be woken */
    LULL_DONE,  /* the call succeeded */
    LULL_RETRY, /* try again at `at` */
    LULL_STOP,  /* the call failed for good */
};

LULL_API const char *lull_decision_name(enum lull_decision decision); /* "go", "no", … */

/* An answer: what to do, who says so, why, and when. */
struct lull_verdict {
    enum lull_decision decision;
    enum lull_policy policy;
    enum lull_reason reason;
    lull_time at; /* NO: not before; RETRY: start then; LULL_NEVER: asking again is no use */
    lull_duration
        timeout; /* GO: how long this attempt may take (LULL_NEVER: as long as it likes) */
};

#ifdef __cplusplus
}
#endif
#endif
