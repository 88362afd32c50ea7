/* The adapter here is one of the test's own: it notes what it is given, and fails when told to. */
#include "testing.h"

#include "memory.h"
#include "thread.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define NOTED 20000

static struct {
    struct store_adapter adapter;
    atomic_bool failing;
    pthread_mutex_t gate;             /* held by the test: a run waits */
    atomic_int runs, in_a_run;        /* begun; requests of the last */
    struct store_clock *noted[NOTED]; /* carried out, in order: CLOCKs */
    atomic_int count;
} fake;

static int fake_run(struct store_adapter *adapter, struct store_request *list, lull_time now) {
    (void)adapter;
    (void)now;
    atomic_fetch_add(&fake.runs, 1);
    pthread_mutex_lock(&fake.gate);
    pthread_mutex_unlock(&fake.gate);
    bool failing = atomic_load(&fake.failing);
    int requests = 0;
    for (struct store_request *request = list; request != NULL; request = request->next) {
        requests++;
        request->result = failing ? LULL_ESYSTEM : LULL_OK;
        if (!failing && request->kind == STORE_CLOCK)
            fake.noted[atomic_fetch_add(&fake.count, 1)] = (struct store_clock *)request;
    }
    atomic_store(&fake.in_a_run, requests);
    return failing ? LULL_ESYSTEM : LULL_OK;
}

static const char *fake_problem(const struct store_adapter *adapter) {
    (void)adapter;
    return "the disk is full";
}

static struct store_thread *thread;
static struct inbox inbox;
static struct store_client client;
static int done_count;

static lull_time fixed_clock(void) {
    return 77;
}

static int set_up(void **state) {
    (void)state;
    fake.adapter = (struct store_adapter){fake_run, fake_problem, NULL};
    fake.failing = false;
    fake.runs = fake.count = fake.in_a_run = 0;
    pthread_mutex_init(&fake.gate, NULL);
    done_count = 0;
    thread = store_thread_new(&(struct store_thread_config){
        .adapter = &fake.adapter, .clock = fixed_clock, .pause = MS, .pause_longest = 2 * MS});
    assert_non_null(thread);
    assert_int_equal(inbox_init(&inbox), LULL_OK);
    return store_client_init(&client, thread, &inbox);
}

static void stop(void) {
    store_thread_destroy(thread);
    thread = NULL;
    inbox_open(&inbox);
}

static int tear_down(void **state) {
    (void)state;
    stop();
    store_client_clean_up(&client);
    inbox_clean_up(&inbox);
    pthread_mutex_destroy(&fake.gate);
    return 0;
}

static void count_done(struct store_request *request) {
    (void)request;
    done_count++;
}

static void wait_for(int count) {
    struct pollfd event = {.fd = inbox.event, .events = POLLIN};
    while (done_count < count) {
        assert_int_equal(poll(&event, 1, 60000), 1);
        inbox_open(&inbox);
    }
}

/* Until the thread is in a run: it holds at the gate. */
static void wait_for_run(int number) {
    while (atomic_load(&fake.runs) < number)
        usleep(100);
}

static struct store_clock clock_of(int64_t number, bool insistent) {
    return (struct store_clock){.request = {.kind = STORE_CLOCK,
                                            .insistent = insistent,
                                            .done = count_done,
                                            .result = LULL_EINVAL},
                                .destination = number};
}

static void submit(struct store_request *request) {
    client.port.submit(&client.port, request);
}

static void test_requests_come_back(void **state) {
    (void)state;
    struct store_clock clocks[10];
    store_client_flush(&client); /* of nothing */
    for (int i = 0; i < 10; i++) {
        clocks[i] = clock_of(i, false);
        submit(&clocks[i].request);
    }
    store_client_flush(&client);
    wait_for(10);
    assert_int_equal(done_count, 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(clocks[i].request.result, LULL_OK);
        assert_ptr_equal(fake.noted[i], &clocks[i]);
    }
    assert_int_equal(fake.runs, 1);
}

static void test_what_queues_up_is_one_transaction(void **state) {
    (void)state;
    struct store_clock clocks[5];
    pthread_mutex_lock(&fake.gate);
    for (int i = 0; i < 5; i++) {
        clocks[i] = clock_of(i, false);
        submit(&clocks[i].request);
        store_client_flush(&client);
        if (i == 0)
            wait_for_run(1);
    }
    pthread_mutex_unlock(&fake.gate);
    wait_for(5);
    assert_int_equal(fake.runs, 2);
    assert_int_equal(fake.in_a_run, 4);
}

static void test_a_transaction_is_bounded(void **state) {
    (void)state;
    struct store_clock *clocks = calloc(STORE_THREAD_REQUESTS + 5, sizeof *clocks);
    for (int i = 0; i < STORE_THREAD_REQUESTS + 5; i++) {
        clocks[i] = clock_of(i, false);
        submit(&clocks[i].request);
    }
    store_client_flush(&client);
    wait_for(STORE_THREAD_REQUESTS + 5);
    assert_int_equal(fake.runs, 2);
    assert_int_equal(fake.in_a_run, 5);
    free(clocks);

    /* Three messages of half the bound: two, then one. */
    struct message *message =
        message_new(&(struct message_parts){.payload_length = STORE_THREAD_BYTES / 2});
    struct accept_event event = {.message = message};
    struct store_accept accepts[3];
    for (int i = 0; i < 3; i++) {
        accepts[i] = (struct store_accept){.request = {.kind = STORE_ACCEPT, .done = count_done},
                                           .events = &event,
                                           .event_count = 1};
        submit(&accepts[i].request);
    }
    store_client_flush(&client);
    wait_for(STORE_THREAD_REQUESTS + 8);
    assert_int_equal(fake.runs, 4);
    assert_int_equal(fake.in_a_run, 1);
    message_release(message);
}

static void test_failure(void **state) {
    (void)state;
    struct store_failure failure;
    assert_false(store_thread_failing(thread, &failure));
    struct store_clock plain = clock_of(0, false), first = clock_of(1, true),
                       second = clock_of(2, true), later = clock_of(3, false);
    fake.failing = true;
    submit(&first.request);
    submit(&plain.request);
    submit(&second.request);
    store_client_flush(&client);
    wait_for(1); /* the plain one alone */
    assert_int_equal(plain.request.result, LULL_ESYSTEM);
    assert_true(store_thread_failing(thread, &failure));
    assert_int_equal(failure.since, 77);
    assert_string_equal(failure.why, "the disk is full");
    wait_for_run(4); /* they are tried again and again */
    assert_int_equal(fake.count, 0);
    pthread_mutex_lock(&fake.gate);
    submit(&later.request);
    store_client_flush(&client);
    fake.failing = false;
    pthread_mutex_unlock(&fake.gate);
    wait_for(4);
    assert_false(store_thread_failing(thread, &failure));
    assert_int_equal(first.request.result, LULL_OK);
    assert_int_equal(second.request.result, LULL_OK);
    assert_ptr_equal(fake.noted[0], &first);
    assert_ptr_equal(fake.noted[1], &second);
}

static void test_the_last_try(void **state) {
    (void)state;
    struct store_clock insistent = clock_of(1, true);
    fake.failing = true;
    submit(&insistent.request);
    store_client_flush(&client);
    wait_for_run(2);
    stop();
    assert_int_equal(done_count, 1);
    assert_int_equal(insistent.request.result, LULL_ESYSTEM);
}

static void test_what_is_queued_is_finished(void **state) {
    (void)state;
    struct store_clock clocks[100];
    for (int i = 0; i < 100; i++) {
        clocks[i] = clock_of(i, false);
        submit(&clocks[i].request);
        store_client_flush(&client);
    }
    stop();
    assert_int_equal(done_count, 100);
    assert_int_equal(fake.count, 100);
}

static void test_asking(void **state) {
    (void)state;
    struct store_clock clock = clock_of(5, false);
    store_thread_ask(thread, &clock.request);
    assert_int_equal(clock.request.result, LULL_OK);
    assert_int_equal(fake.count, 1);
    fake.failing = true;
    store_thread_ask(thread, &clock.request);
    assert_int_equal(clock.request.result, LULL_ESYSTEM);
    assert_int_equal(done_count, 0);
}

/* While it fails, a producer is told at once, not after the pause. */
static void test_producers_do_not_wait(void **state) {
    (void)state;
    struct store_thread *slow = store_thread_new(&(struct store_thread_config){
        .adapter = &fake.adapter, .pause = LULL_HOUR, .pause_longest = LULL_HOUR});
    struct store_client producer;
    assert_int_equal(store_client_init(&producer, slow, &inbox), LULL_OK);
    fake.failing = true;
    struct store_clock clock = clock_of(1, true);
    producer.port.submit(&producer.port, &clock.request);
    store_client_flush(&producer);
    wait_for_run(1);
    struct message *message = message_new(&(struct message_parts){.payload_length = 1});
    struct accept_event event = {.message = message};
    for (int i = 1; i <= 3; i++) {
        struct store_accept accept = {.request = {.kind = STORE_ACCEPT, .done = count_done},
                                      .events = &event,
                                      .event_count = 1};
        producer.port.submit(&producer.port, &accept.request);
        store_client_flush(&producer);
        wait_for(i);
        assert_int_equal(accept.request.result, LULL_ESYSTEM);
    }
    assert_int_equal(fake.runs, 1);
    fake.failing = false;
    store_thread_destroy(slow); /* and the insistent one gets its last try */
    wait_for(4);
    assert_int_equal(clock.request.result, LULL_OK);
    store_client_clean_up(&producer);
    message_release(message);
}

/* ---- several askers, on a real store ---- */

enum { ASKERS = 4, EACH = 300 };

struct asker {
    struct inbox inbox;
    struct store_client client;
    struct store_accept accepts[EACH];
    struct accept_event events[EACH];
    struct accept_delivery deliveries[EACH];
    int done;
};
static int64_t destination;
static struct store_thread *shared;

static void count_for_asker(struct store_request *request) {
    struct asker *asker = request->owner;
    assert_ptr_equal(request, &asker->accepts[asker->done].request); /* in the order submitted */
    assert_int_equal(request->result, LULL_OK);
    asker->done++;
}

static void *ask_many(void *unused) {
    struct asker *asker = calloc(1, sizeof *asker);
    assert_int_equal(inbox_init(&asker->inbox), LULL_OK);
    assert_int_equal(store_client_init(&asker->client, shared, &asker->inbox), LULL_OK);
    for (int i = 0; i < EACH; i++) {
        asker->events[i] = (struct accept_event){
            .message = message_new(&(struct message_parts){.payload_length = 10}), .count = 1};
        memset(asker->events[i].message->payload, 'p', 10);
        asker->deliveries[i].destination = destination;
        asker->accepts[i] = (struct store_accept){
            .request = {.kind = STORE_ACCEPT, .done = count_for_asker, .owner = asker},
            .events = &asker->events[i],
            .deliveries = &asker->deliveries[i],
            .event_count = 1,
            .delivery_count = 1};
        asker->client.port.submit(&asker->client.port, &asker->accepts[i].request);
        if (i % 7 == 0)
            store_client_flush(&asker->client);
        inbox_open(&asker->inbox);
    }
    store_client_flush(&asker->client);
    struct pollfd event = {.fd = asker->inbox.event, .events = POLLIN};
    while (asker->done < EACH) {
        assert_int_equal(poll(&event, 1, 60000), 1);
        inbox_open(&asker->inbox);
    }
    for (int i = 0; i < EACH; i++) {
        if (i > 0)
            assert_true(place_before(asker->deliveries[i - 1].place, asker->deliveries[i].place));
        message_release(asker->events[i].message);
    }
    store_client_clean_up(&asker->client);
    inbox_clean_up(&asker->inbox);
    free(asker);
    return unused;
}

static void test_several_askers(void **state) {
    (void)state;
    struct store_adapter *memory = store_memory_new();
    shared = store_thread_new(&(struct store_thread_config){.adapter = memory});
    struct store_put put = {.request = {.kind = STORE_PUT}, .row = {.name = "shop"}};
    store_thread_ask(shared, &put.request);
    destination = put.row.id;
    on_threads(ASKERS, ask_many, NULL);
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    store_thread_ask(shared, &all.request);
    assert_int_equal(all.rows[0].pending[DELIVERY_FRESH], ASKERS * EACH);
    store_destinations_clean_up(&all);
    store_thread_destroy(shared);
    memory->destroy(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_queues_up_is_one_transaction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_transaction_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_try, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_queued_is_finished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_asking, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_producers_do_not_wait, set_up, tear_down),
        cmocka_unit_test(test_several_askers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
