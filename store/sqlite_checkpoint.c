#include "sqlite_checkpoint.h"

#include "sqlite.h"

#include <stdio.h>

static void *work(void *argument) {
    struct checkpointer *self = argument;
    pthread_setname_np(pthread_self(), "checkpoint");
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->wanted && !self->stopping)
            pthread_cond_wait(&self->wake, &self->lock);
        if (self->stopping)
            break;
        self->wanted = false;
        self->busy = true;
        pthread_mutex_unlock(&self->lock);
        /* A disk that is full or broken shows in the commits; here it means: later. */
        sqlite3_wal_checkpoint_v2(self->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        pthread_mutex_lock(&self->lock);
        self->busy = false;
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* After each commit, on its thread: the WAL has so many pages now. */
static int committed(void *argument, sqlite3 *writer, const char *name, int pages) {
    (void)name;
    struct checkpointer *self = argument;
    if (pages < self->asked)
        self->asked = 0; /* the WAL has begun again */
    if (pages < self->asked + CHECKPOINT_PAGES)
        return SQLITE_OK;
    pthread_mutex_lock(&self->lock);
    bool idle = !self->busy && !self->wanted;
    bool mine = pages >= CHECKPOINT_LONGEST || (pages >= CHECKPOINT_REST && idle);
    if (idle && !mine) {
        self->wanted = true;
        pthread_cond_signal(&self->wake);
    }
    pthread_mutex_unlock(&self->lock);
    if (idle || mine)
        self->asked = pages;
    if (mine)
        sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

int checkpointer_start(struct checkpointer *self, sqlite3 *writer, const char *path,
                       const char *vfs, char *problem) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &self->database, flags, vfs) != SQLITE_OK ||
        sqlite3_exec(self->database, "PRAGMA synchronous = FULL; PRAGMA cache_size = 10;", NULL,
                     NULL, NULL) != SQLITE_OK) {
        snprintf(problem, STORE_PROBLEM_SIZE, "cannot open %.200s: %.120s", path,
                 sqlite3_errmsg(self->database));
        sqlite3_close(self->database);
        return LULL_ESYSTEM;
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->wake, NULL);
    if (pthread_create(&self->thread, NULL, work, self) != 0) {
        snprintf(problem, STORE_PROBLEM_SIZE, "cannot start a thread");
        sqlite3_close(self->database);
        return LULL_ESYSTEM;
    }
    self->running = true;
    sqlite3_wal_hook(writer, committed, self);
    return LULL_OK;
}

void checkpointer_stop(struct checkpointer *self) {
    if (!self->running)
        return;
    pthread_mutex_lock(&self->lock);
    self->stopping = true;
    pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->wake);
    sqlite3_close(self->database);
}
