/* The control endpoint, which never misbehaves:
 *
 *   GET    /_flaky                  settings and counters
 *   PATCH  /_flaky  {"fail":0.3}    changes what is named
 *   PUT    /_flaky  {"fail":0.3}    the same, and everything else becomes what it is by default
 *   POST   /_flaky/reset            counters and arrivals start over
 *   GET    /_flaky/arrivals?since=N&limit=N
 *   GET    /_flaky/metrics          also /metrics
 */
#ifndef FLAKY_CONTROL_H
#define FLAKY_CONTROL_H

#include "request.h"

/* Does the path belong to it? */
bool control_owns(const char *path);

enum MHD_Result control_answer(struct server *server, struct request *request);

#endif
