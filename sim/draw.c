#include "draw.h"

#include <math.h>

#define LN2 0.693147180559945309417232121458

double draw_ln(double x) {
    int exponent;
    double mantissa = frexp(x, &exponent); /* 0.5 … 1, exact */
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        exponent--;
    }
    /* ln m = 2 artanh((m-1)/(m+1)); the argument is within ±0.172, so 11 terms are enough. */
    double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 0;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * square + 1.0 / k;
    return 2 * s * sum + exponent * LN2;
}

double draw_exp(double x) {
    double whole = floor(x / LN2 + 0.5);
    double rest = x - whole * LN2, sum = 1; /* within ±0.347 */
    for (int k = 16; k >= 1; k--)
        sum = 1 + sum * rest / k;
    return ldexp(sum, (int)whole);
}

double draw_uniform(uint64_t *random) {
    return (double)((lull_random_next(random) >> 11) + 1) * 0x1p-53;
}

double draw_exponential(uint64_t *random) {
    return -draw_ln(draw_uniform(random));
}

/* The polar method: a point in the unit circle gives a normal deviate. */
double draw_normal(uint64_t *random) {
    double x, y, square;
    do {
        x = 2 * draw_uniform(random) - 1;
        y = 2 * draw_uniform(random) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * sqrt(-2 * draw_ln(square) / square);
}

double draw_latency(const struct sim_latency *latency, uint64_t *random) {
    switch (latency->kind) {
    case SIM_LATENCY_EXPONENTIAL:
        return draw_exponential(random);
    case SIM_LATENCY_LOGNORMAL:
        /* exp(σ·n) has mean exp(σ²/2). */
        return draw_exp(latency->sigma * draw_normal(random) - latency->sigma * latency->sigma / 2);
    default:
        return 1;
    }
}
