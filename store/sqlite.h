/* The store in one SQLite file: WAL, every commit synced.
 *
 *   struct store_adapter *adapter;
 *   char problem[STORE_PROBLEM_SIZE];
 *   if (store_sqlite_open(&(struct store_sqlite_config){.path = "lull.db"}, &adapter, problem) != LULL_OK)
 *       …                       "lull.db is in use by process 4711; stop that one, or give another path"
 *
 * Beside the file there are lull.db-wal and lull.db-shm, SQLite's own, and lull.db-lock, which is locked
 * while a process has the store open. The lock goes with the process, however that ends. Others may
 * read the file meanwhile (`sqlite3 -readonly lull.db`); to write is this process's right alone.
 *
 * A file of an older version is brought up to date when it is opened. One of a newer version, of another
 * program, or damaged is refused and left alone. */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H

#include "adapter.h"

#define STORE_PROBLEM_SIZE 400
#define STORE_SQLITE_VERSION 1              /* of the schema: PRAGMA user_version */
#define STORE_SQLITE_APPLICATION 0x6C756C6C /* "lull": PRAGMA application_id */
#define STORE_SQLITE_CHECKED (64 << 20) /* bytes: a file up to this is checked when it is opened */

struct store_sqlite_config {
    const char *path; /* copied */
    const char *vfs;  /* of SQLite, for fault injection; NULL: the system's */
};

/* LULL_OK and an adapter, or LULL_EINVAL (not ours, newer, in use), LULL_EMALFORMED (damaged) or LULL_ESYSTEM, and a
 * sentence that names the file and what to do. */
LULL_MUST_USE int store_sqlite_open(const struct store_sqlite_config *config,
                                    struct store_adapter **adapter,
                                    char problem[STORE_PROBLEM_SIZE]);

/* Reads all of a file and tells whether it is sound: its pages, its indices, its totals, and that each delivery has
 * its event. Writes nothing; the store may be in use. The results of store_sqlite_open. */
LULL_MUST_USE int store_sqlite_verify(const char *path, char problem[STORE_PROBLEM_SIZE]);

#endif
