#include "stats.h"

#define MS LULL_MILLISECOND
#define S LULL_SECOND

const lull_duration stats_duration_bounds[STATS_DURATION_BUCKETS] = {
    1 * MS,   2500000,  5 * MS, 10 * MS,   25 * MS, 50 * MS,
    100 * MS, 250 * MS, 1 * S,  2500 * MS, 10 * S,  30 * S,
};
const lull_duration stats_delay_bounds[STATS_DELAY_BUCKETS] = {
    100 * MS, 500 * MS, 1 * S, 5 * S, 15 * S, 30 * S, 60 * S, 300 * S, 900 * S, 3600 * S,
};

void stats_observe(struct stats_histogram *histogram, const lull_duration *bounds, uint32_t count,
                   lull_duration value) {
    uint32_t i = 0;
    while (i < count && value > bounds[i])
        i++;
    stats_add(&histogram->buckets[i], 1);
    atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}
