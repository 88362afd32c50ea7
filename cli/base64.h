/* Base64 (RFC 4648), decoded. */
#ifndef CLI_BASE64_H
#define CLI_BASE64_H

#include <stdbool.h>
#include <stdio.h>

/* Writes what `text` stands for. False, and nothing is written, if it is not base64 with its
 * padding. */
bool base64_write(const char *text, FILE *stream);

#endif
