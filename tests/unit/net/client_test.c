/* How attempts end: by the answer, by its want, by the address, by being called off. */
#include "client_fixture.h"

#include <netdb.h>
#include <semaphore.h>

static void test_statuses(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        enum lull_class class_;
        lull_duration retry_after;
        const char *error, *excerpt;
        bool gone;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", LULL_SUCCESS, 0, "", NULL, false},
        {"HTTP/1.1 204 No Content\r\n\r\n", LULL_SUCCESS, 0, "", NULL, false},
        {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nRetry-After: 9\r\n\r\n", LULL_SUCCESS, 0,
         "", NULL, false},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", LULL_SUCCESS,
         0, "", NULL, false},
        {"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nwait", LULL_TRANSIENT, 0, "status 503",
         "wait", false},
        {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n", LULL_THROTTLED,
         7 * SECOND, "status 503", NULL, false},
        {"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nretry-after: 120\r\n\r\n", LULL_THROTTLED,
         120 * SECOND, "status 429", NULL, false},
        {"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\nRetry-After: soon\r\n\r\n", LULL_THROTTLED, 0,
         "status 429", NULL, false},
        {"HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nno!", LULL_PERMANENT, 0, "status 404", "no!",
         false},
        {"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", LULL_PERMANENT, 0, "status 410", NULL,
         true},
        {"HTTP/1.1 501 No\r\nContent-Length: 0\r\n\r\n", LULL_PERMANENT, 0, "status 501", NULL,
         false},
        {"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:1/x\r\n\r\n",
         LULL_PERMANENT, 0,
         "answered with a redirect to http://127.0.0.1:1/x, which is not followed", NULL, false},
        {"HTTP/1.1 304 Not Modified\r\n\r\n", LULL_PERMANENT, 0, "status 304", NULL, false},
    };
    struct loop loop;
    loop_init(&loop);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct server *server = server_start(ANSWERS_CLOSES, rows[i].answer, NULL);
        struct attempt attempt = call(&loop, server->url, 20 * SECOND);
        server_stop(server);
        assert_string_equal(attempt.record.error, rows[i].error);
        assert_int_equal(attempt.outcome.class_, rows[i].class_);
        assert_int_equal(attempt.outcome.retry_after, rows[i].retry_after);
        assert_int_equal(attempt.gone, rows[i].gone);
        assert_int_equal(attempt.record.status, attempt.outcome.code);
        if (rows[i].excerpt == NULL) {
            assert_null(attempt.record.excerpt);
        } else {
            assert_int_equal(attempt.record.excerpt_length, strlen(rows[i].excerpt));
            assert_memory_equal(attempt.record.excerpt, rows[i].excerpt,
                                attempt.record.excerpt_length);
        }
        free(attempt.record.excerpt);
    }
    loop_clean_up(&loop);
}

/* The other form of Retry-After. */
static void test_retry_after_date(void **state) {
    (void)state;
    char answer[200], date[64];
    time_t when = time(NULL) + 1000;
    struct tm tm;
    struct loop loop;
    assert_non_null(gmtime_r(&when, &tm));
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: %s\r\n\r\n", date);
    struct server *server = server_start(ANSWERS_CLOSES, answer, NULL);
    loop_init(&loop);
    struct attempt attempt = call(&loop, server->url, 20 * SECOND);
    server_stop(server);
    assert_int_equal(attempt.outcome.class_, LULL_THROTTLED);
    assert_true(attempt.outcome.retry_after > 900 * SECOND);
    assert_true(attempt.outcome.retry_after <= 1000 * SECOND);
    loop_clean_up(&loop);
}

static void test_troubles(void **state) {
    (void)state;
    static const struct {
        enum manner manner;
        const char *answer;
        lull_duration timeout;
        enum lull_class class_;
        int status;
        const char *error;
    } rows[] = {
        {HANGS, NULL, 60 * MS, LULL_TIMEOUT, 0, "no answer within 60ms"},
        {HANGS, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 60 * MS, LULL_TIMEOUT, 200,
         "the answer did not end within 60ms"},
        {DRIPS, "HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n", 60 * MS, LULL_TIMEOUT, 200,
         "the answer did not end within 60ms"},
        {ANSWERS_CLOSES, NULL, 20 * SECOND, LULL_UNKNOWN, 0, "connection closed without an answer"},
        {RESETS, NULL, 20 * SECOND, LULL_UNKNOWN, 0, "connection reset by peer"},
        {ANSWERS_CLOSES, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 20 * SECOND,
         LULL_UNKNOWN, 200, "the answer ended early"},
        {ANSWERS_CLOSES, "SSH-2.0-OpenSSH_9.2\r\n", 20 * SECOND, LULL_UNKNOWN, 0,
         "the answer is not HTTP"},
    };
    struct loop loop;
    loop_init(&loop);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct server *server = server_start(rows[i].manner, rows[i].answer, NULL);
        struct attempt attempt = call(&loop, server->url, rows[i].timeout);
        server_stop(server);
        assert_string_equal(attempt.record.error, rows[i].error);
        assert_int_equal(attempt.outcome.class_, rows[i].class_);
        assert_int_equal(attempt.record.status, rows[i].status);
        free(attempt.record.excerpt);
    }
    loop_clean_up(&loop);
}

static void test_no_connection(void **state) {
    (void)state;
    struct loop loop;
    int port;
    char url[64];
    loop_init(&loop);
    int descriptor = bound_socket(&port);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    struct attempt attempt = call(&loop, url, 20 * SECOND);
    assert_string_equal(attempt.record.error, "connection refused");
    assert_int_equal(attempt.outcome.class_, LULL_TRANSIENT);
    assert_int_equal(attempt.record.status, 0);
    close(descriptor);

    /* It connects, but the handshake gets nowhere. */
    struct server *server = server_start(HANGS, NULL, NULL);
    snprintf(url, sizeof url, "https%s", server->url + 4);
    struct target *target = target_of(url, "");
    struct message *message = message_of("", "", "", 0);
    struct loop_attempt own;
    target->connect_timeout = 50 * MS;
    loop_start(&loop, &own, target, message);
    loop_run(&loop, loop.ended + 1);
    assert_string_equal(own.attempt.record.error, "no connection within 50ms");
    assert_int_equal(own.attempt.outcome.class_, LULL_TIMEOUT);
    target_release(target);
    message_release(message);
    server_stop(server);
    loop_clean_up(&loop);
}

/* The attempt's own time, if it is shorter than the target's. */
static void test_shorter_timeout(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct server *server = server_start(HANGS, NULL, NULL);
    struct target *target = target_of(server->url, "");
    struct message *message = message_of("", "", "", 0);
    struct loop_attempt own = {
        .attempt = {.target = target,
                    .message = message,
                    .timeout = 70 * MS,
                    .ended = attempt_ended},
        .loop = &loop,
    };
    client_port(loop.client)->start(client_port(loop.client), &own.attempt);
    loop_run(&loop, 1);
    assert_string_equal(own.attempt.record.error, "no answer within 70ms");
    pthread_mutex_lock(&server->lock);
    assert_non_null(strstr(server->request, "\r\nLull-Deadline-Ms: 70\r\n"));
    pthread_mutex_unlock(&server->lock);
    target_release(target);
    message_release(message);
    server_stop(server);
    loop_clean_up(&loop);
}

static void test_refused_addresses(void **state) {
    (void)state;
    struct server *server = server_start(ANSWERS_CLOSES, "HTTP/1.1 200 OK\r\n\r\n", NULL);
    const char *port = strrchr(server->url, ':');
    static const struct {
        const char *host, *error;
    } rows[] = {
        {"127.0.0.1", "the address 127.0.0.1 is loopback and not allowed; see addresses.allow"},
        {"2130706433", "the address 127.0.0.1 is loopback and not allowed; see addresses.allow"},
        {"10.0.0.1", "the address 10.0.0.1 is private and not allowed; see addresses.allow"},
        {"169.254.169.254",
         "the address 169.254.169.254 is link-local and not allowed; see addresses.allow"},
        {"[::ffff:127.0.0.1]",
         "the address ::ffff:127.0.0.1 is loopback and not allowed; see addresses.allow"},
        /* behind a name */
        {"localhost", " is loopback and not allowed; see addresses.allow"},
        {"private.example",
         "the address 192.168.7.7 is private and not allowed; see addresses.allow"},
    };
    struct loop loop;
    loop_init_with(&loop, &(struct client_options){0});
    for (size_t i = 0; i < COUNT(rows); i++) {
        char url[100];
        snprintf(url, sizeof url, "http://%s%s", rows[i].host, port);
        struct attempt attempt = call(&loop, url, 20 * SECOND);
        if (strstr(attempt.record.error, rows[i].error) == NULL)
            fail_msg("%s: %s", url, attempt.record.error);
        assert_int_equal(attempt.outcome.class_, LULL_PERMANENT);
    }
    loop_clean_up(&loop);
    assert_int_equal(atomic_load(&server->connections), 0);

    /* And allowed. */
    char url[100];
    loop_init(&loop);
    snprintf(url, sizeof url, "http://localhost%s", port);
    struct attempt attempt = call(&loop, url, 20 * SECOND);
    assert_string_equal(attempt.record.error, "");
    /* One of its two addresses is refused, the other may be called: that one decides. */
    snprintf(url, sizeof url, "http://both.example%s", port);
    attempt = call(&loop, url, 20 * SECOND);
    assert_string_equal(attempt.record.error, "");
    snprintf(url, sizeof url, "http://both.example:1/");
    attempt = call(&loop, url, 20 * SECOND);
    assert_int_equal(attempt.outcome.class_, LULL_TRANSIENT);
    loop_clean_up(&loop);
    server_stop(server);
}

/* ---- names, without a network ---- */

static sem_t may_resolve;

static struct addrinfo *address_entry(const char *text, const char *port, struct addrinfo *next) {
    struct {
        struct addrinfo info;
        struct sockaddr_in address;
    } *entry = calloc(1, sizeof *entry);
    entry->address.sin_family = AF_INET;
    entry->address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    inet_pton(AF_INET, text, &entry->address.sin_addr);
    entry->info = (struct addrinfo){.ai_family = AF_INET,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_addrlen = sizeof entry->address,
                                    .ai_addr = (struct sockaddr *)&entry->address,
                                    .ai_next = next};
    return &entry->info;
}

/* libcurl's resolver asks us instead of the C library. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **list) {
    (void)hints;
    if (strcmp(name, "hanging.example") == 0)
        sem_wait(&may_resolve);
    *list = NULL;
    if (strcmp(name, "private.example") == 0)
        *list = address_entry("192.168.7.7", service, NULL);
    else if (strcmp(name, "both.example") == 0)
        *list = address_entry("192.168.7.7", service, address_entry("127.0.0.1", service, NULL));
    else
        return EAI_NONAME;
    return 0;
}

__attribute__((visibility("default"))) void freeaddrinfo(struct addrinfo *list) {
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}

static void test_unknown_name(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct attempt attempt = call(&loop, "http://nowhere.example/", 20 * SECOND);
    assert_string_equal(attempt.record.error, "the host name cannot be resolved");
    assert_int_equal(attempt.outcome.class_, LULL_TRANSIENT);
    loop_clean_up(&loop);
}

/* While one name server says nothing, others are called, time passes, and the attempt ends. If the loop waited for the
 * resolver, this would never end: it is released only afterwards. */
static void test_hanging_name(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct server *server = server_start(ANSWERS_CLOSES, "HTTP/1.1 200 OK\r\n\r\n", NULL);
    sem_init(&may_resolve, 0, 0);
    struct attempt attempt = call(&loop, "http://hanging.example/", 60 * MS);
    assert_int_equal(attempt.outcome.class_, LULL_TIMEOUT);
    assert_string_equal(attempt.record.error, "no connection within 60ms");
    attempt = call(&loop, server->url, 20 * SECOND);
    assert_int_equal(attempt.outcome.class_, LULL_SUCCESS);
    loop_clean_up(&loop);
    server_stop(server);
    sem_post(&may_resolve);
}

/* ---- bodies ---- */

/* A server's endless answer is cut off, the status stands, and the excerpt is the beginning. */
static void test_endless_answer(void **state) {
    (void)state;
    static const struct {
        const char *answer;
        enum lull_class class_;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", LULL_SUCCESS},
        {"HTTP/1.1 500 Oh\r\nConnection: close\r\n\r\nit broke", LULL_TRANSIENT},
    };
    struct loop loop;
    loop_init(&loop);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct server *server = server_start(NEVER_ENDS, rows[i].answer, NULL);
        struct attempt attempt = call(&loop, server->url, 20 * SECOND);
        server_stop(server);
        assert_int_equal(attempt.outcome.class_, rows[i].class_);
        if (rows[i].class_ == LULL_SUCCESS) {
            assert_null(attempt.record.excerpt);
            continue;
        }
        assert_int_equal(attempt.record.excerpt_length, EXCERPT_LONGEST);
        assert_memory_equal(attempt.record.excerpt, "it broken", 9);
        free(attempt.record.excerpt);
    }
    loop_clean_up(&loop);
}

/* ---- connections ---- */

static void test_connection_is_used_again(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    /* Bodies of both kinds of answers are read to their end. */
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    };
    for (size_t k = 0; k < COUNT(answers); k++) {
        struct server *server = server_start(ANSWERS, answers[k], NULL);
        for (int i = 0; i < 10; i++) {
            struct attempt attempt = call(&loop, server->url, 20 * SECOND);
            assert_int_equal(attempt.record.status, k == 0 ? 200 : 503);
            free(attempt.record.excerpt);
        }
        assert_int_equal(atomic_load(&server->requests), 10);
        assert_int_equal(atomic_load(&server->connections), 1);
        loop_clean_up(&loop); /* closes it, so that the server ends */
        loop_init(&loop);
        server_stop(server);
    }
    loop_clean_up(&loop);
}

/* The server closes connections that idle: the next attempt takes a new one, and nothing is lost; and an idle connection that
 * ends does not keep the loop busy. */
static void test_idle_connection_closes(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct server *server =
        server_start(ANSWERS_CLOSES, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL);
    for (int i = 0; i < 5; i++) {
        struct attempt attempt = call(&loop, server->url, 20 * SECOND);
        assert_string_equal(attempt.record.error, "");
        struct epoll_event event;
        int turns = 0;
        while (epoll_wait(loop.epoll, &event, 1, 50) == 1) {
            client_ready(loop.client, event.data.u64, event.events);
            client_turn(loop.client);
            assert_true(++turns < 10);
        }
    }
    assert_int_equal(atomic_load(&server->connections), 5);
    loop_clean_up(&loop);
    server_stop(server);
}

/* Many at once, and each starts the next from its end. */
static void test_many(void **state) {
    (void)state;
    enum { AT_ONCE = 20, IN_ALL = 400 };
    struct loop loop;
    loop_init(&loop);
    struct server *server =
        server_start(ANSWERS, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL);
    struct target *target = target_of(server->url, "");
    struct message *message = message_of("", "", "payload", 7);
    static struct loop_attempt attempts[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        loop_start(&loop, &attempts[i], target, message);
        attempts[i].starts = &attempts[i];
    }
    assert_int_equal(client_under_way(loop.client), AT_ONCE);
    while (loop.ended < IN_ALL)
        loop_turn(&loop);
    for (int i = 0; i < AT_ONCE; i++)
        attempts[i].starts = NULL;
    while (client_under_way(loop.client) > 0)
        loop_turn(&loop);
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(attempts[i].attempt.outcome.class_, LULL_SUCCESS);
    assert_int_equal(atomic_load(&server->requests), loop.ended);
    assert_true(atomic_load(&server->connections) <= AT_ONCE);
    loop_clean_up(&loop);
    server_stop(server);
    target_release(target);
    message_release(message);
}

/* ---- called off ---- */

static void test_cancel(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct server *server = server_start(HANGS, NULL, NULL);
    struct target *target = target_of(server->url, "");
    struct message *message = message_of("", "", "", 0);
    struct transport_port *port = client_port(loop.client);
    struct loop_attempt first, second;

    /* At once, before anything was sent. */
    loop_start(&loop, &first, target, message);
    port->cancel(port, &first.attempt);
    port->cancel(port, &first.attempt); /* twice is fine */
    assert_int_equal(first.ended, 0);
    loop_run(&loop, 1);
    assert_int_equal(first.attempt.outcome.class_, LULL_CANCELLED);
    assert_string_equal(first.attempt.record.error, "cancelled");

    /* Amid it. */
    loop_start(&loop, &first, target, message);
    while (atomic_load(&server->requests) == 0) {
        client_turn(loop.client);
        struct epoll_event event;
        if (epoll_wait(loop.epoll, &event, 1, 1) == 1)
            client_ready(loop.client, event.data.u64, event.events);
    }
    port->cancel(port, &first.attempt);
    assert_int_equal(first.ended, 0);
    loop_run(&loop, 2);
    assert_int_equal(first.ended, 1);
    assert_int_equal(first.attempt.outcome.class_, LULL_CANCELLED);

    /* From within another's end. */
    loop_start(&loop, &first, target, message);
    loop_start(&loop, &second, target, message);
    first.cancels = &second;
    port->cancel(port, &first.attempt);
    loop_run(&loop, 4);
    assert_int_equal(second.attempt.outcome.class_, LULL_CANCELLED);

    target_release(target);
    message_release(message);
    loop_clean_up(&loop);
    server_stop(server);
}

/* Ended by the server already, but not told yet. */
static void test_cancel_too_late(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    int port_number;
    char url[64];
    int descriptor = bound_socket(&port_number); /* nobody listens: refused */
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port_number);
    struct target *target = target_of(url, "");
    struct message *message = message_of("", "", "", 0);
    struct transport_port *port = client_port(loop.client);
    struct loop_attempt attempts[2];
    for (int i = 0; i < 2; i++)
        loop_start(&loop, &attempts[i], target, message);
    attempts[0].cancels = &attempts[1];
    attempts[1].cancels = NULL;
    loop_run(&loop, 1);
    if (attempts[1].ended == 1) /* libcurl told of the second first */
        port->cancel(port, &attempts[0].attempt);
    loop_run(&loop, 2);
    assert_int_equal(attempts[0].ended, 1);
    assert_int_equal(attempts[1].ended, 1);
    target_release(target);
    message_release(message);
    loop_clean_up(&loop);
    close(descriptor);
}

/* What is under way just stops. */
static void test_destroy(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct server *server = server_start(HANGS, NULL, NULL);
    struct target *target = target_of(server->url, "");
    struct message *message = message_of("", "", "", 0);
    struct loop_attempt attempts[3];
    for (int i = 0; i < 3; i++)
        loop_start(&loop, &attempts[i], target, message);
    client_port(loop.client)->cancel(client_port(loop.client), &attempts[1].attempt);
    while (atomic_load(&server->requests) < 2) {
        struct epoll_event event;
        if (epoll_wait(loop.epoll, &event, 1, 1) == 1)
            client_ready(loop.client, event.data.u64, event.events);
        client_turn(loop.client);
    }
    client_destroy(loop.client);
    client_destroy(NULL);
    assert_int_equal(attempts[0].ended + attempts[2].ended, 0);
    close(loop.epoll);
    target_release(target);
    message_release(message);
    server_stop(server);
}

/* What cannot even be started ends like the others, later. (A URL that was not checked stands for a lack of memory here.) */
static void test_not_started(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct target *target = target_of("http://[", "");
    struct message *message = message_of("", "", "", 0);
    struct transport_port *port = client_port(loop.client);
    struct loop_attempt attempts[3];
    for (int i = 0; i < 3; i++)
        loop_start(&loop, &attempts[i], target, message);
    port->cancel(port, &attempts[0].attempt); /* the first and the last of a list */
    port->cancel(port, &attempts[2].attempt);
    assert_int_equal(client_under_way(loop.client), 3);
    assert_int_equal(client_next(loop.client), 0);
    loop_run(&loop, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attempts[i].ended, 1);
        assert_int_equal(attempts[i].attempt.outcome.class_, LULL_TRANSIENT);
        assert_int_equal(attempts[i].attempt.record.class_, LULL_TRANSIENT);
        assert_int_equal(attempts[i].attempt.record.number, 77);
        assert_string_equal(attempts[i].attempt.record.error,
                            "the request could not be made: out of memory");
        assert_null(attempts[i].attempt.transport_data);
    }
    assert_int_equal(client_next(loop.client), LULL_NEVER);
    target_release(target);
    message_release(message);
    loop_clean_up(&loop);
}

static void test_owns(void **state) {
    (void)state;
    int local;
    assert_true(client_owns(CLIENT_EVENT | 7));
    assert_false(client_owns(7));
    assert_false(client_owns(UINT64_MAX));
    assert_false(client_owns((uint64_t)(uintptr_t)&local));
}

static void test_no_ca_file(void **state) {
    (void)state;
    assert_null(client_new(0, &(struct client_options){.ca_file = "/does/not/exist.pem"}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_retry_after_date),
        cmocka_unit_test(test_troubles),
        cmocka_unit_test(test_no_connection),
        cmocka_unit_test(test_shorter_timeout),
        cmocka_unit_test(test_refused_addresses),
        cmocka_unit_test(test_unknown_name),
        cmocka_unit_test(test_hanging_name),
        cmocka_unit_test(test_endless_answer),
        cmocka_unit_test(test_connection_is_used_again),
        cmocka_unit_test(test_idle_connection_closes),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_too_late),
        cmocka_unit_test(test_destroy),
        cmocka_unit_test(test_not_started),
        cmocka_unit_test(test_owns),
        cmocka_unit_test(test_no_ca_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
