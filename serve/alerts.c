/* What the engine tells goes to the log, to the metrics, and, where the operator has asked for it, to a webhook: through the same engine, as
 * deliveries to the internal destination _alerts. Of dead letters one is told at once and then one a minute, with how many there were. */
#include "alerts.h"

#include "api/json.h"
#include "daemon.h"
#include "engine/id.h"
#include "log.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DEAD_LETTERS_EVERY LULL_MINUTE

struct alert {
    enum alert_kind kind;
    enum log_level level;
    const char *event;
    const char *destination;
    char detail[300];
    int64_t count; /* 0: not told */
    int64_t delivery;
};

/* ---- the webhook ---- */

struct posting {
    struct store_accept accept;
    struct accept_event event;
    struct accept_delivery delivery;
};

static void posted(struct store_request *request) {
    struct posting *posting = request->owner;
    if (request->result != LULL_OK)
        log_event(LOG_ERROR, "alert_lost", "detail=\"the store did not take it\"");
    message_release(posting->event.message);
    free(posting);
}

static char *alert_json(const struct alert *alert, lull_time now) {
    char at[LOG_TIME_SIZE];
    /* What a destination has said need not be UTF-8, and may be cut within a character. */
    json_t *json = json_pack("{s:s, s:s, s:s, s:o}", "alert", alert->event, "destination",
                             alert->destination, "at", log_time(now, at), "detail",
                             json_bytes(alert->detail, strlen(alert->detail)));
    if (json != NULL && alert->count > 0)
        json_object_set_new(json, "count", json_integer(alert->count));
    if (json != NULL && alert->delivery != 0) {
        char id[ID_TEXT_SIZE];
        id_format(ID_DELIVERY, alert->delivery, id);
        json_object_set_new(json, "delivery", json_string(id));
    }
    char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

static void post(struct worker *worker, const struct alert *alert) {
    struct destination *target = registry_find(worker->service->registry, ALERTS_DESTINATION);
    struct posting *posting = target != NULL ? calloc(1, sizeof *posting) : NULL;
    char *text = posting != NULL ? alert_json(alert, worker->now) : NULL;
    if (text == NULL) {
        free(posting);
        destination_release(target);
        return;
    }
    posting->event.message = message_new(&(struct message_parts){
        .type = "lull.alert",
        .type_length = strlen("lull.alert"),
        .content_type = "application/json",
        .content_type_length = strlen("application/json"),
        .payload = text,
        .payload_length = strlen(text),
    });
    free(text);
    posting->event.count = 1;
    posting->delivery.destination = target->row.id;
    destination_release(target);
    posting->accept = (struct store_accept){
        .request = {.kind = STORE_ACCEPT, .done = posted, .owner = posting},
        .events = &posting->event,
        .deliveries = &posting->delivery,
        .event_count = 1,
        .delivery_count = 1,
    };
    if (posting->event.message == NULL)
        free(posting);
    else
        worker->store.port.submit(&worker->store.port, &posting->accept.request);
}

static int bit_of(enum alert_kind kind) {
    return __builtin_ctz((unsigned)kind);
}

static void raise_alert(struct worker *worker, const struct alert *alert) {
    const struct serve_config *config = &worker->config->config;
    char detail[LOG_QUOTED_SIZE], count[40] = "";
    if (alert->count > 0)
        snprintf(count, sizeof count, " count=%lld", (long long)alert->count);
    log_event(alert->level, alert->event, "destination=%s%s detail=%s", alert->destination, count,
              log_quote(alert->detail, detail));
    atomic_fetch_add(&worker->service->alerts[bit_of(alert->kind)], 1);
    /* Of the webhook itself only the log tells: an alert about alerts would not arrive. */
    if (config->alerts.url[0] != '\0' && (config->alerts.events & alert->kind) != 0 &&
        strcmp(alert->destination, ALERTS_DESTINATION) != 0)
        post(worker, alert);
}

/* ---- dead letters, not one by one ---- */

static void tell_dead(struct worker *worker, struct slot *slot, const char *detail,
                      int64_t delivery) {
    struct alert alert = {
        .kind = ALERT_DEAD_LETTER,
        .level = LOG_WARN,
        .event = "dead_letter",
        .destination = slot->lane->name,
        .count = (int64_t)slot->untold,
        .delivery = delivery,
    };
    snprintf(alert.detail, sizeof alert.detail, "%s", detail);
    slot->told = worker->now;
    slot->untold = 0;
    raise_alert(worker, &alert);
}

static void dead_letter(struct worker *worker, const struct news *news) {
    struct slot *slot = &worker->slots[news->lane->destination];
    char detail[300];
    slot->untold++;
    if (worker->now < slot->told + DEAD_LETTERS_EVERY)
        return;
    snprintf(detail, sizeof detail, "%s%s%s", lull_reason_text(news->reason),
             news->error[0] != '\0' ? "; last: " : "", news->error);
    tell_dead(worker, slot, detail, news->id);
}

void alerts_chores(struct worker *worker) {
    for (int64_t i = 0; i < worker->slot_room; i++) {
        struct slot *slot = &worker->slots[i];
        if (slot->lane != NULL && slot->untold > 0 &&
            worker->now >= slot->told + DEAD_LETTERS_EVERY)
            tell_dead(worker, slot, "more dead letters in the last minute", 0);
    }
}

/* ---- the rest ---- */

void alerts_tell(void *context, const struct news *news) {
    struct worker *worker = context;
    const char *name = news->lane->name;
    char at[LOG_TIME_SIZE];
    struct alert alert = {.level = LOG_WARN, .destination = name};
    switch (news->kind) {
    case NEWS_DEAD_LETTER:
        dead_letter(worker, news);
        return;
    case NEWS_BREAKER_OPENED:
        alert.kind = ALERT_BREAKER;
        alert.event = "breaker_opened";
        snprintf(alert.detail, sizeof alert.detail, "no attempts before %s",
                 log_time(news->at, at));
        break;
    case NEWS_BREAKER_CLOSED:
        alert.kind = ALERT_BREAKER;
        alert.level = LOG_INFO;
        alert.event = "breaker_closed";
        snprintf(alert.detail, sizeof alert.detail, "it answers again");
        break;
    case NEWS_STORM_BEGAN:
    case NEWS_STORM_NEAR:
        alert.kind = ALERT_STORM;
        alert.event = news->kind == NEWS_STORM_BEGAN ? "storm_began" : "storm_near";
        snprintf(alert.detail, sizeof alert.detail, "%.1f retries for each first attempt",
                 news->ratio);
        break;
    case NEWS_STORM_ENDED:
        alert.kind = ALERT_STORM;
        alert.level = LOG_INFO;
        alert.event = "storm_ended";
        snprintf(alert.detail, sizeof alert.detail, "%.1f retries for each first attempt",
                 news->ratio);
        break;
    case NEWS_DISABLED:
        alert.kind = ALERT_DISABLED;
        alert.event = "destination_disabled";
        snprintf(alert.detail, sizeof alert.detail,
                 "it answered 410; events are refused until it is resumed");
        break;
    case NEWS_BLOCKED:
        log_event(LOG_INFO, "lane_waits", "destination=%s until=%s", name, log_time(news->at, at));
        return;
    case NEWS_RECOVERED:
        log_event(LOG_INFO, "lane_recovered", "destination=%s", name);
        return;
    case NEWS_REPLAY_STOPPED:
    case NEWS_REPLAY_DONE: {
        char id[ID_TEXT_SIZE];
        bool done = news->kind == NEWS_REPLAY_DONE;
        id_format(ID_REPLAY, news->id, id);
        log_event(done ? LOG_INFO : LOG_WARN, done ? "replay_done" : "replay_stopped",
                  "destination=%s replay=%s", name, id);
        return;
    }
    }
    raise_alert(worker, &alert);
}
