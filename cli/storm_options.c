#include "storm_options.h"

#include "duration.h"
#include "number.h"

#include <string.h>

static bool set_policy(void *options, const char *value, struct problem *problem) {
    struct storm_options *storm = options;
    for (uint32_t i = 0; i < storm->policy_count; i++)
        if (strcmp(storm->policies[i], value) == 0)
            return problem_say(problem, "is given twice");
    if (storm->policy_count == SIM_MAX_POLICIES)
        return problem_say(problem, "too many; %d policies can be compared", SIM_MAX_POLICIES);
    storm->policies[storm->policy_count++] = value;
    return true;
}

static bool set_seed(void *options, const char *value, struct problem *problem) {
    struct storm_options *storm = options;
    storm->seeded = true;
    return number_parse(value, UINT64_MAX, &storm->seed) ||
           problem_say(problem, "must be a whole number below 2^64");
}

static bool set_scale(void *options, const char *value, struct problem *problem) {
    double *scale = &((struct storm_options *)options)->scale;
    return (decimal_parse(value, scale) && *scale >= STORM_SCALE_LEAST &&
            *scale <= STORM_SCALE_MOST) ||
           problem_say(problem, "must be a number from %g to %g", STORM_SCALE_LEAST,
                       STORM_SCALE_MOST);
}

static bool set_duration(void *options, const char *value, struct problem *problem) {
    lull_duration *duration = &((struct storm_options *)options)->duration;
    if (!duration_parse(value, duration))
        return problem_say(problem, "not a duration; write " DURATION_FORMS);
    return (*duration >= LULL_SECOND && *duration <= LULL_DAY) ||
           problem_say(problem, "must be from 1s to 24h");
}

#define TEXT(field)                                                                                \
    static bool set_##field(void *options, const char *value, struct problem *problem) {           \
        ((struct storm_options *)options)->field = value;                                          \
        return value[0] != '\0' || problem_say(problem, "is empty");                               \
    }
TEXT(json)
TEXT(html)
TEXT(show)
#undef TEXT

#define SWITCH(field)                                                                              \
    static bool set_##field(void *options, const char *value, struct problem *problem) {           \
        (void)value, (void)problem;                                                                \
        ((struct storm_options *)options)->field = true;                                           \
        return true;                                                                               \
    }
SWITCH(list)
SWITCH(verbose)
SWITCH(quiet)
SWITCH(help)
#undef SWITCH

const struct flag storm_flags[] = {
    {"policy", 'p', "NAME",
     "try this policy instead of the scenario's; may be\n"
     "given again to compare several. One of the\n"
     "scenario's, a preset, or words joined by +, as in\n"
     "full+budget+breaker",
     set_policy},
    {"html", 0, "FILE", "write a page with charts", set_html},
    {"json", 0, "FILE", "write the figures and their course; - is stdout", set_json},
    {"seed", 0, "N", "throw the dice differently (default: the scenario's)", set_seed},
    {"scale", 0, "X",
     "everything times X: rates, capacities, instances,\n"
     "users, queues; 0.1 is a quick look",
     set_scale},
    {"duration", 0, "D", "how long a run is, in the simulated world", set_duration},
    {"list", 0, NULL, "name the scenarios there are", set_list},
    {"show", 0, "SCENARIO", "print a scenario's file, as a start for your own", set_show},
    {"verbose", 'v', NULL, "say what each policy is", set_verbose},
    {"quiet", 'q', NULL, "no table, no progress", set_quiet},
    {"help", 'h', NULL, "show this", set_help},
};
const size_t storm_flag_count = sizeof storm_flags / sizeof storm_flags[0];

static bool take_scenario(struct storm_options *options, const char *word,
                          struct problem *problem) {
    if (options->scenario != NULL)
        return problem_say(problem, "one scenario at a time; %.100s and %.100s are two",
                           options->scenario, word);
    options->scenario = word;
    return true;
}

static bool make_sense(const struct storm_options *options, bool flags, struct problem *problem) {
    if (options->quiet && options->verbose)
        return problem_say(problem, "--quiet and --verbose exclude each other");
    if (options->json != NULL && options->html != NULL && strcmp(options->json, "-") == 0 &&
        strcmp(options->html, "-") == 0)
        return problem_say(problem, "--json and --html cannot both go to stdout");
    if (options->json != NULL && options->html != NULL && strcmp(options->json, "-") != 0 &&
        strcmp(options->json, options->html) == 0)
        return problem_say(problem, "--json and --html name the same file, %.200s", options->json);
    if (flags && options->scenario == NULL)
        return problem_say(problem, "which scenario? lull storm --list names those there are; or "
                                    "give a file");
    return true;
}

bool storm_options_parse(struct storm_options *options, int count, char **arguments,
                         struct problem *problem) {
    *options = (struct storm_options){0};
    int at = 0;
    bool words_only = false;
    while (at < count) {
        int taken = words_only ? 0
                               : flags_parse(storm_flags, storm_flag_count, options, count - at,
                                             arguments + at, problem);
        if (taken < 0)
            return false;
        words_only = words_only || (taken > 0 && strcmp(arguments[at + taken - 1], "--") == 0);
        at += taken;
        if (at < count && !take_scenario(options, arguments[at++], problem))
            return false;
    }
    if (options->help || options->list || options->show != NULL)
        return true;
    return make_sense(options, count > 0, problem);
}
