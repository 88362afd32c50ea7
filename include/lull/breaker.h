/* Circuit breaker: stop calling what does not answer, and find out gently when it does again.
 *
 *             failures ≥ 50 % or slow ≥ 80 % of at least 10 calls in the window
 *   CLOSED ────────────────────────────────────────────────────────────────▶ OPEN
 *     ▲                                                                     │   ▲
 *     │ all 5 probes answered,                              open time passed │   │ enough of the 5 probes
 *     │ below both thresholds                                               ▼   │ failed or were slow
 *     └──────────────────────────────────────────────────────────────── HALF-OPEN
 *
 * Window: by time (30 s in 1 s slices) or by count (the last 100 calls).
 * Open time: 30 s, doubled at each re-opening in a row up to 5 min, then jittered ±10 % so that a fleet
 * does not probe in step.
 *   30 s · 2 · 2 = 2 min at the third opening; jittered: 108 … 132 s.
 *
 * Every state has a generation number, and a call carries that of the state which admitted it: a result that
 * arrives in a later state never votes. A half-open permit is a lease: a call that ends as "ignored"
 * gives it back; if all permits are out and none was taken for `lease` (60 s), the missing ones are
 * written off with a new generation. So half-open never wedges. Only results vote; a refusal is not one.
 *
 * State, generation, re-openings and the probes' tally are one atomic word; each transition is one
 * compare-and-swap on it. Every function may be called from any thread; none takes a lock.
 *
 *   uint32_t permit;
 *   if (lull_breaker_admit(&b, &permit, now).decision == LULL_GO)
 *       … call …, lull_breaker_record(&b, permit, LULL_VOTE_FAILURE, took, random_word, now);
 */
#ifndef LULL_BREAKER_H
#define LULL_BREAKER_H

#include <lull/base.h>
#include <lull/window.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_BREAKER_WINDOW (30 * LULL_SECOND)
#define LULL_BREAKER_SLICES 30
#define LULL_BREAKER_CALLS 100
#define LULL_BREAKER_MINIMUM_CALLS 10
#define LULL_BREAKER_FAILURE_RATE 0.5
#define LULL_BREAKER_SLOW_RATE 0.8
#define LULL_BREAKER_SLOW_CALL (2 * LULL_SECOND)
#define LULL_BREAKER_OPEN_TIME (30 * LULL_SECOND)
#define LULL_BREAKER_OPEN_MAX (5 * LULL_MINUTE)
#define LULL_BREAKER_OPEN_GROWTH 2.0
#define LULL_BREAKER_OPEN_JITTER 0.1
#define LULL_BREAKER_PROBES 5
#define LULL_BREAKER_LEASE (60 * LULL_SECOND)
#define LULL_BREAKER_MAX_SLICES 60
#define LULL_BREAKER_MAX_CALLS 256
#define LULL_BREAKER_MAX_PROBES 255

enum lull_breaker_state {
    LULL_BREAKER_CLOSED,    /* calls pass, results fill the window */
    LULL_BREAKER_OPEN,      /* calls are refused until the open time has passed */
    LULL_BREAKER_HALF_OPEN, /* a few probes pass */
    /* Held there by lull_breaker_set_mode: */
    LULL_BREAKER_FORCED_OPEN,  /* all calls are refused */
    LULL_BREAKER_DISABLED,     /* all calls pass, nothing is counted */
    LULL_BREAKER_METRICS_ONLY, /* all calls pass, results fill the window, it never opens */
};

enum lull_breaker_mode {
    LULL_BREAKER_NORMAL, /* the three states above */
    LULL_BREAKER_MODE_FORCED_OPEN,
    LULL_BREAKER_MODE_DISABLED,
    LULL_BREAKER_MODE_METRICS_ONLY,
};

enum lull_vote {
    LULL_VOTE_SUCCESS,
    LULL_VOTE_FAILURE,
    LULL_VOTE_NONE, /* ignored or cancelled: gives the permit back and counts for nothing */
};

/* What happened, told to `on_transition` by the thread that caused it, once per transition. Threads may tell out of order: the
 * generation says which came first. */
struct lull_breaker_event {
    enum lull_breaker_state from, to;
    uint32_t generation; /* of the new state */
    lull_time at;
    lull_time open_until;         /* to = OPEN */
    uint64_t calls, failed, slow; /* what decided: the window's, or the probes' */
};
typedef void lull_breaker_event_fn(void *context, const struct lull_breaker_event *event);

struct lull_breaker_config {
    bool by_count;          /* false: by time */
    lull_duration window;   /* by time: 1 µs … 1 day */
    uint32_t slices;        /* by time: 2 … 60 */
    uint32_t calls;         /* by count: 1 … 256 */
    uint32_t minimum_calls; /* ≥ 1; by count: at most `calls` (a larger default is lowered to it) */
    double failure_rate;    /* 0.000001 … 1 */
    double slow_rate;       /* 0.000001 … 1 */
    lull_duration slow_call; /* a call that took longer is slow; LULL_NONE: none is */
    lull_duration open_time; /* at most a day, as are open_max, slow_call and lease */
    lull_duration open_max;  /* ≥ open_time */
    double open_growth;      /* 1 … 1000; of at most 15 re-openings in a row */
    double open_jitter;      /* 0 < f ≤ 0.999; LULL_NONE: none */
    uint32_t probes;         /* 1 … 255 */
    lull_duration lease;
    lull_breaker_event_fn *on_transition; /* may be NULL; called from record, admit or set_mode */
    void *context;                        /* borrowed */
};

struct lull_breaker {           /* private */
    LULL_ATOMIC(uint64_t) word; /* state | generation | re-openings | probes' tally */
    /* calls, failed, slow of this generation: count << 16 | generation */
    LULL_ATOMIC(uint64_t) tally[3];
    LULL_ATOMIC(uint64_t) oldest[3]; /* `tally` when the window began */
    struct lull_window window;
    LULL_ATOMIC(lull_time) open_until;
    LULL_ATOMIC(lull_time) probed_at; /* when the last half-open permit was taken */
    LULL_ATOMIC(uint64_t) past_calls; /* votes that are no longer in `tally` */
    LULL_ATOMIC(uint64_t) failed, slow, refused, late, transitions;
    LULL_ATOMIC(lull_duration) slow_call, open_time, open_max, lease;
    LULL_ATOMIC(double) open_growth, open_jitter;
    LULL_ATOMIC(uint32_t) failure_ppm, slow_ppm, minimum_calls, calls, probes;
    LULL_ATOMIC(bool) by_count;
    lull_breaker_event_fn *on_transition;
    void *context;
    union {
        LULL_ATOMIC(uint64_t) notes[LULL_BREAKER_MAX_SLICES * 3]; /* by time: the window's ring */
        LULL_ATOMIC(uint64_t) slots[LULL_BREAKER_MAX_CALLS];      /* by count: the last results */
    } ring;
};

struct lull_breaker_stats {
    enum lull_breaker_state state;
    uint32_t generation;
    uint32_t reopenings;                               /* in a row */
    lull_time open_until;                              /* state = OPEN, else 0 */
    uint64_t window_calls, window_failed, window_slow; /* closed or metrics-only, else 0 */
    uint32_t probes_out, probes_answered;              /* half-open, else 0 */
    uint64_t calls, failed, slow;                      /* that voted, since init */
    uint64_t refused;
    uint64_t late; /* results of an older generation, not counted */
    uint64_t transitions;
};

LULL_MUST_USE LULL_API int lull_breaker_init(struct lull_breaker *breaker,
                                             const struct lull_breaker_config *config,
                                             struct lull_error *error);
/* New settings for a breaker in use: state, generation, window and callback are kept. The kind of window and the
 * number of its slices or calls cannot change: LULL_EINVAL. */
LULL_MUST_USE LULL_API int lull_breaker_configure(struct lull_breaker *breaker,
                                                  const struct lull_breaker_config *config,
                                                  struct lull_error *error);

/* GO and a permit, or NO with the reason and the earliest time to ask again. A GO must be answered by
 * one lull_breaker_record. */
LULL_MUST_USE LULL_API struct lull_verdict lull_breaker_admit(struct lull_breaker *breaker,
                                                              uint32_t *permit, lull_time now);

/* The admitted call ended. `took` is compared with `slow_call`; `word` is one word of randomness, used if
 * the circuit opens. */
LULL_API void lull_breaker_record(struct lull_breaker *breaker, uint32_t permit,
                                  enum lull_vote vote, lull_duration took, uint64_t word,
                                  lull_time now);

/* The operator's hand. Back to NORMAL starts closed with an empty window; NORMAL while normal changes nothing, open or not. */
LULL_API void lull_breaker_set_mode(struct lull_breaker *breaker, enum lull_breaker_mode mode,
                                    lull_time now);

LULL_API enum lull_breaker_state lull_breaker_current(const struct lull_breaker *breaker);
LULL_API struct lull_breaker_stats lull_breaker_snapshot(struct lull_breaker *breaker,
                                                         lull_time now);
LULL_API const char *lull_breaker_state_name(enum lull_breaker_state state);

#ifdef __cplusplus
}
#endif
#endif
