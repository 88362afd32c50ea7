#include "report.h"

#include "json.h"

#include <string.h>

/* The texts name the reason; where a flag changes it, they name the flag, too. */
static const char *hint(enum lull_reason reason) {
    return reason == LULL_REASON_NOT_THE_EDGE ? " (LULL_ATTEMPT is set; --retry-nested overrides)"
                                              : "";
}

static void print_failure(const struct report_attempt *attempt) {
    const struct ending *ending = &attempt->ending;
    if (ending->error != 0)
        fprintf(stderr, "cannot be run: %s", strerror(ending->error));
    else if (ending->timed_out)
        fprintf(stderr, "%s", attempt->past_deadline ? "killed at the deadline" : "timed out");
    else if (ending->killed_by != 0)
        fprintf(stderr, "killed by %s", signal_name(ending->killed_by));
    else
        fprintf(stderr, "exit %d", ending->code);
}

static void print_attempt(const struct run_options *options, const struct report_attempt *attempt) {
    char took[DURATION_TEXT_SIZE], delay[DURATION_TEXT_SIZE];
    fprintf(stderr, "lull: attempt %u of %u ", attempt->number, options->config.retry.attempts);
    if (attempt->class_ == LULL_SUCCESS) {
        fprintf(stderr, "succeeded");
    } else {
        fprintf(stderr, "failed (");
        print_failure(attempt);
        fprintf(stderr, ")");
    }
    fprintf(stderr, " after %s", duration_format(attempt->took, took));
    if (attempt->verdict.decision == LULL_RETRY)
        fprintf(stderr, "; retrying in %s", duration_format(attempt->delay, delay));
    fputc('\n', stderr);
    if (attempt->ending.left_behind)
        fprintf(stderr, "lull: a process of attempt %u does not die; it is left behind\n",
                attempt->number);
}

static void print_end(const struct report_end *end) {
    char elapsed[DURATION_TEXT_SIZE];
    const char *plural = end->attempts == 1 ? "" : "s";
    duration_format(end->elapsed, elapsed);
    if (end->verdict.decision == LULL_DONE)
        return; /* the attempt's own line has said it */
    if (end->signal != 0)
        fprintf(stderr, "lull: stopped by %s after %u attempt%s in %s\n", signal_name(end->signal),
                end->attempts, plural, elapsed);
    else
        fprintf(stderr, "lull: gave up after %u attempt%s in %s: %s%s\n", end->attempts, plural,
                elapsed, lull_reason_text(end->verdict.reason), hint(end->verdict.reason));
}

static void json_verdict(const struct lull_verdict *verdict) {
    fprintf(stderr, ",\"decision\":\"%s\",\"policy\":\"%s\",\"reason\":",
            lull_decision_name(verdict->decision), lull_policy_name(verdict->policy));
    print_json_string(stderr, lull_reason_text(verdict->reason));
}

static void json_signal(int number) {
    if (number == 0)
        fputs("null", stderr);
    else
        print_json_string(stderr, signal_name(number));
}

static void json_attempt(const struct run_options *options, const struct report_attempt *attempt) {
    fprintf(stderr, "{\"lull\":\"attempt\",\"attempt\":%u,\"of\":%u,\"exit\":%d,\"signal\":",
            attempt->number, options->config.retry.attempts, attempt->ending.code);
    json_signal(attempt->ending.killed_by);
    fprintf(stderr, ",\"error\":");
    if (attempt->ending.error != 0)
        print_json_string(stderr, strerror(attempt->ending.error));
    else
        fputs("null", stderr);
    fprintf(stderr, ",\"timed_out\":%s,\"class\":\"%s\",\"took_ms\":",
            attempt->ending.timed_out ? "true" : "false", lull_class_name(attempt->class_));
    print_json_milliseconds(stderr, attempt->took);
    json_verdict(&attempt->verdict);
    fprintf(stderr, ",\"delay_ms\":");
    if (attempt->verdict.decision == LULL_RETRY)
        print_json_milliseconds(stderr, attempt->delay);
    else
        fputs("null", stderr);
    fputs("}\n", stderr);
}

static void json_end(const struct run_options *options, const struct report_end *end) {
    fprintf(stderr, "{\"lull\":\"end\",\"command\":[");
    for (char **word = options->command; *word != NULL; word++) {
        if (word != options->command)
            fputc(',', stderr);
        print_json_string(stderr, *word);
    }
    fprintf(stderr, "],\"attempts\":%u,\"exit\":%d,\"signal\":", end->attempts, end->code);
    json_signal(end->signal);
    json_verdict(&end->verdict);
    fprintf(stderr, ",\"elapsed_ms\":");
    print_json_milliseconds(stderr, end->elapsed);
    fputs("}\n", stderr);
}

/* Lines leave in one piece: the command writes to the same place. */
void report_attempt(const struct run_options *options, const struct report_attempt *attempt) {
    if (options->json)
        json_attempt(options, attempt);
    else if (!options->quiet)
        print_attempt(options, attempt);
    fflush(stderr);
}

void report_end(const struct run_options *options, const struct report_end *end) {
    if (options->json)
        json_end(options, end);
    else if (!options->quiet)
        print_end(end);
    fflush(stderr);
}
