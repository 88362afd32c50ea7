#include "api/text.h"

#include "cli/utf8.h"

#include <string.h>

bool text_is_utf8(const char *text, size_t length) {
    const char *end = text + length;
    while (text < end) {
        uint64_t word;
        /* Eight bytes at a time as long as they are ASCII, which they mostly are. */
        if (end - text >= 8 &&
            (memcpy(&word, text, 8), (word & UINT64_C(0x8080808080808080)) == 0)) {
            text += 8;
            continue;
        }
        size_t character = utf8_character(text, (size_t)(end - text));
        if (character == 0)
            return false;
        text += character;
    }
    return true;
}

bool text_is_line(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool c1 = byte == 0xC2 && i + 1 < length && (unsigned char)text[i + 1] < 0xA0;
        if (byte < 0x20 || byte == 0x7F || c1)
            return false;
    }
    return text_is_utf8(text, length);
}

bool text_is_field(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x20 || text[i] > 0x7E)
            return false;
    return true;
}

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool text_decode(const char *text, const char *end, char *decoded, size_t size) {
    size_t length = 0;
    while (text < end) {
        int byte = (unsigned char)*text++;
        if (byte == '%') {
            if (end - text < 2 || hex_digit(text[0]) < 0 || hex_digit(text[1]) < 0)
                return false;
            byte = hex_digit(text[0]) << 4 | hex_digit(text[1]);
            text += 2;
        }
        if (byte == 0 || length + 1 >= size)
            return false;
        decoded[length++] = (char)byte;
    }
    decoded[length] = '\0';
    return true;
}
