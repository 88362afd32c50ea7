#include "api/buffer.h"

#include <stdio.h>
#include <stdlib.h>

#define BUFFER_LEAST 4096

bool buffer_reserve(struct buffer *buffer, size_t bytes) {
    if (buffer->room - buffer->length >= bytes)
        return true;
    size_t room = buffer->room > 0 ? buffer->room : BUFFER_LEAST;
    while (room - buffer->length < bytes && room <= SIZE_MAX / 2)
        room *= 2;
    char *text = room - buffer->length < bytes ? NULL : realloc(buffer->text, room);
    if (text == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->text = text;
    buffer->room = room;
    return true;
}

/* By hand: most of a page of metrics is numbers, and printf takes five times as long. */
void buffer_number(struct buffer *buffer, uint64_t number) {
    char digits[20], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buffer_add(buffer, at, (size_t)(digits + sizeof digits - at));
}

void buffer_signed(struct buffer *buffer, int64_t number) {
    if (number < 0)
        buffer_add(buffer, "-", 1);
    buffer_number(buffer, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void buffer_real(struct buffer *buffer, double number) {
    char text[40];
    int length = snprintf(text, sizeof text, "%.15g", number);
    buffer_add(buffer, text, (size_t)length);
}
