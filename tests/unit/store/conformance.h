/* What every store must do. An adapter's test says how to open one, and how to close and open it again. */
#ifndef TESTS_STORE_CONFORMANCE_H
#define TESTS_STORE_CONFORMANCE_H

#include "store_fixture.h"

static void open_store(void); /* an empty one */
static void close_store(void);
static void reopen_store(void); /* does nothing, if it cannot */

static int set_up(void **state) {
    (void)state;
    now = START;
    open_store();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    close_store();
    return 0;
}

/* ---- accept, load ---- */

static void test_an_event_comes_back_as_it_was(void **state) {
    (void)state;
    int64_t shop = create("shop");
    const char payload[] = "\0\xFF bytes";
    struct message *message = message_new(&(struct message_parts){
        .type = "a.b",
        .type_length = 3,
        .content_type = "x/y",
        .content_type_length = 3,
        .headers = "k: v\n",
        .headers_length = 5,
        .payload = payload,
        .payload_length = sizeof payload,
    });
    struct accept_delivery delivery = {.destination = shop};
    struct accept_event event = {.message = message, .count = 1};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, &delivery, 1, 1};
    assert_int_equal(ask(&accept.request), LULL_OK);
    assert_int_equal(event.id, START / MS << 20);
    assert_int_equal(delivery.place.id, event.id + 1);
    assert_true(delivery.place.due >= now);
    message_release(message);
    reopen_store();
    struct store_load load =
        load_from(shop, DELIVERY_FRESH, (struct place){0}, delivery.place.due, ROWS);
    assert_int_equal(load.count, 1);
    assert_false(load.more);
    assert_int_equal(load.next_due, LULL_NEVER);
    assert_int_equal(rows[0].place.due, delivery.place.due);
    assert_int_equal(rows[0].place.id, delivery.place.id);
    assert_int_equal(rows[0].attempts, 0);
    assert_int_equal(rows[0].tries, 0);
    assert_int_equal(rows[0].replay, 0);
    const struct message *loaded = rows[0].message;
    assert_int_equal(loaded->id, event.id);
    assert_int_equal(loaded->accepted, START);
    assert_string_equal(loaded->type, "a.b");
    assert_string_equal(loaded->content_type, "x/y");
    assert_string_equal(loaded->headers, "k: v\n");
    assert_int_equal(loaded->payload_length, sizeof payload);
    assert_memory_equal(loaded->payload, payload, sizeof payload);
    unload(&load);
}

static void test_an_empty_payload(void **state) {
    (void)state;
    int64_t shop = create("shop");
    accept_one(shop, "");
    struct store_load load = load_from(shop, DELIVERY_FRESH, (struct place){0}, now + SECOND, ROWS);
    assert_int_equal(load.count, 1);
    assert_int_equal(rows[0].message->payload_length, 0);
    unload(&load);
}

static void test_fan_out(void **state) {
    (void)state;
    int64_t shop = create("shop"), bank = create("bank");
    struct message *message = message_of("both");
    struct accept_delivery deliveries[] = {
        {.destination = shop}, {.destination = 999}, {.destination = bank}};
    struct accept_event event = {.message = message, .count = 3};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, deliveries, 1, 3};
    assert_int_equal(ask(&accept.request), LULL_OK);
    message_release(message);
    assert_int_equal(deliveries[0].place.id, event.id + 1);
    assert_int_equal(deliveries[1].place.id, 0);
    assert_int_equal(deliveries[2].place.id, event.id + 3);
    assert_totals(shop, 1, 0, 0, 0);
    assert_totals(bank, 1, 0, 0, 0);
    assert_true(accept_one(shop, "next").id > event.id + 3);
    struct store_get get = {.request = {.kind = STORE_GET}, .id = event.id};
    assert_int_equal(ask(&get.request), LULL_OK);
    assert_int_equal(get.count, 2);
    assert_int_equal(get.records[0].destination, shop);
    assert_int_equal(get.records[1].destination, bank);
    store_get_clean_up(&get);
}

static void test_an_event_for_nobody_is_kept_for_a_time(void **state) {
    (void)state;
    struct message *message = message_of("nobody");
    struct accept_event event = {.message = message};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, NULL, 1, 0};
    assert_int_equal(ask(&accept.request), LULL_OK);
    message_release(message);
    assert_int_equal(look_up(event.id, false), LULL_OK);
    assert_int_equal(tidy(now, 10).removed, 0);
    assert_int_equal(look_up(event.id, false), LULL_OK);
    assert_int_equal(tidy(now + 1, 10).removed, 1);
    assert_int_equal(look_up(event.id, false), STORE_ABSENT);
}

static void test_places_only_go_forward(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place last = accept_one(shop, "a");
    for (int i = 0; i < 20; i++) {
        if (i % 3 == 0) { /* a look ahead */
            last.due = last.due > now + SECOND ? last.due : now + SECOND;
            count_of(shop, DELIVERY_FRESH, last.due);
        }
        if (i % 5 == 0)
            now -= LULL_MINUTE; /* the clock is set back */
        if (i % 7 == 0)
            now += 2 * LULL_HOUR;
        struct place place = accept_one(shop, "b");
        assert_true(place_before(last, place));
        assert_true(place.due > last.due || i % 3 != 0);
        assert_true(place.id > last.id);
        last = place;
    }
    now = START - LULL_DAY;
    reopen_store();
    struct place place = accept_one(shop, "c");
    assert_true(place_before(last, place));
    assert_true(place.id > last.id);
}

static void test_ids_are_not_given_twice(void **state) {
    (void)state;
    int64_t shop = create("shop");
    int64_t id = bury(shop, "a");
    struct store_drop drop = {.request = {.kind = STORE_DROP}, .id = id};
    assert_int_equal(ask(&drop.request), LULL_OK);
    reopen_store();
    assert_true(accept_one(shop, "b").id > id);
}

static void test_loading_in_order_and_by_pieces(void **state) {
    (void)state;
    int64_t shop = create("shop"), bank = create("bank");
    struct place places[10];
    for (int i = 0; i < 10; i++) {
        now += SECOND;
        places[i] = accept_one(shop, "0123456789");
        accept_one(bank, "not mine");
    }
    struct store_load load = load_from(shop, DELIVERY_FRESH, (struct place){0}, now + SECOND, 4);
    assert_int_equal(load.count, 4);
    assert_true(load.more);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rows[i].place.id, places[i].id);
    unload(&load);
    load = load_from(shop, DELIVERY_FRESH, places[3], places[5].due, ROWS);
    assert_int_equal(load.count, 2);
    assert_int_equal(rows[0].place.id, places[4].id);
    assert_false(load.more);
    assert_int_equal(load.next_due, places[6].due);
    unload(&load);
    load = load_from(shop, DELIVERY_FRESH, places[3], places[5].due, 2);
    assert_int_equal(load.count, 2);
    assert_false(load.more); /* all that are due were given */
    assert_int_equal(load.next_due, places[6].due);
    unload(&load);
    load = load_from(shop, DELIVERY_FRESH, places[9], now + SECOND, ROWS);
    assert_int_equal(load.count, 0);
    assert_int_equal(load.next_due, LULL_NEVER);
    load = load_from(999, DELIVERY_FRESH, (struct place){0}, now, ROWS);
    assert_int_equal(load.count, 0);
}

static void test_loading_up_to_a_size(void **state) {
    (void)state;
    int64_t shop = create("shop");
    for (int i = 0; i < 5; i++)
        accept_one(shop, "0123456789");
    struct store_load load = load_from(shop, DELIVERY_FRESH, (struct place){0}, now + SECOND, ROWS);
    size_t size = message_size(rows[0].message);
    unload(&load);
    static const uint32_t expected[] = {1, 1, 1, 2, 2};
    const size_t bytes[] = {0, 1, size, size + 1, 2 * size};
    for (size_t i = 0; i < COUNT(bytes); i++) {
        load.bytes = bytes[i];
        assert_int_equal(ask(&load.request), LULL_OK);
        assert_int_equal(load.count, expected[i]);
        assert_true(load.more);
        unload(&load);
    }
}

/* Places that are due at the same time come in the order of their ids. */
static void test_ties(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place places[6];
    for (int i = 0; i < 6; i++)
        places[i] = accept_one(shop, "a");
    for (int i = 5; i >= 0; i--)
        settle(shop, places[i], DELIVERY_FRESH, DELIVERY_RETRY, now + SECOND);
    struct place after = {now + SECOND, places[1].id};
    struct store_load load = load_from(shop, DELIVERY_RETRY, after, now + SECOND, ROWS);
    assert_int_equal(load.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rows[i].place.id, places[i + 2].id);
    unload(&load);
}

/* ---- keys ---- */

static struct accept_event accept_key(int64_t destination, const char *key, uint64_t fingerprint,
                                      struct place *place) {
    struct message *message = message_of("keyed");
    struct accept_delivery delivery = {.destination = destination};
    struct accept_event event = {.message = message,
                                 .key = key,
                                 .key_length = strlen(key),
                                 .fingerprint = fingerprint,
                                 .count = 1};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, &delivery, 1, 1};
    assert_int_equal(ask(&accept.request), LULL_OK);
    message_release(message);
    *place = delivery.place;
    return event;
}

static void test_keys(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place place;
    const uint64_t print = UINT64_MAX - 5;
    int64_t first = accept_key(shop, "k", print, &place).id;
    assert_int_equal(place.id, first + 1);
    reopen_store();
    struct accept_event again = accept_key(shop, "k", print, &place);
    assert_int_equal(again.verdict, ACCEPT_REPLAYED);
    assert_int_equal(again.id, first);
    assert_int_equal(place.id, 0);
    struct accept_event other = accept_key(shop, "k", 6, &place);
    assert_int_equal(other.verdict, ACCEPT_MISMATCH);
    assert_int_equal(place.id, 0);
    assert_int_equal(accept_key(shop, "kk", print, &place).verdict, ACCEPT_NEW);
    assert_totals(shop, 2, 0, 0, 0);

    now = START + IDEMPOTENCY_KEPT - 1;
    assert_int_equal(accept_key(shop, "k", print, &place).verdict, ACCEPT_REPLAYED);
    now++;
    assert_int_equal(accept_key(shop, "k", 6, &place).verdict, ACCEPT_NEW); /* too old by now */
    assert_int_equal(accept_key(shop, "k", 6, &place).verdict, ACCEPT_REPLAYED);
}

/* It was told that the destination is gone; sent again, to the next one of that name, it must arrive. */
static void test_a_key_is_not_kept_for_what_was_refused(void **state) {
    (void)state;
    int64_t gone = create("shop");
    struct store_remove remove = {.request = {.kind = STORE_REMOVE}, .destination = gone};
    assert_int_equal(ask(&remove.request), LULL_OK);
    struct place place;
    accept_key(gone, "k", 5, &place);
    assert_int_equal(place.id, 0);
    int64_t next = create("shop");
    assert_int_equal(accept_key(next, "k", 5, &place).verdict, ACCEPT_NEW);
    assert_int_not_equal(place.id, 0);
    assert_int_equal(accept_key(next, "k", 5, &place).verdict, ACCEPT_REPLAYED);
}

static void test_the_same_key_twice_in_a_request(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct message *messages[] = {message_of("a"), message_of("a"), message_of("b")};
    struct accept_delivery deliveries[] = {
        {.destination = shop}, {.destination = shop}, {.destination = shop}};
    struct accept_event events[3];
    for (uint32_t i = 0; i < 3; i++)
        events[i] = (struct accept_event){.message = messages[i],
                                          .key = "key",
                                          .key_length = 3,
                                          .fingerprint = i / 2,
                                          .first = i,
                                          .count = 1};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, events, deliveries, 3, 3};
    assert_int_equal(ask(&accept.request), LULL_OK);
    assert_int_equal(events[0].verdict, ACCEPT_NEW);
    assert_int_equal(events[1].verdict, ACCEPT_REPLAYED);
    assert_int_equal(events[1].id, events[0].id);
    assert_int_equal(events[2].verdict, ACCEPT_MISMATCH);
    assert_int_equal(deliveries[1].place.id, 0);
    for (int i = 0; i < 3; i++)
        message_release(messages[i]);
    assert_int_equal(count_of(shop, DELIVERY_FRESH, now + SECOND), 1);
}

static void test_old_keys_are_tidied(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place place;
    accept_key(shop, "a", 1, &place);
    accept_key(shop, "b", 1, &place);
    now += LULL_HOUR;
    accept_key(shop, "c", 1, &place);
    now = START + IDEMPOTENCY_KEPT - 1;
    assert_int_equal(tidy(0, 10).removed, 0);
    now++;
    struct store_tidy slice = tidy(0, 1);
    assert_int_equal(slice.removed, 1);
    assert_true(slice.more);
    slice = tidy(0, 10);
    assert_int_equal(slice.removed, 1);
    assert_false(slice.more);
    assert_int_equal(accept_key(shop, "c", 1, &place).verdict, ACCEPT_REPLAYED);
}

/* ---- settle ---- */

static void test_a_retry(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place place = accept_one(shop, "a");
    struct store_settle request =
        settle_of(shop, place, DELIVERY_FRESH, DELIVERY_RETRY, now + LULL_MINUTE);
    request.attempts = 2;
    request.tries = 7;
    request.previous = 30 * SECOND;
    assert_int_equal(ask(&request.request), LULL_OK);
    assert_totals(shop, 0, 1, 0, 0);
    reopen_store();
    assert_int_equal(count_of(shop, DELIVERY_FRESH, now + LULL_HOUR), 0);
    struct store_load load = load_from(shop, DELIVERY_RETRY, (struct place){0}, now, ROWS);
    assert_int_equal(load.count, 0);
    assert_int_equal(load.next_due, now + LULL_MINUTE);
    load = load_from(shop, DELIVERY_RETRY, (struct place){0}, now + LULL_MINUTE, ROWS);
    assert_int_equal(load.count, 1);
    assert_int_equal(rows[0].place.id, place.id);
    assert_int_equal(rows[0].attempts, 2);
    assert_int_equal(rows[0].tries, 7);
    assert_int_equal(rows[0].previous, 30 * SECOND);
    assert_int_equal(rows[0].first_failed, now);
    unload(&load);
}

static void test_totals_follow(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place a = accept_one(shop, "a"), b = accept_one(shop, "b"), c = accept_one(shop, "c");
    assert_totals(shop, 3, 0, 0, 0);
    settle(shop, a, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    settle(shop, b, DELIVERY_FRESH, DELIVERY_DEAD, now);
    settle(shop, c, DELIVERY_FRESH, DELIVERY_RETRY, now + 1);
    assert_totals(shop, 0, 1, 1, 1);
    settle(shop, (struct place){now + 1, c.id}, DELIVERY_RETRY, DELIVERY_RETRY, now + 2);
    assert_totals(shop, 0, 1, 1, 1);
    settle(shop, (struct place){now + 2, c.id}, DELIVERY_RETRY, DELIVERY_DELIVERED, now);
    reopen_store();
    assert_totals(shop, 0, 0, 2, 1);
}

static void test_settling_what_is_not_there_does_nothing(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place place = accept_one(shop, "a");
    settle(shop, (struct place){now, 12345}, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    settle(shop, place, DELIVERY_RETRY, DELIVERY_DELIVERED, now);
    assert_totals(shop, 1, 0, 0, 0);
    settle(shop, place, DELIVERY_FRESH, DELIVERY_DEAD, now);
    settle(shop, place, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    assert_totals(shop, 0, 0, 0, 1);
    struct store_settle back = settle_of(shop, place, DELIVERY_DEAD, DELIVERY_FRESH, now);
    assert_int_equal(ask(&back.request), LULL_EINVAL);
}

static void test_the_trace(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place place = accept_one(shop, "a");
    struct store_settle first =
        settle_of(shop, place, DELIVERY_FRESH, DELIVERY_RETRY, now + SECOND);
    memcpy(first.attempt.error, "no route", 9);
    first.attempt.excerpt = (char[]){'e', '\0', 'x'};
    first.attempt.excerpt_length = 3;
    assert_int_equal(ask(&first.request), LULL_OK);
    now += SECOND;
    struct store_settle second = settle_of(shop, (struct place){now, place.id}, DELIVERY_RETRY,
                                           DELIVERY_DELIVERED, now + 12 * MS);
    second.attempts = second.tries = second.attempt.number = 2;
    second.first_failed = START;
    memcpy(second.attempt.error, "ignored", 8); /* of a success only status and time are kept */
    second.attempt.excerpt = (char[]){'z'};
    second.attempt.excerpt_length = 1;
    assert_int_equal(ask(&second.request), LULL_OK);
    reopen_store();

    struct store_get get = {.request = {.kind = STORE_GET}, .id = place.id, .delivery = true};
    assert_int_equal(ask(&get.request), LULL_OK);
    assert_string_equal(get.message->payload, "a");
    assert_int_equal(get.count, 1);
    const struct delivery_record *record = &get.records[0];
    assert_int_equal(record->id, place.id);
    assert_int_equal(record->event, place.id - 1);
    assert_int_equal(record->state, DELIVERY_DELIVERED);
    assert_int_equal(record->at, now + 12 * MS);
    assert_int_equal(record->accepted, START);
    assert_int_equal(record->tries, 2);
    assert_int_equal(record->first_failed, START);
    assert_int_equal(record->last_failed, START + 12 * MS);
    assert_int_equal(record->status, 200);
    assert_string_equal(record->type, "order.paid");
    assert_string_equal(record->error, "no route");
    assert_int_equal(record->trace_count, 2);
    assert_int_equal(record->trace[0].number, 1);
    assert_int_equal(record->trace[0].began, START);
    assert_int_equal(record->trace[0].took, 12 * MS);
    assert_int_equal(record->trace[0].class_, LULL_TRANSIENT);
    assert_int_equal(record->trace[0].status, 503);
    assert_string_equal(record->trace[0].error, "no route");
    assert_int_equal(record->trace[0].excerpt_length, 3);
    assert_memory_equal(record->trace[0].excerpt, "e\0x", 3);
    assert_int_equal(record->trace[1].number, 2);
    assert_int_equal(record->trace[1].began, now);
    assert_int_equal(record->trace[1].class_, LULL_SUCCESS);
    assert_int_equal(record->trace[1].status, 200);
    assert_string_equal(record->trace[1].error, "");
    assert_null(record->trace[1].excerpt);
    store_get_clean_up(&get);
    assert_int_equal(look_up(place.id, false), STORE_ABSENT); /* not an event's id */
    assert_int_equal(look_up(place.id - 1, true), STORE_ABSENT);
    assert_int_equal(look_up(place.id - 1, false), LULL_OK);
}

static void test_dead_without_an_attempt(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct place place = accept_one(shop, "a");
    struct store_settle request = settle_of(shop, place, DELIVERY_FRESH, DELIVERY_DEAD, now);
    request.attempt = (struct attempt_record){0};
    request.attempts = request.tries = 0;
    request.reason = LULL_REASON_DEADLINE_PASSED;
    assert_int_equal(ask(&request.request), LULL_OK);
    struct store_get get = {.request = {.kind = STORE_GET}, .id = place.id, .delivery = true};
    assert_int_equal(ask(&get.request), LULL_OK);
    assert_int_equal(get.records[0].trace_count, 0);
    assert_int_equal(get.records[0].reason, LULL_REASON_DEADLINE_PASSED);
    assert_int_equal(get.records[0].status, 0);
    store_get_clean_up(&get);
}

/* ---- destinations ---- */

static void test_destinations(void **state) {
    (void)state;
    struct store_put put = {
        .request = {.kind = STORE_PUT},
        .row =
            {
                .name = "shop",
                .state = DESTINATION_PAUSED,
                .from_config = true,
                .settings = (char[]){"{\"url\":1}"},
                .secret = (char[]){"whsec_a"},
                .previous_secret = (char[]){"whsec_b"},
                .previous_until = 77,
            },
    };
    assert_int_equal(ask(&put.request), LULL_OK);
    create("bank");
    struct store_clock clock = {.request = {.kind = STORE_CLOCK},
                                .destination = put.row.id,
                                .blocked_until = 99,
                                .state = DESTINATION_DISABLED};
    assert_int_equal(ask(&clock.request), LULL_OK);
    reopen_store();
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    assert_int_equal(ask(&all.request), LULL_OK);
    assert_int_equal(all.count, 2);
    const struct destination_row *row = &all.rows[0];
    assert_int_equal(row->id, put.row.id);
    assert_string_equal(row->name, "shop");
    assert_int_equal(row->state, DESTINATION_DISABLED);
    assert_true(row->from_config);
    assert_int_equal(row->created, START);
    assert_int_equal(row->blocked_until, 99);
    assert_string_equal(row->settings, "{\"url\":1}");
    assert_string_equal(row->secret, "whsec_a");
    assert_string_equal(row->previous_secret, "whsec_b");
    assert_int_equal(row->previous_until, 77);
    assert_string_equal(all.rows[1].name, "bank");
    assert_null(all.rows[1].secret);
    store_destinations_clean_up(&all);
}

static void test_changing_a_destination(void **state) {
    (void)state;
    int64_t shop = create("shop");
    create("bank");
    accept_one(shop, "a");
    struct store_clock clock = {.request = {.kind = STORE_CLOCK}, .destination = shop};
    clock.blocked_until = 99;
    clock.state = DESTINATION_PAUSED;
    assert_int_equal(ask(&clock.request), LULL_OK);
    struct store_put put = {.request = {.kind = STORE_PUT}, .row = {.id = shop, .name = "store"}};
    put.row.settings = (char[]){"{2}"};
    put.row.created = 5;
    assert_int_equal(ask(&put.request), LULL_OK);
    assert_false(put.created);
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    assert_int_equal(ask(&all.request), LULL_OK);
    assert_string_equal(all.rows[0].name, "store");
    assert_string_equal(all.rows[0].settings, "{2}");
    assert_int_equal(all.rows[0].blocked_until, 99); /* these are not its matter: */
    assert_int_equal(all.rows[0].state, DESTINATION_PAUSED);
    assert_int_equal(all.rows[0].pending[DELIVERY_FRESH], 1);
    store_destinations_clean_up(&all);
    memcpy(put.row.name, "bank", 5);
    assert_int_equal(ask(&put.request), STORE_EXISTS);
    put.row.id = 0;
    assert_int_equal(ask(&put.request), STORE_EXISTS);
    assert_int_equal(put.row.id, 0);
    put.row.id = 999;
    assert_int_equal(ask(&put.request), STORE_ABSENT);
    clock.destination = 999;
    assert_int_equal(ask(&clock.request), STORE_ABSENT);
}

static int remove_destination(int64_t destination, bool force) {
    struct store_remove request = {
        .request = {.kind = STORE_REMOVE}, .destination = destination, .force = force};
    return ask(&request.request);
}

static void test_removal(void **state) {
    (void)state;
    int64_t shop = create("shop"), bank = create("bank");
    struct place place = accept_one(shop, "a");
    accept_one(shop, "b");
    bury(shop, "c");
    struct message *message = message_of("both");
    struct accept_delivery deliveries[] = {{.destination = shop}, {.destination = bank}};
    struct accept_event event = {.message = message, .count = 2};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, deliveries, 1, 2};
    assert_int_equal(ask(&accept.request), LULL_OK);
    int64_t both = event.id;
    message_release(message);

    struct store_remove request = {.request = {.kind = STORE_REMOVE}, .destination = shop};
    assert_int_equal(ask(&request.request), STORE_NOT_EMPTY);
    assert_int_equal(request.pending, 3);
    assert_int_equal(request.dead, 1);
    request.force = true;
    assert_int_equal(ask(&request.request), LULL_OK);
    assert_int_equal(remove_destination(shop, true), STORE_ABSENT);
    int64_t heir = create("shop"); /* the name is free at once */
    assert_int_not_equal(heir, shop);
    assert_int_equal(count_of(shop, DELIVERY_FRESH, now + SECOND), 0);
    assert_int_equal(look_up(place.id, true), STORE_ABSENT);
    event.message = message = message_of("both again");
    assert_int_equal(ask(&accept.request), LULL_OK);
    message_release(message);
    assert_int_equal(deliveries[0].place.id, 0);
    assert_true(deliveries[1].place.id > 0);
    settle(shop, place, DELIVERY_FRESH, DELIVERY_DEAD, now); /* it was under way */
    reopen_store();

    struct store_tidy slice = tidy(0, 3);
    assert_int_equal(slice.removed, 3);
    assert_true(slice.more);
    slice = tidy(0, 3);
    assert_int_equal(slice.removed, 2); /* the fourth, and the destination */
    assert_false(slice.more);
    settle(shop, place, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    struct store_get get = {.request = {.kind = STORE_GET}, .id = both};
    assert_int_equal(ask(&get.request), LULL_OK);
    assert_int_equal(get.count, 1); /* the bank's */
    store_get_clean_up(&get);
    assert_int_equal(look_up(place.id - 1, false), STORE_ABSENT); /* went with its delivery */
    assert_totals(bank, 2, 0, 0, 0);
    assert_totals(heir, 0, 0, 0, 0);
    assert_int_equal(remove_destination(heir, false), LULL_OK);
    assert_int_equal(remove_destination(999, false), STORE_ABSENT);
}

/* ---- lists ---- */

static int64_t listed[64];

/* All pages of `limit`; returns how many records there were, their ids in `listed`. */
static uint32_t list_all(int64_t destination, uint32_t states, uint32_t limit) {
    struct store_list list = {.request = {.kind = STORE_LIST},
                              .destination = destination,
                              .states = states,
                              .limit = limit};
    uint32_t count = 0;
    do {
        assert_int_equal(ask(&list.request), LULL_OK);
        assert_true(list.count <= limit);
        for (uint32_t i = 0; i < list.count; i++)
            listed[count++] = list.records[i].id;
        store_list_clean_up(&list);
        list.from = list.next;
    } while (list.next.destination != 0);
    return count;
}

static void test_lists(void **state) {
    (void)state;
    int64_t shop = create("shop"), gone = create("gone"), bank = create("bank");
    int64_t fresh[3], dead[5], other[2];
    accept_one(gone, "x");
    remove_destination(gone, true);
    for (int i = 0; i < 5; i++) {
        now += SECOND;
        dead[i] = bury(shop, "d");
    }
    for (int i = 0; i < 3; i++)
        fresh[i] = accept_one(shop, "f").id;
    for (int i = 0; i < 2; i++)
        other[i] = bury(bank, "o");
    struct place again = accept_one(bank, "r");
    settle(bank, again, DELIVERY_FRESH, DELIVERY_RETRY, now + SECOND);
    const uint32_t is_dead = 1 << DELIVERY_DEAD, is_fresh = 1 << DELIVERY_FRESH;
    assert_int_equal(list_all(0, is_fresh | 1 << DELIVERY_RETRY, 2), 4);
    assert_int_equal(listed[3], again.id);
    for (uint32_t limit = 1; limit <= 12; limit++) {
        assert_int_equal(list_all(shop, is_dead, limit), 5);
        for (int i = 0; i < 5; i++)
            assert_int_equal(listed[i], dead[4 - i]); /* newest first */
        assert_int_equal(list_all(0, is_dead | is_fresh, limit), 10);
        for (int i = 0; i < 3; i++)
            assert_int_equal(listed[i], fresh[i]);
        for (int i = 0; i < 5; i++)
            assert_int_equal(listed[3 + i], dead[4 - i]);
        assert_int_equal(listed[8], other[1]);
        assert_int_equal(listed[9], other[0]);
    }
    /* All states: the last accepted first, whatever became of it. */
    for (uint32_t limit = 1; limit <= 30; limit += 7) {
        uint32_t count = list_all(0, LIST_ALL, limit);
        assert_true(count >= 10);
        for (uint32_t i = 1; i < count; i++)
            assert_true(listed[i] < listed[i - 1]);
        uint32_t of_shop = list_all(shop, LIST_ALL, limit);
        assert_true(of_shop >= 8 && of_shop < count);
    }
    assert_int_equal(list_all(bank, is_fresh, 3), 0);
    assert_int_equal(list_all(999, is_dead, 3), 0);
    assert_int_equal(list_all(gone, is_fresh, 3), 0);
    struct store_list list = {.request = {.kind = STORE_LIST}, .states = is_dead, .limit = 1};
    assert_int_equal(ask(&list.request), LULL_OK);
    assert_int_equal(list.records[0].destination, shop);
    assert_int_equal(list.records[0].status, 503);
    assert_int_equal(list.records[0].reason, LULL_REASON_ATTEMPTS_SPENT);
    assert_string_equal(list.records[0].type, "order.paid");
    assert_int_equal(list.next.destination, shop);
    store_list_clean_up(&list);
    /* The cursor's destination goes away meanwhile. */
    remove_destination(shop, true);
    list.from = list.next;
    assert_int_equal(ask(&list.request), LULL_OK);
    assert_int_equal(list.records[0].destination, bank);
    store_list_clean_up(&list);
}

static void test_a_page_costs_no_more_than_a_page(void **state) {
    (void)state;
    for (int i = 0; i < STORE_LIST_STREAMS + 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        int64_t id = create(name);
        if (i == STORE_LIST_STREAMS + 5)
            accept_one(id, "far away");
    }
    struct store_list list = {
        .request = {.kind = STORE_LIST}, .states = 1 << DELIVERY_FRESH, .limit = 10};
    assert_int_equal(ask(&list.request), LULL_OK);
    assert_int_equal(list.count, 0);
    assert_int_not_equal(list.next.destination, 0);
    store_list_clean_up(&list);
    assert_int_equal(list_all(0, 1 << DELIVERY_FRESH, 10), 1);
}

static void test_dropping(void **state) {
    (void)state;
    int64_t shop = create("shop");
    int64_t id = bury(shop, "a");
    struct place pending = accept_one(shop, "b");
    struct store_drop drop = {.request = {.kind = STORE_DROP}, .id = pending.id};
    assert_int_equal(ask(&drop.request), STORE_ABSENT); /* not a dead letter */
    drop.id = id;
    assert_int_equal(ask(&drop.request), LULL_OK);
    assert_int_equal(drop.destination, shop);
    assert_int_equal(ask(&drop.request), STORE_ABSENT);
    assert_int_equal(look_up(id - 1, false), STORE_ABSENT);
    assert_totals(shop, 1, 0, 0, 0);
}

/* ---- replay ---- */

static struct store_replay_start start_replay(int64_t destination, int64_t *ids, uint32_t count) {
    struct store_replay_start start = {.request = {.kind = STORE_REPLAY_START},
                                       .row = {.destination = destination, .rate = 100},
                                       .ids = ids,
                                       .id_count = count};
    ask(&start.request);
    return start;
}

static struct store_replay_step step_replay(int64_t replay, uint32_t count, double rate) {
    struct store_replay_step step = {
        .request = {.kind = STORE_REPLAY_STEP}, .replay = replay, .count = count, .rate = rate};
    assert_int_equal(ask(&step.request), LULL_OK);
    return step;
}

static void test_a_replay_over_a_restart(void **state) {
    (void)state;
    int64_t shop = create("shop");
    int64_t dead[5];
    for (int i = 0; i < 5; i++) {
        now += SECOND;
        dead[i] = bury(shop, "d");
    }
    struct store_replay_start start = start_replay(shop, NULL, 0);
    assert_int_equal(start.request.result, LULL_OK);
    assert_int_equal(start.row.total, 5);
    assert_int_equal(start.row.created, now);
    assert_int_equal(start_replay(shop, NULL, 0).request.result, STORE_EXISTS);
    assert_int_equal(start_replay(999, NULL, 0).request.result, STORE_ABSENT);
    struct place before = accept_one(shop, "before");
    struct store_replay_step step = step_replay(start.row.id, 2, 200);
    assert_int_equal(step.moved, 2);
    assert_int_equal(step.row.moved, 2);
    assert_int_equal(step.row.state, REPLAY_RUNNING);
    assert_totals(shop, 3, 0, 0, 3);
    reopen_store();

    struct store_load load = load_from(shop, DELIVERY_FRESH, before, now + SECOND, ROWS);
    assert_int_equal(load.count, 2); /* after what was there, in the order in which they died */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i].place.id, dead[i]);
        assert_int_equal(rows[i].attempts, 0);
        assert_int_equal(rows[i].tries, 1);
        assert_int_equal(rows[i].replay, start.row.id);
        assert_int_equal(rows[i].first_failed, START + (i + 1) * SECOND);
    }
    struct place first = rows[0].place, second = rows[1].place;
    unload(&load);
    /* One dies again, even at a time that is not after the replay's start; it is not moved again. */
    struct store_settle again = settle_of(shop, first, DELIVERY_FRESH, DELIVERY_DEAD, now);
    again.replay = start.row.id;
    again.tries = again.attempt.number = 2;
    assert_int_equal(ask(&again.request), LULL_OK);
    struct store_settle success = settle_of(shop, second, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    success.replay = start.row.id;
    assert_int_equal(ask(&success.request), LULL_OK);
    now += SECOND;
    bury(shop, "died later");

    step = step_replay(start.row.id, 2, 400);
    assert_int_equal(step.moved, 2);
    assert_int_equal(step.row.state, REPLAY_RUNNING);
    assert_int_equal(step.row.succeeded, 1);
    assert_int_equal(step.row.failed, 1);
    step = step_replay(start.row.id, 2, 400);
    assert_int_equal(step.moved, 1);
    assert_int_equal(step.row.moved, 5);
    assert_int_equal(step.row.state, REPLAY_DONE);
    assert_int_equal(step.row.ended, now);
    assert_true(step.row.rate == 400);
    assert_int_equal(step_replay(start.row.id, 2, 1).moved, 0);
    assert_totals(shop, 4, 0, 1, 2);
    assert_int_equal(start_replay(shop, NULL, 0).row.total, 2);
}

static void test_a_step_that_takes_all_is_the_last(void **state) {
    (void)state;
    int64_t shop = create("shop");
    bury(shop, "a");
    bury(shop, "b");
    int64_t replay = start_replay(shop, NULL, 0).row.id;
    struct store_replay_step step = step_replay(replay, 2, 100);
    assert_int_equal(step.moved, 2);
    assert_int_equal(step.row.state, REPLAY_DONE);
    replay = start_replay(shop, NULL, 0).row.id;
    step = step_replay(replay, 2, 100);
    assert_int_equal(step.moved, 0);
    assert_int_equal(step.row.state, REPLAY_DONE);
}

static void test_a_replay_of_some(void **state) {
    (void)state;
    int64_t shop = create("shop"), bank = create("bank");
    int64_t a = bury(shop, "a"), b = bury(shop, "b"), c = bury(shop, "c"), d = bury(bank, "d");
    struct place pending = accept_one(shop, "e");
    int64_t foreign[] = {a, d}, wrong[] = {a, pending.id}, some[] = {c, a, c};
    struct store_replay_start start = start_replay(shop, foreign, 2);
    assert_int_equal(start.request.result, STORE_ABSENT);
    assert_int_equal(start.absent, d);
    start = start_replay(shop, wrong, 2);
    assert_int_equal(start.request.result, STORE_ABSENT);
    assert_int_equal(start.absent, pending.id);
    start = start_replay(shop, some, 3);
    assert_int_equal(start.request.result, LULL_OK);
    assert_int_equal(start.row.total, 2);
    struct store_replay_step step = step_replay(start.row.id, 1, 100);
    assert_int_equal(step.moved, 1);
    assert_int_equal(step.row.state, REPLAY_RUNNING);
    reopen_store();
    step = step_replay(start.row.id, 5, 100);
    assert_int_equal(step.moved, 1);
    assert_int_equal(step.row.state, REPLAY_DONE);
    assert_totals(shop, 3, 0, 0, 1);
    assert_int_equal(list_all(shop, 1 << DELIVERY_DEAD, 5), 1);
    assert_int_equal(listed[0], b);
}

static void test_ending_and_listing_replays(void **state) {
    (void)state;
    int64_t ids[3];
    for (int i = 0; i < 3; i++) {
        int64_t destination = create((const char *[]){"a", "b", "c"}[i]);
        bury(destination, "x");
        ids[i] = start_replay(destination, NULL, 0).row.id;
    }
    struct store_replay_end end = {
        .request = {.kind = STORE_REPLAY_END}, .replay = ids[2], .state = REPLAY_CANCELLED};
    assert_int_equal(ask(&end.request), LULL_OK);
    assert_int_equal(end.row.state, REPLAY_CANCELLED);
    assert_int_equal(end.row.ended, now);
    end.state = REPLAY_STOPPED;
    assert_int_equal(ask(&end.request), LULL_OK);
    assert_int_equal(end.row.state, REPLAY_CANCELLED); /* stays */
    assert_int_equal(step_replay(ids[2], 5, 100).moved, 0);
    struct store_replays all = {.request = {.kind = STORE_REPLAYS}};
    assert_int_equal(ask(&all.request), LULL_OK);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.rows[0].id, ids[1]);
    assert_int_equal(all.rows[1].id, ids[0]);
    assert_int_equal(all.rows[2].id, ids[2]);
    store_replays_clean_up(&all);
    all.replay = ids[0];
    assert_int_equal(ask(&all.request), LULL_OK);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.rows[0].id, ids[0]);
    assert_int_equal(all.rows[0].total, 1);
    store_replays_clean_up(&all);
    all.replay = 999;
    assert_int_equal(ask(&all.request), STORE_ABSENT);
    end.replay = 999;
    assert_int_equal(ask(&end.request), STORE_ABSENT);
    assert_int_equal(tidy(now + 1, 10).removed, 1); /* the one that ended */
    all.replay = ids[2];
    assert_int_equal(ask(&all.request), STORE_ABSENT);
    remove_destination(1, true);
    all.replay = ids[0];
    assert_int_equal(ask(&all.request), LULL_OK);
    assert_int_equal(all.rows[0].state, REPLAY_CANCELLED);
    store_replays_clean_up(&all);
}

/* ---- tidy ---- */

static void test_tidying_what_is_delivered(void **state) {
    (void)state;
    int64_t shop = create("shop"), bank = create("bank");
    struct place places[6];
    for (int i = 0; i < 6; i++) {
        places[i] = accept_one(i % 2 ? shop : bank, "a");
        settle(i % 2 ? shop : bank, places[i], DELIVERY_FRESH, DELIVERY_DELIVERED, now);
        now += SECOND;
    }
    bury(shop, "stays");
    accept_one(shop, "stays");
    assert_int_equal(tidy(START, 10).removed, 0);
    struct store_tidy slice = tidy(START + 4 * SECOND, 3);
    assert_int_equal(slice.removed, 3);
    assert_true(slice.more);
    slice = tidy(START + 4 * SECOND, 3);
    assert_int_equal(slice.removed, 1);
    assert_false(slice.more);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(look_up(places[i].id, true), i < 4 ? STORE_ABSENT : LULL_OK);
        assert_int_equal(look_up(places[i].id - 1, false), i < 4 ? STORE_ABSENT : LULL_OK);
    }
    assert_totals(shop, 1, 0, 3, 1); /* `delivered` counts all that ever were */
    assert_totals(bank, 0, 0, 3, 0);
}

/* An event stays while one of its deliveries does. */
static void test_an_event_goes_with_its_last_delivery(void **state) {
    (void)state;
    int64_t shop = create("shop"), bank = create("bank");
    struct message *message = message_of("both");
    struct accept_delivery deliveries[] = {{.destination = shop}, {.destination = bank}};
    struct accept_event event = {.message = message, .count = 2};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, deliveries, 1, 2};
    assert_int_equal(ask(&accept.request), LULL_OK);
    message_release(message);
    settle(bank, deliveries[1].place, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    assert_int_equal(tidy(now + 1, 10).removed, 1);
    assert_int_equal(look_up(event.id, false), LULL_OK);
    assert_int_equal(look_up(deliveries[1].place.id, true), STORE_ABSENT);
    settle(shop, deliveries[0].place, DELIVERY_FRESH, DELIVERY_DELIVERED, now);
    assert_int_equal(tidy(now + 1, 10).removed, 1);
    assert_int_equal(look_up(event.id, false), STORE_ABSENT);
}

/* ---- transactions ---- */

static void test_one_that_fails_leaves_the_others_alone(void **state) {
    (void)state;
    int64_t shop = create("shop");
    struct message *message = message_of("a");
    struct accept_delivery delivery = {.destination = shop};
    struct accept_event event = {.message = message, .count = 1};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, &delivery, 1, 1};
    struct store_put twin = {.request = {.kind = STORE_PUT}, .row = {.name = "shop"}};
    struct store_drop drop = {.request = {.kind = STORE_DROP}, .id = 5};
    struct store_load load = {.request = {.kind = STORE_LOAD},
                              .destination = shop,
                              .until = now + SECOND,
                              .limit = ROWS,
                              .bytes = 1,
                              .rows = rows};
    accept.request.next = &twin.request;
    twin.request.next = &drop.request;
    drop.request.next = &load.request;
    assert_int_equal(adapter->run(adapter, &accept.request, now), LULL_OK);
    assert_int_equal(accept.request.result, LULL_OK);
    assert_int_equal(twin.request.result, STORE_EXISTS);
    assert_int_equal(drop.request.result, STORE_ABSENT);
    assert_int_equal(load.request.result, LULL_OK);
    assert_int_equal(load.count, 1); /* requests see what those before them did */
    unload(&load);
    message_release(message);
    reopen_store();
    assert_totals(shop, 1, 0, 0, 0);
}

/* Many events at random, against what a simple account says. */
static void test_many(void **state) {
    (void)state;
    uint64_t seed = 7;
    int64_t destinations[3] = {create("a"), create("b"), create("c")};
    uint64_t counts[3][DELIVERY_STATE_COUNT] = {0};
    for (int i = 0; i < 1000; i++) {
        int64_t which = draw(&seed, 0, 2), destination = destinations[which];
        enum delivery_state from = (enum delivery_state)draw(&seed, 0, 1);
        enum delivery_state to = (enum delivery_state)draw(&seed, 1, 3);
        now += draw(&seed, 0, 5) * MS;
        if (draw(&seed, 0, 2) > 0) {
            accept_one(destination, "x");
            counts[which][DELIVERY_FRESH]++;
            continue;
        }
        struct store_load load = load_from(destination, from, (struct place){0}, now + SECOND, 1);
        if (load.count > 0) {
            settle(destination, rows[0].place, from, to, now + draw(&seed, 0, 9) * MS);
            counts[which][from]--;
            counts[which][to]++;
        }
        unload(&load);
    }
    reopen_store();
    for (int i = 0; i < 3; i++) {
        const uint64_t *count = counts[i];
        assert_totals(destinations[i], count[0], count[1], count[2], count[3]);
        for (int stream = 0; stream < 2; stream++) {
            struct place last = {0};
            uint64_t seen = 0;
            for (bool more = true; more;) {
                struct store_load load = load_from(destinations[i], (enum delivery_state)stream,
                                                   last, now + LULL_HOUR, 50);
                for (uint32_t j = 0; j < load.count; j++) {
                    assert_true(place_before(last, rows[j].place));
                    last = rows[j].place;
                    seen++;
                }
                more = load.more;
                unload(&load);
            }
            assert_int_equal(seen, count[stream]);
        }
    }
}

#define CONFORMANCE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define CONFORMANCE_TESTS                                                                          \
    CONFORMANCE_TEST(test_an_event_comes_back_as_it_was), CONFORMANCE_TEST(test_an_empty_payload), \
        CONFORMANCE_TEST(test_fan_out),                                                            \
        CONFORMANCE_TEST(test_an_event_for_nobody_is_kept_for_a_time),                             \
        CONFORMANCE_TEST(test_places_only_go_forward),                                             \
        CONFORMANCE_TEST(test_ids_are_not_given_twice),                                            \
        CONFORMANCE_TEST(test_loading_in_order_and_by_pieces),                                     \
        CONFORMANCE_TEST(test_loading_up_to_a_size), CONFORMANCE_TEST(test_ties),                  \
        CONFORMANCE_TEST(test_keys), CONFORMANCE_TEST(test_the_same_key_twice_in_a_request),       \
        CONFORMANCE_TEST(test_a_key_is_not_kept_for_what_was_refused),                             \
        CONFORMANCE_TEST(test_old_keys_are_tidied), CONFORMANCE_TEST(test_a_retry),                \
        CONFORMANCE_TEST(test_totals_follow),                                                      \
        CONFORMANCE_TEST(test_settling_what_is_not_there_does_nothing),                            \
        CONFORMANCE_TEST(test_the_trace), CONFORMANCE_TEST(test_dead_without_an_attempt),          \
        CONFORMANCE_TEST(test_destinations), CONFORMANCE_TEST(test_changing_a_destination),        \
        CONFORMANCE_TEST(test_removal), CONFORMANCE_TEST(test_lists),                              \
        CONFORMANCE_TEST(test_a_page_costs_no_more_than_a_page), CONFORMANCE_TEST(test_dropping),  \
        CONFORMANCE_TEST(test_a_replay_over_a_restart),                                            \
        CONFORMANCE_TEST(test_a_step_that_takes_all_is_the_last),                                  \
        CONFORMANCE_TEST(test_a_replay_of_some),                                                   \
        CONFORMANCE_TEST(test_ending_and_listing_replays),                                         \
        CONFORMANCE_TEST(test_tidying_what_is_delivered),                                          \
        CONFORMANCE_TEST(test_an_event_goes_with_its_last_delivery),                               \
        CONFORMANCE_TEST(test_one_that_fails_leaves_the_others_alone), CONFORMANCE_TEST(test_many)

#endif
