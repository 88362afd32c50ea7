/* What is small and the same for all. */
#include "api/handlers.h"
#include "api/openapi.h"
#include "api/reply.h"

#include <string.h>

void pages_health(struct call *call) {
    reply_text(call->exchange, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

void pages_ready(struct call *call) {
    char why[200] = "";
    if (service_ready(call->worker, why, sizeof why))
        reply_text(call->exchange, 200, "text/plain; charset=utf-8", "ready\n", 6);
    else
        reply_problem(call->exchange, 503, "not_ready", "%s", why);
}

void pages_openapi(struct call *call) {
    size_t length;
    const char *document = openapi_document(&length);
    reply_text(call->exchange, 200, JSON_TYPE, document, length);
}

void pages_index(struct call *call) {
    static const char page[] =
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>lull</title>\n"
        "<h1>lull</h1>\n<p>It runs. <a href=\"/v1/destinations\">Destinations</a>, "
        "<a href=\"/v1/events\">events</a>, <a href=\"/v1/dlq\">dead letters</a>, "
        "<a href=\"/v1/replays\">replays</a>, <a href=\"/metrics\">metrics</a>, "
        "<a href=\"/readyz\">readiness</a>; all of it is described by "
        "<a href=\"/v1/openapi.json\">openapi.json</a>.\n</html>\n";
    reply_text(call->exchange, 200, "text/html; charset=utf-8", page, sizeof page - 1);
}
