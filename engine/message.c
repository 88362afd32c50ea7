#include "message.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A text's place in the block, copied and ended; `at` moves behind it. */
static char *place_text(char **at, const char *text, size_t length) {
    char *start = *at;
    if (text != NULL && length > 0)
        memcpy(start, text, length);
    start[length] = '\0';
    *at += length + 1;
    return start;
}

static size_t length_of(const char *text, size_t length) {
    return text == NULL ? 0 : length;
}

struct message *message_new(const struct message_parts *parts) {
    size_t type = length_of(parts->type, parts->type_length);
    size_t content_type = length_of(parts->content_type, parts->content_type_length);
    size_t headers = length_of(parts->headers, parts->headers_length);
    if (type > UINT32_MAX || content_type > UINT32_MAX || headers > UINT32_MAX ||
        parts->payload_length > SIZE_MAX / 2)
        return NULL;
    size_t texts = type + content_type + headers + 4;
    struct message *message = malloc(sizeof *message + texts + parts->payload_length);
    if (message == NULL)
        return NULL;
    *message = (struct message){
        .references = 1,
        .type_length = (uint32_t)type,
        .content_type_length = (uint32_t)content_type,
        .headers_length = (uint32_t)headers,
        .payload_length = parts->payload_length,
    };
    char *at = (char *)(message + 1);
    message->type = place_text(&at, parts->type, type);
    message->content_type = place_text(&at, parts->content_type, content_type);
    message->headers = place_text(&at, parts->headers, headers);
    message->payload = place_text(&at, parts->payload, parts->payload_length);
    return message;
}

struct message *message_share(struct message *message) {
    atomic_fetch_add_explicit(&message->references, 1, memory_order_relaxed);
    return message;
}

void message_release(struct message *message) {
    /* Release, so that whoever frees it comes after all that others did with it. */
    if (message != NULL &&
        atomic_fetch_sub_explicit(&message->references, 1, memory_order_acq_rel) == 1)
        free(message);
}

size_t message_size(const struct message *message) {
    return sizeof *message + message->type_length + message->content_type_length +
           message->headers_length + message->payload_length + 4;
}
