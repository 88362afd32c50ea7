/* The scenarios that come with the program: sim/scenarios/, put into it by embed.py at build
 * time. */
#ifndef SIM_BUILTIN_H
#define SIM_BUILTIN_H

#include <stddef.h>

struct builtin {
    const char *name;    /* "checkout" */
    const char *summary; /* one line: the scenario's title */
    const char *text;    /* YAML */
};

/* Scenario i, from 0; NULL past the last. */
const struct builtin *builtin_at(size_t index);

/* The YAML of that name, or NULL. */
const char *builtin_scenario(const char *name);

#endif
