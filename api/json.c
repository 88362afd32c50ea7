#include "api/json.h"

#include "api/text.h"
#include "cli/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void json_put(json_t **object, const char *name, json_t *value) {
    if (json_object_set_new(*object, name, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

void json_add(json_t **array, json_t *value) {
    if (json_array_append_new(*array, value) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

json_t *json_bytes(const char *text, size_t length) {
    static const char stand_in[] = "\xEF\xBF\xBD"; /* U+FFFD */
    if (text_is_utf8(text, length))
        return json_stringn_nocheck(text, length);
    char *fixed = malloc(3 * length);
    size_t used = 0;
    if (fixed == NULL)
        return NULL;
    for (size_t at = 0; at < length;) {
        size_t character = utf8_character(text + at, length - at);
        const char *from = character > 0 ? text + at : stand_in;
        size_t bytes = character > 0 ? character : sizeof stand_in - 1;
        memcpy(fixed + used, from, bytes);
        used += bytes;
        at += character > 0 ? character : 1;
    }
    json_t *string = json_stringn_nocheck(fixed, used);
    free(fixed);
    return string;
}

json_t *json_text(const char *text) {
    return text == NULL || text[0] == '\0' ? json_null() : json_bytes(text, strlen(text));
}

char *time_format(lull_time time, char text[TIME_TEXT_SIZE]) {
    time = time < 0 ? 0 : time;
    time_t seconds = time / LULL_SECOND;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t length = strftime(text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, TIME_TEXT_SIZE - length, ".%03dZ",
             (int)(time % LULL_SECOND / LULL_MILLISECOND));
    return text;
}

json_t *json_time(lull_time time) {
    char text[TIME_TEXT_SIZE];
    return time == 0 ? json_null() : json_string(time_format(time, text));
}

json_t *json_some(int64_t number) {
    return number == 0 ? json_null() : json_integer(number);
}

char *json_line(const json_t *value) {
    return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}
