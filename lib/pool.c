/* One mutex guards everything below. `run` and `done` are called without it: they may call back.
 *
 * A task that was accepted and that no thread has taken yet is *pending*, in one list, oldest
 * first. A thread is *busy* from taking a task until its `done` has returned, else it is
 * *available*: resting, or on its way to the list (just started, just woken, just finished). What
 * holds whenever the mutex is free:
 *
 *   1. pending ≤ available + queue: a submit that would break this starts a thread first, or is
 *      refused.
 *   2. A thread goes to rest only if nothing is pending, and each submit wakes a resting thread if
 *      there is one. So as long as anybody rests, there are at least as many threads on their way
 *      as tasks pending.
 *   3. A thread ends only from resting. So if anything is pending, some thread is busy or on its
 *      way, and will come to the list and take the oldest: every task runs. (At shut-down threads
 *      end otherwise, see enum phase.)
 *
 * Resting threads form a stack, and the one that came last is woken first. So under light work the
 * same few threads do it all, and the others are idle for long enough to end.
 *
 * An ending thread cannot join itself, and detached it might still be leaving when the pool's
 * memory goes. So each leaves its handle behind and joins the one that ended before it; destroy
 * joins the last.
 */
#include <lull/pool.h>
#include <lull/run.h>

#include "atomic.h"
#include "check.h"
#include "saturate.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct slot {
    struct lull_pool_task task;
    uint64_t ticket; /* of the pending task; 0: none is in here */
    struct slot *next, *previous;
};

/* A thread without work; on its own stack. */
struct rester {
    pthread_cond_t wake;
    bool resting; /* in the pool's stack */
    struct rester *below, *above;
};

enum phase {
    OPEN,
    DRAINING,   /* no new tasks; what is pending runs */
    CANCELLING, /* no new tasks; what is pending is destroy's to cancel */
};

struct lull_pool {
    int32_t core, max, queue;
    lull_duration idle;
    pthread_mutex_t mutex;
    enum phase phase;
    int32_t threads, most_threads, busy, pending;
    struct slot *oldest, *newest; /* pending */
    struct slot *unused;          /* by `next` */
    struct rester *top;           /* of the stack of resting threads */
    pthread_cond_t all_ended;
    bool has_ended;
    pthread_t ended; /* the last thread that ended: not joined yet */
    uint64_t submitted, refused;
    _Atomic(uint64_t) finished, cancelled; /* counted outside the mutex, before `done` */
    size_t slot_count;
    struct slot slots[];
};

static int check(struct lull_pool_config *config, struct lull_error *error) {
    /* A default gives way to its neighbour: max 5 alone makes core 5, core 50 makes max 50. */
    if (config->core == 0)
        config->core =
            config->max > 0 ? (int32_t)least(LULL_POOL_CORE, config->max) : LULL_POOL_CORE;
    if (config->max == 0)
        config->max = (int32_t)most(LULL_POOL_MAX, config->core);
    if (config->queue == 0)
        config->queue = LULL_POOL_QUEUE;
    if (config->idle == 0)
        config->idle = LULL_POOL_IDLE;

    int code = check_integer(error, "pool.core", config->core, 1, LULL_POOL_MOST_THREADS);
    if (code == LULL_OK)
        code = check_integer(error, "pool.max", config->max, config->core, LULL_POOL_MOST_THREADS);
    if (code == LULL_OK && config->queue != LULL_NONE)
        code = check_integer(error, "pool.queue", config->queue, 1, LULL_POOL_MOST_WAITING);
    if (code == LULL_OK)
        code = check_duration(error, "pool.idle", config->idle, 1, LULL_NEVER);
    return code;
}

/* Cannot fail: the attributes are valid, and nothing is allocated. */
static void initialise_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

int lull_pool_new(struct lull_pool **pool, const struct lull_pool_config *config,
                  struct lull_error *error) {
    if (pool == NULL)
        return LULL_EINVAL;
    *pool = NULL;
    struct lull_pool_config settled = {0};
    if (config != NULL)
        settled = *config;
    int code = check(&settled, error);
    if (code != LULL_OK)
        return code;

    int32_t queue = settled.queue == LULL_NONE ? 0 : settled.queue;
    size_t slot_count = (size_t)queue + (size_t)settled.max; /* invariant 1 */
    struct lull_pool *fresh = calloc(1, sizeof *fresh + slot_count * sizeof fresh->slots[0]);
    if (fresh == NULL)
        return LULL_ENOMEM;
    fresh->core = settled.core;
    fresh->max = settled.max;
    fresh->queue = queue;
    fresh->idle = settled.idle;
    fresh->slot_count = slot_count;
    for (size_t i = slot_count; i-- > 0;) {
        fresh->slots[i].next = fresh->unused;
        fresh->unused = &fresh->slots[i];
    }
    pthread_mutex_init(&fresh->mutex, NULL);
    initialise_condition(&fresh->all_ended);
    *pool = fresh;
    return LULL_OK;
}

/* The list of pending tasks. All with the mutex held. */

/* Returns the task's ticket: never 0, never given twice, and its remainder names its slot. */
static uint64_t append(struct lull_pool *pool, const struct lull_pool_task *task) {
    struct slot *slot = pool->unused;
    pool->unused = slot->next;
    pool->submitted++;
    pool->pending++;
    slot->task = *task;
    slot->ticket = pool->submitted * pool->slot_count + (uint64_t)(slot - pool->slots);
    slot->next = NULL;
    slot->previous = pool->newest;
    *(pool->newest != NULL ? &pool->newest->next : &pool->oldest) = slot;
    pool->newest = slot;
    return slot->ticket;
}

static struct lull_pool_task take_out(struct lull_pool *pool, struct slot *slot) {
    *(slot->previous != NULL ? &slot->previous->next : &pool->oldest) = slot->next;
    *(slot->next != NULL ? &slot->next->previous : &pool->newest) = slot->previous;
    slot->ticket = 0;
    slot->next = pool->unused;
    pool->unused = slot;
    pool->pending--;
    return slot->task;
}

/* The stack of resting threads. All with the mutex held. */

static void push(struct lull_pool *pool, struct rester *rester) {
    rester->resting = true;
    rester->above = NULL;
    rester->below = pool->top;
    if (rester->below != NULL)
        rester->below->above = rester;
    pool->top = rester;
}

static void pull_out(struct lull_pool *pool, struct rester *rester) {
    *(rester->above != NULL ? &rester->above->below : &pool->top) = rester->below;
    if (rester->below != NULL)
        rester->below->above = rester->above;
    rester->resting = false;
}

static void wake_one(struct lull_pool *pool) {
    struct rester *rester = pool->top;
    if (rester == NULL)
        return;
    pull_out(pool, rester);
    pthread_cond_signal(&rester->wake);
}

/* Rests until woken; extras no longer than `idle`. False: it may end. */
static bool rest(struct lull_pool *pool, struct rester *rester) {
    /* Nobody comes to be an extra while resting: a thread is started only if none rests. */
    bool extra = pool->threads > pool->core;
    lull_time until = extra ? add_saturated(lull_clock(), pool->idle) : LULL_NEVER;
    struct timespec limit = {.tv_sec = until / LULL_SECOND, .tv_nsec = until % LULL_SECOND};
    int result = 0;
    push(pool, rester);
    while (rester->resting && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&rester->wake, &pool->mutex, &limit);
    if (!rester->resting)
        return true;
    pull_out(pool, rester);
    return pool->threads <= pool->core; /* others have ended meanwhile */
}

static bool next_task(struct lull_pool *pool, struct rester *rester, struct lull_pool_task *task) {
    while (pool->phase != CANCELLING) {
        if (pool->oldest != NULL) {
            *task = take_out(pool, pool->oldest);
            return true;
        }
        if (pool->phase == DRAINING || !rest(pool, rester))
            return false;
    }
    return false;
}

static void end(const struct lull_pool_task *task, enum lull_pool_ending ending,
                _Atomic(uint64_t) *count) {
    add(count, 1);
    if (task->done != NULL)
        task->done(task->arg, ending);
}

static void *work(void *context) {
    struct lull_pool *pool = context;
    struct lull_pool_task task;
    struct rester self = {0};
    initialise_condition(&self.wake);

    pthread_mutex_lock(&pool->mutex);
    while (next_task(pool, &self, &task)) {
        pool->busy++;
        pthread_mutex_unlock(&pool->mutex);
        task.run(task.arg);
        end(&task, LULL_POOL_FINISHED, &pool->finished);
        pthread_mutex_lock(&pool->mutex);
        pool->busy--;
    }
    bool has_predecessor = pool->has_ended;
    pthread_t predecessor = pool->ended;
    pool->has_ended = true;
    pool->ended = pthread_self();
    if (--pool->threads == 0)
        pthread_cond_signal(&pool->all_ended);
    pthread_mutex_unlock(&pool->mutex);

    pthread_cond_destroy(&self.wake);
    if (has_predecessor)
        pthread_join(predecessor, NULL);
    return NULL;
}

/* With the mutex held: threads are started rarely, and the counts must not move meanwhile. */
static bool start_thread(struct lull_pool *pool) {
    /* A thread inherits the mask. Faults stay unblocked: they are the thread's own, and blocked
     * they would kill the process without a word to its crash handler. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);

    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failure = pthread_create(&thread, NULL, work, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0)
        return false;
    pool->threads++;
    if (pool->threads > pool->most_threads)
        pool->most_threads = pool->threads;
    return true;
}

/* With the mutex held: LULL_OK if one more task may be pending. */
static int make_room(struct lull_pool *pool) {
    if (pool->phase != OPEN)
        return LULL_ECANCELLED;
    int32_t waiting = pool->pending - (pool->threads - pool->busy);
    if (waiting < 0)
        return LULL_OK;
    bool queue_has_room = waiting < pool->queue;
    if (pool->threads >= (queue_has_room ? pool->core : pool->max))
        return queue_has_room ? LULL_OK : LULL_EFULL;
    if (start_thread(pool))
        return LULL_OK;
    return queue_has_room && pool->threads > 0 ? LULL_OK : LULL_ESYSTEM;
}

int lull_pool_submit(struct lull_pool *pool, const struct lull_pool_task *task, uint64_t *ticket) {
    if (pool == NULL || task == NULL || task->run == NULL)
        return LULL_EINVAL;
    pthread_mutex_lock(&pool->mutex);
    int code = make_room(pool);
    if (code == LULL_OK) {
        uint64_t name = append(pool, task);
        if (ticket != NULL)
            *ticket = name;
        wake_one(pool);
    } else {
        pool->refused++;
    }
    pthread_mutex_unlock(&pool->mutex);
    return code;
}

int lull_pool_cancel(struct lull_pool *pool, uint64_t ticket) {
    if (pool == NULL)
        return LULL_EINVAL;
    struct lull_pool_task task;
    pthread_mutex_lock(&pool->mutex);
    struct slot *slot = &pool->slots[ticket % pool->slot_count];
    bool found = ticket != 0 && slot->ticket == ticket;
    if (found)
        task = take_out(pool, slot);
    pthread_mutex_unlock(&pool->mutex);
    if (!found)
        return LULL_ESTALE;
    end(&task, LULL_POOL_CANCELLED, &pool->cancelled);
    return LULL_OK;
}

struct lull_pool_stats lull_pool_snapshot(struct lull_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    /* A task whose thread is on its way waits for nothing more: it counts as running. */
    int32_t available = pool->threads - pool->busy;
    int32_t spoken_for = (int32_t)least(pool->pending, available);
    struct lull_pool_stats stats = {
        .threads = pool->threads,
        .busy = pool->busy + spoken_for,
        .waiting = pool->pending - spoken_for,
        .most_threads = pool->most_threads,
        .submitted = pool->submitted,
        .finished = load(&pool->finished),
        .cancelled = load(&pool->cancelled),
        .refused = pool->refused,
    };
    pthread_mutex_unlock(&pool->mutex);
    return stats;
}

void lull_pool_destroy(struct lull_pool *pool, bool drain) {
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->phase = drain ? DRAINING : CANCELLING;
    while (pool->top != NULL)
        wake_one(pool);
    while (!drain && pool->oldest != NULL) {
        struct lull_pool_task task = take_out(pool, pool->oldest);
        pthread_mutex_unlock(&pool->mutex);
        end(&task, LULL_POOL_CANCELLED, &pool->cancelled);
        pthread_mutex_lock(&pool->mutex);
    }
    while (pool->threads > 0)
        pthread_cond_wait(&pool->all_ended, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);

    if (pool->has_ended)
        pthread_join(pool->ended, NULL);
    pthread_cond_destroy(&pool->all_ended);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}
