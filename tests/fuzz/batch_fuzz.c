/* Lines of a batch: taken exactly when jansson takes them, with the same parts. Each line of the input is read both ways, as it is and as a
 * value, a text and a key within a line that is fine: what is wrong at once finds nothing. */
#include "input.h"

#include "api/batch.h"
#include "api/text.h"

#include <jansson.h>
#include <string.h>

static const char *const names[] = {"destination", "type", "key", "content_type", "payload"};

static bool is_known(const char *name) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* A part that is a text, as jansson sees it. False: it must be refused. */
static bool text_part(json_t *object, const char *name, struct slice *part) {
    json_t *value = json_object_get(object, name);
    *part = (struct slice){0};
    if (value == NULL || json_is_null(value))
        return true;
    *part = (struct slice){json_string_value(value), json_string_length(value)};
    return json_is_string(value);
}

/* The verdict, and the parts. */
static bool expect(json_t *object, struct batch_line *line) {
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        if (!is_known(name))
            return false;
    }
    if (!text_part(object, "destination", &line->destination) ||
        !text_part(object, "type", &line->type) || !text_part(object, "key", &line->key) ||
        !text_part(object, "content_type", &line->content_type))
        return false;
    return json_object_get(object, "payload") != NULL &&
           (line->destination.text != NULL || line->type.text != NULL) &&
           (line->type.text == NULL || event_wrong_type(line->type) == NULL) &&
           (line->key.text == NULL || event_wrong_key(line->key) == NULL) &&
           (line->content_type.text == NULL ||
            event_wrong_content_type(line->content_type) == NULL);
}

static void check_same(struct slice a, struct slice b) {
    CHECK((a.text == NULL) == (b.text == NULL));
    CHECK(a.length == b.length);
    CHECK(a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

static void check_payload(const struct batch_line *line, json_t *payload) {
    CHECK(line->is_text == json_is_string(payload));
    if (line->is_text) {
        check_same(line->payload,
                   (struct slice){json_string_value(payload), json_string_length(payload)});
        return;
    }
    json_t *again = json_loadb(line->payload.text, line->payload.length,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    CHECK(again != NULL && json_equal(again, payload));
    json_decref(again);
}

static void check_line(const char *text, size_t length) {
    char message[BATCH_MESSAGE_SIZE] = "", *copy = malloc(length + 1);
    struct batch_line line, expected = {0};
    json_error_t error;
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    CHECK(copy != NULL);
    memcpy(copy, text, length);
    bool taken = batch_read(copy, length, &line, message);
    CHECK(taken || (message[0] != '\0' && text_is_line(message, strlen(message))));
    /* No JSON has a NUL in it, but jansson 2.14 passes one that follows a number or a word. */
    if (memchr(text, '\0', length) != NULL) {
        CHECK(!taken);
        free(copy);
        return;
    }
    json_t *object = json_loadb(text, length, flags, &error);
    /* Names given twice: in the payload they are not our business, in the line they are wrong. */
    json_error_t strict;
    json_t *once = json_loadb(text, length, flags | JSON_REJECT_DUPLICATES, &strict);
    bool twice = once == NULL && json_error_code(&strict) == json_error_duplicate_key;
    json_decref(once);
    if (object == NULL) {
        /* Numbers that do not fit and NUL in names of the payload are jansson's limits, not JSON's. */
        CHECK(!taken || json_error_code(&error) == json_error_numeric_overflow ||
              json_error_code(&error) == json_error_null_byte_in_key);
    } else if (!json_is_object(object) || !expect(object, &expected)) {
        CHECK(!taken || twice);
    } else {
        CHECK(taken || twice);
        if (taken) {
            check_same(line.destination, expected.destination);
            check_same(line.type, expected.type);
            check_same(line.key, expected.key);
            check_same(line.content_type, expected.content_type);
            check_payload(&line, json_object_get(object, "payload"));
        }
    }
    json_decref(object);
    free(copy);
}

static void check_within(const char *before, const char *text, size_t length, const char *after) {
    size_t first = strlen(before), last = strlen(after);
    char *line = malloc(first + length + last);
    CHECK(line != NULL);
    memcpy(line, before, first);
    memcpy(line + first, text, length);
    memcpy(line + first + length, after, last);
    check_line(line, first + length + last);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline != NULL ? newline : end) - at);
        CHECK(!batch_is_empty(at, length) || json_loadb(at, length, 0, NULL) == NULL);
        check_line(at, length);
        check_within("{\"destination\":\"d\",\"payload\":", at, length, "}");
        check_within("{\"type\":\"t\",\"payload\":\"", at, length, "\"}");
        check_within("{\"type\":\"t\",\"payload\":{},\"key\":\"", at, length, "\"}");
        at += length + 1;
    }
    return 0;
}
