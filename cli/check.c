/* lull check: is the configuration fine? And the store? Reads only. */
#include "command.h"
#include "config/serve.h"
#include "flags.h"
#include "json.h"
#include "net/url.h"
#include "store/sqlite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_FILE "lull.yaml"

struct check_options {
    const char *file, *store; /* NULL: not given */
    bool json, help;
};

/* What was found. */
struct findings {
    bool read; /* there was a file to read */
    int result;
    struct serve_config config;
    struct reader_error error;
    int store_result;
    char store_problem[STORE_PROBLEM_SIZE];
};

/* ---- flags ---- */

static bool set_file(void *options, const char *value, struct problem *problem) {
    ((struct check_options *)options)->file = value;
    return value[0] != '\0' || problem_say(problem, "is empty");
}

static bool set_store(void *options, const char *value, struct problem *problem) {
    ((struct check_options *)options)->store = value;
    return serve_store_check(value, problem->text, sizeof problem->text);
}

#define SWITCH(field)                                                                              \
    static bool set_##field(void *options, const char *value, struct problem *problem) {           \
        (void)value, (void)problem;                                                                \
        ((struct check_options *)options)->field = true;                                           \
        return true;                                                                               \
    }
SWITCH(json)
SWITCH(help)
#undef SWITCH

static const struct flag check_flags[] = {
    {"config", 'c', "FILE", "the configuration (default: " USUAL_FILE ", here)", set_file},
    {"store", 0, "URL", "read all of a store, too: sqlite:PATH", set_store},
    {"json", 0, NULL, "say it in JSON, for machines", set_json},
    {"help", 'h', NULL, "show this", set_help},
};
enum { FLAG_COUNT = sizeof check_flags / sizeof check_flags[0] };

void check_help(FILE *stream) {
    fputs("usage: lull check [-c FILE] [--store URL] [--json]\n"
          "\n"
          "Reads the configuration of lull serve and says whether it is fine or, with\n"
          "its line and key, what is wrong. Nothing is changed.\n"
          "\n",
          stream);
    flags_print(check_flags, FLAG_COUNT, stream);
    fputs("\n"
          "Exit code: 0 fine, 1 the store is not, 2 the configuration is not.\n",
          stream);
}

/* ---- what is said ---- */

static const char *plural(uint32_t count, const char *one, const char *many) {
    return count == 1 ? one : many;
}

static void tell_config(const struct findings *findings) {
    const struct serve_config *config = &findings->config;
    char text[2000];
    if (findings->result != LULL_OK) {
        fprintf(stderr, "%s\n", reader_error_format(&findings->error, text, sizeof text));
        fflush(stderr);
        return;
    }
    printf("%s: fine: %u %s, %u %s; listens on %s, store %s\n", findings->error.file,
           config->destination_count,
           plural(config->destination_count, "destination", "destinations"), config->policy_count,
           plural(config->policy_count, "policy", "policies"), config->listen, config->store);
    for (uint32_t i = 0; i < config->destination_count; i++)
        if (url_will_be_refused(config->destinations[i].url, config->allow, config->allow_count,
                                text, sizeof text))
            printf("%s: but nothing will be delivered to %s: %s\n", findings->error.file,
                   config->destinations[i].name, text);
}

static void tell(const struct check_options *options, const struct findings *findings) {
    if (findings->read)
        tell_config(findings);
    if (options->store == NULL)
        return;
    if (findings->store_result != LULL_OK)
        complain("%s", findings->store_problem);
    else
        printf("%s: fine\n", options->store);
}

static void print_error(const struct reader_error *error) {
    if (error->line > 0)
        printf(",\"line\":%d", error->line);
    else
        fputs(",\"line\":null", stdout);
    fputs(",\"key\":", stdout);
    print_json_string(stdout, error->key);
    fputs(",\"message\":", stdout);
    print_json_string(stdout, error->message);
}

static void tell_json(const struct check_options *options, const struct findings *findings) {
    const char *before = "{";
    if (findings->read) {
        fputs("{\"file\":", stdout);
        print_json_string(stdout, findings->error.file);
        printf(",\"ok\":%s", findings->result == LULL_OK ? "true" : "false");
        if (findings->result != LULL_OK)
            print_error(&findings->error);
        else
            printf(",\"destinations\":%u,\"policies\":%u", findings->config.destination_count,
                   findings->config.policy_count);
        before = ",";
    }
    if (options->store != NULL) {
        printf("%s\"store\":{\"url\":", before);
        print_json_string(stdout, options->store);
        printf(",\"ok\":%s", findings->store_result == LULL_OK ? "true" : "false");
        if (findings->store_result != LULL_OK) {
            fputs(",\"message\":", stdout);
            print_json_string(stdout, findings->store_problem);
        }
        putchar('}');
    }
    puts("}");
}

/* ---- the command ---- */

static int check_all(const struct check_options *options) {
    struct findings *findings = calloc(1, sizeof *findings);
    if (findings == NULL) {
        complain("out of memory");
        return EXIT_FAILURE;
    }
    if (options->file != NULL) {
        findings->read = true;
        findings->result = serve_config_read(options->file, &findings->config, &findings->error);
    }
    if (options->store != NULL)
        findings->store_result =
            store_sqlite_verify(options->store + strlen("sqlite:"), findings->store_problem);
    (options->json ? tell_json : tell)(options, findings);
    int code = findings->result != LULL_OK         ? EXIT_USAGE
               : findings->store_result != LULL_OK ? EXIT_FAILURE
                                                   : EXIT_SUCCESS;
    serve_config_clean_up(&findings->config);
    free(findings);
    return code;
}

int check_command(int count, char **arguments) {
    struct check_options options = {0};
    struct problem problem;
    int taken = flags_parse(check_flags, FLAG_COUNT, &options, count, arguments, &problem);
    if (taken >= 0 && taken < count) {
        problem_say(&problem, "what is %.100s? A file is named by -c FILE", arguments[taken]);
        taken = -1;
    }
    if (taken < 0) {
        complain("%s", problem.text);
        complain("see lull help check");
        return EXIT_USAGE;
    }
    if (options.help) {
        check_help(stdout);
        return EXIT_SUCCESS;
    }
    if (options.file == NULL && access(USUAL_FILE, F_OK) == 0)
        options.file = USUAL_FILE;
    if (options.file == NULL && options.store == NULL) {
        complain("there is no " USUAL_FILE " here; name the configuration with -c FILE");
        return EXIT_USAGE;
    }
    return check_all(&options);
}
