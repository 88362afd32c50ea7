/* Classifier: what does this status, errno, libcurl code or gRPC code mean for a retry?
 *
 *   class       retried?                 breaker hears          example
 *   ok          –                        success                200
 *   transient   yes                      failure                503, ECONNREFUSED, UNAVAILABLE
 *   throttled   yes, not before a time   failure                429, 503 with Retry-After
 *   timeout     yes                      failure                ETIMEDOUT, CURLE_OPERATION_TIMEDOUT
 *   permanent   no                       success: it answered   404, bad certificate, NOT_FOUND
 *   ignored     no                       nothing                whatever your rules say
 *   cancelled   no                       nothing                gRPC CANCELLED, ECANCELED
 *   unknown     only if idempotent       failure                sent, then the connection broke
 *
 * HTTP: 2xx ok · 408 425 500 502 503 504 transient · 429 throttled · 3xx, other 4xx, 501, 505 and
 * anything else permanent. (3xx: deliveries never follow redirects; a proxy passes rules that say
 * ok.) A 5xx not named here is transient: it is the server's fault and may pass.
 *
 * Network: what matters is whether the request can have been carried out.
 *
 *   not sent      transient   refused, unreachable, DNS, connect, TLS handshake; no free port,
 *                             descriptor or memory
 *   reset         transient   ECONNRESET, EPIPE, CURLE_SEND_ERROR: mostly a connection that was
 *                             dead already
 *   no answer     unknown     CURLE_GOT_NOTHING, _RECV_ERROR, _PARTIAL_FILE, _HTTP2, _HTTP2_STREAM,
 *                             _HTTP3: sent, then it broke
 *   out of time   timeout     ETIMEDOUT, CURLE_OPERATION_TIMEDOUT
 *   called off    cancelled   ECANCELED, CURLE_ABORTED_BY_CALLBACK
 *   no use        permanent   bad certificate, malformed URL, unsupported protocol, too many
 *                             redirects, and all others
 *
 * errno does not say whether a reset came before the request was sent or after. If a second run
 * would do harm, add the rule { LULL_CODE_ERRNO, ECONNRESET, ECONNRESET, LULL_UNKNOWN }.
 *
 * gRPC: UNAVAILABLE transient · RESOURCE_EXHAUSTED throttled · DEADLINE_EXCEEDED timeout ·
 * CANCELLED cancelled · UNKNOWN unknown · all others permanent. (ABORTED too: it asks for the whole
 * transaction to be run again, not the one call.)
 *
 * Rules override: the first that covers the code wins.
 *
 *   struct lull_rule rules[] = {
 *       { LULL_CODE_HTTP, 409, 409, LULL_TRANSIENT },      include: retry conflicts
 *       { LULL_CODE_HTTP, 500, 500, LULL_PERMANENT },      exclude: their 500s are final
 *       { LULL_CODE_HTTP, 404, 404, LULL_IGNORED },        say nothing about their health
 *   };
 */
#ifndef LULL_CLASSIFY_H
#define LULL_CLASSIFY_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_CLASS_MAP(X)                                                                          \
    X(UNSET, "unset")                                                                              \
    X(SUCCESS, "ok")                                                                               \
    X(TRANSIENT, "transient")                                                                      \
    X(THROTTLED, "throttled")                                                                      \
    X(TIMEOUT, "timeout")                                                                          \
    X(PERMANENT, "permanent")                                                                      \
    X(IGNORED, "ignored")                                                                          \
    X(CANCELLED, "cancelled")                                                                      \
    X(UNKNOWN, "unknown")

enum lull_class {
#define LULL_X(name, text) LULL_##name,
    LULL_CLASS_MAP(LULL_X)
#undef LULL_X
        LULL_CLASS_COUNT
};

/* "ok", "transient", …; "invalid" if there is no such class. */
LULL_API const char *lull_class_name(enum lull_class class_);

enum lull_code_kind { LULL_CODE_HTTP, LULL_CODE_ERRNO, LULL_CODE_CURL, LULL_CODE_GRPC };

/* Codes first … last (both included) of one kind are of this class. */
struct lull_rule {
    enum lull_code_kind kind;
    int first, last;
    enum lull_class class_;
};

/* How one attempt ended. `retry_after` is how long the destination asked to be left alone (0: it
 * did not). */
struct lull_outcome {
    enum lull_class class_;
    int code; /* status, errno, …: for the caller's log; lull does not look at it */
    lull_duration retry_after;
};

/* The class of a code: never UNSET, unless a rule says so or there is no such kind. 0 is ok for all
 * kinds but HTTP. `rules` (borrowed; may be NULL if count is 0) come first. */
LULL_API enum lull_class lull_classify(enum lull_code_kind kind, int code,
                                       const struct lull_rule *rules, size_t rule_count);

/* An HTTP answer as an outcome: status, and the Retry-After field's value if there was one
 * (`length` bytes, need not be terminated; NULL if none; malformed is ignored). `wall_seconds` is
 * the wall clock in seconds since 1970, for HTTP-dates. A 503 with Retry-After is throttled, unless
 * a rule made it other than transient. On an answer that is final (ok, permanent, ignored,
 * cancelled) Retry-After is left aside: a 202 that says when to poll does not ask for a pause. */
LULL_API struct lull_outcome lull_outcome_http(int status, const char *retry_after, size_t length,
                                               int64_t wall_seconds, const struct lull_rule *rules,
                                               size_t rule_count);

#ifdef __cplusplus
}
#endif
#endif
