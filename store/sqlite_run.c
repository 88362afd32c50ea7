#include "sqlite_private.h"

#include <string.h>

static int run_look(struct store_sqlite *self, struct store_request *request) {
    switch (request->kind) {
    case STORE_DESTINATIONS:
        return sqlite_destinations(self, STORE_AS(store_destinations, request));
    case STORE_GET:
        return sqlite_get(self, STORE_AS(store_get, request));
    case STORE_LIST:
        return sqlite_list(self, STORE_AS(store_list, request));
    case STORE_DROP:
        return sqlite_drop(self, STORE_AS(store_drop, request));
    case STORE_REPLAY_START:
        return sqlite_replay_start(self, STORE_AS(store_replay_start, request));
    case STORE_REPLAY_STEP:
        return sqlite_replay_step(self, STORE_AS(store_replay_step, request));
    case STORE_REPLAY_END:
        return sqlite_replay_end(self, STORE_AS(store_replay_end, request));
    case STORE_REPLAYS:
        return sqlite_replays(self, STORE_AS(store_replays, request));
    case STORE_TIDY:
        return sqlite_tidy(self, STORE_AS(store_tidy, request));
    default:
        return LULL_EINVAL;
    }
}

static int run_one(struct store_sqlite *self, struct store_request *request) {
    switch (request->kind) {
    case STORE_ACCEPT:
        return sqlite_accept(self, STORE_AS(store_accept, request));
    case STORE_LOAD:
        return sqlite_load(self, STORE_AS(store_load, request));
    case STORE_SETTLE:
        return sqlite_settle(self, STORE_AS(store_settle, request));
    case STORE_CLOCK:
        return sqlite_clock(self, STORE_AS(store_clock, request));
    case STORE_PUT:
        return sqlite_put(self, STORE_AS(store_put, request));
    case STORE_REMOVE:
        return sqlite_remove(self, STORE_AS(store_remove, request));
    default:
        return run_look(self, request);
    }
}

static int run_all(struct store_sqlite *self, struct store_request *list) {
    if (run_statement(self, use_statement(self, STATEMENT_BEGIN)) != LULL_OK)
        return LULL_ESYSTEM;
    if (self->stale && known_read(self) != LULL_OK)
        return LULL_ESYSTEM;
    for (struct store_request *request = list; request != NULL; request = request->next) {
        request->result = run_one(self, request);
        if (request->result == LULL_ESYSTEM)
            return LULL_ESYSTEM;
        if (request->result == LULL_ENOMEM) /* nothing was written; nothing is to be freed */
            store_request_fail(request, LULL_ENOMEM);
    }
    if (known_write(self) != LULL_OK)
        return LULL_ESYSTEM;
    return run_statement(self, use_statement(self, STATEMENT_COMMIT));
}

int sqlite_run(struct store_adapter *adapter, struct store_request *list, lull_time now) {
    struct store_sqlite *self = (struct store_sqlite *)adapter;
    self->now = now;
    if (run_all(self, list) == LULL_OK)
        return LULL_OK;
    char why[sizeof self->problem];
    memcpy(why, self->problem, sizeof why);
    /* Some errors have rolled back already. */
    if (!sqlite3_get_autocommit(self->database))
        (void)!run_statement(self, use_statement(self, STATEMENT_ROLLBACK));
    memcpy(self->problem, why, sizeof why);
    self->stale = true;
    for (struct store_request *request = list; request != NULL; request = request->next)
        store_request_fail(request, LULL_ESYSTEM);
    return LULL_ESYSTEM;
}
