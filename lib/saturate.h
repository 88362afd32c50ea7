/* Arithmetic on times that stops at the ends instead of wrapping round. */
#ifndef LULL_LIB_SATURATE_H
#define LULL_LIB_SATURATE_H

#include <lull/base.h>

static inline int64_t add_saturated(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline int64_t subtract_saturated(int64_t a, int64_t b) {
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return difference;
}

/* For a, b ≥ 0. */
static inline int64_t multiply_saturated(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* A whole, non-negative number of nanoseconds, rounded down. 0x1p63 is the first double past the range. */
static inline int64_t from_double(double value) {
    if (!(value > 0))
        return 0;
    return value >= 0x1p63 ? INT64_MAX : (int64_t)value;
}

static inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
