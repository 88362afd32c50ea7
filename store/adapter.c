#include "adapter.h"

#include <stdlib.h>

void destination_row_clean_up(struct destination_row *row) {
    free(row->settings);
    free(row->secret);
    free(row->previous_secret);
    row->settings = row->secret = row->previous_secret = NULL;
}

void store_destinations_clean_up(struct store_destinations *destinations) {
    for (uint32_t i = 0; i < destinations->count; i++)
        destination_row_clean_up(&destinations->rows[i]);
    free(destinations->rows);
    destinations->rows = NULL;
    destinations->count = 0;
}

void store_load_clean_up(struct store_load *load) {
    for (uint32_t i = 0; i < load->count; i++)
        message_release(load->rows[i].message);
    load->count = 0;
    load->more = false;
    load->next_due = LULL_NEVER;
}

static void free_records(struct delivery_record **records, uint32_t *count) {
    for (uint32_t i = 0; i < *count; i++) {
        struct delivery_record *record = &(*records)[i];
        for (uint32_t j = 0; j < record->trace_count; j++)
            free(record->trace[j].excerpt);
        free(record->trace);
    }
    free(*records);
    *records = NULL;
    *count = 0;
}

void store_get_clean_up(struct store_get *get) {
    message_release(get->message);
    get->message = NULL;
    free_records(&get->records, &get->count);
}

void store_list_clean_up(struct store_list *list) {
    free_records(&list->records, &list->count);
}

void store_replays_clean_up(struct store_replays *replays) {
    free(replays->rows);
    replays->rows = NULL;
    replays->count = 0;
}

static void fail_accept(struct store_accept *accept) {
    for (uint32_t i = 0; i < accept->event_count; i++) {
        struct accept_event *event = &accept->events[i];
        event->message->id = 0;
        event->message->accepted = 0;
        event->verdict = ACCEPT_NEW;
        event->id = 0;
    }
    for (uint32_t i = 0; i < accept->delivery_count; i++)
        accept->deliveries[i].place = (struct place){0};
}

static void fail_put(struct store_put *put) {
    if (put->created)
        put->row.id = 0;
    put->created = false;
}

static void fail_look(struct store_request *request) {
    switch (request->kind) {
    case STORE_DESTINATIONS:
        store_destinations_clean_up(STORE_AS(store_destinations, request));
        break;
    case STORE_GET:
        store_get_clean_up(STORE_AS(store_get, request));
        break;
    case STORE_LIST:
        store_list_clean_up(STORE_AS(store_list, request));
        STORE_AS(store_list, request)->next = (struct list_cursor){0};
        break;
    case STORE_REPLAYS:
        store_replays_clean_up(STORE_AS(store_replays, request));
        break;
    default:
        break;
    }
}

void store_request_fail(struct store_request *request, int result) {
    switch (request->kind) {
    case STORE_ACCEPT:
        fail_accept(STORE_AS(store_accept, request));
        break;
    case STORE_LOAD:
        store_load_clean_up(STORE_AS(store_load, request));
        break;
    case STORE_PUT:
        fail_put(STORE_AS(store_put, request));
        break;
    case STORE_DROP:
        STORE_AS(store_drop, request)->destination = 0;
        break;
    case STORE_REPLAY_START:
        STORE_AS(store_replay_start, request)->row.id = 0;
        break;
    case STORE_REPLAY_STEP:
        STORE_AS(store_replay_step, request)->moved = 0;
        STORE_AS(store_replay_step, request)->row = (struct replay_row){0};
        break;
    case STORE_REPLAY_END:
        STORE_AS(store_replay_end, request)->row = (struct replay_row){0};
        break;
    case STORE_TIDY:
        STORE_AS(store_tidy, request)->removed = 0;
        STORE_AS(store_tidy, request)->more = false;
        break;
    default:
        fail_look(request);
        break;
    }
    request->result = result;
}
