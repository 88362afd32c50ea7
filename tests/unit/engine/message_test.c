#include "testing.h"

#include "message.h"

static void test_copies_its_parts(void **state) {
    (void)state;
    char payload[] = {'a', '\0', 'b'};
    struct message *message = message_new(&(struct message_parts){
        .type = "order.paid, and more",
        .type_length = 10,
        .content_type = "text/plain",
        .content_type_length = 10,
        .headers = "a: b\n",
        .headers_length = 5,
        .payload = payload,
        .payload_length = sizeof payload,
    });
    assert_non_null(message);
    payload[0] = 'x';
    assert_string_equal(message->type, "order.paid");
    assert_int_equal(message->type_length, 10);
    assert_string_equal(message->content_type, "text/plain");
    assert_int_equal(message->content_type_length, 10);
    assert_string_equal(message->headers, "a: b\n");
    assert_int_equal(message->headers_length, 5);
    assert_memory_equal(message->payload, "a\0b", 4); /* with the NUL that follows */
    assert_int_equal(message->payload_length, 3);
    assert_int_equal(message->id, 0);
    assert_int_equal(message->accepted, 0);
    assert_int_equal(message_size(message), sizeof *message + 10 + 10 + 5 + 3 + 4);
    message_release(message);
}

static void test_absent_parts_are_empty(void **state) {
    (void)state;
    struct message *message = message_new(&(struct message_parts){.type_length = 7});
    assert_non_null(message);
    assert_string_equal(message->type, "");
    assert_int_equal(message->type_length, 0);
    assert_string_equal(message->content_type, "");
    assert_string_equal(message->headers, "");
    assert_string_equal(message->payload, "");
    assert_int_equal(message->payload_length, 0);
    message_release(message);
}

static void test_room_for_a_payload(void **state) {
    (void)state;
    struct message *message = message_new(&(struct message_parts){.payload_length = 1000});
    assert_non_null(message);
    assert_int_equal(message->payload_length, 1000);
    memset(message->payload, 'p', 1000);
    assert_int_equal(message->payload[1000], '\0');
    message_release(message);
}

static void test_too_large(void **state) {
    (void)state;
    assert_null(message_new(&(struct message_parts){.payload_length = SIZE_MAX}));
    assert_null(message_new(&(struct message_parts){.type = "", .type_length = SIZE_MAX}));
}

static void *share_and_release(void *message) {
    for (int i = 0; i < 1000; i++) {
        struct message *mine = message_share(message);
        assert_string_equal(mine->payload, "shared");
        message_release(mine);
    }
    message_release(message);
    return NULL;
}

static void test_shared_by_threads(void **state) {
    (void)state;
    struct message *message =
        message_new(&(struct message_parts){.payload = "shared", .payload_length = 6});
    assert_non_null(message);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(message_share(message), message);
    assert_int_equal(message->references, 5);
    on_threads(4, share_and_release, message);
    assert_int_equal(message->references, 1);
    message_release(message);
    message_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_its_parts),   cmocka_unit_test(test_absent_parts_are_empty),
        cmocka_unit_test(test_room_for_a_payload), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_shared_by_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
