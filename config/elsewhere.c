#include "elsewhere.h"

#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LONGEST = 4096 };

/* What is to be read, and where to complain. */
struct place {
    const char *name; /* of the variable or the file; NULL: of neither */
    char *message;
    size_t size;
};

static bool wrong(const struct place *place, const char *what, const char *why) {
    char quoted[QUOTE_SIZE];
    if (place->name != NULL)
        snprintf(place->message, place->size, "%s %s %s", what, quote(place->name, quoted), why);
    else
        snprintf(place->message, place->size, "%s", why);
    return false;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool keep(const struct place *place, const char *what, const char *text, char *value,
                 size_t value_size) {
    while (is_blank(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    if (length >= value_size)
        return wrong(place, what, "is too long");
    for (size_t i = 0; i < length; i++)
        if (control_character(text + i) > 0)
            return wrong(place, what, "has a control character or a second line in it");
    memset(value, 0, value_size);
    snprintf(value, value_size, "%.*s", (int)length, text);
    return true;
}

static bool read_variable(const struct place *place, char *value, size_t value_size) {
    static const char what[] = "the environment variable";
    const char *text = getenv(place->name);
    if (text == NULL)
        return wrong(place, what, "is not set");
    return keep(place, what, text, value, value_size) &&
           (value[0] != '\0' || wrong(place, what, "is empty"));
}

static bool read_file(const struct place *place, char *value, size_t value_size) {
    static const char what[] = "the file";
    char text[FILE_LONGEST + 1], why[160];
    FILE *stream = fopen(place->name, "rbe");
    size_t length = stream != NULL ? fread(text, 1, sizeof text, stream) : 0;
    if (stream == NULL || ferror(stream)) {
        snprintf(why, sizeof why, "cannot be read: %s", strerror(errno));
        if (stream != NULL)
            fclose(stream);
        return wrong(place, what, why);
    }
    fclose(stream);
    if (length == sizeof text)
        return wrong(place, what, "is too long");
    text[length] = '\0';
    if (strlen(text) != length)
        return wrong(place, what, "has a control character or a second line in it");
    return keep(place, what, text, value, value_size) &&
           (value[0] != '\0' || wrong(place, what, "is empty"));
}

bool elsewhere_read(const char *text, char *value, size_t value_size, char *message, size_t size) {
    struct place place = {NULL, message, size};
    message[0] = '\0';
    if (strncmp(text, "env:", 4) == 0) {
        place.name = text + 4;
        return read_variable(&place, value, value_size);
    }
    if (strncmp(text, "file:", 5) == 0) {
        place.name = text + 5;
        return read_file(&place, value, value_size);
    }
    return keep(&place, "", text, value, value_size);
}
