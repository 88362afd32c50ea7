#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

bool problem_say(struct problem *problem, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}

void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("lull: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    fflush(stderr);
    va_end(arguments);
}
