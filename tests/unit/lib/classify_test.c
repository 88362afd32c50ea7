#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <lull/classify.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* CURLE(7, COULDNT_CONNECT) is 7. With libcurl's header, a wrong number does not compile. */
#ifdef __has_include
#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#define CURLE(number, name) ((number) + 0 * (int)sizeof(char[(number) == CURLE_##name ? 1 : -1]))
#endif
#endif
#ifndef CURLE
#define CURLE(number, name) (number)
#endif

struct expectation {
    int code;
    enum lull_class class_;
};

static void expect(enum lull_code_kind kind, const struct expectation *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        enum lull_class class_ = lull_classify(kind, cases[i].code, NULL, 0);
        if (class_ != cases[i].class_)
            fail_msg("kind %d, code %d is %s, not %s", (int)kind, cases[i].code,
                     lull_class_name(class_), lull_class_name(cases[i].class_));
    }
}

static void every_http_status(void **state) {
    (void)state;
    for (int status = -10; status < 1000; status++) {
        enum lull_class class_ = LULL_PERMANENT;
        if (status >= 200 && status <= 299)
            class_ = LULL_SUCCESS;
        else if (status == 429)
            class_ = LULL_THROTTLED;
        else if (status == 408 || status == 425)
            class_ = LULL_TRANSIENT;
        else if (status >= 500 && status <= 599 && status != 501 && status != 505)
            class_ = LULL_TRANSIENT;
        expect(LULL_CODE_HTTP, &(struct expectation){status, class_}, 1);
    }
    static const struct expectation far[] = {{INT_MIN, LULL_PERMANENT}, {INT_MAX, LULL_PERMANENT}};
    expect(LULL_CODE_HTTP, far, COUNT(far));
}

static void errno_codes(void **state) {
    (void)state;
    static const struct expectation cases[] = {
        {0, LULL_SUCCESS},
        {ETIMEDOUT, LULL_TIMEOUT},
        {ETIME, LULL_TIMEOUT},
        {ECANCELED, LULL_CANCELLED},
        {ECONNREFUSED, LULL_TRANSIENT},
        {ECONNRESET, LULL_TRANSIENT},
        {ECONNABORTED, LULL_TRANSIENT},
        {EPIPE, LULL_TRANSIENT},
        {ENOTCONN, LULL_TRANSIENT},
        {ENETDOWN, LULL_TRANSIENT},
        {ENETUNREACH, LULL_TRANSIENT},
        {ENETRESET, LULL_TRANSIENT},
        {EHOSTDOWN, LULL_TRANSIENT},
        {EHOSTUNREACH, LULL_TRANSIENT},
        {EADDRNOTAVAIL, LULL_TRANSIENT},
        {EINTR, LULL_TRANSIENT},
        {EAGAIN, LULL_TRANSIENT},
        {EWOULDBLOCK, LULL_TRANSIENT},
        {EBUSY, LULL_TRANSIENT},
        {ENOBUFS, LULL_TRANSIENT},
        {ENOMEM, LULL_TRANSIENT},
        {EMFILE, LULL_TRANSIENT},
        {ENFILE, LULL_TRANSIENT},
        {EINVAL, LULL_PERMANENT},
        {EACCES, LULL_PERMANENT},
        {ENOENT, LULL_PERMANENT},
        {EPROTO, LULL_PERMANENT},
        {EIO, LULL_PERMANENT},
        {-1, LULL_PERMANENT},
        {100000, LULL_PERMANENT},
    };
    expect(LULL_CODE_ERRNO, cases, COUNT(cases));
}

static void curl_codes(void **state) {
    (void)state;
    static const struct expectation cases[] = {
        {CURLE(0, OK), LULL_SUCCESS},
        {CURLE(28, OPERATION_TIMEDOUT), LULL_TIMEOUT},
        {CURLE(42, ABORTED_BY_CALLBACK), LULL_CANCELLED},
        {CURLE(5, COULDNT_RESOLVE_PROXY), LULL_TRANSIENT},
        {CURLE(6, COULDNT_RESOLVE_HOST), LULL_TRANSIENT},
        {CURLE(7, COULDNT_CONNECT), LULL_TRANSIENT},
        {CURLE(35, SSL_CONNECT_ERROR), LULL_TRANSIENT},
        {CURLE(96, QUIC_CONNECT_ERROR), LULL_TRANSIENT},
        {CURLE(97, PROXY), LULL_TRANSIENT},
        {CURLE(45, INTERFACE_FAILED), LULL_TRANSIENT},
        {CURLE(89, NO_CONNECTION_AVAILABLE), LULL_TRANSIENT},
        {CURLE(55, SEND_ERROR), LULL_TRANSIENT},
        {CURLE(81, AGAIN), LULL_TRANSIENT},
        {CURLE(27, OUT_OF_MEMORY), LULL_TRANSIENT},
        {CURLE(8, WEIRD_SERVER_REPLY), LULL_UNKNOWN},
        {CURLE(16, HTTP2), LULL_UNKNOWN},
        {CURLE(92, HTTP2_STREAM), LULL_UNKNOWN},
        {CURLE(95, HTTP3), LULL_UNKNOWN},
        {CURLE(18, PARTIAL_FILE), LULL_UNKNOWN},
        {CURLE(52, GOT_NOTHING), LULL_UNKNOWN},
        {CURLE(56, RECV_ERROR), LULL_UNKNOWN},
        {CURLE(99, UNRECOVERABLE_POLL), LULL_UNKNOWN},
        /* Certificates. */
        {CURLE(58, SSL_CERTPROBLEM), LULL_PERMANENT},
        {CURLE(59, SSL_CIPHER), LULL_PERMANENT},
        {CURLE(60, PEER_FAILED_VERIFICATION), LULL_PERMANENT},
        {CURLE(77, SSL_CACERT_BADFILE), LULL_PERMANENT},
        {CURLE(83, SSL_ISSUER_ERROR), LULL_PERMANENT},
        {CURLE(90, SSL_PINNEDPUBKEYNOTMATCH), LULL_PERMANENT},
        {CURLE(91, SSL_INVALIDCERTSTATUS), LULL_PERMANENT},
        {CURLE(98, SSL_CLIENTCERT), LULL_PERMANENT},
        /* No use in trying again. */
        {CURLE(1, UNSUPPORTED_PROTOCOL), LULL_PERMANENT},
        {CURLE(3, URL_MALFORMAT), LULL_PERMANENT},
        {CURLE(22, HTTP_RETURNED_ERROR), LULL_PERMANENT},
        {CURLE(23, WRITE_ERROR), LULL_PERMANENT},
        {CURLE(47, TOO_MANY_REDIRECTS), LULL_PERMANENT},
        {CURLE(61, BAD_CONTENT_ENCODING), LULL_PERMANENT},
        {CURLE(63, FILESIZE_EXCEEDED), LULL_PERMANENT},
        {CURLE(67, LOGIN_DENIED), LULL_PERMANENT},
        {-1, LULL_PERMANENT},
        {1000, LULL_PERMANENT},
    };
    expect(LULL_CODE_CURL, cases, COUNT(cases));
}

static void every_grpc_code(void **state) {
    (void)state;
    static const enum lull_class classes[] = {
        LULL_SUCCESS,   /* OK */
        LULL_CANCELLED, /* CANCELLED */
        LULL_UNKNOWN,   /* UNKNOWN */
        LULL_PERMANENT, /* INVALID_ARGUMENT */
        LULL_TIMEOUT,   /* DEADLINE_EXCEEDED */
        LULL_PERMANENT, /* NOT_FOUND */
        LULL_PERMANENT, /* ALREADY_EXISTS */
        LULL_PERMANENT, /* PERMISSION_DENIED */
        LULL_THROTTLED, /* RESOURCE_EXHAUSTED */
        LULL_PERMANENT, /* FAILED_PRECONDITION */
        LULL_PERMANENT, /* ABORTED */
        LULL_PERMANENT, /* OUT_OF_RANGE */
        LULL_PERMANENT, /* UNIMPLEMENTED */
        LULL_PERMANENT, /* INTERNAL */
        LULL_TRANSIENT, /* UNAVAILABLE */
        LULL_PERMANENT, /* DATA_LOSS */
        LULL_PERMANENT, /* UNAUTHENTICATED */
        LULL_PERMANENT, /* one that does not exist yet */
    };
    for (int code = 0; code < (int)COUNT(classes); code++)
        expect(LULL_CODE_GRPC, &(struct expectation){code, classes[code]}, 1);
    expect(LULL_CODE_GRPC, &(struct expectation){-1, LULL_PERMANENT}, 1);
}

static void there_is_no_such_kind(void **state) {
    (void)state;
    struct lull_rule rule = {(enum lull_code_kind)4, 0, 10, LULL_TRANSIENT};
    assert_int_equal(lull_classify((enum lull_code_kind)4, 5, &rule, 1), LULL_UNSET);
    assert_int_equal(lull_classify((enum lull_code_kind) - 1, 5, NULL, 0), LULL_UNSET);
}

static void the_first_rule_that_covers_wins(void **state) {
    (void)state;
    static const struct lull_rule rules[] = {
        {LULL_CODE_ERRNO, 404, 404, LULL_TIMEOUT}, /* another kind */
        {LULL_CODE_HTTP, 410, 400, LULL_TIMEOUT},  /* covers nothing */
        {LULL_CODE_HTTP, 404, 404, LULL_IGNORED},   {LULL_CODE_HTTP, 400, 499, LULL_TRANSIENT},
        {LULL_CODE_HTTP, 409, 409, LULL_CANCELLED}, /* too late */
        {LULL_CODE_HTTP, 500, 500, LULL_PERMANENT},
    };
    static const struct expectation cases[] = {
        {399, LULL_PERMANENT}, {400, LULL_TRANSIENT}, {404, LULL_IGNORED},
        {409, LULL_TRANSIENT}, {499, LULL_TRANSIENT}, {500, LULL_PERMANENT},
        {501, LULL_PERMANENT}, {502, LULL_TRANSIENT}, {200, LULL_SUCCESS},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(lull_classify(LULL_CODE_HTTP, cases[i].code, rules, COUNT(rules)),
                         cases[i].class_);
    assert_int_equal(lull_classify(LULL_CODE_ERRNO, 404, rules, COUNT(rules)), LULL_TIMEOUT);
    /* Beyond the count there is no rule. */
    assert_int_equal(lull_classify(LULL_CODE_HTTP, 404, rules, 2), LULL_PERMANENT);
}

#define WALL INT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */

static void http_outcomes(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *retry_after;
        enum lull_class class_;
        lull_duration wait;
    } cases[] = {
        {200, NULL, LULL_SUCCESS, 0},
        {503, NULL, LULL_TRANSIENT, 0},
        {503, "120", LULL_THROTTLED, 120 * LULL_SECOND},
        {503, "Sun, 06 Nov 1994 08:49:47 GMT", LULL_THROTTLED, 10 * LULL_SECOND},
        /* Well-formed, whatever it says: the destination pleads overload. */
        {503, "0", LULL_THROTTLED, 0},
        {503, "Sun, 06 Nov 1994 08:49:27 GMT", LULL_THROTTLED, 0},
        {503, "soon", LULL_TRANSIENT, 0},
        {503, "", LULL_TRANSIENT, 0},
        {429, NULL, LULL_THROTTLED, 0},
        {429, "7", LULL_THROTTLED, 7 * LULL_SECOND},
        {429, "-7", LULL_THROTTLED, 0},
        {500, "3", LULL_TRANSIENT, 3 * LULL_SECOND},
        {429, "99999999999999999999", LULL_THROTTLED, LULL_NEVER},
        /* Final answers. */
        {202, "30", LULL_SUCCESS, 0},
        {301, "30", LULL_PERMANENT, 0},
        {413, "30", LULL_PERMANENT, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = cases[i].retry_after;
        struct lull_outcome outcome = lull_outcome_http(
            cases[i].status, text, text != NULL ? strlen(text) : 0, WALL, NULL, 0);
        assert_int_equal(outcome.class_, cases[i].class_);
        assert_int_equal(outcome.code, cases[i].status);
        assert_int_equal(outcome.retry_after, cases[i].wait);
    }
}

static void rules_shape_http_outcomes(void **state) {
    (void)state;
    static const struct {
        enum lull_class rule, class_;
        lull_duration wait;
    } cases[] = {
        {LULL_SUCCESS, LULL_SUCCESS, 0},
        {LULL_TRANSIENT, LULL_THROTTLED, 9 * LULL_SECOND},
        {LULL_THROTTLED, LULL_THROTTLED, 9 * LULL_SECOND},
        {LULL_TIMEOUT, LULL_TIMEOUT, 9 * LULL_SECOND},
        {LULL_UNKNOWN, LULL_UNKNOWN, 9 * LULL_SECOND},
        {LULL_PERMANENT, LULL_PERMANENT, 0},
        {LULL_IGNORED, LULL_IGNORED, 0},
        {LULL_CANCELLED, LULL_CANCELLED, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct lull_rule rule = {LULL_CODE_HTTP, 503, 503, cases[i].rule};
        struct lull_outcome outcome = lull_outcome_http(503, "9!", 1, WALL, &rule, 1);
        assert_int_equal(outcome.class_, cases[i].class_);
        assert_int_equal(outcome.retry_after, cases[i].wait);
    }
}

static void classes_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"unset",     "ok",      "transient", "throttled", "timeout",
                                        "permanent", "ignored", "cancelled", "unknown"};
    assert_int_equal(COUNT(names), LULL_CLASS_COUNT);
    for (int i = 0; i < LULL_CLASS_COUNT; i++)
        assert_string_equal(lull_class_name((enum lull_class)i), names[i]);
    assert_string_equal(lull_class_name(LULL_CLASS_COUNT), "invalid");
    assert_string_equal(lull_class_name((enum lull_class) - 1), "invalid");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_http_status),
        cmocka_unit_test(errno_codes),
        cmocka_unit_test(curl_codes),
        cmocka_unit_test(every_grpc_code),
        cmocka_unit_test(there_is_no_such_kind),
        cmocka_unit_test(the_first_rule_that_covers_wins),
        cmocka_unit_test(http_outcomes),
        cmocka_unit_test(rules_shape_http_outcomes),
        cmocka_unit_test(classes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
