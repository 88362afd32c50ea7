#include "testing.h"

#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 200000, KEPT = 64, HEARD = 2 << 20 };
#define IDLE (60 * SECOND)
#define REQUEST (30 * SECOND)

/* A server in the test's own loop, under a clock that moves only when told to. */
struct stage {
    struct http_server *server;
    int epoll, tag;
    struct sockaddr_in address;
    lull_time now;
    bool later;                  /* exchanges are kept, and answered by the test */
    struct exchange *kept[KEPT]; /* in the order in which they came */
    size_t kept_count, handled;
    void (*look)(struct exchange *exchange);
    struct answer answer;
    char heard[HEARD]; /* what the client read last */
    size_t heard_size;
};

static const struct answer good = {
    .status = 200, .content_type = "text/plain", .body = "good", .length = 4};

/* -- the server's side -- */

static int64_t limit(void *context, const struct exchange *exchange) {
    const char *method = exchange_method(exchange), *path = exchange_path(exchange);
    (void)context, (void)method;
    return strcmp(path, "/tiny") == 0 ? 4 : LIMIT;
}

static void handle(void *context, struct exchange *exchange) {
    struct stage *stage = context;
    stage->handled++;
    if (stage->look != NULL)
        stage->look(exchange);
    if (stage->later) {
        assert_true(stage->kept_count < KEPT);
        stage->kept[stage->kept_count++] = exchange;
        return;
    }
    exchange_answer(exchange, &stage->answer);
}

static void start(struct stage *stage, struct http_server_options options) {
    char address[HTTP_ADDRESS_SIZE];
    struct problem problem;
    *stage = (struct stage){.now = 1000 * SECOND, .answer = good, .epoll = epoll_create1(0)};
    assert_true(http_listen("127.0.0.1:0", 1, &options.socket, address, &problem));
    stage->address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    options.epoll = stage->epoll;
    options.tag = &stage->tag;
    options.context = stage;
    options.limit = limit;
    options.handle = handle;
    stage->server = http_server_new(&options, &problem);
    assert_non_null(stage->server);
}

static int set_up(void **state) {
    struct stage *stage = malloc(sizeof *stage);
    start(stage, (struct http_server_options){.idle = IDLE, .request = REQUEST, .connections = 8});
    *state = stage;
    return 0;
}

static int tear_down(void **state) {
    struct stage *stage = *state;
    http_server_destroy(stage->server);
    close(stage->epoll);
    free(stage);
    return 0;
}

static void turn(struct stage *stage, int milliseconds) {
    struct epoll_event events[8];
    if (http_server_next(stage->server) <= stage->now)
        milliseconds = 0;
    int count = epoll_wait(stage->epoll, events, COUNT(events), milliseconds);
    for (int i = 0; i < count; i++) {
        assert_ptr_equal(events[i].data.ptr, &stage->tag);
        http_server_ready(stage->server, events[i].events);
    }
    http_server_run(stage->server, stage->now);
}

/* Turns until it is so; fails after a time that no working server needs. */
#define TURN_UNTIL(stage, condition)                                                               \
    do {                                                                                           \
        time_t begun = time(NULL);                                                                 \
        while (!(condition)) {                                                                     \
            if (time(NULL) > begun + 20)                                                           \
                fail_msg("never: %s", #condition);                                                 \
            turn(stage, 5);                                                                        \
        }                                                                                          \
    } while (0)

/* Long enough for whatever was going to happen. */
static void rest(struct stage *stage) {
    for (int i = 0; i < 10; i++)
        turn(stage, 3);
}

static void pass(struct stage *stage, lull_duration time) {
    stage->now += time;
    rest(stage);
}

static void answer_all(struct stage *stage) {
    for (size_t i = 0; i < stage->kept_count; i++)
        exchange_answer(stage->kept[i], &stage->answer);
    stage->kept_count = 0;
}

/* -- the client's side -- */

static int dial(struct stage *stage) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&stage->address, sizeof stage->address), 0);
    stage->heard_size = 0;
    return fd;
}

static void say_bytes(struct stage *stage, int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno != EAGAIN) {
            return; /* closed: the test will find out what came before */
        }
        turn(stage, 0);
    }
}

static void say(struct stage *stage, int fd, const char *text) {
    say_bytes(stage, fd, text, strlen(text));
}

/* False: the end. */
static bool listen_once(struct stage *stage, int fd) {
    ssize_t got =
        recv(fd, stage->heard + stage->heard_size, HEARD - 1 - stage->heard_size, MSG_DONTWAIT);
    if (got > 0)
        stage->heard_size += (size_t)got;
    stage->heard[stage->heard_size] = '\0';
    return got > 0 || (got < 0 && errno == EAGAIN);
}

/* Whole answers in what was heard. */
static size_t answers(const struct stage *stage) {
    const char *text = stage->heard, *end = text + stage->heard_size;
    size_t count = 0;
    for (;;) {
        const char *body = strstr(text, "\r\n\r\n");
        if (body == NULL)
            return count;
        body += 4;
        const char *length = strstr(text, "Content-Length: ");
        long size = length == NULL || length > body ? 0 : atol(length + 16);
        if (size > end - body)
            return count;
        text = body + size;
        count++;
    }
}

static void hear(struct stage *stage, int fd, size_t count) {
    stage->heard_size = 0;
    stage->heard[0] = '\0';
    TURN_UNTIL(stage, !listen_once(stage, fd) || answers(stage) >= count);
    assert_int_equal(answers(stage), count);
}

static void hear_end(struct stage *stage, int fd) {
    stage->heard_size = 0;
    TURN_UNTIL(stage, !listen_once(stage, fd));
}

static bool is_open(struct stage *stage, int fd) {
    rest(stage);
    return listen_once(stage, fd);
}

#define assert_heard(stage, text) assert_non_null(strstr((stage)->heard, text))
#define assert_not_heard(stage, text) assert_null(strstr((stage)->heard, text))

static void leave(struct stage *stage, int fd) {
    close(fd);
    TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
}

static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/* -- exchanges -- */

static void look_at_everything(struct exchange *exchange) {
    char client[64];
    size_t length;
    assert_string_equal(exchange_method(exchange), "POST");
    assert_string_equal(exchange_path(exchange), "/v1/a%2Fb%00");
    assert_string_equal(exchange_query(exchange, "type"), "order.paid & \xC3\xA4%zz\xFF%2");
    assert_string_equal(exchange_query(exchange, "a b"), "c d+");
    assert_string_equal(exchange_query(exchange, "flag"), "");
    assert_string_equal(exchange_query(exchange, "empty"), "");
    assert_null(exchange_query(exchange, "Type"));
    assert_string_equal(exchange_header(exchange, "content-TYPE"), "text/x");
    assert_null(exchange_header(exchange, "type"));
    assert_memory_equal(exchange_body(exchange, &length), "he\0lo", 6);
    assert_int_equal(length, 5);
    assert_string_equal(exchange_client(exchange, client), "127.0.0.1");
    assert_null(exchange_data(exchange));
    exchange_set_data(exchange, &length);
    assert_ptr_equal(exchange_data(exchange), &length);
}

static void test_what_is_asked(void **state) {
    struct stage *stage = *state;
    static const char request[] =
        "POST /v1/a%2Fb%00?type=order.paid+%26%20%c3%A4%zz%ff%2&%61+b=c+d%2B&flag&empty= "
        "HTTP/1.1\r\n"
        "Host: x\r\nContent-Type: text/x\r\nContent-Length: 5\r\n\r\nhe\0lo";
    int fd = dial(stage);
    stage->look = look_at_everything;
    say_bytes(stage, fd, request, sizeof request - 1);
    hear(stage, fd, 1);
    assert_int_equal(stage->handled, 1);
    assert_heard(stage, "HTTP/1.1 200 OK\r\n");
    assert_heard(stage, "Content-Type: text/plain\r\n");
    assert_heard(stage, "Content-Length: 4\r\n");
    assert_heard(stage, "\r\n\r\ngood");
    leave(stage, fd);
}

static void look_for_no_body(struct exchange *exchange) {
    size_t length = 1;
    assert_null(exchange_body(exchange, &length));
    assert_int_equal(length, 0);
}

static void test_later_on_a_connection_that_stays(void **state) {
    struct stage *stage = *state;
    int fd = dial(stage);
    stage->later = true;
    stage->look = look_for_no_body;
    for (int i = 0; i < 5; i++) {
        say(stage, fd, get);
        TURN_UNTIL(stage, stage->kept_count == 1);
        assert_int_equal(http_server_exchanges(stage->server), 1);
        pass(stage, 1000 * SECOND); /* the handler may take its time */
        answer_all(stage);
        assert_int_equal(http_server_exchanges(stage->server), 0);
        hear(stage, fd, 1);
        assert_heard(stage, "good");
    }
    assert_int_equal(http_server_connections(stage->server), 1);
    leave(stage, fd);
}

static void test_pipelining(void **state) {
    struct stage *stage = *state;
    int fd = dial(stage);
    say(stage, fd,
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
        "GET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(stage, fd, 3);
    assert_int_equal(stage->handled, 3);
    stage->later = true;
    say(stage, fd,
        "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3 "
        "HTTP/1.1\r\nHost: "
        "x\r\n\r\n");
    for (int i = 1; i <= 3; i++) {
        char path[3] = {'/', (char)('0' + i), '\0'};
        TURN_UNTIL(stage, stage->kept_count == 1); /* one after the other */
        assert_string_equal(exchange_path(stage->kept[0]), path);
        answer_all(stage);
        hear(stage, fd, 1);
    }
    leave(stage, fd);
}

static void test_kinds_of_answers(void **state) {
    struct stage *stage = *state;
    int fd = dial(stage);
    say(stage, fd, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    TURN_UNTIL(stage, listen_once(stage, fd) && strstr(stage->heard, "\r\n\r\n"));
    rest(stage);
    assert_true(listen_once(stage, fd));
    assert_heard(stage, "Content-Length: 4\r\n");
    assert_string_equal(strstr(stage->heard, "\r\n\r\n"), "\r\n\r\n");

    struct answer_field fields[] = {{"Retry-After", "7"}, {"Location", "/x"}};
    stage->answer = (struct answer){.status = 204, .fields = fields, .field_count = 2};
    say(stage, fd, get);
    hear(stage, fd, 1);
    assert_heard(stage, "HTTP/1.1 204 No Content\r\n");
    assert_heard(stage, "\r\nRetry-After: 7\r\n");
    assert_heard(stage, "\r\nLocation: /x\r\n");
    assert_not_heard(stage, "Content-");

    enum { LARGE = 1 << 20 };
    stage->answer = good;
    stage->answer.body = malloc(LARGE);
    memset((char *)stage->answer.body, 'z', LARGE);
    stage->answer.length = LARGE;
    for (int take = 0; take < 2; take++) { /* copied, then taken */
        stage->answer.take = take == 1;
        say(stage, fd, get);
        hear(stage, fd, 1);
        assert_int_equal(strspn(strstr(stage->heard, "\r\n\r\n") + 4, "z"), LARGE);
    }
    stage->answer = (struct answer){.status = 200, .body = malloc(3), .take = true};
    say(stage, fd, get);
    hear(stage, fd, 1);
    assert_heard(stage, "Content-Length: 0\r\n");
    leave(stage, fd);
}

static void echo(struct exchange *exchange) {
    size_t length;
    char *body = exchange_body(exchange, &length);
    struct answer_field field = {"X-First", body};
    body[3] = '\0';
    exchange_answer(exchange, &(struct answer){.status = 200,
                                               .content_type = "a/b",
                                               .body = body + 4,
                                               .length = length - 4,
                                               .fields = &field,
                                               .field_count = 1});
}

static void test_an_answer_made_of_the_request(void **state) {
    struct stage *stage = *state;
    int fd = dial(stage);
    stage->later = true;
    say(stage, fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\none,two,3");
    TURN_UNTIL(stage, stage->kept_count == 1);
    echo(stage->kept[0]);
    hear(stage, fd, 1);
    assert_heard(stage, "X-First: one\r\n");
    assert_heard(stage, "\r\n\r\ntwo,3");
    leave(stage, fd);
}

/* -- bodies -- */

static size_t expected_size;

static void look_at_pattern(struct exchange *exchange) {
    size_t length;
    const char *body = exchange_body(exchange, &length);
    assert_int_equal(length, expected_size);
    for (size_t i = 0; i < length; i++) {
        if (body[i] != (char)('a' + i % 23))
            fail_msg("byte %zu is %d", i, body[i]);
    }
    assert_int_equal(body[length], '\0');
}

static void test_sizes(void **state) {
    struct stage *stage = *state;
    static const size_t sizes[] = {1, 511, 4094, 4095, 4096, 4097, 16384, 100000, LIMIT};
    static const char *const methods[] = {"POST", "PUT", "PATCH", "GET", "DELETE"};
    char *pattern = malloc(LIMIT), head[200];
    int fd = dial(stage);
    for (size_t i = 0; i < LIMIT; i++)
        pattern[i] = (char)('a' + i % 23);
    stage->look = look_at_pattern;
    for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
        expected_size = sizes[i / 2];
        const char *method = methods[i % COUNT(methods)];
        if (i % 2 == 0) {
            snprintf(head, sizeof head, "%s / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                     method, expected_size);
            say(stage, fd, head);
            say_bytes(stage, fd, pattern, expected_size);
        } else {
            size_t part = expected_size / 2;
            snprintf(head, sizeof head,
                     "%s / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n%zx\r\n",
                     method, expected_size - part);
            say(stage, fd, head);
            say_bytes(stage, fd, pattern, expected_size - part);
            if (part > 0) {
                snprintf(head, sizeof head, "\r\n%zx;x=y\r\n", part);
                say(stage, fd, head);
                say_bytes(stage, fd, pattern + expected_size - part, part);
            }
            say(stage, fd, "\r\n0\r\n\r\n");
        }
        hear(stage, fd, 1);
        assert_heard(stage, "HTTP/1.1 200 OK\r\n");
    }
    assert_int_equal(stage->handled, 2 * COUNT(sizes));
    free(pattern);
    leave(stage, fd);
}

static void test_continue(void **state) {
    struct stage *stage = *state;
    int fd = dial(stage);
    say(stage, fd,
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    hear(stage, fd, 1);
    assert_string_equal(stage->heard, "HTTP/1.1 100 Continue\r\n\r\n");
    say(stage, fd, "abc");
    hear(stage, fd, 1);
    assert_heard(stage, "200 OK");
    leave(stage, fd);
}

static void test_too_large(void **state) {
    struct stage *stage = *state;
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200001\r\n\r\n",
        "PATCH / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\nsome of it",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9223372036854775807\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 200001\r\n\r\n",
        "POST /tiny HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345",
        "POST /tiny HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345",
        "POST /tiny HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n2\r\n12",
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        bool tiny = strstr(heads[i], "/tiny") != NULL;
        int fd = dial(stage);
        say(stage, fd, heads[i]);
        hear(stage, fd, 1); /* without having seen the rest */
        assert_heard(stage, "HTTP/1.1 413 Content Too Large\r\n");
        assert_heard(stage, "Content-Type: application/problem+json\r\n");
        assert_heard(stage, "Connection: close\r\n");
        assert_heard(stage, tiny ? "\"detail\":\"the body may have at most 4 bytes\"}"
                                 : "\"detail\":\"the body may have at most 200000 bytes\"}");
        hear_end(stage, fd);
        close(fd);
    }
    assert_int_equal(stage->handled, 0);
    TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
}

static void send_more(struct stage *stage, int fd, size_t size) {
    char piece[8192] = {0};
    for (; size > 0; size -= sizeof piece)
        say_bytes(stage, fd, piece, sizeof piece);
}

/* A client that reads only after it has sent everything must not lose the answer to a reset. */
static void test_answers_before_the_end_of_the_body_are_not_lost(void **state) {
    struct stage *stage = *state;
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 524288\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n80000\r\n",
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        int fd = dial(stage);
        say(stage, fd, heads[i]);
        send_more(stage, fd, 524288);
        assert_int_equal(send(fd, "", 1, MSG_NOSIGNAL), 1); /* no reset has come */
        hear(stage, fd, 1);
        assert_heard(stage, "HTTP/1.1 413 ");
        /* … but it is not waited for without end. */
        pass(stage, 2 * SECOND);
        TURN_UNTIL(stage, send(fd, "", 1, MSG_NOSIGNAL) < 0);
        leave(stage, fd);
    }
}

/* All bodies together are bounded: one that fits alone has to wait for its turn. */
static void test_many_large_bodies(void **state) {
    (void)state;
    struct stage here, *stage = &here;
    start(stage, (struct http_server_options){.idle = IDLE, .request = REQUEST, .bodies = 250000});
    static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 150000\r\n\r\n";
    int first = dial(stage), second = dial(stage), chunked = dial(stage), small = dial(stage);
    say(stage, first, head);
    rest(stage);
    say(stage, second, head);
    hear(stage, second, 1);
    assert_heard(stage, "HTTP/1.1 503 ");
    assert_heard(stage, "\"code\":\"busy\"");
    say(stage, chunked,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n");
    send_more(stage, chunked, 131072);
    hear(stage, chunked, 1);
    assert_heard(stage, "HTTP/1.1 503 ");
    say(stage, small, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nsmall");
    hear(stage, small, 1);
    assert_heard(stage, "200 OK");
    close(second);
    close(chunked);
    close(first); /* half-way: its room is free again */
    TURN_UNTIL(stage, http_server_connections(stage->server) == 1);
    int third = dial(stage);
    say(stage, third, head);
    send_more(stage, third, 150000 / 8192 * 8192);
    char rest_of_it[150000 % 8192];
    memset(rest_of_it, 'x', sizeof rest_of_it);
    say_bytes(stage, third, rest_of_it, sizeof rest_of_it);
    hear(stage, third, 1);
    assert_heard(stage, "200 OK");
    close(small);
    leave(stage, third);
    http_server_destroy(stage->server);
    close(stage->epoll);
}

/* -- time -- */

static void test_slow_header(void **state) {
    struct stage *stage = *state;
    int silent = dial(stage), dripping = dial(stage), punctual = dial(stage);
    rest(stage);
    say(stage, dripping, "GET / HTTP/1.1\r\nHost: ");
    say(stage, punctual, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 59; i++) {
        pass(stage, SECOND);
        say(stage, dripping, "x");
    }
    assert_true(is_open(stage, silent) && is_open(stage, dripping));
    say(stage, punctual, "Host: x\r\n\r\n");
    hear(stage, punctual, 1);
    rest(stage);
    pass(stage, SECOND - 1);
    assert_true(is_open(stage, silent) && is_open(stage, dripping));
    assert_int_equal(http_server_next(stage->server), stage->now + 1);
    pass(stage, 1);
    hear_end(stage, silent);
    hear_end(stage, dripping);
    assert_int_equal(http_server_connections(stage->server), 1);
    /* Its time began anew with the end of the answer. */
    assert_true(is_open(stage, punctual));
    pass(stage, IDLE - SECOND - 1);
    assert_true(is_open(stage, punctual));
    pass(stage, 1);
    hear_end(stage, punctual);
    assert_int_equal(http_server_connections(stage->server), 0);
    assert_int_equal(http_server_next(stage->server), LULL_NEVER);
    close(silent), close(dripping), close(punctual);
}

static void test_slow_body(void **state) {
    struct stage *stage = *state;
    int fd = dial(stage);
    say(stage, fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
    rest(stage);
    for (int i = 0; i < 29; i++) {
        pass(stage, SECOND);
        say(stage, fd, "x");
    }
    pass(stage, SECOND - 1);
    assert_true(is_open(stage, fd));
    pass(stage, 1);
    hear(stage, fd, 1);
    assert_heard(stage, "HTTP/1.1 408 Request Timeout\r\n");
    assert_heard(stage, "\"detail\":\"the body was not complete within 30 s\"}");
    hear_end(stage, fd);
    assert_int_equal(stage->handled, 0);
    leave(stage, fd);
}

static void test_answer_not_read(void **state) {
    struct stage *stage = *state;
    enum { LARGE = 32 << 20 };
    int fd = dial(stage);
    stage->answer.body = calloc(1, LARGE);
    stage->answer.length = LARGE;
    stage->answer.take = true;
    say(stage, fd, get);
    pass(stage, REQUEST - 1);
    assert_int_equal(http_server_connections(stage->server), 1);
    pass(stage, 1);
    TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
    close(fd);
}

/* -- leaving -- */

static void reset(int fd) {
    struct linger hard = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static void test_gone_before_the_answer(void **state) {
    struct stage *stage = *state;
    stage->later = true;
    for (int hard = 0; hard < 2; hard++) {
        int fd = dial(stage);
        say(stage, fd, "GET /stays HTTP/1.1\r\nHost: x\r\n\r\n");
        TURN_UNTIL(stage, stage->kept_count == 1);
        hard ? reset(fd) : (void)close(fd);
        rest(stage);
        /* All that the handler was given is still there. */
        assert_string_equal(exchange_path(stage->kept[0]), "/stays");
        assert_string_equal(exchange_header(stage->kept[0], "host"), "x");
        answer_all(stage);
        TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
    }
    assert_int_equal(http_server_exchanges(stage->server), 0);
}

/* Whoever has shut down its sending half waits for the answer. */
static void test_half_closed(void **state) {
    struct stage *stage = *state;
    for (int later = 0; later < 2; later++) {
        int fd = dial(stage);
        stage->later = later == 1;
        /* Both at once: libmicrohttpd overlooks the end. */
        int on = 1, off = 0;
        setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
        send(fd, get, sizeof get - 1, 0);
        send(fd, get, sizeof get - 1, 0);
        shutdown(fd, SHUT_WR);
        setsockopt(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
        if (stage->later) {
            TURN_UNTIL(stage, stage->kept_count == 1);
            rest(stage);
            answer_all(stage);
            TURN_UNTIL(stage, stage->kept_count == 1);
            answer_all(stage);
        }
        hear(stage, fd, 2);
        hear_end(stage, fd);
        TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
        close(fd);
    }
}

/* Nothing that was sent before the farewell is lost, even if it cannot be read in one go. */
static void test_much_before_leaving(void **state) {
    struct stage *stage = *state;
    enum { REQUESTS = 500, BODY = 30000 };
    char *text = malloc(REQUESTS * (sizeof get - 1) + 100 + BODY);
    size_t size = 0;
    for (int i = 0; i < REQUESTS; i++, size += sizeof get - 1)
        memcpy(text + size, get, sizeof get - 1);
    size += (size_t)sprintf(
        text + size, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%*d", BODY, BODY, 1);
    int fd = dial(stage);
    assert_int_equal(send(fd, text, size, 0), size); /* before the server's first look */
    shutdown(fd, SHUT_WR);
    hear(stage, fd, REQUESTS + 1);
    assert_int_equal(stage->handled, REQUESTS + 1);
    hear_end(stage, fd);
    free(text);
    leave(stage, fd);
}

static void test_gone_in_the_middle(void **state) {
    struct stage *stage = *state;
    static const char *const parts[] = {
        "",
        "GET / HT",
        "GET / HTTP/1.1\r\nHost: x\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab",
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na",
    };
    for (size_t i = 0; i < 4 * COUNT(parts); i++) {
        int fd = dial(stage);
        (void)!send(fd, parts[i / 4], strlen(parts[i / 4]), 0);
        if (i % 2 == 0)
            rest(stage);
        i / 2 % 2 == 0 ? reset(fd) : (void)close(fd);
        rest(stage); /* without waiting for a time-out */
        TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
    }
    assert_int_equal(stage->handled, 0);
}

static void test_destroyed_with_everything_under_way(void **state) {
    struct stage *stage = malloc(sizeof *stage);
    (void)state;
    start(stage, (struct http_server_options){0});
    stage->later = true;
    int waiting = dial(stage), answered = dial(stage), reading = dial(stage), idle = dial(stage),
        large = dial(stage);
    say(stage, answered, get);
    TURN_UNTIL(stage, stage->kept_count == 1);
    say(stage, waiting, get);
    TURN_UNTIL(stage, stage->kept_count == 2);
    say(stage, reading, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nab");
    say(stage, large, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nab");
    rest(stage);
    exchange_answer(stage->kept[0], &good); /* and no turn follows */
    http_server_destroy(stage->server);
    assert_true(recv(waiting, stage->heard, 10, 0) <= 0);
    close(waiting), close(answered), close(reading), close(idle), close(large);
    close(stage->epoll);
    free(stage);
    http_server_destroy(NULL);
}

/* -- requests that could be read in two ways -- */

struct shape {
    const char *text;
    size_t size;
    const char *status;
};
#define SHAPE(status, text)                                                                        \
    { text, sizeof(text) - 1, "HTTP/1.1 " status " " }
#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static void test_smuggling(void **state) {
    struct stage *stage = *state;
    static const struct shape shapes[] = {
        SHAPE("400", POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
        SHAPE("400", POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length: 5, 5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length: +5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length: -5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length: 0x5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length:\r\n\r\nhello"),
        SHAPE("413", POST "Content-Length: 99999999999999999999\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length : 5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length\t: 5\r\n\r\nhello"),
        SHAPE("400", POST "Content-Length:\r\n 5\r\n\r\nhello"),
        SHAPE("400", POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: chu\r\n\tnked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "A: b\r\n c\r\n\r\n"),
        SHAPE("400", "GET / HTTP/1.1\r\n Host: x\r\nHost: x\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400",
              POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "Transfer-Encoding: \x0b"
                          "chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("400", POST "A: b\rContent-Length: 5\r\n\r\nhello"),
        SHAPE("400", POST "A\0b: c\r\n\r\n"),
        SHAPE("400", POST "nonsense\r\n\r\n"),
        SHAPE("400", POST "Host: y\r\n\r\n"),
        SHAPE("400", "GET / HTTP/1.1\r\n\r\n"),
        SHAPE("400", CHUNKED "zz\r\n\r\n0\r\n\r\n"),
        SHAPE("400", CHUNKED "-1\r\n\r\n0\r\n\r\n"),
        SHAPE("400", CHUNKED "0x1\r\na\r\n0\r\n\r\n"),
        SHAPE("400", CHUNKED "1\r\nabc\r\n0\r\n\r\n"),
        SHAPE("413", CHUNKED "ffffffffffffffff1\r\na\r\n0\r\n\r\n"),
        SHAPE("400", "GET /?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
        SHAPE("400", "GET /?%00=a HTTP/1.1\r\nHost: x\r\n\r\n"),
        SHAPE("400", "GET /\r\n\r\n"),
        SHAPE("505", "GET / HTTP/1.2\r\nHost: x\r\n\r\n"),
        SHAPE("505", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        int fd = dial(stage);
        say_bytes(stage, fd, shapes[i].text, shapes[i].size);
        /* What follows is never taken for a request of its own. */
        say(stage, fd, get);
        hear_end(stage, fd);
        if (strncmp(stage->heard, shapes[i].status, strlen(shapes[i].status)) != 0 ||
            stage->handled != 0)
            fail_msg("%s\n→ %s", shapes[i].text, stage->heard);
        leave(stage, fd);
    }
}

static void test_headers_too_large(void **state) {
    struct stage *stage = *state;
    enum { LONG = 40000 };
    char *text = malloc(LONG + 200);
    static const struct {
        const char *before, *status;
        size_t size;
    } rows[] = {
        {"GET /", "HTTP/1.1 414 ", LONG},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: ", "HTTP/1.1 431 ", LONG},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: ", "HTTP/1.1 200 ", 12000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = dial(stage);
        size_t length = (size_t)sprintf(text, "%s", rows[i].before);
        memset(text + length, 'a', rows[i].size);
        strcpy(text + length + rows[i].size, i == 0 ? " HTTP/1.1\r\nHost: x\r\n\r\n" : "\r\n\r\n");
        say(stage, fd, text);
        stage->heard_size = 0;
        TURN_UNTIL(stage, !listen_once(stage, fd) || answers(stage) == 1);
        assert_int_equal(strncmp(stage->heard, rows[i].status, strlen(rows[i].status)), 0);
        leave(stage, fd);
    }
    free(text);
}

/* -- many -- */

static void test_ten_thousand(void **state) {
    struct stage *stage = *state;
    size_t used = 0;
    int fd = dial(stage);
    stage->later = true;
    for (int i = 0; i < 10000; i++) {
        say(stage, fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabcdef");
        TURN_UNTIL(stage, stage->kept_count == 1);
        answer_all(stage);
        hear(stage, fd, 1);
        if (i == 100)
            used = mallinfo2().uordblks;
    }
    assert_int_equal(stage->handled, 10000);
    assert_int_equal(mallinfo2().uordblks, used);
    leave(stage, fd);
}

static void test_connections_come_and_go(void **state) {
    struct stage *stage = *state;
    size_t used = 0;
    for (int i = 0; i < 1000; i++) {
        int fd = dial(stage);
        say(stage, fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabcdef");
        hear(stage, fd, 1);
        leave(stage, fd);
        if (i == 10)
            used = mallinfo2().uordblks;
    }
    assert_int_equal(mallinfo2().uordblks, used);
}

static void test_too_many_connections(void **state) {
    struct stage *stage = *state; /* with 8 at most */
    int fds[10];
    for (int i = 0; i < 9; i++) {
        fds[i] = dial(stage);
        pass(stage, MS);
    }
    hear_end(stage, fds[0]); /* the one idle for longest makes room */
    TURN_UNTIL(stage, http_server_connections(stage->server) == 8);
    assert_true(is_open(stage, fds[1]) && is_open(stage, fds[8]));
    stage->later = true;
    for (int i = 1; i < 9; i++)
        say(stage, fds[i], get);
    TURN_UNTIL(stage, stage->kept_count == 8);
    fds[9] = dial(stage); /* all are busy: it waits */
    say(stage, fds[9], get);
    rest(stage);
    assert_int_equal(http_server_connections(stage->server), 8);
    assert_true(http_server_next(stage->server) > stage->now); /* and the loop does not spin */
    answer_all(stage);
    rest(stage);
    pass(stage, 50 * MS);
    TURN_UNTIL(stage, stage->kept_count == 1);
    answer_all(stage);
    hear(stage, fds[9], 1);
    for (int i = 0; i < 10; i++)
        close(fds[i]);
    TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
}

/* -- the drain -- */

static void test_quiesce(void **state) {
    struct stage *stage = *state;
    int fresh = dial(stage), kept = dial(stage), waiting = dial(stage), reading = dial(stage);
    say(stage, kept, get);
    hear(stage, kept, 1);
    assert_not_heard(stage, "Connection: close");
    stage->later = true;
    say(stage, waiting, get);
    TURN_UNTIL(stage, stage->kept_count == 1);
    say(stage, reading, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
    rest(stage);
    int queued = dial(stage); /* in the kernel's queue */
    say(stage, queued, "");
    (void)!send(queued, get, sizeof get - 1, 0);

    http_server_quiesce(stage->server);
    http_server_quiesce(stage->server);
    assert_true(http_server_next(stage->server) <= stage->now); /* at once */
    hear_end(stage, fresh);
    hear_end(stage, kept);
    TURN_UNTIL(stage, stage->kept_count == 2);
    int refused = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(refused, (struct sockaddr *)&stage->address, sizeof stage->address),
                     -1);
    assert_int_equal(errno, ECONNREFUSED);
    rest(stage);
    assert_int_equal(http_server_connections(stage->server), 3);

    say(stage, reading, "cde");
    TURN_UNTIL(stage, stage->kept_count == 3);
    answer_all(stage);
    int fds[] = {waiting, reading, queued};
    for (size_t i = 0; i < COUNT(fds); i++) {
        hear(stage, fds[i], 1);
        assert_heard(stage, "good");
        assert_heard(stage, "Connection: close\r\n");
        hear_end(stage, fds[i]);
        close(fds[i]);
    }
    TURN_UNTIL(stage, http_server_connections(stage->server) == 0);
    assert_int_equal(http_server_next(stage->server), LULL_NEVER);
    close(fresh), close(kept), close(refused);
}

/* -- where it listens -- */

static void test_listen(void **state) {
    (void)state;
    struct problem problem;
    char address[HTTP_ADDRESS_SIZE], again[HTTP_ADDRESS_SIZE], expected[200];
    int sockets[3], more[2];
    assert_true(http_listen("127.0.0.1:0", 3, sockets, address, &problem));
    for (int i = 0; i < 3; i++) {
        struct sockaddr_in bound;
        socklen_t size = sizeof bound;
        assert_int_equal(getsockname(sockets[i], (struct sockaddr *)&bound, &size), 0);
        snprintf(expected, sizeof expected, "127.0.0.1:%d", ntohs(bound.sin_port));
        assert_string_equal(address, expected);
    }
    /* Nobody joins, not even by way of all addresses. */
    for (size_t i = 0; i < 2; i++) {
        const char *text = i == 0 ? address : strrchr(address, ':');
        assert_false(http_listen(text, 2, more, again, &problem));
        snprintf(expected, sizeof expected, "cannot listen on %s: Address already in use", text);
        assert_string_equal(problem.text, expected);
    }
    for (int i = 0; i < 3; i++)
        close(sockets[i]);
    assert_true(http_listen(address, 2, more, again, &problem));
    assert_string_equal(again, address);
    close(more[0]), close(more[1]);
}

static void test_listen_on_what_is_no_address(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "8080", "127.0.0.1", "127.0.0.1:", "::1:80", "1.2.3.4:65536", "x:80a", "[::1:80"};
    struct problem problem;
    char address[HTTP_ADDRESS_SIZE], expected[200];
    int socket;
    for (size_t i = 0; i < COUNT(texts); i++) {
        snprintf(expected, sizeof expected,
                 "cannot listen on %s: must be ADDR:PORT, as in 127.0.0.1:8080 or [::1]:8080",
                 texts[i]);
        assert_false(http_listen(texts[i], 1, &socket, address, &problem));
        assert_string_equal(problem.text, expected);
    }
    assert_false(http_listen("192.0.2.1:80", 1, &socket, address, &problem));
    assert_string_equal(problem.text,
                        "cannot listen on 192.0.2.1:80: Cannot assign requested address");
}

static void test_certificates_that_cannot_be_used(void **state) {
    (void)state;
    struct problem problem;
    char address[HTTP_ADDRESS_SIZE];
    struct http_server_options options = {
        .epoll = epoll_create1(0), .limit = limit, .handle = handle, .certificate = "/no/such.pem"};
    assert_true(http_listen("127.0.0.1:0", 1, &options.socket, address, &problem));
    assert_null(http_server_new(&options, &problem));
    assert_string_equal(problem.text, "cannot read /no/such.pem: No such file or directory");
    assert_int_equal(close(options.socket), -1); /* it was taken */
    assert_true(http_listen(address, 1, &options.socket, address, &problem));
    options.certificate = "/dev/null";
    assert_null(http_server_new(&options, &problem));
    assert_int_equal(strncmp(problem.text, "cannot start the HTTP server: ", 30), 0);
    close(options.epoll);
}

/* -- TLS -- */

static void write_out(int fd, gnutls_datum_t *pem) {
    assert_int_equal(write(fd, pem->data, pem->size), pem->size);
    gnutls_free(pem->data);
}

/* Both in one file. */
static void make_certificate(char path[]) {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    gnutls_datum_t pem;
    int fd = mkstemp(path);
    gnutls_x509_privkey_init(&key);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_crt_set_version(certificate, 3);
    gnutls_x509_crt_set_serial(certificate, "1", 1);
    gnutls_x509_crt_set_activation_time(certificate, time(NULL) - 1000);
    gnutls_x509_crt_set_expiration_time(certificate, time(NULL) + 1000);
    gnutls_x509_crt_set_key(certificate, key);
    assert_int_equal(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem), 0);
    write_out(fd, &pem);
    assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), 0);
    write_out(fd, &pem);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    close(fd);
}

struct tls_client {
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    int fd, result;
};

/* `result`: of the handshake. */
static void tls_dial(struct stage *stage, struct tls_client *client, const char *priorities) {
    client->fd = dial(stage);
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    gnutls_certificate_allocate_credentials(&client->credentials);
    gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    gnutls_priority_set_direct(client->session, priorities, NULL);
    gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials);
    gnutls_transport_set_int(client->session, client->fd);
    TURN_UNTIL(stage, (client->result = gnutls_handshake(client->session)) == 0 ||
                          gnutls_error_is_fatal(client->result));
}

/* False: the end. */
static bool tls_listen_once(struct stage *stage, struct tls_client *client) {
    ssize_t got = gnutls_record_recv(client->session, stage->heard + stage->heard_size, 10000);
    stage->heard_size += got > 0 ? (size_t)got : 0;
    stage->heard[stage->heard_size] = '\0';
    return got > 0 || (got < 0 && !gnutls_error_is_fatal((int)got));
}

static void tls_hear(struct stage *stage, struct tls_client *client) {
    stage->heard_size = 0;
    TURN_UNTIL(stage, !tls_listen_once(stage, client) || answers(stage) == 1);
    assert_int_equal(answers(stage), 1);
}

static void tls_leave(struct stage *stage, struct tls_client *client) {
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    leave(stage, client->fd);
}

static void test_tls(void **state) {
    struct stage *stage = malloc(sizeof *stage);
    char path[] = "/tmp/lull-server-test-XXXXXX";
    struct tls_client client;
    static const struct {
        const char *text, *status;
    } rows[] = {
        {get, "HTTP/1.1 200 OK\r\n"},
        {"POST /tiny HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\n"},
        {"POST /tiny HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde", "HTTP/1.1 413 "},
        /* Sent by hand: */
        {"POST /tiny HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde",
         "HTTP/1.1 413 "},
    };
    (void)state;
    make_certificate(path);
    start(stage, (struct http_server_options){.certificate = path});
    unlink(path);
    for (size_t i = 0; i < COUNT(rows); i++) {
        tls_dial(stage, &client, i % 2 == 0 ? "NORMAL:-VERS-ALL:+VERS-TLS1.2" : "NORMAL");
        assert_int_equal(client.result, 0);
        assert_true(gnutls_record_send(client.session, rows[i].text, strlen(rows[i].text)) > 0);
        tls_hear(stage, &client);
        assert_heard(stage, rows[i].status);
        tls_leave(stage, &client);
    }
    tls_dial(stage, &client, "NORMAL:-VERS-ALL:+VERS-TLS1.1");
    assert_int_not_equal(client.result, 0);
    tls_leave(stage, &client);
    http_server_destroy(stage->server);
    close(stage->epoll);
    free(stage);
}

#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_what_is_asked),
        ON_STAGE(test_later_on_a_connection_that_stays),
        ON_STAGE(test_pipelining),
        ON_STAGE(test_kinds_of_answers),
        ON_STAGE(test_an_answer_made_of_the_request),
        ON_STAGE(test_sizes),
        ON_STAGE(test_continue),
        ON_STAGE(test_too_large),
        cmocka_unit_test(test_many_large_bodies),
        ON_STAGE(test_answers_before_the_end_of_the_body_are_not_lost),
        ON_STAGE(test_slow_header),
        ON_STAGE(test_slow_body),
        ON_STAGE(test_answer_not_read),
        ON_STAGE(test_gone_before_the_answer),
        ON_STAGE(test_half_closed),
        ON_STAGE(test_much_before_leaving),
        ON_STAGE(test_gone_in_the_middle),
        cmocka_unit_test(test_destroyed_with_everything_under_way),
        ON_STAGE(test_smuggling),
        ON_STAGE(test_headers_too_large),
        ON_STAGE(test_ten_thousand),
        ON_STAGE(test_connections_come_and_go),
        ON_STAGE(test_too_many_connections),
        ON_STAGE(test_quiesce),
        cmocka_unit_test(test_listen),
        cmocka_unit_test(test_listen_on_what_is_no_address),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_certificates_that_cannot_be_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
