#include "moment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

bool moment_parse(const char *text, int64_t *moment) {
    struct tm parts = {0};
    int64_t milliseconds = 0, worth = 100;
    const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (at == NULL)
        return false;
    if (*at == '.') {
        size_t digits = strspn(++at, "0123456789");
        if (digits == 0)
            return false;
        for (size_t i = 0; i < digits; i++, worth /= 10)
            milliseconds += (*at++ - '0') * worth;
    }
    *moment = (int64_t)timegm(&parts) * 1000 + milliseconds;
    return strcmp(at, "Z") == 0;
}

char *moment_relative(int64_t moment, int64_t now, char text[MOMENT_TEXT_SIZE]) {
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"d", 24 * 60 * 60}, {"h", 60 * 60}, {"m", 60}, {"s", 1}};
    int64_t seconds = (moment > now ? moment - now : now - moment) / 1000;
    snprintf(text, MOMENT_TEXT_SIZE, "now");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        /* Two days before hours are left out: "47 h ago" says more than "1 d ago". */
        if (seconds < units[i].seconds * (i == 0 ? 2 : 1))
            continue;
        snprintf(text, MOMENT_TEXT_SIZE, moment > now ? "in %lld %s" : "%lld %s ago",
                 (long long)(seconds / units[i].seconds), units[i].name);
        break;
    }
    return text;
}

int64_t moment_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
