#include "builtin.h"

#include <string.h>

/* static const struct builtin builtins[] = {…}; made by embed.py */
#include "builtin_scenarios.h"

const struct builtin *builtin_at(size_t index) {
    return index < sizeof builtins / sizeof builtins[0] ? &builtins[index] : NULL;
}

const char *builtin_scenario(const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (strcmp(builtins[i].name, name) == 0)
            return builtins[i].text;
    return NULL;
}
