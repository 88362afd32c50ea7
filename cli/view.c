#include "view.h"

#include "duration.h"
#include "moment.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

/* As deep as the parser allows, 2048. NOLINTNEXTLINE(misc-no-recursion) */
static void write_value(const json_t *value, FILE *stream) {
    size_t index = 0;
    const char *key = NULL;
    const json_t *part = NULL;
    switch (json_typeof(value)) {
    case JSON_STRING:
        fwrite(json_string_value(value), 1, json_string_length(value), stream);
        break;
    case JSON_INTEGER:
        fprintf(stream, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        fprintf(stream, "%.6g", json_real_value(value));
        break;
    case JSON_ARRAY:
        json_array_foreach(value, index, part) {
            fputs(index == 0 ? "" : ", ", stream);
            write_value(part, stream);
        }
        break;
    case JSON_OBJECT:
        json_object_foreach((json_t *)value, key, part) {
            fprintf(stream, "%s%s ", index++ == 0 ? "" : ", ", key);
            write_value(part, stream);
        }
        break;
    default:
        fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-", stream);
    }
}

char *view_text(const json_t *value) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = screen_memory(open_memstream(&text, &size));
    if (value == NULL)
        fputs("-", stream);
    else
        write_value(value, stream);
    fclose(stream);
    return screen_memory(text);
}

static enum tint tint_of(const char *state) {
    static const struct {
        const char *state;
        enum tint tint;
    } rows[] = {
        {"active", TINT_GOOD},    {"delivered", TINT_GOOD}, {"done", TINT_GOOD},
        {"ok", TINT_GOOD},        {"paused", TINT_WARN},    {"half open", TINT_WARN},
        {"cancelled", TINT_WARN}, {"disabled", TINT_BAD},   {"dead", TINT_BAD},
        {"stopped", TINT_BAD},    {"open", TINT_BAD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].state, state) == 0)
            return rows[i].tint;
    return TINT_NONE;
}

static char *words_of(char *name) {
    for (char *at = name; *at != '\0'; at++)
        if (*at == '_')
            *at = ' ';
    return name;
}

/* ---- cells ---- */

void view_cell(struct table *table, const json_t *object, const char *key) {
    char *text = view_text(json_object_get(object, key));
    table_add(table, text, TINT_NONE);
    free(text);
}

void view_state(struct table *table, const json_t *object, const char *key) {
    char *text = words_of(view_text(json_object_get(object, key)));
    table_add(table, text, tint_of(text));
    free(text);
}

void view_moment(struct table *table, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    char relative[MOMENT_TEXT_SIZE];
    int64_t moment = 0;
    if (text != NULL && table->screen.terminal && moment_parse(text, &moment))
        text = moment_relative(moment, moment_now(), relative);
    table_add(table, text == NULL ? "-" : text, TINT_NONE);
}

/* "status 503" says no more than the status. */
static const char *error_beside(const json_t *status, const char *error) {
    bool twice = error != NULL && json_integer_value(status) != 0 &&
                 strncmp(error, "status ", strlen("status ")) == 0;
    return twice ? NULL : error;
}

void view_error(struct table *table, const json_t *object) {
    const json_t *status = json_object_get(object, "status");
    const char *error = error_beside(status, json_string_value(json_object_get(object, "error")));
    char number[24] = "", *text = NULL;
    if (json_integer_value(status) != 0)
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(status));
    const char *between = number[0] != '\0' && error != NULL ? ", " : "";
    if (asprintf(&text, "%s%s%s", number, between, error == NULL ? "" : error) < 0)
        text = screen_memory(NULL);
    table_add(table, text[0] == '\0' ? "-" : text, TINT_NONE);
    free(text);
}

/* ---- details ---- */

static bool is_listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* "2026-03-01 12:00:00 UTC, 3 m ago" in the place of a moment. */
static char *with_moment(char *text) {
    char relative[MOMENT_TEXT_SIZE], *longer = NULL;
    int64_t moment = 0;
    if (!moment_parse(text, &moment))
        return text;
    if (asprintf(&longer, "%.10s %.8s UTC, %s", text, text + 11,
                 moment_relative(moment, moment_now(), relative)) < 0)
        longer = screen_memory(NULL);
    free(text);
    return longer;
}

/* "created_at" is when it was created: "created". */
static char *name_of(const char *key) {
    size_t length = strlen(key);
    if (length > 3 && strcmp(key + length - 3, "_at") == 0)
        length -= 3;
    return words_of(screen_memory(strndup(key, length)));
}

void view_details(const struct screen *screen, const json_t *object, const char *but) {
    struct table table;
    const char *key = NULL;
    json_t *value = NULL;
    table_init(&table, (struct table_column[]){{.title = ""}, {.title = ""}}, 2, screen);
    table.headless = true;
    json_object_foreach((json_t *)object, key, value) {
        bool empty = json_is_object(value) && json_object_size(value) == 0;
        if (json_is_null(value) || empty || is_listed(but, key))
            continue;
        char *name = name_of(key), *text = with_moment(view_text(value));
        bool state = strcmp(key, "state") == 0 || strcmp(key, "circuit") == 0;
        if (state)
            words_of(text);
        table_add(&table, name, TINT_FAINT);
        table_add(&table, text, state ? tint_of(text) : TINT_NONE);
        free(name);
        free(text);
    }
    /* Nothing is cut here: whoever asks for one thing wants all of it. */
    table.screen.width = 0;
    table_flush(&table, stdout);
    table_clean_up(&table);
}

void view_trace(const struct screen *screen, const json_t *trace) {
    static const struct table_column columns[] = {
        {"attempt", .right = true},  {"began"},
        {"took", .right = true},     {"outcome"},
        {"answer", .shrinks = true}, {"excerpt", .shrinks = true},
    };
    struct table table;
    size_t index = 0;
    const json_t *attempt = NULL;
    table_init(&table, columns, sizeof columns / sizeof columns[0], screen);
    json_array_foreach(trace, index, attempt) {
        char took[DURATION_TEXT_SIZE];
        double milliseconds = json_number_value(json_object_get(attempt, "took_ms"));
        milliseconds = milliseconds > 0 && milliseconds < 1e12 ? milliseconds : 0;
        view_cell(&table, attempt, "number");
        view_moment(&table, attempt, "began_at");
        table_add(&table, duration_format((lull_duration)(milliseconds * 1e6), took), TINT_NONE);
        view_state(&table, attempt, "outcome");
        view_error(&table, attempt);
        view_cell(&table, attempt, "excerpt");
    }
    table_flush(&table, stdout);
    table_clean_up(&table);
}

/* ---- JSON ---- */

void view_json_piece(const struct screen *screen, const json_t *value) {
    size_t flags = JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY;
    char *text = screen_memory(
        json_dumps(value, flags | (screen->terminal ? JSON_INDENT(2) : JSON_COMPACT)));
    /* JSON escapes most control characters, but not all of them. Those that are left can only stand
     * in strings, where \u is right. */
    char *safe = screen->terminal ? screen_safe(screen, text, strlen(text), true) : NULL;
    fputs(safe != NULL ? safe : text, stdout);
    free(safe);
    free(text);
}

void view_json(const struct screen *screen, const json_t *document) {
    view_json_piece(screen, document);
    fputc('\n', stdout);
}
