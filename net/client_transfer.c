#include "client_transfer.h"

#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVE_BUFFER 8192L /* answers are short */

/* ---- what libcurl calls ---- */

/* The name has been resolved; this is the address that would be connected to. */
static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
    struct transfer *transfer = context;
    struct transfer_settings *settings = transfer->settings;
    (void)purpose;
    const char *refusal = address_refusal(&address->addr, settings->allow, settings->allow_count);
    if (refusal != NULL) {
        transfer->refused_as = refusal;
        address_format(&address->addr, transfer->refused);
        errno = EACCES;
        return CURL_SOCKET_BAD;
    }
    transfer->opened = true;
    return sockets_open(&settings->sockets, address->family, address->socktype, address->protocol);
}

/* Of a connection that may have outlived the transfer which opened it. */
static int close_socket(void *context, curl_socket_t descriptor) {
    struct transfer_settings *settings = context;
    return sockets_close(&settings->sockets, descriptor);
}

static size_t receive(char *bytes, size_t one, size_t length, void *context) {
    struct transfer *transfer = context;
    (void)one;
    if (transfer->received < EXCERPT_LONGEST) {
        size_t room = EXCERPT_LONGEST - transfer->received;
        memcpy(transfer->body + transfer->received, bytes, length < room ? length : room);
    }
    transfer->received += length;
    return transfer->received <= CLIENT_BODY_LONGEST ? length : CURL_WRITEFUNC_ERROR;
}

/* ---- its life ---- */

/* Once for the life of the handle. Options that are known to this libcurl and have valid values fail only for want of memory. */
static bool set_up(struct transfer *transfer) {
    CURL *easy = transfer->easy;
    struct transfer_settings *settings = transfer->settings;
    CURLcode failed = CURLE_OK;
#define SET(option, value)                                                                         \
    do {                                                                                           \
        CURLcode code_ = curl_easy_setopt(easy, option, value);                                    \
        if (code_ != CURLE_OK)                                                                     \
            failed = code_;                                                                        \
    } while (0)
    SET(CURLOPT_PRIVATE, transfer);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_ERRORBUFFER, transfer->trouble);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_PROXY, ""); /* none, whatever the environment says; nor is it asked */
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    if (settings->ca_file != NULL) {
        SET(CURLOPT_CAINFO, settings->ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
    SET(CURLOPT_BUFFERSIZE, RECEIVE_BUFFER);
    SET(CURLOPT_WRITEFUNCTION, receive);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, transfer);
    SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, settings);
    /* A transfer that ends while its name is being resolved leaves the resolver's thread to itself. Without this, libcurl waits for it, and with
     * it every other transfer of the worker. */
    SET(CURLOPT_QUICK_EXIT, 1L);
#undef SET
    return failed == CURLE_OK;
}

struct transfer *transfer_new(struct transfer_settings *settings) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL)
        return NULL;
    transfer->settings = settings;
    transfer->easy = curl_easy_init();
    if (transfer->easy != NULL && set_up(transfer))
        return transfer;
    transfer_destroy(transfer);
    return NULL;
}

void transfer_destroy(struct transfer *transfer) {
    if (transfer == NULL)
        return;
    curl_easy_cleanup(transfer->easy);
    request_clean_up(&transfer->request);
    free(transfer);
}

/* In whole milliseconds, at least one: 0 would mean none at all. */
static long milliseconds(lull_duration duration) {
    int64_t count = duration / LULL_MILLISECOND;
    return count < 1 ? 1 : count > INT32_MAX ? INT32_MAX : (long)count;
}

bool transfer_prepare(struct transfer *transfer, struct attempt *attempt, lull_time now,
                      lull_time wall) {
    struct target *target = attempt->target;
    transfer->attempt = attempt;
    transfer->began = now;
    transfer->began_wall = wall;
    transfer->timeout = attempt->timeout < target->timeout ? attempt->timeout : target->timeout;
    transfer->connect_timeout =
        target->connect_timeout < transfer->timeout ? target->connect_timeout : transfer->timeout;
    transfer->cancelled = transfer->opened = false;
    transfer->refused_as = NULL;
    transfer->received = 0;
    transfer->trouble[0] = '\0';

    struct prepared *prepared = prepared_of(target);
    if (prepared == NULL)
        return false;
    struct curl_slist *fields =
        request_fields(&transfer->request, prepared, attempt, transfer->timeout, wall);
    if (fields == NULL)
        return false;
    CURL *easy = transfer->easy;
    if (transfer->serial != prepared->serial) {
        transfer->serial = 0;
        if (curl_easy_setopt(easy, CURLOPT_CURLU, prepared->url) != CURLE_OK)
            return false;
        transfer->serial = prepared->serial;
    }
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                            (curl_off_t)attempt->message->payload_length) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, attempt->message->payload) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(transfer->timeout)) ==
               CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                            milliseconds(transfer->connect_timeout)) == CURLE_OK;
}
