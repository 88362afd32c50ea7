#include "conformance.h"

#include "memory.h"

static void open_store(void) {
    adapter = store_memory_new();
    assert_non_null(adapter);
}

static void close_store(void) {
    adapter->destroy(adapter);
}

static void reopen_store(void) {}

static void test_failing_on_demand(void **state) {
    (void)state;
    int64_t shop = create("shop");
    store_memory_fail(adapter, "the disk is full");
    struct store_clock clock = {.request = {.kind = STORE_CLOCK}, .destination = shop};
    assert_int_equal(adapter->run(adapter, &clock.request, now), LULL_ESYSTEM);
    assert_int_equal(clock.request.result, LULL_ESYSTEM);
    assert_string_equal(adapter->problem(adapter), "the disk is full");
    store_memory_fail(adapter, NULL);
    assert_int_equal(ask(&clock.request), LULL_OK);
    assert_string_equal(adapter->problem(adapter), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CONFORMANCE_TESTS,
        CONFORMANCE_TEST(test_failing_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
