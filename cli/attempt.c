#include "attempt.h"

#include "run_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAST_PATIENCE (5 * LULL_SECOND)
#define LOOK_AGAIN (20 * LULL_MILLISECOND)

struct attempt {
    struct stage *stage;
    const struct attempt_order *order;
    pid_t pid; /* and the process group's number */
    enum { RUNNING, ASKED, FORCED } phase;
    lull_time next; /* when the phase is over */
    bool ended;     /* the command itself */
    bool suspended; /* a Ctrl-Z was passed on: lull stops when the command has */
    int status;
    struct ending ending;
};

void stage_init(struct stage *stage) {
    terminal_init(&stage->terminal);
    descendants_init(&stage->descendants);
    signals_take(&stage->signals);
}

void stage_clean_up(struct stage *stage) {
    descendants_clean_up(&stage->descendants);
}

static lull_time later(lull_time moment, lull_duration by) {
    lull_time sum;
    return __builtin_add_overflow(moment, by, &sum) ? LULL_NEVER : sum;
}

static void tell(const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    setenv(name, text, 1);
}

/* In the child. `report` carries errno to lull if exec fails, and closes by itself otherwise. */
static _Noreturn void become_command(const struct stage *stage, const struct attempt_order *order,
                                     bool lend, int report) {
    setpgid(0, 0);
    if (lend)
        terminal_lend(&stage->terminal, getpid());
    tell("LULL_ATTEMPT", order->number);
    if (order->left == LULL_NEVER)
        unsetenv("LULL_DEADLINE_MS");
    else
        tell("LULL_DEADLINE_MS", (uint64_t)(order->left / LULL_MILLISECOND));
    signals_restore(&stage->signals);
    execvp(order->command[0], order->command);
    int error = errno;
    if (write(report, &error, sizeof error) != sizeof error)
        _exit(126);
    _exit(127);
}

/* 0, or errno if the command could not be started. */
static int start(struct attempt *attempt) {
    const struct terminal *terminal = &attempt->stage->terminal;
    bool lend = terminal_ours(terminal);
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    attempt->pid = fork();
    if (attempt->pid < 0) {
        error = errno;
        close(report[0]), close(report[1]);
        return error;
    }
    if (attempt->pid == 0)
        become_command(attempt->stage, attempt->order, lend, report[1]);
    /* Both sides do this, so that neither has to wait for the other. */
    setpgid(attempt->pid, attempt->pid);
    if (lend)
        terminal_lend(terminal, attempt->pid);
    close(report[1]);
    if (read(report[0], &error, sizeof error) == sizeof error)
        waitpid(attempt->pid, NULL, 0);
    close(report[0]);
    return error;
}

void stop_here(void) {
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &before);
    kill(
        0,
        SIGTSTP); /* the whole job, as the terminal would; an orphaned group is not stopped by it */
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The command was stopped: so is lull, that the shell may have its terminal. A command that
 * somebody stops by hand where there is no terminal stays their affair. */
static void stop_along(struct attempt *attempt) {
    const struct terminal *terminal = &attempt->stage->terminal;
    if (!terminal->present && !attempt->suspended)
        return;
    attempt->suspended = false;
    terminal_take_back(terminal, attempt->pid);
    stop_here();
    if (terminal_ours(terminal))
        terminal_lend(terminal, attempt->pid);
    kill(-attempt->pid, SIGCONT);
}

/* Takes in whoever has ended or stopped. Orphans that came to us are only buried. */
static void reap(struct attempt *attempt) {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != attempt->pid)
            continue;
        if (WIFSTOPPED(status)) {
            stop_along(attempt);
            continue;
        }
        attempt->ended = true;
        attempt->status = status;
    }
}

static void pass_on(struct attempt *attempt, int number) {
    if (signal_ends(number))
        attempt->ending.passed_on = number;
    if (number == SIGTSTP)
        attempt->suspended = true;
    if (number == SIGCONT && terminal_ours(&attempt->stage->terminal))
        terminal_lend(&attempt->stage->terminal, attempt->pid);
    if (!attempt->ended)
        kill(-attempt->pid, number);
}

static void ask(struct attempt *attempt, lull_time now) {
    attempt->phase = ASKED;
    attempt->next = later(now, attempt->order->grace);
    descendants_signal(&attempt->stage->descendants, attempt->pid, SIGTERM);
    kill(-attempt->pid, SIGCONT); /* the stopped must hear it, too */
}

static void force(struct attempt *attempt, lull_time now) {
    attempt->phase = FORCED;
    attempt->next = later(now, LAST_PATIENCE);
    descendants_signal(&attempt->stage->descendants, attempt->pid, SIGKILL);
}

/* The phase's time is over. */
static void escalate(struct attempt *attempt, lull_time now) {
    attempt->ending.timed_out = true;
    if (attempt->phase == FORCED)
        attempt->ending.left_behind = true;
    else if (attempt->phase == RUNNING && attempt->order->grace > 0)
        ask(attempt, now);
    else
        force(attempt, now);
}

static bool over(const struct attempt *attempt) {
    if (attempt->phase == RUNNING)
        return attempt->ended;
    if (attempt->ending.left_behind)
        return true;
    /* Whoever was born while the others were being killed is found here. */
    int signal = attempt->phase == FORCED ? SIGKILL : 0;
    return attempt->ended &&
           descendants_signal(&attempt->stage->descendants, attempt->pid, signal) == 0;
}

static void watch(struct attempt *attempt) {
    while (!over(attempt)) {
        lull_time until = attempt->next;
        if (attempt->phase == FORCED && until > later(clock_now(), LOOK_AGAIN))
            until = later(clock_now(), LOOK_AGAIN);
        int number = signals_wait(&attempt->stage->signals, until);
        if (number == SIGCHLD)
            reap(attempt);
        else if (number != 0)
            pass_on(attempt, number);
        else if (clock_now() >= attempt->next)
            escalate(attempt, clock_now());
    }
}

static void conclude(struct attempt *attempt) {
    struct ending *ending = &attempt->ending;
    if (attempt->ended && WIFSIGNALED(attempt->status))
        ending->killed_by = WTERMSIG(attempt->status);
    if (ending->timed_out)
        ending->code = RUN_TIMED_OUT;
    else if (ending->killed_by != 0)
        ending->code = 128 + ending->killed_by;
    else
        ending->code = WEXITSTATUS(attempt->status);
    terminal_take_back(&attempt->stage->terminal, attempt->pid);
    if (ending->killed_by != 0 || ending->timed_out)
        terminal_repair(&attempt->stage->terminal);
}

struct ending attempt_run(struct stage *stage, const struct attempt_order *order) {
    struct attempt attempt = {
        .stage = stage, .order = order, .phase = RUNNING, .next = order->until};
    attempt.ending.error = start(&attempt);
    if (attempt.ending.error != 0) {
        attempt.ending.code = attempt.ending.error == ENOENT ? 127 : 126;
        terminal_take_back(&stage->terminal, attempt.pid);
        return attempt.ending;
    }
    watch(&attempt);
    conclude(&attempt);
    return attempt.ending;
}
