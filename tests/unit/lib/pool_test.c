/* Tasks wait at gates, so each test decides who runs when; nothing here depends on how fast a
 * thread is. Threads of the pool only take notes, under the board's mutex: cmocka's assertions
 * belong to the main thread. */
#include <lull/pool.h>
#include <lull/run.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

enum { MOST_JOBS = 64 };

/* The board: what every job notes, and what it waits for. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int began, ended;
    int order[MOST_JOBS]; /* numbers of the jobs, as they began */
} board = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct job {
    int number;
    bool waits; /* `run` waits for `open` */
    bool open, ran;
    int told; /* how often `done` was called */
    enum lull_pool_ending ending;
    pthread_t run_thread, done_thread;
    uint64_t finished_when_told;
    struct lull_pool *pool;
    uint64_t ticket;
};

static void run_job(void *arg) {
    struct job *job = arg;
    pthread_mutex_lock(&board.mutex);
    job->run_thread = pthread_self();
    board.order[board.began++] = job->number;
    pthread_cond_broadcast(&board.changed);
    while (job->waits && !job->open)
        pthread_cond_wait(&board.changed, &board.mutex);
    job->ran = true;
    pthread_mutex_unlock(&board.mutex);
}

static void job_done(void *arg, enum lull_pool_ending ending) {
    struct job *job = arg;
    uint64_t finished = lull_pool_snapshot(job->pool).finished;
    pthread_mutex_lock(&board.mutex);
    job->told++;
    job->ending = ending;
    job->done_thread = pthread_self();
    job->finished_when_told = finished;
    board.ended++;
    pthread_cond_broadcast(&board.changed);
    pthread_mutex_unlock(&board.mutex);
}

static void await(const int *count, int least) {
    pthread_mutex_lock(&board.mutex);
    while (*count < least)
        pthread_cond_wait(&board.changed, &board.mutex);
    pthread_mutex_unlock(&board.mutex);
}

static void open_gate(struct job *job) {
    pthread_mutex_lock(&board.mutex);
    job->open = true;
    pthread_cond_broadcast(&board.changed);
    pthread_mutex_unlock(&board.mutex);
}

static int submit(struct lull_pool *pool, struct job *job) {
    job->pool = pool;
    struct lull_pool_task task = {.run = run_job, .done = job_done, .arg = job};
    return lull_pool_submit(pool, &task, &job->ticket);
}

/* A set of jobs numbered from 0 that wait at their gates. */
static void prepare(struct job *jobs, int count) {
    memset(jobs, 0, (size_t)count * sizeof *jobs);
    for (int i = 0; i < count; i++) {
        jobs[i].number = i;
        jobs[i].waits = true;
    }
}

static void open_all(struct job *jobs, int count) {
    for (int i = 0; i < count; i++)
        open_gate(&jobs[i]);
}

static struct lull_pool *new_pool(struct lull_pool_config config) {
    struct lull_pool *pool;
    struct lull_error error;
    assert_int_equal(lull_pool_new(&pool, &config, &error), LULL_OK);
    assert_non_null(pool);
    return pool;
}

/* Comes back when that many threads are busy; never, if the pool is wrong. A thread that is not
 * busy any more rests. */
static void await_busy(struct lull_pool *pool, int busy) {
    while (lull_pool_snapshot(pool).busy != busy)
        sched_yield();
}

static void assert_ended(const struct job *job, enum lull_pool_ending ending) {
    assert_int_equal(job->told, 1);
    assert_int_equal(job->ending, ending);
    assert_int_equal(job->ran, ending == LULL_POOL_FINISHED);
}

static int clear_board(void **state) {
    (void)state;
    board.began = board.ended = 0;
    memset(board.order, 0, sizeof board.order);
    return 0;
}

/* Configuration */

static void refuse(struct lull_pool_config config, const char *field, const char *message) {
    struct lull_pool *pool = (struct lull_pool *)&config; /* must become NULL */
    struct lull_error error;
    assert_int_equal(lull_pool_new(&pool, &config, &error), LULL_EINVAL);
    assert_null(pool);
    assert_string_equal(error.field, field);
    assert_string_equal(error.message, message);
    assert_int_equal(lull_pool_new(&pool, &config, NULL), LULL_EINVAL);
}

static void test_wrong_settings_are_named(void **state) {
    (void)state;
    refuse((struct lull_pool_config){.core = -1}, "pool.core",
           "pool.core is -1; it must be from 1 to 10000");
    refuse((struct lull_pool_config){.core = 10001}, "pool.core",
           "pool.core is 10001; it must be from 1 to 10000");
    refuse((struct lull_pool_config){.core = 4, .max = 3}, "pool.max",
           "pool.max is 3; it must be from 4 to 10000");
    refuse((struct lull_pool_config){.max = -1}, "pool.max",
           "pool.max is -1; it must be from 15 to 10000");
    refuse((struct lull_pool_config){.max = 10001}, "pool.max",
           "pool.max is 10001; it must be from 15 to 10000");
    refuse((struct lull_pool_config){.queue = -2}, "pool.queue",
           "pool.queue is -2; it must be from 1 to 1000000");
    refuse((struct lull_pool_config){.queue = 1000001}, "pool.queue",
           "pool.queue is 1000001; it must be from 1 to 1000000");
    struct lull_pool *pool;
    struct lull_error error;
    assert_int_equal(lull_pool_new(&pool, &(struct lull_pool_config){.idle = -1}, &error),
                     LULL_EINVAL);
    assert_string_equal(error.field, "pool.idle");
}

static void test_missing_arguments(void **state) {
    (void)state;
    assert_int_equal(lull_pool_new(NULL, NULL, NULL), LULL_EINVAL);
    struct lull_pool *pool = new_pool((struct lull_pool_config){0});
    struct lull_pool_task nothing = {0}, something = {.run = run_job};
    assert_int_equal(lull_pool_submit(NULL, &something, NULL), LULL_EINVAL);
    assert_int_equal(lull_pool_submit(pool, NULL, NULL), LULL_EINVAL);
    assert_int_equal(lull_pool_submit(pool, &nothing, NULL), LULL_EINVAL);
    assert_int_equal(lull_pool_cancel(NULL, 1), LULL_EINVAL);
    struct lull_pool_stats stats = lull_pool_snapshot(pool), zero = {0};
    assert_memory_equal(&stats, &zero, sizeof stats);
    lull_pool_destroy(pool, true);
    lull_pool_destroy(NULL, true);
}

static void test_out_of_memory(void **state) {
    (void)state;
#ifdef SANITIZED
    skip(); /* sanitizers do not survive an allocation that fails */
#endif
    struct rlimit before, none = {0};
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none.rlim_max = before.rlim_max;
    struct lull_pool *pool = (struct lull_pool *)&none;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    int code =
        lull_pool_new(&pool, &(struct lull_pool_config){.queue = LULL_POOL_MOST_WAITING}, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(code, LULL_ENOMEM);
    assert_null(pool);
}

/* How many threads, waiting tasks and refusals `count` jobs make of a configuration. */
static void assert_shape(const struct lull_pool_config *config, int count, int threads, int waiting,
                         int refused) {
    struct job jobs[MOST_JOBS];
    struct lull_pool *pool;
    clear_board(NULL);
    prepare(jobs, count);
    assert_int_equal(lull_pool_new(&pool, config, NULL), LULL_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(submit(pool, &jobs[i]), i < count - refused ? LULL_OK : LULL_EFULL);
    struct lull_pool_stats stats = lull_pool_snapshot(pool);
    open_all(jobs, count);
    lull_pool_destroy(pool, true);
    assert_int_equal(stats.threads, threads);
    assert_int_equal(stats.most_threads, threads);
    assert_int_equal(stats.busy, threads);
    assert_int_equal(stats.waiting, waiting);
    assert_int_equal(stats.submitted, count - refused);
    assert_int_equal(stats.refused, refused);
    for (int i = 0; i < count - refused; i++)
        assert_ended(&jobs[i], LULL_POOL_FINISHED);
    for (int i = count - refused; i < count; i++)
        assert_int_equal(jobs[i].told, 0);
}

static void test_defaults(void **state) {
    (void)state;
    assert_int_equal(LULL_POOL_CORE, 15);
    assert_int_equal(LULL_POOL_MAX, 30);
    assert_int_equal(LULL_POOL_QUEUE, 20);
    assert_shape(NULL, 1, 1, 0, 0);
    assert_shape(NULL, 15, 15, 0, 0);
    assert_shape(NULL, 35, 15, 20, 0);
    assert_shape(NULL, 36, 16, 20, 0);
    assert_shape(NULL, 52, 30, 20, 2);
}

static void test_a_default_gives_way_to_its_neighbour(void **state) {
    (void)state;
    assert_shape(&(struct lull_pool_config){.max = 2, .queue = 1}, 4, 2, 1, 1);
    assert_shape(&(struct lull_pool_config){.core = 31}, 32, 31, 1, 0);
    assert_shape(&(struct lull_pool_config){.core = 31, .queue = 1}, 33, 31, 1, 1);
}

static void test_nobody_waits_without_a_queue(void **state) {
    (void)state;
    assert_shape(&(struct lull_pool_config){.core = 1, .max = 3, .queue = LULL_NONE}, 5, 3, 0, 2);
}

/* Order */

static void test_the_example_of_the_manual(void **state) {
    (void)state;
    struct job jobs[4];
    prepare(jobs, 4);
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 1, .max = 2, .queue = 1});
    assert_int_equal(submit(pool, &jobs[0]), LULL_OK);
    assert_int_equal(submit(pool, &jobs[1]), LULL_OK);
    struct lull_pool_stats stats = lull_pool_snapshot(pool);
    assert_int_equal(stats.threads, 1);
    assert_int_equal(stats.waiting, 1);
    await(&board.began, 1);
    assert_int_equal(submit(pool, &jobs[2]), LULL_OK);
    assert_int_equal(submit(pool, &jobs[3]), LULL_EFULL);
    await(&board.began, 2);
    assert_int_equal(board.order[0], 0);
    assert_int_equal(board.order[1], 1); /* the third did not overtake it */
    assert_int_equal(lull_pool_cancel(pool, jobs[1].ticket), LULL_ESTALE);
    assert_int_equal(lull_pool_cancel(pool, jobs[2].ticket), LULL_OK);
    open_all(jobs, 4);
    lull_pool_destroy(pool, false);
    assert_ended(&jobs[0], LULL_POOL_FINISHED);
    assert_ended(&jobs[1], LULL_POOL_FINISHED);
    assert_ended(&jobs[2], LULL_POOL_CANCELLED);
    assert_int_equal(jobs[3].told, 0);
}

static void test_first_come_first_served(void **state) {
    (void)state;
    struct job jobs[20];
    prepare(jobs, 20);
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 1, .max = 1, .queue = 19});
    for (int i = 0; i < 20; i++) {
        jobs[i].waits = i == 0;
        assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
    }
    open_gate(&jobs[0]);
    lull_pool_destroy(pool, true);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(board.order[i], i);
        assert_ended(&jobs[i], LULL_POOL_FINISHED);
        assert_int_equal(jobs[i].finished_when_told, i + 1);
        assert_true(pthread_equal(jobs[i].run_thread, jobs[0].run_thread));
        assert_true(pthread_equal(jobs[i].done_thread, jobs[0].run_thread));
    }
}

static void test_a_resting_thread_is_used_before_one_is_started(void **state) {
    (void)state;
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 3, .max = 3});
    struct job jobs[5];
    prepare(jobs, 5);
    for (int i = 0; i < 5; i++) {
        jobs[i].waits = false;
        assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
        await_busy(pool, 0);
    }
    assert_int_equal(lull_pool_snapshot(pool).threads, 1);
    assert_int_equal(lull_pool_snapshot(pool).finished, 5);
    lull_pool_destroy(pool, true);
}

static void test_the_thread_that_rested_least_works_next(void **state) {
    (void)state;
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 3, .max = 3});
    struct job jobs[6];
    prepare(jobs, 6);
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
    await(&board.began, 3);
    const int to_rest[] = {1, 2, 0};
    for (int i = 0; i < 3; i++) {
        open_gate(&jobs[to_rest[i]]);
        await_busy(pool, 2 - i);
    }
    for (int i = 3; i < 6; i++) {
        assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
        await(&board.began, i + 1);
    }
    open_all(jobs, 6);
    lull_pool_destroy(pool, true);
    assert_true(pthread_equal(jobs[3].run_thread, jobs[0].run_thread));
    assert_true(pthread_equal(jobs[4].run_thread, jobs[2].run_thread));
    assert_true(pthread_equal(jobs[5].run_thread, jobs[1].run_thread));
}

/* Cancelling */

static void test_cancel(void **state) {
    (void)state;
    struct job jobs[6];
    prepare(jobs, 6);
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 1, .max = 1, .queue = 5});
    for (int i = 0; i < 6; i++)
        assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
    await(&board.began, 1);
    assert_int_equal(lull_pool_cancel(pool, 0), LULL_ESTALE);
    assert_int_equal(lull_pool_cancel(pool, UINT64_MAX), LULL_ESTALE);
    assert_int_equal(lull_pool_cancel(pool, jobs[0].ticket), LULL_ESTALE); /* it runs */

    const int cancelled[] = {3, 1, 5}; /* the middle, the head and the tail of the queue */
    for (int i = 0; i < 3; i++) {
        struct job *job = &jobs[cancelled[i]];
        assert_int_equal(lull_pool_cancel(pool, job->ticket), LULL_OK);
        assert_ended(job, LULL_POOL_CANCELLED);
        assert_true(pthread_equal(job->done_thread, pthread_self()));
        assert_int_equal(lull_pool_cancel(pool, job->ticket), LULL_ESTALE);
        assert_int_equal(lull_pool_snapshot(pool).cancelled, i + 1);
        assert_int_equal(lull_pool_snapshot(pool).waiting, 4 - i);
    }
    uint64_t old = jobs[5].ticket;
    prepare(&jobs[5], 1);
    assert_int_equal(submit(pool, &jobs[5]), LULL_OK);
    assert_int_not_equal(jobs[5].ticket, old); /* though it may have the same slot */
    assert_int_equal(lull_pool_cancel(pool, old), LULL_ESTALE);

    open_all(jobs, 6);
    await(&board.ended, 6);
    await_busy(pool, 0);
    assert_int_equal(board.began, 4);
    assert_int_equal(lull_pool_cancel(pool, jobs[0].ticket), LULL_ESTALE); /* it has ended */
    struct lull_pool_stats stats = lull_pool_snapshot(pool);
    assert_int_equal(stats.submitted, 7);
    assert_int_equal(stats.finished, 4);
    assert_int_equal(stats.cancelled, 3);
    assert_int_equal(stats.waiting, 0);
    lull_pool_destroy(pool, true);
    assert_ended(&jobs[0], LULL_POOL_FINISHED);
    assert_ended(&jobs[2], LULL_POOL_FINISHED);
    assert_ended(&jobs[4], LULL_POOL_FINISHED);
    assert_ended(&jobs[5], LULL_POOL_FINISHED);
    assert_int_equal(board.order[1], 2);
    assert_int_equal(board.order[2], 4);
}

static void test_done_and_ticket_may_be_missing(void **state) {
    (void)state;
    struct job jobs[2];
    prepare(jobs, 2);
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 1, .max = 1});
    struct lull_pool_task task = {.run = run_job, .arg = &jobs[0]};
    assert_int_equal(lull_pool_submit(pool, &task, NULL), LULL_OK);
    task.arg = &jobs[1];
    assert_int_equal(lull_pool_submit(pool, &task, &jobs[1].ticket), LULL_OK);
    assert_int_equal(lull_pool_cancel(pool, jobs[1].ticket), LULL_OK);
    open_gate(&jobs[0]);
    lull_pool_destroy(pool, true);
    assert_true(jobs[0].ran);
    assert_false(jobs[1].ran);
}

/* Calls from inside tasks */

struct inner {
    struct lull_pool *pool;
    struct job jobs[4];
    int codes[8];
};

static void inner_run(void *arg) {
    struct inner *inner = arg;
    inner->codes[0] = submit(inner->pool, &inner->jobs[0]);
    inner->codes[1] = submit(inner->pool, &inner->jobs[1]);
    inner->codes[2] = submit(inner->pool, &inner->jobs[2]);
    inner->codes[3] = lull_pool_cancel(inner->pool, inner->jobs[0].ticket);
}

static void inner_done(void *arg, enum lull_pool_ending ending) {
    struct inner *inner = arg;
    inner->codes[4] = (int)ending;
    inner->codes[5] = lull_pool_cancel(inner->pool, inner->jobs[0].ticket);
    inner->codes[6] = lull_pool_cancel(inner->pool, inner->jobs[1].ticket);
    inner->codes[7] = submit(inner->pool, &inner->jobs[3]);
}

static void test_tasks_may_call_the_pool(void **state) {
    (void)state;
    struct inner inner = {.codes = {9, 9, 9, 9, 9, 9, 9, 9}};
    prepare(inner.jobs, 4);
    open_all(inner.jobs, 4);
    inner.pool = new_pool((struct lull_pool_config){.core = 1, .max = 1, .queue = 2});
    struct lull_pool_task task = {.run = inner_run, .done = inner_done, .arg = &inner};
    assert_int_equal(lull_pool_submit(inner.pool, &task, NULL), LULL_OK);
    await(&board.ended, 3); /* jobs 0 (cancelled), 1 (cancelled) and 3 */
    lull_pool_destroy(inner.pool, true);
    const int expected[8] = {LULL_OK,     LULL_OK, LULL_EFULL, LULL_OK, LULL_POOL_FINISHED,
                             LULL_ESTALE, LULL_OK, LULL_OK};
    assert_memory_equal(inner.codes, expected, sizeof expected);
    assert_ended(&inner.jobs[0], LULL_POOL_CANCELLED);
    assert_ended(&inner.jobs[1], LULL_POOL_CANCELLED);
    assert_int_equal(inner.jobs[2].told, 0);
    assert_ended(&inner.jobs[3], LULL_POOL_FINISHED);
}

/* Shutting down */

struct shut_down {
    struct lull_pool *pool;
    bool drain;
    struct job late; /* submitted by the last task's `done` */
    int late_code;
};

static void *destroy(void *arg) {
    struct shut_down *shut_down = arg;
    lull_pool_destroy(shut_down->pool, shut_down->drain);
    return NULL;
}

static void nothing(void *arg) {
    (void)arg;
}

static void submit_late(void *arg, enum lull_pool_ending ending) {
    (void)ending;
    struct shut_down *shut_down = arg;
    shut_down->late_code = submit(shut_down->pool, &shut_down->late);
}

/* One job runs, two jobs and a task that submits another wait; the pool is destroyed while the
 * first runs. */
static void shut_down(bool drain, struct job jobs[3]) {
    prepare(jobs, 3);
    jobs[1].waits = jobs[2].waits = false;
    struct shut_down shut_down = {.drain = drain, .late_code = 9};
    shut_down.pool = new_pool((struct lull_pool_config){.core = 1, .max = 1, .queue = 3});
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit(shut_down.pool, &jobs[i]), LULL_OK);
    await(&board.began, 1);
    struct lull_pool_task last = {.run = nothing, .done = submit_late, .arg = &shut_down};
    assert_int_equal(lull_pool_submit(shut_down.pool, &last, NULL), LULL_OK);

    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, destroy, &shut_down), 0);
    struct lull_pool_task refused = {.run = nothing};
    int code;
    while ((code = lull_pool_submit(shut_down.pool, &refused, NULL)) == LULL_EFULL)
        sched_yield();
    assert_int_equal(code, LULL_ECANCELLED);
    if (!drain)
        await(&board.ended, 2); /* they need not wait for the one that runs */
    open_gate(&jobs[0]);
    pthread_join(thread, NULL);
    assert_int_equal(shut_down.late_code, LULL_ECANCELLED);
    assert_int_equal(shut_down.late.told, 0);
    assert_ended(&jobs[0], LULL_POOL_FINISHED);
    for (int i = 1; i < 3; i++)
        assert_true(pthread_equal(jobs[i].done_thread, drain ? jobs[0].run_thread : thread));
}

static void test_destroy_runs_what_waits(void **state) {
    (void)state;
    struct job jobs[3];
    shut_down(true, jobs);
    assert_ended(&jobs[1], LULL_POOL_FINISHED);
    assert_ended(&jobs[2], LULL_POOL_FINISHED);
    assert_int_equal(board.order[1], 1);
    assert_int_equal(board.order[2], 2);
}

static void test_destroy_cancels_what_waits(void **state) {
    (void)state;
    struct job jobs[3];
    shut_down(false, jobs);
    assert_ended(&jobs[1], LULL_POOL_CANCELLED);
    assert_ended(&jobs[2], LULL_POOL_CANCELLED);
    assert_int_equal(board.began, 1);
}

static void test_destroy_ends_resting_threads(void **state) {
    (void)state;
    for (int drain = 0; drain < 2; drain++) {
        struct job jobs[3];
        clear_board(NULL);
        prepare(jobs, 3);
        struct lull_pool *pool =
            new_pool((struct lull_pool_config){.core = 2, .max = 3, .queue = LULL_NONE});
        for (int i = 0; i < 3; i++)
            assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
        open_all(jobs, 3);
        await_busy(pool, 0); /* two rest for good, or three for 20 s */
        lull_pool_destroy(pool, drain == 1);
        for (int i = 0; i < 3; i++)
            assert_ended(&jobs[i], LULL_POOL_FINISHED);
    }
}

/* Threads that come and go */

static void test_idle_extras_end_and_core_threads_stay(void **state) {
    (void)state;
    struct lull_pool *pool = new_pool((struct lull_pool_config){
        .core = 2, .max = 5, .queue = LULL_NONE, .idle = LULL_MILLISECOND});
    for (int round = 0; round < 3; round++) {
        struct job jobs[6];
        clear_board(NULL);
        prepare(jobs, 6);
        for (int i = 0; i < 5; i++)
            assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
        assert_int_equal(submit(pool, &jobs[5]), LULL_EFULL);
        assert_int_equal(lull_pool_snapshot(pool).threads, 5);
        open_all(jobs, 5);
        while (lull_pool_snapshot(pool).threads > 2)
            sched_yield();
        for (int i = 0; i < 20; i++) { /* time enough for a thread too many to end */
            nanosleep(&(struct timespec){.tv_nsec = LULL_MILLISECOND}, NULL);
            assert_int_equal(lull_pool_snapshot(pool).threads, 2);
        }
        for (int i = 0; i < 5; i++)
            assert_ended(&jobs[i], LULL_POOL_FINISHED);
    }
    struct lull_pool_stats stats = lull_pool_snapshot(pool);
    assert_int_equal(stats.most_threads, 5);
    assert_int_equal(stats.busy, 0);
    assert_int_equal(stats.finished, 15);
    assert_int_equal(stats.refused, 3);
    lull_pool_destroy(pool, true);
}

static void test_extras_stay_until_they_have_been_idle(void **state) {
    (void)state;
    struct job jobs[3];
    prepare(jobs, 3);
    struct lull_pool *pool = new_pool(
        (struct lull_pool_config){.core = 1, .max = 3, .queue = LULL_NONE, .idle = LULL_NEVER});
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit(pool, &jobs[i]), LULL_OK);
    open_all(jobs, 3);
    await_busy(pool, 0);
    for (int i = 0; i < 10; i++) {
        nanosleep(&(struct timespec){.tv_nsec = LULL_MILLISECOND}, NULL);
        assert_int_equal(lull_pool_snapshot(pool).threads, 3);
    }
    lull_pool_destroy(pool, true);
}

static pthread_attr_t usual_attributes;

/* No thread can have such a stack: pthread_create says EAGAIN until allow_threads. */
static void forbid_threads(void) {
    pthread_attr_t huge;
    assert_int_equal(pthread_getattr_default_np(&usual_attributes), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
}

static void allow_threads(void) {
    assert_int_equal(pthread_setattr_default_np(&usual_attributes), 0);
    pthread_attr_destroy(&usual_attributes);
}

static void test_threads_that_cannot_be_started(void **state) {
    (void)state;
    struct job jobs[6];
    prepare(jobs, 6);
    struct lull_pool *pool = new_pool((struct lull_pool_config){.core = 2, .max = 3, .queue = 2});
    forbid_threads();
    assert_int_equal(submit(pool, &jobs[0]), LULL_ESYSTEM); /* there is none to wait for */
    assert_int_equal(lull_pool_snapshot(pool).threads, 0);
    allow_threads();
    assert_int_equal(submit(pool, &jobs[0]), LULL_OK);
    await(&board.began, 1);

    forbid_threads();
    assert_int_equal(submit(pool, &jobs[1]), LULL_OK); /* waits for the first */
    assert_int_equal(submit(pool, &jobs[2]), LULL_OK);
    assert_int_equal(submit(pool, &jobs[3]), LULL_ESYSTEM); /* the queue is full */
    struct lull_pool_stats stats = lull_pool_snapshot(pool);
    allow_threads();
    assert_int_equal(stats.threads, 1);
    assert_int_equal(stats.waiting, 2);
    assert_int_equal(stats.submitted, 3);
    assert_int_equal(stats.refused, 2);

    assert_int_equal(submit(pool, &jobs[4]), LULL_OK); /* starts the second, who takes job 1 */
    await(&board.began, 2);
    assert_int_equal(board.order[1], 1);
    assert_int_equal(lull_pool_snapshot(pool).waiting, 2);
    open_all(jobs, 6);
    lull_pool_destroy(pool, true);
    const int ran[] = {0, 1, 2, 4};
    for (int i = 0; i < 4; i++)
        assert_ended(&jobs[ran[i]], LULL_POOL_FINISHED);
    assert_int_equal(jobs[3].told, 0);
}

static void read_mask(void *arg) {
    pthread_sigmask(SIG_SETMASK, NULL, arg);
}

static void test_signals_go_to_the_host(void **state) {
    (void)state;
    sigset_t mask, before, after, inside;
    sigemptyset(&inside);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mask, &before);
    struct lull_pool *pool = new_pool((struct lull_pool_config){0});
    struct lull_pool_task task = {.run = read_mask, .arg = &inside};
    assert_int_equal(lull_pool_submit(pool, &task, NULL), LULL_OK);
    lull_pool_destroy(pool, true);
    pthread_sigmask(SIG_SETMASK, &before, &after);

    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    for (int i = 0; i < 6; i++)
        assert_int_equal(sigismember(&inside, faults[i]), 0);
    const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE, SIGRTMAX};
    for (int i = 0; i < 8; i++)
        assert_int_equal(sigismember(&inside, blocked[i]), 1);
    for (int i = 1; i < SIGRTMAX; i++)
        assert_int_equal(sigismember(&after, i), i == SIGUSR2);
}

/* All at once: four threads submit and cancel while the pool's threads come and go. */

enum { SUBMITTERS = 4, EACH = 4000 };

struct load {
    struct lull_pool *pool;
    uint64_t random;
    _Atomic(int) runs[EACH], endings[EACH][2];
    int accepted, refused, cancelled;
};

struct unit {
    struct load *load;
    int index;
};

static void run_unit(void *arg) {
    struct unit *unit = arg;
    atomic_fetch_add(&unit->load->runs[unit->index], 1);
}

static void unit_done(void *arg, enum lull_pool_ending ending) {
    struct unit *unit = arg;
    atomic_fetch_add(&unit->load->endings[unit->index][ending], 1);
}

static void *submit_many(void *arg) {
    static struct unit units[SUBMITTERS][EACH];
    static _Atomic(int) next;
    struct unit *mine = units[atomic_fetch_add(&next, 1) % SUBMITTERS];
    struct load *load = arg;
    uint64_t tickets[8] = {0};
    for (int i = 0; i < EACH; i++) {
        mine[i] = (struct unit){load, i};
        struct lull_pool_task task = {run_unit, unit_done, &mine[i]};
        int code = lull_pool_submit(load->pool, &task, &tickets[i % 8]);
        load->accepted += code == LULL_OK;
        load->refused += code == LULL_EFULL;
        load->random = load->random * 6364136223846793005u + 1442695040888963407u;
        if (load->random >> 62 == 0)
            load->cancelled +=
                lull_pool_cancel(load->pool, tickets[load->random >> 32 & 7]) == LULL_OK;
        if (load->random >> 60 == 15)
            sched_yield();
    }
    return NULL;
}

static void test_every_task_ends_exactly_once(void **state) {
    (void)state;
    static struct load loads[SUBMITTERS];
    const int queues[] = {LULL_NONE, 3, 100};
    for (int round = 0; round < 6; round++) {
        struct lull_pool *pool = new_pool((struct lull_pool_config){
            .core = 1, .max = 4, .queue = queues[round % 3], .idle = LULL_MICROSECOND});
        pthread_t threads[SUBMITTERS];
        memset(loads, 0, sizeof loads);
        for (int i = 0; i < SUBMITTERS; i++) {
            loads[i].pool = pool;
            loads[i].random = (uint64_t)(round * SUBMITTERS + i);
            assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &loads[i]), 0);
        }
        int accepted = 0, refused = 0, cancelled = 0;
        for (int i = 0; i < SUBMITTERS; i++) {
            pthread_join(threads[i], NULL);
            accepted += loads[i].accepted;
            refused += loads[i].refused;
            cancelled += loads[i].cancelled;
        }
        struct lull_pool_stats stats = lull_pool_snapshot(pool);
        assert_int_equal(accepted + refused, SUBMITTERS * EACH);
        assert_int_equal(stats.submitted, accepted);
        assert_int_equal(stats.refused, refused);
        assert_int_equal(stats.cancelled, cancelled);
        assert_in_range(stats.most_threads, 1, 4);

        bool drain = round < 3;
        lull_pool_destroy(pool, drain);
        int ended = 0, ran = 0;
        for (int i = 0; i < SUBMITTERS; i++)
            for (int j = 0; j < EACH; j++) {
                int finished = loads[i].endings[j][LULL_POOL_FINISHED];
                int given_up = loads[i].endings[j][LULL_POOL_CANCELLED];
                assert_in_range(finished + given_up, 0, 1);
                assert_int_equal(loads[i].runs[j], finished);
                ended += finished + given_up;
                ran += finished;
            }
        assert_int_equal(ended, accepted);
        if (drain)
            assert_int_equal(ran, accepted - cancelled);
    }
}

#define TEST(name) cmocka_unit_test_setup(test_##name, clear_board)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(wrong_settings_are_named),
        TEST(missing_arguments),
        TEST(out_of_memory),
        TEST(defaults),
        TEST(a_default_gives_way_to_its_neighbour),
        TEST(nobody_waits_without_a_queue),
        TEST(the_example_of_the_manual),
        TEST(first_come_first_served),
        TEST(a_resting_thread_is_used_before_one_is_started),
        TEST(the_thread_that_rested_least_works_next),
        TEST(cancel),
        TEST(done_and_ticket_may_be_missing),
        TEST(tasks_may_call_the_pool),
        TEST(destroy_runs_what_waits),
        TEST(destroy_cancels_what_waits),
        TEST(destroy_ends_resting_threads),
        TEST(idle_extras_end_and_core_threads_stay),
        TEST(extras_stay_until_they_have_been_idle),
        TEST(threads_that_cannot_be_started),
        TEST(signals_go_to_the_host),
        TEST(every_task_ends_exactly_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
