#include "body.h"

#include "json.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Every byte tells its place in the line, and a line has 64: a client that loses or repeats some
 * can see it. */
static const char pattern[64] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-\n";

bool body_parse(const char *text, struct body *body, struct problem *problem) {
    body->kind = BODY_SIZED;
    if (text_parse_size(text, BODY_LARGEST, &body->size))
        return true;
    body->kind = BODY_TEXT;
    text += *text == '=';
    if (!text_copy(body->text, sizeof body->text, text))
        return problem_say(problem, "longer than %d characters; give a size, as in 64k",
                           BODY_TEXT_SIZE - 1);
    body->size = strlen(body->text);
    return true;
}

void body_write(FILE *stream, const struct body *body) {
    uint64_t size = 0;
    if (body->kind == BODY_DEFAULT) {
        fputs("null", stream);
    } else if (body->kind == BODY_SIZED) {
        fprintf(stream, "%llu", (unsigned long long)body->size);
    } else if (*body->text == '=' || text_parse_size(body->text, BODY_LARGEST, &size)) {
        char marked[BODY_TEXT_SIZE + 1];
        snprintf(marked, sizeof marked, "=%s", body->text);
        print_json_string(stream, marked);
    } else {
        print_json_string(stream, body->text);
    }
}

static struct blob *blob_new(size_t size) {
    struct blob *blob = malloc(sizeof *blob + size);
    if (blob != NULL)
        *blob = (struct blob){.users = 1, .size = size};
    return blob;
}

struct blob *blob_of(const void *bytes, size_t size) {
    struct blob *blob = blob_new(size);
    if (blob != NULL && size > 0)
        memcpy(blob->bytes, bytes, size);
    return blob;
}

struct blob *blob_of_text(const char *text) {
    return blob_of(text, strlen(text));
}

struct blob *blob_of_body(const struct body *body) {
    if (body->kind == BODY_TEXT)
        return blob_of(body->text, (size_t)body->size);
    struct blob *blob = blob_new((size_t)body->size);
    for (size_t at = 0; blob != NULL && at < blob->size; at += sizeof pattern) {
        size_t left = blob->size - at;
        memcpy(blob->bytes + at, pattern, left < sizeof pattern ? left : sizeof pattern);
    }
    return blob;
}

struct blob *blob_share(struct blob *blob) {
    blob->users++;
    return blob;
}

void blob_release(void *blob) {
    struct blob *shared = blob;
    if (shared != NULL && --shared->users == 0)
        free(shared);
}
