#include "server_parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* -- what is wrong -- */

static void refuse(struct refusal *refusal, const char *detail) {
    *refusal = (struct refusal){.status = 400, .title = "Bad Request", .code = "bad_request"};
    snprintf(refusal->detail, sizeof refusal->detail, "%s", detail);
}

static void refuse_version(struct refusal *refusal) {
    *refusal = (struct refusal){
        .status = 505,
        .title = "HTTP Version Not Supported",
        .code = "http_version",
        .detail = "only HTTP/1.1 and HTTP/1.0 are spoken here",
    };
}

void http_refuse_timeout(struct refusal *refusal, lull_duration limit) {
    *refusal =
        (struct refusal){.status = 408, .title = "Request Timeout", .code = "request_timeout"};
    snprintf(refusal->detail, sizeof refusal->detail, "the body was not complete within %.3g s",
             (double)limit / (double)LULL_SECOND);
}

void http_refuse_length(struct refusal *refusal, int64_t limit) {
    *refusal = (struct refusal){.status = 413, .title = "Content Too Large", .code = "too_large"};
    snprintf(refusal->detail, sizeof refusal->detail, "the body may have at most %lld bytes",
             (long long)limit);
}

void http_refuse_busy(struct refusal *refusal) {
    *refusal = (struct refusal){
        .status = 503,
        .title = "Service Unavailable",
        .code = "busy",
        .detail = "too many large requests at once; try again, or in smaller pieces",
    };
}

size_t http_refusal_write(const struct refusal *refusal, char text[REFUSAL_SIZE]) {
    return (size_t)snprintf(text, REFUSAL_SIZE,
                            "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,"
                            "\"code\":\"%s\",\"detail\":\"%s\"}",
                            refusal->title, refusal->status, refusal->code, refusal->detail);
}

/* -- the query -- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. What is no escape stays. False: there is a NUL in it. */
static bool decode(char *text) {
    char *to = strchr(text, '%');
    if (to == NULL)
        return true;
    for (const char *from = to; *from != '\0';) {
        int high = *from == '%' ? hex_digit(from[1]) : -1;
        int low = high >= 0 ? hex_digit(from[2]) : -1;
        if (low < 0) {
            *to++ = *from++;
            continue;
        }
        if (high == 0 && low == 0)
            return false;
        *to++ = (char)(high * 16 + low);
        from += 3;
    }
    *to = '\0';
    return true;
}

/* -- the fields -- */

struct check {
    const char *fault; /* NULL: none */
    bool has_length, has_encoding, has_host;
    int64_t length;
};

static bool has_controls(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t') || c == 0x7F)
            return true;
    }
    return false;
}

static const char *check_length(struct check *check, const char *value, size_t size) {
    if (check->has_length)
        return "Content-Length is given twice";
    check->has_length = true;
    check->length = 0;
    for (size_t i = 0; i < size; i++) {
        int digit = value[i] - '0';
        if (digit < 0 || digit > 9 || check->length > (INT64_MAX - digit) / 10)
            return "Content-Length is not a number";
        check->length = check->length * 10 + digit;
    }
    return size > 0 ? NULL : "Content-Length is not a number";
}

static const char *check_encoding(struct check *check, const char *value) {
    if (check->has_encoding)
        return "Transfer-Encoding is given twice";
    check->has_encoding = true;
    return strcasecmp(value, "chunked") == 0 ? NULL : "Transfer-Encoding can only be chunked";
}

/* libmicrohttpd 0.9.75 appends a folded line to the field's *name*: "Transfer-Encoding:\r\n chunked"
 * becomes a field Transfer-Encodingchunked, and the body the next request. It copies the name to do
 * so; otherwise name and value lie where they were in the line, with nothing but blanks between. */
static bool is_folded(const char *name, size_t name_size, const char *value) {
    if ((uintptr_t)value <= (uintptr_t)name + name_size)
        return true;
    for (const char *between = name + name_size + 1; between != value; between++) {
        if (*between != ' ' && *between != '\t')
            return true;
    }
    return false;
}

static const char *check_host(struct check *check) {
    bool twice = check->has_host;
    check->has_host = true;
    return twice ? "Host is given twice" : NULL;
}

static const char *check_field(struct check *check, const char *name, size_t name_size,
                               const char *value, size_t value_size) {
    if (name_size == 0 || memchr(name, ' ', name_size) || memchr(name, '\t', name_size) ||
        has_controls(name, name_size))
        return "a header field's name has characters that it must not have";
    if (is_folded(name, name_size, value))
        return "a header field goes over several lines";
    if (has_controls(value, value_size))
        return "a header field's value has control characters";
    if (name_size == 4 && strcasecmp(name, "host") == 0)
        return check_host(check);
    if (name_size == 14 && strcasecmp(name, "content-length") == 0)
        return check_length(check, value, value_size);
    if (name_size == 17 && strcasecmp(name, "transfer-encoding") == 0)
        return check_encoding(check, value);
    return NULL;
}

/* The texts lie in libmicrohttpd's memory for this connection, which nothing else reads. */
static const char *check_parameter(const char *name, const char *value) {
    bool good = decode((char *)name) && (value == NULL || decode((char *)value));
    return good ? NULL : "the query has a NUL in it";
}

static enum MHD_Result check_one(void *context, enum MHD_ValueKind kind, const char *name,
                                 size_t name_size, const char *value, size_t value_size) {
    struct check *check = context;
    check->fault = kind == MHD_HEADER_KIND ? check_field(check, name, name_size, value, value_size)
                                           : check_parameter(name, value);
    return check->fault == NULL ? MHD_YES : MHD_NO;
}

/* libmicrohttpd takes the first Content-Length, and prefers Transfer-Encoding to it. A proxy before
 * us may see it otherwise, and then what it thinks is a body would be a request to us. */
bool http_check(const struct http_server *server, struct exchange *exchange, const char *version,
                int64_t *length, struct refusal *refusal) {
    struct check check = {.length = 0};
    if (strcmp(version, MHD_HTTP_VERSION_1_1) != 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0) {
        refuse_version(refusal);
        return false;
    }
    MHD_get_connection_values_n(exchange->connection->http, MHD_HEADER_KIND | MHD_GET_ARGUMENT_KIND,
                                check_one, &check);
    if (check.fault == NULL && check.has_length && check.has_encoding)
        check.fault = "Content-Length and Transfer-Encoding do not go together";
    if (check.fault != NULL) {
        refuse(refusal, check.fault);
        return false;
    }
    exchange->limit = server->options.limit(server->options.context, exchange);
    *length = check.has_encoding ? -1 : check.length;
    if (*length > exchange->limit) {
        http_refuse_length(refusal, exchange->limit);
        return false;
    }
    return true;
}
