#include "histogram.h"

/* Durations are counted in microseconds: under 128 exactly, above by their leading eight bits. */
static uint32_t slot_of(uint64_t value) {
    if (value < HISTOGRAM_PARTS)
        return (uint32_t)value;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - 7;
    uint32_t slot = (shift + 1) * HISTOGRAM_PARTS + (uint32_t)(value >> shift) - HISTOGRAM_PARTS;
    return slot < HISTOGRAM_SIZE ? slot : HISTOGRAM_SIZE - 1; /* over 400 days is as good as ever */
}

/* The middle of a slot. */
static uint64_t value_of(uint32_t slot) {
    if (slot < HISTOGRAM_PARTS)
        return slot;
    uint32_t shift = slot / HISTOGRAM_PARTS - 1;
    uint64_t low = (uint64_t)(slot % HISTOGRAM_PARTS + HISTOGRAM_PARTS) << shift;
    return low + (UINT64_C(1) << shift) / 2;
}

void histogram_add(struct histogram *histogram, lull_duration duration) {
    histogram->total++;
    histogram->counts[slot_of(duration > 0 ? (uint64_t)(duration / LULL_MICROSECOND) : 0)]++;
}

lull_duration histogram_quantile(const struct histogram *histogram, double part) {
    double wanted = part * (double)histogram->total;
    uint64_t seen = 0;
    for (uint32_t slot = 0; slot < HISTOGRAM_SIZE; slot++) {
        seen += histogram->counts[slot];
        if (seen > 0 && (double)seen >= wanted)
            return (lull_duration)(value_of(slot) * LULL_MICROSECOND);
    }
    return 0;
}
