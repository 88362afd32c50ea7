/* Signals as a queue: blocked, and taken one at a time where the program waits. So there is no
 * handler, and no moment in which one could be missed.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <lull/base.h>
#include <signal.h>

struct signals {
    sigset_t taken;               /* what signals_wait returns */
    sigset_t mask_before;         /* as lull was started with, for the command */
    struct sigaction pipe_before; /* likewise */
};

/* Takes SIGCHLD and whatever is passed on to a command, but for those that lull was started with
 * ignored (nohup, a job in the background of a script): these stay ignored. */
void signals_take(struct signals *signals);

/* In the child, before exec: everything as lull was started with. */
void signals_restore(const struct signals *signals);

/* Waits for the next signal, at most until `until`: its number, or 0 when that moment has come. */
int signals_wait(const struct signals *signals, lull_time until);

/* Does it ask a program to end? */
bool signal_ends(int number);

/* "SIGTERM"; unknown ones are "signal 99". */
const char *signal_name(int number);

/* Now, on the clock that signals_wait keeps to. */
lull_time clock_now(void);

#endif
