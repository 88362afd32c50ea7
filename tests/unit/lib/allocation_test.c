/* After init, a guard allocates nothing. This program brings its own malloc and its kin: they count, and pass the work on to
 * the C library's. A sanitizer brings its own as well, so under one there is nothing to see here. */
#include <lull/guard.h>
#include <lull/random.h>

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif

#define MICROSECONDS(n) ((n)*LULL_MICROSECOND)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static volatile uint64_t counted; /* calls of any of the functions below */

#ifndef SANITIZED

/* dlsym may itself ask for memory before the real functions are known: it gets some of this. */
static _Alignas(16) char early[4096];
static size_t early_used;

static void *early_memory(size_t size) {
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded > sizeof early - early_used)
        return NULL;
    early_used += rounded;
    return &early[early_used - rounded];
}

static bool is_early(const void *memory) {
    return (const char *)memory >= early && (const char *)memory < early + sizeof early;
}

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
} real;

/* A function's address out of dlsym's object pointer, in the way that POSIX suggests. */
static void find(void *function, const char *name) {
    *(void **)function = dlsym(RTLD_NEXT, name);
}

static bool ready(void) {
    static bool finding;
    if (real.free != NULL || finding)
        return real.free != NULL;
    finding = true;
    find(&real.malloc, "malloc");
    find(&real.calloc, "calloc");
    find(&real.realloc, "realloc");
    find(&real.aligned_alloc, "aligned_alloc");
    find(&real.posix_memalign, "posix_memalign");
    find(&real.free, "free");
    return true;
}

/* Seen by the C library, too: it allocates for others. */
#pragma GCC visibility push(default)

void *malloc(size_t size) {
    counted++;
    return ready() ? real.malloc(size) : early_memory(size);
}

void *calloc(size_t count, size_t size) {
    counted++;
    return ready() ? real.calloc(count, size) : early_memory(count * size);
}

void *realloc(void *memory, size_t size) {
    counted++;
    return ready() && !is_early(memory) ? real.realloc(memory, size) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
    counted++;
    return ready() ? real.aligned_alloc(alignment, size) : NULL;
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    counted++;
    return ready() ? real.posix_memalign(memory, alignment, size) : ENOMEM;
}

void free(void *memory) {
    counted++;
    if (memory != NULL && !is_early(memory) && ready())
        real.free(memory);
}

#pragma GCC visibility pop

#endif

/* ---- the guard at work ---- */

enum { STEPS = 100000, VISITORS = 8 };

struct visitor {
    enum { AWAY, READY, WAITING, INSIDE } state;
    struct lull_call call;
    struct lull_waiter waiter;
};

/* How often each verdict was heard, at admission, settling and completion, by policy. */
static uint64_t heard[LULL_STOP + 1][LULL_POLICY_COUNT];
static uint64_t random_state;

static int64_t pick(int64_t low, int64_t high) {
    return lull_uniform(lull_random_next(&random_state), low, high);
}

static void note(struct visitor *visitor, struct lull_verdict verdict) {
    heard[verdict.decision][verdict.policy]++;
    switch (verdict.decision) {
    case LULL_GO:
        visitor->state = INSIDE;
        break;
    case LULL_WAIT:
        visitor->state = WAITING;
        break;
    case LULL_NO:
    case LULL_RETRY:
        visitor->state = READY;
        break;
    case LULL_DONE:
    case LULL_STOP:
        visitor->state = AWAY;
        break;
    }
}

static void leave(struct lull_guard *guard, struct visitor *visitor, lull_time now) {
    if (pick(0, 19) == 0) {
        lull_call_abandon(guard, &visitor->call, now);
        visitor->state = AWAY;
        return;
    }
    struct lull_outcome outcome = {.class_ = LULL_SUCCESS};
    if (pick(0, 1) == 0) /* now and then also one of no class */
        outcome.class_ = (enum lull_class)pick(LULL_UNSET, LULL_CLASS_COUNT - 1);
    if (outcome.class_ == LULL_THROTTLED)
        outcome.retry_after = pick(0, MICROSECONDS(10));
    note(visitor, lull_complete(guard, &visitor->call, outcome, now));
}

static void step(struct lull_guard *guard, struct visitor *visitor, lull_time now) {
    switch (visitor->state) {
    case AWAY:
        lull_call_begin(guard, &visitor->call, NULL, (uint64_t)pick(0, INT64_MAX), now);
        visitor->state = READY;
        break;
    case READY:
        note(visitor, pick(0, 1) == 0
                          ? lull_admit(guard, &visitor->call, now)
                          : lull_admit_or_wait(guard, &visitor->call, &visitor->waiter, now));
        break;
    case WAITING:
        note(visitor, lull_settle(guard, &visitor->call, &visitor->waiter, now));
        break;
    case INSIDE:
        leave(guard, visitor, now);
        break;
    }
}

static const struct lull_guard_config config = {
    .retry = {.attempts = 2, .backoff = {.base = MICROSECONDS(1)}, .deadline = MICROSECONDS(100)},
    .breaker = {.failure_rate = 0.25, .open_time = MICROSECONDS(30), .slow_call = MICROSECONDS(20)},
    .budget = {.ratio = 0.1},
    .bucket = {.capacity = 5, .rate = 250000},
    .bulkhead = {.limit = 3, .queue = 2},
};

/* Every verdict there is must have been among the steps, or they prove nothing. */
static void check_that_all_was_heard(void) {
    const struct {
        enum lull_decision decision;
        enum lull_policy policy;
    } all[] = {
        {LULL_GO, LULL_POLICY_NOBODY},       {LULL_DONE, LULL_POLICY_NOBODY},
        {LULL_NO, LULL_POLICY_CLOCK},        {LULL_NO, LULL_POLICY_BREAKER},
        {LULL_NO, LULL_POLICY_BUCKET},       {LULL_NO, LULL_POLICY_BULKHEAD},
        {LULL_WAIT, LULL_POLICY_BULKHEAD},   {LULL_RETRY, LULL_POLICY_RETRY},
        {LULL_STOP, LULL_POLICY_DEADLINE},   {LULL_STOP, LULL_POLICY_BUDGET},
        {LULL_STOP, LULL_POLICY_CLASSIFIER}, {LULL_STOP, LULL_POLICY_CALLER},
        {LULL_STOP, LULL_POLICY_RETRY},
    };
    for (size_t i = 0; i < COUNT(all); i++)
        if (heard[all[i].decision][all[i].policy] < 10)
            fail_msg("hardly a %s by %s", lull_decision_name(all[i].decision),
                     lull_policy_name(all[i].policy));
}

static void work(bool by_count) {
    static struct lull_guard guard;
    static struct visitor visitors[VISITORS];
    struct lull_guard_config counting = config;
    struct lull_guard_stats stats;
    counting.breaker.by_count = by_count;
    assert_int_equal(lull_guard_init(&guard, &counting, NULL), LULL_OK);
    memset(visitors, 0, sizeof visitors);
    memset(heard, 0, sizeof heard);
    random_state = 1;

    uint64_t before = counted;
    lull_time now = 0;
    int refused = 0;
    for (int i = 0; i < STEPS; i++) {
        step(&guard, &visitors[pick(0, VISITORS - 1)], now += pick(0, MICROSECONDS(2)));
        if (i % 1000 == 0) {
            refused += lull_guard_configure(&guard, &counting, NULL) != LULL_OK;
            lull_guard_snapshot(&guard, &stats, now);
        }
    }
    uint64_t after = counted;

    assert_int_equal(after - before, 0);
    assert_int_equal(refused, 0);
    check_that_all_was_heard();
}

static void test_nothing_is_allocated_after_init(void **state) {
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    work(false);
    work(true);
}

/* The counter can tell. */
static void test_allocations_are_counted(void **state) {
    (void)state;
#ifdef SANITIZED
    skip();
#else
    uint64_t before = counted;
    char *volatile memory = malloc(10);
    memory = realloc(memory, 20);
    free(memory);
    memory = calloc(2, 10);
    free(memory);
    memory = aligned_alloc(16, 32);
    free(memory);
    assert_int_equal(counted - before, 7);
    before = counted;
    memory = strdup("counted, too: it comes to malloc in the end");
    free(memory);
    assert_int_equal(counted - before, 2);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_are_counted),
        cmocka_unit_test(test_nothing_is_allocated_after_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
