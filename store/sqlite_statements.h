/* All the SQL there is, but for the schema. */
#ifndef STORE_SQLITE_STATEMENTS_H
#define STORE_SQLITE_STATEMENTS_H

#define MESSAGE_COLUMNS "e.id, e.accepted, e.type, e.content_type, e.headers, e.payload"
#define RECORD_COLUMNS                                                                             \
    "d.id, d.event, d.destination, d.state, d.at, e.accepted, d.attempts, d.tries, "               \
    "d.first_failed, d.last_failed, d.status, d.reason, d.replay, e.type, "                        \
    "(SELECT error FROM attempt WHERE delivery = d.id ORDER BY number DESC LIMIT 1), "             \
    "d.began, d.took "
/* CROSS: the delivery first, then its event. */
#define RECORD_TABLES "FROM delivery d CROSS JOIN event e ON e.id = d.event "
#define REPLAY_COLUMNS                                                                             \
    "id, destination, state, created, ended, rate, total, moved, succeeded, failed, after_at, "    \
    "after_id, until, has_items "

#define STATEMENT_MAP(X)                                                                           \
    X(BEGIN, "BEGIN")                                                                              \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    /* what is known in memory */                                                                  \
    X(KNOWN_DESTINATIONS, "SELECT d.id, d.removed, t.fresh, t.retry, t.delivered, t.dead "         \
                          "FROM destination d JOIN tally t ON t.destination = d.id ORDER BY d.id") \
    X(LAST_EVENT, "SELECT max(id) FROM event")                                                     \
    X(LAST_DELIVERY, "SELECT max(id) FROM delivery")                                               \
    X(LAST_MARK, "SELECT last_id FROM mark")                                                       \
    X(SET_MARK, "UPDATE mark SET last_id = ?1")                                                    \
    X(LAST_PLACE, "SELECT max(at) FROM delivery WHERE destination = ?1 AND state = ?2")            \
    X(SET_TALLY, "UPDATE tally SET fresh = ?2, retry = ?3, delivered = ?4, dead = ?5 "             \
                 "WHERE destination = ?1")                                                         \
    /* the walk of an event */                                                                     \
    X(ADD_EVENT, "INSERT INTO event(id, accepted, deliveries, type, content_type, headers, "       \
                 "payload) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                    \
    X(ADD_DELIVERY, "INSERT INTO delivery(id, event, destination, state, at, attempts, tries, "    \
                    "previous, first_failed, last_failed, status, reason, began, took, replay) "   \
                    "VALUES(?1, ?2, ?3, 0, ?4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)")                     \
    X(FIND_KEY, "SELECT sequence, fingerprint, event, at FROM key WHERE key = ?1")                 \
    X(ADD_KEY, "INSERT INTO key(key, fingerprint, event, at) VALUES(?4, ?1, ?2, ?3)")              \
    X(DELETE_KEY, "DELETE FROM key WHERE sequence = ?1")                                           \
    X(LOAD, "SELECT d.at, d.id, d.attempts, d.tries, d.previous, d.first_failed, "                 \
            "d.replay, " MESSAGE_COLUMNS " " RECORD_TABLES                                         \
            "WHERE d.destination = ?1 AND d.state = ?2 AND (d.at, d.id) > (?3, ?4) "               \
            "ORDER BY d.at, d.id")                                                                 \
    X(SETTLE, "UPDATE delivery SET state = ?3, at = ?4, attempts = ?5, tries = ?6, "               \
              "previous = ?7, first_failed = ?8, reason = ?9 WHERE id = ?1 AND state = ?2")        \
    X(SETTLE_ATTEMPT, "UPDATE delivery SET state = ?3, at = ?4, attempts = ?5, tries = ?6, "       \
                      "previous = ?7, first_failed = ?8, reason = ?9, status = ?10, "              \
                      "began = ?11, took = ?12, last_failed = ifnull(?13, last_failed) "           \
                      "WHERE id = ?1 AND state = ?2")                                              \
    X(ADD_ATTEMPT, "INSERT OR REPLACE INTO attempt(delivery, number, began, took, class, "         \
                   "status, error, excerpt) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")               \
    X(COUNT_SUCCESS, "UPDATE replay SET succeeded = succeeded + 1 WHERE id = ?1")                  \
    X(COUNT_FAILURE, "UPDATE replay SET failed = failed + 1 WHERE id = ?1")                        \
    /* destinations */                                                                             \
    X(DESTINATIONS, "SELECT d.id, name, state, from_config, created, blocked_until, settings, "    \
                    "secret, previous_secret, previous_until, t.fresh, t.retry, t.delivered, "     \
                    "t.dead FROM destination d JOIN tally t ON t.destination = d.id "              \
                    "WHERE removed = 0 ORDER BY d.id")                                             \
    X(FIND_DESTINATION, "SELECT id FROM destination WHERE name = ?1 AND removed = 0")              \
    X(ADD_DESTINATION, "INSERT INTO destination(state, from_config, created, previous_until, "     \
                       "name, settings, secret, previous_secret, blocked_until) "                  \
                       "VALUES(?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?1)")                               \
    X(ADD_TALLY, "INSERT INTO tally(destination, fresh, retry, delivered, dead) "                  \
                 "VALUES(?1, 0, 0, 0, 0)")                                                         \
    X(CHANGE_DESTINATION, "UPDATE destination SET from_config = ?3, created = ?4, "                \
                          "previous_until = ?5, name = ?6, settings = ?7, secret = ?8, "           \
                          "previous_secret = ?9 WHERE id = ?1")                                    \
    X(SET_CLOCK, "UPDATE destination SET blocked_until = ?2, state = ?3 WHERE id = ?1")            \
    X(REMOVE_DESTINATION, "UPDATE destination SET removed = 1, secret = NULL, "                    \
                          "previous_secret = NULL WHERE id = ?1")                                  \
    X(DELETE_DESTINATION, "DELETE FROM destination WHERE id = ?1")                                 \
    X(DELETE_TALLY, "DELETE FROM tally WHERE destination = ?1")                                    \
    /* looking at it */                                                                            \
    X(GET_EVENT, "SELECT " MESSAGE_COLUMNS ", e.deliveries FROM event e WHERE e.id = ?1")          \
    X(FIND_DELIVERY, "SELECT event, destination, state FROM delivery WHERE id = ?1")               \
    X(GET_RECORDS,                                                                                 \
      "SELECT " RECORD_COLUMNS RECORD_TABLES "WHERE d.id BETWEEN ?1 AND ?2 ORDER BY d.id")         \
    X(GET_TRACE, "SELECT number, began, took, class, status, error, excerpt FROM attempt "         \
                 "WHERE delivery = ?1 ORDER BY number")                                            \
    X(COUNT_TRACE, "SELECT count(*) FROM attempt WHERE delivery = ?1")                             \
    X(LIST_FORWARDS, "SELECT " RECORD_COLUMNS RECORD_TABLES                                        \
                     "WHERE d.destination = ?1 AND d.state = ?2 AND (d.at, d.id) > (?3, ?4) "      \
                     "ORDER BY d.at, d.id")                                                        \
    X(LIST_BACKWARDS, "SELECT " RECORD_COLUMNS RECORD_TABLES                                       \
                      "WHERE d.destination = ?1 AND d.state = ?2 AND (d.at, d.id) < (?3, ?4) "     \
                      "ORDER BY d.at DESC, d.id DESC")                                             \
    X(LIST_NEWEST, "SELECT " RECORD_COLUMNS RECORD_TABLES "WHERE d.id < ?1 ORDER BY d.id DESC")    \
    /* replay */                                                                                   \
    X(FIND_RUNNING, "SELECT id FROM replay WHERE state = 0 AND destination = ?1")                  \
    X(ADD_REPLAY, "INSERT INTO replay(destination, state, created, ended, total, moved, "          \
                  "succeeded, failed, after_at, after_id, until, has_items, rate) "                \
                  "VALUES(?1, 0, ?2, 0, ?3, 0, 0, 0, ?4, ?5, ?6, ?7, ?8)")                         \
    X(ADD_ITEM, "INSERT OR IGNORE INTO replay_item(replay, delivery) VALUES(?1, ?2)")              \
    X(COUNT_ITEMS, "SELECT count(*) FROM replay_item WHERE replay = ?1")                           \
    X(SET_TOTAL, "UPDATE replay SET total = ?2 WHERE id = ?1")                                     \
    X(DELETE_ITEMS, "DELETE FROM replay_item WHERE replay = ?1")                                   \
    X(NEXT_DEAD, "SELECT at, id FROM delivery WHERE destination = ?1 AND state = 3 "               \
                 "AND (at, id) > (?2, ?3) AND at <= ?4 AND replay <> ?5 "                          \
                 "ORDER BY at, id LIMIT ?6")                                                       \
    X(NEXT_ITEM,                                                                                   \
      "SELECT d.at, d.id FROM replay_item i CROSS JOIN delivery d ON d.id = i.delivery "           \
      "WHERE i.replay = ?1 AND i.delivery > ?2 AND d.state = 3 AND d.replay <> ?1 "                \
      "ORDER BY i.delivery LIMIT ?3")                                                              \
    X(REVIVE, "UPDATE delivery SET state = 0, at = ?2, attempts = 0, previous = 0, reason = 0, "   \
              "replay = ?3 WHERE id = ?1")                                                         \
    X(SET_REPLAY, "UPDATE replay SET state = ?2, ended = ?3, moved = ?4, after_at = ?5, "          \
                  "after_id = ?6, rate = ?7 WHERE id = ?1")                                        \
    X(CANCEL_REPLAYS, "UPDATE replay SET state = 2, ended = ?2 "                                   \
                      "WHERE state = 0 AND destination = ?1")                                      \
    X(GET_REPLAY, "SELECT " REPLAY_COLUMNS "FROM replay WHERE id = ?1")                            \
    X(GET_REPLAYS, "SELECT " REPLAY_COLUMNS "FROM replay ORDER BY state <> 0, id DESC LIMIT ?1")   \
    /* keeping house */                                                                            \
    X(OLD_KEYS, "SELECT sequence, at FROM key ORDER BY sequence LIMIT ?1")                         \
    X(OLD_DELIVERED, "SELECT id, event FROM delivery "                                             \
                     "WHERE destination = ?1 AND state = 2 AND at < ?2 ORDER BY at, id LIMIT ?3")  \
    X(REMOVED_DELIVERIES, "SELECT id, event FROM delivery WHERE destination = ?1 LIMIT ?2")        \
    X(LONELY_EVENTS, "SELECT id, accepted FROM event WHERE deliveries = 0 ORDER BY id LIMIT ?1")   \
    X(OLD_REPLAYS, "SELECT id, 0 FROM replay WHERE state <> 0 AND ended < ?1 LIMIT ?2")            \
    X(DELETE_DELIVERY, "DELETE FROM delivery WHERE id = ?1")                                       \
    X(DELETE_ATTEMPTS, "DELETE FROM attempt WHERE delivery = ?1")                                  \
    X(DELETE_REPLAY, "DELETE FROM replay WHERE id = ?1")                                           \
    X(DELETE_EVENT, "DELETE FROM event WHERE id = ?1")                                             \
    X(DELETE_EVENT_IF_LAST, "DELETE FROM event WHERE id = ?1 AND NOT EXISTS(SELECT 1 "             \
                            "FROM delivery d WHERE d.id > ?1 AND d.id <= ?1 + event.deliveries)")

enum statement {
#define LULL_X(name, sql) STATEMENT_##name,
    STATEMENT_MAP(LULL_X)
#undef LULL_X
        STATEMENT_COUNT
};

#endif
