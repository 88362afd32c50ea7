/* Sets of exit codes, as in --retry-on 7,28,50-60. */
#ifndef CLI_EXIT_CODES_H
#define CLI_EXIT_CODES_H

#include "problem.h"

#include <stdint.h>

struct exit_codes {
    uint64_t bits[4]; /* one for each of 0 … 255 */
};

/* Adds the codes of a list to the set. Code 0 is refused: it is success, neither to be retried nor
 * a failure. */
bool exit_codes_add(struct exit_codes *codes, const char *list, struct problem *problem);

bool exit_codes_has(const struct exit_codes *codes, int code);
bool exit_codes_empty(const struct exit_codes *codes);

/* The first code that is in both sets; -1 if there is none. */
int exit_codes_common(const struct exit_codes *one, const struct exit_codes *other);

#endif
