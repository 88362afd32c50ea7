/* Requests whose body is JSON. */
#ifndef API_BODY_H
#define API_BODY_H

#include "api/json.h"
#include "net/http.h"

/* The body, which must be a JSON object, without names given twice: one reference, the caller's. NULL: it has been answered with 400. */
json_t *body_object(struct exchange *exchange);

/* RFC 7396: `patch` into `target`; null takes a member away. False: out of memory. */
bool body_merge(json_t *target, json_t *patch);

#endif
