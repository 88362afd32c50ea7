/* JSON for answers, by jansson. Memory may run out at any step; then the object becomes NULL, all further steps leave it so, and whoever
 * answers with it says so (reply.h). */
#ifndef API_JSON_H
#define API_JSON_H

#include <lull/base.h>

#include <jansson.h>

#define TIME_TEXT_SIZE 32

/* object[name] = value, which is taken. */
void json_put(json_t **object, const char *name, json_t *value);
/* array[] = value, which is taken. */
void json_add(json_t **array, json_t *value);

/* Any bytes as a string: what is not UTF-8 becomes U+FFFD. */
json_t *json_bytes(const char *text, size_t length);
/* The same of a text; null if it is NULL or empty. */
json_t *json_text(const char *text);
/* "2026-03-01T12:00:00.000Z"; null for 0, which is never. */
json_t *json_time(lull_time time);
/* A number that is null if it is 0. */
json_t *json_some(int64_t number);

/* Returns `text`. A time before 1970 is told as 1970. */
char *time_format(lull_time time, char text[TIME_TEXT_SIZE]);

/* One line, numbers as short as they can be; malloc'd. NULL: out of memory. */
char *json_line(const json_t *value);

#endif
