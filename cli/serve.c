#include "command.h"
#include "flags.h"
#include "serve/daemon.h"

#include <unistd.h>

#define DEFAULT_CONFIG "lull.yaml"

struct serve_options {
    struct daemon_options daemon;
    bool help;
};

static bool set_config(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct serve_options *)options)->daemon.config_file = value;
    return true;
}

static bool set_listen(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct serve_options *)options)->daemon.listen = value;
    return true;
}

static bool set_store(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct serve_options *)options)->daemon.store = value;
    return true;
}

static bool set_help(void *options, const char *value, struct problem *problem) {
    (void)value, (void)problem;
    ((struct serve_options *)options)->help = true;
    return true;
}

static const struct flag flags[] = {
    {"config", 'c', "FILE",
     "the configuration (default: " DEFAULT_CONFIG " here, if there\n"
     "is one); SIGHUP reads it again",
     set_config},
    {"listen", 0, "ADDR:PORT", "where to listen (default: " SERVE_LISTEN ")", set_listen},
    {"store", 0, "URL", "where events are kept (default: " SERVE_STORE ")", set_store},
    {"help", 'h', NULL, "show this", set_help},
};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

int serve_command(int count, char **arguments) {
    struct serve_options options = {0};
    struct problem problem = {{0}};
    int taken = flags_parse(flags, FLAG_COUNT, &options, count, arguments, &problem);
    if (taken >= 0 && taken < count && !options.help) {
        problem_say(&problem, "serve takes no arguments but flags: %.100s", arguments[taken]);
        taken = -1;
    }
    if (taken < 0) {
        complain("%s", problem.text);
        fputs("lull: see lull help serve\n", stderr);
        return EXIT_USAGE;
    }
    if (options.help) {
        serve_help(stdout);
        return 0;
    }
    if (options.daemon.config_file == NULL && access(DEFAULT_CONFIG, F_OK) == 0)
        options.daemon.config_file = DEFAULT_CONFIG;
    return daemon_run(&options.daemon);
}

void serve_help(FILE *stream) {
    fputs("usage: lull serve [FLAG...]\n"
          "\n"
          "Accepts events over HTTP, keeps them on disk, and delivers each to its\n"
          "destinations until it is delivered or dead. Prints `listening on\n"
          "http://ADDR:PORT` first.\n"
          "\n",
          stream);
    flags_print(flags, FLAG_COUNT, stream);
    fputs("\n"
          "The flags override the configuration. Destinations on this machine or in a\n"
          "private network are not called unless the configuration's addresses.allow has\n"
          "them. SIGTERM finishes what is under way and ends.\n"
          "\n"
          "  lull dest add shop https://shop.example/hooks\n"
          "  lull send shop -d '{\"order\": 1}' -w\n"
          "  curl localhost:8080/v1/destinations/shop/events -d '{\"order\": 2}'\n",
          stream);
}
