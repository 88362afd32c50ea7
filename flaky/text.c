#include "text.h"

#include "number.h"

#include <stdlib.h>
#include <string.h>

bool text_copy(char *target, size_t size, const char *text) {
    size_t length = strlen(text);
    *target = '\0';
    if (length >= size)
        return false;
    memcpy(target, text, length + 1);
    return true;
}

bool text_has_controls(const char *text) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

bool text_parse_size(const char *text, uint64_t most, uint64_t *size) {
    static const char units[] = "kmg";
    char digits[24];
    size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
    if (!text_copy(digits, sizeof digits, text))
        return false;
    if (unit != NULL)
        digits[length - 1] = '\0';
    if (!number_parse(digits, most >> shift, size))
        return false;
    *size <<= shift;
    return true;
}

static const struct period {
    const char *name;
    lull_duration length;
} periods[] = {{"s", LULL_SECOND}, {"m", LULL_MINUTE}, {"h", LULL_HOUR}};
enum { PERIOD_COUNT = sizeof periods / sizeof periods[0] };

bool text_parse_rate(const char *text, struct rate *rate) {
    char digits[24];
    uint64_t count = 0;
    size_t length = strcspn(text, "/");
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!number_parse(digits, 1000000000, &count) || count == 0)
        return false;
    for (size_t i = 0; i < PERIOD_COUNT; i++) {
        if (text[length] == '\0' || strcmp(text + length + 1, periods[i].name) == 0) {
            *rate = (struct rate){.count = (int64_t)count, .per = periods[i].length};
            return true;
        }
    }
    return false;
}

void text_rate(FILE *stream, const struct rate *rate) {
    for (size_t i = 0; i < PERIOD_COUNT; i++) {
        if (periods[i].length == rate->per)
            fprintf(stream, "%lld/%s", (long long)rate->count, periods[i].name);
    }
}

void text_duration(FILE *stream, lull_duration duration) {
    static const struct period units[] = {
        {"h", LULL_HOUR},         {"m", LULL_MINUTE},       {"s", LULL_SECOND},
        {"ms", LULL_MILLISECOND}, {"us", LULL_MICROSECOND}, {"ns", 1},
    };
    const struct period *unit = units;
    if (duration == 0)
        unit = &units[2]; /* "0s" reads better than "0h" */
    while (duration % unit->length != 0)
        unit++;
    fprintf(stream, "%lld%s", (long long)(duration / unit->length), unit->name);
}

void text_decimal(FILE *stream, double number) {
    char digits[64];
    int decimals = 0;
    do
        snprintf(digits, sizeof digits, "%.*f", decimals, number);
    while (strtod(digits, NULL) != number && ++decimals <= 17);
    fputs(digits, stream);
}
