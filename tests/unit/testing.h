/* What the unit tests share: cmocka in the order it wants, and a few helpers. */
#ifndef LULL_TESTS_TESTING_H
#define LULL_TESTS_TESTING_H

#include <stdatomic.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lull.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MS LULL_MILLISECOND
#define SECOND LULL_SECOND
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The words that map to the ends and the middle of a range. */
#define LOWEST UINT64_C(0)
#define MIDDLE (UINT64_C(1) << 63)
#define HIGHEST UINT64_MAX

/* A setting was refused, and the message says which. */
static inline void assert_names(int result, const struct lull_error *error, const char *field) {
    assert_int_equal(result, LULL_EINVAL);
    assert_non_null(error->field);
    assert_string_equal(error->field, field);
    assert_non_null(strstr(error->message, field));
}

/* A random word in low … high. */
static inline int64_t draw(uint64_t *random, int64_t low, int64_t high) {
    return lull_uniform(lull_random_next(random), low, high);
}

/* Runs `body` on `count` threads at once and waits for them. */
static inline void on_threads(int count, void *(*body)(void *), void *arg) {
    pthread_t threads[64];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, arg), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
