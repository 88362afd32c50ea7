#include <lull/classify.h>
#include <lull/retry_after.h>

#include <errno.h>

/* libcurl's numbers, which never change; written here so that the library does not need its
 * headers. */
enum {
    CURL_OK = 0,
    CURL_COULDNT_RESOLVE_PROXY = 5,
    CURL_COULDNT_RESOLVE_HOST = 6,
    CURL_COULDNT_CONNECT = 7,
    CURL_WEIRD_SERVER_REPLY = 8,
    CURL_HTTP2 = 16,
    CURL_PARTIAL_FILE = 18,
    CURL_OUT_OF_MEMORY = 27,
    CURL_OPERATION_TIMEDOUT = 28,
    CURL_SSL_CONNECT_ERROR = 35,
    CURL_ABORTED_BY_CALLBACK = 42,
    CURL_INTERFACE_FAILED = 45,
    CURL_GOT_NOTHING = 52,
    CURL_SEND_ERROR = 55,
    CURL_RECV_ERROR = 56,
    CURL_AGAIN = 81,
    CURL_NO_CONNECTION_AVAILABLE = 89,
    CURL_HTTP2_STREAM = 92,
    CURL_HTTP3 = 95,
    CURL_QUIC_CONNECT_ERROR = 96,
    CURL_PROXY = 97,
    CURL_UNRECOVERABLE_POLL = 99,
};

enum {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_UNAVAILABLE = 14,
};

#define ONE(kind, code, class_)                                                                    \
    { LULL_CODE_##kind, (code), (code), LULL_##class_ }
#define RANGE(kind, first, last, class_)                                                           \
    { LULL_CODE_##kind, (first), (last), LULL_##class_ }

/* The standard classes, as rules. What no rule covers is permanent: an error that nobody here knows
 * is not retried on a guess. */
static const struct lull_rule http_rules[] = {
    RANGE(HTTP, 200, 299, SUCCESS),   ONE(HTTP, 408, TRANSIENT), ONE(HTTP, 425, TRANSIENT),
    ONE(HTTP, 429, THROTTLED),        ONE(HTTP, 501, PERMANENT), ONE(HTTP, 505, PERMANENT),
    RANGE(HTTP, 500, 599, TRANSIENT),
};

static const struct lull_rule errno_rules[] = {
    ONE(ERRNO, 0, SUCCESS),
    ONE(ERRNO, ETIMEDOUT, TIMEOUT),
    ONE(ERRNO, ETIME, TIMEOUT),
    ONE(ERRNO, ECANCELED, CANCELLED),
    /* The way there. */
    ONE(ERRNO, ECONNREFUSED, TRANSIENT),
    ONE(ERRNO, ECONNRESET, TRANSIENT),
    ONE(ERRNO, ECONNABORTED, TRANSIENT),
    ONE(ERRNO, EPIPE, TRANSIENT),
    ONE(ERRNO, ENOTCONN, TRANSIENT),
    ONE(ERRNO, ENETDOWN, TRANSIENT),
    ONE(ERRNO, ENETUNREACH, TRANSIENT),
    ONE(ERRNO, ENETRESET, TRANSIENT),
    ONE(ERRNO, EHOSTDOWN, TRANSIENT),
    ONE(ERRNO, EHOSTUNREACH, TRANSIENT),
    /* This machine, short of something for the moment. EADDRNOTAVAIL: no local port is free. */
    ONE(ERRNO, EADDRNOTAVAIL, TRANSIENT),
    ONE(ERRNO, EINTR, TRANSIENT),
    ONE(ERRNO, EAGAIN, TRANSIENT),
    ONE(ERRNO, EBUSY, TRANSIENT),
    ONE(ERRNO, ENOBUFS, TRANSIENT),
    ONE(ERRNO, ENOMEM, TRANSIENT),
    ONE(ERRNO, EMFILE, TRANSIENT),
    ONE(ERRNO, ENFILE, TRANSIENT),
};

static const struct lull_rule curl_rules[] = {
    ONE(CURL, CURL_OK, SUCCESS),
    ONE(CURL, CURL_OPERATION_TIMEDOUT, TIMEOUT),
    ONE(CURL, CURL_ABORTED_BY_CALLBACK, CANCELLED),
    /* Not sent, or not wholly. */
    ONE(CURL, CURL_COULDNT_RESOLVE_PROXY, TRANSIENT),
    ONE(CURL, CURL_COULDNT_RESOLVE_HOST, TRANSIENT),
    ONE(CURL, CURL_COULDNT_CONNECT, TRANSIENT),
    ONE(CURL, CURL_SSL_CONNECT_ERROR, TRANSIENT),
    ONE(CURL, CURL_QUIC_CONNECT_ERROR, TRANSIENT),
    ONE(CURL, CURL_PROXY, TRANSIENT),
    ONE(CURL, CURL_INTERFACE_FAILED, TRANSIENT),
    ONE(CURL, CURL_NO_CONNECTION_AVAILABLE, TRANSIENT),
    ONE(CURL, CURL_SEND_ERROR, TRANSIENT),
    ONE(CURL, CURL_AGAIN, TRANSIENT),
    ONE(CURL, CURL_OUT_OF_MEMORY, TRANSIENT),
    /* Sent, or perhaps; no whole answer. */
    ONE(CURL, CURL_WEIRD_SERVER_REPLY, UNKNOWN),
    ONE(CURL, CURL_HTTP2, UNKNOWN),
    ONE(CURL, CURL_HTTP2_STREAM, UNKNOWN),
    ONE(CURL, CURL_HTTP3, UNKNOWN),
    ONE(CURL, CURL_PARTIAL_FILE, UNKNOWN),
    ONE(CURL, CURL_GOT_NOTHING, UNKNOWN),
    ONE(CURL, CURL_RECV_ERROR, UNKNOWN),
    ONE(CURL, CURL_UNRECOVERABLE_POLL, UNKNOWN),
};

static const struct lull_rule grpc_rules[] = {
    ONE(GRPC, GRPC_OK, SUCCESS),
    ONE(GRPC, GRPC_CANCELLED, CANCELLED),
    ONE(GRPC, GRPC_UNKNOWN, UNKNOWN),
    ONE(GRPC, GRPC_DEADLINE_EXCEEDED, TIMEOUT),
    ONE(GRPC, GRPC_RESOURCE_EXHAUSTED, THROTTLED),
    ONE(GRPC, GRPC_UNAVAILABLE, TRANSIENT),
};

#define TABLE(rules)                                                                               \
    { (rules), sizeof(rules) / sizeof(rules)[0] }
static const struct {
    const struct lull_rule *rules;
    size_t count;
} standard[] = {
    [LULL_CODE_HTTP] = TABLE(http_rules),
    [LULL_CODE_ERRNO] = TABLE(errno_rules),
    [LULL_CODE_CURL] = TABLE(curl_rules),
    [LULL_CODE_GRPC] = TABLE(grpc_rules),
};

const char *lull_class_name(enum lull_class class_) {
    static const char *const names[] = {
#define LULL_X(name, text) text,
        LULL_CLASS_MAP(LULL_X)
#undef LULL_X
    };
    return (unsigned)class_ < LULL_CLASS_COUNT ? names[class_] : "invalid";
}

static const struct lull_rule *first_cover(enum lull_code_kind kind, int code,
                                           const struct lull_rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rules[i].kind == kind && rules[i].first <= code && code <= rules[i].last)
            return &rules[i];
    return NULL;
}

enum lull_class lull_classify(enum lull_code_kind kind, int code, const struct lull_rule *rules,
                              size_t rule_count) {
    if ((unsigned)kind >= sizeof standard / sizeof standard[0])
        return LULL_UNSET;
    const struct lull_rule *rule = first_cover(kind, code, rules, rule_count);
    if (rule == NULL)
        rule = first_cover(kind, code, standard[kind].rules, standard[kind].count);
    return rule != NULL ? rule->class_ : LULL_PERMANENT;
}

/* On an answer that is final (202, 301, 404, …) Retry-After is about something else, such as when
 * to poll; it must not move the destination's clock. */
static bool heeds_retry_after(enum lull_class class_) {
    return class_ == LULL_TRANSIENT || class_ == LULL_THROTTLED || class_ == LULL_TIMEOUT ||
           class_ == LULL_UNKNOWN;
}

struct lull_outcome lull_outcome_http(int status, const char *retry_after, size_t length,
                                      int64_t wall_seconds, const struct lull_rule *rules,
                                      size_t rule_count) {
    struct lull_outcome outcome = {
        .class_ = lull_classify(LULL_CODE_HTTP, status, rules, rule_count),
        .code = status,
    };
    if (retry_after == NULL || !heeds_retry_after(outcome.class_) ||
        lull_retry_after_parse(retry_after, length, wall_seconds, &outcome.retry_after) != LULL_OK)
        return outcome;
    if (status == 503 && outcome.class_ == LULL_TRANSIENT)
        outcome.class_ = LULL_THROTTLED;
    return outcome;
}
