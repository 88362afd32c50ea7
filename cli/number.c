#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool number_parse(const char *text, uint64_t most, uint64_t *number) {
    uint64_t sum = 0;
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum))
            return false;
    }
    *number = sum;
    return sum <= most;
}

bool decimal_parse(const char *text, double *number) {
    /* strtod alone would also take blanks, signs, "inf" and hexadecimal. */
    if (*text == '\0' || text[strspn(text, "0123456789.")] != '\0')
        return false;
    char *end = NULL;
    *number = strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}
