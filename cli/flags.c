#include "flags.h"

#include "suggest.h"

#include <string.h>

enum { HELP_COLUMN = 26 };

/* A flag as it was typed: "--base=2s" is the name "base" and the value "2s". */
struct typed {
    const char *name;
    size_t name_length;
    const char *value; /* NULL: not given with a '=' */
};

static struct typed take_apart(const char *argument) {
    const char *name = argument + strspn(argument, "-");
    size_t length = strcspn(name, "=");
    return (struct typed){
        .name = name,
        .name_length = length,
        .value = name[length] == '=' ? name + length + 1 : NULL,
    };
}

static const struct flag *find(const struct flag *flags, size_t count, const char *argument,
                               const struct typed *typed) {
    bool is_long = argument[1] == '-';
    for (size_t i = 0; i < count; i++) {
        if (is_long ? strlen(flags[i].name) == typed->name_length &&
                          memcmp(flags[i].name, typed->name, typed->name_length) == 0
                    : typed->name_length == 1 && flags[i].letter == typed->name[0])
            return &flags[i];
    }
    return NULL;
}

static bool unknown(const struct flag *flags, size_t count, const char *argument,
                    const struct typed *typed, struct problem *problem) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)typed->name_length, typed->name);
    struct suggestion best = suggestion_for(name);
    for (size_t i = 0; i < count; i++)
        suggestion_offer(&best, flags[i].name);
    if (best.name != NULL && typed->name_length > 1)
        return problem_say(problem, "there is no flag %s; did you mean --%s?", argument, best.name);
    return problem_say(problem, "there is no flag %s", argument);
}

/* Sets the flag at arguments[0]; how many arguments it took, or -1. */
static int parse_one(const struct flag *flags, size_t flag_count, void *options, int count,
                     char **arguments, struct problem *problem) {
    struct typed typed = take_apart(arguments[0]);
    const struct flag *flag = find(flags, flag_count, arguments[0], &typed);
    struct problem inner = {{0}};
    int taken = 1;
    if (flag == NULL) {
        unknown(flags, flag_count, arguments[0], &typed, problem);
        return -1;
    }
    if (flag->value == NULL && typed.value != NULL) {
        problem_say(problem, "--%s takes no value", flag->name);
        return -1;
    }
    if (flag->value != NULL && typed.value == NULL && flag->value[0] != '[') {
        if (count < 2) {
            problem_say(problem, "--%s needs a value: --%s %s", flag->name, flag->name,
                        flag->value);
            return -1;
        }
        typed.value = arguments[1];
        taken = 2;
    }
    if (!flag->set(options, typed.value, &inner)) {
        problem_say(problem, "--%s %.100s: %.300s", flag->name,
                    typed.value == NULL ? "" : typed.value, inner.text);
        return -1;
    }
    return taken;
}

int flags_parse(const struct flag *flags, size_t flag_count, void *options, int count,
                char **arguments, struct problem *problem) {
    int at = 0;
    while (at < count && arguments[at][0] == '-' && arguments[at][1] != '\0') {
        if (strcmp(arguments[at], "--") == 0)
            return at + 1;
        int taken = parse_one(flags, flag_count, options, count - at, arguments + at, problem);
        if (taken < 0)
            return -1;
        at += taken;
    }
    return at;
}

static void print_one(const struct flag *flag, FILE *stream) {
    int column = flag->letter != 0 ? fprintf(stream, "  -%c, --%s", flag->letter, flag->name)
                                   : fprintf(stream, "  --%s", flag->name);
    if (flag->value != NULL)
        column += fprintf(stream, " %s", flag->value);
    if (column >= HELP_COLUMN) {
        fputc('\n', stream);
        column = 0;
    }
    for (const char *line = flag->help; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        fprintf(stream, "%*s%.*s\n", HELP_COLUMN - column, "", (int)length, line);
        line += length + (line[length] == '\n');
        column = 0;
    }
}

void flags_print(const struct flag *flags, size_t flag_count, FILE *stream) {
    for (size_t i = 0; i < flag_count; i++)
        print_one(&flags[i], stream);
}
