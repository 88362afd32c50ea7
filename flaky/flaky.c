#include "command.h"
#include "duration.h"
#include "flags.h"
#include "server.h"

#define DEFAULT_LISTEN "127.0.0.1:9000"

struct flaky_options {
    struct server_options server;
    bool help;
};

static struct flaky_options *options_of(void *options) {
    return options;
}

#define FLAKY_X(id, ...)                                                                           \
    static bool set_##id(void *options, const char *value, struct problem *problem) {              \
        return setting_read(&options_of(options)->server.settings, SETTING_##id, value, problem);  \
    }
SETTINGS_MAP(FLAKY_X)
#undef FLAKY_X

static bool set_listen(void *options, const char *value, struct problem *problem) {
    return listener_init(&options_of(options)->server.listener, value, problem);
}

static bool set_control(void *options, const char *value, struct problem *problem) {
    options_of(options)->server.has_control = true;
    return listener_init(&options_of(options)->server.control, value, problem);
}

static bool set_for(void *options, const char *value, struct problem *problem) {
    lull_duration *run_for = &options_of(options)->server.run_for;
    if (!duration_parse(value, run_for) || *run_for > 100 * 365 * LULL_DAY)
        return problem_say(problem, "not a duration; write " DURATION_FORMS);
    return *run_for > 0 || problem_say(problem, "must be longer than 0");
}

static bool set_help(void *options, const char *value, struct problem *problem) {
    (void)value, (void)problem;
    options_of(options)->help = true;
    return true;
}

static const struct flag flags[] = {
    {"listen", 0, "ADDR:PORT",
     "where to serve (default: " DEFAULT_LISTEN ");\n"
     "port 0: any free one",
     set_listen},
    {"control", 0, "ADDR:PORT", "the control endpoint alone, here too: always reachable",
     set_control},
    {"for", 0, "D", "end by itself after this time", set_for},
#define FLAKY_X(id, name, type, member, scope, value, help) {name, 0, value, help, set_##id},
    SETTINGS_MAP(FLAKY_X)
#undef FLAKY_X
        {"help", 'h', NULL, "show this", set_help},
};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

static bool parse(struct flaky_options *options, int count, char **arguments,
                  struct problem *problem) {
    struct settings_problem cross;
    *options = (struct flaky_options){.server.settings = settings_defaults};
    if (!listener_init(&options->server.listener, DEFAULT_LISTEN, problem))
        return false;
    int taken = flags_parse(flags, FLAG_COUNT, options, count, arguments, problem);
    if (taken < 0)
        return false;
    if (options->help)
        return true;
    if (taken < count)
        return problem_say(problem, "flaky takes no arguments but flags: %.100s", arguments[taken]);
    if (!settings_check(&options->server.settings, &cross)) {
        *problem = cross.problem;
        return false;
    }
    return true;
}

int flaky_command(int count, char **arguments) {
    static struct flaky_options options; /* large */
    struct problem problem = {{0}};
    if (!parse(&options, count, arguments, &problem)) {
        complain("%s", problem.text);
        fputs("lull: see lull help flaky\n", stderr);
        return EXIT_USAGE;
    }
    if (options.help) {
        flaky_help(stdout);
        return 0;
    }
    return server_run(&options.server);
}

void flaky_help(FILE *stream) {
    fputs("usage: lull flaky [FLAG...]\n"
          "\n"
          "Serves HTTP, and misbehaves as told. Prints `listening on http://ADDR:PORT` first.\n"
          "\n",
          stream);
    flags_print(flags, FLAG_COUNT, stream);
    fputs("\n"
          "D is a duration: 500ms, 2s, 5m, 1h, 1h30m. SHARE is 0 to 1, as in 0.3.\n"
          "\n"
          "Every setting can be changed while it runs:\n"
          "\n"
          "  curl -X PATCH localhost:9000/_flaky -d '{\"fail\":0.3,\"latency\":\"50ms+-20ms\"}'\n"
          "  curl localhost:9000/_flaky              settings and counters\n"
          "  curl localhost:9000/_flaky/arrivals     what came when\n"
          "  curl localhost:9000/metrics             for Prometheus\n",
          stream);
}
