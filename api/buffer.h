/* A text that grows. When memory runs out it stays as it is and remembers: one look at the end is enough. */
#ifndef API_BUFFER_H
#define API_BUFFER_H

#include <lull/base.h>

#include <string.h>

struct buffer {
    char *text; /* malloc'd, not terminated; the caller's, in the end */
    size_t length, room;
    bool failed;
};

/* Room for so many further bytes. */
bool buffer_reserve(struct buffer *buffer, size_t bytes);

void buffer_number(struct buffer *buffer, uint64_t number);
void buffer_signed(struct buffer *buffer, int64_t number);
void buffer_real(struct buffer *buffer, double number);

static inline void buffer_add(struct buffer *buffer, const char *text, size_t length) {
    if (length == 0 || (buffer->room - buffer->length < length && !buffer_reserve(buffer, length)))
        return;
    memcpy(buffer->text + buffer->length, text, length);
    buffer->length += length;
}

static inline void buffer_text(struct buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

#endif
