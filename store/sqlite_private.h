/* What the files of the SQLite adapter share.
 *
 * A transaction, from sqlite_run.c: BEGIN, a function for each request, the totals that changed, COMMIT. Each of these functions
 * checks first and writes then, so that a request that is refused has not written anything and no savepoints are
 * needed. LULL_ESYSTEM from one of them ends the transaction.
 *
 * Destinations are known in memory: which there are, and their totals. The totals are written once per destination and
 * transaction. After a rollback all of it is read again.
 *
 * Statements are prepared when they are first used, and kept. Whoever uses one resets it: by run_statement, or by
 * stepping to its end, or by sqlite3_reset. */
#ifndef STORE_SQLITE_PRIVATE_H
#define STORE_SQLITE_PRIVATE_H

#include "places.h"
#include "sqlite.h"
#include "sqlite_checkpoint.h"
#include "sqlite_statements.h"

#include <sqlite3.h>

struct known_destination {
    int64_t id;
    bool removed;
    bool changed; /* its totals, in this transaction */
    int64_t totals[DELIVERY_STATE_COUNT];
};

struct store_sqlite {
    struct store_adapter adapter;
    char *path;
    int lock; /* a descriptor */
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct checkpointer checkpointer;

    lull_time now; /* of this run */
    struct places places;
    bool stale;      /* what is known in memory is not what is on disk */
    bool id_at_risk; /* the highest id may have been deleted: keep it apart */

    struct known_destination *destinations; /* by id */
    size_t destination_count, destination_room;
    bool totals_changed;
    int64_t tidied; /* destination */

    char problem[STORE_PROBLEM_SIZE];
};

/* ---- sqlite_statement.c ---- */

/* Ready to be bound; NULL: the transaction cannot go on. */
sqlite3_stmt *use_statement(struct store_sqlite *self, enum statement statement);
/* The same, with integers bound to the first parameters. */
sqlite3_stmt *use_with(struct store_sqlite *self, enum statement statement, int count,
                       const int64_t *integers);
#define USE(self, statement, ...)                                                                  \
    use_with(self, statement, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
             (const int64_t[]){__VA_ARGS__})
/* 1: there is a row; 0: no more, and it is reset; LULL_ESYSTEM. A NULL statement is that, too. */
int step(struct store_sqlite *self, sqlite3_stmt *statement);
/* To its end. */
LULL_MUST_USE int run_statement(struct store_sqlite *self, sqlite3_stmt *statement);
#define RUN(self, statement, ...) run_statement(self, USE(self, statement, __VA_ARGS__))
/* The first column of the first row, or `otherwise`. */
LULL_MUST_USE int read_integer(struct store_sqlite *self, sqlite3_stmt *statement,
                               int64_t otherwise, int64_t *value);
/* NULL is bound as one. The text must stay until the statement was reset. */
void bind_text(sqlite3_stmt *statement, int at, const char *text);
/* Up to size - 1 bytes of it; "" if it is NULL. */
void column_copy(sqlite3_stmt *statement, int column, char *text, size_t size);
int describe_problem(struct store_sqlite *self, const char *doing); /* returns LULL_ESYSTEM */
struct message *message_of_columns(sqlite3_stmt *statement, int first);

/* ---- sqlite_open.c, sqlite_schema.c ---- */
/* The page size only counts for a new file, and only before WAL. */
#define SQLITE_PRAGMAS                                                                             \
    "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"               \
    "PRAGMA cache_size = -24000; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;"       \
    "PRAGMA journal_size_limit = 67108864; PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = "    \
    "OFF;"
int sqlite_recognise(sqlite3 *database, const char *path, char problem[STORE_PROBLEM_SIZE]);
/* Runs a statement that says "ok", or what is wrong. */
int sqlite_check(sqlite3 *database, const char *sql, const char *path,
                 char problem[STORE_PROBLEM_SIZE]);
int sqlite_prepare_file(sqlite3 *database, const char *path, char problem[STORE_PROBLEM_SIZE]);
void sqlite_unlock_file(const char *path); /* removes it; the caller has the lock */
int sqlite_lock_file(const char *path, int *lock, char problem[STORE_PROBLEM_SIZE]);

/* ---- sqlite_run.c ---- */
int sqlite_run(struct store_adapter *adapter, struct store_request *list, lull_time now);

/* ---- the requests ---- */
int sqlite_accept(struct store_sqlite *self, struct store_accept *accept);
int sqlite_load(struct store_sqlite *self, struct store_load *load);
int sqlite_settle(struct store_sqlite *self, struct store_settle *settle);
int sqlite_clock(struct store_sqlite *self, struct store_clock *clock);
int sqlite_destinations(struct store_sqlite *self, struct store_destinations *destinations);
int sqlite_put(struct store_sqlite *self, struct store_put *put);
int sqlite_remove(struct store_sqlite *self, struct store_remove *remove);
int sqlite_get(struct store_sqlite *self, struct store_get *get);
int sqlite_list(struct store_sqlite *self, struct store_list *list);
int sqlite_drop(struct store_sqlite *self, struct store_drop *drop);
int sqlite_replay_start(struct store_sqlite *self, struct store_replay_start *start);
int sqlite_replay_step(struct store_sqlite *self, struct store_replay_step *order);
int sqlite_replay_end(struct store_sqlite *self, struct store_replay_end *end);
int sqlite_replays(struct store_sqlite *self, struct store_replays *replays);
int sqlite_tidy(struct store_sqlite *self, struct store_tidy *tidy);

/* ---- what is known in memory: sqlite_known.c ---- */
int known_read(struct store_sqlite *self); /* from the file */
/* NULL: there is none, or (`live_destination`) it is removed. */
struct known_destination *known_destination(struct store_sqlite *self, int64_t id);
struct known_destination *live_destination(struct store_sqlite *self, int64_t id);
const struct known_destination *known_after(const struct store_sqlite *self, int64_t id);
int64_t live_destination_after(const struct store_sqlite *self, int64_t id); /* 0: none */
int known_add(struct store_sqlite *self, int64_t id); /* LULL_ESYSTEM: out of memory */
void known_forget(struct store_sqlite *self, int64_t id);
/* So many more deliveries of a state. */
void count_deliveries(struct store_sqlite *self, int64_t destination, enum delivery_state state,
                      int64_t more);
int known_write(struct store_sqlite *self); /* the totals that changed */

/* ---- sqlite_tidy.c ---- */
/* A delivery's rows, and the event's if it was the last. Totals are the caller's matter. */
int delete_delivery(struct store_sqlite *self, int64_t id, int64_t event);

#endif
