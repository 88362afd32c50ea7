/* Values that are kept elsewhere, so that a configuration can be shown around:
 *
 *   secret: env:SHOP_SECRET           a variable of the environment
 *   secret: file:/run/secrets/shop    a file's only line; a path that is not absolute starts where the program does
 *   secret: whsec_…                   itself
 */
#ifndef CONFIG_ELSEWHERE_H
#define CONFIG_ELSEWHERE_H

#include <lull/base.h>

/* The value that `text` is or names, without blanks around it. False: there is none, or it does not fit, and `message` says
 * so without repeating any of it. */
bool elsewhere_read(const char *text, char *value, size_t value_size, char *message, size_t size);

#endif
