#include "base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_write(const char *text, FILE *stream) {
    size_t length = strspn(text, digits), padding = strlen(text + length);
    uint32_t bits = 0;
    if (padding > 2 || strspn(text + length, "=") != padding || (length + padding) % 4 != 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, text[i]) - digits);
        /* Each digit but the first of four completes a byte. */
        if (i % 4 > 0)
            fputc((int)(bits >> (6 - i % 4 * 2) & 0xFF), stream);
    }
    return true;
}
