/* Randomness as a value.
 *
 * A policy that needs chance takes one 64-bit word of it. Where the word comes from is the caller's
 * affair: a call carries a small generator of its own (splitmix64), a test passes the word it wants.
 *
 *   uint64_t state = seed;
 *   uint64_t word = lull_random_next(&state);
 *   lull_uniform(word, 0, 100);                 word 0 → 0, word 2^63 → 50, word 2^64-1 → 100
 */
#ifndef LULL_RANDOM_H
#define LULL_RANDOM_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The next word of the stream that starts at *state (splitmix64). Any seed is a good seed. */
LULL_API uint64_t lull_random_next(uint64_t *state);

/* Maps a word evenly onto low … high, both included. high < low gives low. */
LULL_API lull_duration lull_uniform(uint64_t word, lull_duration low, lull_duration high);

#ifdef __cplusplus
}
#endif
#endif
