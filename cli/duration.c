#include "duration.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct unit {
    const char *name;
    lull_duration length;
} units[] = {
    {"d", LULL_DAY},          {"h", LULL_HOUR},         {"m", LULL_MINUTE}, {"s", LULL_SECOND},
    {"ms", LULL_MILLISECOND}, {"us", LULL_MICROSECOND}, {"ns", 1},
};
enum { UNIT_COUNT = sizeof units / sizeof units[0] };

static bool find_unit(const char *text, size_t length, size_t *index) {
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* `digits` are what follows the point; each is worth a tenth of the one before. Past a nanosecond
 * they are worth nothing. */
static lull_duration fraction(const char *digits, size_t count, lull_duration unit) {
    lull_duration sum = 0;
    for (size_t i = 0; i < count; i++) {
        unit /= 10;
        sum += (digits[i] - '0') * unit;
    }
    return sum;
}

/* One "1.5h" at *text; moves past it. `next` is the largest unit that may still come. */
static bool parse_part(const char **text, size_t *next, lull_duration *sum) {
    const char *at = *text;
    lull_duration count = 0;
    if (!isdigit((unsigned char)*at))
        return false;
    for (; isdigit((unsigned char)*at); at++) {
        if (__builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, *at - '0', &count))
            return false;
    }
    const char *digits = at;
    size_t digit_count = 0;
    if (*at == '.') {
        digits = ++at;
        digit_count = strspn(at, "0123456789");
        at += digit_count;
        if (digit_count == 0)
            return false;
    }
    size_t name_length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    size_t unit = 0;
    if (!find_unit(at, name_length, &unit) || unit < *next)
        return false;
    lull_duration part = 0;
    if (__builtin_mul_overflow(count, units[unit].length, &part) ||
        __builtin_add_overflow(part, fraction(digits, digit_count, units[unit].length), &part) ||
        __builtin_add_overflow(*sum, part, sum))
        return false;
    *text = at + name_length;
    *next = unit + 1;
    return true;
}

bool duration_parse(const char *text, lull_duration *duration) {
    lull_duration sum = 0;
    size_t next = 0;
    if (strcmp(text, "0") == 0) {
        *duration = 0;
        return true;
    }
    do {
        if (!parse_part(&text, &next, &sum))
            return false;
    } while (*text != '\0');
    *duration = sum;
    return true;
}

/* "4m5s", and "4m" when there are no seconds. */
static void format_pair(lull_duration large, const char *large_unit, lull_duration small,
                        const char *small_unit, char *text) {
    if (small == 0)
        snprintf(text, DURATION_TEXT_SIZE, "%lld%s", (long long)large, large_unit);
    else
        snprintf(text, DURATION_TEXT_SIZE, "%lld%s%lld%s", (long long)large, large_unit,
                 (long long)small, small_unit);
}

/* "1.2s", and "2s" rather than "2.0s". */
static void format_tenths(lull_duration tenths, const char *unit, char *text) {
    if (tenths % 10 == 0)
        snprintf(text, DURATION_TEXT_SIZE, "%lld%s", (long long)(tenths / 10), unit);
    else
        snprintf(text, DURATION_TEXT_SIZE, "%lld.%lld%s", (long long)(tenths / 10),
                 (long long)(tenths % 10), unit);
}

static lull_duration rounded(lull_duration duration, lull_duration unit) {
    return duration / unit + (duration % unit >= unit - unit / 2 ? 1 : 0);
}

char *duration_format(lull_duration duration, char text[DURATION_TEXT_SIZE]) {
    lull_duration milliseconds = rounded(duration, LULL_MILLISECOND);
    lull_duration tenths = rounded(duration, LULL_SECOND / 10);
    lull_duration seconds = rounded(duration, LULL_SECOND);
    lull_duration minutes = rounded(duration, LULL_MINUTE);
    if (duration == 0)
        snprintf(text, DURATION_TEXT_SIZE, "0s");
    else if (milliseconds < 10)
        format_tenths(rounded(duration, LULL_MILLISECOND / 10), "ms", text);
    else if (milliseconds < 1000)
        snprintf(text, DURATION_TEXT_SIZE, "%lldms", (long long)milliseconds);
    else if (tenths < 600)
        format_tenths(tenths, "s", text);
    else if (seconds < 3600)
        format_pair(seconds / 60, "m", seconds % 60, "s", text);
    else if (minutes < 24 * 60)
        format_pair(minutes / 60, "h", minutes % 60, "m", text);
    else
        format_pair(minutes / (24 * 60), "d", minutes % (24 * 60) / 60, "h", text);
    return text;
}
