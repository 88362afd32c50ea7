#include "api/destination_view.h"

#include "api/reply.h"
#include "net/url.h"

#include <string.h>

void reply_unknown_destination(struct exchange *exchange, const char *name) {
    reply_problem(exchange, 404, "unknown_destination",
                  "there is no destination %.100s; GET /v1/destinations lists those there are",
                  name);
}

struct destination *destination_named(struct call *call) {
    struct destination *destination =
        registry_find(service_registry(call->worker), call->parameter);
    if (destination == NULL)
        reply_unknown_destination(call->exchange, call->parameter);
    return destination;
}

const char *circuit_name(enum lull_breaker_state state) {
    switch (state) {
    case LULL_BREAKER_OPEN:
    case LULL_BREAKER_FORCED_OPEN:
        return "open";
    case LULL_BREAKER_HALF_OPEN:
        return "half_open";
    default:
        return "closed";
    }
}

static json_t *types_of(const struct destination_settings *settings) {
    json_t *types = json_array();
    for (uint32_t i = 0; i < settings->type_count; i++)
        json_add(&types, json_text(settings->types[i].pattern));
    return types;
}

/* Where the settings came from the configuration file, the store has no text of them; the main ones are known all the same. */
static void add_missing(json_t **given, const struct destination_settings *settings) {
    if (json_object_get(*given, "url") == NULL)
        json_put(given, "url", json_text(settings->url));
    if (json_object_get(*given, "types") == NULL && settings->type_count > 0)
        json_put(given, "types", types_of(settings));
    if (json_object_get(*given, "policy") == NULL && settings->policy[0] != '\0')
        json_put(given, "policy", json_text(settings->policy));
}

json_t *destination_given(const struct destination *destination) {
    const char *text = destination->row.settings;
    json_t *kept = text != NULL ? json_loads(text, 0, NULL) : NULL;
    json_t *given = json_object();
    /* The name first. */
    json_put(&given, "name", json_text(destination->row.name));
    if (given != NULL && json_is_object(kept) && json_object_update_missing(given, kept) != 0) {
        json_decref(given);
        given = NULL;
    }
    json_decref(kept);
    if (given != NULL)
        json_object_del(given, "secret");
    return given;
}

static int64_t at_least_zero(int64_t number) {
    return number > 0 ? number : 0;
}

static json_t *backlog_view(const struct lane_stats *stats) {
    json_t *backlog = json_object();
    json_put(&backlog, "fresh", json_integer(at_least_zero(atomic_load(&stats->pending[0]))));
    json_put(&backlog, "retry", json_integer(at_least_zero(atomic_load(&stats->pending[1]))));
    json_put(&backlog, "inflight", json_integer(atomic_load(&stats->inflight)));
    json_put(&backlog, "dead", json_integer(at_least_zero(atomic_load(&stats->dead))));
    return backlog;
}

static void add_lane(json_t **view, struct lane *lane, lull_time now) {
    const struct lane_stats *stats = &lane->stats;
    struct lull_guard_stats guard;
    lull_time blocked_until = atomic_load(&stats->blocked_until);
    bool blocked = blocked_until > now;
    lull_guard_snapshot(&lane->guard, &guard, now);
    json_put(view, "backlog", backlog_view(stats));
    json_put(view, "accepted", json_integer((json_int_t)atomic_load(&stats->accepted)));
    json_put(view, "delivered", json_integer((json_int_t)atomic_load(&stats->delivered)));
    json_put(view, "circuit", json_string(circuit_name(guard.breaker.state)));
    json_put(view, "window", json_integer(atomic_load(&stats->window)));
    json_put(view, "blocked_until",
             blocked && blocked_until != LULL_NEVER ? json_time(blocked_until) : json_null());
    json_put(view, "blocked_by",
             blocked
                 ? json_string(lull_policy_name((enum lull_policy)atomic_load(&stats->blocked_by)))
                 : json_null());
    json_put(view, "storm", json_boolean(atomic_load(&stats->storm) != 0));
}

/* What will not work, and can be known now. */
static void add_warning(json_t **view, struct worker *worker,
                        const struct destination_settings *settings) {
    const struct serve_config *config = service_config(worker);
    char text[URL_MESSAGE_SIZE];
    if (url_will_be_refused(settings->url, config->allow, config->allow_count, text, sizeof text))
        json_put(view, "warning", json_string(text));
}

json_t *destination_view(struct worker *worker, const struct destination *destination) {
    static const char *const states[] = {"active", "paused", "disabled"};
    json_t *view = destination_given(destination);
    if (view == NULL)
        return NULL;
    add_missing(&view, &destination->settings);
    json_put(&view, "state", json_string(states[destination_state(destination) % 3]));
    json_put(&view, "source", json_string(destination->row.from_config ? "config" : "api"));
    json_put(&view, "signed", json_boolean(destination->row.secret != NULL));
    json_put(&view, "created_at", json_time(destination->row.created));
    add_lane(&view, destination->lane, service_now(worker));
    add_warning(&view, worker, &destination->settings);
    return view;
}
