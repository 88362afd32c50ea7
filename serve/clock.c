#include "clock.h"

#include <time.h>

static lull_duration offset;

static lull_time read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * LULL_SECOND + now.tv_nsec;
}

void service_clock_start(void) {
    offset = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC);
}

lull_time service_clock(void) {
    return offset + read_clock(CLOCK_MONOTONIC);
}

lull_duration service_clock_offset(void) {
    return offset;
}
