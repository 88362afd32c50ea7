/* lull run --dry-run: what would happen if every attempt failed at once. */
#include "report.h"

enum { MOST_LINES = 20 };

static void print_policy(const struct run_options *options) {
    const struct lull_retry_config *retry = &options->config.retry;
    char base[DURATION_TEXT_SIZE], cap[DURATION_TEXT_SIZE], bound[DURATION_TEXT_SIZE];
    printf("%s: at most %u attempt%s, base %s, multiplier %g, cap %s, jitter %s", options->preset,
           retry->attempts, retry->attempts == 1 ? "" : "s",
           duration_format(retry->backoff.base, base), retry->backoff.multiplier,
           duration_format(retry->backoff.cap, cap), lull_jitter_name(retry->backoff.jitter));
    if (retry->backoff.jitter == LULL_JITTER_ADDITIVE ||
        retry->backoff.jitter == LULL_JITTER_PROPORTIONAL)
        printf(":%g", retry->backoff.jitter_factor);
    printf(", deadline %s", retry->deadline > 0 ? duration_format(retry->deadline, bound) : "none");
    if (retry->attempt_timeout > 0)
        printf(", timeout %s", duration_format(retry->attempt_timeout, bound));
    putchar('\n');
}

/* The ends of a jitter's range are what the least and the greatest random word give. */
static void print_delay(uint32_t attempt, lull_duration shortest, lull_duration longest) {
    char low[DURATION_TEXT_SIZE], high[DURATION_TEXT_SIZE];
    duration_format(shortest, low);
    duration_format(longest, high);
    if (shortest == longest)
        printf("  attempt %u: %s after the last\n", attempt, low);
    else
        printf("  attempt %u: %s to %s after the last\n", attempt, low, high);
}

void report_schedule(const struct run_options *options) {
    const struct lull_retry_config *retry = &options->config.retry;
    struct lull_backoff backoff;
    lull_duration previous = 0, sum = 0;
    if (lull_backoff_init(&backoff, &retry->backoff, NULL) != LULL_OK)
        return; /* not possible: the options were checked */
    print_policy(options);
    printf("  attempt 1: at once\n");
    for (uint32_t number = 1; number < retry->attempts; number++) {
        lull_duration low = lull_backoff_delay(&backoff, number, previous, false, 0);
        lull_duration high = lull_backoff_delay(&backoff, number, previous, false, UINT64_MAX);
        if (retry->deadline > 0 && (low > retry->deadline - sum)) {
            printf("  the deadline comes before attempt %u\n", number + 1);
            return;
        }
        if (number > MOST_LINES) {
            printf("  and so on until attempt %u\n", retry->attempts);
            return;
        }
        print_delay(number + 1, low, high);
        previous = high;
        sum += low;
    }
}
