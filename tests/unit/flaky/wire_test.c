#include "testing.h"

#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* The two ends of a real connection. */
struct pair {
    int ours, theirs;
};

static struct pair connect_pair(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    struct pair pair = {.theirs = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(pair.theirs, (struct sockaddr *)&address, size), 0);
    pair.ours = accept(listening, NULL, NULL);
    assert_true(pair.ours >= 0);
    close(listening);
    return pair;
}

static void close_pair(struct pair pair) {
    close(pair.ours);
    close(pair.theirs);
}

/* Everything up to the end; gives 0 for an orderly one, or the error. */
static int read_all(int fd, char *text, size_t room) {
    ssize_t got = 0;
    size_t size = 0;
    while (size < room - 1 && (got = recv(fd, text + size, room - 1 - size, 0)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    return got < 0 ? errno : 0;
}

static void test_end(void **state) {
    (void)state;
    struct pair pair = connect_pair();
    char text[16];
    wire_end(pair.ours);
    assert_int_equal(read_all(pair.theirs, text, sizeof text), 0);
    assert_string_equal(text, "");
    close_pair(pair);
}

/* Also after an end of the other side, and whatever is done to the socket afterwards. */
static void test_reset(void **state) {
    (void)state;
    struct pair pair = connect_pair();
    char text[16];
    wire_reset(pair.ours);
    assert_int_equal(read_all(pair.theirs, text, sizeof text), ECONNRESET);
    assert_int_equal(send(pair.ours, "x", 1, MSG_NOSIGNAL), -1);
    wire_reset(pair.ours);
    wire_end(pair.ours);
    wire_close(pair.ours);
    assert_false(wire_has_input(pair.ours));
    close_pair(pair);
}

static void assert_part(const char *body_text, bool head_only, const char *expected) {
    struct pair pair = connect_pair();
    struct blob *body = blob_of_text(body_text);
    char text[512];
    wire_send_part(pair.ours, 200, body, head_only);
    usleep(1000);
    wire_reset(pair.ours);
    assert_int_equal(read_all(pair.theirs, text, sizeof text), ECONNRESET);
    assert_string_equal(text, expected);
    blob_release(body);
    close_pair(pair);
}

static void test_part_then_reset(void **state) {
    (void)state;
    assert_part("0123456789", false,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n01234");
    assert_part("0123456789", true, "HTTP/1.1 200 OK\r\nContent-Type: t");
    /* A body too short for a half is promised to be longer. */
    assert_part("x", false,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nx");
    assert_part("", false,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n");
}

static void receive_garbage(uint64_t word, char bytes[257]) {
    struct pair pair = connect_pair();
    memset(bytes, 0, 257);
    wire_send_garbage(pair.ours, word);
    wire_end(pair.ours);
    assert_int_equal(read_all(pair.theirs, bytes, 257), 0);
    close_pair(pair);
}

static void test_garbage(void **state) {
    (void)state;
    char first[257], again[257], other[257];
    for (uint64_t word = 0; word < 100; word++) {
        receive_garbage(word, first);
        assert_true((first[0] & 0x80) != 0); /* no letter */
    }
    receive_garbage(7, first);
    receive_garbage(7, again);
    receive_garbage(8, other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
}

static void test_input(void **state) {
    (void)state;
    struct pair pair = connect_pair();
    assert_false(wire_has_input(pair.ours));
    assert_int_equal(send(pair.theirs, "x", 1, 0), 1);
    while (!wire_has_input(pair.ours))
        usleep(100);
    char byte;
    assert_int_equal(recv(pair.ours, &byte, 1, 0), 1); /* it was only looked at */
    shutdown(pair.theirs, SHUT_WR);
    usleep(1000);
    assert_false(wire_has_input(pair.ours)); /* an end is nothing to be read */
    close_pair(pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_part_then_reset),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
