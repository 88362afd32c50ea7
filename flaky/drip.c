#include "drip.h"

#include <math.h>

enum { DROPS_PER_SECOND = 20 };

static uint64_t drop(uint64_t bytes_per_second) {
    return bytes_per_second > DROPS_PER_SECOND ? bytes_per_second / DROPS_PER_SECOND : 1;
}

lull_duration drip_due(uint64_t bytes_per_second, uint64_t sent) {
    double seconds = (double)sent / (double)bytes_per_second;
    return (lull_duration)ceil(seconds * (double)LULL_SECOND);
}

uint64_t drip_allowance(uint64_t bytes_per_second, uint64_t sent, lull_duration elapsed) {
    if (elapsed < drip_due(bytes_per_second, sent))
        return 0;
    double passed = (double)elapsed / (double)LULL_SECOND * (double)bytes_per_second;
    uint64_t owed = passed > (double)sent ? (uint64_t)(passed - (double)sent) : 0;
    return owed + drop(bytes_per_second);
}
