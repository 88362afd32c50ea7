/* Moments as the server writes them, and as people say them.
 *
 *   2026-03-01T12:00:00.000Z       3 m ago, in 5 s, now
 */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#define MOMENT_TEXT_SIZE 64

/* Milliseconds since 1970. False if `text` is not RFC 3339 in UTC. */
bool moment_parse(const char *text, int64_t *moment);

/* How far it is from now, in the largest unit that fits. Returns `text`. */
char *moment_relative(int64_t moment, int64_t now, char text[MOMENT_TEXT_SIZE]);

/* Now, in milliseconds since 1970. */
int64_t moment_now(void);

#endif
