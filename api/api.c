#include "api/api.h"

#include "api/auth.h"
#include "api/reply.h"
#include "api/route.h"

/* Of requests that are not events: settings, lists of ids. */
#define PLAIN_BODY_MAX (INT64_C(1) << 20)
/* Of requests that will be refused: enough to read a small one to its end, so that the connection can be kept. */
#define STRANGERS_BODY_MAX (INT64_C(16) << 10)

int64_t api_body_limit(const struct serve_config *config, const struct exchange *exchange) {
    char parameter[PARAMETER_SIZE], allow[ALLOW_SIZE];
    const struct route *route =
        route_find(exchange_method(exchange), exchange_path(exchange), parameter, allow);
    if (!auth_known(config, exchange))
        return STRANGERS_BODY_MAX;
    enum body_kind body = route != NULL ? route->body : BODY_PLAIN;
    return body == BODY_EVENT   ? config->limits.body
           : body == BODY_BATCH ? config->limits.batch
                                : PLAIN_BODY_MAX;
}

void api_handle(struct worker *worker, struct exchange *exchange) {
    struct call call;
    char allow[ALLOW_SIZE];
    const char *method = exchange_method(exchange), *path = exchange_path(exchange);
    const struct route *route = route_find(method, path, call.parameter, allow);
    call.worker = worker;
    call.exchange = exchange;
    /* Asked first: what there is and what is not is nobody's business without a token. */
    if ((route == NULL || !route->open) && !auth_check(service_config(worker), exchange))
        return;
    if (route != NULL)
        route->handle(&call);
    else if (allow[0] != '\0')
        reply_problem_field(exchange, 405, "method_not_allowed", "Allow", allow,
                            "%.20s is not for this path; it takes %s", method, allow);
    else
        reply_problem(exchange, 404, "not_found",
                      "there is no path %.200s; GET /v1/openapi.json lists all there are", path);
}
