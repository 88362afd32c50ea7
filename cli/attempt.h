/* One attempt: a command started, waited for, and killed if it takes too long.
 *
 *   RUNNING   until it ends, or its time is up: SIGTERM to it and all it has started
 *   ASKED     until all are gone, or the grace is over: SIGKILL
 *   FORCED    until all are gone, or LAST_PATIENCE is over: what will not die is left behind
 *
 * Signals that reach lull meanwhile are passed on to the command's process group.
 */
#ifndef CLI_ATTEMPT_H
#define CLI_ATTEMPT_H

#include "descendants.h"
#include "signals.h"
#include "terminal.h"

#include <lull/base.h>

/* What all attempts share. */
struct stage {
    struct signals signals;
    struct terminal terminal;
    struct descendants descendants;
};

void stage_init(struct stage *stage);
void stage_clean_up(struct stage *stage);

struct attempt_order {
    char **command;      /* ends in NULL */
    uint32_t number;     /* LULL_ATTEMPT */
    lull_duration left;  /* LULL_DEADLINE_MS; LULL_NEVER: no deadline, and no such variable */
    lull_time until;     /* when it is killed; LULL_NEVER: not at all */
    lull_duration grace; /* from SIGTERM to SIGKILL */
};

struct ending {
    /* As a shell has it: 128 + N if signal N killed it, 126 or 127 if it could not be run; and
     * 124 if lull killed it. */
    int code;
    int killed_by; /* the signal; 0: it exited */
    int error;     /* errno, if it could not be run */
    bool timed_out;
    bool left_behind; /* something of it would not die */
    int passed_on;    /* the last signal passed on to it that asks a program to end; 0: none */
};

struct ending attempt_run(struct stage *stage, const struct attempt_order *order);

/* Stops lull as its terminal's Ctrl-Z does, and returns when it is continued. */
void stop_here(void);

#endif
