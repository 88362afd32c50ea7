/* What `lull run` says on stderr: a line per attempt and one at the end, for people or as JSON.
 *
 *   lull: attempt 1 of 5 failed (exit 7) after 1.2s; retrying in 180ms
 *   lull: gave up after 5 attempts in 3.1s: all attempts are spent
 *
 *   {"lull":"attempt","attempt":1,"of":5,"exit":7,…}
 *   {"lull":"end","attempts":5,"exit":7,…}
 *
 * Each line of JSON begins with "lull", for the command may write to stderr, too.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "attempt.h"
#include "run_options.h"

struct report_attempt {
    uint32_t number;
    struct ending ending;
    enum lull_class class_;
    struct lull_verdict verdict;
    lull_duration took;
    lull_duration delay; /* verdict RETRY: until the next attempt */
    bool past_deadline;  /* timed out by the deadline, not by the attempt's own limit */
};

struct report_end {
    uint32_t attempts;
    int code; /* what lull exits with */
    struct lull_verdict verdict;
    int signal; /* that ended it while it waited; 0: none */
    lull_duration elapsed;
};

void report_attempt(const struct run_options *options, const struct report_attempt *attempt);
void report_end(const struct run_options *options, const struct report_end *end);

/* --dry-run, on stdout. */
void report_schedule(const struct run_options *options);

#endif
