#include "json.h"

#include <string.h>

/* How many bytes the UTF-8 character at `text` has; 0 if it is not one. Overlong forms, surrogates
 * and code points past U+10FFFF are not. */
static size_t character_length(const unsigned char *text) {
    static const struct form {
        unsigned char first, last; /* of the first byte */
        unsigned char second_low, second_high;
        unsigned char length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    if (text[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct form *form = &forms[i];
        if (text[0] < form->first || text[0] > form->last)
            continue;
        if (text[1] < form->second_low || text[1] > form->second_high)
            return 0;
        for (size_t at = 2; at < form->length; at++) {
            if ((text[at] & 0xC0) != 0x80)
                return 0;
        }
        return form->length;
    }
    return 0;
}

void print_json_string(FILE *stream, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', stream);
    while (*at != '\0') {
        size_t length = character_length(at);
        if (length == 0) {
            fputs("\\ufffd", stream);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(stream, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7F) {
            fprintf(stream, "\\u%04x", *at);
        } else {
            fwrite(at, 1, length, stream);
        }
        at += length;
    }
    fputc('"', stream);
}

void print_json_milliseconds(FILE *stream, lull_duration duration) {
    lull_duration microseconds = duration / LULL_MICROSECOND;
    fprintf(stream, "%lld.%03lld", (long long)(microseconds / 1000),
            (long long)(microseconds % 1000));
}
