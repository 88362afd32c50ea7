#include "thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct queue {
    struct store_request *first, **last;
};

/* Under `lock`: queue, sleeping, stopping, failure, and of asking clients `posted`. The rest is the thread's own. */
struct store_thread {
    struct store_thread_config config;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;     /* the thread: something is queued */
    pthread_cond_t answered; /* those who ask */
    struct queue queue;
    bool sleeping, stopping;
    struct store_failure failure;

    struct queue batch;    /* of this transaction */
    struct queue backlog;  /* taken, for the next ones */
    struct queue kept;     /* insistent ones of a transaction that failed */
    lull_duration pause;   /* 0: all is well */
    lull_time pause_until; /* monotonic */
    uint32_t batch_count;
    LULL_ATOMIC(uint64_t) transactions, requests; /* succeeded */
};

static lull_time system_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * LULL_SECOND + time.tv_nsec;
}

static lull_time monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * LULL_SECOND + time.tv_nsec;
}

static void queue_init(struct queue *queue) {
    queue->first = NULL;
    queue->last = &queue->first;
}

static void queue_add(struct queue *queue, struct store_request *request) {
    request->next = NULL;
    *queue->last = request;
    queue->last = &request->next;
}

/* All of `from`, behind; `from` is empty then. */
static void queue_append(struct queue *queue, struct queue *from) {
    if (from->first == NULL)
        return;
    *queue->last = from->first;
    queue->last = from->last;
    queue_init(from);
}

static struct store_request *queue_take(struct queue *queue) {
    struct store_request *request = queue->first;
    queue->first = request->next;
    if (queue->first == NULL)
        queue->last = &queue->first;
    return request;
}

/* ---- answers ---- */

static void open_letter(struct letter *letter) {
    struct store_client *client =
        (struct store_client *)(void *)((char *)letter - offsetof(struct store_client, letter));
    pthread_mutex_lock(&client->lock);
    struct store_request *request = client->finished;
    client->finished = NULL;
    client->finished_last = &client->finished;
    client->posted = false;
    pthread_mutex_unlock(&client->lock);
    while (request != NULL) {
        struct store_request *next = request->next; /* once done, it may be gone */
        request->next = NULL;
        request->done(request);
        request = next;
    }
}

/* A client's answers, as one letter; if the last is not opened yet, they go into that. */
static void post(struct store_client *client, struct queue *answers) {
    if (client->inbox == NULL) { /* in store_thread_ask */
        pthread_mutex_lock(&client->thread->lock);
        client->posted = true;
        pthread_cond_broadcast(&client->thread->answered);
        pthread_mutex_unlock(&client->thread->lock);
        return;
    }
    pthread_mutex_lock(&client->lock);
    *client->finished_last = answers->first;
    client->finished_last = answers->last;
    bool post = !client->posted;
    client->posted = true;
    pthread_mutex_unlock(&client->lock);
    if (post)
        inbox_push(client->inbox, &client->letter, &client->letter);
}

/* Some for the first one's asker, until there are none. There are few askers: one per worker. */
static void answer(struct queue *done) {
    while (done->first != NULL) {
        struct store_client *client = done->first->asker;
        struct queue answers, others;
        queue_init(&answers);
        queue_init(&others);
        while (done->first != NULL) {
            struct store_request *request = queue_take(done);
            queue_add(request->asker == client ? &answers : &others, request);
        }
        post(client, &answers);
        queue_append(done, &others);
    }
}

/* ---- the thread ---- */

static size_t size_of(const struct store_request *request) {
    if (request->kind != STORE_ACCEPT)
        return 0;
    const struct store_accept *accept = STORE_AS(store_accept, request);
    size_t size = 0;
    for (uint32_t i = 0; i < accept->event_count; i++)
        size += message_size(accept->events[i].message);
    return size;
}

/* While transactions fail, producers are told so at once. */
static void refuse_accepts(struct store_thread *self) {
    struct queue refused, others;
    queue_init(&refused);
    queue_init(&others);
    while (self->backlog.first != NULL) {
        struct store_request *request = queue_take(&self->backlog);
        bool refuse = request->kind == STORE_ACCEPT && !request->insistent;
        if (refuse)
            store_request_fail(request, LULL_ESYSTEM);
        queue_add(refuse ? &refused : &others, request);
    }
    queue_append(&self->backlog, &others);
    answer(&refused);
}

/* Until something is queued; or, if something waits for the end of the pause, until that. */
static void wait_for_wake(struct store_thread *self, bool pausing) {
    self->sleeping = true;
    if (!pausing) {
        pthread_cond_wait(&self->wake, &self->lock);
    } else {
        struct timespec until = {.tv_sec = self->pause_until / LULL_SECOND,
                                 .tv_nsec = self->pause_until % LULL_SECOND};
        pthread_cond_timedwait(&self->wake, &self->lock, &until);
    }
    self->sleeping = false;
}

/* Until there is something to run, and it is time to. False: it is to end, and nothing is left. */
static bool wait_for_work(struct store_thread *self) {
    for (;;) {
        pthread_mutex_lock(&self->lock);
        bool idle = self->backlog.first == NULL && self->kept.first == NULL;
        bool pausing = self->pause > 0 && monotonic() < self->pause_until;
        if (self->queue.first == NULL && !self->stopping && (idle || pausing))
            wait_for_wake(self, !idle);
        queue_append(&self->backlog, &self->queue);
        bool stopping = self->stopping;
        pthread_mutex_unlock(&self->lock);

        pausing = self->pause > 0 && monotonic() < self->pause_until;
        if (pausing && !stopping)
            refuse_accepts(self);
        else if (self->backlog.first != NULL || self->kept.first != NULL)
            return true;
        else if (stopping)
            return false;
    }
}

static void gather(struct store_thread *self) {
    size_t bytes = 0;
    uint32_t count = 0;
    /* All that were kept: newer ones must not overtake them. They are outcomes, no more than attempts are under way. */
    queue_append(&self->batch, &self->kept);
    while (self->backlog.first != NULL && count < STORE_THREAD_REQUESTS &&
           bytes < STORE_THREAD_BYTES) {
        struct store_request *request = queue_take(&self->backlog);
        bytes += size_of(request);
        count++;
        queue_add(&self->batch, request);
    }
    self->batch_count = count;
}

static void note_failure(struct store_thread *self, lull_time now) {
    struct store_adapter *adapter = self->config.adapter;
    pthread_mutex_lock(&self->lock);
    if (self->failure.since == 0)
        self->failure.since = now;
    snprintf(self->failure.why, sizeof self->failure.why, "%s", adapter->problem(adapter));
    pthread_mutex_unlock(&self->lock);
    self->pause = self->pause == 0 ? self->config.pause : self->pause * 2;
    if (self->pause > self->config.pause_longest)
        self->pause = self->config.pause_longest;
    self->pause_until = monotonic() + self->pause;
}

static void note_success(struct store_thread *self) {
    if (self->pause == 0)
        return;
    pthread_mutex_lock(&self->lock);
    self->failure = (struct store_failure){0};
    pthread_mutex_unlock(&self->lock);
    self->pause = 0;
}

/* The insistent ones are kept, unless there will be no other time. */
static void keep_insistent(struct store_thread *self) {
    pthread_mutex_lock(&self->lock);
    bool last = self->stopping;
    pthread_mutex_unlock(&self->lock);
    struct queue refused;
    queue_init(&refused);
    while (self->batch.first != NULL) {
        struct store_request *request = queue_take(&self->batch);
        queue_add(request->insistent && !last ? &self->kept : &refused, request);
    }
    answer(&refused);
}

static void *work(void *argument) {
    struct store_thread *self = argument;
    pthread_setname_np(pthread_self(), "store");
    struct store_adapter *adapter = self->config.adapter;
    while (wait_for_work(self)) {
        gather(self);
        lull_time now = self->config.clock();
        if (adapter->run(adapter, self->batch.first, now) == LULL_OK) {
            note_success(self);
            atomic_fetch_add_explicit(&self->transactions, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&self->requests, self->batch_count, memory_order_relaxed);
            if (self->config.committed != NULL)
                self->config.committed(self->config.context, self->batch.first);
            answer(&self->batch);
        } else {
            note_failure(self, now);
            keep_insistent(self);
        }
    }
    return NULL;
}

/* ---- for others ---- */

static void init_conditions(struct store_thread *self) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_cond_init(&self->answered, NULL);
    pthread_mutex_init(&self->lock, NULL);
}

static void free_thread(struct store_thread *self) {
    pthread_cond_destroy(&self->wake);
    pthread_cond_destroy(&self->answered);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

struct store_thread *store_thread_new(const struct store_thread_config *config) {
    struct store_thread *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->config = *config;
    if (config->clock == NULL)
        self->config.clock = system_clock;
    if (config->pause == 0)
        self->config.pause = STORE_THREAD_PAUSE;
    if (config->pause_longest == 0)
        self->config.pause_longest = STORE_THREAD_PAUSE_LONGEST;
    queue_init(&self->queue);
    queue_init(&self->batch);
    queue_init(&self->backlog);
    queue_init(&self->kept);
    init_conditions(self);
    if (pthread_create(&self->thread, NULL, work, self) != 0) {
        free_thread(self);
        return NULL;
    }
    return self;
}

void store_thread_destroy(struct store_thread *thread) {
    if (thread == NULL)
        return;
    pthread_mutex_lock(&thread->lock);
    thread->stopping = true;
    pthread_cond_signal(&thread->wake);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->thread, NULL);
    free_thread(thread);
}

bool store_thread_failing(struct store_thread *thread, struct store_failure *failure) {
    pthread_mutex_lock(&thread->lock);
    *failure = thread->failure;
    pthread_mutex_unlock(&thread->lock);
    return failure->since != 0;
}

void store_thread_snapshot(struct store_thread *thread, struct store_thread_stats *stats) {
    stats->transactions = atomic_load_explicit(&thread->transactions, memory_order_relaxed);
    stats->requests = atomic_load_explicit(&thread->requests, memory_order_relaxed);
}

static void hand_over(struct store_thread *self, struct store_request *first,
                      struct store_request **last) {
    pthread_mutex_lock(&self->lock);
    *self->queue.last = first;
    self->queue.last = last;
    if (self->sleeping)
        pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->lock);
}

void store_thread_ask(struct store_thread *thread, struct store_request *request) {
    struct store_client client = {.thread = thread};
    request->asker = &client; // cppcheck-suppress autoVariables; it is answered before this returns
    request->next = NULL;
    hand_over(thread, request, &request->next);
    pthread_mutex_lock(&thread->lock);
    while (!client.posted)
        pthread_cond_wait(&thread->answered, &thread->lock);
    pthread_mutex_unlock(&thread->lock);
}

static void submit(struct store_port *port, struct store_request *request) {
    struct store_client *client = (struct store_client *)port;
    request->asker = client;
    request->next = NULL;
    *client->last = request;
    client->last = &request->next;
}

int store_client_init(struct store_client *client, struct store_thread *thread,
                      struct inbox *inbox) {
    *client = (struct store_client){
        .port = {submit},
        .thread = thread,
        .inbox = inbox,
        .letter = {.open = open_letter},
    };
    client->last = &client->first;
    client->finished_last = &client->finished;
    return pthread_mutex_init(&client->lock, NULL) == 0 ? LULL_OK : LULL_ESYSTEM;
}

void store_client_clean_up(struct store_client *client) {
    pthread_mutex_destroy(&client->lock);
}

void store_client_flush(struct store_client *client) {
    if (client->first == NULL)
        return;
    struct store_request *first = client->first, **last = client->last;
    client->first = NULL;
    client->last = &client->first;
    hand_over(client->thread, first, last);
}
