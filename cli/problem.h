/* What is wrong with something a person typed: the sentence that tells them. */
#ifndef CLI_PROBLEM_H
#define CLI_PROBLEM_H

#include <stdbool.h>

struct problem {
    char text[512];
};

/* Fills in the sentence. Always false, so that a check can end in `return problem_say(…)`. */
bool problem_say(struct problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line on stderr, "lull: …". */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
