/* Flags of a command: one table makes the parser, the help and the suggestions.
 *
 *   --name VALUE, --name=VALUE, --switch, -q
 *
 * They end at the first word that is not a flag, or after a `--`.
 */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "problem.h"

#include <stddef.h>
#include <stdio.h>

struct flag {
    const char *name; /* without its dashes */
    char letter;      /* the short form; 0: none */
    /* What the help calls its value; NULL: it takes none. "[D]": it may have one, written with a
     * '=', for else the next word would be taken for it. */
    const char *value;
    const char *help; /* lines are broken by '\n' */
    /* Keeps the value (borrowed; NULL if the flag has none), or says in `problem` what would be
     * right. */
    bool (*set)(void *options, const char *value, struct problem *problem);
};

/* Reads flags from arguments[0 … count-1] into `options`. The number of arguments read, or -1 and a
 * problem that names the flag, the value and what would be right. */
int flags_parse(const struct flag *flags, size_t flag_count, void *options, int count,
                char **arguments, struct problem *problem);

/* The flags and what they do, as a list for people. */
void flags_print(const struct flag *flags, size_t flag_count, FILE *stream);

#endif
