#include "api/body.h"

#include "api/reply.h"

json_t *body_object(struct exchange *exchange) {
    json_error_t error;
    size_t length = 0;
    const char *body = exchange_body(exchange, &length);
    if (length == 0) {
        reply_problem(exchange, 400, "bad_json", "the body is empty; it must be a JSON object");
        return NULL;
    }
    json_t *value = json_loadb(body, length, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(value))
        return value;
    if (value != NULL)
        reply_problem(exchange, 400, "bad_json", "the body must be a JSON object");
    else if (json_error_code(&error) == json_error_out_of_memory)
        reply_no_memory(exchange);
    else
        reply_problem(exchange, 400, "bad_json", "the body is not JSON: line %d, column %d: %s",
                      error.line, error.column, error.text);
    json_decref(value);
    return NULL;
}

/* How deep it goes is bounded by jansson: 2048. NOLINTBEGIN(misc-no-recursion) */
static bool merge_member(json_t *target, const char *name, json_t *value) {
    if (json_is_null(value)) {
        json_object_del(target, name);
        return true;
    }
    if (!json_is_object(value))
        return json_object_set(target, name, value) == 0;
    json_t *inner = json_object_get(target, name);
    if (!json_is_object(inner)) {
        inner = json_object();
        if (json_object_set_new(target, name, inner) != 0)
            return false;
    }
    return body_merge(inner, value);
}

bool body_merge(json_t *target, json_t *patch) {
    const char *name;
    json_t *value;
    json_object_foreach(patch, name, value) {
        if (!merge_member(target, name, value))
            return false;
    }
    return true;
}
/* NOLINTEND(misc-no-recursion) */
