#include "figures.h"

#include <lull/base.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

char *figure_count(uint64_t count, char text[FIGURE_SIZE]) {
    char digits[FIGURE_SIZE];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t to = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = '\0';
    return text;
}

char *figure_latency(double milliseconds, char text[FIGURE_SIZE]) {
    if (milliseconds < 9.95)
        snprintf(text, FIGURE_SIZE, "%.1f ms", milliseconds);
    else if (milliseconds < 999.5)
        snprintf(text, FIGURE_SIZE, "%.0f ms", milliseconds);
    else if (milliseconds < 99950)
        snprintf(text, FIGURE_SIZE, "%.1f s", milliseconds / 1e3);
    else
        snprintf(text, FIGURE_SIZE, "%.1f min", milliseconds / 6e4);
    return text;
}

char *figure_share(double share, char text[FIGURE_SIZE]) {
    /* Rounded down: 100 % is all of them, without exception. The tiny addend is for what a share
     * such as 0.958 is in binary. */
    snprintf(text, FIGURE_SIZE, "%.1f %%", floor(share * 1e3 + 1e-9) / 10);
    return text;
}

char *figure_recovery(double seconds, char text[FIGURE_SIZE]) {
    if (seconds < 0)
        snprintf(text, FIGURE_SIZE, "never");
    else
        snprintf(text, FIGURE_SIZE, "%.0f s", seconds);
    return text;
}

char *figure_ratio(double ratio, char text[FIGURE_SIZE]) {
    snprintf(text, FIGURE_SIZE, ratio < 9.995 ? "%.2f" : "%.1f", ratio);
    return text;
}

char *figure_time(int64_t nanoseconds, char text[FIGURE_SIZE]) {
    long long seconds = (long long)((nanoseconds + LULL_SECOND / 2) / LULL_SECOND);
    long long minutes = seconds / 60, hours = minutes / 60;
    if (seconds < 120)
        snprintf(text, FIGURE_SIZE, "%lld s", seconds);
    else if (minutes < 120 && seconds % 60 != 0)
        snprintf(text, FIGURE_SIZE, "%lld min %lld s", minutes, seconds % 60);
    else if (minutes < 120)
        snprintf(text, FIGURE_SIZE, "%lld min", minutes);
    else if (minutes % 60 != 0)
        snprintf(text, FIGURE_SIZE, "%lld h %lld min", hours, minutes % 60);
    else
        snprintf(text, FIGURE_SIZE, "%lld h", hours);
    return text;
}
