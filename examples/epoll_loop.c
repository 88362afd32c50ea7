/* lull in an event loop: forty calls at once on one thread, and nothing blocks.
 *
 * Each call is a small state machine. `at` is always the moment when it needs to be looked at:
 *
 *   SLEEPING  backing off, or refused for now        at: when to ask the guard (again)
 *   QUEUED    in the bulkhead's queue                at: its deadline, or 0 once a place is free
 *   TALKING   an attempt is under way on its socket  at: when the attempt times out
 *   ENDED                                            at: never
 *
 * The other side is a little server of our own, on a thread, that misbehaves in four ways.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <lull.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLS = 40 };

static void *serve(void *arg) {
    /* NULL: never answers and never hangs up; "": hangs up without a word. */
    static const char *const answers[10] = {"OK", "OK",   NULL, "OK", "ERROR",
                                            "OK", "BUSY", "OK", "",   "OK"};
    int client;
    for (unsigned i = 0; (client = accept(*(int *)arg, NULL, NULL)) >= 0; i++) {
        const char *answer = answers[i % 10];
        if (answer == NULL)
            continue;
        if (*answer != '\0')
            (void)!send(client, answer, strlen(answer), MSG_NOSIGNAL);
        close(client);
    }
    return NULL;
}

struct task {
    enum { SLEEPING, QUEUED, TALKING, ENDED } state;
    lull_time at;
    int socket;
    struct lull_call call;
    struct lull_waiter waiter;
};

static struct lull_guard guard;
static struct sockaddr_in address = {.sin_family = AF_INET};
static int epoll, ended, succeeded;

static void put_to(struct task *task, int state, lull_time at) {
    task->state = state;
    task->at = at;
}

/* A place at the bulkhead is ours. Runs inside another call's lull_complete: just note it. */
static void wake(struct lull_waiter *waiter) {
    struct task *task = waiter->context;
    task->at = 0;
}

static void begin_attempt(struct task *task, lull_duration timeout, lull_time now);

/* Does what the guard says. */
static void follow(struct task *task, struct lull_verdict verdict, lull_time now) {
    bool later =
        verdict.decision == LULL_RETRY ||
        (verdict.decision == LULL_NO && verdict.at > now && verdict.at < task->call.deadline);
    if (verdict.decision == LULL_GO) {
        begin_attempt(task, verdict.timeout, now);
    } else if (verdict.decision == LULL_WAIT) {
        put_to(task, QUEUED, task->call.deadline);
    } else if (later) {
        put_to(task, SLEEPING, verdict.at); /* it holds nothing meanwhile */
    } else {
        put_to(task, ENDED, LULL_NEVER);
        ended++;
        succeeded += verdict.decision == LULL_DONE;
    }
}

static void end_attempt(struct task *task, struct lull_outcome outcome, lull_time now) {
    if (task->socket >= 0)
        close(task->socket); /* which also takes it out of the epoll set */
    task->socket = -1;
    follow(task, lull_complete(&guard, &task->call, outcome, now), now);
}

static void begin_attempt(struct task *task, lull_duration timeout, lull_time now) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = task};
    put_to(task, TALKING, now + timeout);
    task->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (task->socket < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, task->socket, &event) != 0 ||
        (connect(task->socket, (struct sockaddr *)&address, sizeof address) != 0 &&
         errno != EINPROGRESS))
        end_attempt(task, (struct lull_outcome){.class_ = LULL_TRANSIENT, .code = errno}, now);
}

/* Its time has come. */
static void step(struct task *task, lull_time now) {
    if (task->state == SLEEPING)
        follow(task, lull_admit_or_wait(&guard, &task->call, &task->waiter, now), now);
    else if (task->state == QUEUED)
        follow(task, lull_settle(&guard, &task->call, &task->waiter, now), now);
    else if (task->state == TALKING)
        end_attempt(task, (struct lull_outcome){.class_ = LULL_TIMEOUT}, now);
}

/* Its socket has something to say. */
static void hear(struct task *task, lull_time now) {
    char answer[16] = "";
    ssize_t length = recv(task->socket, answer, sizeof answer - 1, 0);
    struct lull_outcome outcome = {.class_ = LULL_TRANSIENT};
    if (length < 0)
        outcome.class_ = lull_classify(LULL_CODE_ERRNO, errno, NULL, 0);
    else if (length == 0)
        outcome.class_ = LULL_UNKNOWN; /* did it do the work before it hung up? */
    else if (strcmp(answer, "OK") == 0)
        outcome.class_ = LULL_SUCCESS;
    else if (strcmp(answer, "BUSY") == 0) /* holds back all calls to this destination */
        outcome = (struct lull_outcome){LULL_THROTTLED, 0, 10 * LULL_MILLISECOND};
    end_attempt(task, outcome, now);
}

/* Looks at every task; a program with thousands would keep them in a heap by `at`. */
static void loop(struct task *tasks) {
    while (ended < CALLS) {
        lull_time now = lull_clock(), next = LULL_NEVER;
        for (int i = 0; i < CALLS; i++)
            if (tasks[i].at <= now)
                step(&tasks[i], now);
        for (int i = 0; i < CALLS; i++) /* after all steps: one may have woken another */
            next = tasks[i].at < next ? tasks[i].at : next;
        if (next == LULL_NEVER)
            break;
        int wait = next <= now ? 0 : (int)((next - now) / LULL_MILLISECOND) + 1;
        struct epoll_event events[16];
        int count = epoll_wait(epoll, events, 16, wait);
        now = lull_clock();
        for (int i = 0; i < count; i++)
            hear(events[i].data.ptr, now);
    }
}

static void print_summary(void) {
    struct lull_guard_stats stats;
    lull_guard_snapshot(&guard, &stats, lull_clock());
    printf("%d calls, %d succeeded; %" PRIu64 " first attempts, %" PRIu64 " retries:", ended,
           succeeded, stats.firsts, stats.retries);
    for (int i = 0; i < LULL_CLASS_COUNT; i++)
        if (stats.outcomes[i] > 0)
            printf(" %" PRIu64 " %s", stats.outcomes[i], lull_class_name(i));
    printf("\nasked to come back later: %" PRIu64 " times by Retry-After, %" PRIu64
           " by the circuit breaker\n",
           stats.refused[LULL_POLICY_CLOCK], stats.refused[LULL_POLICY_BREAKER]);
}

int main(void) {
    const struct lull_guard_config config = {
        .retry = {.attempts = 6,
                  .deadline = 3 * LULL_SECOND, /* so the loop ends, come what may */
                  .attempt_timeout = 50 * LULL_MILLISECOND,
                  .backoff = {.base = 5 * LULL_MILLISECOND, .cap = 100 * LULL_MILLISECOND}},
        .breaker = {.open_time = 50 * LULL_MILLISECOND, .open_max = LULL_SECOND},
        .budget = {.floor = 100}, /* retries a second; forty calls earn few */
        .bulkhead = {.limit = 8, .queue = CALLS},
    };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t server;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* and port 0: any */
    if (lull_guard_init(&guard, &config, NULL) != LULL_OK || listener < 0 ||
        bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, CALLS) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        (epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
        pthread_create(&server, NULL, serve, &listener) != 0) {
        perror("cannot begin");
        return EXIT_FAILURE;
    }
    static struct task tasks[CALLS];                         /* all SLEEPING, and due at once */
    struct lull_call_options options = {.idempotent = true}; /* UNKNOWN may be sent again */
    lull_time began = lull_clock();
    for (int i = 0; i < CALLS; i++) {
        tasks[i] = (struct task){.socket = -1, .waiter = {.wake = wake, .context = &tasks[i]}};
        lull_call_begin(&guard, &tasks[i].call, &options, (uint64_t)(began + i), began);
    }
    loop(tasks);
    shutdown(listener, SHUT_RDWR); /* accept fails, and the server goes home */
    pthread_join(server, NULL);
    close(listener);
    close(epoll);
    print_summary();
    return ended == CALLS ? EXIT_SUCCESS : EXIT_FAILURE;
}
