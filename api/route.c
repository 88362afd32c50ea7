#include "api/route.h"

#include "api/handlers.h"
#include "api/text.h"

#include <stdio.h>
#include <string.h>

/* The busiest first. */
static const struct route routes[] = {
    {"POST", "/v1/destinations/{name}/events", ingest_to_one, .body = BODY_EVENT},
    {"POST", "/v1/events", ingest_by_type, .body = BODY_EVENT},
    {"POST", "/v1/events:batch", ingest_batch, .body = BODY_BATCH},
    {"GET", "/v1/events", events_list},
    {"GET", "/v1/events/{id}", events_show},
    {"GET", "/v1/destinations", destinations_list},
    {"POST", "/v1/destinations", destinations_create},
    {"GET", "/v1/destinations/{name}", destinations_show},
    {"PATCH", "/v1/destinations/{name}", destinations_update},
    {"DELETE", "/v1/destinations/{name}", destinations_remove},
    {"POST", "/v1/destinations/{name}/pause", destinations_pause},
    {"POST", "/v1/destinations/{name}/resume", destinations_resume},
    {"POST", "/v1/destinations/{name}/rotate-secret", destinations_rotate},
    {"GET", "/v1/dlq", dlq_list},
    {"POST", "/v1/dlq/replay", replays_start},
    {"GET", "/v1/dlq/{id}", dlq_show},
    {"DELETE", "/v1/dlq/{id}", dlq_drop},
    {"GET", "/v1/replays", replays_list},
    {"GET", "/v1/replays/{id}", replays_show},
    {"DELETE", "/v1/replays/{id}", replays_cancel},
    {"GET", "/metrics", metrics_show},
    {"GET", "/healthz", pages_health, .open = true},
    {"GET", "/readyz", pages_ready},
    {"GET", "/v1/openapi.json", pages_openapi},
    {"GET", "/", pages_index},
};

const struct route *route_at(size_t index) {
    return index < sizeof routes / sizeof routes[0] ? &routes[index] : NULL;
}

static const char *segment_end(const char *at) {
    return at + strcspn(at, "/");
}

/* Segment by segment, so that an encoded slash is no slash. */
static bool matches(const char *pattern, const char *path, char parameter[PARAMETER_SIZE]) {
    char decoded[PARAMETER_SIZE];
    while (*pattern == '/' && *path == '/') {
        pattern++, path++;
        const char *pattern_end = segment_end(pattern), *path_end = segment_end(path);
        size_t length = (size_t)(pattern_end - pattern);
        if (*pattern == '{') {
            if (path == path_end || !text_decode(path, path_end, parameter, PARAMETER_SIZE))
                return false;
        } else if ((length != (size_t)(path_end - path) || memcmp(pattern, path, length) != 0) &&
                   (!text_decode(path, path_end, decoded, sizeof decoded) ||
                    strlen(decoded) != length || memcmp(pattern, decoded, length) != 0)) {
            return false;
        }
        pattern = pattern_end, path = path_end;
    }
    return *pattern == '\0' && *path == '\0';
}

static void add_method(char allow[ALLOW_SIZE], const char *method) {
    size_t length = strlen(allow);
    snprintf(allow + length, ALLOW_SIZE - length, "%s%s%s", length > 0 ? ", " : "", method,
             strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

const struct route *route_find(const char *method, const char *path, char parameter[PARAMETER_SIZE],
                               char allow[ALLOW_SIZE]) {
    const char *like = strcmp(method, "HEAD") == 0 ? "GET" : method;
    const char *literal = NULL; /* the pattern that owns the path: /v1/dlq/replay is no id */
    allow[0] = '\0';
    parameter[0] = '\0';
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct route *route = &routes[i];
        if ((literal != NULL && strcmp(route->pattern, literal) != 0) ||
            !matches(route->pattern, path, parameter))
            continue;
        if (strcmp(route->method, like) == 0)
            return route;
        literal = route->pattern;
        add_method(allow, route->method);
    }
    return NULL;
}
