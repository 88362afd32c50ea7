/* What came in and what became of it: counters, a histogram, and the last arrivals one by one.
 *
 * Arrivals are numbered from 0 and kept in a ring; when it is full the oldest make way. Who
 * reads them asks for those from a number on, and is told how many of these are gone already.
 */
#ifndef FLAKY_JOURNAL_H
#define FLAKY_JOURNAL_H

#include "plan.h"

#include <stdio.h>

enum { JOURNAL_ARRIVALS = 100000 };

/* Upper ends of the buckets of the histogram, in milliseconds. */
#define JOURNAL_BUCKETS                                                                            \
    { 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000 }
enum { JOURNAL_BUCKET_COUNT = 15 };

struct arrival {
    lull_duration at; /* since the start of the server */
    enum outcome outcome;
    unsigned status; /* 0: none was sent */
    char method[16];
    char path[128]; /* cut if longer; without the query */
    char idempotency_key[64];
    char webhook_id[64];
    char attempt[16]; /* Lull-Attempt */
};

struct journal {
    uint64_t requests; /* arrived; the number of the next one */
    uint64_t outcomes[OUTCOME_COUNT];
    uint64_t statuses[600];
    uint64_t durations[JOURNAL_BUCKET_COUNT + 1]; /* not cumulative; the last: longer than all */
    lull_duration duration_sum;
    uint64_t reset_at;        /* the number of the first request that counts */
    int64_t wall_start;       /* microseconds since 1970 at the start of the server */
    struct arrival *arrivals; /* the ring */
};

bool journal_init(struct journal *journal, int64_t wall_start); /* false: out of memory */
void journal_clean_up(struct journal *journal);

/* Its place in the ring, to be filled in. Its number is journal->requests - 1 then. */
struct arrival *journal_arrive(struct journal *journal);

/* It ended so, after so long. Those that arrived before a reset do not count. */
void journal_end(struct journal *journal, uint64_t number, enum outcome outcome, unsigned status,
                 lull_duration took);

/* Forgets all that has been. Numbers go on. */
void journal_reset(struct journal *journal);

/* Arrived and not ended. */
uint64_t journal_in_flight(const struct journal *journal);

/* {"requests":…,"in_flight":…,"ok":…,…} */
void journal_write_counters(FILE *stream, const struct journal *journal);

/* {"next":…,"dropped":…,"arrivals":[…]}: those from number `since` on, at most `limit`. `next`
 * is what to ask for then. */
void journal_write_arrivals(FILE *stream, const struct journal *journal, uint64_t since,
                            uint64_t limit);

/* Prometheus. */
void journal_write_metrics(FILE *stream, const struct journal *journal);

#endif
