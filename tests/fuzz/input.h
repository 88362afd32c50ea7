/* What all fuzz targets share: reading values off the input, and saying that something is wrong. */
#ifndef LULL_TESTS_FUZZ_INPUT_H
#define LULL_TESTS_FUZZ_INPUT_H

#include <lull/base.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

/* The next `bytes` (at most 8) as a number; past the end all bytes are zero. */
static inline uint64_t take(struct input *input, int bytes) {
    uint64_t word = 0;
    for (int i = 0; i < bytes && input->left > 0; i++, input->left--)
        word |= (uint64_t)*input->at++ << (8 * i);
    return word;
}

#endif
