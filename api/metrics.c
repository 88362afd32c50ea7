/* GET /metrics, in Prometheus' text format 0.0.4. All samples of a metric must stand together, so the destinations are walked once for
 * each of them; what is costly to know of one is asked once, before. Of a label's values only those are shown that have occurred: with
 * 10,000 destinations the rest would be most of the page. */
#include "api/buffer.h"
#include "api/handlers.h"
#include "api/process.h"
#include "api/reply.h"

#include <stdlib.h>

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_PAGE 1024 /* destinations taken from the registry at once */

/* One destination: a line of the page, so to speak. */
struct subject {
    struct destination *destination;               /* one reference */
    char label[16 + 2 * DESTINATION_NAME_LONGEST]; /* destination="shop" */
    size_t label_length;
    double ratio, budget;
    uint32_t circuit; /* 0 closed, 1 half-open, 2 open */
    uint64_t refused[LULL_POLICY_COUNT];
};

struct page {
    struct buffer text;
    struct subject *subjects;
    uint32_t count, room;
    const char *name; /* of the metric being written */
};

/* ---- writing ---- */

static void begin(struct page *page, const char *name, const char *type, const char *help) {
    page->name = name;
    buffer_text(&page->text, "# HELP ");
    buffer_text(&page->text, name);
    buffer_text(&page->text, " ");
    buffer_text(&page->text, help);
    buffer_text(&page->text, "\n# TYPE ");
    buffer_text(&page->text, name);
    buffer_text(&page->text, " ");
    buffer_text(&page->text, type);
    buffer_text(&page->text, "\n");
}

/* name{destination="shop",label="value",other="…"} and a blank; the value is to follow, then end_sample. `suffix` of the name; labels may
 * be NULL. */
static void begin_sample(struct page *page, const char *suffix, const struct subject *subject,
                         const char *label, const char *value, const char *label2,
                         const char *value2) {
    struct buffer *text = &page->text;
    buffer_text(text, page->name);
    buffer_text(text, suffix);
    if (subject != NULL || label != NULL) {
        buffer_text(text, "{");
        if (subject != NULL)
            buffer_add(text, subject->label, subject->label_length);
        if (label != NULL) {
            buffer_text(text, subject != NULL ? "," : "");
            buffer_text(text, label);
            buffer_text(text, "=\"");
            buffer_text(text, value);
            buffer_text(text, "\"");
        }
        if (label2 != NULL) {
            buffer_text(text, ",");
            buffer_text(text, label2);
            buffer_text(text, "=\"");
            buffer_text(text, value2);
            buffer_text(text, "\"");
        }
        buffer_text(text, "}");
    }
    buffer_text(text, " ");
}

static void end_sample(struct page *page) {
    buffer_add(&page->text, "\n", 1);
}

static void sample(struct page *page, const struct subject *subject, const char *label,
                   const char *value, int64_t number) {
    begin_sample(page, "", subject, label, value, NULL, NULL);
    buffer_signed(&page->text, number);
    end_sample(page);
}

static void sample_real(struct page *page, const struct subject *subject, double number) {
    begin_sample(page, "", subject, NULL, NULL, NULL, NULL);
    buffer_real(&page->text, number);
    end_sample(page);
}

#define EACH_SUBJECT(page)                                                                         \
    for (const struct subject *subject = (page)->subjects;                                         \
         subject < (page)->subjects + (page)->count; subject++)

static const struct lane_stats *stats_of(const struct subject *subject) {
    return &subject->destination->lane->stats;
}

#define LOAD(word) atomic_load_explicit(&(word), memory_order_relaxed)

static int64_t at_least_zero(int64_t number) {
    return number > 0 ? number : 0;
}

/* ---- who there is ---- */

static void make_label(struct subject *subject) {
    size_t length = 0;
    char *label = subject->label;
    length += (size_t)snprintf(label, sizeof subject->label, "destination=\"");
    for (const char *at = subject->destination->row.name; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            label[length++] = '\\';
        label[length++] = *at;
    }
    label[length++] = '"';
    subject->label_length = length;
}

static uint32_t circuit_number(enum lull_breaker_state state) {
    switch (state) {
    case LULL_BREAKER_OPEN:
    case LULL_BREAKER_FORCED_OPEN:
        return 2;
    case LULL_BREAKER_HALF_OPEN:
        return 1;
    default:
        return 0;
    }
}

static void look_at(struct subject *subject, lull_time now) {
    struct lull_guard_stats guard;
    lull_guard_snapshot(&subject->destination->lane->guard, &guard, now);
    make_label(subject);
    subject->ratio = guard.storm.ratio;
    subject->budget = guard.budget.tokens;
    subject->circuit = circuit_number(guard.breaker.state);
    memcpy(subject->refused, guard.refused, sizeof subject->refused);
}

/* The next destinations after those there are. How many; -1: out of memory. */
static int64_t take_more(struct page *page, struct registry *registry, lull_time now) {
    struct destination *found[METRICS_PAGE];
    if (page->room - page->count < METRICS_PAGE) {
        uint32_t room = 2 * page->room + METRICS_PAGE;
        struct subject *subjects = reallocarray(page->subjects, room, sizeof *subjects);
        if (subjects == NULL)
            return -1;
        page->subjects = subjects;
        page->room = room;
    }
    const char *after =
        page->count > 0 ? page->subjects[page->count - 1].destination->row.name : NULL;
    uint32_t count = registry_list(registry, after, found, METRICS_PAGE);
    for (uint32_t i = 0; i < count; i++) {
        struct subject *subject = &page->subjects[page->count++];
        subject->destination = found[i];
        look_at(subject, now);
    }
    return count;
}

/* ---- the metrics ---- */

static void write_attempts(struct page *page) {
    static const char *const kinds[] = {"first", "retry"};
    begin(page, "lull_attempts_total", "counter", "Attempts that ended, by kind and outcome.");
    EACH_SUBJECT(page) {
        const struct lane_stats *stats = stats_of(subject);
        for (int kind = 0; kind < 2; kind++)
            for (int class_ = 0; class_ < LULL_CLASS_COUNT; class_++) {
                uint64_t count = LOAD(stats->attempts[kind][class_]);
                if (count == 0)
                    continue;
                begin_sample(page, "", subject, "kind", kinds[kind], "outcome",
                             lull_class_name((enum lull_class)class_));
                buffer_number(&page->text, count);
                end_sample(page);
            }
    }
    begin(page, "lull_retries_total", "counter", "Attempts that ended and were not first tries.");
    EACH_SUBJECT(page) {
        const struct lane_stats *stats = stats_of(subject);
        uint64_t count = 0;
        for (int class_ = 0; class_ < LULL_CLASS_COUNT; class_++)
            count += LOAD(stats->attempts[1][class_]);
        sample(page, subject, NULL, NULL, (int64_t)count);
    }
}

static void write_histogram(struct page *page, const struct subject *subject,
                            const struct stats_histogram *histogram, const lull_duration *bounds,
                            uint32_t bound_count) {
    uint64_t counts[STATS_DURATION_BUCKETS + 1], total = 0;
    for (uint32_t i = 0; i <= bound_count; i++)
        total = counts[i] = total + LOAD(histogram->buckets[i]);
    if (total == 0)
        return;
    for (uint32_t i = 0; i <= bound_count; i++) {
        char bound[24] = "+Inf";
        if (i < bound_count)
            snprintf(bound, sizeof bound, "%g", (double)bounds[i] / (double)LULL_SECOND);
        begin_sample(page, "_bucket", subject, "le", bound, NULL, NULL);
        buffer_number(&page->text, counts[i]);
        end_sample(page);
    }
    begin_sample(page, "_sum", subject, NULL, NULL, NULL, NULL);
    buffer_real(&page->text, (double)LOAD(histogram->sum) / (double)LULL_SECOND);
    end_sample(page);
    begin_sample(page, "_count", subject, NULL, NULL, NULL, NULL);
    buffer_number(&page->text, total);
    end_sample(page);
}

static void write_histograms(struct page *page) {
    begin(page, "lull_attempt_duration_seconds", "histogram", "How long attempts took.");
    EACH_SUBJECT(page) {
        write_histogram(page, subject, &stats_of(subject)->duration, stats_duration_bounds,
                        STATS_DURATION_BUCKETS);
    }
    begin(page, "lull_retry_delay_seconds", "histogram", "Delays before retries, as planned.");
    EACH_SUBJECT(page) {
        write_histogram(page, subject, &stats_of(subject)->delay, stats_delay_bounds,
                        STATS_DELAY_BUCKETS);
    }
}

static void write_backlog(struct page *page) {
    begin(page, "lull_backlog", "gauge",
          "Deliveries pending: fresh (never tried) and retry; inflight is how many of both are "
          "being tried now.");
    EACH_SUBJECT(page) {
        const struct lane_stats *stats = stats_of(subject);
        sample(page, subject, "state", "fresh", at_least_zero(LOAD(stats->pending[0])));
        sample(page, subject, "state", "retry", at_least_zero(LOAD(stats->pending[1])));
        sample(page, subject, "state", "inflight", LOAD(stats->inflight));
    }
    begin(page, "lull_inflight", "gauge", "Attempts under way.");
    EACH_SUBJECT(page) {
        sample(page, subject, NULL, NULL, LOAD(stats_of(subject)->inflight));
    }
    begin(page, "lull_dlq_size", "gauge", "Dead letters.");
    EACH_SUBJECT(page) {
        sample(page, subject, NULL, NULL, at_least_zero(LOAD(stats_of(subject)->dead)));
    }
    begin(page, "lull_dlq_arrivals_total", "counter", "Deliveries that died, by reason.");
    EACH_SUBJECT(page) {
        for (int reason = 0; reason < LULL_REASON_COUNT; reason++) {
            uint64_t count = LOAD(stats_of(subject)->dead_arrivals[reason]);
            if (count > 0)
                sample(page, subject, "reason", lull_reason_text((enum lull_reason)reason),
                       (int64_t)count);
        }
    }
}

static void write_events(struct page *page) {
    begin(page, "lull_events_accepted_total", "counter", "Deliveries accepted.");
    EACH_SUBJECT(page) {
        sample(page, subject, NULL, NULL, (int64_t)LOAD(stats_of(subject)->accepted));
    }
    begin(page, "lull_events_delivered_total", "counter", "Deliveries that arrived.");
    EACH_SUBJECT(page) {
        sample(page, subject, NULL, NULL, (int64_t)LOAD(stats_of(subject)->delivered));
    }
}

static void write_policies(struct page *page) {
    static const char *const states[] = {"closed", "open", "half_open"};
    begin(page, "lull_breaker_state", "gauge", "The circuit: 0 closed, 1 half-open, 2 open.");
    EACH_SUBJECT(page) {
        sample(page, subject, NULL, NULL, subject->circuit);
    }
    begin(page, "lull_breaker_transitions_total", "counter",
          "Changes of the circuit, by new state.");
    EACH_SUBJECT(page) {
        for (int to = 0; to < 3; to++) {
            uint64_t count = LOAD(stats_of(subject)->breaker_transitions[to]);
            if (count > 0)
                sample(page, subject, "to", states[to], (int64_t)count);
        }
    }
    begin(page, "lull_budget_tokens", "gauge", "Retries that the budget would allow now.");
    EACH_SUBJECT(page) {
        sample_real(page, subject, subject->budget);
    }
    begin(page, "lull_rejected_total", "counter",
          "Attempts that a policy did not let start yet, by policy.");
    EACH_SUBJECT(page) {
        for (int policy = 0; policy < LULL_POLICY_COUNT; policy++)
            if (subject->refused[policy] > 0)
                sample(page, subject, "policy", lull_policy_name((enum lull_policy)policy),
                       (int64_t)subject->refused[policy]);
    }
    begin(page, "lull_retry_ratio", "gauge",
          "Retries per first attempt, over the last 15 minutes.");
    EACH_SUBJECT(page) {
        sample_real(page, subject, subject->ratio);
    }
    begin(page, "lull_storm", "gauge", "1 while a retry storm is on.");
    EACH_SUBJECT(page) {
        sample(page, subject, NULL, NULL, LOAD(stats_of(subject)->storm) != 0);
    }
}

static void one(struct page *page, const char *name, const char *type, const char *help,
                double number) {
    begin(page, name, type, help);
    sample_real(page, NULL, number);
}

static void write_service(struct page *page, const struct service_figures *figures) {
    static const char *const alerts[] = {"dead_letter", "storm", "breaker", "disabled"};
    one(page, "lull_store_failing", "gauge", "1 while the store cannot write.",
        figures->store_failing);
    one(page, "lull_store_transactions_total", "counter", "Transactions of the store.",
        (double)figures->store_transactions);
    one(page, "lull_store_requests_total", "counter", "Requests to the store.",
        (double)figures->store_requests);
    begin(page, "lull_alerts_total", "counter",
          "Alerts raised, by kind: each is logged and, if alerts.url is set, posted.");
    for (size_t i = 0; i < sizeof alerts / sizeof alerts[0]; i++)
        sample(page, NULL, "kind", alerts[i], (int64_t)figures->alerts[i]);
    begin(page, "lull_config_reloads_total", "counter", "Reloads of the configuration, by result.");
    sample(page, NULL, "result", "ok", (int64_t)figures->reloads);
    sample(page, NULL, "result", "failed", (int64_t)figures->reloads_failed);
    one(page, "lull_destinations", "gauge", "Destinations there are.", page->count);
    one(page, "lull_workers", "gauge", "Worker threads.", figures->workers);
    begin(page, "lull_build_info", "gauge", "1, labelled with the version.");
    sample(page, NULL, "version", LULL_VERSION, 1);
}

static void write_process(struct page *page, lull_time started) {
    struct process_figures process;
    process_measure(&process);
    one(page, "process_start_time_seconds", "gauge", "When the process started, since 1970.",
        (double)started / (double)LULL_SECOND);
    one(page, "process_cpu_seconds_total", "counter", "CPU time spent, user and system.",
        process.cpu_seconds);
    one(page, "process_resident_memory_bytes", "gauge", "Memory in use.",
        (double)process.resident_bytes);
    one(page, "process_open_fds", "gauge", "Open file descriptors.", (double)process.open_files);
    one(page, "process_max_fds", "gauge", "File descriptors it may have.",
        (double)process.most_files);
}

void metrics_show(struct call *call) {
    struct page page = {0};
    struct service_figures figures;
    int64_t more;
    do {
        more = take_more(&page, service_registry(call->worker), service_now(call->worker));
    } while (more == METRICS_PAGE);
    service_figures(call->worker, &figures);
    if (more >= 0) {
        write_attempts(&page);
        write_histograms(&page);
        write_backlog(&page);
        write_events(&page);
        write_policies(&page);
        write_service(&page, &figures);
        write_process(&page, figures.started);
    }
    for (uint32_t i = 0; i < page.count; i++)
        destination_release(page.subjects[i].destination);
    free(page.subjects);
    page.text.failed |= more < 0;
    reply_buffer(call->exchange, 200, METRICS_TYPE, &page.text);
}
