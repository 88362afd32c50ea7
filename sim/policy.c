#include "policy.h"

#include "guard.h"
#include "words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    ALL_WITHOUT =
        LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD,
};

/* ---- YAML ---- */

static const struct choice guard_policies[] = {
    {"budget", LULL_WITHOUT_BUDGET},
    {"breaker", LULL_WITHOUT_BREAKER},
    {"rate_limit", LULL_WITHOUT_BUCKET},
    {"bulkhead", LULL_WITHOUT_BULKHEAD},
    {NULL, 0},
};

/* The preset first: it fills in what the others then change. */
static const struct field policy_fields[] = {
    {"preset", FIELD_CUSTOM, PLACE(struct sim_policy, guard), .read = guard_read_preset},
    {"name", FIELD_TEXT, PLACE(struct sim_policy, name), .required = true},
    {"note", FIELD_TEXT, PLACE(struct sim_policy, note)},
    {NULL, FIELD_INCLUDE, PLACE(struct sim_policy, guard.retry), .schema = &guard_retry_schema},
    {"deadline", FIELD_DURATION, PLACE(struct sim_policy, guard.retry.deadline), .none = true,
     .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {"attempt_timeout", FIELD_DURATION, PLACE(struct sim_policy, guard.retry.attempt_timeout),
     .none = true, .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {NULL, FIELD_INCLUDE, PLACE(struct sim_policy, guard.retry),
     .schema = &guard_retry_after_schema},
    {"with", FIELD_SET, PLACE(struct sim_policy, guard.without), .choices = guard_policies},
    {"budget", FIELD_MAP, PLACE(struct sim_policy, guard.budget), .schema = &guard_budget_schema},
    {"breaker", FIELD_MAP, PLACE(struct sim_policy, guard.breaker),
     .schema = &guard_breaker_schema},
    {"rate_limit", FIELD_MAP, PLACE(struct sim_policy, guard.bucket),
     .schema = &guard_bucket_schema},
    {"bulkhead", FIELD_MAP, PLACE(struct sim_policy, guard.bulkhead),
     .schema = &guard_bulkhead_schema},
    {"admission", FIELD_FLAG, PLACE(struct sim_policy, admission)},
    {"edge_only", FIELD_FLAG, PLACE(struct sim_policy, edge_only)},
    {"bulkheads", FIELD_FLAG, PLACE(struct sim_policy, bulkheads)},
    {"lanes", FIELD_FLAG, PLACE(struct sim_policy, lanes)},
};

static const struct spelling spellings[] = {
    {"bucket.per", "rate_limit.rate"},
    {"bucket.", "rate_limit."},
    {"backoff.", ""},
    {"retry.", ""},
    {0},
};

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
    return guard_check(reader, &policy->guard, spellings);
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
    guard_spell(spellings, error.message, message, READER_MESSAGE_SIZE);
    return LULL_EINVAL;
}
