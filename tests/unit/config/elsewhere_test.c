#include "testing.h"

#include "elsewhere.h"

#include <stdlib.h>
#include <unistd.h>

enum { ROOM = 9 };

static void assert_value(const char *text, const char *expected) {
    char value[ROOM], message[200] = "";
    if (!elsewhere_read(text, value, sizeof value, message, sizeof message))
        fail_msg("%s: %s", text, message);
    assert_string_equal(value, expected);
}

static void assert_wrong(const char *text, const char *expected) {
    char value[ROOM], message[200] = "";
    assert_false(elsewhere_read(text, value, sizeof value, message, sizeof message));
    assert_string_equal(message, expected);
}

static void test_itself(void **state) {
    (void)state;
    assert_value("secret", "secret");
    assert_value("12345678", "12345678");
    assert_value("", "");
    assert_value("environ", "environ");
    assert_value("filer:", "filer:");
    assert_wrong("123456789", "is too long");
    assert_wrong("a\x1b[m", "has a control character or a second line in it");
}

static void test_environment(void **state) {
    (void)state;
    setenv("LULL_TEST_KEPT", " kept ", 1);
    assert_value("env:LULL_TEST_KEPT", "kept");
    setenv("LULL_TEST_KEPT", "", 1);
    assert_wrong("env:LULL_TEST_KEPT", "the environment variable \"LULL_TEST_KEPT\" is empty");
    setenv("LULL_TEST_KEPT", "a\nb", 1);
    assert_wrong("env:LULL_TEST_KEPT", "the environment variable \"LULL_TEST_KEPT\" has a control "
                                       "character or a second line in it");
    setenv("LULL_TEST_KEPT", "123456789", 1);
    assert_wrong("env:LULL_TEST_KEPT", "the environment variable \"LULL_TEST_KEPT\" is too long");
    unsetenv("LULL_TEST_KEPT");
    assert_wrong("env:LULL_TEST_KEPT", "the environment variable \"LULL_TEST_KEPT\" is not set");
    assert_wrong("env:", "the environment variable \"\" is not set");
}

static void write_file(const char *path, const char *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void test_file(void **state) {
    (void)state;
    char path[] = "/tmp/lull-XXXXXX", text[40], message[120];
    static char much[5000];
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(text, sizeof text, "file:%s", path);
    write_file(path, "kept\r\n", 6);
    assert_value(text, "kept");
    write_file(path, "", 0);
    snprintf(message, sizeof message, "the file \"%s\" is empty", path);
    assert_wrong(text, message);
    write_file(path, "a\nb\n", 4);
    snprintf(message, sizeof message,
             "the file \"%s\" has a control character or a second line in it", path);
    assert_wrong(text, message);
    write_file(path, "a\0b", 3);
    assert_wrong(text, message);
    memset(much, 'a', sizeof much);
    write_file(path, much, sizeof much);
    snprintf(message, sizeof message, "the file \"%s\" is too long", path);
    assert_wrong(text, message);
    unlink(path);
    snprintf(message, sizeof message, "the file \"%s\" cannot be read: No such file or directory",
             path);
    assert_wrong(text, message);
    assert_wrong("file:/", "the file \"/\" cannot be read: Is a directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_itself),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
