/* The terminal, lent to the command.
 *
 * The command has a process group of its own, so that it can be killed with its children. Only the
 * foreground group may read from a terminal and gets its Ctrl-C and Ctrl-Z: so while the command
 * runs, that is its group. Nothing is lent if stdin is no terminal, or if lull is in the background
 * itself.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
    bool present;         /* stdin is our controlling terminal */
    struct termios modes; /* as found */
};

void terminal_init(struct terminal *terminal);

/* Is lull in the foreground, and so may lend it? */
bool terminal_ours(const struct terminal *terminal);

/* To the group. By lull, or by the group's first process before exec. */
void terminal_lend(const struct terminal *terminal, pid_t group);

/* Back from the group, if it has it. */
void terminal_take_back(const struct terminal *terminal, pid_t group);

/* After a command was killed it may be left without echo or worse. */
void terminal_repair(const struct terminal *terminal);

#endif
