#include "testing.h"

#include "inbox.h"

#include <poll.h>
#include <stdlib.h>

static struct inbox inbox;
static int opened[16], opened_count;

struct numbered {
    struct letter letter;
    int number;
};

static void note(struct letter *letter) {
    opened[opened_count++] = ((struct numbered *)letter)->number;
}

static int set_up(void **state) {
    (void)state;
    opened_count = 0;
    return inbox_init(&inbox);
}

static int tear_down(void **state) {
    (void)state;
    inbox_clean_up(&inbox);
    return 0;
}

static bool readable(int timeout) {
    struct pollfd event = {.fd = inbox.event, .events = POLLIN};
    return poll(&event, 1, timeout) == 1;
}

static void test_letters_are_opened_in_order(void **state) {
    (void)state;
    struct numbered letters[4];
    for (int i = 0; i < 4; i++)
        letters[i] = (struct numbered){.letter = {.open = note}, .number = i};
    inbox_open(&inbox); /* nothing there: nothing happens */
    assert_false(readable(0));
    inbox_push(&inbox, &letters[0].letter, &letters[0].letter);
    letters[1].letter.next = &letters[2].letter; /* a chain */
    inbox_push(&inbox, &letters[1].letter, &letters[2].letter);
    assert_true(readable(0));
    inbox_open(&inbox);
    assert_int_equal(opened_count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(opened[i], i);
    assert_false(readable(0));
    inbox_push(&inbox, &letters[3].letter, &letters[3].letter);
    assert_true(readable(0));
    inbox_open(&inbox);
    assert_int_equal(opened_count, 4);
}

static void push_again(struct letter *letter) {
    note(letter);
    letter->open = note;
    inbox_push(&inbox, letter, letter);
}

static void test_a_letter_may_be_pushed_while_opened(void **state) {
    (void)state;
    struct numbered letter = {.letter = {.open = push_again}, .number = 5};
    inbox_push(&inbox, &letter.letter, &letter.letter);
    inbox_open(&inbox);
    assert_int_equal(opened_count, 1);
    assert_true(readable(0));
    inbox_open(&inbox);
    assert_int_equal(opened_count, 2);
}

enum { PUSHERS = 4, LETTERS = 500 };
static int last_of[PUSHERS], total;
static atomic_int next_pusher;

static void check_order(struct letter *letter) {
    struct numbered *numbered = (struct numbered *)letter;
    int pusher = numbered->number / LETTERS;
    assert_int_equal(numbered->number % LETTERS, last_of[pusher]++);
    total++;
    free(numbered);
}

static void *push_many(void *unused) {
    int pusher = atomic_fetch_add(&next_pusher, 1);
    for (int i = 0; i < LETTERS; i++) {
        struct numbered *numbered = calloc(1, sizeof *numbered);
        *numbered = (struct numbered){{.open = check_order}, pusher * LETTERS + i};
        inbox_push(&inbox, &numbered->letter, &numbered->letter);
    }
    return unused;
}

static void *push_from_threads(void *unused) {
    on_threads(PUSHERS, push_many, NULL);
    return unused;
}

static void test_many_pushers(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, push_from_threads, NULL), 0);
    while (total < PUSHERS * LETTERS) {
        assert_true(readable(60000));
        inbox_open(&inbox);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(readable(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_letters_are_opened_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_letter_may_be_pushed_while_opened, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_many_pushers, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
