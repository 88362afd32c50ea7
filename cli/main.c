/* lull: the program. Finds the command and hands over to it. */
#include "command.h"
#include "problem.h"
#include "suggest.h"

#include <lull/base.h>
#include <stdlib.h>
#include <string.h>

static int help_command(int count, char **arguments);
static int version_command(int count, char **arguments);
static void help_help(FILE *stream);
static void version_help(FILE *stream);

const struct command commands[] = {
    {"serve", "accept events and deliver them, whatever happens", serve_command, serve_help},
    {"check", "look whether a configuration, or a store, is fine", check_command, check_help},
    {"send", "hand an event to a running server", send_command, send_help},
    {"dest", "destinations: list, add, change, pause, resume, remove", dest_command, dest_help},
    {"event", "what became of events", event_command, event_help},
    {"dlq", "dead letters: list, show, replay, drop", dlq_command, dlq_help},
    {"run", "run a command, and again while it fails and a policy allows", run_command, run_help},
    {"storm", "simulate an outage under retry policies, before it happens", storm_command,
     storm_help},
    {"flaky", "an HTTP server that misbehaves on demand", flaky_command, flaky_help},
    {"version", "show the version", version_command, version_help},
    {"help", "show this, or the help of a command", help_command, help_help},
    {0},
};

const struct command *command_find(const char *name) {
    struct suggestion best = suggestion_for(name);
    for (const struct command *command = commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
        suggestion_offer(&best, command->name);
    }
    if (best.name != NULL)
        complain("there is no command %s; did you mean %s?", name, best.name);
    else
        complain("there is no command %s; see lull help", name);
    return NULL;
}

static void overview(FILE *stream) {
    fputs("lull: retries that never become a storm\n"
          "\n"
          "usage: lull COMMAND [ARG...]\n"
          "\n",
          stream);
    for (const struct command *command = commands; command->name != NULL; command++)
        fprintf(stream, "  %-10s%s\n", command->name, command->summary);
    fputs("\n"
          "lull help COMMAND says more.\n",
          stream);
}

static int help_command(int count, char **arguments) {
    if (count == 0) {
        overview(stdout);
        return 0;
    }
    const struct command *command = command_find(arguments[0]);
    if (command == NULL)
        return EXIT_USAGE;
    command->help(stdout);
    return 0;
}

static void help_help(FILE *stream) {
    fputs("usage: lull help [COMMAND]\n", stream);
}

static int version_command(int count, char **arguments) {
    (void)count, (void)arguments;
    puts("lull " LULL_VERSION);
    return 0;
}

static void version_help(FILE *stream) {
    fputs("usage: lull version\n", stream);
}

/* The spellings people try first. */
static const char *plain_name(const char *typed) {
    if (strcmp(typed, "--help") == 0 || strcmp(typed, "-h") == 0)
        return "help";
    if (strcmp(typed, "--version") == 0 || strcmp(typed, "-V") == 0)
        return "version";
    return typed;
}

int main(int count, char **arguments) {
    /* Lines of several pieces reach stderr in one write; every writer flushes. */
    static char buffer[BUFSIZ];
    setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
    if (count < 2) {
        overview(stderr);
        fflush(stderr);
        return EXIT_USAGE;
    }
    const struct command *command = command_find(plain_name(arguments[1]));
    int code = command == NULL ? EXIT_USAGE : command->run(count - 2, arguments + 2);
    if (fflush(stdout) != 0 && code == 0) {
        complain("cannot write to stdout");
        return EXIT_FAILURE;
    }
    return code;
}
