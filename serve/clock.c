#include "clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic(lull_duration) offset;

static lull_time read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * LULL_SECOND + now.tv_nsec;
}

void service_clock_start(void) {
    atomic_store(&offset, read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC));
}

lull_duration service_clock_offset(void) {
    return atomic_load_explicit(&offset, memory_order_relaxed);
}

lull_time service_clock(void) {
    return service_clock_offset() + read_clock(CLOCK_MONOTONIC);
}

lull_duration service_clock_not_before(lull_time newest) {
    lull_duration behind = newest - service_clock();
    if (behind <= 0)
        return 0;
    atomic_fetch_add(&offset, behind);
    return behind;
}
