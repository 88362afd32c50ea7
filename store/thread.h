/* The store's thread: makes the port of engine/store.h out of an adapter.
 *
 *   struct store_thread *thread = store_thread_new(&(struct store_thread_config){.adapter = adapter});
 *   struct store_client client;                                  one per worker, with that worker's inbox
 *   store_client_init(&client, thread, &inbox);
 *   client.port.submit(&client.port, &load.request);             collects
 *   store_client_flush(&client);                                 hands all of it over: once per turn of the loop
 *   … inbox_open(&inbox)                                         calls each request's `done`
 *
 * The thread takes what has queued up meanwhile, whoever it is from, and runs it as one transaction: the busier it is, the
 * more requests share a sync of the disk. What is finished comes back as one letter per client.
 *
 * If the transaction fails, its requests are told LULL_ESYSTEM, but for the insistent ones: these are kept and tried
 * again after 50 ms, 100 ms, … 2 s, in their order and before newer ones. While the thread waits, what comes in waits with it;
 * only ACCEPTs are refused at once, for a producer had better know. When a transaction succeeds, all is well again.
 *
 * A client's requests take effect in the order submitted. A request that is refused does not; so its `done` may be called
 * before that of an insistent one submitted earlier. */
#ifndef STORE_THREAD_H
#define STORE_THREAD_H

#include "adapter.h"
#include "inbox.h"

#define STORE_THREAD_REQUESTS 4096    /* at most, in a transaction */
#define STORE_THREAD_BYTES (16 << 20) /* of messages; the last request may be beyond */
#define STORE_THREAD_PAUSE (50 * LULL_MILLISECOND)
#define STORE_THREAD_PAUSE_LONGEST (2 * LULL_SECOND)

struct store_thread;

struct store_thread_config {
    struct store_adapter *adapter;      /* borrowed until the thread is destroyed */
    lull_time (*clock)(void);           /* wall time; NULL: the system's */
    lull_duration pause, pause_longest; /* 0: as above */
    /* May be NULL. Called on the store's thread after each transaction that succeeded, with all its requests in order, before any of them is
     * answered. */
    void (*committed)(void *context, struct store_request *finished);
    void *context;
};

/* NULL: no memory or no thread. */
struct store_thread *store_thread_new(const struct store_thread_config *config);
/* Finishes what is queued. Insistent requests get a last try, and LULL_ESYSTEM if it fails. When it returns, all answers are in
 * the inboxes. No client may submit any more. NULL is fine. */
void store_thread_destroy(struct store_thread *thread);

/* The request, and its answer: for the start, before there is a loop. `done` is not called. Any thread but the store's. */
void store_thread_ask(struct store_thread *thread, struct store_request *request);

struct store_failure {
    lull_time since; /* wall time; 0: all is well */
    char why[256];
};
/* Any thread. True: transactions fail at present. */
bool store_thread_failing(struct store_thread *thread, struct store_failure *failure);

struct store_thread_stats {
    uint64_t transactions, requests; /* that succeeded, since the start */
};
void store_thread_snapshot(struct store_thread *thread,
                           struct store_thread_stats *stats); /* any thread */

/* All of it but `finished` and `posted` belongs to the client's own thread. */
struct store_client {
    struct store_port port;
    struct store_thread *thread;
    struct inbox *inbox; /* NULL: of store_thread_ask */
    struct store_request *first, **last;
    struct letter letter;
    /* Under `lock`: what is done and not yet opened, and whether the letter is in the inbox. */
    pthread_mutex_t lock;
    struct store_request *finished, **finished_last;
    bool posted;
};

/* The inbox is borrowed. */
LULL_MUST_USE int store_client_init(struct store_client *client, struct store_thread *thread,
                                    struct inbox *inbox);
/* When all its requests are done. */
void store_client_clean_up(struct store_client *client);
void store_client_flush(struct store_client *client);

#endif
