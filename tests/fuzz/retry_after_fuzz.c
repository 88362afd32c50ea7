/* Any bytes as a Retry-After field, at any time of day.
 *
 * What is accepted must be what the C library reads from it, wait no less than nothing, and be the
 * same with blanks around it; what is refused must leave the answer alone. And any moment, written
 * in each of the three forms, must be read back.
 */
#include "input.h"

#include <lull/retry_after.h>

#include <string.h>
#include <time.h>

#define LONGEST 100
#define YEAR_0 INT64_C(-62167219200)
#define YEAR_10000 INT64_C(253402300800)

static const char *const formats[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                      "%a %b %e %H:%M:%S %Y"};

static lull_duration wait_until(int64_t moment, int64_t wall_seconds) {
    int64_t ahead, wait;
    if (__builtin_sub_overflow(moment, wall_seconds, &ahead))
        ahead = moment > wall_seconds ? INT64_MAX : 0;
    if (ahead <= 0)
        return 0;
    return __builtin_mul_overflow(ahead, LULL_SECOND, &wait) ? LULL_NEVER : wait;
}

/* Is there such a day? timegm would make 1 March of 29 February 2023. */
static bool is_a_day(const struct tm *tm) {
    struct tm day = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};
    timegm(&day);
    return day.tm_mday == tm->tm_mday;
}

/* With two digits for the year, it has to be one of a hundred centuries. */
static bool some_century(struct tm tm, int64_t wall_seconds, lull_duration wait) {
    int digits = tm.tm_year % 100;
    for (int century = 0; century <= 99; century++) {
        tm.tm_year = century * 100 + digits - 1900;
        struct tm moment = tm;
        if (is_a_day(&tm) && wait == wait_until(timegm(&moment), wall_seconds))
            return true;
    }
    return false;
}

/* The C library reads more than is allowed, but what is allowed it reads the same. */
static void compare_with_the_c_library(const char *text, int64_t wall_seconds, lull_duration wait) {
    for (int form = 0; form < 3; form++) {
        struct tm tm = {0};
        const char *end = strptime(text, formats[form], &tm);
        if (end == NULL || *end != '\0')
            continue;
        if (form == 1)
            CHECK(some_century(tm, wall_seconds, wait));
        else
            CHECK(is_a_day(&tm) && wait == wait_until(timegm(&tm), wall_seconds));
        return;
    }
    CHECK(!"the C library cannot read it");
}

static void any_text(const char *text, size_t length, int64_t wall_seconds) {
    lull_duration wait = -77;
    int error = lull_retry_after_parse(text, length, wall_seconds, &wait);
    CHECK(error == LULL_OK || error == LULL_EMALFORMED);
    CHECK(error == LULL_OK ? wait >= 0 : wait == -77);

    char padded[LONGEST + 4];
    memcpy(padded, " \t", 2);
    memcpy(padded + 2, text, length);
    memcpy(padded + 2 + length, "\t ", 2);
    lull_duration again = -77;
    CHECK(lull_retry_after_parse(padded, length + 4, wall_seconds, &again) == error);
    CHECK(again == wait);

    while (length > 0 && (*text == ' ' || *text == '\t'))
        text++, length--;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    if (error != LULL_OK)
        return;
    CHECK(length > 0);
    char terminated[LONGEST + 1] = {0};
    memcpy(terminated, text, length);
    if (*text >= '0' && *text <= '9') {
        CHECK(strspn(terminated, "0123456789") == length);
        return;
    }
    compare_with_the_c_library(terminated, wall_seconds, wait);
}

static void any_moment(int64_t moment, int64_t wall_seconds) {
    moment = YEAR_0 + (int64_t)((uint64_t)moment % (uint64_t)(YEAR_10000 - YEAR_0));
    time_t seconds = (time_t)moment;
    struct tm tm;
    CHECK(gmtime_r(&seconds, &tm) != NULL);
    for (int form = 0; form < 3; form++) {
        if (form != 1 && tm.tm_year + 1900 < 1000) /* strftime does not pad the year */
            continue;
        char text[64];
        size_t length = strftime(text, sizeof text, formats[form], &tm);
        /* With two digits, only what is at most 50 years ahead and less than 50 ago is sure to be
         * itself. */
        int64_t wall = form == 1 ? moment + wall_seconds % 1000000000 : wall_seconds;
        lull_duration wait = -77;
        CHECK(lull_retry_after_parse(text, length, wall, &wait) == LULL_OK);
        CHECK(wait == wait_until(moment, wall));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    int64_t wall_seconds = (int64_t)take(&input, 8);
    if (data != NULL && size > 0 && data[0] & 1) /* half of them in our time */
        wall_seconds = (int64_t)((uint64_t)wall_seconds % (UINT64_C(1) << 33));
    if (input.left > LONGEST)
        return -1;
    if (input.left == 8)
        any_moment((int64_t)take(&input, 8), wall_seconds);
    else
        any_text((const char *)input.at, input.left, wall_seconds);
    return 0;
}
