#include <lull/retry_after.h>

#include "saturate.h"

#include <string.h>

/* Nothing of <time.h> or <ctype.h>: those heed the locale and the time zone. */

struct text { /* what is left to read */
    const char *at, *end;
};

struct date {
    int year, month, day, hour, minute, second; /* month and day from 1 */
    bool short_year;                            /* year is its last two digits */
};

#define DAY_SECONDS INT64_C(86400)
#define FIFTY_YEARS (50 * INT64_C(31556952)) /* of 365.2425 days */
#define LAST_CENTURY 9900

static const char *const weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool read_literal(struct text *text, const char *literal, size_t length) {
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, literal, length) != 0)
        return false;
    text->at += length;
    return true;
}

/* One of `count` names, each in full or cut to its first `length` letters (0: in full); from 1, or
 * 0 if none is there. */
static int read_name(struct text *text, const char *const *names, int count, size_t length) {
    for (int i = 0; i < count; i++)
        if (read_literal(text, names[i], length > 0 ? length : strlen(names[i])))
            return i + 1;
    return 0;
}

/* Exactly `count` digits. */
static bool read_digits(struct text *text, int count, int *number) {
    *number = 0;
    for (; count > 0; count--) {
        if (text->at == text->end || !is_digit(*text->at))
            return false;
        *number = *number * 10 + (*text->at++ - '0');
    }
    return true;
}

/* One field of a date, named as strptime names it. */
static bool read_field(struct text *text, char field, struct date *date) {
    switch (field) {
    case 'a':
        return read_name(text, weekdays, 7, 3) != 0;
    case 'A':
        return read_name(text, weekdays, 7, 0) != 0;
    case 'b':
        return (date->month = read_name(text, months, 12, 0)) != 0;
    case 'd':
        return read_digits(text, 2, &date->day);
    case 'e': /* asctime pads with a blank */
        return read_digits(text, read_literal(text, " ", 1) ? 1 : 2, &date->day);
    case 'Y':
        return read_digits(text, 4, &date->year);
    case 'y':
        date->short_year = true;
        return read_digits(text, 2, &date->year);
    case 'H':
        return read_digits(text, 2, &date->hour);
    case 'M':
        return read_digits(text, 2, &date->minute);
    default: /* S */
        return read_digits(text, 2, &date->second);
    }
}

/* The whole text, as `format` has it. */
static bool read_date(struct text text, const char *format, struct date *date) {
    for (; *format != '\0'; format++)
        if (*format == '%' ? !read_field(&text, *++format, date) : !read_literal(&text, format, 1))
            return false;
    return text.at == text.end;
}

static bool is_leap(int year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static bool exists(const struct date *date) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int days = lengths[date->month - 1] + (date->month == 2 && is_leap(date->year));
    return date->day >= 1 && date->day <= days && date->hour <= 23 && date->minute <= 59 &&
           date->second <= 60; /* 60: a leap second */
}

/* Days since 1970-01-01 of a date in the Gregorian calendar, year ≥ 0. The year is taken to begin
 * in March: then the leap day comes last, and the months before any month have (153 · months + 2) /
 * 5 days. */
static int64_t days_since_1970(int year, int month, int day) {
    year -= month <= 2;
    int64_t era = (year + 400) / 400 - 1; /* rounded down: year may be -1 */
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

static int64_t seconds_since_1970(const struct date *date) {
    return days_since_1970(date->year, date->month, date->day) * DAY_SECONDS + date->hour * 3600 +
           date->minute * 60 + date->second;
}

/* The latest century that does not put the date more than 50 years ahead. */
static void complete_year(struct date *date, int64_t wall_seconds) {
    int64_t latest = add_saturated(wall_seconds, FIFTY_YEARS);
    date->year += LAST_CENTURY;
    while (date->year >= 100 && seconds_since_1970(date) > latest)
        date->year -= 100;
}

static int parse_date(struct text text, int64_t wall_seconds, lull_duration *wait) {
    static const char *const formats[] = {
        "%a, %d %b %Y %H:%M:%S GMT", /* IMF-fixdate */
        "%A, %d-%b-%y %H:%M:%S GMT", /* RFC 850 */
        "%a %b %e %H:%M:%S %Y",      /* asctime */
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct date date = {0};
        if (!read_date(text, formats[i], &date))
            continue;
        if (date.short_year)
            complete_year(&date, wall_seconds);
        if (!exists(&date))
            return LULL_EMALFORMED;
        int64_t ahead = subtract_saturated(seconds_since_1970(&date), wall_seconds);
        *wait = multiply_saturated(most(ahead, 0), LULL_SECOND);
        return LULL_OK;
    }
    return LULL_EMALFORMED;
}

static int parse_seconds(struct text text, lull_duration *wait) {
    int64_t seconds = 0;
    for (; text.at < text.end; text.at++) {
        if (!is_digit(*text.at))
            return LULL_EMALFORMED;
        seconds = add_saturated(multiply_saturated(seconds, 10), *text.at - '0');
    }
    *wait = multiply_saturated(seconds, LULL_SECOND);
    return LULL_OK;
}

int lull_retry_after_parse(const char *value, size_t length, int64_t wall_seconds,
                           lull_duration *wait) {
    if (value == NULL || wait == NULL)
        return LULL_EINVAL;
    struct text text = {value, value + length};
    while (text.at < text.end && is_blank(*text.at))
        text.at++;
    while (text.at < text.end && is_blank(text.end[-1]))
        text.end--;
    if (text.at == text.end)
        return LULL_EMALFORMED;
    return is_digit(*text.at) ? parse_seconds(text, wait) : parse_date(text, wall_seconds, wait);
}
