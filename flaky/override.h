/* A request that chooses what happens to it: `X-Flaky: status=503; latency=200ms; reset`, or the
 * same as ?x-flaky=… in its query. */
#ifndef FLAKY_OVERRIDE_H
#define FLAKY_OVERRIDE_H

#include "request.h"

/* Gives the request settings of its own, or a problem, if it asks for them. */
void override_read(const struct server *server, struct request *request);

/* The plan for one with a problem. */
struct plan override_refused(void);

#endif
