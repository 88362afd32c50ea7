/* What a call through the policies costs: admit + complete of a call that succeeds, and refusals.
 *
 * Prints one JSON object a line, {"subject":"lull","metric":…,"threads":…,"value":…,"cpu_ns":…}; bench/policies (the script) puts
 * them next to the peers' and into a table. value is wall time per call and thread: elapsed × threads ÷ calls, the
 * median of several rounds. cpu_ns is process CPU time per call. Time is passed in, as an event loop would: it moves on by
 * 50 ns a call, so slices of the windows do begin and end. */
#include <lull.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEP = 50, MOST_ROUNDS = 9 };

struct bench {
    const char *metric;
    void (*prepare)(void);
    uint64_t (*body)(lull_time now, uint64_t calls); /* returns how many calls went as planned */
};

static struct lull_guard guard;
static struct lull_breaker breaker;
static struct lull_bucket bucket;
static struct lull_bulkhead bulkhead;
static struct lull_budget budget;
static struct lull_backoff backoff;
static _Atomic(uint64_t) word;
/* The clocks of all threads and rounds go forward from here. */
static _Atomic(lull_time) epoch;

static const struct lull_outcome success = {.class_ = LULL_SUCCESS, .code = 200};
static const struct lull_bucket_config endless = {.capacity = INT64_C(1000000000000),
                                                  .rate = LULL_SECOND};

static void must(int result) {
    if (result != LULL_OK) {
        fprintf(stderr, "bench/policies: %s\n", lull_strerror(result));
        exit(1);
    }
}

/* ---- the subjects ---- */

static void prepare_guard(void) {
    struct lull_guard_config config = {.bucket = endless};
    must(lull_guard_init(&guard, &config, NULL));
}

static uint64_t run_guard(lull_time now, uint64_t calls) {
    uint64_t fine = 0;
    for (uint64_t i = 0; i < calls; i++, now += STEP) {
        struct lull_call call;
        lull_call_begin(&guard, &call, NULL, i, now);
        if (lull_admit(&guard, &call, now).decision == LULL_GO)
            fine += lull_complete(&guard, &call, success, now + STEP / 2).decision == LULL_DONE;
    }
    return fine;
}

static uint64_t run_refusals(lull_time now, uint64_t calls) {
    uint64_t refused = 0;
    for (uint64_t i = 0; i < calls; i++, now += STEP) {
        struct lull_call call;
        lull_call_begin(&guard, &call, NULL, i, now);
        refused += lull_admit(&guard, &call, now).decision == LULL_NO;
    }
    return refused;
}

static void prepare_open_circuit(void) {
    prepare_guard();
    lull_breaker_set_mode(&guard.breaker, LULL_BREAKER_MODE_FORCED_OPEN, 0);
}

static void prepare_no_token(void) {
    struct lull_guard_config config = {.bucket = {.capacity = 1, .rate = 1, .per = LULL_DAY}};
    must(lull_guard_init(&guard, &config, NULL));
    struct lull_verdict taken = lull_bucket_take(&guard.bucket, 1, epoch + LULL_DAY);
    must(taken.decision == LULL_GO ? LULL_OK : LULL_EFULL);
}

static void prepare_full(void) {
    struct lull_guard_config config = {.bucket = endless, .bulkhead = {.limit = 1}};
    must(lull_guard_init(&guard, &config, NULL));
    struct lull_verdict entered = lull_bulkhead_enter(&guard.bulkhead, NULL);
    must(entered.decision == LULL_GO ? LULL_OK : LULL_EFULL);
}

static void prepare_pause(void) {
    prepare_guard();
    lull_guard_pause(&guard, LULL_NEVER - LULL_DAY);
}

static void prepare_breaker(void) {
    must(lull_breaker_init(&breaker, NULL, NULL));
}

static uint64_t run_breaker(lull_time now, uint64_t calls) {
    uint64_t fine = 0;
    for (uint64_t i = 0; i < calls; i++, now += STEP) {
        uint32_t permit;
        fine += lull_breaker_admit(&breaker, &permit, now).decision == LULL_GO;
        lull_breaker_record(&breaker, permit, LULL_VOTE_SUCCESS, STEP, i, now);
    }
    return fine;
}

static void prepare_bucket(void) {
    must(lull_bucket_init(&bucket, &endless, NULL));
}

static uint64_t run_bucket(lull_time now, uint64_t calls) {
    uint64_t fine = 0;
    for (uint64_t i = 0; i < calls; i++, now += STEP)
        fine += lull_bucket_take(&bucket, 1, now).decision == LULL_GO;
    return fine;
}

static void prepare_bulkhead(void) {
    must(lull_bulkhead_init(&bulkhead, NULL, NULL));
}

static uint64_t run_bulkhead(lull_time now, uint64_t calls) {
    (void)now;
    uint64_t fine = 0;
    for (uint64_t i = 0; i < calls; i++) {
        fine += lull_bulkhead_enter(&bulkhead, NULL).decision == LULL_GO;
        lull_bulkhead_leave(&bulkhead);
    }
    return fine;
}

static void prepare_budget(void) {
    struct lull_budget_config config = {.ratio = 1, .cap_seconds = LULL_NONE};
    must(lull_budget_init(&budget, &config, NULL));
}

static uint64_t run_budget(lull_time now, uint64_t calls) {
    uint64_t fine = 0;
    for (uint64_t i = 0; i < calls; i++, now += STEP) {
        lull_budget_deposit(&budget, now);
        fine += lull_budget_withdraw(&budget, now);
    }
    return fine;
}

static void prepare_retry(void) {
    must(lull_backoff_init(&backoff, NULL, NULL));
}

/* The delay of a retry: the exponential term, one random word, the jitter. */
static uint64_t run_retry(lull_time now, uint64_t calls) {
    uint64_t random = (uint64_t)now, fine = 0;
    for (uint64_t i = 0; i < calls; i++)
        fine += lull_backoff_delay(&backoff, 1 + (uint32_t)(i & 7), 0, false,
                                   lull_random_next(&random)) >= 0;
    return fine;
}

static void prepare_nothing(void) {}

/* For scale: one atomic add, and one reading of the clock. */
static uint64_t run_atomic_add(lull_time now, uint64_t calls) {
    (void)now;
    for (uint64_t i = 0; i < calls; i++)
        atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    return calls;
}

static uint64_t run_clock(lull_time now, uint64_t calls) {
    uint64_t fine = 0;
    for (uint64_t i = 0; i < calls; i++)
        fine += lull_clock() != now;
    return fine;
}

static const struct bench benches[] = {
    {"guard_ns_per_call", prepare_guard, run_guard},
    {"breaker_ns_per_call", prepare_breaker, run_breaker},
    {"bucket_ns_per_call", prepare_bucket, run_bucket},
    {"bulkhead_ns_per_call", prepare_bulkhead, run_bulkhead},
    {"budget_ns_per_call", prepare_budget, run_budget},
    {"retry_ns_per_call", prepare_retry, run_retry},
    {"refusal_ns_per_call", prepare_open_circuit, run_refusals},
    {"refusal_rate_limit_ns", prepare_no_token, run_refusals},
    {"refusal_bulkhead_ns", prepare_full, run_refusals},
    {"refusal_retry_after_ns", prepare_pause, run_refusals},
    {"scale_atomic_add_ns", prepare_nothing, run_atomic_add},
    {"scale_clock_ns", prepare_nothing, run_clock},
};

/* ---- the stop-watch ---- */

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct work {
    const struct bench *bench;
    uint64_t calls;
    lull_time now;
    pthread_barrier_t *start;
    uint64_t fine;
    double began, ended;
};

static void *work_body(void *arg) {
    struct work *work = arg;
    pthread_barrier_wait(work->start);
    work->began = seconds(CLOCK_MONOTONIC);
    work->fine = work->bench->body(work->now, work->calls);
    work->ended = seconds(CLOCK_MONOTONIC);
    return NULL;
}

/* One round: wall and CPU nanoseconds per call. */
static void measure(const struct bench *bench, int threads, uint64_t calls, double *wall,
                    double *cpu) {
    pthread_t ids[2];
    struct work work[2];
    pthread_barrier_t start;
    bench->prepare();
    double cpu_start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    lull_time now = atomic_fetch_add(&epoch, (lull_time)calls * STEP + LULL_SECOND);
    for (int i = 0; i < threads; i++) {
        work[i] = (struct work){bench, calls, now, &start, 0, 0, 0};
        if (pthread_create(&ids[i], NULL, work_body, &work[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    *cpu = (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start) * 1e9 / (double)(calls * threads);
    double began = work[0].began, ended = work[0].ended;
    if (threads == 2) {
        began = work[1].began < began ? work[1].began : began;
        ended = work[1].ended > ended ? work[1].ended : ended;
    }
    *wall = (ended - began) * 1e9 / (double)calls;
    pthread_barrier_destroy(&start);
    for (int i = 0; i < threads; i++)
        if (work[i].fine != calls) {
            fprintf(stderr, "bench/policies: %s did not do its work\n", bench->metric);
            exit(1);
        }
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const struct bench *bench, int threads, int rounds, uint64_t calls) {
    double wall[MOST_ROUNDS], cpu[MOST_ROUNDS];
    double unused;
    measure(bench, threads, calls / 10, &unused, &unused); /* warm up */
    for (int i = 0; i < rounds; i++)
        measure(bench, threads, calls, &wall[i], &cpu[i]);
    qsort(wall, (size_t)rounds, sizeof wall[0], by_size);
    qsort(cpu, (size_t)rounds, sizeof cpu[0], by_size);
    printf("{\"subject\":\"lull\",\"metric\":\"%s\",\"threads\":%d,\"value\":%.1f,"
           "\"cpu_ns\":%.1f}\n",
           bench->metric, threads, wall[rounds / 2], cpu[rounds / 2]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (argc > 2 || (argc == 2 && !quick)) {
        fprintf(stderr, "usage: policies [--quick]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        for (int threads = 1; threads <= 2; threads++)
            report(&benches[i], threads, quick ? 3 : MOST_ROUNDS, quick ? 500000 : 5000000);
    return 0;
}
