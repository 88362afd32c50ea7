#include "sqlite_private.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sqlite_destroy(struct store_adapter *adapter) {
    if (adapter == NULL)
        return;
    struct store_sqlite *self = (struct store_sqlite *)adapter;
    checkpointer_stop(&self->checkpointer);
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(self->statements[i]);
    sqlite3_close(self->database);
    if (self->lock >= 0)
        close(self->lock);
    free(self->destinations);
    free(self->path);
    free(self);
}

static const char *sqlite_problem(const struct store_adapter *adapter) {
    return ((const struct store_sqlite *)adapter)->problem;
}

static int open_database(struct store_sqlite *self, const char *vfs,
                         char problem[STORE_PROBLEM_SIZE]) {
    int result = sqlite_lock_file(self->path, &self->lock, problem);
    if (result != LULL_OK)
        return result;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(self->path, &self->database, flags, vfs) != SQLITE_OK) {
        snprintf(problem, STORE_PROBLEM_SIZE, "cannot open %.200s: %.120s", self->path,
                 sqlite3_errmsg(self->database));
        return LULL_ESYSTEM;
    }
    sqlite3_extended_result_codes(self->database, 1);
    sqlite3_busy_timeout(self->database, 5000);
    result = sqlite_prepare_file(self->database, self->path, problem);
    if (result != LULL_OK)
        return result;
    if (known_read(self) != LULL_OK) {
        memcpy(problem, self->problem, STORE_PROBLEM_SIZE);
        return LULL_ESYSTEM;
    }
    return checkpointer_start(&self->checkpointer, self->database, self->path, vfs, problem);
}

/* SQLite's account of its memory takes a lock for every piece; nobody reads it. Too late, if the program has used SQLite
 * before, and then it does not matter. */
static void set_up_library(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int store_sqlite_open(const struct store_sqlite_config *config, struct store_adapter **adapter,
                      char problem[STORE_PROBLEM_SIZE]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_library);
    *adapter = NULL;
    snprintf(problem, STORE_PROBLEM_SIZE, "out of memory");
    struct store_sqlite *self = calloc(1, sizeof *self);
    if (self == NULL)
        return LULL_ESYSTEM;
    self->adapter = (struct store_adapter){sqlite_run, sqlite_problem, sqlite_destroy};
    self->lock = -1;
    self->path = strdup(config->path);
    int result = self->path == NULL ? LULL_ESYSTEM : open_database(self, config->vfs, problem);
    if (result != LULL_OK) {
        if (self->lock >= 0) /* nothing of ours stays beside a file that is not */
            sqlite_unlock_file(self->path);
        sqlite_destroy(&self->adapter);
        return result;
    }
    problem[0] = '\0';
    *adapter = &self->adapter;
    return LULL_OK;
}

/* Each gives 'ok', or what is wrong. */
static const char *const checks[] = {
    "PRAGMA integrity_check(1)",
    "SELECT ifnull((SELECT 'delivery ' || d.id || ' has no event' FROM delivery d "
    "WHERE NOT EXISTS(SELECT 1 FROM event e WHERE e.id = d.event) LIMIT 1), 'ok')",
    "SELECT ifnull((SELECT 'delivery ' || d.id || ' has no destination' FROM delivery d "
    "WHERE NOT EXISTS(SELECT 1 FROM destination t WHERE t.id = d.destination) LIMIT 1), 'ok')",
    "SELECT ifnull((SELECT 'the totals of ' || d.name || ' are wrong' FROM destination d "
    "JOIN tally t ON t.destination = d.id WHERE d.removed = 0 AND ("
    "t.fresh <> (SELECT count(*) FROM delivery WHERE destination = d.id AND state = 0) OR "
    "t.retry <> (SELECT count(*) FROM delivery WHERE destination = d.id AND state = 1) OR "
    "t.dead <> (SELECT count(*) FROM delivery WHERE destination = d.id AND state = 3)) LIMIT 1), "
    "'ok')",
};

int store_sqlite_verify(const char *path, char problem[STORE_PROBLEM_SIZE]) {
    sqlite3 *database = NULL;
    int result = LULL_ESYSTEM;
    problem[0] = '\0';
    if (access(path, R_OK) != 0) {
        snprintf(problem, STORE_PROBLEM_SIZE, "cannot open %.200s: %s", path, strerror(errno));
        return LULL_ESYSTEM;
    }
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        snprintf(problem, STORE_PROBLEM_SIZE, "cannot open %.200s: %.120s", path,
                 sqlite3_errmsg(database));
    else
        result = sqlite_recognise(database, path, problem);
    /* One transaction: the checks speak of one state. */
    if (result == LULL_OK)
        sqlite3_exec(database, "BEGIN", NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && result == LULL_OK; i++)
        result = sqlite_check(database, checks[i], path, problem);
    sqlite3_close(database);
    return result;
}
