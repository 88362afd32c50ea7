/* Numbers as people write them: digits, no sign, no blanks, no hexadecimal. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* False if `text` is not a whole number, or one above `most`. */
bool number_parse(const char *text, uint64_t most, uint64_t *number);

/* False if `text` is not a finite decimal number, such as 2 or 1.5. */
bool decimal_parse(const char *text, double *number);

#endif
