#include "terminal.h"

#include <unistd.h>

void terminal_init(struct terminal *terminal) {
    terminal->present =
        tcgetattr(STDIN_FILENO, &terminal->modes) == 0 && tcgetsid(STDIN_FILENO) == getsid(0);
}

bool terminal_ours(const struct terminal *terminal) {
    return terminal->present && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void terminal_lend(const struct terminal *terminal, pid_t group) {
    if (terminal->present)
        tcsetpgrp(STDIN_FILENO, group);
}

void terminal_take_back(const struct terminal *terminal, pid_t group) {
    if (terminal->present && tcgetpgrp(STDIN_FILENO) == group)
        tcsetpgrp(STDIN_FILENO, getpgrp());
}

void terminal_repair(const struct terminal *terminal) {
    if (terminal_ours(terminal))
        tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->modes);
}
