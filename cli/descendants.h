/* Everything a command has started, wherever it went.
 *
 * A process group catches most of it. What has left the group (setsid, a shell with job control) is
 * found by its parents in /proc: lull is made the subreaper, so that an orphan among its
 * descendants becomes its child and not init's. Where there is no /proc, the group is all there is.
 */
#ifndef CLI_DESCENDANTS_H
#define CLI_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

struct descendants {
    pid_t *strangers; /* children lull had before it began: exec keeps them. Owned. */
    size_t stranger_count;
};

void descendants_init(struct descendants *descendants);
void descendants_clean_up(struct descendants *descendants);

/* Sends a signal to the group and to every other descendant (0: none is sent). How many are alive;
 * zombies are not. */
size_t descendants_signal(const struct descendants *descendants, pid_t group, int signal);

#endif
