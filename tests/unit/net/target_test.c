#include "testing.h"

#include "target.h"

#include <stdlib.h>

#define SECRET "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

static const struct target_secret none[TARGET_SECRETS];

static void test_copies(void **state) {
    (void)state;
    struct destination_settings *settings = calloc(1, sizeof *settings);
    assert_non_null(settings);
    strcpy(settings->name, "shop");
    strcpy(settings->url, "https://shop.example/hooks");
    strcpy(settings->headers[0].name, "X-Team");
    strcpy(settings->headers[0].value, "payments");
    strcpy(settings->headers[1].name, "X-Empty");
    settings->header_count = 2;
    settings->guard.connect_timeout = 2 * SECOND;
    settings->guard.retry.attempt_timeout = 7 * SECOND;
    struct target_secret secrets[TARGET_SECRETS] = {
        {"whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGQ==", LULL_NEVER}, {SECRET, 77}};
    struct target *target = target_new(settings, secrets);
    free(settings);
    assert_non_null(target);
    assert_string_equal(target->name, "shop");
    assert_string_equal(target->url, "https://shop.example/hooks");
    assert_string_equal(target->headers, "X-Team: payments\nX-Empty: \n");
    assert_int_equal(target->connect_timeout, 2 * SECOND);
    assert_int_equal(target->timeout, 7 * SECOND);
    assert_int_equal(target->secrets[0].length, 25);
    assert_int_equal(target->secrets[0].bytes[24], 25);
    assert_int_equal(target->secrets[0].until, LULL_NEVER);
    assert_int_equal(target->secrets[1].length, 24);
    assert_int_equal(target->secrets[1].bytes[23], 23);
    assert_int_equal(target->secrets[1].until, 77);
    target_release(target);
}

static void test_defaults(void **state) {
    (void)state;
    static const struct destination_settings settings = {.name = "a", .url = "http://a/"};
    struct target *target = target_new(&settings, none);
    assert_non_null(target);
    assert_string_equal(target->headers, "");
    assert_int_equal(target->timeout, DESTINATION_TIMEOUT);
    assert_int_equal(target->connect_timeout, DESTINATION_CONNECT_TIMEOUT);
    assert_int_equal(target->secrets[0].length, 0);
    assert_int_equal(target->secrets[1].length, 0);
    assert_null(target->transport_data);
    target_release(target);

    /* An empty secret is none. */
    target = target_new(&settings, (struct target_secret[]){{"", LULL_NEVER}, {NULL, 0}});
    assert_non_null(target);
    assert_int_equal(target->secrets[0].length, 0);
    target_release(target);
}

static void test_bad_secret(void **state) {
    (void)state;
    static const struct destination_settings settings = {.name = "a", .url = "http://a/"};
    assert_null(
        target_new(&settings, (struct target_secret[]){{"whsec_AAEC", LULL_NEVER}, {NULL, 0}}));
    assert_null(
        target_new(&settings, (struct target_secret[]){{SECRET, LULL_NEVER}, {"nonsense", 1}}));
}

static int freed;

static void count_free(void *data) {
    assert_ptr_equal(data, &freed);
    freed++;
}

/* What the transport keeps with it goes with the last reference. */
static void test_references(void **state) {
    (void)state;
    static const struct destination_settings settings = {.name = "a", .url = "http://a/"};
    struct target *target = target_new(&settings, none);
    assert_non_null(target);
    target->transport_data = &freed;
    target->free_transport_data = count_free;
    assert_ptr_equal(target_share(target), target);
    target_release(target);
    assert_int_equal(freed, 0);
    target_release(target);
    assert_int_equal(freed, 1);
    target_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_bad_secret),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
