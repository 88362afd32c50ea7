#include "sqlite_private.h"

#include <string.h>

static int change_delivery(struct store_sqlite *self, const struct store_settle *settle) {
    const struct attempt_record *attempt = &settle->attempt;
    int64_t reason = settle->to_state == DELIVERY_DEAD ? settle->reason : LULL_REASON_NONE;
    if (attempt->number == 0)
        return RUN(self, STATEMENT_SETTLE, settle->from.id, settle->from_state, settle->to_state,
                   settle->at, settle->attempts, settle->tries, settle->previous,
                   settle->first_failed, reason);
    sqlite3_stmt *change =
        USE(self, STATEMENT_SETTLE_ATTEMPT, settle->from.id, settle->from_state, settle->to_state,
            settle->at, settle->attempts, settle->tries, settle->previous, settle->first_failed,
            reason, attempt->status, attempt->began, attempt->took);
    if (change == NULL)
        return LULL_ESYSTEM;
    if (settle->to_state == DELIVERY_DELIVERED)
        sqlite3_bind_null(change, 13);
    else
        sqlite3_bind_int64(change, 13, attempt->began + attempt->took);
    return run_statement(self, change);
}

static int log_attempt(struct store_sqlite *self, const struct store_settle *settle) {
    const struct attempt_record *attempt = &settle->attempt;
    if (attempt->number == 0 || settle->to_state == DELIVERY_DELIVERED)
        return LULL_OK;
    sqlite3_stmt *add = USE(self, STATEMENT_ADD_ATTEMPT, settle->from.id, attempt->number,
                            attempt->began, attempt->took, attempt->class_, attempt->status);
    if (add == NULL)
        return LULL_ESYSTEM;
    sqlite3_bind_text(add, 7, attempt->error, (int)strnlen(attempt->error, ERROR_LONGEST),
                      SQLITE_STATIC);
    sqlite3_bind_blob(add, 8, attempt->excerpt, (int)attempt->excerpt_length, SQLITE_STATIC);
    return run_statement(self, add);
}

int sqlite_settle(struct store_sqlite *self, struct store_settle *settle) {
    if (settle->to_state == DELIVERY_FRESH || settle->from_state > DELIVERY_RETRY)
        return LULL_EINVAL;
    if (change_delivery(self, settle) != LULL_OK)
        return LULL_ESYSTEM;
    if (sqlite3_changes(self->database) == 0)
        return LULL_OK; /* gone with its destination, say */
    if (log_attempt(self, settle) != LULL_OK)
        return LULL_ESYSTEM;
    count_deliveries(self, settle->destination, settle->from_state, -1);
    count_deliveries(self, settle->destination, settle->to_state, 1);
    if (settle->replay == 0)
        return LULL_OK;
    return RUN(self,
               settle->to_state == DELIVERY_DELIVERED ? STATEMENT_COUNT_SUCCESS
                                                      : STATEMENT_COUNT_FAILURE,
               settle->replay);
}
