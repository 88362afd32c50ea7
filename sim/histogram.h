/* How long things took: a histogram of constant size, exact to 1 %. */
#ifndef SIM_HISTOGRAM_H
#define SIM_HISTOGRAM_H

#include <lull.h>

#define HISTOGRAM_PARTS 128 /* of each power of two */
#define HISTOGRAM_SIZE (40 * HISTOGRAM_PARTS)

struct histogram {
    uint64_t total;
    uint64_t counts[HISTOGRAM_SIZE];
};

void histogram_add(struct histogram *histogram, lull_duration duration);
/* The duration that `part` (0 … 1) of all do not exceed; 0 if there are none. */
lull_duration histogram_quantile(const struct histogram *histogram, double part);

#endif
