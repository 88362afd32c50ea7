#include "server.h"

#include "answer.h"
#include "problem.h"
#include "request.h"
#include "signals.h"
#include "wire.h"

#include <errno.h>
#include <lull/random.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_PER_TURN = 256, ACCEPTS_PER_TURN = 128 };
#define ACCEPT_PAUSE (50 * LULL_MILLISECOND)

lull_time server_tick(struct server *server) {
    server->now = clock_now();
    return server->now;
}

/* -- the epoll set -- */

static bool watch(struct server *server, int fd, uint32_t events, struct watch *watch_) {
    struct epoll_event event = {.events = events, .data.ptr = watch_};
    return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void unwatch(struct server *server, int fd) {
    epoll_ctl(server->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* -- connections -- */

static void connection_changed(void *context, struct MHD_Connection *http, void **place,
                               enum MHD_ConnectionNotificationCode what) {
    struct server *server = context;
    struct connection *connection = *place;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        TAILQ_REMOVE(&server->connections, connection, link);
        if (connection->departing)
            TAILQ_REMOVE(&server->departing, connection, departing_link);
        server->connection_count--;
        free(connection);
        return;
    }
    connection = malloc(sizeof *connection);
    if (connection == NULL)
        abort();
    *connection = (struct connection){
        .watch.kind = WATCH_CLIENT,
        .http = http,
        .socket = MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        .control = server->accepting->control,
    };
    watch(server, connection->socket, EPOLLRDHUP | EPOLLET, &connection->watch);
    TAILQ_INSERT_TAIL(&server->connections, connection, link);
    server->connection_count++;
    *place = connection;
}

void server_see_off(struct server *server, struct connection *connection) {
    if (connection->departing)
        return;
    connection->departing = true;
    TAILQ_INSERT_TAIL(&server->departing, connection, departing_link);
}

/* libmicrohttpd has had its turn and has not closed them. Those that have sent more requests
 * before they left are spared until these are served. */
static void close_departing(struct server *server) {
    struct connection *connection = TAILQ_FIRST(&server->departing);
    while (connection != NULL) {
        struct connection *next = TAILQ_NEXT(connection, departing_link);
        bool idle = connection->request == NULL || connection->request->state == REQUEST_READING;
        if (idle && !wire_has_input(connection->socket)) {
            wire_close(connection->socket);
            connection->departing = false;
            TAILQ_REMOVE(&server->departing, connection, departing_link);
        }
        connection = next;
    }
}

static void client_left(struct server *server, struct connection *connection) {
    struct request *request = connection->request;
    connection->client_left = true;
    if (request == NULL || request->state == REQUEST_READING)
        server_see_off(server, connection);
    else if (request->state == REQUEST_HANGING)
        request_cut(server, request, OUTCOME_HUNG);
}

static void accept_some(struct server *server, struct door *door) {
    server->accepting = door;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int fd = accept4(door->listener.socket, (struct sockaddr *)&address, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            MHD_add_connection(server->http, fd, (struct sockaddr *)&address, size);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The socket stays readable: without a pause the loop would spin. */
            unwatch(server, door->listener.socket);
            timer_set(&server->timers, &door->again, server->now + ACCEPT_PAUSE);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/* -- outages -- */

static void open_door(struct server *server, struct door *door) {
    bool open = door->listener.socket >= 0 || listener_accept_again(&door->listener);
    if (!open || !watch(server, door->listener.socket, EPOLLIN, &door->watch))
        timer_set(&server->timers, &door->again, server->now + ACCEPT_PAUSE);
}

static void open_door_again(struct timer *timer, void *context) {
    struct server *server = context;
    for (size_t i = 0; i < 2; i++) {
        if (timer == &server->doors[i].again)
            open_door(server, &server->doors[i]);
    }
}

/* As if the process had died: nobody listens, and whoever was connected gets a reset. */
static void shut_door(struct server *server, struct door *door) {
    timer_drop(&server->timers, &door->again);
    listener_refuse(&door->listener);
    for (struct connection *connection = TAILQ_FIRST(&server->connections); connection != NULL;
         connection = TAILQ_NEXT(connection, link)) {
        struct request *request = connection->request;
        if (connection->control || (request != NULL && request->control))
            continue;
        wire_reset(connection->socket);
        if (request != NULL)
            request_cut(server, request, OUTCOME_CUT);
    }
}

static void follow_outages(struct timer *timer, void *context) {
    struct server *server = context;
    struct outage_state outage = plan_outage(&server->settings, &server->state, server->now);
    enum outage_mode before = server->outage;
    server->outage = outage.mode;
    timer_set(&server->timers, timer, outage.change);
    if (outage.mode == OUTAGE_REFUSE && before != OUTAGE_REFUSE)
        shut_door(server, &server->doors[0]);
    if (outage.mode != OUTAGE_REFUSE && before == OUTAGE_REFUSE)
        open_door(server, &server->doors[0]);
}

/* -- capacity -- */

void server_attend_gate(struct server *server) {
    timer_set(&server->timers, &server->gate_timer,
              gate_opens(&server->state.gate, &server->settings.gate));
}

static void let_in(struct timer *timer, void *context) {
    struct server *server = context;
    (void)timer;
    while (gate_next(&server->state.gate, &server->settings.gate, server->now))
        request_let_in(server, TAILQ_FIRST(&server->line));
    server_attend_gate(server);
}

/* -- settings -- */

static void choose_seed(struct server *server) {
    uint64_t *seed = &server->settings.seed;
    if (*seed == SEED_UNSET) {
        if (getrandom(seed, sizeof *seed, 0) != sizeof *seed)
            *seed = (uint64_t)server->now;
        *seed >>= 32; /* short enough to be typed again */
    }
    server->random = *seed;
}

static bool touches(uint64_t touched, enum setting setting) {
    return (touched >> setting & 1) != 0;
}

/* The schedule starts now, and whoever hung until the end of an outage is planned anew. */
static void restart_schedule(struct server *server) {
    server->state.schedule_start = server->now;
    timer_set(&server->timers, &server->outage_timer, server->now);
    for (struct connection *connection = TAILQ_FIRST(&server->connections); connection != NULL;
         connection = TAILQ_NEXT(connection, link)) {
        if (connection->request != NULL)
            request_stop_hanging(server, connection->request);
    }
}

void server_configure(struct server *server, const struct settings *settings, uint64_t touched) {
    bool rate_in_use = server->settings.rate.count > 0;
    server->settings = *settings;
    if (touches(touched, SETTING_SEED))
        choose_seed(server);
    if (settings->rate.count > 0 &&
        (touches(touched, SETTING_RATE) || touches(touched, SETTING_BURST)))
        plan_limit_rate(&server->state, settings, rate_in_use);
    if (touches(touched, SETTING_OUTAGE) || touches(touched, SETTING_OUTAGE_EVERY))
        restart_schedule(server);
    if (touches(touched, SETTING_BODY)) {
        blob_release(server->body);
        server->body = settings->body.kind == BODY_DEFAULT ? NULL : blob_of_body(&settings->body);
        if (server->body == NULL && settings->body.kind != BODY_DEFAULT)
            abort();
    }
    answers_forget(server);
    server_attend_gate(server);
}

/* -- the loop -- */

static void take_signals(struct server *server) {
    struct signalfd_siginfo info;
    while (read(server->signals, &info, sizeof info) == sizeof info)
        server->stop = true;
}

static void take_event(struct server *server, struct watch *what) {
    switch (what->kind) {
    case WATCH_DOOR:
        accept_some(server, (struct door *)what);
        break;
    case WATCH_SIGNALS:
        take_signals(server);
        break;
    case WATCH_CLIENT:
        client_left(server, (struct connection *)what);
        break;
    case WATCH_HTTP: /* MHD_run is called in every turn */
        break;
    }
}

static void wait_for_events(struct server *server) {
    struct epoll_event events[EVENTS_PER_TURN];
    MHD_UNSIGNED_LONG_LONG http_wait = 0;
    bool http_waits = MHD_get_timeout(server->http, &http_wait) == MHD_NO || http_wait > 0;
    lull_time next = http_waits ? timers_next(&server->timers) : 0;
    lull_duration left = next > server->now ? next - server->now : 0;
    struct timespec timeout = {.tv_sec = left / LULL_SECOND, .tv_nsec = left % LULL_SECOND};
    int count = epoll_pwait2(server->epoll, events, EVENTS_PER_TURN,
                             next == LULL_NEVER ? NULL : &timeout, NULL);
    server_tick(server);
    for (int i = 0; i < count; i++)
        take_event(server, events[i].data.ptr);
}

static void end(struct timer *timer, void *context) {
    (void)timer;
    ((struct server *)context)->stop = true;
}

static void loop(struct server *server) {
    while (!server->stop) {
        wait_for_events(server);
        timers_fire(&server->timers, server->now, server);
        MHD_run(server->http);
        close_departing(server);
        server_tick(server);
    }
}

/* -- start and end -- */

static size_t decode_nothing(void *context, struct MHD_Connection *http, char *text) {
    (void)context, (void)http;
    return strlen(text);
}

static bool start_http(struct server *server) {
    server->http = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        request_handle, server, MHD_OPTION_NOTIFY_COMPLETED, request_completed, server,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server, MHD_OPTION_UNESCAPE_CALLBACK,
        decode_nothing, NULL, MHD_OPTION_CONNECTION_LIMIT, 1U << 24, MHD_OPTION_END);
    if (server->http == NULL)
        return false;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->http, MHD_DAEMON_INFO_EPOLL_FD);
    return watch(server, info->epoll_fd, EPOLLIN, &server->watch_http);
}

static bool start_signals(struct server *server) {
    sigset_t set;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    server->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return server->signals >= 0 && watch(server, server->signals, EPOLLIN, &server->watch_signals);
}

/* Thousands of clients may be waiting at once. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int64_t wall_microseconds(void) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return wall.tv_sec * INT64_C(1000000) + wall.tv_nsec / 1000;
}

static bool open_doors(struct server *server, const struct server_options *options) {
    const struct listener *listeners[2] = {&options->listener, &options->control};
    struct problem problem;
    for (size_t i = 0; i < (options->has_control ? 2U : 1U); i++) {
        struct door *door = &server->doors[i];
        door->listener = *listeners[i];
        door->control = i == 1;
        if (!listener_open(&door->listener, &problem)) {
            complain("%s", problem.text);
            return false;
        }
        open_door(server, door);
    }
    return true;
}

static void server_init(struct server *server) {
    *server = (struct server){
        .settings = settings_defaults,
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .signals = -1,
        .watch_http.kind = WATCH_HTTP,
        .watch_signals.kind = WATCH_SIGNALS,
        .outage_timer.fire = follow_outages,
        .gate_timer.fire = let_in,
        .end_timer.fire = end,
    };
    for (size_t i = 0; i < 2; i++) {
        server->doors[i] = (struct door){
            .watch.kind = WATCH_DOOR,
            .again.fire = open_door_again,
            .listener = {.placeholder = -1, .socket = -1},
        };
    }
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->departing);
    TAILQ_INIT(&server->line);
    TAILQ_INIT(&server->spare);
}

static void server_clean_up(struct server *server) {
    for (size_t i = 0; i < 2; i++)
        listener_clean_up(&server->doors[i].listener);
    /* libmicrohttpd cannot be stopped while connections are suspended. */
    for (struct connection *connection = TAILQ_FIRST(&server->connections); connection != NULL;
         connection = TAILQ_NEXT(connection, link)) {
        if (connection->request != NULL)
            request_cut(server, connection->request, OUTCOME_CUT);
    }
    MHD_stop_daemon(server->http);
    answers_forget(server);
    blob_release(server->body);
    requests_clean_up(server);
    journal_clean_up(&server->journal);
    timers_clean_up(&server->timers);
    if (server->signals >= 0)
        close(server->signals);
    close(server->epoll);
}

int server_run(struct server_options *options) {
    static struct server server; /* large */
    int code = EXIT_FAILURE;
    raise_descriptor_limit();
    server_init(&server);
    server.started = server_tick(&server);
    if (!journal_init(&server.journal, wall_microseconds()) || !start_signals(&server) ||
        !start_http(&server)) {
        complain("cannot start the server: %s", strerror(errno));
    } else if (open_doors(&server, options)) {
        server_configure(&server, &options->settings, UINT64_MAX);
        if (options->run_for > 0)
            timer_set(&server.timers, &server.end_timer, server.started + options->run_for);
        follow_outages(&server.outage_timer, &server);
        printf("listening on %s\n", server.doors[0].listener.url);
        if (options->has_control)
            printf("control on %s\n", server.doors[1].listener.url);
        fflush(stdout);
        loop(&server);
        code = EXIT_SUCCESS;
    }
    server_clean_up(&server);
    return code;
}
