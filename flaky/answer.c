#include "answer.h"

#include "drip.h"
#include "echo.h"
#include "json.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* -- bodies -- */

static const char *default_text(enum outcome outcome) {
    switch (outcome) {
    case OUTCOME_FAILED:
        return "failed on purpose\n";
    case OUTCOME_RATE_LIMITED:
        return "over the rate limit\n";
    case OUTCOME_QUEUE_FULL:
        return "too many are waiting\n";
    default:
        return "ok\n";
    }
}

static bool turned_away(const struct request *request) {
    return request->plan.outcome == OUTCOME_RATE_LIMITED ||
           request->plan.outcome == OUTCOME_QUEUE_FULL;
}

static struct blob *problem_body(const struct settings_problem *problem) {
    char *text = problem_json(MHD_HTTP_BAD_REQUEST, problem->field, problem->problem.text);
    struct blob *blob = text == NULL ? NULL : blob_of_text(text);
    free(text);
    return blob;
}

struct blob *answer_body(const struct server *server, const struct request *request) {
    const struct settings *own = request_settings(server, request);
    if (request->override_problem != NULL)
        return problem_body(request->override_problem);
    if (turned_away(request))
        return blob_of_text(default_text(request->plan.outcome));
    if (own->echo)
        return echo_body(request);
    if (own->body.kind == BODY_DEFAULT)
        return blob_of_text(default_text(request->plan.outcome));
    return request->own == NULL ? blob_share(server->body) : blob_of_body(&own->body);
}

/* Called by libmicrohttpd for the next piece of a body that drips. */
static ssize_t read_drip(void *context, uint64_t position, char *buffer, size_t most) {
    struct request *request = context;
    struct server *server = request->server;
    uint64_t rate = request->plan.bytes_per_second;
    lull_time now = server_tick(server);
    if (request->state == REQUEST_CUT)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    uint64_t size = drip_allowance(rate, position, now - request->drip_began);
    if (size == 0) {
        request_suspend(server, request, REQUEST_DRIPPING,
                        request->drip_began + drip_due(rate, position));
        return 0;
    }
    if (size > most)
        size = most;
    memcpy(buffer, request->drip->bytes + position, (size_t)size);
    return (ssize_t)size;
}

static struct MHD_Response *response_of(struct server *server, struct request *request,
                                        struct blob *body) {
    if (request->plan.bytes_per_second == 0)
        return MHD_create_response_from_buffer_with_free_callback_cls(body->size, body->bytes,
                                                                      blob_release, body);
    request->drip = body;
    request->drip_began = server_tick(server);
    return MHD_create_response_from_callback(body->size, 16384, read_drip, request, NULL);
}

/* -- header fields -- */

static void add_date(struct MHD_Response *response, lull_duration ahead) {
    char text[64];
    struct timespec wall;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &wall);
    /* Rounded up: one who comes at the date must not come too early. */
    lull_duration rounded = wall.tv_nsec + ahead + LULL_SECOND - 1;
    time_t moment = wall.tv_sec + rounded / LULL_SECOND;
    if (gmtime_r(&moment, &parts) != NULL &&
        strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
}

static void add_seconds(struct MHD_Response *response, lull_duration ahead) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)((ahead + LULL_SECOND - 1) / LULL_SECOND));
    MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, text);
}

static void add_retry_after(struct MHD_Response *response, const struct settings *own,
                            const struct plan *plan) {
    bool date = own->retry_after_form == RETRY_AFTER_DATE;
    uint64_t seconds = 0;
    if (plan->outcome == OUTCOME_OK || plan->outcome == OUTCOME_BAD_OVERRIDE)
        return;
    if (date && number_parse(own->retry_after, 1000000000, &seconds))
        add_date(response, (lull_duration)seconds * LULL_SECOND);
    else if (*own->retry_after != '\0')
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, own->retry_after);
    else if (plan->outcome == OUTCOME_RATE_LIMITED && date)
        add_date(response, plan->token_due_in);
    else if (plan->outcome == OUTCOME_RATE_LIMITED)
        add_seconds(response, plan->token_due_in);
}

static void add_configured(struct MHD_Response *response, const struct headers *headers) {
    for (size_t i = 0; i < headers->count; i++) {
        char name[FIELD_TEXT_SIZE];
        size_t length = strcspn(headers->list[i], ":");
        const char *value = headers->list[i] + length + 1;
        memcpy(name, headers->list[i], length);
        name[length] = '\0';
        MHD_add_response_header(response, name, value + strspn(value, " "));
    }
}

static void add_headers(const struct server *server, const struct request *request,
                        struct MHD_Response *response) {
    const struct settings *own = request_settings(server, request);
    const struct plan *plan = &request->plan;
    add_configured(response, &own->header);
    add_retry_after(response, own, plan);
    if (plan->outcome == OUTCOME_OK && *own->redirect != '\0')
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, own->redirect);
    if (MHD_get_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE) == NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                plan->outcome == OUTCOME_BAD_OVERRIDE ? PROBLEM_TYPE
                                : own->echo && !turned_away(request)  ? JSON_TYPE
                                                                      : "text/plain");
}

/* -- putting it together -- */

/* Is this answer the same for all with its outcome? */
static bool is_common(const struct server *server, const struct request *request) {
    const struct settings *settings = &server->settings;
    if (request->own != NULL || request->override_problem != NULL || settings->echo ||
        request->plan.bytes_per_second > 0)
        return false;
    if (request->plan.outcome == OUTCOME_OK)
        return true;
    return settings->retry_after_form == RETRY_AFTER_SECONDS &&
           (request->plan.outcome != OUTCOME_RATE_LIMITED || *settings->retry_after != '\0');
}

static struct MHD_Response *make(struct server *server, struct request *request) {
    struct blob *body = answer_body(server, request);
    if (body == NULL)
        return NULL;
    struct MHD_Response *response = response_of(server, request, body);
    if (response == NULL) {
        if (request->drip == NULL)
            blob_release(body);
        return NULL;
    }
    add_headers(server, request, response);
    return response;
}

enum MHD_Result answer_queue(struct server *server, struct request *request) {
    struct MHD_Connection *http = request->connection->http;
    if (is_common(server, request)) {
        struct MHD_Response **kept = &server->answers[request->plan.outcome];
        if (*kept == NULL)
            *kept = make(server, request);
        return MHD_queue_response(http, request->plan.status, *kept);
    }
    struct MHD_Response *response = make(server, request);
    enum MHD_Result result = MHD_queue_response(http, request->plan.status, response);
    if (response != NULL)
        MHD_destroy_response(response);
    return result;
}

void answers_forget(struct server *server) {
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (server->answers[i] != NULL)
            MHD_destroy_response(server->answers[i]);
        server->answers[i] = NULL;
    }
}

enum MHD_Result answer_text(struct MHD_Connection *http, unsigned status, const char *content_type,
                            const char *allow, char *text) {
    if (text == NULL)
        return MHD_NO;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    if (allow != NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    enum MHD_Result result = MHD_queue_response(http, status, response);
    MHD_destroy_response(response);
    return result;
}

char *problem_json(unsigned status, const char *field, const char *detail) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    fprintf(stream, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":",
            MHD_get_reason_phrase_for(status), status);
    print_json_string(stream, detail);
    if (*field != '\0') {
        fputs(",\"field\":", stream);
        print_json_string(stream, field);
    }
    fputs("}\n", stream);
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
