#include "signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int passed_on[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP};

static bool ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void signals_take(struct signals *signals) {
    /* Were SIGCHLD ignored, children would vanish without a status. */
    signal(SIGCHLD, SIG_DFL);
    /* A reader of our stderr who has left must not be the end of the command. */
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &signals->pipe_before);

    sigemptyset(&signals->taken);
    sigaddset(&signals->taken, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        if (!ignored(passed_on[i]))
            sigaddset(&signals->taken, passed_on[i]);
    }
    sigset_t blocked = signals->taken;
    sigaddset(&blocked, SIGTTOU); /* so that lull may take the terminal back from the background */
    sigprocmask(SIG_BLOCK, &blocked, &signals->mask_before);
}

void signals_restore(const struct signals *signals) {
    sigaction(SIGPIPE, &signals->pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

int signals_wait(const struct signals *signals, lull_time until) {
    for (;;) {
        lull_time now = clock_now();
        lull_duration left = until > now ? until - now : 0;
        struct timespec timeout = {.tv_sec = left / LULL_SECOND, .tv_nsec = left % LULL_SECOND};
        int number = sigtimedwait(&signals->taken, NULL, &timeout);
        if (number > 0)
            return number;
        if (errno == EAGAIN && clock_now() >= until)
            return 0;
    }
}

bool signal_ends(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

const char *signal_name(int number) {
    static char text[32];
    const char *name = sigabbrev_np(number);
    if (name != NULL)
        snprintf(text, sizeof text, "SIG%s", name);
    else
        snprintf(text, sizeof text, "signal %d", number);
    return text;
}

lull_time clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * LULL_SECOND + now.tv_nsec;
}
