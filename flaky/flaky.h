/* lull flaky: an HTTP server that misbehaves on demand. */
#ifndef FLAKY_FLAKY_H
#define FLAKY_FLAKY_H

#include <stdio.h>

/* What follows the command's name; gives the exit code. */
int flaky_command(int count, char **arguments);
void flaky_help(FILE *stream);

#endif
