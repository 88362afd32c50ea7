#include "value.h"

#include "duration.h"
#include "number.h"
#include "units.h"
#include "words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message being written. */
struct sentence {
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static bool say(struct sentence to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(to.text, to.size, format, arguments);
    va_end(arguments);
    return false;
}

static const struct {
    const char *noun, *advice;
} kinds[] = {
    [FIELD_DURATION] = {"a duration", "write for example " DURATION_FORMS},
    [FIELD_RATE] = {"a rate", "write for example " RATE_FORMS},
    [FIELD_SIZE] = {"a size", "write for example " SIZE_FORMS},
    [FIELD_INTEGER] = {"a whole number", "write for example 100"},
    [FIELD_NUMBER] = {"a number", "write for example 2 or 1.5"},
    [FIELD_FLAG] = {"a flag", "write true or false"},
    [FIELD_TEXT] = {"a text", ""},
    [FIELD_CHOICE] = {"a name", ""},
    [FIELD_SET] = {"a list of names", ""},
    [FIELD_MAP] = {"a map of keys", ""},
    [FIELD_LIST] = {"a list", ""},
    [FIELD_CUSTOM] = {"a value", ""},
    [FIELD_LOOKUP] = {"a value", ""},
    [FIELD_HEAP_LIST] = {"a list", ""},
    [FIELD_PAIRS] = {"a map of keys", ""},
};

const char *value_noun(enum field_kind kind) {
    return kinds[kind].noun;
}

const char *value_advice(enum field_kind kind) {
    return kinds[kind].advice;
}

static bool not_one(const struct field *field, const char *text, struct sentence to) {
    char quoted[QUOTE_SIZE];
    return say(to, "%s is not %s; %s%s", quote(text, quoted), kinds[field->kind].noun,
               kinds[field->kind].advice, field->none ? ", or none" : "");
}

/* Two's complement makes one rule of signed and unsigned. */
static void store(const struct field *field, void *member, int64_t value) {
    switch (field->size) {
    case 1: {
        int8_t narrow = (int8_t)value;
        memcpy(member, &narrow, 1);
        break;
    }
    case 2: {
        int16_t narrow = (int16_t)value;
        memcpy(member, &narrow, 2);
        break;
    }
    case 4: {
        int32_t narrow = (int32_t)value;
        memcpy(member, &narrow, 4);
        break;
    }
    default:
        memcpy(member, &value, 8);
    }
}

/* ---- bounds ---- */

typedef void bound_text_fn(int64_t bound, char text[DURATION_TEXT_SIZE]);

static void whole_text(int64_t bound, char text[DURATION_TEXT_SIZE]) {
    snprintf(text, DURATION_TEXT_SIZE, "%lld", (long long)bound);
}

static void duration_bound_text(int64_t bound, char text[DURATION_TEXT_SIZE]) {
    if (bound > 0 && bound < LULL_MILLISECOND) /* a rounded bound would be a wrong one */
        snprintf(text, DURATION_TEXT_SIZE, "%.6gus", (double)bound / LULL_MICROSECOND);
    else
        duration_format(bound, text);
}

static void size_text(int64_t bound, char text[DURATION_TEXT_SIZE]) {
    int unit = 0;
    while (unit < 3 && bound > 0 && bound % 1024 == 0) {
        bound /= 1024;
        unit++;
    }
    snprintf(text, DURATION_TEXT_SIZE, "%lld%s", (long long)bound,
             (const char *[]){"", "k", "m", "g"}[unit]);
}

/* `high` NULL: there is no upper bound. */
static bool out_of_range(const struct field *field, const char *text, const char *low,
                         const char *high, struct sentence to) {
    char quoted[QUOTE_SIZE];
    const char *none = field->none ? ", or none" : "";
    quote(text, quoted);
    if (high == NULL)
        return say(to, "%s is out of range; it must be at least %s%s", quoted, low, none);
    return say(to, "%s is out of range; it must be from %s to %s%s", quoted, low, high, none);
}

static int64_t highest_of(const struct field *field) {
    int64_t held = field->size < 8 ? (INT64_C(1) << (8 * field->size - 1)) - 1 : INT64_MAX;
    return field->highest != 0 ? field->highest : held;
}

static bool out_of_bounds(const struct field *field, const char *text, bound_text_fn *bound_text,
                          struct sentence to) {
    int64_t highest = highest_of(field);
    char low[DURATION_TEXT_SIZE], high[DURATION_TEXT_SIZE];
    bound_text(field->lowest, low);
    bound_text(highest, high);
    return out_of_range(field, text, low, highest != INT64_MAX ? high : NULL, to);
}

static bool store_bounded(const struct field *field, const char *text, int64_t value, void *member,
                          bound_text_fn *bound_text, struct sentence to) {
    if (value < field->lowest || value > highest_of(field))
        return out_of_bounds(field, text, bound_text, to);
    store(field, member, value);
    return true;
}

static bool store_number(const struct field *field, const char *text, double value, void *member,
                         const char *unit, struct sentence to) {
    if (value >= field->least && (field->most == 0 || value <= field->most)) {
        memcpy(member, &value, sizeof value);
        return true;
    }
    char low[40], high[40];
    snprintf(low, sizeof low, "%.10g%s", field->least, unit);
    snprintf(high, sizeof high, "%.10g%s", field->most, unit);
    return out_of_range(field, text, low, field->most != 0 ? high : NULL, to);
}

/* ---- kinds ---- */

static bool read_duration(const struct field *field, const char *text, void *member,
                          struct sentence to) {
    lull_duration duration;
    if (!duration_parse(text, &duration))
        return not_one(field, text, to);
    return store_bounded(field, text, duration, member, duration_bound_text, to);
}

static bool read_rate(const struct field *field, const char *text, void *member,
                      struct sentence to) {
    double count;
    lull_duration per;
    if (!rate_parse(text, &count, &per))
        return not_one(field, text, to);
    return store_number(field, text, count / ((double)per / LULL_SECOND), member, "/s", to);
}

static bool read_size(const struct field *field, const char *text, void *member,
                      struct sentence to) {
    int64_t bytes;
    if (!size_parse(text, &bytes))
        return not_one(field, text, to);
    return store_bounded(field, text, bytes, member, size_text, to);
}

static bool read_integer(const struct field *field, const char *text, void *member,
                         struct sentence to) {
    uint64_t number;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return not_one(field, text, to);
    if (!number_parse(text, INT64_MAX, &number) && highest_of(field) == INT64_MAX)
        return say(to, "is too large; it must be at most %lld", (long long)INT64_MAX);
    if (!number_parse(text, INT64_MAX, &number))
        return out_of_bounds(field, text, whole_text, to);
    return store_bounded(field, text, (int64_t)number, member, whole_text, to);
}

static bool read_number(const struct field *field, const char *text, void *member,
                        struct sentence to) {
    double number;
    if (!decimal_parse(text, &number))
        return not_one(field, text, to);
    return store_number(field, text, number, member, "", to);
}

static bool read_flag(const struct field *field, const char *text, void *member,
                      struct sentence to) {
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "no") != 0)
        return not_one(field, text, to);
    memcpy(member, &yes, sizeof yes);
    return true;
}

static bool read_text(const struct field *field, const char *text, void *member,
                      struct sentence to) {
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        length--; /* a folded text ends in one */
    if (length == 0 && field->required)
        return say(to, "must not be empty");
    if (length >= field->size)
        return say(to, "is %zu bytes long; at most %zu are kept", length, field->size - 1);
    for (const char *at = text; at < text + length; at++) {
        if (*at == '\n')
            return say(to, "has more than one line; write > instead of | to fold them into one");
        if (control_character(at) > 0)
            return say(to, "has a control character in it; remove it");
    }
    memset(member, 0, field->size);
    memcpy(member, text, length);
    return true;
}

static bool read_choice(const struct field *field, const char *text, void *member,
                        struct sentence to) {
    struct names names = names_for(text);
    for (const struct choice *choice = field->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, text) == 0) {
            store(field, member, choice->value);
            return true;
        }
        names_offer(&names, choice->name);
    }
    char quoted[QUOTE_SIZE], advice[500];
    return say(to, "%s is not known; %s", quote(text, quoted),
               names_advice(&names, advice, sizeof advice));
}

bool value_read(const struct field *field, const char *text, void *member, char *message,
                size_t size) {
    struct sentence to = {message, size};
    if (field->none && strcmp(text, "none") == 0) {
        if (field->kind == FIELD_NUMBER)
            memcpy(member, &(double){LULL_NONE}, sizeof(double));
        else
            store(field, member, LULL_NONE);
        return true;
    }
    switch (field->kind) {
    case FIELD_DURATION:
        return read_duration(field, text, member, to);
    case FIELD_RATE:
        return read_rate(field, text, member, to);
    case FIELD_SIZE:
        return read_size(field, text, member, to);
    case FIELD_INTEGER:
        return read_integer(field, text, member, to);
    case FIELD_NUMBER:
        return read_number(field, text, member, to);
    case FIELD_FLAG:
        return read_flag(field, text, member, to);
    case FIELD_TEXT:
        return read_text(field, text, member, to);
    case FIELD_CUSTOM:
        return field->read(text, member, message, size);
    default:
        return read_choice(field, text, member, to);
    }
}
