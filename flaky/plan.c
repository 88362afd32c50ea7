#include "plan.h"

#include <lull/random.h>

const char *outcome_name(enum outcome outcome) {
    static const char *const names[OUTCOME_COUNT] = {
#define FLAKY_X(name, text) text,
        OUTCOME_MAP(FLAKY_X)
#undef FLAKY_X
    };
    return names[outcome];
}

void plan_limit_rate(struct plan_state *state, const struct settings *settings, bool in_use) {
    struct lull_bucket_config config = settings_bucket(settings);
    /* settings_check has let nothing through that the bucket would not take. */
    int result = in_use ? lull_bucket_configure(&state->bucket, &config, NULL)
                        : lull_bucket_init(&state->bucket, &config, NULL);
    (void)result;
}

struct outage_state plan_outage(const struct settings *settings, const struct plan_state *state,
                                lull_time now) {
    struct outage_state outage =
        outages_at(&settings->outage, settings->outage_every, now - state->schedule_start);
    if (outage.change != LULL_NEVER)
        outage.change += state->schedule_start;
    return outage;
}

static unsigned good_status(const struct settings *own) {
    bool redirects = *own->redirect != '\0';
    if (own->fail == SHARE_UNSET && own->status != 0)
        return (unsigned)own->status;
    if (redirects && own->status >= 300 && own->status < 400)
        return (unsigned)own->status;
    return redirects ? 302 : 200;
}

static struct plan answer(const struct settings *own, unsigned status) {
    return (struct plan){
        .effect = EFFECT_ANSWER,
        .outcome = status >= 400 ? OUTCOME_FAILED : OUTCOME_OK,
        .status = status,
        .gate = GATE_FULL,
        .bytes_per_second = own->slow_body,
    };
}

static struct plan failure(const struct settings *own) {
    struct plan plan = answer(own, own->status != 0 ? (unsigned)own->status : FAILURE_STATUS);
    plan.outcome = OUTCOME_FAILED; /* a failure may be a 200 that should not be one */
    return plan;
}

/* `status` 0: nothing of an answer is sent. */
static struct plan broken(enum effect effect, enum outcome outcome, unsigned status) {
    return (struct plan){
        .effect = effect,
        .outcome = outcome,
        .status = status,
        .gate = GATE_FULL,
        .until = LULL_NEVER,
    };
}

static struct plan in_outage(const struct settings *own, struct outage_state outage) {
    struct plan plan = answer(own, good_status(own));
    switch (outage.mode) {
    case OUTAGE_HANG:
        plan = broken(EFFECT_HANG, OUTCOME_HUNG, 0);
        plan.until = outage.change;
        return plan;
    case OUTAGE_REFUSE: /* accepted in the last moment before it */
    case OUTAGE_CLOSE:
        return broken(EFFECT_CLOSE, OUTCOME_CLOSED, 0);
    case OUTAGE_RESET:
        return broken(EFFECT_RESET, OUTCOME_RESET, plan.status);
    case OUTAGE_TRUNCATE:
        return broken(EFFECT_TRUNCATE, OUTCOME_TRUNCATED, plan.status);
    case OUTAGE_GARBAGE:
        return broken(EFFECT_GARBAGE, OUTCOME_GARBAGE, 0);
    case OUTAGE_ERROR:
        plan = failure(own);
        if (plan.status < 400) /* --status says how all is well, not how it fails */
            plan.status = FAILURE_STATUS;
        return plan;
    case OUTAGE_SLOW:
    case OUTAGE_NONE:
    case OUTAGE_MODE_COUNT:
        break;
    }
    if (plan.bytes_per_second == 0)
        plan.bytes_per_second = SLOW_OUTAGE_BYTES;
    return plan;
}

/* Is the draw within the next `share`? Moves on to what comes after it. */
static bool falls(double *draw, double share) {
    *draw -= share;
    return *draw < 0;
}

static struct plan by_chance(const struct settings *own, uint64_t word) {
    unsigned status = good_status(own);
    double draw = (double)(word >> 11) * 0x1p-53; /* 0 ≤ draw < 1 */
    if (falls(&draw, own->hang))
        return broken(EFFECT_HANG, OUTCOME_HUNG, 0);
    if (falls(&draw, own->close))
        return broken(EFFECT_CLOSE, OUTCOME_CLOSED, 0);
    if (falls(&draw, own->reset))
        return broken(EFFECT_RESET, OUTCOME_RESET, status);
    if (falls(&draw, own->truncate))
        return broken(EFFECT_TRUNCATE, OUTCOME_TRUNCATED, status);
    if (falls(&draw, own->garbage))
        return broken(EFFECT_GARBAGE, OUTCOME_GARBAGE, 0);
    if (own->fail != SHARE_UNSET && falls(&draw, own->fail))
        return failure(own);
    return answer(own, status);
}

static struct plan turned_away(enum outcome outcome, unsigned status, lull_duration token_due_in) {
    return (struct plan){
        .effect = EFFECT_ANSWER,
        .outcome = outcome,
        .status = status,
        .gate = GATE_FULL,
        .token_due_in = token_due_in,
    };
}

struct plan plan_request(const struct settings *settings, const struct settings *own,
                         struct plan_state *state, uint64_t word, lull_time now) {
    struct outage_state outage = plan_outage(settings, state, now);
    if (outage.mode != OUTAGE_NONE)
        return in_outage(own, outage);
    if (settings->rate.count > 0) {
        struct lull_verdict verdict = lull_bucket_take(&state->bucket, 1, now);
        if (verdict.decision != LULL_GO)
            return turned_away(OUTCOME_RATE_LIMITED, 429, verdict.at - now);
    }
    enum gate_answer gate = gate_arrive(&state->gate, &settings->gate, now);
    if (gate == GATE_FULL)
        return turned_away(OUTCOME_QUEUE_FULL, 503, 0);
    uint64_t words =
        word; /* one word is the seed of as many as are needed, whatever is switched on */
    struct plan plan = by_chance(own, lull_random_next(&words));
    plan.delay = latency_draw(&own->latency, lull_random_next(&words));
    plan.gate = gate;
    return plan;
}
