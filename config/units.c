#include "units.h"

#include "number.h"

#include <stdio.h>
#include <string.h>

/* Copies what comes before the last character(s); false if that is too long to be a number. */
static bool take_number(const char *text, size_t length, char number[64]) {
    if (length >= 64)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    return true;
}

bool rate_parse(const char *text, double *count, lull_duration *per) {
    const char *slash = strchr(text, '/');
    char number[64];
    if (slash == NULL || !take_number(text, (size_t)(slash - text), number) ||
        !decimal_parse(number, count))
        return false;
    if (strcmp(slash, "/s") == 0)
        *per = LULL_SECOND;
    else if (strcmp(slash, "/m") == 0)
        *per = LULL_MINUTE;
    else if (strcmp(slash, "/h") == 0)
        *per = LULL_HOUR;
    else
        return false;
    return true;
}

bool size_parse(const char *text, int64_t *bytes) {
    static const char units[] = "kmg";
    size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    int shift = unit != NULL ? 10 * ((int)(unit - units) + 1) : 0;
    char digits[64];
    uint64_t number;
    if (!take_number(text, unit != NULL ? length - 1 : length, digits) ||
        !number_parse(digits, (uint64_t)(INT64_MAX >> shift), &number))
        return false;
    *bytes = (int64_t)(number << shift);
    return true;
}
