/* lull run: a command under a policy.
 *
 * A loop of its own on lull_admit and lull_complete, in one thread: where it waits, it waits for
 * the command, for signals and for the clock at once (signals_wait).
 */
#include "attempt.h"
#include "command.h"
#include "number.h"
#include "report.h"

#include <stdlib.h>
#include <sys/random.h>

struct run {
    const struct run_options *options;
    struct stage stage;
    struct lull_guard guard;
    struct lull_call call;
    lull_time began;
    struct report_end end; /* grows as it goes */
};

/* Inside another lull run the outer one retries, and its deadline is ours. */
static struct lull_call_options surroundings(const struct run_options *options) {
    struct lull_call_options call = {.idempotent = true};
    const char *left = getenv("LULL_DEADLINE_MS");
    uint64_t milliseconds = 0;
    if (getenv("LULL_ATTEMPT") == NULL)
        return call;
    call.not_the_edge = !options->retry_nested;
    if (left != NULL && number_parse(left, INT64_MAX / LULL_MILLISECOND, &milliseconds)) {
        lull_duration outer = (lull_duration)milliseconds * LULL_MILLISECOND;
        lull_duration own = options->config.retry.deadline;
        if (own < 0 || outer < own)
            call.deadline = outer > 0 ? outer : 1;
    }
    return call;
}

static uint64_t choose_seed(const struct run_options *options) {
    uint64_t seed = options->seed;
    if (!options->seeded && getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)clock_now();
    return seed;
}

static lull_time moment_after(lull_time now, lull_duration timeout) {
    return timeout >= LULL_NEVER - now ? LULL_NEVER : now + timeout;
}

/* One attempt, from GO to the verdict on it. */
static void attempt_once(struct run *run, struct lull_verdict go, lull_time now) {
    struct attempt_order order = {
        .command = run->options->command,
        .number = run->call.attempt,
        .left = lull_call_left(&run->call, now),
        .until = moment_after(now, go.timeout),
        .grace = run->options->grace,
    };
    struct ending ending = attempt_run(&run->stage, &order);
    lull_time ended = clock_now();
    struct lull_outcome outcome = {
        .class_ = run_options_classify(run->options, ending.code, ending.timed_out,
                                       ending.passed_on != 0),
        .code = ending.code,
    };
    bool past_deadline = lull_call_left(&run->call, ended) == 0;
    run->end.verdict = lull_complete(&run->guard, &run->call, outcome, ended);
    run->end.attempts = run->call.attempt;
    run->end.code = ending.code;
    run->end.signal = outcome.class_ == LULL_CANCELLED ? ending.passed_on : 0;
    report_attempt(run->options, &(struct report_attempt){
                                     .number = run->call.attempt,
                                     .ending = ending,
                                     .class_ = outcome.class_,
                                     .verdict = run->end.verdict,
                                     .took = ended - now,
                                     .delay = run->end.verdict.at - ended,
                                     .past_deadline = past_deadline,
                                 });
}

/* Between attempts. False if a signal ended it. */
static bool sleep_until(struct run *run, lull_time moment) {
    int number = 0;
    while ((number = signals_wait(&run->stage.signals, moment)) != 0) {
        if (number == SIGTSTP)
            stop_here();
        if (!signal_ends(number))
            continue;
        run->end.signal = number;
        run->end.code = 128 + number;
        run->end.verdict = (struct lull_verdict){
            .decision = LULL_STOP,
            .policy = LULL_POLICY_CALLER,
            .reason = LULL_REASON_CANCELLED,
            .at = LULL_NEVER,
        };
        return false;
    }
    return true;
}

static void loop(struct run *run) {
    for (;;) {
        lull_time now = clock_now();
        struct lull_verdict verdict = lull_admit(&run->guard, &run->call, now);
        if (verdict.decision != LULL_GO) {
            run->end.verdict = verdict; /* with no breaker and no limits: the deadline */
            return;
        }
        attempt_once(run, verdict, now);
        if (run->end.verdict.decision != LULL_RETRY || !sleep_until(run, run->end.verdict.at))
            return;
    }
}

static int run_under(const struct run_options *options) {
    struct run run = {.options = options, .end = {.code = RUN_TIMED_OUT}};
    struct lull_call_options call = surroundings(options);
    struct lull_error error = {0};
    if (lull_guard_init(&run.guard, &options->config, &error) != LULL_OK) {
        complain("%s", error.message);
        return EXIT_USAGE;
    }
    stage_init(&run.stage);
    run.began = clock_now();
    lull_call_begin(&run.guard, &run.call, &call, choose_seed(options), run.began);
    loop(&run);
    run.end.elapsed = clock_now() - run.began;
    report_end(options, &run.end);
    stage_clean_up(&run.stage);
    return run.end.code;
}

int run_command(int count, char **arguments) {
    struct run_options options;
    struct problem problem = {{0}};
    if (!run_options_parse(&options, count, arguments, &problem)) {
        complain("%s", problem.text);
        fputs("lull: see lull help run\n", stderr);
        return EXIT_USAGE;
    }
    if (options.help) {
        run_help(stdout);
        return 0;
    }
    if (options.dry_run) {
        report_schedule(&options);
        return 0;
    }
    return run_under(&options);
}

void run_help(FILE *stream) {
    fputs("usage: lull run [FLAG...] [--] CMD [ARG...]\n"
          "\n"
          "Runs a command, and runs it again while it fails and the policy allows.\n"
          "\n",
          stream);
    flags_print(run_flags, run_flag_count, stream);
    fputs("\n"
          "D is a duration: 500ms, 2s, 5m, 1h, 1h30m. The default preset, " RUN_PRESET ", makes 4\n"
          "attempts 1s, 2s and 4s apart, each delay lengthened by up to a half at random,\n"
          "and sets no deadline.\n"
          "\n"
          "Exits as the command did: with its own code, 128+N if signal N killed it, 127 if\n"
          "it is not there and 126 if it cannot be run (these two are not retried); with\n"
          "124 if it was killed for taking too long; with 2 if the flags make no sense.\n"
          "\n"
          "The command finds LULL_ATTEMPT, from 1, and LULL_DEADLINE_MS, what is left, in\n"
          "its environment. Each attempt has the same stdin: what one has read from a pipe,\n"
          "the next does not see again.\n"
          "\n"
          "  lull run -- curl -fsS https://example.org\n"
          "  lull run --attempts 10 --timeout 30s --retry-on 75 -- ./import\n"
          "  lull run --dry-run --preset webhook\n",
          stream);
}
