/* What `lull run` was asked for: flags over a preset, checked. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include "duration.h"
#include "exit_codes.h"
#include "flags.h"

#include <lull.h>

/* A command is a job: it may take as long as it likes unless told otherwise. */
#define RUN_PRESET "worker"
#define RUN_GRACE (2 * LULL_SECOND)
#define RUN_TIMED_OUT 124 /* as timeout(1) has it */

struct run_options {
    struct lull_guard_config config; /* settled; retry and deadline only */
    const char *preset;
    struct exit_codes retry_on, stop_on;
    lull_duration grace; /* from SIGTERM to SIGKILL */
    uint64_t seed;
    bool seeded;
    bool quiet, json, dry_run, retry_nested, help;
    char **command; /* borrowed, ends in NULL; command[0] is NULL if there is none */

    /* As typed; zero where the preset's value stands. Any order of flags means the same. */
    struct lull_retry_config typed;
};

extern const struct flag run_flags[];
extern const size_t run_flag_count;

/* The arguments after the word `run`. False, with a sentence for the user, if they are wrong. */
bool run_options_parse(struct run_options *options, int count, char **arguments,
                       struct problem *problem);

/* How to take an exit code. `timed_out`: lull killed the command; `cancelled`: the user did. */
enum lull_class run_options_classify(const struct run_options *options, int code, bool timed_out,
                                     bool cancelled);

#endif
