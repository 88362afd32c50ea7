#include "client.h"

#include "client_transfer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* An attempt is in one of these places, which `transport_data` leads to: */
struct client {
    struct transport_port port;
    struct transfer_settings settings;
    CURLM *multi;
    lull_time timer;                    /* libcurl's; LULL_NEVER: none */
    struct transfer *running;           /* with libcurl */
    struct transfer *over, **over_last; /* cancelled; ended in the next turn */
    struct attempt *unstarted;          /* for want of memory; the same. Linked by transport_data */
    struct transfer *spare;             /* no attempt: waiting for work */
    uint32_t under_way;
};

static lull_time read_clock(clockid_t which) {
    struct timespec now;
    clock_gettime(which, &now);
    return (lull_time)now.tv_sec * LULL_SECOND + now.tv_nsec;
}

/* ---- what libcurl calls ---- */

static int watch_socket(CURL *easy, curl_socket_t descriptor, int what, void *context,
                        void *socket_context) {
    static const uint32_t events[] = {
        [CURL_POLL_NONE] = 0,       [CURL_POLL_IN] = EPOLLIN,
        [CURL_POLL_OUT] = EPOLLOUT, [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT,
        [CURL_POLL_REMOVE] = 0,
    };
    struct client *client = context;
    (void)easy, (void)socket_context;
    sockets_watch(&client->settings.sockets, descriptor, events[what]);
    return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *context) {
    struct client *client = context;
    (void)multi;
    if (milliseconds < 0)
        client->timer = LULL_NEVER;
    else if (milliseconds == 0)
        client->timer = 0;
    else
        client->timer = read_clock(CLOCK_MONOTONIC) + milliseconds * LULL_MILLISECOND;
    return 0;
}

/* ---- transfers ---- */

static struct transfer *take_transfer(struct client *client) {
    struct transfer *transfer = client->spare;
    if (transfer == NULL)
        return transfer_new(&client->settings);
    client->spare = transfer->next;
    return transfer;
}

static void give_back(struct client *client, struct transfer *transfer) {
    transfer->attempt = NULL;
    transfer->next = client->spare;
    client->spare = transfer;
}

static bool run(struct client *client, struct transfer *transfer) {
    if (curl_multi_add_handle(client->multi, transfer->easy) != CURLM_OK)
        return false;
    transfer->running = true;
    transfer->previous = NULL;
    transfer->next = client->running;
    if (transfer->next != NULL)
        transfer->next->previous = transfer;
    client->running = transfer;
    return true;
}

static void stop(struct client *client, struct transfer *transfer) {
    curl_multi_remove_handle(client->multi, transfer->easy);
    transfer->running = false;
    if (transfer->previous != NULL)
        transfer->previous->next = transfer->next;
    else
        client->running = transfer->next;
    if (transfer->next != NULL)
        transfer->next->previous = transfer->previous;
}

/* ---- the port ---- */

static void start(struct transport_port *port, struct attempt *attempt) {
    struct client *client = (struct client *)(void *)port;
    struct transfer *transfer = take_transfer(client);
    client->under_way++;
    if (transfer != NULL &&
        transfer_prepare(transfer, attempt, read_clock(CLOCK_MONOTONIC),
                         read_clock(CLOCK_REALTIME)) &&
        run(client, transfer)) {
        attempt->transport_data = transfer;
        return;
    }
    if (transfer != NULL)
        give_back(client, transfer);
    attempt->transport_data = client->unstarted;
    client->unstarted = attempt;
}

static void cancel(struct transport_port *port, struct attempt *attempt) {
    struct client *client = (struct client *)(void *)port;
    for (struct attempt *other = client->unstarted; other != NULL; other = other->transport_data)
        if (other == attempt)
            return; /* it ends in the next turn as it is */
    struct transfer *transfer = attempt->transport_data;
    if (!transfer->running)
        return; /* cancelled already */
    stop(client, transfer);
    transfer->cancelled = true;
    transfer->next = NULL;
    *client->over_last = transfer;
    client->over_last = &transfer->next;
}

/* ---- the loop's side ---- */

void client_ready(struct client *client, uint64_t data, uint32_t events) {
    int descriptor = (int)(uint32_t)data, running;
    if (!sockets_ready(&client->settings.sockets, descriptor))
        return;
    int mask = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
               (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
               (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(client->multi, descriptor, mask, &running);
}

/* The transfer is free before the attempt's owner hears of it, for it will want to start the next one. */
static void end(struct client *client, struct transfer *transfer, lull_time now, lull_time wall) {
    struct attempt *attempt = transfer->attempt;
    transfer_conclude(transfer, now, wall);
    give_back(client, transfer);
    attempt->transport_data = NULL;
    client->under_way--;
    attempt->ended(attempt);
}

static void end_finished(struct client *client, lull_time now, lull_time wall) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        char *private = NULL;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        struct transfer *transfer = (struct transfer *)(void *)private;
        stop(client, transfer); /* the message is gone with it */
        transfer->result = result;
        end(client, transfer, now, wall);
    }
}

/* Those of now: attempts that are cancelled meanwhile end in the next turn. */
static void end_cancelled(struct client *client, lull_time now, lull_time wall) {
    struct transfer *transfer = client->over;
    client->over = NULL;
    client->over_last = &client->over;
    while (transfer != NULL) {
        struct transfer *next = transfer->next;
        end(client, transfer, now, wall);
        transfer = next;
    }
}

static void end_unstarted(struct client *client, lull_time wall) {
    struct attempt *attempt = client->unstarted;
    client->unstarted = NULL;
    while (attempt != NULL) {
        struct attempt *next = attempt->transport_data;
        attempt->transport_data = NULL;
        attempt->outcome = (struct lull_outcome){.class_ = LULL_TRANSIENT};
        attempt->gone = false;
        attempt->record = (struct attempt_record){
            .number = attempt->record.number, .began = wall, .class_ = LULL_TRANSIENT};
        snprintf(attempt->record.error, ERROR_LONGEST,
                 "the request could not be made: out of memory");
        client->under_way--;
        attempt->ended(attempt);
        attempt = next;
    }
}

void client_turn(struct client *client) {
    lull_time now = read_clock(CLOCK_MONOTONIC);
    int running;
    if (client->timer <= now) {
        client->timer = LULL_NEVER; /* libcurl only tells of changes, and this one has fired */
        curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    lull_time wall = read_clock(CLOCK_REALTIME);
    if (client->over != NULL)
        end_cancelled(client, now, wall);
    if (client->unstarted != NULL)
        end_unstarted(client, wall);
    end_finished(client, now, wall);
}

lull_time client_next(const struct client *client) {
    return client->over != NULL || client->unstarted != NULL ? 0 : client->timer;
}

uint32_t client_under_way(const struct client *client) {
    return client->under_way;
}

/* A kept connection is not looked at again when it is used again: those to what may no longer be called end here. */
static void end_refused_connections(const struct transfer_settings *settings) {
    for (size_t i = 0; i < settings->sockets.count; i++) {
        struct sockaddr_storage peer;
        socklen_t length = sizeof peer;
        if (settings->sockets.slots[i].ours &&
            getpeername((int)i, (struct sockaddr *)&peer, &length) == 0 &&
            address_refusal((struct sockaddr *)&peer, settings->allow, settings->allow_count) !=
                NULL)
            shutdown((int)i, SHUT_RDWR);
    }
}

bool client_allow(struct client *client, const struct cidr *allow, uint32_t count) {
    struct cidr *copy = calloc(count + 1, sizeof *copy);
    if (copy == NULL)
        return false;
    memcpy(copy, allow, count * sizeof *copy);
    free(client->settings.allow);
    client->settings.allow = copy;
    client->settings.allow_count = count;
    end_refused_connections(&client->settings);
    return true;
}

struct transport_port *client_port(struct client *client) {
    return &client->port;
}

/* ---- its life ---- */

static void set_up_curl(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Copies the options. False: out of memory, or the file cannot be read. */
static bool keep_settings(struct transfer_settings *settings,
                          const struct client_options *options) {
    if (options->ca_file != NULL) {
        settings->ca_file = strdup(options->ca_file);
        if (settings->ca_file == NULL || access(settings->ca_file, R_OK) != 0)
            return false;
    }
    settings->allow_count = options->allow_count;
    settings->allow = calloc(options->allow_count + 1, sizeof *settings->allow);
    if (settings->allow != NULL && options->allow_count > 0)
        memcpy(settings->allow, options->allow, options->allow_count * sizeof *settings->allow);
    return settings->allow != NULL;
}

static bool set_up_multi(struct client *client, uint32_t connections) {
    CURLM *multi = client->multi;
    return multi != NULL &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connections) == CURLM_OK;
}

struct client *client_new(int epoll, const struct client_options *options) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_curl);
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return NULL;
    client->port = (struct transport_port){.start = start, .cancel = cancel};
    client->timer = LULL_NEVER;
    client->over_last = &client->over;
    sockets_init(&client->settings.sockets, epoll, CLIENT_EVENT);
    client->multi = curl_multi_init();
    if (keep_settings(&client->settings, options) &&
        set_up_multi(client, options->connections != 0 ? options->connections : CLIENT_CONNECTIONS))
        return client;
    client_destroy(client);
    return NULL;
}

static void destroy_all(struct transfer *transfer) {
    while (transfer != NULL) {
        struct transfer *next = transfer->next;
        transfer_destroy(transfer);
        transfer = next;
    }
}

void client_destroy(struct client *client) {
    if (client == NULL)
        return;
    while (client->running != NULL) {
        struct transfer *transfer = client->running;
        stop(client, transfer);
        transfer_destroy(transfer);
    }
    destroy_all(client->over);
    destroy_all(client->spare);
    curl_multi_cleanup(client->multi); /* closes the connections, through the sockets */
    sockets_clean_up(&client->settings.sockets);
    free(client->settings.allow);
    free(client->settings.ca_file);
    free(client);
}
