/* Changes to destinations: from the request to a `struct change`, and from its end to the answer. */
#include "api/body.h"
#include "api/destination_view.h"
#include "api/handlers.h"
#include "api/reply.h"
#include "net/sign.h"

#include <stdlib.h>
#include <string.h>

#define PREVIOUS_SECRET_VALID LULL_DAY

enum shape { SHAPE_CREATED, SHAPE_SHOWN, SHAPE_ROTATED, SHAPE_REMOVED };

struct asked {
    struct change change;
    struct worker *worker;
    struct exchange *exchange;
    enum shape shape;
    struct destination *current; /* one reference; NULL: being created */
    struct destination_settings settings;
    char secret[sizeof((struct destination_settings *)0)->secret];
    char *text; /* the settings, as they are stored */
};

static void asked_destroy(struct asked *asked) {
    if (asked == NULL)
        return;
    destination_release(asked->current);
    free(asked->text);
    free(asked);
}

/* ---- the answer ---- */

static void show(struct asked *asked) {
    struct destination *destination =
        registry_find(service_registry(asked->worker), asked->change.row.name);
    if (destination == NULL) { /* somebody else has just removed it */
        reply_unknown_destination(asked->exchange, asked->change.row.name);
        return;
    }
    json_t *view = destination_view(asked->worker, destination);
    destination_release(destination);
    if (asked->shape == SHAPE_SHOWN) {
        reply_json(asked->exchange, 200, view);
        return;
    }
    char location[32 + DESTINATION_NAME_LONGEST];
    snprintf(location, sizeof location, "/v1/destinations/%s", asked->change.row.name);
    if (view != NULL)
        json_put(&view, "secret", json_text(asked->change.row.secret));
    reply_json_field(asked->exchange, 201, view, "Location", location);
}

static void show_secret(struct asked *asked) {
    const struct destination_row *row = &asked->change.row;
    json_t *view = json_object();
    json_put(&view, "secret", json_text(row->secret));
    json_put(&view, "previous_valid_until",
             json_time(row->previous_secret != NULL ? row->previous_until : 0));
    reply_json(asked->exchange, 200, view);
}

static void refuse(struct asked *asked) {
    const struct change *change = &asked->change;
    switch (change->result) {
    case STORE_EXISTS:
        reply_problem(asked->exchange, 409, "destination_exists",
                      "there is a destination %s already; PATCH /v1/destinations/%s changes it",
                      change->row.name, change->row.name);
        break;
    case STORE_ABSENT:
        reply_unknown_destination(asked->exchange, change->row.name);
        break;
    case CHANGE_CONFLICT:
        reply_problem(asked->exchange, 409, "conflict",
                      "%s was changed by somebody else at the same time; look at it, and try again",
                      change->row.name);
        break;
    case STORE_NOT_EMPTY:
        reply_problem(asked->exchange, 409, "not_empty",
                      "%s still has %llu pending and %llu dead deliveries; ?force=true drops them",
                      change->row.name, (unsigned long long)change->pending,
                      (unsigned long long)change->dead);
        break;
    default:
        reply_failed(asked->exchange, change->result);
    }
}

static void changed(struct change *change) {
    struct asked *asked = change->owner;
    if (change->result != LULL_OK)
        refuse(asked);
    else if (asked->shape == SHAPE_REMOVED)
        reply_nothing(asked->exchange);
    else if (asked->shape == SHAPE_ROTATED)
        show_secret(asked);
    else
        show(asked);
    asked_destroy(asked);
}

/* ---- the request ---- */

/* `current` is taken. NULL: answered. */
static struct asked *ask(struct call *call, enum change_kind kind, enum shape shape,
                         struct destination *current) {
    struct asked *asked = calloc(1, sizeof *asked);
    if (asked == NULL) {
        destination_release(current);
        reply_no_memory(call->exchange);
        return NULL;
    }
    asked->worker = call->worker;
    asked->exchange = call->exchange;
    asked->shape = shape;
    asked->current = current;
    asked->change = (struct change){.kind = kind, .done = changed, .owner = asked};
    if (current != NULL) {
        asked->change.row = current->row;
        asked->change.row.state = destination_state(current);
        asked->settings = current->settings;
    }
    asked->change.settings = &asked->settings;
    asked->change.base = kind == CHANGE_UPDATE ? current : NULL;
    return asked;
}

/* Keeps the settings as text; a secret has its own place. `given` is taken. False: answered. */
static bool keep_settings(struct asked *asked, json_t *given) {
    struct reader_error error;
    /* Not json_line: the settings are read as YAML, which likes blanks after ':' and ','. */
    char *text = given != NULL ? json_dumps(given, JSON_REAL_PRECISION(15)) : NULL;
    bool fine = false;
    if (text == NULL) {
        reply_no_memory(asked->exchange);
    } else if (destination_settings_read(service_config(asked->worker), text, strlen(text),
                                         &asked->settings, &error) != LULL_OK) {
        reply_problem(asked->exchange, 400, "bad_settings", "%s%s%s", error.key,
                      error.key[0] != '\0' ? ": " : "", error.message);
    } else {
        json_object_del(given, "secret");
        asked->text = json_line(given);
        asked->change.row.settings = asked->text;
        fine = asked->text != NULL;
        if (!fine)
            reply_no_memory(asked->exchange);
    }
    free(text);
    json_decref(given);
    return fine;
}

/* The one given, or none, or a new one. False: answered. */
static bool choose_secret(struct asked *asked) {
    if (asked->settings.has_secret)
        memcpy(asked->secret, asked->settings.secret, sizeof asked->secret);
    else if (secret_generate(asked->secret) != LULL_OK) {
        reply_problem(asked->exchange, 503, "no_random_numbers",
                      "the system has no random numbers for a secret; try again, or give one");
        return false;
    }
    asked->change.row.secret = asked->secret[0] != '\0' ? asked->secret : NULL;
    return true;
}

/* For a day the old secret signs, too. */
static void keep_previous(struct asked *asked) {
    struct destination_row *row = &asked->change.row;
    const struct destination_row *old = &asked->current->row;
    bool both = row->secret != NULL && old->secret != NULL;
    row->previous_secret = both ? old->secret : NULL;
    row->previous_until = both ? service_now(asked->worker) + PREVIOUS_SECRET_VALID : 0;
}

void destinations_create(struct call *call) {
    json_t *body = body_object(call->exchange);
    if (body == NULL)
        return;
    json_t *given = json_object();
    if (given != NULL && !body_merge(given, body)) {
        json_decref(given);
        given = NULL;
    }
    json_decref(body);
    struct asked *asked = ask(call, CHANGE_CREATE, SHAPE_CREATED, NULL);
    if (asked == NULL) {
        json_decref(given);
        return;
    }
    if (!keep_settings(asked, given) || !choose_secret(asked)) {
        asked_destroy(asked);
        return;
    }
    asked->change.row.created = service_now(call->worker);
    memcpy(asked->change.row.name, asked->settings.name, sizeof asked->change.row.name);
    service_change(call->worker, &asked->change);
}

/* The destination of the path, if it may be changed here: one reference. NULL: answered. A secret that is not in the file is ours to
 * change. */
static struct destination *changeable(struct call *call, bool secret_only) {
    struct destination *destination = destination_named(call);
    if (destination == NULL ||
        (!destination->row.from_config && !destination_is_internal(destination)) ||
        (secret_only && !destination->settings.has_secret && !destination_is_internal(destination)))
        return destination;
    reply_problem(call->exchange, 409, "from_config",
                  "%s comes from the configuration file; change it there, and reload",
                  destination->row.name);
    destination_release(destination);
    return NULL;
}

static const char *wrong_with(const struct destination *current, json_t *body) {
    json_t *name = json_object_get(body, "name");
    if (name != NULL &&
        (!json_is_string(name) || strcmp(json_string_value(name), current->row.name) != 0))
        return "name: a destination cannot be renamed; create another and remove this one";
    if (json_is_null(json_object_get(body, "secret")))
        return "secret: there is no way back to none; \"\" means that requests are not signed, and "
               "…/rotate-secret makes a new one";
    return NULL;
}

void destinations_update(struct call *call) {
    struct destination *current = changeable(call, false);
    json_t *body = current != NULL ? body_object(call->exchange) : NULL;
    if (body == NULL) {
        destination_release(current);
        return;
    }
    const char *wrong = wrong_with(current, body);
    struct asked *asked = NULL;
    if (wrong != NULL) {
        reply_problem(call->exchange, 400, "bad_settings", "%s", wrong);
        destination_release(current);
    } else {
        asked = ask(call, CHANGE_UPDATE, SHAPE_SHOWN, current);
    }
    json_t *given = asked != NULL ? destination_given(asked->current) : NULL;
    if (given != NULL && !body_merge(given, body)) {
        json_decref(given);
        given = NULL;
    }
    json_decref(body);
    if (asked == NULL)
        return;
    if (!keep_settings(asked, given)) {
        asked_destroy(asked);
        return;
    }
    if (asked->settings.has_secret &&
        strcmp(asked->settings.secret, current->row.secret != NULL ? current->row.secret : "") !=
            0) {
        memcpy(asked->secret, asked->settings.secret, sizeof asked->secret);
        asked->change.row.secret = asked->secret[0] != '\0' ? asked->secret : NULL;
        keep_previous(asked);
    }
    service_change(call->worker, &asked->change);
}

void destinations_rotate(struct call *call) {
    struct destination *current = changeable(call, true);
    struct asked *asked = current != NULL ? ask(call, CHANGE_UPDATE, SHAPE_ROTATED, current) : NULL;
    if (asked == NULL)
        return;
    asked->settings.has_secret = false;
    if (!choose_secret(asked)) {
        asked_destroy(asked);
        return;
    }
    keep_previous(asked);
    service_change(call->worker, &asked->change);
}

void destinations_remove(struct call *call) {
    const char *force = exchange_query(call->exchange, "force");
    if (force != NULL && strcmp(force, "true") != 0 && strcmp(force, "false") != 0) {
        reply_problem(call->exchange, 400, "bad_force", "force must be true or false");
        return;
    }
    struct destination *current = changeable(call, false);
    struct asked *asked = current != NULL ? ask(call, CHANGE_REMOVE, SHAPE_REMOVED, current) : NULL;
    if (asked == NULL)
        return;
    asked->change.force = force != NULL && strcmp(force, "true") == 0;
    service_change(call->worker, &asked->change);
}

static void set_state(struct call *call, struct destination *current,
                      enum destination_state state) {
    struct asked *asked = ask(call, CHANGE_STATE, SHAPE_SHOWN, current);
    if (asked == NULL)
        return;
    asked->change.row.state = state;
    service_change(call->worker, &asked->change);
}

void destinations_pause(struct call *call) {
    struct destination *current = destination_named(call);
    if (current == NULL)
        return;
    if (destination_state(current) != DESTINATION_DISABLED) {
        set_state(call, current, DESTINATION_PAUSED);
        return;
    }
    /* Paused it would take events again. */
    reply_problem(call->exchange, 409, "destination_disabled",
                  "%s is disabled, since it answered 410; resume it first", current->row.name);
    destination_release(current);
}

void destinations_resume(struct call *call) {
    struct destination *current = destination_named(call);
    if (current != NULL)
        set_state(call, current, DESTINATION_ACTIVE);
}
