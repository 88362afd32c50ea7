#include "server_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_PER_TURN = 64, ACCEPTS_PER_TURN = 64 };
#define ACCEPT_PAUSE (50 * LULL_MILLISECOND)

/* For the header of a request, what is read of its body at once, and the header of the answer.
 * It is cleared for each request, so more of it is not better. */
enum { MEMORY_PER_CONNECTION = 16 * 1024, READ_AT_ONCE = 4096 };

/* The two descriptors in the worker's set have one tag. Both are epoll sets, which are EPOLLIN and
 * EPOLLRDNORM at once when they are ready; asked for the second, `watch` can be told from the
 * other. (Asked for it alone, it would never wake the worker.) */
enum { READY_HTTP = EPOLLIN, READY_WATCH = EPOLLIN | EPOLLRDNORM };

/* -- connections -- */

static struct connections *line_of(struct http_server *server, enum connection_state state) {
    switch (state) {
    case CONNECTION_IDLE:
        return &server->idle;
    case CONNECTION_READING:
    case CONNECTION_ANSWERING:
        return &server->busy;
    case CONNECTION_HANDLING:
        return &server->handling;
    case CONNECTION_CLOSING:
        break;
    }
    return NULL;
}

static void leave_line(struct http_server *server, struct connection *connection) {
    struct connections *line = line_of(server, connection->state);
    if (line != NULL)
        TAILQ_REMOVE(line, connection, link);
}

static void join_line(struct http_server *server, struct connection *connection,
                      enum connection_state state) {
    struct connections *line = line_of(server, state);
    connection->state = state;
    if (line == NULL)
        return;
    connection->deadline =
        server->now + (line == &server->idle ? server->options.idle : server->options.request);
    TAILQ_INSERT_TAIL(line, connection, link);
}

static void stay(struct http_server *server, struct connection *connection) {
    if (connection->departing)
        TAILQ_REMOVE(&server->departing, connection, departing_link);
    connection->departing = false;
}

void connection_enter(struct http_server *server, struct connection *connection,
                      enum connection_state state) {
    leave_line(server, connection);
    join_line(server, connection, state);
    if (state != CONNECTION_IDLE && !(state == CONNECTION_READING && connection->left))
        stay(server, connection);
}

void connection_see_off(struct http_server *server, struct connection *connection) {
    if (connection->departing)
        return;
    connection->departing = true;
    TAILQ_INSERT_TAIL(&server->departing, connection, departing_link);
}

/* libmicrohttpd is told of it by an event, and closes. */
static void shut(struct http_server *server, struct connection *connection) {
    connection_enter(server, connection, CONNECTION_CLOSING);
    shutdown(connection->socket, SHUT_RDWR);
}

static void connection_open(struct http_server *server, struct MHD_Connection *http, void **place) {
    struct connection *connection = TAILQ_FIRST(&server->spare);
    if (connection != NULL)
        TAILQ_REMOVE(&server->spare, connection, link);
    else
        connection = malloc(sizeof *connection);
    *place = connection;
    if (connection == NULL) /* its first request will close it */
        return;
    *connection = (struct connection){
        .watch.kind = WATCH_CLIENT,
        .http = http,
        .socket = MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
    };
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = connection};
    epoll_ctl(server->watch, EPOLL_CTL_ADD, connection->socket, &event);
    join_line(server, connection, CONNECTION_IDLE);
    server->connection_count++;
}

static void connection_changed(void *context, struct MHD_Connection *http, void **place,
                               enum MHD_ConnectionNotificationCode what) {
    struct http_server *server = context;
    struct connection *connection = *place;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        connection_open(server, http, place);
    } else if (connection != NULL) {
        if (connection->linger)
            linger_start(server, connection->socket);
        connection_enter(server, connection, CONNECTION_CLOSING);
        TAILQ_INSERT_HEAD(&server->spare, connection, link);
        server->connection_count--;
    }
}

/* libmicrohttpd has had its turn and has not closed them. Those that sent more before they left are
 * spared until that is served. */
static void close_departing(struct http_server *server) {
    struct connection *connection = TAILQ_FIRST(&server->departing);
    while (connection != NULL) {
        struct connection *next = TAILQ_NEXT(connection, departing_link);
        if (!wire_pending(connection))
            shut(server, connection);
        connection = next;
    }
}

static void client_left(struct http_server *server, struct connection *connection) {
    connection->left = true;
    if (connection->state == CONNECTION_IDLE || connection->state == CONNECTION_READING)
        connection_see_off(server, connection);
}

/* -- the door -- */

static void open_door(struct http_server *server) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &server->door};
    server->door_open =
        epoll_ctl(server->watch, EPOLL_CTL_ADD, server->options.socket, &event) == 0;
    server->door_opens = server->door_open ? LULL_NEVER : server->now + ACCEPT_PAUSE;
}

/* The socket stays readable: without a pause the loop would spin. */
static void pause_door(struct http_server *server) {
    epoll_ctl(server->watch, EPOLL_CTL_DEL, server->options.socket, NULL);
    server->door_open = false;
    server->door_opens = server->now + ACCEPT_PAUSE;
}

static void accept_some(struct http_server *server, int most) {
    for (int i = 0; i < most; i++) {
        struct connection *oldest = TAILQ_FIRST(&server->idle);
        bool full = server->connection_count >= server->options.connections;
        if (full && oldest == NULL) {
            pause_door(server);
            return;
        }
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int fd = accept4(server->options.socket, (struct sockaddr *)&address, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (full)
                shut(server, oldest);
            MHD_add_connection(server->http, fd, (struct sockaddr *)&address, size);
            server->http_ready = true;
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_door(server);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

static void shut_door(struct http_server *server) {
    if (server->options.socket >= 0)
        close(server->options.socket);
    server->options.socket = -1;
    server->door_open = false;
    server->door_opens = LULL_NEVER;
}

/* -- a turn -- */

static void take_watch_events(struct http_server *server) {
    struct epoll_event events[EVENTS_PER_TURN];
    int count = epoll_wait(server->watch, events, EVENTS_PER_TURN, 0);
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        switch (watch->kind) {
        case WATCH_DOOR:
            accept_some(server, ACCEPTS_PER_TURN);
            break;
        case WATCH_CLIENT:
            client_left(server, (struct connection *)watch);
            break;
        case WATCH_LINGERER:
            linger_read(server, (struct lingerer *)watch);
            break;
        }
    }
}

static void expire(struct http_server *server) {
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&server->idle)) != NULL && connection->deadline <= server->now)
        shut(server, connection);
    while ((connection = TAILQ_FIRST(&server->busy)) != NULL &&
           connection->deadline <= server->now) {
        if (connection->state == CONNECTION_READING) {
            struct refusal refusal;
            http_refuse_timeout(&refusal, server->options.request);
            wire_send_refusal(server, connection, &refusal);
        }
        shut(server, connection);
    }
    linger_expire(server, server->now);
    if (server->door_opens <= server->now)
        open_door(server);
}

void http_server_ready(struct http_server *server, uint32_t events) {
    if ((events & EPOLLRDNORM) != 0)
        server->watch_ready = true;
    else
        server->http_ready = true;
}

void http_server_run(struct http_server *server, lull_time now) {
    server->now = now;
    if (server->watch_ready)
        take_watch_events(server);
    expire(server);
    if (server->http_ready || server->again) {
        MHD_UNSIGNED_LONG_LONG wait = 1;
        MHD_run(server->http);
        server->again = MHD_get_timeout(server->http, &wait) == MHD_YES && wait == 0;
    }
    close_departing(server);
    server->http_ready = server->watch_ready = false;
}

static lull_time earlier(lull_time a, lull_time b) {
    return a < b ? a : b;
}

static lull_time first_deadline(const struct connections *line) {
    const struct connection *connection = TAILQ_FIRST(line);
    return connection == NULL ? LULL_NEVER : connection->deadline;
}

lull_time http_server_next(const struct http_server *server) {
    if (server->again)
        return server->now;
    return earlier(earlier(first_deadline(&server->idle), first_deadline(&server->busy)),
                   earlier(linger_next(server), server->door_opens));
}

/* -- start and end -- */

static size_t decode_nothing(void *context, struct MHD_Connection *http, char *text) {
    (void)context, (void)http;
    return strlen(text);
}

/* While the server is made, it says why that failed; later, what clients do wrong. */
__attribute__((format(printf, 2, 0))) static void hear(void *context, const char *format,
                                                       va_list arguments) {
    struct http_server *server = context;
    if (server->problem == NULL)
        return;
    char text[256];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    problem_say(server->problem, "cannot start the HTTP server: %s", text);
}

static bool start_http(struct http_server *server, const char *certificate, const char *key) {
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (server->tls ? MHD_USE_TLS : 0);
    server->http = MHD_start_daemon(
        flags, 0, NULL, NULL, http_exchange_handle, server, /* first, to hear of the others: */
        MHD_OPTION_EXTERNAL_LOGGER, hear, server, MHD_OPTION_ARRAY, server->tls ? tls : tls + 3,
        MHD_OPTION_NOTIFY_COMPLETED, http_exchange_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        connection_changed, server, MHD_OPTION_UNESCAPE_CALLBACK, decode_nothing, NULL,
        MHD_OPTION_CONNECTION_LIMIT, 1U << 24, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_PER_CONNECTION, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)READ_AT_ONCE,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    return server->http != NULL;
}

/* A file's text, to be freed; NULL: the problem says why. */
static char *read_file(const char *path, struct problem *problem) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "re");
    char *text = file == NULL ? NULL : malloc(MOST);
    size_t size = text == NULL ? 0 : fread(text, 1, MOST - 1, file);
    if (text == NULL || ferror(file)) {
        problem_say(problem, "cannot read %s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[size] = '\0';
    }
    if (file != NULL)
        fclose(file);
    return text;
}

static void forget(char *secret) {
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

static bool start_daemon(struct http_server *server, struct problem *problem) {
    const struct http_server_options *options = &server->options;
    if (options->certificate == NULL)
        return start_http(server, NULL, NULL);
    const char *key_file = options->key == NULL ? options->certificate : options->key;
    char *certificate = read_file(options->certificate, problem);
    char *key = certificate == NULL ? NULL : read_file(key_file, problem);
    bool started = key != NULL && start_http(server, certificate, key);
    free(certificate);
    forget(key);
    return started;
}

static bool watch(const struct http_server *server, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = server->options.tag};
    return epoll_ctl(server->options.epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int http_epoll(const struct http_server *server) {
    return MHD_get_daemon_info(server->http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static bool start(struct http_server *server, struct problem *problem) {
    problem_say(problem, "cannot start the HTTP server");
    server->problem = problem;
    bool started = start_daemon(server, problem);
    server->problem = NULL;
    if (!started)
        return false;
    server->watch = epoll_create1(EPOLL_CLOEXEC);
    if (server->watch >= 0 && watch(server, server->watch, READY_WATCH) &&
        watch(server, http_epoll(server), READY_HTTP))
        open_door(server);
    return server->door_open ||
           problem_say(problem, "cannot start the HTTP server: %s", strerror(errno));
}

struct http_server *http_server_new(const struct http_server_options *options,
                                    struct problem *problem) {
    struct http_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        problem_say(problem, "cannot start the HTTP server: out of memory");
        close(options->socket);
        return NULL;
    }
    server->options = *options;
    if (options->connections == 0)
        server->options.connections = HTTP_CONNECTIONS;
    if (options->idle == 0)
        server->options.idle = HTTP_IDLE;
    if (options->request == 0)
        server->options.request = HTTP_REQUEST;
    server->tls = options->certificate != NULL;
    server->watch = -1;
    server->door.kind = WATCH_DOOR;
    TAILQ_INIT(&server->idle);
    TAILQ_INIT(&server->busy);
    TAILQ_INIT(&server->handling);
    TAILQ_INIT(&server->departing);
    TAILQ_INIT(&server->spare);
    TAILQ_INIT(&server->lingerers);
    if (start(server, problem))
        return server;
    http_server_destroy(server);
    return NULL;
}

void http_server_quiesce(struct http_server *server) {
    if (server->quiescing)
        return;
    server->quiescing = true;
    /* Closing the socket would reset those in its queue. */
    accept_some(server, (int)server->options.connections);
    shut_door(server);
    for (struct connection *connection = TAILQ_FIRST(&server->idle); connection != NULL;
         connection = TAILQ_NEXT(connection, link))
        connection_see_off(server, connection);
    server->again = true;
}

size_t http_server_connections(const struct http_server *server) {
    return server->connection_count;
}

size_t http_server_exchanges(const struct http_server *server) {
    return server->exchange_count;
}

static void free_spare(struct http_server *server) {
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&server->spare)) != NULL) {
        TAILQ_REMOVE(&server->spare, connection, link);
        free(connection);
    }
    http_exchanges_clean_up(server);
}

/* libmicrohttpd cannot be stopped while connections are suspended. */
static void cut_exchanges(struct http_server *server) {
    for (struct connection *connection = TAILQ_FIRST(&server->handling); connection != NULL;
         connection = TAILQ_NEXT(connection, link)) {
        if (connection->exchange->state == EXCHANGE_WAITING)
            http_exchange_cut(connection->exchange);
    }
}

void http_server_destroy(struct http_server *server) {
    if (server == NULL)
        return;
    shut_door(server);
    if (server->http != NULL) {
        epoll_ctl(server->options.epoll, EPOLL_CTL_DEL, http_epoll(server), NULL);
        cut_exchanges(server);
        MHD_stop_daemon(server->http);
    }
    linger_expire(server, LULL_NEVER);
    free_spare(server);
    if (server->watch >= 0)
        close(server->watch);
    free(server);
}
