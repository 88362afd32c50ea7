#include "worker.h"

#include "api/api.h"
#include "clock.h"
#include "daemon.h"
#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#define EVENTS_PER_TURN 256
#define TIDY_ROWS 256
#define ALERT_TICK (5 * LULL_SECOND)
#define QUIET_LOOK (10 * LULL_MILLISECOND) /* between looks at whether the others are, too */
#define CALLED_OFF_LONGEST (2 * LULL_SECOND)

/* ---- configuration, counted ---- */

struct config_version *config_share(struct config_version *version) {
    atomic_fetch_add_explicit(&version->references, 1, memory_order_relaxed);
    return version;
}

void config_release(struct config_version *version) {
    if (version == NULL ||
        atomic_fetch_sub_explicit(&version->references, 1, memory_order_acq_rel) > 1)
        return;
    serve_config_clean_up(&version->config);
    free(version);
}

/* ---- lanes ---- */

struct lane *worker_lane(const struct worker *worker, int64_t destination) {
    return destination < worker->slot_room ? worker->slots[destination].lane : NULL;
}

static bool make_slot(struct worker *worker, int64_t destination) {
    if (destination < worker->slot_room)
        return true;
    int64_t room = destination + destination / 2 + 64;
    struct slot *slots = reallocarray(worker->slots, (size_t)room, sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots + worker->slot_room, 0, (size_t)(room - worker->slot_room) * sizeof *slots);
    worker->slots = slots;
    worker->slot_room = room;
    return true;
}

int worker_add_lane(struct worker *worker, const struct destination_row *row,
                    const struct destination_settings *settings) {
    if (!make_slot(worker, row->id))
        return LULL_ENOMEM;
    struct target *target = target_of(row, settings);
    if (target == NULL)
        return LULL_ENOMEM;
    struct lane_options options = {
        .destination = row->id,
        .name = row->name,
        .target = target,
        .config = &settings->guard,
        .state = row->state,
        .blocked_until = row->blocked_until,
        .pending = {row->pending[0], row->pending[1]},
        .dead = row->dead,
    };
    struct lane *lane = engine_add(&worker->engine, &options);
    if (lane == NULL) {
        target_release(target);
        return LULL_EINVAL;
    }
    struct destination *destination = destination_new(row, settings, lane, worker->index);
    int result =
        destination != NULL ? registry_put(worker->service->registry, destination) : LULL_ENOMEM;
    if (result != LULL_OK) {
        engine_remove(&worker->engine, lane);
        return result;
    }
    worker->slots[row->id] = (struct slot){.lane = lane};
    return LULL_OK;
}

/* ---- chores ---- */

static void tidied(struct store_request *request) {
    struct worker *worker = request->owner;
    worker->tidying = false;
    if (request->result == LULL_OK && worker->tidy.more)
        worker->chores = worker->now; /* the next slice at once, behind whatever waits */
}

/* The first worker keeps house for all. */
static void tidy(struct worker *worker) {
    if (worker->index != 0 || worker->tidying || worker->draining)
        return;
    worker->tidying = true;
    worker->tidy = (struct store_tidy){
        .request = {.kind = STORE_TIDY, .done = tidied, .owner = worker},
        .delivered_before = worker->now - worker->config->config.retention,
        .limit = TIDY_ROWS,
    };
    worker->store.port.submit(&worker->store.port, &worker->tidy.request);
}

static void do_chores(struct worker *worker) {
    if (worker->now < worker->chores)
        return;
    worker->chores = worker->now + ALERT_TICK;
    alerts_chores(worker);
    tidy(worker);
}

/* ---- the loop ---- */

static lull_time earliest(const struct worker *worker) {
    lull_time next = engine_next(&worker->engine);
    lull_time client = client_next(worker->client); /* on the monotonic clock */
    if (client != LULL_NEVER && client + service_clock_offset() < next)
        next = client + service_clock_offset();
    if (worker->http != NULL && http_server_next(worker->http) < next)
        next = http_server_next(worker->http);
    if (worker->chores < next)
        next = worker->chores;
    if (worker->draining && worker->drain_end < next)
        next = worker->drain_end;
    if (worker->quiet && worker->now + QUIET_LOOK < next)
        next = worker->now + QUIET_LOOK;
    return next;
}

/* To the nanosecond; on kernels before 5.11, and where a sandbox does not know the call, to the millisecond. */
static int wait_on(int epoll, struct epoll_event events[], lull_duration left) {
    struct timespec timeout = {.tv_sec = left / LULL_SECOND, .tv_nsec = left % LULL_SECOND};
    int count = epoll_pwait2(epoll, events, EVENTS_PER_TURN, &timeout, NULL);
    if (count >= 0 || errno == EINTR)
        return count;
    return epoll_wait(epoll, events, EVENTS_PER_TURN,
                      (int)((left + LULL_MILLISECOND - 1) / LULL_MILLISECOND));
}

static void wait_for_events(struct worker *worker) {
    struct epoll_event events[EVENTS_PER_TURN];
    lull_duration left = earliest(worker) - service_clock();
    if (left < 0)
        left = 0;
    int count = wait_on(worker->epoll, events, left);
    worker->now = service_clock();
    engine_tick(&worker->engine, worker->now);
    for (int i = 0; i < count; i++) {
        if (client_owns(events[i].data.u64))
            client_ready(worker->client, events[i].data.u64, events[i].events);
        else if (events[i].data.ptr == &worker->http && worker->http != NULL)
            http_server_ready(worker->http, events[i].events);
        /* The inbox is opened in every turn. */
    }
}

/* While there is patience, connections are waited for, too: answers may still be on their way out. */
static bool is_quiet(const struct worker *worker) {
    if (!engine_drained(&worker->engine) || worker->tidying)
        return false;
    if (worker->http == NULL)
        return true;
    return worker->called_off ? http_server_exchanges(worker->http) == 0
                              : http_server_connections(worker->http) == 0;
}

/* All leave together: a change that one of them has under way may need the thread of another. But not for ever: on a disk that is full, outcomes
 * wait in the store, which gets a last try at them when the workers are gone. */
static bool is_over(struct worker *worker) {
    const struct service *service = worker->service;
    if (!worker->draining)
        return false;
    worker->quiet = is_quiet(worker);
    if (worker->called_off && worker->now >= worker->drain_end)
        return true;
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (service->workers[i].started && !service->workers[i].quiet)
            return false;
    return true;
}

/* Patience is over: what is still under way is called off, and will be sent again after the next start. */
static void give_up(struct worker *worker) {
    if (!worker->draining || worker->called_off || worker->now < worker->drain_end)
        return;
    worker->called_off = true;
    worker->drain_end = worker->now + CALLED_OFF_LONGEST;
    engine_call_off(&worker->engine);
}

static void *loop(void *argument) {
    struct worker *worker = argument;
    char name[16];
    snprintf(name, sizeof name, "worker %u", worker->index);
    pthread_setname_np(pthread_self(), name);
    while (!is_over(worker)) {
        wait_for_events(worker);
        /* First: parcels that follow must find the lanes behind, or a cursor would pass what was missed. */
        if (atomic_exchange(&worker->missed, false))
            engine_missed(&worker->engine);
        inbox_open(&worker->inbox);
        client_turn(worker->client);
        do_chores(worker);
        give_up(worker);
        engine_turn(&worker->engine);
        client_turn(worker->client);
        if (worker->http != NULL)
            http_server_run(worker->http, worker->now);
        store_client_flush(&worker->store);
    }
    return NULL;
}

/* ---- HTTP ---- */

static int64_t body_limit(void *context, const struct exchange *exchange) {
    struct worker *worker = context;
    return api_body_limit(&worker->config->config, exchange);
}

static void handle(void *context, struct exchange *exchange) {
    api_handle(context, exchange);
}

bool worker_open_doors(struct worker *worker, struct problem *problem) {
    const struct serve_config *config = &worker->config->config;
    struct http_server_options options = {
        .epoll = worker->epoll,
        .tag = &worker->http,
        .socket = worker->socket,
        .certificate = config->tls.certificate[0] != '\0' ? config->tls.certificate : NULL,
        .key = config->tls.key[0] != '\0' ? config->tls.key : NULL,
        .connections = config->limits.connections,
        .idle = config->limits.idle,
        .request = config->limits.request,
        .context = worker,
        .limit = body_limit,
        .handle = handle,
    };
    worker->socket = -1;
    worker->http = http_server_new(&options, problem);
    if (worker->http == NULL && options.certificate != NULL) {
        struct problem why = *problem;
        problem_say(problem, "%.200s (with tls.certificate %.200s and tls.key %.200s)", why.text,
                    config->tls.certificate, config->tls.key);
    }
    return worker->http != NULL;
}

/* ---- life ---- */

int worker_init(struct worker *worker, struct service *service, uint32_t index,
                struct config_version *config, int socket, struct problem *problem) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &worker->inbox};
    const char *ca_file = config->config.ca_file;
    uint64_t seed = 0;
    *worker = (struct worker){
        .service = service,
        .index = index,
        .socket = socket,
        .config = config_share(config),
        .now = service_clock(),
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .inbox.event = -1,
    };
    worker->chores = worker->now;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)worker->now + index;
    if (worker->epoll < 0 || inbox_init(&worker->inbox) != LULL_OK ||
        epoll_ctl(worker->epoll, EPOLL_CTL_ADD, worker->inbox.event, &event) != 0) {
        problem_say(problem, "cannot make an event loop: %s", strerror(errno));
        return LULL_ESYSTEM;
    }
    worker->client = client_new(worker->epoll, &(struct client_options){
                                                   .allow = config->config.allow,
                                                   .allow_count = config->config.allow_count,
                                                   .ca_file = ca_file[0] != '\0' ? ca_file : NULL,
                                               });
    if (worker->client == NULL) {
        problem_say(problem, "cannot make an HTTP client%s%s",
                    ca_file[0] != '\0' ? "; can addresses.ca_file be read? " : "", ca_file);
        return LULL_ESYSTEM;
    }
    if (store_client_init(&worker->store, service->store, &worker->inbox) != LULL_OK) {
        problem_say(problem, "cannot reach the store");
        return LULL_ESYSTEM;
    }
    engine_init(&worker->engine, &(struct engine_options){
                                     .store = &worker->store.port,
                                     .transport = client_port(worker->client),
                                     .seed = seed,
                                     .tell = alerts_tell,
                                     .context = worker,
                                 });
    engine_tick(&worker->engine, worker->now);
    return LULL_OK;
}

int worker_start(struct worker *worker) {
    worker->started = pthread_create(&worker->thread, NULL, loop, worker) == 0;
    return worker->started ? LULL_OK : LULL_ESYSTEM;
}

void worker_clean_up(struct worker *worker) {
    if (worker->http != NULL)
        http_server_destroy(worker->http);
    client_destroy(worker->client);
    engine_clean_up(&worker->engine);
    inbox_clean_up(&worker->inbox);
    config_release(worker->config);
    free(worker->slots);
    if (worker->socket >= 0)
        close(worker->socket);
    if (worker->epoll >= 0)
        close(worker->epoll);
}

/* ---- service.h, the simple part ---- */

const struct serve_config *service_config(struct worker *worker) {
    return &worker->config->config;
}

struct registry *service_registry(struct worker *worker) {
    return worker->service->registry;
}

struct store_port *service_store(struct worker *worker) {
    return &worker->store.port;
}

lull_time service_now(struct worker *worker) {
    return worker->now;
}
