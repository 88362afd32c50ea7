/* Many threads, one destination, one guard.
 *
 * Eight threads call the same flaky service through one shared guard. In the middle the service
 * goes down for a while: watch the circuit open, the calls wait instead of hammering it, and the
 * numbers add up at the end.
 *
 *   cc pthreads.c $(pkg-config --cflags --libs lull) -pthread && ./a.out
 */
#include <inttypes.h>
#include <lull.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 8, CALLS_EACH = 25, OUTAGE_FROM = 30, OUTAGE_TO = 80 };

/* The "service": answers in a millisecond, fails one request in ten, and all of its outage. */
struct service {
    _Atomic(int) requests;
};

/* One attempt. It may look at attempt->timeout to bound itself, and says how it ended; whether and
 * when it is called again is the guard's business. */
static struct lull_outcome ask(void *arg, const struct lull_attempt *attempt) {
    struct service *service = arg;
    (void)attempt;
    nanosleep(&(struct timespec){.tv_nsec = LULL_MILLISECOND}, NULL);
    int request = atomic_fetch_add(&service->requests, 1);
    bool down = request >= OUTAGE_FROM && request < OUTAGE_TO;
    if (down || request % 10 == 3)
        return (struct lull_outcome){.class_ = LULL_TRANSIENT, .code = 503};
    return (struct lull_outcome){.class_ = LULL_SUCCESS, .code = 200};
}

struct worker {
    struct lull_guard *guard; /* shared by all: that is the point of it */
    struct service *service;
    pthread_t thread;
    int succeeded, refused, failed;
};

static void *work(void *arg) {
    struct worker *worker = arg;
    /* While the circuit is open, wait for it (within the deadline) rather than fail at once. */
    struct lull_run_options options = {.wait = true};
    for (int i = 0; i < CALLS_EACH; i++) {
        switch (lull_run(worker->guard, ask, worker->service, &options, NULL)) {
        case LULL_OK:
            worker->succeeded++;
            break;
        case LULL_EREFUSED: /* a policy said no: the service was spared the attempt */
            worker->refused++;
            break;
        default: /* tried, and given up */
            worker->failed++;
        }
    }
    return NULL;
}

/* Called by the thread that caused the transition. */
static void on_transition(void *context, const struct lull_breaker_event *event) {
    (void)context;
    printf("circuit: %s -> %s", lull_breaker_state_name(event->from),
           lull_breaker_state_name(event->to));
    if (event->calls > 0)
        printf(" (%" PRIu64 " of %" PRIu64 " calls had failed)", event->failed, event->calls);
    putchar('\n');
}

static void print_summary(struct lull_guard *guard, const struct worker *workers) {
    int succeeded = 0, refused = 0, failed = 0;
    for (int i = 0; i < THREADS; i++) {
        succeeded += workers[i].succeeded;
        refused += workers[i].refused;
        failed += workers[i].failed;
    }
    struct lull_guard_stats stats;
    lull_guard_snapshot(guard, &stats, lull_clock());
    printf("calls:     %d succeeded, %d refused, %d failed\n", succeeded, refused, failed);
    printf("attempts:  %" PRIu64 " first, %" PRIu64 " retries\n", stats.firsts, stats.retries);
    printf("outcomes: ");
    for (int i = 0; i < LULL_CLASS_COUNT; i++)
        if (stats.outcomes[i] > 0)
            printf(" %" PRIu64 " %s", stats.outcomes[i], lull_class_name(i));
    printf("\nrefusals: ");
    for (int i = 0; i < LULL_POLICY_COUNT; i++)
        if (stats.refused[i] > 0)
            printf(" %" PRIu64 " by %s", stats.refused[i], lull_policy_name(i));
    printf("\ngiven up: ");
    for (int i = 0; i < LULL_REASON_COUNT; i++)
        if (stats.stopped[i] > 0)
            printf(" %" PRIu64 " because %s", stats.stopped[i], lull_reason_text(i));
    printf("\ncircuit:   %s, %" PRIu64 " transitions\n",
           lull_breaker_state_name(stats.breaker.state), stats.breaker.transitions);
    printf("budget:    %.1f retries left\n", stats.budget.tokens);
}

int main(void) {
    /* Small times, so that the example is over soon; all that is not set has its default. */
    struct lull_guard_config config = {
        .retry = {.attempts = 4,
                  .deadline = 2 * LULL_SECOND,
                  .backoff = {.base = 2 * LULL_MILLISECOND, .cap = 20 * LULL_MILLISECOND}},
        .breaker = {.window = LULL_SECOND,
                    .open_time = 50 * LULL_MILLISECOND,
                    .open_max = 200 * LULL_MILLISECOND,
                    .slow_call = 50 * LULL_MILLISECOND,
                    .on_transition = on_transition},
        .bulkhead = {.limit = 4}, /* four at once; the other threads queue */
    };
    struct lull_guard guard;
    struct lull_error error;
    if (lull_guard_init(&guard, &config, &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    struct service service = {0};
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.guard = &guard, .service = &service};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            perror("pthread_create");
            exit(EXIT_FAILURE);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    print_summary(&guard, workers);
    return EXIT_SUCCESS;
}
