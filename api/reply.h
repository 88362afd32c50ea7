/* Answers to an exchange. Each of these is the one answer: the exchange is gone afterwards. */
#ifndef API_REPLY_H
#define API_REPLY_H

#include "api/buffer.h"
#include "api/json.h"
#include "net/http.h"

#define JSON_TYPE "application/json"
#define PROBLEM_TYPE "application/problem+json"

/* The value is taken. NULL: there was no memory for it, and the answer says so. */
void reply_json(struct exchange *exchange, int status, json_t *value);
void reply_json_field(struct exchange *exchange, int status, json_t *value, const char *name,
                      const char *text);
void reply_nothing(struct exchange *exchange); /* 204 */
void reply_text(struct exchange *exchange, int status, const char *content_type, const char *text,
                size_t length);
/* The buffer's text is taken. Has it failed, the answer says so. */
void reply_buffer(struct exchange *exchange, int status, const char *content_type,
                  struct buffer *buffer);

/* A problem: `code` is one word of docs/http.md, the rest a sentence that says what would be right. 503 comes with Retry-After. */
__attribute__((format(printf, 4, 5))) void reply_problem(struct exchange *exchange, int status,
                                                         const char *code, const char *format, ...);
/* The same with a header field. */
__attribute__((format(printf, 6, 7))) void reply_problem_field(struct exchange *exchange,
                                                               int status, const char *code,
                                                               const char *name, const char *text,
                                                               const char *format, ...);
/* The same about a line of the body. */
__attribute__((format(printf, 5, 6))) void reply_problem_line(struct exchange *exchange, int status,
                                                              const char *code, uint32_t line,
                                                              const char *format, ...);
/* 503: the store could not (LULL_ESYSTEM), or there was no memory (LULL_ENOMEM). */
void reply_failed(struct exchange *exchange, int result);
void reply_no_memory(struct exchange *exchange);

/* {"type":"about:blank","title":…,"status":…,"code":…,"detail":…}, with the line unless it is 0. */
json_t *problem_body(int status, const char *code, const char *detail, uint32_t line);

#endif
