/* JSON, the little of it that a line of log needs. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <lull/base.h>
#include <stdio.h>

/* A string with its quotes. What is not UTF-8 becomes U+FFFD, so that the line can be read back
 * whatever a command is called. */
void print_json_string(FILE *stream, const char *text);

/* Milliseconds, with three decimals. */
void print_json_milliseconds(FILE *stream, lull_duration duration);

#endif
