#include "utf8.h"

size_t utf8_character(const char *text, size_t length) {
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
