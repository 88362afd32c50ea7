/* The request as JSON: {"method":…,"path":…,"query":{…},"headers":{…},"body":"…"}.
 *
 * A body that is no UTF-8 is "body_hex" instead; one of more than a megabyte is cut, and then
 * there is "body_cut":true. */
#ifndef FLAKY_ECHO_H
#define FLAKY_ECHO_H

#include "request.h"

/* To be released; NULL: out of memory. */
struct blob *echo_body(const struct request *request);

#endif
