#include "run_options.h"

#include "number.h"
#include "suggest.h"

#include <signal.h>
#include <string.h>

static bool parse_positive(const char *value, lull_duration *duration, struct problem *problem) {
    if (!duration_parse(value, duration))
        return problem_say(problem, "not a duration; write " DURATION_FORMS);
    if (*duration == 0)
        return problem_say(problem, "must be longer than 0");
    return true;
}

static bool set_preset(void *options, const char *value, struct problem *problem) {
    struct run_options *run = options;
    struct suggestion best = suggestion_for(value);
    char names[200] = "";
    size_t length = 0;
    const char *name = NULL;
    run->preset = value;
    if (lull_preset(value) != NULL)
        return true;
    for (size_t i = 0; (name = lull_preset_name(i)) != NULL && length < sizeof names; i++) {
        suggestion_offer(&best, name);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                   i == 0 ? "" : ", ", name);
    }
    if (best.name != NULL)
        return problem_say(problem, "no such preset; did you mean %s? There are %s", best.name,
                           names);
    return problem_say(problem, "no such preset; there are %s", names);
}

static bool set_attempts(void *options, const char *value, struct problem *problem) {
    uint64_t attempts = 0;
    if (!number_parse(value, UINT32_MAX, &attempts) || attempts == 0)
        return problem_say(problem, "must be a whole number, 1 or more");
    ((struct run_options *)options)->typed.attempts = (uint32_t)attempts;
    return true;
}

static bool set_base(void *options, const char *value, struct problem *problem) {
    return parse_positive(value, &((struct run_options *)options)->typed.backoff.base, problem);
}

static bool set_cap(void *options, const char *value, struct problem *problem) {
    return parse_positive(value, &((struct run_options *)options)->typed.backoff.cap, problem);
}

static bool set_multiplier(void *options, const char *value, struct problem *problem) {
    double multiplier = 0;
    if (!decimal_parse(value, &multiplier) || multiplier < 1)
        return problem_say(problem, "must be a number, 1 or more");
    ((struct run_options *)options)->typed.backoff.multiplier = multiplier;
    return true;
}

static bool set_jitter(void *options, const char *value, struct problem *problem) {
    struct lull_backoff_config *backoff = &((struct run_options *)options)->typed.backoff;
    char name[32];
    size_t length = strcspn(value, ":");
    snprintf(name, sizeof name, "%.*s", (int)length, value);
    backoff->jitter_factor = 0;
    if (length >= sizeof name || lull_jitter_parse(name, &backoff->jitter) != LULL_OK)
        return problem_say(problem, "no such jitter; there are none, full, equal, decorrelated, "
                                    "additive and proportional");
    if (value[length] == '\0')
        return true;
    if (backoff->jitter != LULL_JITTER_ADDITIVE && backoff->jitter != LULL_JITTER_PROPORTIONAL)
        return problem_say(problem, "%s jitter takes no factor; additive and proportional do",
                           name);
    if (!decimal_parse(value + length + 1, &backoff->jitter_factor) ||
        backoff->jitter_factor <= 0 || backoff->jitter_factor > 1)
        return problem_say(problem, "the factor must be above 0 and at most 1, as in %s:0.5", name);
    return true;
}

static bool set_deadline(void *options, const char *value, struct problem *problem) {
    struct run_options *run = options;
    if (strcmp(value, "none") == 0) {
        run->typed.deadline = LULL_NONE;
        return true;
    }
    return parse_positive(value, &run->typed.deadline, problem);
}

static bool set_timeout(void *options, const char *value, struct problem *problem) {
    return parse_positive(value, &((struct run_options *)options)->typed.attempt_timeout, problem);
}

static bool set_grace(void *options, const char *value, struct problem *problem) {
    if (!duration_parse(value, &((struct run_options *)options)->grace))
        return problem_say(problem, "not a duration; write " DURATION_FORMS ", or 0");
    return true;
}

static bool set_retry_on(void *options, const char *value, struct problem *problem) {
    return exit_codes_add(&((struct run_options *)options)->retry_on, value, problem);
}

static bool set_stop_on(void *options, const char *value, struct problem *problem) {
    return exit_codes_add(&((struct run_options *)options)->stop_on, value, problem);
}

static bool set_seed(void *options, const char *value, struct problem *problem) {
    struct run_options *run = options;
    run->seeded = true;
    return number_parse(value, UINT64_MAX, &run->seed) ||
           problem_say(problem, "must be a whole number below 2^64");
}

#define SWITCH(field)                                                                              \
    static bool set_##field(void *options, const char *value, struct problem *problem) {           \
        (void)value, (void)problem;                                                                \
        ((struct run_options *)options)->field = true;                                             \
        return true;                                                                               \
    }
SWITCH(retry_nested)
SWITCH(dry_run)
SWITCH(quiet)
SWITCH(json)
SWITCH(help)
#undef SWITCH

const struct flag run_flags[] = {
    {"preset", 0, "NAME",
     "settings to start from: interactive, gateway, worker,\n"
     "checkout, webhook or stream (default: " RUN_PRESET ")",
     set_preset},
    {"attempts", 0, "N", "at most this many, the first included", set_attempts},
    {"base", 0, "D", "delay before the first retry", set_base},
    {"multiplier", 0, "X", "each further delay is X times the last", set_multiplier},
    {"cap", 0, "D", "no delay grows beyond this", set_cap},
    {"jitter", 0, "KIND[:F]",
     "none, full, equal, decorrelated, additive[:F] or\n"
     "proportional[:F]",
     set_jitter},
    {"deadline", 0, "D|none",
     "for everything together; the command is killed at it,\n"
     "with its children",
     set_deadline},
    {"timeout", 0, "D", "for one attempt; killed in the same way, then retried", set_timeout},
    {"grace", 0, "D", "time from SIGTERM to SIGKILL (default: 2s)", set_grace},
    {"retry-on", 0, "CODE,...", "retry these exit codes only; 1-5 is fine, too", set_retry_on},
    {"stop-on", 0, "CODE,...", "these exit codes are final", set_stop_on},
    {"retry-nested", 0, NULL, "retry even inside another lull run", set_retry_nested},
    {"seed", 0, "N", "draw the same jitter each time", set_seed},
    {"dry-run", 0, NULL, "show the attempts and delays, run nothing", set_dry_run},
    {"json", 0, NULL, "one JSON object per attempt, and one at the end", set_json},
    {"quiet", 'q', NULL, "say nothing", set_quiet},
    {"help", 'h', NULL, "show this", set_help},
};
const size_t run_flag_count = sizeof run_flags / sizeof run_flags[0];

/* A cap below the base is the one mistake that needs two flags, or a flag and a preset, to make. */
static bool check_cap(const struct run_options *options, struct problem *problem) {
    const struct lull_backoff_config *backoff = &options->config.retry.backoff;
    char base[DURATION_TEXT_SIZE], cap[DURATION_TEXT_SIZE];
    if (backoff->cap >= backoff->base)
        return true;
    duration_format(backoff->base, base);
    duration_format(backoff->cap, cap);
    if (options->typed.backoff.cap == 0)
        return problem_say(problem,
                           "--base %s is longer than the cap of preset %s, %s; give a --cap too",
                           base, options->preset, cap);
    return problem_say(problem, "--cap %s is shorter than the base, %s", cap, base);
}

/* Zero means the library's default; here every value is shown to people, so it is named. */
static void name_defaults(struct lull_retry_config *retry) {
    if (retry->attempts == 0)
        retry->attempts = LULL_RETRY_ATTEMPTS;
    if (retry->deadline == 0)
        retry->deadline = LULL_RETRY_DEADLINE;
    if (retry->backoff.base == 0)
        retry->backoff.base = LULL_BACKOFF_BASE;
    if (retry->backoff.cap == 0)
        retry->backoff.cap = LULL_BACKOFF_CAP;
    if (retry->backoff.multiplier == 0)
        retry->backoff.multiplier = LULL_BACKOFF_MULTIPLIER;
    if (retry->backoff.jitter == LULL_JITTER_DEFAULT)
        retry->backoff.jitter = LULL_BACKOFF_JITTER;
    if (retry->backoff.jitter_factor == 0)
        retry->backoff.jitter_factor = LULL_BACKOFF_JITTER_FACTOR;
}

static void apply_typed(struct lull_retry_config *retry, const struct lull_retry_config *typed) {
    if (typed->attempts != 0)
        retry->attempts = typed->attempts;
    if (typed->backoff.base != 0)
        retry->backoff.base = typed->backoff.base;
    if (typed->backoff.cap != 0)
        retry->backoff.cap = typed->backoff.cap;
    if (typed->backoff.multiplier != 0)
        retry->backoff.multiplier = typed->backoff.multiplier;
    if (typed->backoff.jitter != LULL_JITTER_DEFAULT) {
        retry->backoff.jitter = typed->backoff.jitter;
        retry->backoff.jitter_factor = typed->backoff.jitter_factor;
    }
    if (typed->deadline != 0)
        retry->deadline = typed->deadline;
    if (typed->attempt_timeout != 0)
        retry->attempt_timeout = typed->attempt_timeout;
}

static bool settle(struct run_options *options, struct problem *problem) {
    struct lull_error error = {0};
    options->config = *lull_preset(options->preset);
    options->config.without =
        LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD;
    apply_typed(&options->config.retry, &options->typed);
    name_defaults(&options->config.retry);
    if (!check_cap(options, problem))
        return false;
    if (lull_guard_check(&options->config, &error) != LULL_OK)
        return problem_say(problem, "%s", error.message);
    return true;
}

bool run_options_parse(struct run_options *options, int count, char **arguments,
                       struct problem *problem) {
    *options = (struct run_options){.preset = RUN_PRESET, .grace = RUN_GRACE};
    int taken = flags_parse(run_flags, run_flag_count, options, count, arguments, problem);
    if (taken < 0)
        return false;
    options->command = arguments + taken;
    if (options->help)
        return true;
    int common = exit_codes_common(&options->retry_on, &options->stop_on);
    if (common >= 0)
        return problem_say(problem, "exit code %d is in --retry-on and in --stop-on", common);
    if (options->quiet && options->json)
        return problem_say(problem, "--quiet and --json exclude each other");
    if (taken == count && !options->dry_run)
        return problem_say(problem, "no command to run; write lull run [FLAG...] -- CMD [ARG...]");
    return settle(options, problem);
}

/* Final unless named in --retry-on: what cannot be executed will not be the next time, and who
 * pressed Ctrl-C does not want it again. */
static bool final_by_default(int code) {
    return code == 126 || code == 127;
}

static bool interrupted(int code) {
    return code == 128 + SIGINT || code == 128 + SIGQUIT;
}

enum lull_class run_options_classify(const struct run_options *options, int code, bool timed_out,
                                     bool cancelled) {
    bool listed = exit_codes_has(&options->retry_on, code);
    if (code == 0)
        return LULL_SUCCESS;
    if (cancelled || (interrupted(code) && !listed))
        return LULL_CANCELLED;
    if (exit_codes_has(&options->stop_on, code))
        return LULL_PERMANENT;
    if (!listed && (final_by_default(code) || !exit_codes_empty(&options->retry_on)))
        return LULL_PERMANENT;
    return timed_out ? LULL_TIMEOUT : LULL_TRANSIENT;
}
