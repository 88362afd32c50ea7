/* Random draws that are the same to the last bit on every machine.
 *
 * libm's log and exp may differ in the last place from one version to the next, and with them a whole simulation. These use only
 * +, -, ×, ÷ and square roots, which IEEE 754 fixes. They are exact to about 1e-15. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include "scenario.h"

double draw_ln(double x);  /* x > 0 */
double draw_exp(double x); /* |x| < 700 */

double draw_uniform(uint64_t *random);     /* 0 < u ≤ 1 */
double draw_exponential(uint64_t *random); /* mean 1 */
double draw_normal(uint64_t *random);      /* mean 0, deviation 1 */

/* A factor of mean 1 with the shape of the latency: multiply the mean by it. */
double draw_latency(const struct sim_latency *latency, uint64_t *random);

#endif
