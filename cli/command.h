/* The commands of the program `lull`. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

enum { EXIT_USAGE = 2 };

struct command {
    const char *name;
    const char *summary;
    int (*run)(int count,
               char **arguments); /* what follows the command's name; gives the exit code */
    void (*help)(FILE *stream);
};

extern const struct command commands[]; /* ends with a NULL name */

/* NULL if there is no such command; then the complaint has been made. */
const struct command *command_find(const char *name);

int serve_command(int count, char **arguments);
void serve_help(FILE *stream);
int check_command(int count, char **arguments);
void check_help(FILE *stream);
int send_command(int count, char **arguments);
void send_help(FILE *stream);
int dest_command(int count, char **arguments);
void dest_help(FILE *stream);
int event_command(int count, char **arguments);
void event_help(FILE *stream);
int dlq_command(int count, char **arguments);
void dlq_help(FILE *stream);
int run_command(int count, char **arguments);
void run_help(FILE *stream);
int storm_command(int count, char **arguments);
void storm_help(FILE *stream);
int flaky_command(int count, char **arguments);
void flaky_help(FILE *stream);

#endif
