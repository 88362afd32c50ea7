/* Loaded into `lull serve` by the crash campaign: SQLite's disk is full, or breaks, for moments at a time. LULL_FAULTS is the
 * seed. The first seconds of a life may meet it, too: then the server cannot start, and is started again. */
#include "fault_vfs.h"

#include <lull/random.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

static void pause_for(uint64_t *random, int64_t least, int64_t most) {
    int64_t length = lull_uniform(lull_random_next(random), least, most) * LULL_MILLISECOND;
    nanosleep(&(struct timespec){length / LULL_SECOND, length % LULL_SECOND}, NULL);
}

static void *misbehave(void *seed) {
    static const int writes[] = {SQLITE_FULL, SQLITE_IOERR_WRITE, 0, 0};
    static const int syncs[] = {0, 0, SQLITE_IOERR_FSYNC, SQLITE_FULL};
    uint64_t random = strtoull(seed, NULL, 10);
    for (;;) {
        pause_for(&random, 20, 200);
        size_t kind = lull_random_next(&random) % 4;
        atomic_store(&fault_vfs.after, (int)(lull_random_next(&random) % 8));
        atomic_store(&fault_vfs.write, writes[kind]);
        atomic_store(&fault_vfs.sync, syncs[kind]);
        pause_for(&random, 5, 100);
        atomic_store(&fault_vfs.write, 0);
        atomic_store(&fault_vfs.sync, 0);
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void) {
    char *seed = getenv("LULL_FAULTS");
    pthread_t thread;
    if (seed == NULL || fault_vfs_register() != SQLITE_OK)
        return;
    sqlite3_vfs_register(sqlite3_vfs_find(FAULT_VFS),
                         1); /* the one that is used unless told otherwise */
    if (pthread_create(&thread, NULL, misbehave, seed) == 0)
        pthread_detach(thread);
}
