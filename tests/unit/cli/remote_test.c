#include "remote.h"
#include "testing.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a server that says what it is told to, a connection at a time ---- */

#define OK(fields, body) "HTTP/1.1 200 OK\r\nConnection: close\r\n" fields "\r\n" body
#define BUSY "HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n{\"detail\":\"busy\"}"

struct script {
    const char *const *answers; /* ends in NULL */
    int listener;
    char requests[16][4096];
    size_t count;
    pthread_t thread;
};

/* Reads up to the end of the head, and as much of the body as came with it. */
static void take_request(int connection, char *text, size_t size) {
    size_t length = 0;
    ssize_t got = 0;
    text[0] = '\0';
    while (strstr(text, "\r\n\r\n") == NULL &&
           (got = read(connection, text + length, size - 1 - length)) > 0) {
        length += (size_t)got;
        text[length] = '\0';
    }
}

static void *play(void *arg) {
    struct script *script = arg;
    for (; script->answers[script->count] != NULL; script->count++) {
        const char *answer = script->answers[script->count];
        int connection = accept(script->listener, NULL, NULL);
        if (connection < 0)
            break;
        take_request(connection, script->requests[script->count],
                     sizeof script->requests[script->count]);
        if (write(connection, answer, strlen(answer)) < 0)
            break;
        close(connection);
    }
    return NULL;
}

static struct remote remote;
static struct remote_answer answer;
static struct problem problem;

static void begin(struct script *script, const char *const *answers) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char server[64];
    *script = (struct script){.answers = answers};
    script->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(script->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(script->listener, 16), 0);
    assert_int_equal(getsockname(script->listener, (struct sockaddr *)&address, &length), 0);
    snprintf(server, sizeof server, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_true(remote_init(&remote, &(struct remote_options){.server = server}, &problem));
    assert_int_equal(pthread_create(&script->thread, NULL, play, script), 0);
}

/* Ends the server, whether it has said everything or not. */
static void end(struct script *script) {
    shutdown(script->listener, SHUT_RDWR);
    pthread_join(script->thread, NULL);
    close(script->listener);
    remote_answer_clean_up(&answer);
    remote_clean_up(&remote);
}

static bool ask(const char *method, const char *key) {
    struct remote_path path = remote_path("/v1/x", NULL, NULL);
    problem.text[0] = '\0';
    return remote_ask(&remote,
                      &(struct remote_request){.method = method, .path = &path, .key = key},
                      &answer, &problem);
}

/* ---- tests ---- */

static void test_paths(void **state) {
    (void)state;
    struct remote_path path = remote_path("/v1/destinations", "a/b c", "..");
    assert_string_equal(path.text, "/v1/destinations/a%2Fb%20c/..");
    remote_path_query(&path, "type", NULL);
    remote_path_query(&path, "type", "order.*&x=\xC3\xA9");
    remote_path_query(&path, "limit", "5");
    assert_string_equal(path.text,
                        "/v1/destinations/a%2Fb%20c/..?type=order.%2A%26x%3D%C3%A9&limit=5");
    assert_false(path.too_long);
}

static void test_too_long(void **state) {
    (void)state;
    char *word = calloc(1, 9001);
    assert_non_null(word);
    memset(word, 'x', 9000);
    struct remote_path path = remote_path("/v1/events", word, NULL);
    free(word);
    assert_true(path.too_long);
    assert_true(remote_init(&remote, &(struct remote_options){.server = "localhost:1"}, &problem));
    assert_false(remote_ask(&remote, &(struct remote_request){"GET", &path}, &answer, &problem));
    assert_non_null(strstr(problem.text, "too long"));
    remote_answer_clean_up(&answer);
    remote_clean_up(&remote);
}

static void test_headers(void **state) {
    (void)state;
    assert_true(remote_header_is_fine("X-Team: payments"));
    assert_true(remote_header_is_fine("A:"));
    assert_false(remote_header_is_fine("nonsense"));
    assert_false(remote_header_is_fine(": value"));
    assert_false(remote_header_is_fine("A b: c"));
    assert_false(remote_header_is_fine("A: b\r\nC: d"));
}

static void test_keys_differ(void **state) {
    (void)state;
    char one[REMOTE_KEY_SIZE], other[REMOTE_KEY_SIZE];
    remote_make_key(one);
    remote_make_key(other);
    assert_int_equal(strlen(one), 37);
    assert_memory_equal(one, "lull-", 5);
    assert_string_not_equal(one, other);
}

static void test_addresses(void **state) {
    (void)state;
    static const struct {
        const char *typed, *shown; /* NULL: refused */
    } rows[] = {
        {"http://localhost:8080", "http://localhost:8080"},
        {"https://lull.example/prefix//", "https://lull.example/prefix"},
        {"127.0.0.1:9", "http://127.0.0.1:9"},
        {"[::1]:9", "http://[::1]:9"},
        {"", REMOTE_SERVER},
        {"ftp://localhost", NULL},
        {"http://", NULL},
        {"http://a:b@localhost", NULL},
        {"http://localhost/?q", NULL},
        {"http://localhost#f", NULL},
        {"http://local host", NULL},
        {"http://localhost:99999", NULL},
    };
    unsetenv("LULL_SERVER");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct remote_options options = {.server = rows[i].typed};
        bool fine = remote_init(&remote, &options, &problem);
        if (fine != (rows[i].shown != NULL))
            fail_msg("%s: %s", rows[i].typed, fine ? "taken" : problem.text);
        if (!fine)
            continue;
        assert_string_equal(remote.server, rows[i].shown);
        remote_clean_up(&remote);
    }
}

static void test_answer(void **state) {
    (void)state;
    struct script script;
    begin(&script, (const char *const[]){
                       OK("Idempotency-Replayed: true\r\n", "{\"a\":\"\\u0000b\"}"), NULL});
    assert_true(ask("GET", NULL));
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.attempts, 1);
    assert_true(answer.replayed);
    assert_int_equal(json_string_length(json_object_get(answer.json, "a")), 2);
    end(&script);
    assert_memory_equal(script.requests[0], "GET /v1/x HTTP/1.1\r\n", 20);
    assert_null(strstr(script.requests[0], "Content-Type"));
}

static void test_safe_requests_are_retried(void **state) {
    (void)state;
    struct script script;
    begin(&script, (const char *const[]){BUSY, "", OK("", "{}"), NULL});
    assert_true(ask("POST", "K"));
    assert_int_equal(answer.attempts, 3);
    assert_false(answer.replayed);
    end(&script);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(script.requests[i], "\r\nIdempotency-Key: K\r\n"));
}

static void test_others_are_not(void **state) {
    (void)state;
    struct script script;
    begin(&script, (const char *const[]){BUSY, OK("", "{}"), NULL});
    assert_false(ask("POST", NULL));
    assert_int_equal(answer.status, 503);
    assert_string_equal(problem.text, "busy");
    end(&script);
    assert_int_equal(script.count, 1);
}

static void test_five_attempts(void **state) {
    (void)state;
    struct script script;
    begin(&script, (const char *const[]){BUSY, BUSY, BUSY, BUSY, BUSY, OK("", "{}"), NULL});
    assert_false(ask("GET", NULL));
    assert_string_equal(problem.text, "busy (5 attempts)");
    end(&script);
    assert_int_equal(script.count, 5);
}

static void test_problems(void **state) {
    (void)state;
    static const struct {
        const char *answer, *expected;
    } rows[] = {
        {"HTTP/1.1 404 No\r\nConnection: close\r\n\r\n{\"detail\":\"no "
         "\\u001b[2J\",\"title\":\"t\"}",
         "no \\u001b[2J"},
        {"HTTP/1.1 409 No\r\nConnection: close\r\n\r\n{\"title\":\"Conflict\"}", "Conflict"},
        {"HTTP/1.1 401 No\r\nConnection: close\r\n\r\n{\"detail\":\"who?\"}",
         "who?; give --token TOKEN, or set LULL_TOKEN"},
        {"HTTP/1.1 404 No\r\nConnection: close\r\n\r\n<html>", "404; is it a lull serve?"},
        {"HTTP/1.1 302 Go\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
         "302; is it a lull serve?"},
        {OK("", "hello"), "answered 200, but not with JSON; is it a lull serve?"},
        {OK("", ""), "answered 200, but not with JSON; is it a lull serve?"},
        {"", "the connection was closed without an answer; is lull serve running?"},
    };
    unsetenv("LULL_TOKEN");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct script script;
        begin(&script, (const char *const[]){rows[i].answer, NULL});
        assert_false(ask("DELETE", NULL));
        end(&script);
        if (strstr(problem.text, rows[i].expected) == NULL)
            fail_msg("expected \"%s\" in \"%s\"", rows[i].expected, problem.text);
    }
}

static void test_no_content(void **state) {
    (void)state;
    struct script script;
    begin(&script, (const char *const[]){"HTTP/1.1 204 Gone\r\nConnection: close\r\n\r\n", NULL});
    assert_true(ask("DELETE", NULL));
    assert_null(answer.json);
    end(&script);
}

/* A pause asked for by one answer holds for the next request, too. */
static void test_left_alone(void **state) {
    (void)state;
    struct script script;
    begin(&script, (const char *const[]){"HTTP/1.1 503 No\r\nConnection: close\r\nRetry-After: "
                                         "3600\r\n\r\n{\"detail\":\"later\"}",
                                         OK("", "{}"), NULL});
    assert_false(ask("GET", NULL));
    assert_string_equal(problem.text, "later");
    remote_answer_clean_up(&answer);
    assert_false(ask("GET", NULL));
    assert_non_null(strstr(problem.text, "asked to be left alone"));
    end(&script);
    assert_int_equal(script.count, 1);
}

int main(void) {
    unsetenv("LULL_ATTEMPT");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_keys_differ),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_safe_requests_are_retried),
        cmocka_unit_test(test_others_are_not),
        cmocka_unit_test(test_five_attempts),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_no_content),
        cmocka_unit_test(test_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
