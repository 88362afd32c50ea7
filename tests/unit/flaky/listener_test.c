#include "testing.h"

#include "listener.h"

#include <errno.h>
#include <unistd.h>

static struct listener listener_of(const char *text) {
    struct listener listener;
    struct problem problem = {{0}};
    if (!listener_init(&listener, text, &problem) || !listener_open(&listener, &problem))
        fail_msg("%s: %s", text, problem.text);
    return listener;
}

/* 0, or the error of connecting. */
static int knock(const struct listener *listener) {
    int fd = socket(listener->address.ss_family, SOCK_STREAM, 0);
    int error = 0;
    if (connect(fd, (const struct sockaddr *)&listener->address, listener->address_size) != 0)
        error = errno;
    close(fd);
    return error;
}

static void test_free_port(void **state) {
    (void)state;
    struct listener listener = listener_of("127.0.0.1:0");
    assert_int_equal(strncmp(listener.url, "http://127.0.0.1:", 17), 0);
    assert_string_not_equal(listener.url, "http://127.0.0.1:0");
    assert_int_equal(knock(&listener), 0);
    listener_clean_up(&listener);
    assert_int_equal(knock(&listener), ECONNREFUSED);
}

/* Refused, and the port is still ours: away and back many times. */
static void test_refuse_and_accept_again(void **state) {
    (void)state;
    struct listener listener = listener_of("127.0.0.1:0");
    for (int i = 0; i < 20; i++) {
        listener_refuse(&listener);
        assert_int_equal(knock(&listener), ECONNREFUSED);
        assert_true(listener_accept_again(&listener));
        assert_int_equal(knock(&listener), 0);
    }
    listener_clean_up(&listener);
}

static void test_port_in_use(void **state) {
    (void)state;
    struct listener first = listener_of("127.0.0.1:0"), second;
    struct problem problem;
    assert_true(listener_init(&second, first.url + strlen("http://"), &problem));
    assert_false(listener_open(&second, &problem));
    assert_non_null(strstr(problem.text, first.url));
    assert_non_null(strstr(problem.text, "Address already in use"));
    listener_clean_up(&first);
}

static void test_ipv6(void **state) {
    (void)state;
    struct listener listener;
    struct problem problem;
    assert_true(listener_init(&listener, "[::1]:0", &problem));
    if (!listener_open(&listener, &problem))
        skip(); /* no IPv6 here */
    assert_int_equal(strncmp(listener.url, "http://[::1]:", 13), 0);
    assert_int_equal(knock(&listener), 0);
    listener_clean_up(&listener);
}

static void test_mistakes(void **state) {
    (void)state;
    static const char *const rows[] = {
        "",   "127.0.0.1", "9000", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:123456", "256.0.0.1:80",
        "::1"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct listener listener;
        struct problem problem = {{0}};
        if (listener_init(&listener, rows[i], &problem))
            fail_msg("%s was taken", rows[i]);
        assert_true(strlen(problem.text) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_port),   cmocka_unit_test(test_refuse_and_accept_again),
        cmocka_unit_test(test_port_in_use), cmocka_unit_test(test_ipv6),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
