#include <lull/random.h>

__extension__ typedef unsigned __int128 uint128;

uint64_t lull_random_next(uint64_t *state) {
    uint64_t word = (*state += UINT64_C(0x9e3779b97f4a7c15));
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

lull_duration lull_uniform(uint64_t word, lull_duration low, lull_duration high) {
    if (high <= low)
        return low;
    uint64_t span = (uint64_t)high - (uint64_t)low + 1; /* 0: the whole range of 64 bits */
    if (span == 0)
        return (lull_duration)word;
    /* The high half of word · span spreads the words evenly over 0 … span-1, without a division. */
    uint64_t offset = (uint64_t)(((uint128)word * span) >> 64);
    return (lull_duration)((uint64_t)low + offset);
}
