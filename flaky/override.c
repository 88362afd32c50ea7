#include "override.h"

#include <stdlib.h>
#include <string.h>

#define NAME "X-Flaky"

/* To be freed; NULL: it does not ask. */
static char *wish(struct MHD_Connection *http) {
    const char *header = MHD_lookup_connection_value(http, MHD_HEADER_KIND, NAME);
    const char *argument = MHD_lookup_connection_value(http, MHD_GET_ARGUMENT_KIND, "x-flaky");
    if (header != NULL)
        return strdup(header);
    if (argument == NULL)
        return NULL;
    char *decoded = strdup(argument);
    if (decoded != NULL)
        MHD_http_unescape(decoded);
    return decoded;
}

void override_read(const struct server *server, struct request *request) {
    struct settings_problem problem;
    char *text = wish(request->connection->http);
    if (text == NULL)
        return;
    struct settings *own = malloc(sizeof *own);
    if (own == NULL)
        abort();
    *own = server->settings;
    if (settings_override(own, text, &problem)) {
        request->own = own;
    } else {
        free(own);
        request->override_problem = malloc(sizeof problem);
        if (request->override_problem == NULL)
            abort();
        *request->override_problem = problem;
    }
    free(text);
}

struct plan override_refused(void) {
    return (struct plan){
        .effect = EFFECT_ANSWER,
        .outcome = OUTCOME_BAD_OVERRIDE,
        .status = MHD_HTTP_BAD_REQUEST,
        .gate = GATE_FULL,
    };
}
