/* Times in buckets of 1/64 of their size, from 1 ns to hours: percentiles are right to 1.6 %, and cost no memory per value.
 *
 *   histogram_add(&h, 1500000);             1.5 ms
 *   histogram_quantile(&h, 0.99);           the upper end of the bucket that holds it, in ns
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 64
#define HISTOGRAM_BUCKETS (40 * HISTOGRAM_STEPS)

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    uint64_t count;
    int64_t largest;
};

static inline uint32_t histogram_bucket(int64_t value) {
    uint64_t bits = value > 0 ? (uint64_t)value : 0;
    if (bits < HISTOGRAM_STEPS)
        return (uint32_t)bits;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(bits) - 6;
    uint32_t bucket = (shift + 1) * HISTOGRAM_STEPS + (uint32_t)(bits >> shift) - HISTOGRAM_STEPS;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static inline int64_t histogram_upper_end(uint32_t bucket) {
    if (bucket < HISTOGRAM_STEPS)
        return bucket;
    uint32_t shift = bucket / HISTOGRAM_STEPS - 1;
    return (int64_t)(((uint64_t)HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS + 1) << shift) - 1;
}

static inline void histogram_add(struct histogram *histogram, int64_t value) {
    histogram->buckets[histogram_bucket(value)]++;
    histogram->count++;
    if (value > histogram->largest)
        histogram->largest = value;
}

static inline int64_t histogram_quantile(const struct histogram *histogram, double quantile) {
    uint64_t before = 0, wanted = (uint64_t)(quantile * (double)histogram->count);
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        before += histogram->buckets[i];
        if (before > wanted)
            return histogram_upper_end(i);
    }
    return histogram->largest;
}

#endif
