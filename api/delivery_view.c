#include "api/delivery_view.h"

#include "engine/id.h"

json_t *destination_name_json(struct worker *worker, int64_t id) {
    struct destination *destination = registry_find_id(service_registry(worker), id);
    json_t *name = destination != NULL ? json_text(destination->row.name) : json_null();
    destination_release(destination);
    return name;
}

json_t *id_json(int kind, int64_t id) {
    char text[ID_TEXT_SIZE];
    return json_string(id_format((enum id_kind)kind, id, text));
}

static json_t *state_json(enum delivery_state state) {
    static const char *const names[] = {"pending", "pending", "delivered", "dead"};
    return json_string(names[state % DELIVERY_STATE_COUNT]);
}

static json_t *reason_json(const struct delivery_record *record) {
    return record->state == DELIVERY_DEAD
               ? json_string(lull_reason_text((enum lull_reason)record->reason))
               : json_null();
}

static json_t *attempt_view(const struct attempt_record *attempt) {
    int64_t microseconds = attempt->took / LULL_MICROSECOND;
    json_t *view = json_object();
    json_put(&view, "number", json_integer(attempt->number));
    json_put(&view, "began_at", json_time(attempt->began));
    json_put(&view, "took_ms", json_real((double)microseconds / 1000));
    json_put(&view, "outcome", json_string(lull_class_name(attempt->class_)));
    json_put(&view, "status", json_some(attempt->status));
    json_put(&view, "error", json_text(attempt->error));
    json_put(&view, "excerpt",
             attempt->excerpt != NULL ? json_bytes(attempt->excerpt, attempt->excerpt_length)
                                      : json_null());
    return view;
}

json_t *trace_view(const struct delivery_record *record) {
    json_t *trace = json_array();
    for (uint32_t i = 0; i < record->trace_count; i++)
        json_add(&trace, attempt_view(&record->trace[i]));
    return trace;
}

json_t *delivery_of_event(struct worker *worker, const struct delivery_record *record) {
    json_t *view = json_object();
    json_put(&view, "id", id_json(ID_DELIVERY, record->id));
    json_put(&view, "destination", destination_name_json(worker, record->destination));
    json_put(&view, "state", state_json(record->state));
    json_put(&view, "attempts", json_integer(record->tries));
    json_put(&view, "at", json_time(record->at));
    json_put(&view, "reason", reason_json(record));
    json_put(&view, "trace", trace_view(record));
    return view;
}

static json_t *item(struct worker *worker, const struct delivery_record *record) {
    json_t *view = json_object();
    json_put(&view, "id", id_json(ID_DELIVERY, record->id));
    json_put(&view, "event", id_json(ID_EVENT, record->event));
    json_put(&view, "destination", destination_name_json(worker, record->destination));
    json_put(&view, "type", json_text(record->type));
    return view;
}

static void add_last(json_t **view, const struct delivery_record *record) {
    json_put(view, "error", json_text(record->error));
    json_put(view, "status", json_some(record->status));
}

json_t *delivery_item(struct worker *worker, const struct delivery_record *record) {
    json_t *view = item(worker, record);
    json_put(&view, "state", state_json(record->state));
    json_put(&view, "attempts", json_integer(record->tries));
    json_put(&view, "at", json_time(record->at));
    json_put(&view, "accepted_at", json_time(record->accepted));
    add_last(&view, record);
    return view;
}

json_t *dead_letter_item(struct worker *worker, const struct delivery_record *record) {
    json_t *view = item(worker, record);
    json_put(&view, "failures", json_integer(record->tries));
    json_put(&view, "first_failed_at", json_time(record->first_failed));
    json_put(&view, "last_failed_at", json_time(record->last_failed));
    json_put(&view, "died_at", json_time(record->at));
    json_put(&view, "reason", reason_json(record));
    add_last(&view, record);
    return view;
}
