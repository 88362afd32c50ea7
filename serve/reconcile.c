/* Makes the store agree with the destinations of the configuration: what is new is created, what differs updated, and what is gone from the file
 * removed, unless it still has deliveries: then it stays, as if it had been made by HTTP. One change after the other. */
#include "alerts.h"
#include "daemon.h"
#include "log.h"
#include "net/sign.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reconciling {
    struct worker *worker;
    struct config_version *config; /* the one being applied */
    void (*done)(struct worker *worker);
    uint32_t next; /* destination of the file; then the alerts' */
    char after[DESTINATION_NAME_LONGEST +
               1]; /* the last destination of the registry that was looked at */
    bool removing;
    struct change change;
    struct destination_settings settings;
    struct destination *looked_at;
    char *json;
    char *secret;
};

static void step(struct reconciling *state);

static void log_failure(const struct reconciling *state) {
    log_event(LOG_ERROR, "destination_not_applied", "destination=%s result=%d",
              state->change.row.name, state->change.result);
}

static void forget_change(struct reconciling *state) {
    free(state->json);
    free(state->secret);
    destination_release(state->looked_at);
    state->json = state->secret = NULL;
    state->looked_at = NULL;
}

static void changed(struct change *change) {
    struct reconciling *state = change->owner;
    if (change->result != LULL_OK)
        log_failure(state);
    forget_change(state);
    step(state);
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* Both were zeroed before they were read, padding and all. */
static bool same_guard(const struct destination_settings *a, const struct destination_settings *b) {
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    return memcmp(&a->guard, &b->guard, sizeof a->guard) == 0;
}

/* What signs from now on, malloc'd; "": nothing does. Where the file names none, the one that there is stays, and who has none gets one. */
static char *secret_for(const struct destination_settings *settings, const struct destination *is) {
    char made[SECRET_TEXT_SIZE];
    if (settings->has_secret)
        return strdup(settings->secret);
    if (is != NULL && is->row.secret != NULL)
        return strdup(is->row.secret);
    return secret_generate(made) == LULL_OK ? strdup(made) : NULL;
}

/* True: a change is on its way. */
static bool apply_one(struct reconciling *state, const struct destination_settings *settings) {
    struct worker *worker = state->worker;
    struct destination *is = registry_find(worker->service->registry, settings->name);
    state->settings = *settings;
    state->json = settings_json(settings);
    state->secret = secret_for(settings, is);
    state->looked_at = is;
    if (state->json == NULL || state->secret == NULL)
        log_event(LOG_ERROR, "out_of_memory", "destination=%s", settings->name);
    if (state->json == NULL || state->secret == NULL ||
        (is != NULL && is->row.from_config && same_text(is->row.settings, state->json) &&
         same_text(is->row.secret, state->secret) && same_guard(&is->settings, settings))) {
        forget_change(state);
        return false;
    }
    state->change = (struct change){
        .kind = is != NULL ? CHANGE_UPDATE : CHANGE_CREATE,
        .settings = &state->settings,
        .done = changed,
        .owner = state,
    };
    if (is != NULL)
        state->change.row = is->row;
    snprintf(state->change.row.name, sizeof state->change.row.name, "%s", settings->name);
    state->change.row.from_config = true;
    state->change.row.settings = state->json;
    state->change.row.secret = state->secret[0] != '\0' ? state->secret : NULL;
    if (is == NULL || !same_text(is->row.secret, state->secret))
        state->change.row.previous_secret = NULL;
    if (is != NULL)
        state->change.row.state = destination_state(is);
    else
        state->change.row.created = worker->now;
    service_change(worker, &state->change);
    return true;
}

static void kept(struct change *change) {
    struct reconciling *state = change->owner;
    forget_change(state);
    step(state);
}

static void removed(struct change *change) {
    struct reconciling *state = change->owner;
    if (change->result == STORE_NOT_EMPTY) {
        log_event(LOG_WARN, "destination_kept",
                  "destination=%s pending=%llu dead=%llu detail=\"gone from the configuration, but "
                  "not empty; lull dest rm --force removes it\"",
                  change->row.name, (unsigned long long)change->pending,
                  (unsigned long long)change->dead);
        state->change.kind = CHANGE_UPDATE;
        state->change.row = state->looked_at->row;
        state->change.row.state = destination_state(state->looked_at);
        state->change.row.from_config = false;
        state->change.settings = &state->looked_at->settings;
        state->change.done = kept;
        service_change(state->worker, &state->change);
        return;
    }
    changed(change);
}

/* One that was made by HTTP may name a policy of the file, and that may have changed. True: a change is on its way. */
static bool take_up_policy(struct reconciling *state, struct destination *found) {
    struct reader_error error;
    char quoted[LOG_QUOTED_SIZE];
    if (destination_settings_read(&state->config->config, found->row.settings,
                                  strlen(found->row.settings), &state->settings,
                                  &error) != LULL_OK) {
        log_event(LOG_WARN, "settings_kept", "destination=%s key=%s detail=%s", found->row.name,
                  error.key, log_quote(error.message, quoted));
        return false;
    }
    if (same_guard(&found->settings, &state->settings))
        return false;
    state->change = (struct change){
        .kind = CHANGE_UPDATE,
        .row = found->row,
        .settings = &state->settings,
        .base = found,
        .done = changed,
        .owner = state,
    };
    state->change.row.state = destination_state(found);
    service_change(state->worker, &state->change);
    return true;
}

/* What is no longer in the file, and what was never in it. True: a change is on its way. False: there is nothing left to look at. */
static bool look_at_next(struct reconciling *state) {
    struct registry *registry = state->worker->service->registry;
    struct destination_settings alerts;
    struct destination *found;
    while (registry_list(registry, state->after[0] != '\0' ? state->after : NULL, &found, 1) == 1) {
        memcpy(state->after, found->row.name, sizeof state->after);
        state->looked_at = found;
        if (!found->row.from_config) {
            if (take_up_policy(state, found))
                return true;
        } else if (settings_find(&state->config->config, found->row.name, &alerts) == NULL) {
            state->change = (struct change){.kind = CHANGE_REMOVE,
                                            .row = found->row,
                                            .force = strcmp(found->row.name, ALERTS_DESTINATION) ==
                                                     0, /* old news */
                                            .done = removed,
                                            .owner = state};
            service_change(state->worker, &state->change);
            return true;
        }
        forget_change(state);
    }
    return false;
}

static void step(struct reconciling *state) {
    const struct serve_config *config = &state->config->config;
    struct destination_settings alerts;
    while (state->next < config->destination_count)
        if (apply_one(state, &config->destinations[state->next++]))
            return;
    if (state->next == config->destination_count) {
        state->next++;
        const struct destination_settings *webhook =
            settings_find(config, ALERTS_DESTINATION, &alerts);
        if (webhook != NULL && apply_one(state, webhook))
            return;
    }
    if (look_at_next(state))
        return;
    void (*done)(struct worker *) = state->done;
    struct worker *worker = state->worker;
    config_release(state->config);
    free(state);
    done(worker);
}

void reconcile(struct worker *worker, void (*done)(struct worker *worker)) {
    struct reconciling *state = calloc(1, sizeof *state);
    if (state == NULL) {
        log_event(LOG_ERROR, "out_of_memory", "detail=\"destinations not applied\"");
        done(worker);
        return;
    }
    state->worker = worker;
    state->config = config_share(worker->config);
    state->done = done;
    step(state);
}
