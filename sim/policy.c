#include "policy.h"

#include "units.h"
#include "words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ALL_WITHOUT =
        LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD,
};

/* ---- YAML ---- */

#define MOST_TOKENS INT64_C(1000000000)
#define SHORTEST LULL_MICROSECOND
#define LONGEST LULL_DAY

static bool read_preset(const char *text, void *member, char *message, size_t size) {
    struct lull_guard_config *guard = member;
    struct names names = names_for(text);
    const struct lull_guard_config *preset = lull_preset(text);
    if (preset != NULL) {
        *guard = *preset;
        return true;
    }
    for (size_t i = 0; lull_preset_name(i) != NULL; i++)
        names_offer(&names, lull_preset_name(i));
    char quoted[QUOTE_SIZE], advice[500];
    snprintf(message, size, "there is no preset %s; %s", quote(text, quoted),
             names_advice(&names, advice, sizeof advice));
    return false;
}

/* A bucket counts whole tokens: 100/m stays 100 a minute, it is not 1.67 a second. */
static bool read_bucket_rate(const char *text, void *member, char *message, size_t size) {
    struct lull_bucket_config *bucket = member;
    char quoted[QUOTE_SIZE];
    double count;
    lull_duration per;
    if (!rate_parse(text, &count, &per))
        snprintf(message, size, "%s is not a rate; write for example " RATE_FORMS,
                 quote(text, quoted));
    else if (count < 1 || count > (double)MOST_TOKENS || count != floor(count))
        snprintf(message, size, "%s is out of range; it must be a whole number from 1 to %lld",
                 quote(text, quoted), (long long)MOST_TOKENS);
    else {
        bucket->rate = (int64_t)count;
        bucket->per = per;
        return true;
    }
    return false;
}

static const struct field budget_fields[] = {
    {"ratio", FIELD_NUMBER, PLACE(struct lull_budget_config, ratio), .none = true, .least = 0.001,
     .most = 1000},
    {"window", FIELD_DURATION, PLACE(struct lull_budget_config, window), .lowest = LULL_MILLISECOND,
     .highest = LONGEST},
    {"cap_seconds", FIELD_NUMBER, PLACE(struct lull_budget_config, cap_seconds), .none = true,
     .least = 0.001, .most = 86400},
    {"floor", FIELD_INTEGER, PLACE(struct lull_budget_config, floor), .none = true, .lowest = 1,
     .highest = 1000000},
};
static const struct schema budget_schema = SCHEMA(struct lull_budget_config, budget_fields);

static const struct field breaker_fields[] = {
    {"by_count", FIELD_FLAG, PLACE(struct lull_breaker_config, by_count)},
    {"window", FIELD_DURATION, PLACE(struct lull_breaker_config, window),
     .lowest = LULL_MILLISECOND, .highest = LONGEST},
    {"slices", FIELD_INTEGER, PLACE(struct lull_breaker_config, slices), .lowest = 2,
     .highest = LULL_BREAKER_MAX_SLICES},
    {"calls", FIELD_INTEGER, PLACE(struct lull_breaker_config, calls), .lowest = 1,
     .highest = LULL_BREAKER_MAX_CALLS},
    {"minimum_calls", FIELD_INTEGER, PLACE(struct lull_breaker_config, minimum_calls), .lowest = 1,
     .highest = 1000000},
    {"failure_rate", FIELD_NUMBER, PLACE(struct lull_breaker_config, failure_rate), .least = 0.001,
     .most = 1},
    {"slow_rate", FIELD_NUMBER, PLACE(struct lull_breaker_config, slow_rate), .least = 0.001,
     .most = 1},
    {"slow_call", FIELD_DURATION, PLACE(struct lull_breaker_config, slow_call), .none = true,
     .lowest = SHORTEST, .highest = LONGEST},
    {"open_time", FIELD_DURATION, PLACE(struct lull_breaker_config, open_time), .lowest = SHORTEST,
     .highest = LONGEST},
    {"open_max", FIELD_DURATION, PLACE(struct lull_breaker_config, open_max), .lowest = SHORTEST,
     .highest = LONGEST},
    {"open_growth", FIELD_NUMBER, PLACE(struct lull_breaker_config, open_growth), .least = 1,
     .most = 1000},
    {"open_jitter", FIELD_NUMBER, PLACE(struct lull_breaker_config, open_jitter), .none = true,
     .least = 0.001, .most = 0.999},
    {"probes", FIELD_INTEGER, PLACE(struct lull_breaker_config, probes), .lowest = 1,
     .highest = LULL_BREAKER_MAX_PROBES},
    {"lease", FIELD_DURATION, PLACE(struct lull_breaker_config, lease), .lowest = SHORTEST,
     .highest = LONGEST},
};
static const struct schema breaker_schema = SCHEMA(struct lull_breaker_config, breaker_fields);

static const struct field bucket_fields[] = {
    {"capacity", FIELD_INTEGER, PLACE(struct lull_bucket_config, capacity), .lowest = 1,
     .highest = MOST_TOKENS},
    {"rate", FIELD_CUSTOM, .size = sizeof(struct lull_bucket_config), .read = read_bucket_rate},
};
static const struct schema bucket_schema = SCHEMA(struct lull_bucket_config, bucket_fields);

static const struct field bulkhead_fields[] = {
    {"limit", FIELD_INTEGER, PLACE(struct lull_bulkhead_config, limit), .lowest = 1,
     .highest = LULL_BULKHEAD_MAX},
    {"queue", FIELD_INTEGER, PLACE(struct lull_bulkhead_config, queue), .none = true, .lowest = 1,
     .highest = LULL_BULKHEAD_MAX},
};
static const struct schema bulkhead_schema = SCHEMA(struct lull_bulkhead_config, bulkhead_fields);

static const struct choice jitters[] = {
    {"none", LULL_JITTER_NONE},
    {"full", LULL_JITTER_FULL},
    {"equal", LULL_JITTER_EQUAL},
    {"decorrelated", LULL_JITTER_DECORRELATED},
    {"additive", LULL_JITTER_ADDITIVE},
    {"proportional", LULL_JITTER_PROPORTIONAL},
    {NULL, 0},
};

static const struct choice guard_policies[] = {
    {"budget", LULL_WITHOUT_BUDGET},
    {"breaker", LULL_WITHOUT_BREAKER},
    {"rate_limit", LULL_WITHOUT_BUCKET},
    {"bulkhead", LULL_WITHOUT_BULKHEAD},
    {NULL, 0},
};

static const struct field tier = {
    .kind = FIELD_DURATION, .size = sizeof(lull_duration), .lowest = SHORTEST, .highest = LONGEST};

#define BACKOFF(member) PLACE(struct sim_policy, guard.retry.backoff.member)

/* The preset first: it fills in what the others then change. */
static const struct field policy_fields[] = {
    {"preset", FIELD_CUSTOM, PLACE(struct sim_policy, guard), .read = read_preset},
    {"name", FIELD_TEXT, PLACE(struct sim_policy, name), .required = true},
    {"note", FIELD_TEXT, PLACE(struct sim_policy, note)},
    {"attempts", FIELD_INTEGER, PLACE(struct sim_policy, guard.retry.attempts), .lowest = 1,
     .highest = 1000},
    {"base", FIELD_DURATION, BACKOFF(base), .lowest = SHORTEST, .highest = LONGEST},
    {"cap", FIELD_DURATION, BACKOFF(cap), .lowest = SHORTEST, .highest = LONGEST},
    {"multiplier", FIELD_NUMBER, BACKOFF(multiplier), .least = 1, .most = 1000},
    {"jitter", FIELD_CHOICE, BACKOFF(jitter), .choices = jitters},
    {"jitter_factor", FIELD_NUMBER, BACKOFF(jitter_factor), .least = 0.001, .most = 1},
    {"tiers", FIELD_LIST, BACKOFF(tiers), .entry = &tier, .lowest = 1,
     .count = offsetof(struct sim_policy, guard.retry.backoff.tier_count)},
    {"deadline", FIELD_DURATION, PLACE(struct sim_policy, guard.retry.deadline), .none = true,
     .lowest = SHORTEST, .highest = LONGEST},
    {"attempt_timeout", FIELD_DURATION, PLACE(struct sim_policy, guard.retry.attempt_timeout),
     .none = true, .lowest = SHORTEST, .highest = LONGEST},
    {"retry_after_cap", FIELD_DURATION, PLACE(struct sim_policy, guard.retry.retry_after_cap),
     .lowest = SHORTEST, .highest = LONGEST},
    {"with", FIELD_SET, PLACE(struct sim_policy, guard.without), .choices = guard_policies},
    {"budget", FIELD_MAP, PLACE(struct sim_policy, guard.budget), .schema = &budget_schema},
    {"breaker", FIELD_MAP, PLACE(struct sim_policy, guard.breaker), .schema = &breaker_schema},
    {"rate_limit", FIELD_MAP, PLACE(struct sim_policy, guard.bucket), .schema = &bucket_schema},
    {"bulkhead", FIELD_MAP, PLACE(struct sim_policy, guard.bulkhead), .schema = &bulkhead_schema},
    {"admission", FIELD_FLAG, PLACE(struct sim_policy, admission)},
    {"edge_only", FIELD_FLAG, PLACE(struct sim_policy, edge_only)},
    {"bulkheads", FIELD_FLAG, PLACE(struct sim_policy, bulkheads)},
    {"lanes", FIELD_FLAG, PLACE(struct sim_policy, lanes)},
};

/* How the library's words are spelt in YAML; the longer first. */
static const struct {
    const char *library, *yaml;
} spellings[] = {
    {"bucket.per", "rate_limit.rate"},
    {"bucket.", "rate_limit."},
    {"backoff.", ""},
    {"retry.", ""},
};

/* The library's text with each of its words spelt as in YAML. */
static void spell(const char *text, char *spelt, size_t size) {
    size_t length = 0;
    while (*text != '\0' && length + 1 < size) {
        size_t i = 0;
        while (i < sizeof spellings / sizeof spellings[0] &&
               strncmp(text, spellings[i].library, strlen(spellings[i].library)) != 0)
            i++;
        if (i == sizeof spellings / sizeof spellings[0]) {
            spelt[length++] = *text++;
            continue;
        }
        int added = snprintf(spelt + length, size - length, "%s", spellings[i].yaml);
        length += (size_t)added < size - length ? (size_t)added : size - length - 1;
        text += strlen(spellings[i].library);
    }
    spelt[length] = '\0';
}

static bool check_guard(struct reader *reader, const struct lull_guard_config *guard) {
    struct lull_error error;
    if (lull_guard_check(guard, &error) == LULL_OK)
        return true;
    char key[80], message[sizeof error.message + 80];
    spell(error.field, key, sizeof key);
    spell(error.message + strlen(error.field) + 1, message, sizeof message);
    return reader_wrong(reader, key, "%s", message);
}

static bool check_policy(struct reader *reader, void *object) {
    struct sim_policy *policy = object;
    uint32_t on = policy->guard.without; /* the list was read in there, as the bits fit */
    policy->guard.without = ALL_WITHOUT & ~on;
    for (const struct choice *choice = guard_policies; choice->name != NULL; choice++)
        if (reader_given(reader, choice->name) && (on & choice->value) == 0)
            return reader_wrong(reader, choice->name,
                                "is set, but not turned on; add %s to the list of \"with\"",
                                choice->name);
    if (policy->bulkheads && (on & LULL_WITHOUT_BULKHEAD) == 0)
        return reader_wrong(
            reader, "bulkheads",
            "replaces thread pools by the guard's bulkhead, which is not turned on; "
            "add bulkhead to the list of \"with\"");
    enum lull_jitter jitter = policy->guard.retry.backoff.jitter;
    if (reader_given(reader, "jitter_factor") && jitter != LULL_JITTER_ADDITIVE &&
        jitter != LULL_JITTER_PROPORTIONAL)
        return reader_wrong(reader, "jitter_factor",
                            "is for the jitters additive and proportional only");
    return check_guard(reader, &policy->guard);
}

const struct schema policy_schema =
    SCHEMA_WITH(struct sim_policy, policy_fields, NULL, check_policy);

/* ---- the command line ---- */

static const char *const ways[] = {"none",         "fixed",    "exponential",  "full", "equal",
                                   "decorrelated", "additive", "proportional", NULL};

enum {
    BUDGET = 1,
    BREAKER = 2,
    RATE_LIMIT = 4,
    BULKHEAD = 8,
    ADMISSION = 16,
    EDGE = 32,
    LANES = 64,
    USUAL = BUDGET | BREAKER | BULKHEAD | ADMISSION, /* what `lull` is where nothing else is said */
};
static const struct choice features[] = {
    {"budget", BUDGET}, {"breaker", BREAKER}, {"rate_limit", RATE_LIMIT}, {"bulkhead", BULKHEAD},
    {"edge", EDGE},     {"lanes", LANES},     {"admission", ADMISSION},   {NULL, 0},
};

/* What the words of an expression ask for. */
struct wish {
    bool started; /* from `start`, not from the plain policy */
    struct sim_policy start;
    const char *way; /* to wait; NULL: as the start does */
    bool everything; /* `lull` */
    uint32_t features;
};

static const struct sim_policy *find_policy(const struct sim_scenario *scenario, const char *name) {
    for (uint32_t i = 0; i < scenario->policy_count; i++)
        if (strcmp(scenario->policies[i].name, name) == 0)
            return &scenario->policies[i];
    return NULL;
}

/* Retries as in the scenario's simplest policy, and nothing else on. */
static struct sim_policy plain_policy(const struct sim_scenario *scenario) {
    const struct sim_policy *model = find_policy(scenario, "naive");
    if (model == NULL)
        model = find_policy(scenario, "fixed");
    struct sim_policy policy = {.guard = {.without = ALL_WITHOUT}};
    if (model != NULL)
        policy.guard.retry = model->guard.retry;
    else
        policy.guard.retry = (struct lull_retry_config){
            .attempts = POLICY_ATTEMPTS,
            .backoff = {.base = POLICY_BASE, .cap = POLICY_CAP},
            .deadline = LULL_NONE,
            .attempt_timeout = POLICY_ATTEMPT_TIMEOUT,
        };
    return policy;
}

static void set_way(struct lull_retry_config *retry, const char *way) {
    struct lull_backoff_config *backoff = &retry->backoff;
    if (strcmp(way, "none") == 0) {
        retry->attempts = 1;
        return;
    }
    lull_duration base = backoff->base != 0 ? backoff->base : LULL_BACKOFF_BASE;
    lull_duration cap = backoff->cap != 0 ? backoff->cap : LULL_BACKOFF_CAP;
    bool grows = backoff->multiplier != 1 && cap > base;
    backoff->tier_count = 0;
    backoff->base = base;
    backoff->jitter = LULL_JITTER_NONE;
    if (strcmp(way, "fixed") == 0) {
        backoff->multiplier = 1;
        backoff->cap = base;
        return;
    }
    if (!grows) { /* a fixed delay's cap is no bound for delays that grow */
        backoff->multiplier = LULL_BACKOFF_MULTIPLIER;
        backoff->cap = base * (POLICY_CAP / POLICY_BASE);
    }
    if (strcmp(way, "exponential") != 0)
        (void)!lull_jitter_parse(way, &backoff->jitter); /* the other ways are its names */
}

static void add_features(struct sim_policy *policy, const struct lull_guard_config *model,
                         uint32_t wanted) {
    struct lull_guard_config *guard = &policy->guard;
    if (wanted & BUDGET) {
        guard->budget = model->budget;
        guard->without &= ~(uint32_t)LULL_WITHOUT_BUDGET;
    }
    if (wanted & BREAKER) {
        guard->breaker = model->breaker;
        guard->without &= ~(uint32_t)LULL_WITHOUT_BREAKER;
    }
    if (wanted & RATE_LIMIT) {
        guard->bucket = model->bucket;
        guard->without &= ~(uint32_t)LULL_WITHOUT_BUCKET;
    }
    if (wanted & BULKHEAD) {
        guard->bulkhead = model->bulkhead;
        guard->without &= ~(uint32_t)LULL_WITHOUT_BULKHEAD;
        policy->bulkheads = true;
    }
    policy->admission |= (wanted & ADMISSION) != 0;
    policy->edge_only |= (wanted & EDGE) != 0;
    policy->lanes |= (wanted & LANES) != 0;
}

static void fulfil(const struct sim_scenario *scenario, struct wish *wish,
                   struct sim_policy *policy) {
    const struct sim_policy *cured = find_policy(scenario, "lull");
    *policy = wish->started ? wish->start : plain_policy(scenario);
    if (wish->everything && cured != NULL) {
        struct lull_retry_config retry = policy->guard.retry;
        *policy = *cured;
        policy->guard.retry = retry;
    } else if (wish->everything) {
        wish->features |= USUAL;
        if (wish->way == NULL && !wish->started)
            wish->way = "full";
    }
    add_features(policy, cured != NULL ? &cured->guard : &policy->guard, wish->features);
    if (wish->way != NULL)
        set_way(&policy->guard.retry, wish->way);
    policy->note[0] = '\0';
}

/* A whole policy by its name alone: the scenario's, or a preset. */
static bool take_named(const struct sim_scenario *scenario, const char *name,
                       struct sim_policy *policy) {
    const struct sim_policy *own = find_policy(scenario, name);
    const struct lull_guard_config *preset = lull_preset(name);
    if (own != NULL) {
        *policy = *own;
        return true;
    }
    if (preset == NULL)
        return false;
    lull_duration timeout = plain_policy(scenario).guard.retry.attempt_timeout;
    *policy = (struct sim_policy){.guard = *preset};
    if (preset->retry.attempt_timeout == 0)
        policy->guard.retry.attempt_timeout =
            preset->read_timeout != 0 ? preset->read_timeout : timeout;
    return true;
}

/* Only the first word may be a whole policy. */
static int unknown_word(const struct sim_scenario *scenario, const char *word, bool first,
                        char message[READER_MESSAGE_SIZE]) {
    struct names own = names_for(word), presets = own, words = own;
    for (uint32_t i = 0; first && i < scenario->policy_count; i++)
        names_offer(&own, scenario->policies[i].name);
    presets.best = own.best; /* one race for the nearest */
    for (size_t i = 0; first && lull_preset_name(i) != NULL; i++)
        names_offer(&presets, lull_preset_name(i));
    words.best = presets.best;
    for (size_t i = 0; ways[i] != NULL; i++)
        names_offer(&words, ways[i]);
    for (size_t i = 0; features[i].name != NULL; i++)
        names_offer(&words, features[i].name);
    names_offer(&words, "lull");

    char quoted[QUOTE_SIZE], meant[80] = "", lists[500];
    snprintf(lists, sizeof lists, "%s%.120s%s%s%.120s%swords to join with + are %.180s",
             own.count > 0 ? "the scenario has " : "", own.list, own.count > 0 ? "; " : "",
             first ? "presets are " : "", presets.list, first ? "; " : "", words.list);
    if (words.best.name != NULL) {
        snprintf(meant, sizeof meant, "did you mean %s? ", words.best.name);
        lists[0] = (char)toupper(lists[0]);
    }
    snprintf(message, READER_MESSAGE_SIZE, "there is no %s %s; %s%s",
             first ? "policy" : "part of a policy", quote(word, quoted), meant, lists);
    return LULL_EINVAL;
}

/* Notes the way to wait. */
static int take_way(const char *way, struct wish *wish, char message[READER_MESSAGE_SIZE]) {
    if (wish->way != NULL && strcmp(wish->way, way) != 0) {
        snprintf(message, READER_MESSAGE_SIZE,
                 "%s and %s are both ways to wait between attempts; choose one", wish->way, way);
        return LULL_EINVAL;
    }
    wish->way = way;
    return LULL_OK;
}

/* Notes what one word asks for. */
static int take_word(const struct sim_scenario *scenario, const char *word, bool first,
                     struct wish *wish, char message[READER_MESSAGE_SIZE]) {
    if (first && take_named(scenario, word, &wish->start)) {
        wish->started = true;
        return LULL_OK;
    }
    if (strcmp(word, "lull") == 0) {
        wish->everything = true;
        return LULL_OK;
    }
    for (size_t i = 0; features[i].name != NULL; i++)
        if (strcmp(features[i].name, word) == 0) {
            wish->features |= (uint32_t)features[i].value;
            return LULL_OK;
        }
    for (size_t i = 0; ways[i] != NULL; i++)
        if (strcmp(ways[i], word) == 0)
            return take_way(ways[i], wish, message);
    return unknown_word(scenario, word, first, message);
}

static void set_name(struct sim_policy *policy, const char *expression) {
    bool fits = strlen(expression) < sizeof policy->name;
    snprintf(policy->name, sizeof policy->name, "%.*s%s",
             fits ? (int)sizeof policy->name : (int)sizeof policy->name - 4, expression,
             fits ? "" : "...");
}

int policy_parse(const struct sim_scenario *scenario, const char *expression,
                 struct sim_policy *policy, char message[READER_MESSAGE_SIZE]) {
    message[0] = '\0';
    if (!take_named(scenario, expression, policy)) {
        struct wish wish = {0};
        const char *at = expression;
        for (bool first = true, more = true; more; first = false) {
            char word[64];
            size_t length = strcspn(at, "+");
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            if (take_word(scenario, word, first, &wish, message) != LULL_OK)
                return LULL_EINVAL;
            more = at[length] == '+';
            at += length + more;
        }
        fulfil(scenario, &wish, policy);
    }
    set_name(policy, expression);
    struct lull_error error;
    if (lull_guard_check(&policy->guard, &error) == LULL_OK)
        return LULL_OK;
    spell(error.message, message, READER_MESSAGE_SIZE);
    return LULL_EINVAL;
}
