#include "sqlite_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* migrations[n] makes version n + 1 out of version n. What has been released is never changed, only added to.
 *
 * delivery_stream ends with the id, as every index does with the row's. It serves LOAD, LIST, replay and TIDY, and is
 * the only one on the hot table. A success that ends a delivery is in the delivery itself; `attempt` has the failures. */
static const char *const migrations[STORE_SQLITE_VERSION] = {
    "CREATE TABLE destination("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
    " removed INTEGER NOT NULL DEFAULT 0, state INTEGER NOT NULL, from_config INTEGER NOT NULL,"
    " created INTEGER NOT NULL, blocked_until INTEGER NOT NULL DEFAULT 0, settings TEXT,"
    " secret TEXT, previous_secret TEXT, previous_until INTEGER NOT NULL DEFAULT 0);"
    "CREATE UNIQUE INDEX destination_name ON destination(name) WHERE removed = 0;"
    /* A destination's totals: apart from it, for they change all the time. */
    "CREATE TABLE tally("
    " destination INTEGER PRIMARY KEY, fresh INTEGER NOT NULL, retry INTEGER NOT NULL,"
    " delivered INTEGER NOT NULL, dead INTEGER NOT NULL);"
    "CREATE TABLE event("
    " id INTEGER PRIMARY KEY, accepted INTEGER NOT NULL, deliveries INTEGER NOT NULL,"
    " type TEXT NOT NULL, content_type TEXT NOT NULL, headers TEXT NOT NULL, payload BLOB NOT "
    "NULL);"
    "CREATE INDEX event_lonely ON event(deliveries) WHERE deliveries = 0;"
    "CREATE TABLE delivery("
    " id INTEGER PRIMARY KEY, event INTEGER NOT NULL, destination INTEGER NOT NULL,"
    " state INTEGER NOT NULL, at INTEGER NOT NULL, attempts INTEGER NOT NULL,"
    " tries INTEGER NOT NULL, previous INTEGER NOT NULL, first_failed INTEGER NOT NULL,"
    " last_failed INTEGER NOT NULL, status INTEGER NOT NULL, reason INTEGER NOT NULL,"
    " began INTEGER NOT NULL, took INTEGER NOT NULL, replay INTEGER NOT NULL);"
    "CREATE INDEX delivery_stream ON delivery(destination, state, at);"
    "CREATE TABLE attempt("
    " delivery INTEGER NOT NULL, number INTEGER NOT NULL, began INTEGER NOT NULL,"
    " took INTEGER NOT NULL, class INTEGER NOT NULL, status INTEGER NOT NULL, error TEXT NOT NULL,"
    " excerpt BLOB, PRIMARY KEY(delivery, number)) WITHOUT ROWID;"
    "CREATE TABLE key("
    " sequence INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, fingerprint INTEGER NOT NULL,"
    " event INTEGER NOT NULL, at INTEGER NOT NULL);"
    "CREATE TABLE replay("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, destination INTEGER NOT NULL, state INTEGER NOT NULL,"
    " created INTEGER NOT NULL, ended INTEGER NOT NULL, rate REAL NOT NULL, total INTEGER NOT NULL,"
    " moved INTEGER NOT NULL, succeeded INTEGER NOT NULL, failed INTEGER NOT NULL,"
    " after_at INTEGER NOT NULL, after_id INTEGER NOT NULL, until INTEGER NOT NULL,"
    " has_items INTEGER NOT NULL);"
    "CREATE TABLE replay_item("
    " replay INTEGER NOT NULL, delivery INTEGER NOT NULL, PRIMARY KEY(replay, delivery))"
    " WITHOUT ROWID;"
    /* The highest id that was given, should its row be gone. */
    "CREATE TABLE mark(last_id INTEGER NOT NULL);"
    "INSERT INTO mark VALUES(0);",
};

static int read_pragma(sqlite3 *database, const char *sql, int64_t *value) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (result == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    int end = sqlite3_finalize(statement);
    return result != SQLITE_OK ? result : end;
}

static int cannot(sqlite3 *database, const char *doing, const char *path,
                  char problem[STORE_PROBLEM_SIZE]) {
    snprintf(problem, STORE_PROBLEM_SIZE, "cannot %s %.200s: %.120s", doing, path,
             sqlite3_errmsg(database));
    return LULL_ESYSTEM;
}

static int not_readable(sqlite3 *database, int code, const char *path,
                        char problem[STORE_PROBLEM_SIZE]) {
    switch (code & 0xFF) {
    case SQLITE_NOTADB:
        snprintf(problem, STORE_PROBLEM_SIZE,
                 "%.200s is not a store of lull, nor any SQLite file; it is left alone. Give "
                 "another path, or move it away",
                 path);
        return LULL_EINVAL;
    case SQLITE_CORRUPT:
        snprintf(problem, STORE_PROBLEM_SIZE,
                 "%.200s is damaged: %.80s. Restore it from a backup, or save what can be saved: "
                 "sqlite3 FILE .recover",
                 path, sqlite3_errmsg(database));
        return LULL_EMALFORMED;
    default:
        return cannot(database, "read", path, problem);
    }
}

/* Whose file is it, and of which version? */
static int look_at(sqlite3 *database, const char *path, int64_t *version,
                   char problem[STORE_PROBLEM_SIZE]) {
    int64_t application = 0, tables = 0;
    *version = 0;
    int code = read_pragma(database, "SELECT count(*) FROM sqlite_master", &tables);
    if (code == SQLITE_OK)
        code = read_pragma(database, "PRAGMA application_id", &application);
    if (code == SQLITE_OK)
        code = read_pragma(database, "PRAGMA user_version", version);
    if (code != SQLITE_OK)
        return not_readable(database, code, path, problem);
    if (application != STORE_SQLITE_APPLICATION &&
        (tables > 0 || application != 0 || *version != 0)) {
        snprintf(problem, STORE_PROBLEM_SIZE,
                 "%.200s is an SQLite file of another program; it is left alone. Give another path",
                 path);
        return LULL_EINVAL;
    }
    if (*version > STORE_SQLITE_VERSION) {
        snprintf(problem, STORE_PROBLEM_SIZE,
                 "%.200s was written by a newer lull (its version is %lld, this program knows %d); "
                 "it is left alone. Run that lull, or give another path",
                 path, (long long)*version, STORE_SQLITE_VERSION);
        return LULL_EINVAL;
    }
    return LULL_OK;
}

static int migrate(sqlite3 *database, const char *path, int64_t version,
                   char problem[STORE_PROBLEM_SIZE]) {
    for (; version < STORE_SQLITE_VERSION; version++) {
        char mark[120];
        snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                 STORE_SQLITE_APPLICATION, (int)version + 1);
        if (sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(database, migrations[version], NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(database, mark, NULL, NULL, NULL) != SQLITE_OK) {
            cannot(database, "write", path, problem);
            sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
            return LULL_ESYSTEM;
        }
    }
    return LULL_OK;
}

/* All of a small file; of a large one only what opening it touches, for a start must not take minutes. */
static int check_small(sqlite3 *database, const char *path, char problem[STORE_PROBLEM_SIZE]) {
    int64_t pages = 0, page_size = 0;
    int code = read_pragma(database, "PRAGMA page_count", &pages);
    if (code == SQLITE_OK)
        code = read_pragma(database, "PRAGMA page_size", &page_size);
    if (code != SQLITE_OK)
        return not_readable(database, code, path, problem);
    if (pages * page_size > STORE_SQLITE_CHECKED)
        return LULL_OK;
    return sqlite_check(database, "PRAGMA quick_check(1)", path, problem);
}

int sqlite_check(sqlite3 *database, const char *sql, const char *path,
                 char problem[STORE_PROBLEM_SIZE]) {
    sqlite3_stmt *statement = NULL;
    int result = LULL_OK;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const char *said = (const char *)sqlite3_column_text(statement, 0);
        if (said == NULL || strcmp(said, "ok") != 0) {
            snprintf(problem, STORE_PROBLEM_SIZE,
                     "%.200s is damaged: %.80s. Restore it from a backup, or save what can be "
                     "saved: sqlite3 FILE .recover",
                     path, said == NULL ? "it cannot be read" : said);
            result = LULL_EMALFORMED;
        }
    } else {
        result = not_readable(database, sqlite3_errcode(database), path, problem);
    }
    sqlite3_finalize(statement);
    return result;
}

int sqlite_recognise(sqlite3 *database, const char *path, char problem[STORE_PROBLEM_SIZE]) {
    int64_t version;
    int result = look_at(database, path, &version, problem);
    if (result == LULL_OK && version == 0) {
        snprintf(problem, STORE_PROBLEM_SIZE, "%.200s is not a store of lull: it is empty", path);
        result = LULL_EINVAL;
    }
    return result;
}

int sqlite_prepare_file(sqlite3 *database, const char *path, char problem[STORE_PROBLEM_SIZE]) {
    int64_t version;
    int result = look_at(database, path, &version, problem);
    if (result != LULL_OK)
        return result;
    if (sqlite3_exec(database, SQLITE_PRAGMAS, NULL, NULL, NULL) != SQLITE_OK)
        return cannot(database, "open", path, problem);
    result = version > 0 ? check_small(database, path, problem) : LULL_OK;
    return result == LULL_OK ? migrate(database, path, version, problem) : result;
}

static int refuse_second(int lock, const char *path, char problem[STORE_PROBLEM_SIZE]) {
    char holder[24] = "";
    ssize_t length = pread(lock, holder, sizeof holder - 1, 0);
    holder[length > 0 ? length : 0] = '\0';
    snprintf(problem, STORE_PROBLEM_SIZE,
             "%.200s is in use by another lull (process %ld); stop that one, or give another path",
             path, strtol(holder, NULL, 10));
    return LULL_EINVAL;
}

static const char *hint(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "; the folder that it is to be in does not exist";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; the folder that it is to be in cannot be written to";
    default:
        return "";
    }
}

void sqlite_unlock_file(const char *path) {
    char *name = NULL;
    if (asprintf(&name, "%s-lock", path) < 0)
        return;
    unlink(name);
    free(name);
}

int sqlite_lock_file(const char *path, int *lock, char problem[STORE_PROBLEM_SIZE]) {
    char *name = NULL;
    if (asprintf(&name, "%s-lock", path) < 0)
        return LULL_ESYSTEM;
    *lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(name);
    if (*lock < 0) {
        snprintf(problem, STORE_PROBLEM_SIZE, "cannot create %.200s-lock: %s%s", path,
                 strerror(errno), hint(errno));
        return LULL_ESYSTEM;
    }
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0) {
        int result = refuse_second(*lock, path, problem);
        close(*lock);
        *lock = -1; /* it is the other's */
        return result;
    }
    /* For the message above alone; that it cannot be written does not matter. */
    if (ftruncate(*lock, 0) == 0)
        dprintf(*lock, "%ld\n", (long)getpid());
    return LULL_OK;
}
