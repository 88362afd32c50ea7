/* A guard under any configuration, and then a few hundred calls at any time, ended in any way,
 * reconfigured and paused under way. What is refused must say why; what is accepted must work:
 * every verdict makes sense, all that was taken is given back, and in the end, when all pauses are
 * over, a call is let through.
 */
#include "input.h"

#include <lull/guard.h>

#include <math.h>
#include <string.h>

#define CALLS 6
#define STEPS 400
#define CENTURY (100 * 365 * LULL_DAY)

struct caller {
    struct lull_call call;
    struct lull_waiter waiter;
    enum { IDLE, RUNNING, WAITING } state;
    bool woken;
};

struct scene {
    struct input input;
    struct lull_guard guard;
    struct lull_guard_config config;
    struct caller callers[CALLS];
    lull_time now, latest;
    lull_duration deepest;              /* the largest bucket it ever had */
    uint64_t attempts, firsts, retries; /* begun; ended: first tries, later tries */
};

/* ---- a configuration ---- */

static int64_t take_integer(struct input *input) {
    switch (take(input, 1) & 7) {
    case 0:
    case 1:
    case 2:
        return 0; /* the default */
    case 3:
        return LULL_NONE;
    case 4:
        return (int64_t)take(input, 1);
    case 5:
        return (int64_t)(take(input, 1) << (take(input, 1) & 63));
    case 6:
        return (int64_t)take(input, 1) * LULL_MILLISECOND * 10;
    default:
        return (int64_t)take(input, 8);
    }
}

static double take_number(struct input *input) {
    switch (take(input, 1) & 7) {
    case 0:
    case 1:
    case 2:
        return 0;
    case 3:
        return LULL_NONE;
    case 4:
    case 5:
        return (double)take(input, 1) / 255;
    case 6:
        return (double)take(input, 2) / 16;
    default: {
        uint64_t bits = take(input, 8);
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    }
}

static struct lull_retry_config take_retry(struct input *input) {
    struct lull_retry_config retry = {
        .attempts = (uint32_t)take_integer(input),
        .backoff = {.base = take_integer(input),
                    .cap = take_integer(input),
                    .multiplier = take_number(input),
                    .jitter = (enum lull_jitter)(take(input, 1) & 7),
                    .jitter_factor = take_number(input),
                    .tier_count = (uint32_t)take(input, 1) % (LULL_BACKOFF_MAX_TIERS + 2)},
        .deadline = take_integer(input),
        .attempt_timeout = take_integer(input),
        .retry_after_cap = take_integer(input),
        .retry_after_jitter = take_number(input),
    };
    for (uint32_t i = 0; i < retry.backoff.tier_count && i < LULL_BACKOFF_MAX_TIERS; i++)
        retry.backoff.tiers[i] = take_integer(input);
    return retry;
}

static void on_transition(void *context, const struct lull_breaker_event *event) {
    struct scene *scene = context;
    CHECK(event->from != event->to || event->to == LULL_BREAKER_HALF_OPEN);
    CHECK(strcmp(lull_breaker_state_name(event->to), "unknown") != 0);
    if (event->to == LULL_BREAKER_OPEN)
        CHECK(event->open_until >= event->at);
    CHECK(event->at <= scene->latest);
}

static struct lull_breaker_config take_breaker(struct input *input, struct scene *scene) {
    return (struct lull_breaker_config){
        .by_count = take(input, 1) & 1,
        .window = take_integer(input),
        .slices = (uint32_t)take_integer(input),
        .calls = (uint32_t)take_integer(input),
        .minimum_calls = (uint32_t)take_integer(input),
        .failure_rate = take_number(input),
        .slow_rate = take_number(input),
        .slow_call = take_integer(input),
        .open_time = take_integer(input),
        .open_max = take_integer(input),
        .open_growth = take_number(input),
        .open_jitter = take_number(input),
        .probes = (uint32_t)take_integer(input),
        .lease = take_integer(input),
        .on_transition = on_transition,
        .context = scene,
    };
}

/* One byte says which parts are other than the default, so that a valid one is not far. */
static struct lull_guard_config take_config(struct input *input, struct scene *scene) {
    uint64_t parts = take(input, 1);
    struct lull_guard_config config = {
        .breaker = {.on_transition = on_transition, .context = scene}};
    if (parts & 1)
        config.retry = take_retry(input);
    if (parts & 2)
        config.breaker = take_breaker(input, scene);
    if (parts & 4)
        config.budget = (struct lull_budget_config){take_number(input), take_integer(input),
                                                    take_number(input), take_integer(input)};
    if (parts & 8)
        config.bucket = (struct lull_bucket_config){take_integer(input), take_integer(input),
                                                    take_integer(input)};
    if (parts & 16)
        config.bulkhead = (struct lull_bulkhead_config){(int32_t)take_integer(input),
                                                        (int32_t)take_integer(input)};
    else if (parts & 128) /* few enough to be full at times */
        config.bulkhead = (struct lull_bulkhead_config){1 + (int32_t)(take(input, 1) & 3),
                                                        1 + (int32_t)(take(input, 1) & 3)};
    if (parts & 32)
        config.without = (uint32_t)take(input, 1) & 31;
    if (parts & 64) {
        config.connect_timeout = take_integer(input);
        config.read_timeout = take_integer(input);
    }
    return config;
}

/* A refusal names a field and begins with it. */
static void check_error(const struct lull_error *error) {
    CHECK(error->field != NULL);
    CHECK(memchr(error->message, '\0', sizeof error->message) != NULL);
    CHECK(strncmp(error->message, error->field, strlen(error->field)) == 0);
    CHECK(strlen(error->message) > strlen(error->field) + 1);
}

static void accepted(struct scene *scene, const struct lull_guard_config *config) {
    scene->config = *config;
    struct lull_guard_stats stats;
    lull_guard_snapshot(&scene->guard, &stats, scene->now);
    lull_duration depth, interval = config->bucket.per ? config->bucket.per : LULL_BUCKET_PER;
    int64_t rate = config->bucket.rate ? config->bucket.rate : LULL_BUCKET_RATE;
    interval = interval / rate + (interval % rate != 0);
    CHECK(!__builtin_mul_overflow(stats.bucket.capacity, interval, &depth));
    if (depth > scene->deepest)
        scene->deepest = depth;
}

/* ---- verdicts ---- */

static void check_verdict(const struct scene *scene, const struct caller *caller,
                          struct lull_verdict verdict) {
    CHECK(verdict.decision <= LULL_STOP);
    CHECK((unsigned)verdict.policy < LULL_POLICY_COUNT);
    CHECK((unsigned)verdict.reason < LULL_REASON_COUNT);
    CHECK(verdict.reason != LULL_REASON_MISUSE);
    CHECK(verdict.timeout >= 0);
    switch (verdict.decision) {
    case LULL_GO:
        CHECK(verdict.timeout > 0);
        CHECK(verdict.timeout <= lull_call_left(&caller->call, scene->now));
        break;
    case LULL_RETRY:
        CHECK(verdict.at >= scene->now);
        CHECK(verdict.at < caller->call.deadline);
        CHECK(scene->config.retry.attempts == 0 ||
              caller->call.attempt < scene->config.retry.attempts);
        break;
    case LULL_NO:
        CHECK(verdict.reason != LULL_REASON_NONE && verdict.policy != LULL_POLICY_NOBODY);
        CHECK(verdict.at >= scene->now);
        break;
    case LULL_STOP:
        CHECK(verdict.reason != LULL_REASON_NONE && verdict.policy != LULL_POLICY_NOBODY);
        CHECK(verdict.at == LULL_NEVER);
        break;
    default:
        break;
    }
}

static unsigned count(const struct scene *scene, int state) {
    unsigned counted = 0;
    for (int i = 0; i < CALLS; i++)
        counted += (int)scene->callers[i].state == state;
    return counted;
}

static void check_snapshot(struct scene *scene) {
    struct lull_guard_stats stats;
    lull_guard_snapshot(&scene->guard, &stats, scene->now);
    CHECK(stats.firsts == scene->firsts && stats.retries == scene->retries);
    CHECK(stats.bulkhead.inside + stats.bulkhead.waiting <=
          count(scene, RUNNING) + count(scene, WAITING));
    CHECK(stats.bucket.tokens >= 0 && stats.bucket.tokens <= stats.bucket.capacity);
    CHECK(stats.bucket.next_at >= scene->now);
    int64_t ahead;
    CHECK(!__builtin_sub_overflow(stats.bucket.full_at, scene->latest, &ahead) || ahead < 0);
    CHECK(ahead <= scene->deepest);
    CHECK(isfinite(stats.budget.tokens) && stats.budget.tokens >= 0);
    CHECK(stats.breaker.window_failed <= stats.breaker.window_calls);
    CHECK(stats.breaker.window_slow <= stats.breaker.window_calls);
    CHECK(stats.breaker.failed <= stats.breaker.calls);
    CHECK(stats.breaker.slow <= stats.breaker.calls);
    CHECK(stats.breaker.probes_out <= count(scene, RUNNING) + count(scene, WAITING));
    CHECK(isfinite(stats.storm.ratio) && stats.storm.ratio >= 0);
    CHECK(stats.storm.firsts <= stats.storm.total_firsts);
    CHECK(stats.storm.retries <= stats.storm.total_retries);
    uint64_t outcomes = 0;
    for (int i = 0; i < LULL_CLASS_COUNT; i++)
        outcomes += stats.outcomes[i];
    CHECK(outcomes == scene->firsts + scene->retries);
    CHECK(outcomes + count(scene, RUNNING) == scene->attempts);
}

/* ---- what callers do ---- */

static void on_wake(struct lull_waiter *waiter) {
    struct caller *caller = waiter->context;
    caller->woken = true;
}

static void begin(struct scene *scene, struct caller *caller) {
    uint64_t options = take(&scene->input, 1);
    struct lull_call_options wanted = {.idempotent = options & 1,
                                       .not_the_edge = (options & 6) == 6,
                                       .deadline = options & 8 ? take_integer(&scene->input) : 0};
    lull_call_begin(&scene->guard, &caller->call, options & 16 ? &wanted : NULL,
                    take(&scene->input, 1), scene->now);
    CHECK(lull_call_left(&caller->call, scene->now) >= 0);
}

static void started(struct scene *scene, struct caller *caller, struct lull_verdict verdict) {
    check_verdict(scene, caller, verdict);
    CHECK(verdict.decision != LULL_DONE && verdict.decision != LULL_RETRY);
    caller->state = IDLE;
    if (verdict.decision == LULL_GO) {
        caller->state = RUNNING;
        scene->attempts++;
    } else if (verdict.decision == LULL_STOP) {
        begin(scene, caller);
    }
}

static void admit(struct scene *scene, struct caller *caller, bool wait) {
    struct lull_verdict verdict;
    if (!wait) {
        verdict = lull_admit(&scene->guard, &caller->call, scene->now);
        CHECK(verdict.decision != LULL_WAIT);
    } else {
        caller->woken = false;
        caller->waiter = (struct lull_waiter){.wake = on_wake, .context = caller};
        verdict = lull_admit_or_wait(&scene->guard, &caller->call, &caller->waiter, scene->now);
    }
    started(scene, caller, verdict);
    if (verdict.decision == LULL_WAIT)
        caller->state = WAITING;
}

static void settle(struct scene *scene, struct caller *caller) {
    bool due = caller->woken && scene->now < caller->call.deadline;
    struct lull_verdict verdict =
        lull_settle(&scene->guard, &caller->call, &caller->waiter, scene->now);
    bool paused = verdict.decision == LULL_NO && verdict.policy == LULL_POLICY_CLOCK;
    CHECK(paused ? due : (verdict.decision == LULL_GO) == due);
    started(scene, caller, verdict);
}

/* The attempt is over, one way or another. */
static void ended(struct scene *scene, struct caller *caller) {
    caller->state = IDLE;
    scene->firsts += caller->call.attempt == 1;
    scene->retries += caller->call.attempt > 1;
}

static void abandon(struct scene *scene, struct caller *caller) {
    lull_call_abandon(&scene->guard, &caller->call, scene->now);
    if (caller->state == RUNNING)
        ended(scene, caller);
}

static void complete(struct scene *scene, struct caller *caller) {
    uint64_t word = take(&scene->input, 1);
    struct lull_outcome outcome = {
        .class_ = (enum lull_class)(LULL_SUCCESS + word % (LULL_CLASS_COUNT - 1)),
        .retry_after = word & 0x80 ? take_integer(&scene->input) : 0,
    };
    struct lull_verdict verdict = lull_complete(&scene->guard, &caller->call, outcome, scene->now);
    ended(scene, caller);
    check_verdict(scene, caller, verdict);
    CHECK((verdict.decision == LULL_DONE) == (outcome.class_ == LULL_SUCCESS));
    CHECK(verdict.decision >= LULL_DONE);
    if (verdict.decision != LULL_RETRY)
        begin(scene, caller);
}

static void reconfigure(struct scene *scene, struct lull_guard_config config) {
    struct lull_error error = {0};
    if (lull_guard_configure(&scene->guard, &config, &error) == LULL_OK)
        accepted(scene, &config);
    else
        check_error(&error);
}

/* The same, but with other policies left out. */
static void leave_out(struct scene *scene, uint32_t policies) {
    struct lull_guard_config config = scene->config;
    config.without ^= policies;
    reconfigure(scene, config);
}

/* The operator's hand. */
static void intervene(struct scene *scene, uint64_t word) {
    switch (word & 7) {
    case 0:
        lull_guard_pause(&scene->guard, scene->now + (int64_t)take(&scene->input, 5));
        break;
    case 1:
        lull_guard_resume(&scene->guard);
        break;
    case 2:
        lull_breaker_set_mode(&scene->guard.breaker, (enum lull_breaker_mode)(word >> 3 & 3),
                              scene->now);
        break;
    case 3:
        reconfigure(scene, take_config(&scene->input, scene));
        break;
    case 4:
        leave_out(scene, word >> 3 & 15);
        break;
    default:
        check_snapshot(scene);
    }
}

static void move_clock(struct scene *scene, uint64_t word) {
    static const lull_duration moves[] = {
        0,           1,           LULL_MICROSECOND, LULL_MILLISECOND, 100 * LULL_MILLISECOND,
        LULL_SECOND, LULL_MINUTE, LULL_HOUR};
    scene->now += moves[word & 7];
    if (word & 8) /* another thread's, a little behind */
        scene->now -= (lull_duration)take(&scene->input, 1);
    if (scene->now > scene->latest)
        scene->latest = scene->now;
}

static void step(struct scene *scene) {
    uint64_t word = take(&scene->input, 2);
    struct caller *caller = &scene->callers[(word >> 4) % 8 % CALLS];
    move_clock(scene, word & 15);
    if (word >> 7 & 1)
        intervene(scene, word >> 8);
    else if (caller->state == IDLE)
        admit(scene, caller, word >> 8 & 1);
    else if (caller->state == WAITING)
        settle(scene, caller);
    else if (word >> 8 & 15)
        complete(scene, caller);
    else {
        abandon(scene, caller);
        begin(scene, caller);
    }
}

/* Everybody goes home: nothing may be left taken, and after a hundred years the guard must let
 * somebody in. */
static void finish(struct scene *scene) {
    for (int i = 0; i < CALLS; i++) {
        struct caller *caller = &scene->callers[i];
        if (caller->state == WAITING)
            settle(scene, caller);
        abandon(scene, caller);
    }
    check_snapshot(scene);
    struct lull_guard_stats stats;
    lull_guard_snapshot(&scene->guard, &stats, scene->now);
    CHECK(stats.bulkhead.inside == 0 && stats.bulkhead.waiting == 0);
    CHECK(stats.breaker.probes_out == 0);
    if (stats.breaker.state == LULL_BREAKER_FORCED_OPEN)
        lull_breaker_set_mode(&scene->guard.breaker, LULL_BREAKER_NORMAL, scene->now);
    if (scene->latest > INT64_MAX - 2 * CENTURY - 1)
        return;
    scene->now = scene->latest + 2 * CENTURY + 1;
    scene->latest = scene->now;
    begin(scene, &scene->callers[0]);
    if (lull_call_left(&scene->callers[0].call, scene->now) > 0) {
        admit(scene, &scene->callers[0], false);
        CHECK(scene->callers[0].state == RUNNING);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct scene scene;
    memset(&scene, 0, sizeof scene);
    memset(&scene.guard, 0xa5, sizeof scene.guard); /* init may count on nothing */
    scene.input = (struct input){data, size};
    /* Long enough after the beginning of time and before its end, or close to one of them. */
    uint64_t epoch = take(&scene.input, 1);
    scene.now = epoch == 0xff   ? INT64_MIN + LULL_DAY
                : epoch == 0xfe ? INT64_MAX - 30 * LULL_DAY
                                : (int64_t)(epoch * LULL_SECOND);
    scene.latest = scene.now;

    struct lull_guard_config config = take_config(&scene.input, &scene);
    struct lull_error error = {0}, same = {0};
    int result = lull_guard_check(&config, &error);
    CHECK(lull_guard_init(&scene.guard, &config, &same) == result);
    CHECK(memcmp(&error, &same, sizeof error) == 0);
    if (result != LULL_OK) {
        CHECK(result == LULL_EINVAL);
        check_error(&error);
        return 0;
    }
    accepted(&scene, &config);
    for (int i = 0; i < CALLS; i++)
        begin(&scene, &scene.callers[i]);
    for (int i = 0; i < STEPS && scene.input.left > 0; i++)
        step(&scene);
    finish(&scene);
    return 0;
}
