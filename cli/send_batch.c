#include "send_batch.h"

#include "view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct batch {
    const char *file; /* as people call it */
    FILE *stream;
    off_t size; /* 0: it cannot be known, and not be read twice */
    const char *key;
    char *line; /* getline's */
    size_t room;
    size_t number; /* of the line read last, from 1 */
    bool held;     /* that line is for the next slice */
    size_t used;   /* its bytes */
    bool at_end;

    char *slice;
    size_t slice_room, length, count;
    size_t numbers[SEND_BATCH_LINES]; /* in the file, of the slice's lines */

    size_t accepted, sent; /* lines */
    json_t *errors;
    struct status_line status;
};

/* ---- lines ---- */

static bool line_is_wrong(const struct batch *batch, const char *what) {
    complain("%s: line %zu: %s", batch->file, batch->number, what);
    return false;
}

/* False, with a complaint, if the server would not take it. `keyed`: it has a key of its own. */
static bool check_line(const struct batch *batch, bool *keyed) {
    json_error_t error;
    char what[JSON_ERROR_TEXT_LENGTH + 40];
    json_t *line = json_loadb(batch->line, batch->used,
                              JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error);
    *keyed = json_object_get(line, "key") != NULL;
    bool addressed = json_is_string(json_object_get(line, "destination")) ||
                     json_is_string(json_object_get(line, "type"));
    bool loaded = json_object_get(line, "payload") != NULL;
    bool object = json_is_object(line);
    bool parsed = line != NULL;
    json_decref(line);
    snprintf(what, sizeof what, "not JSON: %s", error.text);
    if (!parsed)
        return line_is_wrong(batch, what);
    if (!object)
        return line_is_wrong(batch,
                             "not an object; write {\"destination\":\"shop\",\"payload\":…}");
    if (!addressed)
        return line_is_wrong(batch, "has neither a destination nor a type");
    return loaded || line_is_wrong(batch, "has no payload");
}

static bool is_blank(const char *line, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)line[i]))
            return false;
    return true;
}

/* strchr would find a NUL, too. */
static bool ends_line(char byte) {
    return byte == '\r' || byte == '\n';
}

/* The next line that says something, into batch->line. False at the end. */
static bool read_line(struct batch *batch) {
    ssize_t length = 0;
    if (batch->held) {
        batch->held = false;
        return true;
    }
    while ((length = getline(&batch->line, &batch->room, batch->stream)) >= 0) {
        batch->number++;
        batch->used = (size_t)length;
        while (batch->used > 0 && ends_line(batch->line[batch->used - 1]))
            batch->used--;
        if (!is_blank(batch->line, batch->used))
            return true;
    }
    batch->at_end = true;
    return false;
}

/* ---- slices ---- */

static void append(struct batch *batch, const char *text, size_t length) {
    memcpy(batch->slice + batch->length, text, length);
    batch->length += length;
}

/* {"a":1} becomes {"key":"NAME-7","a":1}: the rest is sent as it was written. */
static void append_line(struct batch *batch, bool keyed) {
    const char *brace = memchr(batch->line, '{', batch->used);
    size_t before = (size_t)(brace - batch->line) + 1;
    json_t *key = keyed ? NULL : json_sprintf("%s-%zu", batch->key, batch->number);
    char *text = keyed ? NULL : screen_memory(json_dumps(key, JSON_ENCODE_ANY));
    json_decref(key);
    size_t length = text == NULL ? 0 : strlen(text);
    size_t needed = batch->length + batch->used + length + 16;
    if (needed > batch->slice_room) {
        batch->slice_room = needed * 2;
        batch->slice = screen_memory(realloc(batch->slice, batch->slice_room));
    }
    append(batch, batch->line, before);
    if (text != NULL) {
        append(batch, "\"key\":", 6);
        append(batch, text, length);
        append(batch, ",", 1);
    }
    append(batch, batch->line + before, batch->used - before);
    append(batch, "\n", 1);
    batch->numbers[batch->count++] = batch->number;
    free(text);
}

/* The next slice; batch->count is 0 at the end. False, with a complaint, if a line is wrong. */
static bool next_slice(struct batch *batch) {
    bool keyed = false;
    batch->length = batch->count = 0;
    while (batch->count < SEND_BATCH_LINES && read_line(batch)) {
        if (batch->count > 0 && batch->length + batch->used > SEND_BATCH_BYTES) {
            batch->held = true;
            return true;
        }
        if (!check_line(batch, &keyed))
            return false;
        append_line(batch, keyed);
    }
    if (!ferror(batch->stream))
        return true;
    complain("cannot read %s: %s", batch->file, strerror(errno));
    return false;
}

static bool check_all(struct batch *batch) {
    bool fine = true;
    if (batch->size == 0)
        return true;
    do
        fine = next_slice(batch);
    while (fine && batch->count > 0);
    rewind(batch->stream);
    batch->number = 0;
    batch->at_end = batch->held = false;
    return fine;
}

/* ---- sending ---- */

/* The server counts the lines of a slice, people those of the file. */
static size_t number_in_file(const struct batch *batch, size_t line) {
    return line >= 1 && line <= batch->count ? batch->numbers[line - 1] : line;
}

static void say_refused(const struct batch *batch, const char *text) {
    const char *at = strstr(text, "line ");
    char *end = NULL;
    size_t line = at == NULL ? 0 : strtoul(at + 5, &end, 10);
    if (line == 0)
        complain("%s: %s", batch->file, text);
    else
        complain("%s: %.*sline %zu%s", batch->file, (int)(at - text), text,
                 number_in_file(batch, line), end);
}

static void take_errors(struct batch *batch, const struct call *call, const json_t *errors) {
    size_t index = 0;
    json_t *error = NULL;
    json_array_foreach(errors, index, error) {
        json_int_t line = json_integer_value(json_object_get(error, "line"));
        size_t number = number_in_file(batch, line < 0 ? 0 : (size_t)line);
        const char *detail = json_string_value(json_object_get(error, "detail"));
        char *safe = screen_safe(&call->screen, detail == NULL ? "refused" : detail,
                                 detail == NULL ? 7 : strlen(detail), false);
        complain("%s: line %zu: %s", batch->file, number, safe);
        free(safe);
        json_object_set_new(error, "line", json_integer((json_int_t)number));
        json_array_append(batch->errors, error);
    }
}

static void take_answer(struct batch *batch, const struct call *call, const json_t *answer) {
    size_t index = 0;
    const json_t *id = NULL;
    status_line_clean_up(&batch->status);
    take_errors(batch, call, json_object_get(answer, "errors"));
    batch->accepted += (size_t)json_integer_value(json_object_get(answer, "accepted"));
    if (!call->common->json)
        return;
    json_array_foreach(json_object_get(answer, "ids"), index, id) {
        fputs(batch->sent == 0 && index == 0 ? "" : ",", stdout);
        view_json_piece(&call->screen, id);
    }
}

static bool send_slice(struct batch *batch, struct call *call) {
    struct remote_path path = remote_path("/v1/events:batch", NULL, NULL);
    struct remote_answer answer;
    struct problem problem = {{0}};
    struct remote_request request = {
        .method = "POST",
        .path = &path,
        .body = batch->slice,
        .length = batch->length,
        .content_type = "application/x-ndjson",
        .repeatable = true,
    };
    bool fine = remote_ask(call->remote, &request, &answer, &problem);
    if (fine) {
        take_answer(batch, call, answer.json);
        batch->sent += batch->count;
    } else {
        status_line_clean_up(&batch->status);
        say_refused(batch, problem.text);
        if (batch->sent > 0)
            complain("%s: the lines before %zu are accepted", batch->file, batch->numbers[0]);
    }
    remote_answer_clean_up(&answer);
    return fine;
}

static bool send_all(struct batch *batch, struct call *call) {
    bool fine = true;
    while ((fine = next_slice(batch)) && batch->count > 0) {
        if (batch->size > 0)
            status_line_bar(&batch->status, batch->file,
                            (double)ftello(batch->stream) / (double)batch->size);
        else
            status_line_text(&batch->status, "%zu lines sent", batch->sent);
        fine = send_slice(batch, call);
        if (!fine)
            break;
    }
    status_line_clean_up(&batch->status);
    return fine;
}

static void report(const struct batch *batch, const struct call *call) {
    if (!call->common->json) {
        printf("%zu accepted\n", batch->accepted);
        return;
    }
    fprintf(stdout, "],\"accepted\":%zu,\"errors\":", batch->accepted);
    view_json_piece(&call->screen, batch->errors);
    fputs("}\n", stdout);
}

/* ---- life ---- */

static bool open_batch(struct batch *batch, const char *file) {
    struct stat status;
    bool standard = strcmp(file, "-") == 0;
    batch->file = standard ? "stdin" : file;
    batch->stream = standard ? stdin : fopen(file, "re");
    if (batch->stream == NULL || fstat(fileno(batch->stream), &status) != 0) {
        complain("cannot read %s: %s", file, strerror(errno));
        return false;
    }
    /* stdin may be a file that somebody has begun to read: it is not read twice. */
    if (!standard && S_ISREG(status.st_mode))
        batch->size = status.st_size;
    return true;
}

int send_batch(struct call *call, const char *file, const char *key) {
    struct batch *batch = screen_memory(calloc(1, sizeof *batch));
    char random[REMOTE_KEY_SIZE];
    bool fine = open_batch(batch, file);
    remote_make_key(random);
    batch->key = key != NULL ? key : random;
    batch->errors = screen_memory(json_array());
    status_line_init(&batch->status, true);
    fine = fine && check_all(batch);
    if (fine) {
        if (call->common->json)
            fputs("{\"ids\":[", stdout);
        fine = send_all(batch, call);
        report(batch, call);
    }
    fine = fine && json_array_size(batch->errors) == 0;
    if (batch->stream != NULL && batch->stream != stdin)
        fclose(batch->stream);
    json_decref(batch->errors);
    free(batch->line);
    free(batch->slice);
    free(batch);
    return fine ? 0 : EXIT_FAILURE;
}
