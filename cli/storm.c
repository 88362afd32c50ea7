/* lull storm: an outage and the policies that meet it, in a simulated world. */
#include "builtin.h"
#include "command.h"
#include "duration.h"
#include "policy.h"
#include "report/html.h"
#include "report/json.h"
#include "report/table.h"
#include "scenario_file.h"
#include "storm_options.h"
#include "storm_output.h"
#include "storm_runs.h"
#include "words.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDEST = 100 };

/* ---- the terminal ---- */

/* The locale is asked, not set: numbers are to be written the same way everywhere. */
static bool locale_is_utf8(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    bool result = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return result;
}

static bool colour_wanted(void) {
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && (no_colour == NULL || no_colour[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static struct style style_of_stdout(void) {
    struct style style = {.width = WIDEST, .unicode = locale_is_utf8(), .colour = colour_wanted()};
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_col < WIDEST)
        style.width = size.ws_col;
    return style;
}

/* ---- what there is ---- */

static int list(void) {
    puts("Scenarios:\n");
    for (size_t i = 0; builtin_at(i) != NULL; i++)
        printf("  %-11s%s\n", builtin_at(i)->name, builtin_at(i)->summary);
    puts("\n"
         "Try:\n"
         "  lull storm checkout\n"
         "  lull storm checkout --policy naive --policy full+budget --html checkout.html\n"
         "  lull storm --show checkout >mine.yaml && lull storm mine.yaml\n"
         "\n"
         "lull help storm says more.");
    return 0;
}

static int show(const char *name) {
    const char *text = builtin_scenario(name);
    if (text != NULL) {
        fputs(text, stdout);
        return 0;
    }
    struct names names = names_for(name);
    char quoted[QUOTE_SIZE], advice[500];
    for (size_t i = 0; builtin_at(i) != NULL; i++)
        names_offer(&names, builtin_at(i)->name);
    complain("--show: there is no scenario %s; %s", quote(name, quoted),
             names_advice(&names, advice, sizeof advice));
    return EXIT_USAGE;
}

/* ---- the scenario, as asked for ---- */

/* 0 or an exit code, here and below; then the complaint has been made. */
static int load(const char *name, struct sim_scenario *scenario) {
    struct reader_error error;
    char text[READER_KEY_SIZE + READER_MESSAGE_SIZE + 4200];
    int code = scenario_read(name, scenario, &error);
    if (code == LULL_OK)
        return 0;
    /* As compilers write it, for editors that jump to the line. */
    fprintf(stderr, "%s\n", reader_error_format(&error, text, sizeof text));
    fflush(stderr);
    return code == LULL_ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
}

static int choose_policies(const struct storm_options *options, struct sim_scenario *scenario) {
    struct sim_policy chosen[SIM_MAX_POLICIES];
    char message[READER_MESSAGE_SIZE];
    for (uint32_t i = 0; i < options->policy_count; i++)
        if (policy_parse(scenario, options->policies[i], &chosen[i], message) != LULL_OK) {
            complain("--policy %.100s: %s", options->policies[i], message);
            return EXIT_USAGE;
        }
    if (options->policy_count > 0) {
        memcpy(scenario->policies, chosen, options->policy_count * sizeof chosen[0]);
        scenario->policy_count = options->policy_count;
    }
    if (scenario->policy_count > 0)
        return 0;
    complain("%s has no policies; name some to try, as in --policy naive --policy full+budget",
             options->scenario);
    return EXIT_USAGE;
}

static int set_duration(lull_duration duration, struct sim_scenario *scenario) {
    char text[DURATION_TEXT_SIZE], at[DURATION_TEXT_SIZE];
    for (uint32_t s = 0; s < scenario->service_count; s++)
        for (uint32_t i = 0; i < scenario->services[s].fault_count; i++)
            if (scenario->services[s].faults[i].at >= duration) {
                complain("--duration %s: the run would end before %s is in trouble, at %s",
                         duration_format(duration, text), scenario->services[s].name,
                         duration_format(scenario->services[s].faults[i].at, at));
                return EXIT_USAGE;
            }
    scenario->duration = duration;
    return 0;
}

static int prepare(const struct storm_options *options, struct sim_scenario *scenario) {
    int code = load(options->scenario, scenario);
    if (code == 0)
        code = choose_policies(options, scenario);
    if (code == 0 && options->duration > 0)
        code = set_duration(options->duration, scenario);
    scenario->scale = options->scale;
    return code;
}

/* ---- run and report ---- */

static int write_json(const struct study *study, FILE *stream) {
    study_json(study, 1, stream);
    fputc('\n', stream);
    return LULL_OK;
}

static bool goes_to_stdout(const char *file) {
    return file != NULL && strcmp(file, "-") == 0;
}

static int report(const struct storm_options *options, const struct study *study,
                  const struct style *style) {
    struct problem problem;
    int code = 0;
    if (!options->quiet && !goes_to_stdout(options->json) && !goes_to_stdout(options->html))
        table_print(study, style, options->verbose, stdout);
    if (options->json != NULL && !output_write(options->json, write_json, study, &problem)) {
        complain("%s", problem.text);
        code = EXIT_FAILURE;
    }
    if (options->html != NULL && !output_write(options->html, study_html, study, &problem)) {
        complain("%s", problem.text);
        code = EXIT_FAILURE;
    }
    return code;
}

static bool outputs_are_fine(const struct storm_options *options) {
    struct problem problem;
    if ((options->json == NULL || output_check(options->json, &problem)) &&
        (options->html == NULL || output_check(options->html, &problem)))
        return true;
    complain("%s", problem.text);
    return false;
}

static int simulate(const struct storm_options *options, const struct sim_scenario *scenario) {
    struct sim_result results[SIM_MAX_POLICIES];
    struct study study = {
        .scenario = scenario,
        .seed = options->seeded ? options->seed : scenario->seed,
        .results = results,
    };
    struct style style = style_of_stdout();
    struct storm_progress progress;
    struct problem problem;
    storm_progress_init(&progress, scenario, !options->quiet, style.unicode);
    int code = storm_run_all(scenario, study.seed, &progress, results, &problem);
    storm_progress_clean_up(&progress);
    if (code != LULL_OK) {
        complain("%s", problem.text);
        return code == LULL_EINVAL ? EXIT_USAGE : EXIT_FAILURE;
    }
    code = report(options, &study, &style);
    for (uint32_t i = 0; i < scenario->policy_count; i++)
        sim_result_clean_up(&results[i]);
    return code;
}

int storm_command(int count, char **arguments) {
    struct storm_options options;
    struct problem problem = {{0}};
    if (!storm_options_parse(&options, count, arguments, &problem)) {
        complain("%s", problem.text);
        fputs("lull: see lull help storm\n", stderr);
        return EXIT_USAGE;
    }
    if (options.help) {
        storm_help(stdout);
        return 0;
    }
    if (options.show != NULL)
        return show(options.show);
    if (options.list || options.scenario == NULL)
        return list();
    struct sim_scenario scenario;
    int code = prepare(&options, &scenario);
    if (code != 0)
        return code;
    if (!outputs_are_fine(&options))
        return EXIT_FAILURE;
    return simulate(&options, &scenario);
}

void storm_help(FILE *stream) {
    fputs("usage: lull storm [FLAG...] [SCENARIO|FILE]\n"
          "\n"
          "Simulates an outage under different retry policies and compares what becomes of\n"
          "it: the code of the library, against a modelled service, on a clock that only\n"
          "pretends. SCENARIO is one of lull storm --list; FILE is a scenario of your own.\n"
          "\n",
          stream);
    flags_print(storm_flags, storm_flag_count, stream);
    fputs("\n"
          "The same scenario, policies and seed give the same figures, to the last byte.\n"
          "\n"
          "Exits with 0 if it was done, with 1 if a file could not be written, and with 2\n"
          "if the flags or the scenario make no sense.\n"
          "\n"
          "  lull storm checkout\n"
          "  lull storm checkout --policy naive --policy full+budget --html checkout.html\n"
          "  lull storm --show checkout >mine.yaml && lull storm mine.yaml\n",
          stream);
}
