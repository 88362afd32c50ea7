/* How a transfer ended, as the engine and people understand it. */
#include "client_transfer.h"

#include "duration.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_GONE 410

/* Ours to say, before the library's own: the URL was checked, so "unsupported protocol" is an answer that is no HTTP. And if the authorities' file
 * cannot be read, the fault is on this side: no event is to die for it. */
static const struct lull_rule rules[] = {
    {LULL_CODE_CURL, CURLE_UNSUPPORTED_PROTOCOL, CURLE_UNSUPPORTED_PROTOCOL, LULL_UNKNOWN},
    {LULL_CODE_CURL, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CACERT_BADFILE, LULL_TRANSIENT},
};
#define RULE_COUNT (sizeof rules / sizeof rules[0])

__attribute__((format(printf, 2, 3))) static void say(struct transfer *transfer, const char *format,
                                                      ...) {
    char *error = transfer->attempt->record.error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, ERROR_LONGEST, format, arguments);
    va_end(arguments);
    /* Parts of it came from the other side. */
    for (; *error != '\0'; error++)
        if ((unsigned char)*error < 0x20 || *error == 0x7f)
            *error = '?';
}

static const char *field_of(struct transfer *transfer, const char *name) {
    struct curl_header *header;
    return curl_easy_header(transfer->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK
               ? header->value
               : NULL;
}

/* "Connection refused" → "connection refused" */
static void say_system(struct transfer *transfer, const char *otherwise) {
    long number = 0;
    char text[80];
    curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &number);
    const char *description = number != 0 ? strerrordesc_np((int)number) : NULL;
    snprintf(text, sizeof text, "%s", description != NULL ? description : otherwise);
    text[0] = (char)tolower((unsigned char)text[0]);
    say(transfer, "%s", text);
}

/* With TLS the number may be that of the farewell which could not be sent, or of the handle's last transfer. */
static void say_lost(struct transfer *transfer) {
    long number = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &number);
    bool reset = number == ECONNRESET || number == EPIPE;
    say(transfer, "%s", reset ? "connection reset by peer" : "connection lost");
}

static void say_timeout(struct transfer *transfer) {
    curl_off_t connected = 0;
    char text[DURATION_TEXT_SIZE];
    curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (connected == 0)
        say(transfer, "no connection within %s", duration_format(transfer->connect_timeout, text));
    else if (transfer->attempt->record.status != 0)
        say(transfer, "the answer did not end within %s", duration_format(transfer->timeout, text));
    else
        say(transfer, "no answer within %s", duration_format(transfer->timeout, text));
}

/* libcurl's sentence without what says the same again. */
static const char *trouble_of(const struct transfer *transfer) {
    static const char prefix[] = "SSL certificate problem: ";
    const char *text = transfer->trouble;
    if (text[0] == '\0')
        return curl_easy_strerror(transfer->result);
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : text;
}

static void say_trouble(struct transfer *transfer) {
    switch (transfer->result) {
    case CURLE_OPERATION_TIMEDOUT:
        say_timeout(transfer);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        say(transfer, "the host name cannot be resolved");
        break;
    case CURLE_COULDNT_CONNECT:
        say_system(transfer, "could not connect");
        break;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        say_lost(transfer);
        break;
    case CURLE_GOT_NOTHING:
        say(transfer, "connection closed without an answer");
        break;
    case CURLE_PARTIAL_FILE:
        say(transfer, "the answer ended early");
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        say(transfer, "the answer is not HTTP");
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        say(transfer, "certificate: %s", trouble_of(transfer));
        break;
    case CURLE_SSL_CONNECT_ERROR:
        say(transfer, "TLS: %s", trouble_of(transfer));
        break;
    default:
        say(transfer, "%s", trouble_of(transfer));
        break;
    }
}

static void conclude_without_answer(struct transfer *transfer) {
    struct attempt *attempt = transfer->attempt;
    attempt->outcome = (struct lull_outcome){
        .class_ = lull_classify(LULL_CODE_CURL, (int)transfer->result, rules, RULE_COUNT),
        .code = (int)transfer->result,
    };
    /* Of several addresses one that may be called makes the difference: its trouble may pass. */
    if (transfer->refused_as != NULL && !transfer->opened) {
        attempt->outcome.class_ = LULL_PERMANENT;
        say(transfer, "the address %s is %s and not allowed; see addresses.allow",
            transfer->refused, transfer->refused_as);
        return;
    }
    say_trouble(transfer);
}

static void conclude_with_answer(struct transfer *transfer, lull_time wall) {
    struct attempt *attempt = transfer->attempt;
    int status = attempt->record.status;
    if (status >= 200 && status < 300) { /* nearly all of them: no looking for fields */
        attempt->outcome = (struct lull_outcome){.class_ = LULL_SUCCESS, .code = status};
        return;
    }
    const char *retry_after = field_of(transfer, "Retry-After");
    attempt->outcome =
        lull_outcome_http(status, retry_after, retry_after != NULL ? strlen(retry_after) : 0,
                          wall / LULL_SECOND, NULL, 0);
    attempt->gone = status == STATUS_GONE;
    const char *location = status < 400 ? field_of(transfer, "Location") : NULL;
    if (location != NULL)
        say(transfer, "answered with a redirect to %.120s, which is not followed", location);
    else
        say(transfer, "status %d", status);
}

/* The answer's first bytes; if there is no memory for them, none. */
static void keep_excerpt(struct transfer *transfer) {
    struct attempt_record *record = &transfer->attempt->record;
    size_t length = transfer->received < EXCERPT_LONGEST ? transfer->received : EXCERPT_LONGEST;
    if (length == 0 || (record->excerpt = malloc(length)) == NULL)
        return;
    memcpy(record->excerpt, transfer->body, length);
    record->excerpt_length = (uint32_t)length;
}

/* A body that was too long was cut off here; its status stands. */
static bool has_answer(const struct transfer *transfer) {
    return transfer->result == CURLE_OK || transfer->result == CURLE_WRITE_ERROR;
}

void transfer_conclude(struct transfer *transfer, lull_time now, lull_time wall) {
    struct attempt *attempt = transfer->attempt;
    struct attempt_record *record = &attempt->record;
    long status = 0;
    attempt->gone = false;
    record->began = transfer->began_wall;
    record->took = now - transfer->began;
    record->error[0] = '\0';
    record->excerpt = NULL;
    record->excerpt_length = 0;
    record->status = 0;
    if (transfer->cancelled) {
        attempt->outcome = (struct lull_outcome){.class_ = LULL_CANCELLED};
        say(transfer, "cancelled");
    } else {
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        record->status = (int)status;
        if (has_answer(transfer))
            conclude_with_answer(transfer, wall);
        else
            conclude_without_answer(transfer);
        if (attempt->outcome.class_ != LULL_SUCCESS)
            keep_excerpt(transfer);
    }
    record->class_ = attempt->outcome.class_;
}
