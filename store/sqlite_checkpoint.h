/* Moves what is in the WAL into the database, on a thread of its own with a connection of its own, so that commits
 * do not wait for it.
 *
 * Measured at full load, 64 events of 512 bytes per commit: SQLite's own checkpoints every 1,000 pages, within a commit, had
 * commits of 8.7 ms (99th percentile), every 4,000 pages of 9 to 14 ms with stalls up to 67 ms; this one 2 to 3 ms, and
 * a quarter more events.
 *
 * The WAL starts again from its beginning when a commit finds all of it moved. Under load the checkpointer never
 * quite catches up; so once the WAL is longer than CHECKPOINT_REST, the committing thread moves the rest itself, right
 * after the other has done most of it. */
#ifndef STORE_SQLITE_CHECKPOINT_H
#define STORE_SQLITE_CHECKPOINT_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#define CHECKPOINT_PAGES 1000    /* a WAL of so many is worth one */
#define CHECKPOINT_REST 8000     /* so many: the committing thread does what is left */
#define CHECKPOINT_LONGEST 32000 /* so many: whatever the checkpointer is doing */

struct checkpointer {
    sqlite3 *database; /* its own connection */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running, wanted, busy, stopping;
};

/* `writer` is the connection that commits. */
int checkpointer_start(struct checkpointer *checkpointer, sqlite3 *writer, const char *path,
                       const char *vfs, char *problem);
void checkpointer_stop(struct checkpointer *checkpointer);

#endif
