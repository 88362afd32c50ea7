/* What `lull storm` was asked for. */
#ifndef CLI_STORM_OPTIONS_H
#define CLI_STORM_OPTIONS_H

#include "flags.h"
#include "scenario.h"

#define STORM_SCALE_LEAST 0.001
#define STORM_SCALE_MOST 100.0

struct storm_options {
    const char *scenario;                   /* a built-in's name, or a file; NULL: none given */
    const char *policies[SIM_MAX_POLICIES]; /* expressions, see policy.h */
    uint32_t policy_count;                  /* 0: those of the scenario */
    const char *json, *html;                /* files, "-": stdout; NULL: not wanted */
    const char *show;                       /* a built-in to print */
    uint64_t seed;
    bool seeded;
    double scale;           /* 0: 1 */
    lull_duration duration; /* 0: the scenario's */
    bool list, verbose, quiet, help;
};

extern const struct flag storm_flags[];
extern const size_t storm_flag_count;

/* The arguments after the word `storm`. Flags may stand before and after the scenario. False,
 * with a sentence for the user, if they make no sense. All pointers are borrowed from the
 * arguments. */
bool storm_options_parse(struct storm_options *options, int count, char **arguments,
                         struct problem *problem);

#endif
