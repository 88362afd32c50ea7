#include "control.h"

#include "answer.h"
#include "number.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "/_flaky"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

bool control_owns(const char *path) {
    size_t length = strlen(PREFIX);
    return strcmp(path, "/metrics") == 0 ||
           (strncmp(path, PREFIX, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}

static enum MHD_Result refuse(struct request *request, unsigned status, const char *field,
                              const char *detail) {
    return answer_text(request->connection->http, status, PROBLEM_TYPE, NULL,
                       problem_json(status, field, detail));
}

/* Everything is written by a function onto a stream. */
static enum MHD_Result
answer_written(struct server *server, struct request *request, const char *content_type,
               void (*write)(FILE *stream, struct server *server, struct request *request)) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return MHD_NO;
    write(stream, server, request);
    if (fclose(stream) != 0) {
        free(text);
        return MHD_NO;
    }
    return answer_text(request->connection->http, MHD_HTTP_OK, content_type, NULL, text);
}

static void write_status(FILE *stream, struct server *server, struct request *request) {
    (void)request;
    lull_duration up = server_tick(server) - server->started;
    fprintf(stream,
            "{\"address\":\"%s\",\"uptime_us\":%lld,\"outage\":", server->doors[0].listener.url,
            (long long)(up / LULL_MICROSECOND));
    if (server->outage == OUTAGE_NONE)
        fputs("null", stream);
    else
        fprintf(stream, "\"%s\"", outage_mode_name(server->outage));
    fprintf(stream, ",\"connections\":%zu,\"serving\":%llu,\"queued\":%llu,\"hanging\":%zu",
            server->connection_count, (unsigned long long)server->state.gate.serving,
            (unsigned long long)server->state.gate.waiting, server->hanging);
    fputs(",\"counters\":", stream);
    journal_write_counters(stream, &server->journal);
    fputs(",\"settings\":", stream);
    settings_write_json(stream, &server->settings);
    fputs("}\n", stream);
}

static void write_metrics(FILE *stream, struct server *server, struct request *request) {
    (void)request;
    journal_write_metrics(stream, &server->journal);
    fprintf(stream,
            "# HELP lull_flaky_queued Requests waiting in line.\n"
            "# TYPE lull_flaky_queued gauge\n"
            "lull_flaky_queued %llu\n"
            "# HELP lull_flaky_hanging Requests left without an answer, their clients waiting.\n"
            "# TYPE lull_flaky_hanging gauge\n"
            "lull_flaky_hanging %zu\n"
            "# HELP lull_flaky_connections Open connections.\n"
            "# TYPE lull_flaky_connections gauge\n"
            "lull_flaky_connections %zu\n"
            "# HELP lull_flaky_outage Whether there is an outage.\n"
            "# TYPE lull_flaky_outage gauge\n"
            "lull_flaky_outage %d\n",
            (unsigned long long)server->state.gate.waiting, server->hanging,
            server->connection_count, server->outage != OUTAGE_NONE);
}

/* A number in the query; `otherwise` if it is not there. False: it is none. */
static bool argument(struct request *request, const char *name, uint64_t otherwise,
                     uint64_t *number) {
    const char *text =
        MHD_lookup_connection_value(request->connection->http, MHD_GET_ARGUMENT_KIND, name);
    *number = otherwise;
    return text == NULL || number_parse(text, UINT64_MAX, number);
}

static void write_arrivals(FILE *stream, struct server *server, struct request *request) {
    uint64_t since = 0, limit = 0;
    argument(request, "since", 0, &since);
    argument(request, "limit", UINT64_MAX, &limit);
    journal_write_arrivals(stream, &server->journal, since, limit);
    fputc('\n', stream);
}

static enum MHD_Result arrivals(struct server *server, struct request *request) {
    uint64_t number = 0;
    static const char *const names[] = {"since", "limit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!argument(request, names[i], 0, &number))
            return refuse(request, MHD_HTTP_BAD_REQUEST, names[i], "must be a whole number");
    }
    return answer_written(server, request, JSON_TYPE, write_arrivals);
}

static enum MHD_Result status(struct server *server, struct request *request) {
    return answer_written(server, request, JSON_TYPE, write_status);
}

static enum MHD_Result metrics(struct server *server, struct request *request) {
    return answer_written(server, request, METRICS_TYPE, write_metrics);
}

static enum MHD_Result change(struct server *server, struct request *request) {
    bool all = strcmp(request->method, MHD_HTTP_METHOD_PUT) == 0;
    struct settings settings = all ? settings_defaults : server->settings;
    struct settings_problem problem;
    uint64_t touched = 0;
    json_error_t error;
    if (request->upload.cut)
        return refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "", "more than a megabyte");
    json_t *object =
        json_loadb(request->upload.bytes != NULL ? request->upload.bytes : "", request->upload.size,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (object == NULL) {
        struct problem text;
        problem_say(&text, "no JSON: %s, line %d, column %d", error.text, error.line, error.column);
        return refuse(request, MHD_HTTP_BAD_REQUEST, "", text.text);
    }
    bool good = settings_read_json(&settings, object, &touched, &problem);
    json_decref(object);
    if (!good)
        return refuse(request, MHD_HTTP_BAD_REQUEST, problem.field, problem.problem.text);
    server_configure(server, &settings, all ? UINT64_MAX : touched);
    return status(server, request);
}

static enum MHD_Result start_over(struct server *server, struct request *request) {
    journal_reset(&server->journal);
    return status(server, request);
}

static const struct route {
    const char *path;
    const char *methods; /* a comma and a blank between them */
    enum MHD_Result (*answer)(struct server *server, struct request *request);
} routes[] = {
    {PREFIX, "GET, HEAD", status},
    {PREFIX, "PUT, PATCH", change},
    {PREFIX "/reset", "POST", start_over},
    {PREFIX "/arrivals", "GET, HEAD", arrivals},
    {PREFIX "/metrics", "GET, HEAD", metrics},
    {"/metrics", "GET, HEAD", metrics},
};

static bool takes(const struct route *route, const char *method) {
    size_t length = strlen(method);
    const char *found = strstr(route->methods, method);
    return found != NULL && (found[length] == ',' || found[length] == '\0');
}

static enum MHD_Result refuse_method(struct request *request, const char *allowed) {
    struct problem text;
    problem_say(&text, "allowed here: %s", allowed);
    return answer_text(request->connection->http, MHD_HTTP_METHOD_NOT_ALLOWED, PROBLEM_TYPE,
                       allowed, problem_json(MHD_HTTP_METHOD_NOT_ALLOWED, "", text.text));
}

enum MHD_Result control_answer(struct server *server, struct request *request) {
    char allowed[64] = "";
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *route = &routes[i];
        size_t length = strlen(allowed);
        if (strcmp(route->path, request->path) != 0)
            continue;
        if (takes(route, request->method))
            return route->answer(server, request);
        snprintf(allowed + length, sizeof allowed - length, "%s%s", length > 0 ? ", " : "",
                 route->methods);
    }
    if (*allowed != '\0')
        return refuse_method(request, allowed);
    return refuse(request, MHD_HTTP_NOT_FOUND, "",
                  "there are /_flaky, /_flaky/reset, /_flaky/arrivals and /_flaky/metrics");
}
