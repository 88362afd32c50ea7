#include "api/text.h"

#include <string.h>

size_t text_character(const char *text, size_t length) {
    static const struct form {
        unsigned char first, last; /* of the first byte */
        unsigned char second_low, second_high;
        unsigned char length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *at = (const unsigned char *)text;
    if (length == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct form *form = &forms[i];
        if (at[0] < form->first || at[0] > form->last)
            continue;
        if (length < form->length || at[1] < form->second_low || at[1] > form->second_high)
            return 0;
        for (size_t rest = 2; rest < form->length; rest++)
            if ((at[rest] & 0xC0) != 0x80)
                return 0;
        return form->length;
    }
    return 0;
}

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
        size_t character = text_character(text, (size_t)(end - text));
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
