#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <lull/random.h>
#include <lull/retry_after.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define WALL INT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */
#define UNTOUCHED INT64_C(-77)

/* The text is copied to memory of just its size, so that the sanitizers see a read past its end. */
static int parse(const char *text, int64_t wall_seconds, lull_duration *wait) {
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    int error = lull_retry_after_parse(copy, length, wall_seconds, wait);
    free(copy);
    return error;
}

static void expect_wait(const char *text, int64_t wall_seconds, lull_duration expected) {
    lull_duration wait = UNTOUCHED;
    int error = parse(text, wall_seconds, &wait);
    if (error != LULL_OK || wait != expected)
        fail_msg("\"%s\": error %d, wait %lld, not %lld", text, error, (long long)wait,
                 (long long)expected);
}

/* As `expect_wait`, in seconds since 1970. */
static void expect_date(const char *text, int64_t seconds) {
    expect_wait(text, seconds - 1, LULL_SECOND);
    expect_wait(text, seconds, 0);
}

static void expect_malformed(const char *text) {
    lull_duration wait = UNTOUCHED;
    int error = parse(text, 0, &wait);
    if (error != LULL_EMALFORMED || wait != UNTOUCHED)
        fail_msg("\"%s\": error %d, wait %lld", text, error, (long long)wait);
}

static void seconds(void **state) {
    (void)state;
    static const struct {
        const char *text;
        lull_duration wait;
    } cases[] = {
        {"0", 0},
        {"1", LULL_SECOND},
        {"120", 120 * LULL_SECOND},
        {"007", 7 * LULL_SECOND},
        {" 5", 5 * LULL_SECOND},
        {"5 ", 5 * LULL_SECOND},
        {"\t 5 \t ", 5 * LULL_SECOND},
        {"9223372036", 9223372036 * LULL_SECOND},
        {"9223372037", LULL_NEVER},
        {"9223372036854775807", LULL_NEVER},
        {"9223372036854775808", LULL_NEVER},
        {"99999999999999999999999999999999999999999999", LULL_NEVER},
        {"00000000000000000000000000000000000000000001", LULL_SECOND},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_wait(cases[i].text, WALL, cases[i].wait);
}

static void dates_in_three_forms(void **state) {
    (void)state;
    static const char *const forms[] = {
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994",
        " \tSun, 06 Nov 1994 08:49:37 GMT\t ",
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        expect_wait(forms[i], WALL, 0);
        expect_wait(forms[i], WALL - 1, LULL_SECOND);
        expect_wait(forms[i], WALL - 3600, LULL_HOUR);
        expect_wait(forms[i], WALL + 1, 0);
    }
}

static void moments(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Thu, 01 Jan 1970 00:00:01 GMT", 1},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Tue, 29 Feb 2000 12:00:00 GMT", 951825600},
        {"Wed, 01 Mar 2000 00:00:00 GMT", 951868800},
        {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199},
        {"Fri, 01 Mar 2024 00:00:00 GMT", 1709251200},
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800}, /* a leap second is the next day's first */
        {"Tue, 19 Jan 2038 03:14:08 GMT", INT64_C(2147483648)},
        {"Sun, 28 Feb 2100 00:00:00 GMT", INT64_C(4107456000)},
        {"Mon, 01 Mar 2100 00:00:00 GMT", INT64_C(4107542400)},
        {"Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799)},
        {"Mon, 01 Jan 0001 00:00:00 GMT", INT64_C(-62135596800)},
        {"Sat, 01 Jan 0000 00:00:00 GMT", INT64_C(-62167219200)},
        {"Tue, 29 Feb 0000 00:00:00 GMT", INT64_C(-62162121600)},
        {"Mon Jan 31 23:59:59 2022", 1643673599},
        {"Fri, 30 Apr 2021 00:00:00 GMT", 1619740800},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_date(cases[i].text, cases[i].seconds);
}

static void every_weekday_and_month_has_its_name(void **state) {
    (void)state;
    static const char *const days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const int firsts[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
    for (int month = 0; month < 12; month++)
        for (int day = 0; day < 7; day++) {                          /* any weekday will do */
            int64_t at = 946684800 + firsts[month] * INT64_C(86400); /* in 2000 */
            char text[64];
            snprintf(text, sizeof text, "%.3s, 01 %s 2000 00:00:00 GMT", days[day], months[month]);
            expect_date(text, at);
            snprintf(text, sizeof text, "%s, 01-%s-00 00:00:00 GMT", days[day], months[month]);
            expect_date(text, at);
            snprintf(text, sizeof text, "%.3s %s  1 00:00:00 2000", days[day], months[month]);
            expect_date(text, at);
        }
}

static void each_month_has_its_length(void **state) {
    (void)state;
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const int years[] = {1900, 2000, 2023, 2024, 2100, 2400};
    for (size_t y = 0; y < COUNT(years); y++)
        for (int month = 0; month < 12; month++) {
            bool leap = years[y] == 2000 || years[y] == 2024 || years[y] == 2400;
            int length = lengths[month] + (month == 1 && leap);
            for (int day = 0; day <= 32; day++) {
                char text[64];
                snprintf(text, sizeof text, "Mon, %02d %s %d 00:00:00 GMT", day, months[month],
                         years[y]);
                lull_duration wait = UNTOUCHED;
                bool exists = day >= 1 && day <= length;
                assert_int_equal(parse(text, 0, &wait), exists ? LULL_OK : LULL_EMALFORMED);
                assert_int_equal(wait == UNTOUCHED, !exists);
            }
        }
}

/* A date in RFC 850's form, read on 2 January of a year: which year it is taken for. */
static void two_digit_years(void **state) {
    (void)state;
    static const struct {
        int now, digits, year;
    } cases[] = {
        {1994, 94, 1994}, {1994, 95, 1995}, {1994, 0, 2000},  {1994, 44, 2044}, {1994, 45, 1945},
        {2024, 24, 2024}, {2024, 74, 2074}, {2024, 75, 1975}, {2024, 99, 1999}, {2024, 0, 2000},
        {2060, 10, 2110}, {2060, 11, 2011}, {1970, 20, 2020}, {1970, 21, 1921},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tm now = {.tm_year = cases[i].now - 1900, .tm_mday = 2};
        struct tm then = {.tm_year = cases[i].year - 1900, .tm_mday = 1};
        char text[64];
        snprintf(text, sizeof text, "Monday, 01-Jan-%02d 00:00:00 GMT", cases[i].digits);
        int64_t ahead = timegm(&then) - timegm(&now);
        expect_wait(text, timegm(&now), ahead > 0 ? ahead * LULL_SECOND : 0);
    }
}

static void two_digit_years_at_the_ends_of_time(void **state) {
    (void)state;
    expect_wait("Monday, 01-Jan-99 00:00:00 GMT", INT64_MAX, 0);
    expect_wait("Monday, 01-Jan-99 00:00:00 GMT", INT64_MIN, LULL_NEVER);
    /* 29 February is there or not, as the century wants it. */
    int64_t in_1994 = WALL, in_1880 = INT64_C(-2840140800);
    lull_duration wait = UNTOUCHED;
    expect_wait("Tuesday, 29-Feb-00 00:00:00 GMT", in_1994, (951782400 - in_1994) * LULL_SECOND);
    assert_int_equal(parse("Tuesday, 29-Feb-00 00:00:00 GMT", in_1880, &wait), LULL_EMALFORMED);
    assert_int_equal(wait, UNTOUCHED);
}

/* Just 50 years of 365.2425 days ahead is still ahead; a second more is in the past. */
static void fifty_years_to_the_second(void **state) {
    (void)state;
    int64_t then = INT64_C(2366841600); /* 2045-01-01 */
    int64_t fifty_years = INT64_C(1577847600);
    expect_wait("Sunday, 01-Jan-45 00:00:00 GMT", then - fifty_years, fifty_years * LULL_SECOND);
    expect_wait("Sunday, 01-Jan-45 00:00:00 GMT", then - fifty_years - 1, 0);
}

static void waits_saturate(void **state) {
    (void)state;
    expect_wait("Fri, 31 Dec 9999 23:59:59 GMT", 0, LULL_NEVER);
    expect_wait("Thu, 01 Jan 1970 00:00:00 GMT", INT64_MIN, LULL_NEVER);
    expect_wait("Wed, 31 Dec 1969 23:59:59 GMT", INT64_MIN, LULL_NEVER);
    expect_wait("Thu, 01 Jan 1970 00:00:00 GMT", INT64_MAX, 0);
    expect_wait("Mon, 01 Jan 0001 00:00:00 GMT", INT64_MAX, 0);
    expect_wait("Thu, 01 Jan 1970 00:00:00 GMT", INT64_C(-9223372036), 9223372036 * LULL_SECOND);
    expect_wait("Thu, 01 Jan 1970 00:00:00 GMT", INT64_C(-9223372037), LULL_NEVER);
}

static void malformed(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        " ",
        " \t ",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "0x10",
        "1 2",
        "12s",
        "12,",
        "\n5",
        "5\r",
        "5\v",
        "\xd9\xa5", /* an Arabic five */
        "soon",
        "GMT",
        /* Case, blanks, punctuation. */
        "sun, 06 Nov 1994 08:49:37 GMT",
        "SUN, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun , 06 Nov 1994 08:49:37 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT",
        "Sun, 06\tNov 1994 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 ",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun, 06 Nov 1994 08:49:37 GMT.",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 19940 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "1994-11-06T08:49:37Z",
        "Nov, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Sun 1994 08:49:37 GMT",
        "Sux, 06 Nov 1994 08:49:37 GMT",
        ", 06 Nov 1994 08:49:37 GMT",
        "Sun, 06  1994 08:49:37 GMT",
        "Sun,  Nov 1994 08:49:37 GMT",
        /* RFC 850 and asctime. */
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sundays, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37",
        "Sunday, 06-Nov-9x 08:49:37 GMT",
        "Sunday, 30-Feb-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov   6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sun Nov  6 08:49:37 94",
        "Sun Nov  x 08:49:37 1994",
        "Sun Nov  0 08:49:37 1994",
        "Sun Nov 31 08:49:37 1994",
        "Sunday Nov  6 08:49:37 1994",
        /* Times that are not. */
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 -8:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_malformed(cases[i]);
}

/* Cut anywhere, or with any one byte replaced by one that cannot stand there, a date is no date. */
static void broken_dates(void **state) {
    (void)state;
    static const char *const forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    for (size_t form = 0; form < COUNT(forms); form++)
        for (size_t i = 0; i < strlen(forms[form]); i++) {
            char text[64];
            snprintf(text, sizeof text, "%.*s", (int)i, forms[form]);
            expect_malformed(text);
            snprintf(text, sizeof text, "%s", forms[form]);
            text[i] = '#';
            expect_malformed(text);
        }
}

static void a_zero_byte_is_not_an_end(void **state) {
    (void)state;
    lull_duration wait = UNTOUCHED;
    assert_int_equal(lull_retry_after_parse("5\0", 2, 0, &wait), LULL_EMALFORMED);
    assert_int_equal(lull_retry_after_parse("\0", 1, 0, &wait), LULL_EMALFORMED);
    assert_int_equal(wait, UNTOUCHED);
    assert_int_equal(lull_retry_after_parse("512", 1, 0, &wait), LULL_OK);
    assert_int_equal(wait, 5 * LULL_SECOND);
}

static void misuse(void **state) {
    (void)state;
    lull_duration wait = UNTOUCHED;
    assert_int_equal(lull_retry_after_parse(NULL, 0, 0, &wait), LULL_EINVAL);
    assert_int_equal(lull_retry_after_parse("5", 1, 0, NULL), LULL_EINVAL);
    assert_int_equal(wait, UNTOUCHED);
}

static void write_date(char *text, size_t size, int form, const struct tm *tm) {
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const char *day = days[tm->tm_wday], *month = months[tm->tm_mon];
    char time[40];
    snprintf(time, sizeof time, "%02d:%02d:%02d", tm->tm_hour, tm->tm_min, tm->tm_sec);
    int year = tm->tm_year + 1900;
    if (form == 0)
        snprintf(text, size, "%.3s, %02d %s %04d %s GMT", day, tm->tm_mday, month, year, time);
    else if (form == 1)
        snprintf(text, size, "%s, %02d-%s-%02d %s GMT", day, tm->tm_mday, month, year % 100, time);
    else
        snprintf(text, size, "%.3s %s %2d %s %04d", day, month, tm->tm_mday, time, year);
}

/* Any moment of the years 0 to 9999, taken apart by the C library, is read back to the second from
 * each form. */
static void any_moment(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 30000; i++) {
        int64_t at =
            lull_uniform(lull_random_next(&random), INT64_C(-62167219200), INT64_C(253402300799));
        int64_t ahead = lull_uniform(lull_random_next(&random), 1, 1000000000);
        struct tm broken_down;
        time_t moment = (time_t)at;
        assert_non_null(gmtime_r(&moment, &broken_down));
        char text[96];
        write_date(text, sizeof text, i % 3, &broken_down);
        expect_wait(text, at - ahead, ahead * LULL_SECOND);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds),
        cmocka_unit_test(dates_in_three_forms),
        cmocka_unit_test(moments),
        cmocka_unit_test(every_weekday_and_month_has_its_name),
        cmocka_unit_test(each_month_has_its_length),
        cmocka_unit_test(two_digit_years),
        cmocka_unit_test(two_digit_years_at_the_ends_of_time),
        cmocka_unit_test(fifty_years_to_the_second),
        cmocka_unit_test(waits_saturate),
        cmocka_unit_test(malformed),
        cmocka_unit_test(broken_dates),
        cmocka_unit_test(a_zero_byte_is_not_an_end),
        cmocka_unit_test(misuse),
        cmocka_unit_test(any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
