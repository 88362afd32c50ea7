#include "id.h"

#include <string.h>

#define PREFIX_LENGTH 4
#define DIGIT_BITS 5

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
static const char *const prefixes[] = {
    [ID_EVENT] = "evt_", [ID_DELIVERY] = "dlv_", [ID_REPLAY] = "rpl_"};

char *id_format(enum id_kind kind, int64_t id, char text[ID_TEXT_SIZE]) {
    memcpy(text, prefixes[kind], PREFIX_LENGTH);
    uint64_t rest = (uint64_t)id;
    for (int i = PREFIX_LENGTH + ID_DIGITS - 1; i >= PREFIX_LENGTH; i--, rest >>= DIGIT_BITS)
        text[i] = digits[rest & 31];
    text[PREFIX_LENGTH + ID_DIGITS] = '\0';
    return text;
}

bool id_parse(enum id_kind kind, const char *text, int64_t *id) {
    if (strncmp(text, prefixes[kind], PREFIX_LENGTH) != 0 ||
        strnlen(text, ID_TEXT_SIZE) != ID_TEXT_SIZE - 1)
        return false;
    /* 13 digits are 65 bits; the first one has to leave the upper two of them, and the sign, alone. */
    if (text[PREFIX_LENGTH] > '7')
        return false;
    uint64_t number = 0;
    for (int i = PREFIX_LENGTH; i < PREFIX_LENGTH + ID_DIGITS; i++) {
        const char *digit = strchr(digits, text[i]);
        if (digit == NULL)
            return false;
        number = number << DIGIT_BITS | (uint64_t)(digit - digits);
    }
    if (number == 0)
        return false;
    *id = (int64_t)number;
    return true;
}
