#include "window.h"

#include <lull/storm.h>

#include "saturate.h"

enum { STORM_FIRSTS, STORM_RETRIES, STORM_COUNTS };

void lull_storm_init(struct lull_storm *storm) {
    for (int i = 0; i < STORM_COUNTS; i++) {
        store(&storm->counts[i], 0);
        store(&storm->oldest[i], 0);
    }
    for (int i = 0; i < LULL_STORM_SLICES * STORM_COUNTS; i++)
        store(&storm->notes[i], 0);
    window_init(&storm->window, LULL_STORM_WINDOW, LULL_STORM_SLICES);
    store(&storm->backlog, 0);
    store(&storm->minute_end, INT64_MIN);
    store(&storm->grew, 0);
}

static void move(struct lull_storm *storm, lull_time now) {
    if (window_due(&storm->window, now))
        window_move(&storm->window, now, storm->counts, STORM_COUNTS, storm->notes, storm->oldest);
}

void lull_storm_first(struct lull_storm *storm, lull_time now) {
    move(storm, now);
    add(&storm->counts[STORM_FIRSTS], 1);
}

void lull_storm_retry(struct lull_storm *storm, lull_time now) {
    move(storm, now);
    add(&storm->counts[STORM_RETRIES], 1);
}

void lull_storm_observe(struct lull_storm *storm, uint64_t firsts, uint64_t retries,
                        lull_time now) {
    store(&storm->counts[STORM_FIRSTS], firsts);
    store(&storm->counts[STORM_RETRIES], retries);
    move(storm, now);
}

void lull_storm_backlog(struct lull_storm *storm, int64_t waiting, lull_time now) {
    lull_time end = load(&storm->minute_end);
    if (now < end)
        return;
    if (end != INT64_MIN) {
        bool grew = waiting > load(&storm->backlog);
        /* A minute of which nothing was heard is not one in which it grew. */
        bool consecutive = subtract_saturated(now, end) < LULL_MINUTE;
        store(&storm->grew, !grew ? 0 : consecutive ? load(&storm->grew) + 1 : 1);
    }
    store(&storm->backlog, waiting);
    store(&storm->minute_end, add_saturated(now, LULL_MINUTE));
}

/* Retries in the last slices: the current one and those before it. */
static uint64_t recent_retries(const struct lull_storm *storm, uint64_t retries) {
    uint32_t position = load(&storm->window.position);
    uint32_t first =
        (position + LULL_STORM_SLICES - (LULL_STORM_EARLY_SLICES - 1)) % LULL_STORM_SLICES;
    return retries - load(&storm->notes[first * STORM_COUNTS + STORM_RETRIES]);
}

struct lull_storm_stats lull_storm_snapshot(struct lull_storm *storm, lull_time now) {
    move(storm, now);
    uint64_t total_firsts = load(&storm->counts[STORM_FIRSTS]);
    uint64_t total_retries = load(&storm->counts[STORM_RETRIES]);
    uint64_t firsts = total_firsts - load(&storm->oldest[STORM_FIRSTS]);
    uint64_t retries = total_retries - load(&storm->oldest[STORM_RETRIES]);
    double ratio = (double)retries / (double)(firsts > 0 ? firsts : 1);
    uint64_t early_seconds =
        LULL_STORM_WINDOW / LULL_STORM_SLICES * LULL_STORM_EARLY_SLICES / LULL_SECOND;
    return (struct lull_storm_stats){
        .storm = retries > LULL_STORM_RETRIES && ratio > LULL_STORM_RATIO,
        .backlog_growing = load(&storm->grew) >= LULL_STORM_EARLY_MINUTES,
        .rate_high = recent_retries(storm, total_retries) > LULL_STORM_EARLY_RATE * early_seconds,
        .firsts = firsts,
        .retries = retries,
        .ratio = ratio,
        .total_firsts = total_firsts,
        .total_retries = total_retries,
    };
}
