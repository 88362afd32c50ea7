/* Accepted events on their way to the lanes.
 *
 * The store's thread sends them, for it alone knows their order: a lane relies on hearing of places in the order in which they were given
 * (engine/stream.c). */
#include "daemon.h"

#include <stdlib.h>

struct handed {
    int64_t destination;
    struct place place;
    struct message *message; /* one reference */
};

struct parcel {
    struct letter letter;
    struct worker *worker;
    uint32_t count;
    struct handed items[];
};

static void open_parcel(struct letter *letter) {
    struct parcel *parcel = (struct parcel *)letter;
    struct worker *worker = parcel->worker;
    for (uint32_t i = 0; i < parcel->count; i++) {
        struct handed *item = &parcel->items[i];
        struct lane *lane = worker_lane(worker, item->destination);
        if (lane != NULL)
            engine_accepted(&worker->engine, lane, item->message, item->place);
        message_release(item->message);
    }
    free(parcel);
}

static uint32_t count_for(const struct service *service, const struct store_request *finished,
                          uint32_t worker) {
    uint32_t count = 0;
    for (; finished != NULL; finished = finished->next) {
        const struct store_accept *accept = (const struct store_accept *)finished;
        if (finished->kind != STORE_ACCEPT || finished->result != LULL_OK)
            continue;
        for (uint32_t i = 0; i < accept->delivery_count; i++)
            count += accept->deliveries[i].place.id != 0 &&
                     (uint64_t)accept->deliveries[i].destination % service->worker_count == worker;
    }
    return count;
}

static void fill(struct parcel *parcel, const struct service *service,
                 const struct store_accept *accept) {
    for (uint32_t i = 0; i < accept->event_count; i++) {
        const struct accept_event *event = &accept->events[i];
        for (uint32_t j = event->first; j < event->first + event->count; j++) {
            const struct accept_delivery *delivery = &accept->deliveries[j];
            if (delivery->place.id == 0 ||
                (uint64_t)delivery->destination % service->worker_count != parcel->worker->index)
                continue;
            parcel->items[parcel->count++] = (struct handed){delivery->destination, delivery->place,
                                                             message_share(event->message)};
        }
    }
}

void hand_over(void *context, struct store_request *finished) {
    struct service *service = context;
    for (uint32_t i = 0; i < service->worker_count; i++) {
        struct worker *worker = &service->workers[i];
        uint32_t count = count_for(service, finished, i);
        if (count == 0 || atomic_load(&worker->missed)) /* the lanes will find these on disk, too */
            continue;
        struct parcel *parcel = malloc(sizeof *parcel + count * sizeof parcel->items[0]);
        if (parcel == NULL) { /* they are on disk: the lanes look there */
            atomic_store(&worker->missed, true);
            continue;
        }
        *parcel = (struct parcel){.letter = {.open = open_parcel}, .worker = worker};
        for (struct store_request *request = finished; request != NULL; request = request->next)
            if (request->kind == STORE_ACCEPT && request->result == LULL_OK)
                fill(parcel, service, (const struct store_accept *)request);
        inbox_push(&worker->inbox, &parcel->letter, &parcel->letter);
    }
}
