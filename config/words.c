#include "words.h"

#include <stdio.h>
#include <string.h>

size_t control_character(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if ((at[0] < 0x20 && at[0] != '\0') || at[0] == 0x7F)
        return 1;
    return at[0] == 0xC2 && at[1] >= 0x80 && at[1] <= 0x9F ? 2 : 0;
}

/* How much of `text` fits, no character cut in two. */
static size_t shown_length(const char *text) {
    size_t length = strlen(text);
    if (length <= QUOTE_LONGEST)
        return length;
    length = QUOTE_LONGEST;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return length;
}

char *tame(const char *text, char tamed[QUOTE_SIZE]) {
    size_t shown = shown_length(text), to = 0;
    for (size_t from = 0; from < shown;) {
        size_t control = control_character(text + from);
        tamed[to++] = (char)(control > 0 ? '?' : text[from]);
        from += control > 0 ? control : 1;
    }
    snprintf(tamed + to, QUOTE_SIZE - to, "%s", text[shown] != '\0' ? "…" : "");
    return tamed;
}

char *quote(const char *text, char quoted[QUOTE_SIZE]) {
    char tamed[QUOTE_SIZE];
    snprintf(quoted, QUOTE_SIZE, "\"%.45s\"", tame(text, tamed));
    return quoted;
}

struct names names_for(const char *typed) {
    return (struct names){.best = suggestion_for(typed)};
}

void names_offer(struct names *names, const char *name) {
    suggestion_offer(&names->best, name);
    names->count++;
    size_t room = sizeof names->list - names->length;
    int needed =
        snprintf(names->list + names->length, room, "%s%s", names->length > 0 ? ", " : "", name);
    if ((size_t)needed < room)
        names->length += (size_t)needed;
    else /* no half names */
        names->list[names->length] = '\0';
}

char *names_advice(const struct names *names, char *text, size_t size) {
    const char *verb = names->count == 1 ? "is" : "are";
    const char *list = names->count == 0 ? "none" : names->list;
    if (names->best.name != NULL)
        snprintf(text, size, "did you mean %s? There %s %s", names->best.name, verb, list);
    else
        snprintf(text, size, "there %s %s", verb, list);
    return text;
}
