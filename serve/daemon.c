#include "daemon.h"

#include "clock.h"
#include "log.h"
#include "settings.h"
#include "store/sqlite.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKERS_MOST 64
#define WORKERS_BY_CORES 8
#define LETTER_ROUNDS 4

/* ---- asking a worker, from the main thread ---- */

struct errand {
    struct letter letter;
    struct worker *worker;
    void (*run)(struct errand *errand);
    void *argument;
    struct problem problem;
    bool failed;
    sem_t done;
};

static void open_errand(struct letter *letter) {
    struct errand *errand = (struct errand *)letter;
    errand->run(errand);
}

/* Waits until `run`, on the worker's thread, has posted the errand's semaphore. */
static bool send_errand(struct worker *worker, void (*run)(struct errand *), void *argument,
                        struct problem *problem) {
    struct errand errand = {
        .letter = {.open = open_errand}, .worker = worker, .run = run, .argument = argument};
    sem_init(&errand.done, 0, 0);
    inbox_push(&worker->inbox, &errand.letter, &errand.letter);
    while (sem_wait(&errand.done) != 0 && errno == EINTR) {
    }
    sem_destroy(&errand.done);
    if (errand.failed && problem != NULL)
        *problem = errand.problem;
    return !errand.failed;
}

static void run_open_doors(struct errand *errand) {
    errand->failed = !worker_open_doors(errand->worker, &errand->problem);
    sem_post(&errand->done);
}

static sem_t *reconciled;

static void tell_reconciled(struct worker *worker) {
    (void)worker;
    sem_post(reconciled);
}

static void run_reconcile(struct errand *errand) {
    reconciled = &errand->done;
    reconcile(errand->worker, tell_reconciled);
}

static void run_take_config(struct errand *errand) {
    struct worker *worker = errand->worker;
    struct config_version *version = errand->argument;
    config_release(worker->config);
    worker->config = config_share(version);
    if (!client_allow(worker->client, version->config.allow, version->config.allow_count))
        log_event(LOG_ERROR, "out_of_memory", "detail=\"addresses.allow stays as it was\"");
    sem_post(&errand->done);
}

static void run_drain(struct errand *errand) {
    struct worker *worker = errand->worker;
    worker->draining = true;
    worker->drain_end = worker->now + worker->config->config.patience;
    engine_drain(&worker->engine);
    if (worker->http != NULL)
        http_server_quiesce(worker->http);
    sem_post(&errand->done);
}

/* ---- service.h ---- */

bool service_ready(struct worker *worker, char *why, size_t size) {
    struct store_failure failure;
    if (atomic_load(&worker->service->stopping)) {
        snprintf(why, size, "shutting down");
        return false;
    }
    if (store_thread_failing(worker->service->store, &failure)) {
        snprintf(why, size, "the store cannot write: %s", failure.why);
        return false;
    }
    return true;
}

void service_figures(struct worker *worker, struct service_figures *figures) {
    struct service *service = worker->service;
    struct store_failure failure;
    struct store_thread_stats stats;
    store_thread_snapshot(service->store, &stats);
    *figures = (struct service_figures){
        .started = service->started,
        .store_failing = store_thread_failing(service->store, &failure),
        .store_transactions = stats.transactions,
        .store_requests = stats.requests,
        .reloads = atomic_load(&service->reloads),
        .reloads_failed = atomic_load(&service->reloads_failed),
        .workers = service->worker_count,
    };
    for (int i = 0; i < 4; i++)
        figures->alerts[i] = atomic_load(&service->alerts[i]);
}

/* ---- start ---- */

/* Flags win over the file. */
static bool override(struct serve_config *config, const struct daemon_options *options, char *text,
                     size_t size) {
    if (options->listen != NULL) {
        if (!serve_listen_check(options->listen, text, size))
            return false;
        snprintf(config->listen, sizeof config->listen, "%s", options->listen);
    }
    if (options->store != NULL) {
        if (!serve_store_check(options->store, text, size))
            return false;
        snprintf(config->store, sizeof config->store, "%s", options->store);
    }
    return serve_auth_check(config, text, size);
}

#define WRONG_SIZE (READER_MESSAGE_SIZE + 400)

/* NULL: `wrong` says why. */
static struct config_version *read_config(const struct daemon_options *options,
                                          char wrong[WRONG_SIZE]) {
    struct config_version *version = calloc(1, sizeof *version);
    struct reader_error error;
    snprintf(wrong, WRONG_SIZE, "out of memory");
    if (version == NULL)
        return NULL;
    atomic_store(&version->references, 1);
    if (serve_config_read(options->config_file, &version->config, &error) != LULL_OK) {
        reader_error_format(&error, wrong, WRONG_SIZE);
        free(version);
        return NULL;
    }
    if (!override(&version->config, options, wrong, WRONG_SIZE)) {
        config_release(version);
        return NULL;
    }
    return version;
}

static uint32_t workers_of(const struct serve_config *config) {
    if (config->workers > 0)
        return config->workers < WORKERS_MOST ? config->workers : WORKERS_MOST;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > WORKERS_BY_CORES ? WORKERS_BY_CORES : (uint32_t)cores;
}

static bool open_store(struct service *service, const char *url) {
    struct store_adapter *adapter = NULL;
    char problem[STORE_PROBLEM_SIZE];
    if (strncmp(url, "sqlite:", 7) != 0 || url[7] == '\0') {
        complain("store: %s is not a store; write sqlite:PATH", url);
        return false;
    }
    if (store_sqlite_open(&(struct store_sqlite_config){.path = url + 7}, &adapter, problem) !=
        LULL_OK) {
        complain("%s", problem);
        return false;
    }
    service->adapter = adapter;
    service->store = store_thread_new(&(struct store_thread_config){
        .adapter = adapter, .clock = service_clock, .committed = hand_over, .context = service});
    if (service->store == NULL)
        complain("cannot start the store's thread: %s", strerror(errno));
    return service->store != NULL;
}

static void complain_of_store(struct service *service) {
    struct store_failure failure;
    bool failing = store_thread_failing(service->store, &failure);
    complain("cannot read the store: %s", failing ? failure.why : "out of memory");
}

static bool add_lanes(struct service *service, const struct serve_config *config) {
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    static struct destination_settings settings; /* large */
    store_thread_ask(service->store, &all.request);
    bool good = all.request.result == LULL_OK;
    if (!good)
        complain_of_store(service);
    lull_duration behind = good ? service_clock_not_before(all.newest) : 0;
    if (behind > LULL_SECOND)
        log_event(LOG_WARN, "clock_behind",
                  "seconds=%lld detail=\"the wall clock is behind the store; times go on from the "
                  "store's\"",
                  (long long)(behind / LULL_SECOND));
    for (uint32_t i = 0; i < service->worker_count; i++)
        engine_tick(&service->workers[i].engine, service_clock());
    for (uint32_t i = 0; good && i < all.count; i++) {
        struct destination_row *row = &all.rows[i];
        if (!settings_of_row(config, row, &settings) && row->state == DESTINATION_ACTIVE)
            row->state =
                DESTINATION_PAUSED; /* what is pending waits until somebody has mended it */
        good = worker_add_lane(owner_of(service, row->id), row, &settings) == LULL_OK;
        if (!good)
            complain("cannot make a lane for destination %s", row->name);
    }
    store_destinations_clean_up(&all);
    return good;
}

static bool resume_replays(struct service *service) {
    struct store_replays all = {.request = {.kind = STORE_REPLAYS}};
    store_thread_ask(service->store, &all.request);
    if (all.request.result != LULL_OK) {
        complain_of_store(service);
        return false;
    }
    for (uint32_t i = 0; i < all.count; i++) {
        struct worker *worker = owner_of(service, all.rows[i].destination);
        struct lane *lane = worker_lane(worker, all.rows[i].destination);
        if (lane != NULL)
            engine_replay(&worker->engine, lane, &all.rows[i]);
    }
    store_replays_clean_up(&all);
    return true;
}

/* Thousands of connections may be open at once. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- running ---- */

static void reload(struct service *service, const struct daemon_options *options) {
    char wrong[WRONG_SIZE], quoted[LOG_QUOTED_SIZE];
    struct config_version *version = read_config(options, wrong);
    if (version == NULL) {
        atomic_fetch_add(&service->reloads_failed, 1);
        log_event(LOG_ERROR, "reload_failed", "detail=%s now=\"as before\"",
                  log_quote(wrong, quoted));
        return;
    }
    const struct serve_config *old = &service->workers[0].config->config, *new = &version->config;
    if (strcmp(old->listen, new->listen) != 0 || strcmp(old->store, new->store) != 0 ||
        old->workers != new->workers || memcmp(&old->tls, &new->tls, sizeof old->tls) != 0)
        log_event(LOG_WARN, "reload_incomplete",
                  "detail=\"listen, store, workers and tls change at the next start only\"");
    log_set_level((enum log_level) new->log_level);
    for (uint32_t i = 0; i < service->worker_count; i++)
        send_errand(&service->workers[i], run_take_config, version, NULL);
    config_release(version);
    send_errand(&service->workers[0], run_reconcile, NULL, NULL);
    atomic_fetch_add(&service->reloads, 1);
    log_event(LOG_INFO, "reloaded", "destinations=%u", registry_count(service->registry));
}

static void wait_for_the_end(struct service *service, const struct daemon_options *options,
                             int signals) {
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            reload(service, options);
            continue;
        }
        break;
    }
}

static void stop(struct service *service) {
    atomic_store(&service->stopping, true);
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (service->workers[i].started)
            send_errand(&service->workers[i], run_drain, NULL, NULL);
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (service->workers[i].started)
            pthread_join(service->workers[i].thread, NULL);
}

/* Answers that came after the workers had left, for what waits for them holds memory. A change goes from inbox to inbox. */
static void open_last_letters(struct service *service) {
    for (int round = 0; round < LETTER_ROUNDS; round++)
        for (uint32_t i = 0; i < service->worker_count; i++)
            if (service->workers[i].started)
                inbox_open(&service->workers[i].inbox);
}

static void clean_up(struct service *service) {
    /* First the store: it finishes what was asked of it, and asks nobody any more. */
    store_thread_destroy(service->store);
    open_last_letters(service);
    if (service->adapter != NULL)
        service->adapter->destroy(service->adapter);
    for (uint32_t i = 0; i < service->worker_count; i++)
        worker_clean_up(&service->workers[i]);
    free(service->workers);
    registry_destroy(service->registry);
}

static int block_signals(void) {
    sigset_t set;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a full disk, no reason to die */
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* All but the doors. */
static bool prepare(struct service *service, struct config_version *version, int sockets[]) {
    struct problem problem;
    for (uint32_t i = 0; i < service->worker_count; i++)
        service->workers[i] = (struct worker){.epoll = -1, .socket = sockets[i], .inbox.event = -1};
    if (!open_store(service, version->config.store))
        return false;
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (worker_init(&service->workers[i], service, i, version, sockets[i], &problem) !=
            LULL_OK) {
            complain("%s", problem.text);
            return false;
        }
    return add_lanes(service, &version->config) && resume_replays(service);
}

static bool open_doors(struct service *service) {
    struct problem problem;
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (worker_start(&service->workers[i]) != LULL_OK) {
            complain("cannot start a thread: %s", strerror(errno));
            return false;
        }
    send_errand(&service->workers[0], run_reconcile, NULL, NULL);
    for (uint32_t i = 0; i < service->worker_count; i++)
        if (!send_errand(&service->workers[i], run_open_doors, NULL, &problem)) {
            complain("%s", problem.text);
            return false;
        }
    return true;
}

static int run_service(struct service *service, struct config_version *version,
                       const struct daemon_options *options, int signals) {
    char address[HTTP_ADDRESS_SIZE];
    int sockets[WORKERS_MOST];
    struct problem problem;
    if (!http_listen(version->config.listen, service->worker_count, sockets, address, &problem)) {
        complain("%s", problem.text);
        return EXIT_FAILURE;
    }
    service->workers = calloc(service->worker_count, sizeof *service->workers);
    service->registry = registry_new();
    if (service->workers == NULL || service->registry == NULL) {
        complain("out of memory");
        return EXIT_FAILURE;
    }
    int code = EXIT_FAILURE;
    if (prepare(service, version, sockets) && open_doors(service)) {
        printf("listening on %s://%s\n",
               version->config.tls.certificate[0] != '\0' ? "https" : "http", address);
        fflush(stdout);
        wait_for_the_end(service, options, signals);
        log_event(LOG_INFO, "stopping", "detail=\"finishing what is under way\"");
        code = EXIT_SUCCESS;
    }
    stop(service);
    struct store_failure failure;
    bool failing = service->store != NULL && store_thread_failing(service->store, &failure);
    clean_up(service);
    if (code == EXIT_SUCCESS && failing)
        log_event(LOG_WARN, "stopped",
                  "detail=\"the store could not write; what it was not told of is sent again\"");
    else if (code == EXIT_SUCCESS)
        log_event(LOG_INFO, "stopped", "detail=\"all is on disk\"");
    return code;
}

int daemon_run(const struct daemon_options *options) {
    static struct service service;
    service_clock_start();
    umask(0077); /* the store holds secrets and payloads */
    raise_descriptor_limit();
    char wrong[WRONG_SIZE];
    struct config_version *version = read_config(options, wrong);
    if (version == NULL) {
        complain("%s", wrong);
        return 2;
    }
    log_set_level((enum log_level)version->config.log_level);
    service.worker_count = workers_of(&version->config);
    service.config_file = options->config_file;
    service.started = service_clock();
    int signals = block_signals();
    int code = run_service(&service, version, options, signals);
    config_release(version);
    close(signals);
    return code;
}
