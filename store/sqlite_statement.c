#include "sqlite_private.h"

#include <stdio.h>
#include <string.h>

static const char *const statement_texts[STATEMENT_COUNT] = {
#define LULL_X(name, sql) [STATEMENT_##name] = (sql),
    STATEMENT_MAP(LULL_X)
#undef LULL_X
};

int describe_problem(struct store_sqlite *self, const char *doing) {
    int code = sqlite3_extended_errcode(self->database);
    snprintf(self->problem, sizeof self->problem, "cannot %s %.200s: %.120s (SQLite %d)", doing,
             self->path, sqlite3_errmsg(self->database), code);
    return LULL_ESYSTEM;
}

sqlite3_stmt *use_statement(struct store_sqlite *self, enum statement statement) {
    sqlite3_stmt **prepared = &self->statements[statement];
    if (*prepared == NULL &&
        sqlite3_prepare_v3(self->database, statement_texts[statement], -1,
                           SQLITE_PREPARE_PERSISTENT, prepared, NULL) != SQLITE_OK)
        describe_problem(self, "use");
    return *prepared;
}

sqlite3_stmt *use_with(struct store_sqlite *self, enum statement statement, int count,
                       const int64_t *integers) {
    sqlite3_stmt *prepared = use_statement(self, statement);
    if (prepared != NULL)
        for (int i = 0; i < count; i++)
            sqlite3_bind_int64(prepared, i + 1, integers[i]);
    return prepared;
}

int step(struct store_sqlite *self, sqlite3_stmt *statement) {
    if (statement == NULL)
        return LULL_ESYSTEM;
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        sqlite3_reset(statement);
        return 0;
    default:
        describe_problem(self, sqlite3_stmt_readonly(statement) ? "read" : "write");
        sqlite3_reset(statement);
        return LULL_ESYSTEM;
    }
}

int run_statement(struct store_sqlite *self, sqlite3_stmt *statement) {
    int result = step(self, statement);
    if (result > 0)
        sqlite3_reset(statement);
    return result < 0 ? result : LULL_OK;
}

int read_integer(struct store_sqlite *self, sqlite3_stmt *statement, int64_t otherwise,
                 int64_t *value) {
    *value = otherwise;
    int result = step(self, statement);
    if (result <= 0)
        return result;
    if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return LULL_OK;
}

void bind_text(sqlite3_stmt *statement, int at, const char *text) {
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

void column_copy(sqlite3_stmt *statement, int column, char *text, size_t size) {
    const unsigned char *from = sqlite3_column_text(statement, column);
    snprintf(text, size, "%s", from == NULL ? "" : (const char *)from);
}

struct message *message_of_columns(sqlite3_stmt *statement, int first) {
    struct message *message = message_new(&(struct message_parts){
        .type = (const char *)sqlite3_column_text(statement, first + 2),
        .type_length = (size_t)sqlite3_column_bytes(statement, first + 2),
        .content_type = (const char *)sqlite3_column_text(statement, first + 3),
        .content_type_length = (size_t)sqlite3_column_bytes(statement, first + 3),
        .headers = (const char *)sqlite3_column_text(statement, first + 4),
        .headers_length = (size_t)sqlite3_column_bytes(statement, first + 4),
        .payload = sqlite3_column_blob(statement, first + 5),
        .payload_length = (size_t)sqlite3_column_bytes(statement, first + 5),
    });
    if (message != NULL) {
        message->id = sqlite3_column_int64(statement, first);
        message->accepted = sqlite3_column_int64(statement, first + 1);
    }
    return message;
}
