#include "guard.h"

#include "units.h"
#include "words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- values ---- */

bool guard_read_preset(const char *text, void *member, char *message, size_t size) {
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
bool guard_read_rate(const char *text, void *member, char *message, size_t size) {
    struct lull_bucket_config *bucket = member;
    char quoted[QUOTE_SIZE];
    double count;
    lull_duration per;
    if (!rate_parse(text, &count, &per))
        snprintf(message, size, "%s is not a rate; write for example " RATE_FORMS,
                 quote(text, quoted));
    else if (count < 1 || count > (double)GUARD_MOST_TOKENS || count != floor(count))
        snprintf(message, size, "%s is out of range; it must be a whole number from 1 to %lld",
                 quote(text, quoted), (long long)GUARD_MOST_TOKENS);
    else {
        bucket->rate = (int64_t)count;
        bucket->per = per;
        return true;
    }
    return false;
}

/* ---- tables ---- */

static const struct field budget_fields[] = {
    {"ratio", FIELD_NUMBER, PLACE(struct lull_budget_config, ratio), .none = true, .least = 0.001,
     .most = 1000},
    {"window", FIELD_DURATION, PLACE(struct lull_budget_config, window), .lowest = LULL_MILLISECOND,
     .highest = GUARD_LONGEST},
    {"cap_seconds", FIELD_NUMBER, PLACE(struct lull_budget_config, cap_seconds), .none = true,
     .least = 0.001, .most = 86400},
    {"floor", FIELD_INTEGER, PLACE(struct lull_budget_config, floor), .none = true, .lowest = 1,
     .highest = 1000000},
};
const struct schema guard_budget_schema = SCHEMA(struct lull_budget_config, budget_fields);

static const struct field breaker_fields[] = {
    {"by_count", FIELD_FLAG, PLACE(struct lull_breaker_config, by_count)},
    {"window", FIELD_DURATION, PLACE(struct lull_breaker_config, window),
     .lowest = LULL_MILLISECOND, .highest = GUARD_LONGEST},
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
     .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {"open_time", FIELD_DURATION, PLACE(struct lull_breaker_config, open_time),
     .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {"open_max", FIELD_DURATION, PLACE(struct lull_breaker_config, open_max),
     .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {"open_growth", FIELD_NUMBER, PLACE(struct lull_breaker_config, open_growth), .least = 1,
     .most = 1000},
    {"open_jitter", FIELD_NUMBER, PLACE(struct lull_breaker_config, open_jitter), .none = true,
     .least = 0.001, .most = 0.999},
    {"probes", FIELD_INTEGER, PLACE(struct lull_breaker_config, probes), .lowest = 1,
     .highest = LULL_BREAKER_MAX_PROBES},
    {"lease", FIELD_DURATION, PLACE(struct lull_breaker_config, lease), .lowest = GUARD_SHORTEST,
     .highest = GUARD_LONGEST},
};
const struct schema guard_breaker_schema = SCHEMA(struct lull_breaker_config, breaker_fields);

static const struct field bucket_fields[] = {
    {"capacity", FIELD_INTEGER, PLACE(struct lull_bucket_config, capacity), .lowest = 1,
     .highest = GUARD_MOST_TOKENS},
    {"rate", FIELD_CUSTOM, .size = sizeof(struct lull_bucket_config), .read = guard_read_rate},
};
const struct schema guard_bucket_schema = SCHEMA(struct lull_bucket_config, bucket_fields);

static const struct field bulkhead_fields[] = {
    {"limit", FIELD_INTEGER, PLACE(struct lull_bulkhead_config, limit), .lowest = 1,
     .highest = LULL_BULKHEAD_MAX},
    {"queue", FIELD_INTEGER, PLACE(struct lull_bulkhead_config, queue), .none = true, .lowest = 1,
     .highest = LULL_BULKHEAD_MAX},
};
const struct schema guard_bulkhead_schema = SCHEMA(struct lull_bulkhead_config, bulkhead_fields);

static const struct choice jitters[] = {
    {"none", LULL_JITTER_NONE},
    {"full", LULL_JITTER_FULL},
    {"equal", LULL_JITTER_EQUAL},
    {"decorrelated", LULL_JITTER_DECORRELATED},
    {"additive", LULL_JITTER_ADDITIVE},
    {"proportional", LULL_JITTER_PROPORTIONAL},
    {NULL, 0},
};

static const struct field tier = {.kind = FIELD_DURATION,
                                  .size = sizeof(lull_duration),
                                  .lowest = GUARD_SHORTEST,
                                  .highest = GUARD_LONGEST};

#define BACKOFF(member) PLACE(struct lull_retry_config, backoff.member)

static const struct field retry_fields[] = {
    {"attempts", FIELD_INTEGER, PLACE(struct lull_retry_config, attempts), .lowest = 1,
     .highest = 1000},
    {"base", FIELD_DURATION, BACKOFF(base), .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {"cap", FIELD_DURATION, BACKOFF(cap), .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
    {"multiplier", FIELD_NUMBER, BACKOFF(multiplier), .least = 1, .most = 1000},
    {"jitter", FIELD_CHOICE, BACKOFF(jitter), .choices = jitters},
    {"jitter_factor", FIELD_NUMBER, BACKOFF(jitter_factor), .least = 0.001, .most = 1},
    {"tiers", FIELD_LIST, BACKOFF(tiers), .entry = &tier, .lowest = 1,
     .count = offsetof(struct lull_retry_config, backoff.tier_count)},
};
const struct schema guard_retry_schema = SCHEMA(struct lull_retry_config, retry_fields);

static const struct field retry_after_fields[] = {
    {"retry_after_cap", FIELD_DURATION, PLACE(struct lull_retry_config, retry_after_cap),
     .lowest = GUARD_SHORTEST, .highest = GUARD_LONGEST},
};
const struct schema guard_retry_after_schema = SCHEMA(struct lull_retry_config, retry_after_fields);

/* ---- all of it together ---- */

void guard_spell(const struct spelling *spellings, const char *text, char *spelt, size_t size) {
    size_t length = 0;
    while (*text != '\0' && length + 1 < size) {
        const struct spelling *found = spellings;
        while (found->library != NULL && strncmp(text, found->library, strlen(found->library)) != 0)
            found++;
        if (found->library == NULL) {
            spelt[length++] = *text++;
            continue;
        }
        int added = snprintf(spelt + length, size - length, "%s", found->yaml);
        length += (size_t)added < size - length ? (size_t)added : size - length - 1;
        text += strlen(found->library);
    }
    spelt[length] = '\0';
}

bool guard_check(struct reader *reader, const struct lull_guard_config *guard,
                 const struct spelling *spellings) {
    struct lull_error error;
    enum lull_jitter jitter = guard->retry.backoff.jitter;
    if (reader_given(reader, "jitter_factor") && jitter != LULL_JITTER_ADDITIVE &&
        jitter != LULL_JITTER_PROPORTIONAL)
        return reader_wrong(reader, "jitter_factor",
                            "is for the jitters additive and proportional only");
    if (lull_guard_check(guard, &error) == LULL_OK)
        return true;
    char key[80], message[sizeof error.message + 80];
    guard_spell(spellings, error.field, key, sizeof key);
    guard_spell(spellings, error.message + strlen(error.field) + 1, message, sizeof message);
    return reader_wrong(reader, key, "%s", message);
}
