/* The HTTP interface: docs/http.md, request by request. */
#ifndef API_API_H
#define API_API_H

#include "net/http.h"
#include "serve/service.h"

/* Answers the exchange, now or later. */
void api_handle(struct worker *worker, struct exchange *exchange);

/* How large a request's body may be, in bytes. Who has no token cannot make us keep much. */
int64_t api_body_limit(const struct serve_config *config, const struct exchange *exchange);

/* A problem body (RFC 9457) for a status, for errors that the server itself must answer: malloc'd; NULL: out of memory. */
char *api_problem(int status, const char *code, const char *detail, size_t *length);

#endif
