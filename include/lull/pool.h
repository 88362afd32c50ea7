/* Pool: the bulkhead as threads, for callers that block.
 *
 * A destination's blocking calls run on its own threads, so that a slow one can hold up those and
 * no others. `core` threads (15) are kept; when all are busy, up to `queue` tasks (20) wait; when
 * the queue is full, extra threads are started up to `max` (30), which end after `idle` (20 s)
 * without work; then submit refuses at once.
 *
 *   core 1, max 2, queue 1, tasks that take long: the first runs; the second waits; the third
 *   brings in an extra thread, which takes the second, and waits in its place; the fourth is
 *   refused.
 *
 * Nobody overtakes: whichever thread is free takes the task that has waited longest. A thread that
 * rests is used before one is started, and the one that has rested least before the others, so
 * that those can end.
 *
 * Each accepted task ends exactly once, and `done` (if given) is told how, on the thread that
 * ended it:
 *   FINISHED   `run` returned
 *   CANCELLED  taken out of the queue before it ran, by lull_pool_cancel or at shut-down
 * A running task is not interrupted; lull_pool_cancel of one says LULL_ESTALE.
 *
 * All memory is allocated by lull_pool_new. The threads block all signals but those of their own
 * faults (SIGSEGV and the like), so signals arrive at the host's own threads. Every function but
 * destroy may be called from any thread, and from `run` and `done`, which are called with no lock
 * held.
 */
#ifndef LULL_POOL_H
#define LULL_POOL_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_POOL_CORE 15
#define LULL_POOL_MAX 30
#define LULL_POOL_QUEUE 20
#define LULL_POOL_IDLE (20 * LULL_SECOND)
#define LULL_POOL_MOST_THREADS 10000
#define LULL_POOL_MOST_WAITING 1000000

struct lull_pool_config {
    int32_t core;       /* 1 … max (a larger default is lowered to it) */
    int32_t max;        /* core … 10,000 (a smaller default is raised to core) */
    int32_t queue;      /* 1 … 1,000,000; LULL_NONE: no task waits */
    lull_duration idle; /* > 0 */
};

enum lull_pool_ending { LULL_POOL_FINISHED, LULL_POOL_CANCELLED };

struct lull_pool_task {
    void (*run)(void *arg);
    void (*done)(void *arg, enum lull_pool_ending ending); /* may be NULL */
    void *arg;                                             /* yours until `done` */
};

struct lull_pool_stats {
    int32_t threads;
    int32_t busy;                 /* running a task, or on its way to one */
    int32_t waiting;              /* tasks, at most `queue` */
    int32_t most_threads;         /* ever at once */
    uint64_t submitted;           /* accepted */
    uint64_t finished, cancelled; /* counted before `done` is told */
    uint64_t refused;
};

struct lull_pool;
/* Starts no thread yet. `config` may be NULL: all defaults. On LULL_EINVAL `error` (may be NULL)
 * says why; on any failure *pool is NULL. */
LULL_MUST_USE LULL_API int lull_pool_new(struct lull_pool **pool,
                                         const struct lull_pool_config *config,
                                         struct lull_error *error);

/* LULL_OK: the task (copied) will end exactly once; *ticket (may be NULL) names it for
 * lull_pool_cancel. LULL_EFULL: refused. LULL_ECANCELLED: the pool is shutting down. LULL_ESYSTEM:
 * a thread was needed and could not be started (if there is one already and room in the queue, the
 * task waits instead). LULL_EINVAL: no pool, or nothing to run. */
LULL_MUST_USE LULL_API int lull_pool_submit(struct lull_pool *pool,
                                            const struct lull_pool_task *task, uint64_t *ticket);

/* Takes a task out that no thread has begun; its `done` runs before this returns. LULL_ESTALE: it
 * is running or has ended, or there was none. */
LULL_API int lull_pool_cancel(struct lull_pool *pool, uint64_t ticket);

LULL_API struct lull_pool_stats lull_pool_snapshot(struct lull_pool *pool);

/* Refuses new tasks, runs what waits (`drain`) or cancels it, waits for running ones, ends all
 * threads and frees the pool. Not to be called from a task of the pool; other threads' calls must
 * have returned before it does. NULL is fine. */
LULL_API void lull_pool_destroy(struct lull_pool *pool, bool drain);

#ifdef __cplusplus
}
#endif
#endif
