#include "settings.h"

#include "alerts.h"
#include "log.h"

#include <jansson.h>
#include <lull/preset.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1500ms": what a duration is written as, whatever it is. */
static json_t *duration_json(lull_duration duration) {
    char text[40];
    if (duration % LULL_SECOND == 0)
        snprintf(text, sizeof text, "%llds", (long long)(duration / LULL_SECOND));
    else
        snprintf(text, sizeof text, "%lldms", (long long)(duration / LULL_MILLISECOND));
    return json_string(text);
}

/* Per second, minute or hour: whichever it was written in, for tokens are whole. */
static json_t *rate_json(const struct lull_bucket_config *bucket) {
    char text[40], unit = 's';
    if (bucket->per == LULL_MINUTE)
        unit = 'm';
    else if (bucket->per == LULL_HOUR)
        unit = 'h';
    snprintf(text, sizeof text, "%lld/%c", (long long)bucket->rate, unit);
    return json_string(text);
}

static void put_guard(json_t *json, const struct lull_guard_config *guard) {
    const struct lull_retry_config *retry = &guard->retry;
    if (retry->attempts > 0)
        json_object_set_new(json, "attempts", json_integer(retry->attempts));
    if (retry->backoff.base > 0)
        json_object_set_new(json, "base", duration_json(retry->backoff.base));
    if (retry->backoff.cap > 0)
        json_object_set_new(json, "cap", duration_json(retry->backoff.cap));
    if (retry->backoff.multiplier > 0)
        json_object_set_new(json, "multiplier", json_real(retry->backoff.multiplier));
    if (retry->deadline > 0)
        json_object_set_new(json, "deadline", duration_json(retry->deadline));
    if (retry->attempt_timeout > 0)
        json_object_set_new(json, "timeout", duration_json(retry->attempt_timeout));
    if (guard->connect_timeout > 0)
        json_object_set_new(json, "connect_timeout", duration_json(guard->connect_timeout));
    if (guard->bulkhead.limit > 0)
        json_object_set_new(json, "concurrency", json_integer(guard->bulkhead.limit));
    if (!(guard->without & LULL_WITHOUT_BUCKET) && guard->bucket.rate > 0)
        json_object_set_new(json, "rate", rate_json(&guard->bucket));
    if (guard->without & LULL_WITHOUT_BREAKER)
        json_object_set_new(json, "breaker", json_string("none"));
    if (guard->without & LULL_WITHOUT_BUDGET)
        json_object_set_new(json, "budget", json_string("none"));
}

char *settings_json(const struct destination_settings *settings) {
    json_t *json = json_object(), *types = json_array(), *headers = json_object();
    for (uint32_t i = 0; i < settings->type_count; i++)
        json_array_append_new(types, json_string(settings->types[i].pattern));
    for (uint32_t i = 0; i < settings->header_count; i++)
        json_object_set_new(headers, settings->headers[i].name,
                            json_string(settings->headers[i].value));
    json_object_set_new(json, "name", json_string(settings->name));
    json_object_set_new(json, "url", json_string(settings->url));
    if (settings->type_count > 0)
        json_object_set(json, "types", types);
    if (settings->header_count > 0)
        json_object_set(json, "headers", headers);
    if (settings->policy[0] != '\0')
        json_object_set_new(json, "policy", json_string(settings->policy));
    put_guard(json, &settings->guard);
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(types);
    json_decref(headers);
    json_decref(json);
    return text;
}

/* The webhook of the alerts, with the default policy. */
static bool alerts_settings(const struct serve_config *config,
                            struct destination_settings *settings) {
    char text[DESTINATION_URL_SIZE + 100];
    struct reader_error error;
    if (config->alerts.url[0] == '\0')
        return false;
    json_t *json = json_pack("{s:s, s:s}", "name", "alerts", "url", config->alerts.url);
    size_t length = json_dumpb(json, text, sizeof text, JSON_COMPACT);
    json_decref(json);
    if (length > sizeof text ||
        destination_settings_read(config, text, length, settings, &error) != LULL_OK)
        return false;
    snprintf(settings->name, sizeof settings->name, "%s", ALERTS_DESTINATION);
    snprintf(settings->secret, sizeof settings->secret, "%s", config->alerts.secret);
    settings->has_secret = true; /* without one they are not signed */
    return true;
}

const struct destination_settings *settings_find(const struct serve_config *config,
                                                 const char *name,
                                                 struct destination_settings *alerts) {
    for (uint32_t i = 0; i < config->destination_count; i++)
        if (strcmp(config->destinations[i].name, name) == 0)
            return &config->destinations[i];
    if (strcmp(name, ALERTS_DESTINATION) == 0 && alerts_settings(config, alerts))
        return alerts;
    return NULL;
}

/* Its kept settings without the policy. */
static int read_without_policy(const struct serve_config *config, const char *text,
                               struct destination_settings *settings, struct reader_error *error) {
    json_t *json = json_loads(text, 0, NULL);
    json_object_del(json, "policy");
    char *rest = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    int result = LULL_EINVAL;
    if (rest != NULL)
        result = destination_settings_read(config, rest, strlen(rest), settings, error);
    free(rest);
    json_decref(json);
    return result;
}

bool settings_of_row(const struct serve_config *config, const struct destination_row *row,
                     struct destination_settings *settings) {
    struct destination_settings alerts;
    const struct destination_settings *found = settings_find(config, row->name, &alerts);
    struct reader_error error;
    if (found != NULL) {
        *settings = *found;
        return true;
    }
    if (destination_settings_read(config, row->settings, strlen(row->settings), settings, &error) ==
        LULL_OK)
        return true;
    char quoted[LOG_QUOTED_SIZE];
    log_event(LOG_ERROR, "settings_unreadable", "destination=%s key=%s detail=%s", row->name,
              error.key, log_quote(error.message, quoted));
    if (read_without_policy(config, row->settings, settings, &error) == LULL_OK)
        return true;
    *settings = (struct destination_settings){.guard = *lull_preset(DESTINATION_POLICY)};
    snprintf(settings->name, sizeof settings->name, "%s", row->name);
    return false;
}
