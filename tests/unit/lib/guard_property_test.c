/* The guard: any configuration and any sequence of calls, against a model. */
#include "guard_fixture.h"

#include <lull/random.h>

#include <math.h>
#include <string.h>

/* ---- any configuration, any sequence of calls, against a model ----
 *
 * A world is a guard with a random configuration and a dozen visitors that call through it, each by the rules of the
 * header. The model foretells everything but what the breaker says and which words are drawn. */

enum { WORLDS = 3000, VISITORS = 12, STEPS = 300 };

struct visitor {
    enum { AWAY, READY, WAITING, INSIDE } state;
    struct lull_call call;
    struct lull_call_options options;
    struct lull_waiter waiter;
    bool woken;
    bool has_place, has_token; /* counted at the bulkhead; paid at the bucket */
    lull_time at;              /* READY: when to ask */
};

static struct {
    uint64_t seed, random;
    int step;
    struct lull_guard_config config;
    lull_time now, clock, bucket_full_at;
    struct visitor visitors[VISITORS];
    uint32_t inside, waiting;
    uint64_t firsts, retries, successes, votes, withdrawn, refused, stopped;
    double most_ratio; /* of the budget, ever configured */
} world;

#define hold(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("world of seed %llu, step %d: %s", (unsigned long long)world.seed,            \
                     world.step, #condition);                                                      \
    } while (0)

static int64_t pick(int64_t low, int64_t high) {
    return lull_uniform(lull_random_next(&world.random), low, high);
}

static bool chance(int percent) {
    return pick(1, 100) <= percent;
}

static double fraction(void) {
    return (double)pick(1, 1000) / 1000;
}

static lull_duration none_or(int percent, lull_duration high) {
    return chance(percent) ? LULL_NONE : pick(1, high);
}

static struct lull_retry_config random_retry(void) {
    struct lull_retry_config retries = {
        .attempts = (uint32_t)pick(1, 6),
        .backoff = {.base = pick(1, MILLISECONDS(200)),
                    .multiplier = 1 + 3 * fraction(),
                    .jitter = (enum lull_jitter)pick(LULL_JITTER_NONE, LULL_JITTER_PROPORTIONAL),
                    .jitter_factor = fraction()},
        .deadline = none_or(30, SECONDS(5)),
        .attempt_timeout = none_or(30, SECONDS(2)),
        .retry_after_cap = pick(1, SECONDS(2)),
        .retry_after_jitter = chance(30) ? LULL_NONE : fraction(),
    };
    retries.backoff.cap = retries.backoff.base + pick(0, SECONDS(1));
    retries.backoff.tier_count = chance(20) ? (uint32_t)pick(1, LULL_BACKOFF_MAX_TIERS) : 0;
    for (uint32_t i = 0; i < retries.backoff.tier_count; i++)
        retries.backoff.tiers[i] = pick(1, MILLISECONDS(500));
    return retries;
}

static struct lull_bulkhead_config random_bulkhead(void) {
    return (struct lull_bulkhead_config){.limit = (int32_t)pick(1, 8),
                                         .queue = (int32_t)none_or(30, 4)};
}

static uint32_t random_without(void) {
    return chance(50) ? 0 : (uint32_t)pick(0, 15);
}

static struct lull_guard_config random_config(void) {
    struct lull_guard_config config = {
        .retry = random_retry(),
        .breaker = {.by_count = chance(50),
                    .window = pick(LULL_MICROSECOND, SECONDS(10)),
                    .slices = (uint32_t)pick(2, 60),
                    .calls = (uint32_t)pick(20, 256),
                    .minimum_calls = (uint32_t)pick(1, 20),
                    .failure_rate = fraction(),
                    .slow_rate = fraction(),
                    .slow_call = none_or(30, MILLISECONDS(100)),
                    .open_time = pick(1, SECONDS(1)),
                    .open_growth = 1 + fraction(),
                    .open_jitter = chance(50) ? LULL_NONE : fraction() * 0.9,
                    .probes = (uint32_t)pick(1, 6),
                    .lease = pick(1, SECONDS(2))},
        .budget = {.ratio = chance(30) ? LULL_NONE : fraction(),
                   .window = pick(10 * LULL_MICROSECOND, SECONDS(10)),
                   .cap_seconds = chance(30) ? LULL_NONE : 10 * fraction(),
                   .floor = none_or(30, 50)},
        .bucket = {.capacity = pick(1, 100), .rate = pick(1, 1000), .per = SECONDS(1)},
        .bulkhead = random_bulkhead(),
        .without = random_without(),
    };
    return config;
}

static lull_duration bucket_interval(void) {
    return (LULL_SECOND + world.config.bucket.rate - 1) / world.config.bucket.rate;
}

static lull_time later(lull_time a, lull_time b) {
    return a > b ? a : b;
}

/* A place is handed over: by one who leaves, or by a raised limit. */
static void visitor_woken(struct lull_waiter *waiter) {
    struct visitor *visitor = waiter->context;
    hold(visitor->state == WAITING && !visitor->woken);
    visitor->woken = true;
    world.waiting--;
    world.inside++;
    hold(world.inside <= (uint32_t)world.config.bulkhead.limit);
}

static void give_back_token(struct visitor *visitor) {
    if (visitor->has_token)
        world.bucket_full_at -= bucket_interval();
    visitor->has_token = false;
}

static void expect_go(struct visitor *visitor, struct lull_verdict verdict) {
    hold(world.now >= world.clock);
    hold(world.now < visitor->call.deadline);
    lull_duration bound = world.config.retry.attempt_timeout;
    lull_duration left = lull_call_left(&visitor->call, world.now);
    hold(verdict.timeout == (bound != LULL_NONE && bound < left ? bound : left));
    hold(verdict.timeout > 0);
    visitor->state = INSIDE;
}

static void expect_no(struct visitor *visitor, struct lull_verdict verdict) {
    hold(verdict.decision == LULL_NO);
    hold(verdict.at >= world.now);
    world.refused++;
    visitor->state = chance(50) && verdict.at < world.now + SECONDS(5) ? READY : AWAY;
    visitor->at = verdict.at;
}

/* Does the bucket give a token? If so it is taken. */
static bool model_takes_token(lull_time *due) {
    lull_duration interval = bucket_interval();
    lull_time next = later(world.bucket_full_at, world.now) + interval;
    *due = next - world.config.bucket.capacity * interval;
    if (*due > world.now)
        return false;
    world.bucket_full_at = next;
    return true;
}

/* The breaker had no objection: what do bucket and bulkhead say? */
static void expect_past_the_breaker(struct visitor *visitor, bool waits,
                                    struct lull_verdict verdict) {
    lull_time due;
    visitor->has_token = visitor->has_place = false;
    if (!(world.config.without & LULL_WITHOUT_BUCKET)) {
        if (!model_takes_token(&due)) {
            hold(verdict.policy == LULL_POLICY_BUCKET && verdict.at == due);
            expect_no(visitor, verdict);
            return;
        }
        visitor->has_token = true;
    }
    if (!(world.config.without & LULL_WITHOUT_BULKHEAD)) {
        bool is_full = world.waiting > 0 || world.inside >= (uint32_t)world.config.bulkhead.limit;
        bool may_wait = waits && (int32_t)world.waiting < world.config.bulkhead.queue;
        if (is_full && may_wait) {
            hold(verdict.decision == LULL_WAIT && verdict.at == visitor->call.deadline);
            visitor->state = WAITING;
            world.waiting++;
            return;
        }
        if (is_full) {
            hold(verdict.policy == LULL_POLICY_BULKHEAD && verdict.reason == LULL_REASON_FULL);
            give_back_token(visitor);
            expect_no(visitor, verdict);
            return;
        }
        visitor->has_place = true;
        world.inside++;
    }
    hold(verdict.decision == LULL_GO);
    expect_go(visitor, verdict);
}

static void ask(struct visitor *visitor) {
    bool waits = chance(50);
    visitor->woken = false;
    uint32_t before = visitor->call.attempt;
    struct lull_verdict verdict =
        waits ? lull_admit_or_wait(&guard, &visitor->call, &visitor->waiter, world.now)
              : lull_admit(&guard, &visitor->call, world.now);
    hold(visitor->call.attempt == before + (verdict.decision == LULL_GO));
    if (world.now >= visitor->call.deadline) {
        hold(verdict.decision == LULL_STOP && verdict.reason == LULL_REASON_DEADLINE_PASSED);
        world.stopped++;
        visitor->state = AWAY;
    } else if (world.now < world.clock) {
        hold(verdict.policy == LULL_POLICY_CLOCK && verdict.at >= world.clock);
        expect_no(visitor, verdict);
    } else if (verdict.policy == LULL_POLICY_BREAKER) {
        hold(!(world.config.without & LULL_WITHOUT_BREAKER));
        expect_no(visitor, verdict);
    } else {
        expect_past_the_breaker(visitor, waits, verdict);
    }
}

static void settle_visitor(struct visitor *visitor) {
    bool goes = visitor->woken && world.now < visitor->call.deadline && world.now >= world.clock;
    bool in_time = visitor->woken && world.now < visitor->call.deadline;
    visitor->has_place = goes;
    visitor->state = READY; /* a place it does not take is handed on before lull_settle returns */
    if (!visitor->woken)
        world.waiting--;
    else if (!goes)
        world.inside--;
    struct lull_verdict verdict = lull_settle(&guard, &visitor->call, &visitor->waiter, world.now);
    hold((verdict.decision == LULL_GO) == goes);
    if (goes) {
        expect_go(visitor, verdict);
        return;
    }
    hold(verdict.policy == (in_time ? LULL_POLICY_CLOCK : LULL_POLICY_BULKHEAD));
    give_back_token(visitor);
    expect_no(visitor, verdict);
}

/* The least and the most that a delay may be, give or take the rounding of a power. */
static void delay_bounds(uint32_t attempt, bool throttled, double *low, double *high) {
    const struct lull_backoff_config *backoff = &world.config.retry.backoff;
    double base = (double)backoff->base, cap = (double)backoff->cap;
    double d = fmin(cap, base * pow(backoff->multiplier, attempt - 1));
    if (backoff->tier_count > 0)
        d = (double)backoff
                ->tiers[attempt > backoff->tier_count ? backoff->tier_count - 1 : attempt - 1];
    double part = backoff->jitter_factor * d;
    const double bounds[][2] = {
        [LULL_JITTER_NONE] = {d, d},
        [LULL_JITTER_FULL] = {throttled ? d / 2 : 0, d},
        [LULL_JITTER_EQUAL] = {d / 2, d},
        [LULL_JITTER_DECORRELATED] = {base, cap},
        [LULL_JITTER_ADDITIVE] = {d, d + part},
        [LULL_JITTER_PROPORTIONAL] = {d - part, d + part},
    };
    *low = fmax(bounds[backoff->jitter][0] - 2, 0);
    *high = bounds[backoff->jitter][1] + 2;
}

static void expect_retry_or_no_time(struct visitor *visitor, enum lull_class class_,
                                    lull_duration asked, struct lull_verdict verdict) {
    double low, high;
    delay_bounds(visitor->call.attempt, class_ == LULL_THROTTLED, &low, &high);
    /* The clock, be it moved by this call or by another. */
    double jitter = world.config.retry.retry_after_jitter;
    double pause = world.clock > world.now ? (double)(world.clock - world.now) : 0;
    low = fmax(low, pause);
    high = fmax(high, pause * (jitter == LULL_NONE ? 1 : 1 + jitter) + 2);
    if (verdict.decision == LULL_STOP) {
        world.stopped++;
        visitor->state = AWAY;
        double left = (double)lull_call_left(&visitor->call, world.now);
        hold(verdict.reason == LULL_REASON_BUDGET_SPENT ||
             verdict.reason == LULL_REASON_DEADLINE_TOO_NEAR);
        hold(verdict.reason != LULL_REASON_BUDGET_SPENT ||
             !(world.config.without & LULL_WITHOUT_BUDGET));
        hold(verdict.reason != LULL_REASON_DEADLINE_TOO_NEAR || high >= left);
        return;
    }
    hold(verdict.decision == LULL_RETRY);
    hold(verdict.at < visitor->call.deadline);
    hold((double)(verdict.at - world.now) >= low && (double)(verdict.at - world.now) <= high);
    hold((verdict.reason == LULL_REASON_RETRY_AFTER) == (asked > 0));
    world.withdrawn += !(world.config.without & LULL_WITHOUT_BUDGET);
    visitor->state = READY;
    visitor->at = verdict.at;
}

/* The attempt ends, one way or another. */
static void count_end(const struct visitor *visitor) {
    world.inside -= visitor->has_place;
    if (visitor->call.attempt == 1)
        world.firsts++;
    else
        world.retries++;
}

static void complete_visitor(struct visitor *visitor, size_t row) {
    struct lull_outcome outcome = {.class_ = classes[row].class_};
    if (classes[row].retried && chance(10))
        outcome.retry_after = pick(1, SECONDS(3));
    lull_duration asked = outcome.retry_after < world.config.retry.retry_after_cap
                              ? outcome.retry_after
                              : world.config.retry.retry_after_cap;
    if (asked > 0)
        world.clock = later(world.clock, world.now + asked);
    count_end(visitor);
    world.votes += classes[row].votes;
    world.successes += outcome.class_ == LULL_SUCCESS;
    struct lull_verdict verdict = lull_complete(&guard, &visitor->call, outcome, world.now);
    bool left = visitor->call.attempt < world.config.retry.attempts;
    struct lull_verdict should = ending(row, visitor->options, left, world.now);
    if (should.decision == LULL_RETRY) {
        expect_retry_or_no_time(visitor, outcome.class_, asked, verdict);
        return;
    }
    hold(verdict.decision == should.decision && verdict.reason == should.reason);
    world.stopped += verdict.decision == LULL_STOP;
    visitor->state = AWAY;
}

static void leave(struct visitor *visitor) {
    if (!chance(10)) {
        complete_visitor(visitor, (size_t)pick(0, COUNT(classes) - 1));
        return;
    }
    count_end(visitor);
    visitor->state = AWAY;
    if (chance(50)) {
        lull_call_abandon(&guard, &visitor->call, world.now);
        return;
    }
    struct lull_verdict verdict = end(&visitor->call, LULL_UNSET, world.now);
    hold(verdict.reason == LULL_REASON_MISUSE);
    world.stopped++;
}

static void begin_visit(struct visitor *visitor) {
    visitor->options = (struct lull_call_options){
        .deadline = chance(50) ? 0 : none_or(30, SECONDS(2)),
        .idempotent = chance(50),
        .not_the_edge = chance(20),
    };
    visitor->waiter = (struct lull_waiter){.wake = visitor_woken, .context = visitor};
    visitor->at = world.now;
    visitor->state = READY;
    lull_call_begin(&guard, &visitor->call, &visitor->options, (uint64_t)pick(0, INT64_MAX),
                    world.now);
}

static void misuse(struct visitor *visitor) {
    struct lull_verdict verdict = visitor->state == INSIDE
                                      ? lull_admit(&guard, &visitor->call, world.now)
                                      : end(&visitor->call, LULL_SUCCESS, world.now);
    hold(verdict.decision == LULL_STOP && verdict.reason == LULL_REASON_MISUSE);
    world.stopped++;
}

/* Everything but the rate limit, whose past depends on it, and the kind of the breaker's window. */
static void change_settings(void) {
    struct lull_guard_config config = random_config();
    config.bucket = world.config.bucket;
    config.breaker.by_count = world.config.breaker.by_count;
    config.breaker.slices = world.config.breaker.slices;
    config.breaker.calls = world.config.breaker.calls;
    config.budget.floor = world.config.budget.floor;
    world.config = config;
    world.most_ratio = fmax(world.most_ratio, config.budget.ratio);
    reconfigure(config);
}

static void intervene(void) {
    if (chance(30)) {
        change_settings();
    } else if (chance(50)) {
        lull_time until = world.now + pick(-SECONDS(1), SECONDS(1));
        world.clock = later(world.clock, until);
        lull_guard_pause(&guard, until);
    } else {
        world.clock = INT64_MIN;
        lull_guard_resume(&guard);
    }
}

static void visit(struct visitor *visitor) {
    if (visitor->state != AWAY && chance(2))
        misuse(visitor);
    switch (visitor->state) {
    case AWAY:
        begin_visit(visitor);
        break;
    case READY:
        if (world.now >= visitor->at)
            ask(visitor);
        break;
    case WAITING:
        if (visitor->woken || chance(30))
            settle_visitor(visitor);
        break;
    case INSIDE:
        leave(visitor);
        break;
    }
}

static void compare_with_model(void) {
    struct lull_guard_stats stats = stats_at(world.now);
    hold(stats.bulkhead.inside == world.inside);
    hold(stats.bulkhead.waiting == world.waiting);
    hold(stats.firsts == world.firsts);
    hold(stats.retries == world.retries);
    hold(stats.firsts + stats.retries == sum(stats.outcomes, LULL_CLASS_COUNT));
    hold(stats.outcomes[LULL_SUCCESS] == world.successes);
    hold(sum(stats.refused, LULL_POLICY_COUNT) == world.refused);
    hold(sum(stats.stopped, LULL_REASON_COUNT) == world.stopped);
    hold(stats.not_before == (world.clock == INT64_MIN ? 0 : world.clock));
    hold(stats.bucket.full_at == later(world.bucket_full_at, world.now));
    hold(stats.breaker.calls <= world.votes);
    hold(stats.budget.withdrawn == world.withdrawn);
    double seconds = (double)world.now / LULL_SECOND;
    double floor_rate = (double)world.config.budget.floor;
    double given = floor_rate == LULL_NONE ? 0 : floor_rate * (1 + seconds);
    hold((double)stats.budget.withdrawn <=
         world.most_ratio * (double)world.successes + given + 0.001);
}

/* All go home; nothing may be left behind. */
static void close_down(void) {
    for (size_t i = 0; i < VISITORS; i++) {
        struct visitor *visitor = &world.visitors[i];
        if (visitor->state == WAITING)
            settle_visitor(visitor);
        if (visitor->state == INSIDE) {
            count_end(visitor);
            lull_call_abandon(&guard, &visitor->call, world.now);
        }
        visitor->state = AWAY;
    }
    compare_with_model();
    hold(world.inside == 0 && world.waiting == 0);
    hold(stats_at(world.now).breaker.probes_out == 0);
}

static void live(uint64_t seed) {
    memset(&world, 0, sizeof world);
    world.seed = world.random = seed;
    world.clock = world.bucket_full_at = INT64_MIN;
    world.config = random_config();
    world.most_ratio = fmax(world.config.budget.ratio, 0);
    set_up(world.config);
    for (world.step = 0; world.step < STEPS; world.step++) {
        world.now += chance(50) ? 0 : chance(95) ? pick(0, MILLISECONDS(20)) : pick(0, SECONDS(1));
        if (chance(2))
            intervene();
        visit(&world.visitors[pick(0, VISITORS - 1)]);
        compare_with_model();
    }
    close_down();
}

static void test_any_sequence_in_any_configuration(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        live(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_sequence_in_any_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
