/* One value of a configuration: text in, a struct's member out. Knows nothing of YAML. */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include "reader.h"

/* Reads `text` as `field` (not a set, map or list) wants it; or false, and `message` says what is
 * wrong. */
bool value_read(const struct field *field, const char *text, void *member, char *message,
                size_t size);

/* For messages: "a rate", and "write for example 1000/s or 100/m" ("" if there is nothing to
 * say). */
const char *value_noun(enum field_kind kind);
const char *value_advice(enum field_kind kind);

#endif
