#include "journal.h"

#include "json.h"

#include <stdlib.h>

static const double bucket_ends[JOURNAL_BUCKET_COUNT] = JOURNAL_BUCKETS;

bool journal_init(struct journal *journal, int64_t wall_start) {
    *journal = (struct journal){.wall_start = wall_start};
    /* Pages that no arrival has touched yet cost nothing. */
    journal->arrivals = calloc(JOURNAL_ARRIVALS, sizeof journal->arrivals[0]);
    return journal->arrivals != NULL;
}

void journal_clean_up(struct journal *journal) {
    free(journal->arrivals);
    journal->arrivals = NULL;
}

struct arrival *journal_arrive(struct journal *journal) {
    return &journal->arrivals[journal->requests++ % JOURNAL_ARRIVALS];
}

static void count_duration(struct journal *journal, lull_duration took) {
    double milliseconds = (double)took / (double)LULL_MILLISECOND;
    size_t bucket = 0;
    while (bucket < JOURNAL_BUCKET_COUNT && milliseconds > bucket_ends[bucket])
        bucket++;
    journal->durations[bucket]++;
    journal->duration_sum += took;
}

void journal_end(struct journal *journal, uint64_t number, enum outcome outcome, unsigned status,
                 lull_duration took) {
    if (number + JOURNAL_ARRIVALS >= journal->requests) {
        struct arrival *arrival = &journal->arrivals[number % JOURNAL_ARRIVALS];
        arrival->outcome = outcome;
        arrival->status = status;
    }
    if (number < journal->reset_at)
        return;
    journal->outcomes[outcome]++;
    if (status != 0)
        journal->statuses[status]++;
    count_duration(journal, took);
}

void journal_reset(struct journal *journal) {
    *journal = (struct journal){
        .requests = journal->requests,
        .reset_at = journal->requests,
        .wall_start = journal->wall_start,
        .arrivals = journal->arrivals,
    };
}

static uint64_t ended(const struct journal *journal) {
    uint64_t sum = 0;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        sum += journal->outcomes[i];
    return sum;
}

uint64_t journal_in_flight(const struct journal *journal) {
    return journal->requests - journal->reset_at - ended(journal);
}

void journal_write_counters(FILE *stream, const struct journal *journal) {
    fprintf(stream, "{\"requests\":%llu,\"in_flight\":%llu",
            (unsigned long long)(journal->requests - journal->reset_at),
            (unsigned long long)journal_in_flight(journal));
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++)
        fprintf(stream, ",\"%s\":%llu", outcome_name((enum outcome)i),
                (unsigned long long)journal->outcomes[i]);
    fputc('}', stream);
}

static void write_text(FILE *stream, const char *name, const char *text) {
    if (*text == '\0')
        return;
    fprintf(stream, ",\"%s\":", name);
    print_json_string(stream, text);
}

static void write_arrival(FILE *stream, const struct journal *journal, uint64_t number) {
    const struct arrival *arrival = &journal->arrivals[number % JOURNAL_ARRIVALS];
    int64_t at = arrival->at / LULL_MICROSECOND;
    fprintf(stream, "{\"number\":%llu,\"at_us\":%lld,\"wall_us\":%lld", (unsigned long long)number,
            (long long)at, (long long)(journal->wall_start + at));
    write_text(stream, "method", arrival->method);
    write_text(stream, "path", arrival->path);
    fprintf(stream, ",\"outcome\":\"%s\"", outcome_name(arrival->outcome));
    if (arrival->status == 0)
        fputs(",\"status\":null", stream);
    else
        fprintf(stream, ",\"status\":%u", arrival->status);
    write_text(stream, "idempotency_key", arrival->idempotency_key);
    write_text(stream, "webhook_id", arrival->webhook_id);
    write_text(stream, "attempt", arrival->attempt);
    fputc('}', stream);
}

/* The oldest that is still there. */
static uint64_t oldest(const struct journal *journal) {
    uint64_t in_ring =
        journal->requests > JOURNAL_ARRIVALS ? journal->requests - JOURNAL_ARRIVALS : 0;
    return in_ring > journal->reset_at ? in_ring : journal->reset_at;
}

void journal_write_arrivals(FILE *stream, const struct journal *journal, uint64_t since,
                            uint64_t limit) {
    since = since < journal->requests ? since : journal->requests;
    since = since > journal->reset_at ? since : journal->reset_at;
    uint64_t first = since > oldest(journal) ? since : oldest(journal);
    uint64_t end = journal->requests;
    if (end - first > limit)
        end = first + limit;
    fprintf(stream, "{\"next\":%llu,\"dropped\":%llu,\"arrivals\":[", (unsigned long long)end,
            (unsigned long long)(first - since));
    for (uint64_t number = first; number < end; number++) {
        fputs(number == first ? "" : ",", stream);
        write_arrival(stream, journal, number);
    }
    fputs("]}", stream);
}

static void write_histogram(FILE *stream, const struct journal *journal) {
    uint64_t sum = 0;
    fputs("# HELP lull_flaky_request_duration_seconds From arrival to the end of the answer.\n"
          "# TYPE lull_flaky_request_duration_seconds histogram\n",
          stream);
    for (size_t i = 0; i < JOURNAL_BUCKET_COUNT; i++) {
        sum += journal->durations[i];
        fprintf(stream, "lull_flaky_request_duration_seconds_bucket{le=\"%g\"} %llu\n",
                bucket_ends[i] / 1000, (unsigned long long)sum);
    }
    sum += journal->durations[JOURNAL_BUCKET_COUNT];
    fprintf(stream,
            "lull_flaky_request_duration_seconds_bucket{le=\"+Inf\"} %llu\n"
            "lull_flaky_request_duration_seconds_sum %.9f\n"
            "lull_flaky_request_duration_seconds_count %llu\n",
            (unsigned long long)sum, (double)journal->duration_sum / (double)LULL_SECOND,
            (unsigned long long)sum);
}

void journal_write_metrics(FILE *stream, const struct journal *journal) {
    fputs("# HELP lull_flaky_requests_total Requests that have ended, by how.\n"
          "# TYPE lull_flaky_requests_total counter\n",
          stream);
    for (int i = OUTCOME_PENDING + 1; i < OUTCOME_COUNT; i++)
        fprintf(stream, "lull_flaky_requests_total{outcome=\"%s\"} %llu\n",
                outcome_name((enum outcome)i), (unsigned long long)journal->outcomes[i]);
    fputs("# HELP lull_flaky_responses_total Answers, or parts of one, by their status.\n"
          "# TYPE lull_flaky_responses_total counter\n",
          stream);
    for (unsigned status = 0; status < sizeof journal->statuses / sizeof journal->statuses[0];
         status++) {
        if (journal->statuses[status] > 0)
            fprintf(stream, "lull_flaky_responses_total{status=\"%u\"} %llu\n", status,
                    (unsigned long long)journal->statuses[status]);
    }
    fprintf(stream,
            "# HELP lull_flaky_in_flight Requests that have arrived and not ended.\n"
            "# TYPE lull_flaky_in_flight gauge\n"
            "lull_flaky_in_flight %llu\n",
            (unsigned long long)journal_in_flight(journal));
    write_histogram(stream, journal);
}
