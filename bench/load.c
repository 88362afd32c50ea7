/* Sends events to `lull serve` and costs little itself: one thread, plain sockets, requests that were written out beforehand.
 *
 *   load --port 8080 --connections 64 --seconds 5                  one event a request, as fast as they are answered
 *   load --port 8080 --connections 4 --batch 1000 --events 200000  by POST /v1/events:batch
 *   load --port 8080 --connections 100 --destinations 50 --rate 4000 --seconds 10
 *
 * Each connection has one request under way. With --rate requests are due by the clock: when all connections are busy, those that are late count from
 * when they were due. Single events begin with that moment (20 digits, CLOCK_MONOTONIC in ns), by which bench/sink.c tells how long they took.
 * Events go to --destination NAME; with --destinations N to NAME0 … NAME(N-1) in turn.
 *
 * Prints one JSON object: events, failed, seconds, cpu_seconds, events_per_second, p50_ms, p99_ms, max_ms (of requests).
 */
#include "histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define STAMP_DIGITS 20
#define SECOND INT64_C(1000000000)

struct options {
    const char *destination;
    uint32_t destinations; /* 0: one, by the bare name */
    uint32_t connections, batch, payload;
    uint64_t events; /* 0: as many as fit into the time */
    double seconds;  /* 0: as long as it takes */
    double rate;     /* of requests; 0: as fast as they are answered */
    uint16_t port;
};

struct connection {
    int socket;
    bool busy;
    char *request;
    size_t length, sent;
    char *stamp; /* in the request; NULL: it has none */
    int64_t due;
    char head[1024]; /* of the answer */
    size_t head_length, body_left;
    bool in_body;
    bool refused; /* the status was no 2xx */
};

struct load {
    struct options options;
    int epoll;
    struct connection *connections;
    uint32_t next, busy; /* whose turn it is; how many requests are under way */
    int64_t began, ends;
    uint64_t started, answered, failed;
    struct histogram times;
    char complaint[300];
};

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static _Noreturn void die(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- requests ---- */

static void name_of(const struct options *options, uint64_t index, char *name, size_t size) {
    if (options->destinations == 0)
        snprintf(name, size, "%s", options->destination);
    else
        snprintf(name, size, "%s%u", options->destination,
                 (unsigned)(index % options->destinations));
}

static char *batch_body(const struct options *options, uint64_t first, size_t *length) {
    char name[100], *text = NULL;
    FILE *file = open_memstream(&text, length);
    if (file == NULL)
        die("memory");
    for (uint32_t line = 0; line < options->batch; line++) {
        name_of(options, first + line, name, sizeof name);
        fprintf(file, "{\"destination\":\"%s\",\"payload\":\"", name);
        for (uint32_t i = 0; i < options->payload; i++)
            fputc('a' + (int)(i % 26), file);
        fputs("\"}\n", file);
    }
    fclose(file);
    return text;
}

static void write_request(const struct options *options, uint32_t index,
                          struct connection *connection) {
    char name[100];
    size_t length = options->payload;
    char *body = options->batch > 0 ? batch_body(options, (uint64_t)index * options->batch, &length)
                                    : malloc(length + 1);
    FILE *file = open_memstream(&connection->request, &connection->length);
    if (file == NULL || body == NULL)
        die("memory");
    if (options->batch > 0) {
        fputs("POST /v1/events:batch HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n", file);
    } else {
        memset(body, 'x', length);
        name_of(options, index, name, sizeof name);
        fprintf(file, "POST /v1/destinations/%s/events HTTP/1.1\r\nContent-Type: text/plain\r\n",
                name);
    }
    fprintf(file, "Host: 127.0.0.1:%u\r\nContent-Length: %zu\r\n\r\n", options->port, length);
    fwrite(body, 1, length, file);
    fclose(file);
    free(body);
    if (options->batch == 0 && length >= STAMP_DIGITS)
        connection->stamp = connection->request + connection->length - length;
}

/* ---- one connection ---- */

static void connect_to(struct load *load, struct connection *connection) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(load->options.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->socket < 0 ||
        connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
        die("epoll_ctl");
}

static void watch(struct load *load, struct connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    epoll_ctl(load->epoll, EPOLL_CTL_MOD, connection->socket, &event);
}

static void send_more(struct load *load, struct connection *connection) {
    bool waited = connection->sent > 0;
    while (connection->sent < connection->length) {
        ssize_t count = send(connection->socket, connection->request + connection->sent,
                             connection->length - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            watch(load, connection, EPOLLIN | EPOLLOUT);
            return;
        }
        if (count < 0)
            die("send");
        connection->sent += (size_t)count;
    }
    if (waited)
        watch(load, connection, EPOLLIN);
}

static void start(struct load *load, struct connection *connection, int64_t due) {
    connection->busy = true;
    connection->due = due;
    connection->sent = connection->head_length = connection->body_left = 0;
    connection->in_body = connection->refused = false;
    if (connection->stamp != NULL) {
        char digits[STAMP_DIGITS + 1];
        snprintf(digits, sizeof digits, "%0*" PRId64, STAMP_DIGITS, due);
        memcpy(connection->stamp, digits, STAMP_DIGITS);
    }
    load->started++;
    load->busy++;
    send_more(load, connection);
}

static void finish(struct load *load, struct connection *connection, int64_t now) {
    connection->busy = false;
    load->busy--;
    load->answered++;
    if (connection->refused)
        load->failed++;
    histogram_add(&load->times, now - connection->due);
}

/* ---- answers ---- */

static void read_head(struct load *load, struct connection *connection) {
    char *end = memmem(connection->head, connection->head_length, "\r\n\r\n", 4);
    if (end == NULL) {
        if (connection->head_length == sizeof connection->head - 1)
            die("an answer's head is too long");
        return;
    }
    connection->head[connection->head_length] = '\0';
    const char *length = strcasestr(connection->head, "\r\ncontent-length:");
    if (length == NULL || length > end) {
        errno = EPROTO;
        die("an answer without Content-Length");
    }
    size_t body = strtoull(length + strlen("\r\ncontent-length:"), NULL, 10);
    size_t here = connection->head_length - (size_t)(end + 4 - connection->head);
    connection->refused = connection->head[9] != '2';
    if (connection->refused && load->complaint[0] == '\0')
        snprintf(load->complaint, sizeof load->complaint, "%.*s", 250, connection->head);
    connection->in_body = true;
    connection->body_left = body > here ? body - here : 0;
}

static void receive(struct load *load, struct connection *connection) {
    static char nothing[1 << 18];
    bool head = !connection->in_body;
    char *into = head ? connection->head + connection->head_length : nothing;
    size_t room = head ? sizeof connection->head - 1 - connection->head_length : sizeof nothing;
    ssize_t count = recv(connection->socket, into, room, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        if (count == 0)
            errno = ECONNRESET;
        die("recv");
    }
    if (head) {
        connection->head_length += (size_t)count;
        read_head(load, connection);
    } else {
        connection->body_left -=
            (size_t)count < connection->body_left ? (size_t)count : connection->body_left;
    }
    if (connection->in_body && connection->body_left == 0)
        finish(load, connection, now_ns());
}

/* ---- the loop ---- */

static uint64_t most_requests(const struct options *options) {
    uint64_t each = options->batch > 0 ? options->batch : 1;
    return options->events > 0 ? (options->events + each - 1) / each : UINT64_MAX;
}

static bool may_start(const struct load *load, int64_t now) {
    return load->started < most_requests(&load->options) && now < load->ends;
}

static int64_t due_at(const struct load *load, uint64_t request) {
    return load->began + (int64_t)((double)request * 1e9 / load->options.rate);
}

/* Starts what is due on connections that are free, each in its turn, so that destinations get equal shares. */
static void start_due(struct load *load, int64_t now) {
    while (load->busy < load->options.connections && may_start(load, now)) {
        int64_t due = load->options.rate > 0 ? due_at(load, load->started) : now;
        if (due > now)
            return;
        while (load->connections[load->next].busy)
            load->next = (load->next + 1) % load->options.connections;
        struct connection *connection = &load->connections[load->next];
        load->next = (load->next + 1) % load->options.connections;
        start(load, connection, due);
    }
}

static void wait_for_events(struct load *load, int64_t now) {
    struct epoll_event events[256];
    struct timespec timeout = {.tv_sec = 1}, *patience = &timeout;
    if (load->options.rate > 0 && may_start(load, now) && load->busy < load->options.connections) {
        int64_t left = due_at(load, load->started) - now;
        timeout.tv_sec = left > 0 ? left / SECOND : 0;
        timeout.tv_nsec = left > 0 ? left % SECOND : 0;
    }
    int count = epoll_pwait2(load->epoll, events, 256, patience, NULL);
    for (int i = 0; i < count; i++) {
        struct connection *connection = events[i].data.ptr;
        if ((events[i].events & EPOLLOUT) != 0)
            send_more(load, connection);
        if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            receive(load, connection);
    }
}

static void run(struct load *load) {
    load->began = now_ns();
    load->ends = load->options.seconds > 0 ? load->began + (int64_t)(load->options.seconds * 1e9)
                                           : INT64_MAX;
    for (;;) {
        int64_t now = now_ns();
        start_due(load, now);
        if (load->busy == 0 && !may_start(load, now))
            return;
        wait_for_events(load, now);
    }
}

static void print(const struct load *load) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    double seconds = (double)(now_ns() - load->began) / 1e9;
    uint64_t each = load->options.batch > 0 ? load->options.batch : 1;
    uint64_t events = (load->answered - load->failed) * each;
    if (load->complaint[0] != '\0')
        fprintf(stderr, "load: %s\n", load->complaint);
    printf("{\"events\":%" PRIu64 ",\"failed\":%" PRIu64
           ",\"seconds\":%.4f,\"cpu_seconds\":%.4f,\"events_per_second\":%.1f,"
           "\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n",
           events, load->failed, seconds, (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9,
           (double)events / seconds, (double)histogram_quantile(&load->times, 0.5) / 1e6,
           (double)histogram_quantile(&load->times, 0.99) / 1e6, (double)load->times.largest / 1e6);
}

/* ---- options ---- */

static void parse(int count, char **arguments, struct options *options) {
    static const struct option names[] = {
        {"port", required_argument, NULL, 'p'},
        {"connections", required_argument, NULL, 'c'},
        {"destination", required_argument, NULL, 'd'},
        {"destinations", required_argument, NULL, 'n'},
        {"batch", required_argument, NULL, 'b'},
        {"payload", required_argument, NULL, 'l'},
        {"events", required_argument, NULL, 'e'},
        {"seconds", required_argument, NULL, 's'},
        {"rate", required_argument, NULL, 'r'},
        {NULL, 0, NULL, 0},
    };
    *options =
        (struct options){.destination = "hooks", .connections = 64, .payload = 512, .port = 8080};
    for (int flag; (flag = getopt_long(count, arguments, "", names, NULL)) != -1;) {
        switch (flag) {
        case 'p':
            options->port = (uint16_t)strtoul(optarg, NULL, 10);
            break;
        case 'c':
            options->connections = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'd':
            options->destination = optarg;
            break;
        case 'n':
            options->destinations = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'b':
            options->batch = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'l':
            options->payload = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'e':
            options->events = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options->seconds = strtod(optarg, NULL);
            break;
        case 'r':
            options->rate = strtod(optarg, NULL);
            break;
        default:
            exit(2);
        }
    }
    if (options->connections == 0 || (options->events == 0 && options->seconds <= 0)) {
        fputs("load: needs --connections, and --events or --seconds\n", stderr);
        exit(2);
    }
}

int main(int count, char **arguments) {
    static struct load load;
    parse(count, arguments, &load.options);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.connections = calloc(load.options.connections, sizeof *load.connections);
    if (load.connections == NULL || load.epoll < 0)
        die("memory");
    for (uint32_t i = 0; i < load.options.connections; i++) {
        write_request(&load.options, i, &load.connections[i]);
        connect_to(&load, &load.connections[i]);
    }
    run(&load);
    print(&load);
    for (uint32_t i = 0; i < load.options.connections; i++) {
        close(load.connections[i].socket);
        free(load.connections[i].request);
    }
    free(load.connections);
    close(load.epoll);
    return load.failed > 0;
}
