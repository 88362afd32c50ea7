/* Moves what is in the WAL into the database, on a thread of its own with a connection of its own, so that commits
 * do not wait for it.
 *
 * Measured on two busy cores against SQLite's own checkpoints, every 1,000 pages within a commit: batches of 1,024 events
 * took the committing thread 4.4 instead of 5.9 us an event, and of 64 events the slowest hundredth of the commits was
 * shorter by a fifth, on a quiet machine by half (2 instead of 4 ms). The work in all is the same. Checkpoints within a
 * commit, but rarer, made rare but long stalls (4,000 pages: up to 67 ms).
 *
 * The WAL starts again from its beginning when a commit finds all of it moved. Under load the checkpointer never
 * quite catches up; so once the WAL is longer than CHECKPOINT_REST, the committing thread moves the rest itself, right
 * after the other has done most of it. */
#ifndef STORE_SQLITE_CHECKPOINT_H
#define STORE_SQLITE_CHECKPOINT_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#define CHECKPOINT_PAGES 1000    /* so many more in the WAL are worth one */
#define CHECKPOINT_REST 8000     /* so many: the committing thread does what is left */
#define CHECKPOINT_LONGEST 32000 /* so many: whatever the checkpointer is doing */

struct checkpointer {
    sqlite3 *database; /* its own connection */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, wanted, busy, stopping; /* the last three under `lock` */
    int asked; /* the committing thread's: the WAL's pages when it last asked for a checkpoint */
};

/* `writer` is the connection that commits. */
int checkpointer_start(struct checkpointer *self, sqlite3 *writer, const char *path,
                       const char *vfs, char *problem);
void checkpointer_stop(struct checkpointer *self);

#endif
