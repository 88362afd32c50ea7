#include "api/reply.h"

#include "api/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_SIZE 1024

/* ---- problems ---- */

static const char *title_of(int status) {
    static const struct {
        int status;
        const char *title;
    } titles[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

json_t *problem_body(int status, const char *code, const char *detail, uint32_t line) {
    json_t *problem = json_object();
    json_put(&problem, "type", json_string("about:blank"));
    json_put(&problem, "title", json_string(title_of(status)));
    json_put(&problem, "status", json_integer(status));
    json_put(&problem, "code", json_string(code));
    json_put(&problem, "detail", json_text(detail));
    if (line > 0)
        json_put(&problem, "line", json_integer(line));
    return problem;
}

char *api_problem(int status, const char *code, const char *detail, size_t *length) {
    json_t *problem = problem_body(status, code, detail, 0);
    char *text = problem == NULL ? NULL : json_line(problem);
    json_decref(problem);
    *length = text == NULL ? 0 : strlen(text);
    return text;
}

static const struct answer_field retry_soon = {"Retry-After", "1"};

void reply_no_memory(struct exchange *exchange) {
    static const char body[] =
        "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
        "\"code\":\"out_of_memory\",\"detail\":\"there is no memory left for this; try again\"}\n";
    exchange_answer(exchange, &(struct answer){.status = 503,
                                               .content_type = PROBLEM_TYPE,
                                               .body = body,
                                               .length = sizeof body - 1,
                                               .fields = &retry_soon,
                                               .field_count = 1});
}

/* The text is taken; NULL: there was no memory for it. */
static void send_line(struct exchange *exchange, int status, const char *content_type, char *text,
                      const struct answer_field *field) {
    if (text == NULL) {
        reply_no_memory(exchange);
        return;
    }
    /* A line, for those who look at it in a terminal. Nobody needs the NUL. */
    size_t length = strlen(text);
    text[length++] = '\n';
    exchange_answer(exchange, &(struct answer){.status = status,
                                               .content_type = content_type,
                                               .body = text,
                                               .length = length,
                                               .take = true,
                                               .fields = field,
                                               .field_count = field != NULL ? 1 : 0});
}

__attribute__((format(printf, 6, 0))) static void
send_problem(struct exchange *exchange, int status, const char *code, uint32_t line,
             const struct answer_field *field, const char *format, va_list arguments) {
    char detail[DETAIL_SIZE];
    vsnprintf(detail, sizeof detail, format, arguments);
    json_t *problem = problem_body(status, code, detail, line);
    if (field == NULL && status == 503)
        field = &retry_soon;
    send_line(exchange, status, PROBLEM_TYPE, problem == NULL ? NULL : json_line(problem), field);
    json_decref(problem);
}

void reply_problem(struct exchange *exchange, int status, const char *code, const char *format,
                   ...) {
    va_list arguments;
    va_start(arguments, format);
    send_problem(exchange, status, code, 0, NULL, format, arguments);
    va_end(arguments);
}

void reply_problem_field(struct exchange *exchange, int status, const char *code, const char *name,
                         const char *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    send_problem(exchange, status, code, 0, &(struct answer_field){name, text}, format, arguments);
    va_end(arguments);
}

void reply_problem_line(struct exchange *exchange, int status, const char *code, uint32_t line,
                        const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    send_problem(exchange, status, code, line, NULL, format, arguments);
    va_end(arguments);
}

void reply_failed(struct exchange *exchange, int result) {
    if (result == LULL_ENOMEM)
        reply_no_memory(exchange);
    else
        reply_problem(exchange, 503, "store_unavailable",
                      "the store could not do this, and nothing of it has happened; try again");
}

/* ---- other answers ---- */

void reply_json_field(struct exchange *exchange, int status, json_t *value, const char *name,
                      const char *text) {
    char *line = value == NULL ? NULL : json_line(value);
    json_decref(value);
    send_line(exchange, status, JSON_TYPE, line,
              name != NULL ? &(struct answer_field){name, text} : NULL);
}

void reply_json(struct exchange *exchange, int status, json_t *value) {
    reply_json_field(exchange, status, value, NULL, NULL);
}

void reply_nothing(struct exchange *exchange) {
    exchange_answer(exchange, &(struct answer){.status = 204});
}

void reply_text(struct exchange *exchange, int status, const char *content_type, const char *text,
                size_t length) {
    exchange_answer(exchange, &(struct answer){.status = status,
                                               .content_type = content_type,
                                               .body = text,
                                               .length = length});
}

void reply_buffer(struct exchange *exchange, int status, const char *content_type,
                  struct buffer *buffer) {
    if (buffer->failed) {
        free(buffer->text);
        reply_no_memory(exchange);
    } else {
        exchange_answer(exchange, &(struct answer){.status = status,
                                                   .content_type = content_type,
                                                   .body = buffer->text,
                                                   .length = buffer->length,
                                                   .take = true});
    }
    *buffer = (struct buffer){0};
}
