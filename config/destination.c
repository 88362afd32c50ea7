#include "destination.h"

#include "duration.h"
#include "elsewhere.h"
#include "guard.h"
#include "serve.h"
#include "sign.h"
#include "url.h"
#include "words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool type_matches(const char *pattern, const char *type) {
    size_t length = strcspn(pattern, "*");
    if (pattern[length] == '*')
        return strncmp(pattern, type, length) == 0;
    return strcmp(pattern, type) == 0;
}

/* ---- single values ---- */

__attribute__((format(printf, 3, 4))) static bool say(char *message, size_t size,
                                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return false;
}

static bool keep(const char *text, char *member, size_t room, char *message, size_t size) {
    size_t length = strlen(text);
    if (length == 0)
        return say(message, size, "must not be empty");
    if (length >= room)
        return say(message, size, "is %zu bytes long; at most %zu are kept", length, room - 1);
    memset(member, 0, room); /* equal settings are equal bytes */
    snprintf(member, room, "%s", text);
    return true;
}

static bool read_name(const char *text, void *member, char *message, size_t size) {
    char quoted[QUOTE_SIZE];
    if (text[0] == '_')
        return say(message, size, "%s begins with _, as names of lull's own do; choose another",
                   quote(text, quoted));
    if (text[0] != '\0' &&
        (!isalnum((unsigned char)text[0]) || text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
                                                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                               "0123456789._-")] != '\0'))
        return say(message, size,
                   "%s is not a name; it must begin with a letter or digit and have only letters, "
                   "digits, '.', '_' and '-'",
                   quote(text, quoted));
    return keep(text, member, DESTINATION_NAME_SIZE, message, size);
}

bool destination_read_url(const char *text, void *member, char *message, size_t size) {
    return keep(text, member, DESTINATION_URL_SIZE, message, size) &&
           url_check(text, message, size);
}

static bool read_type(const char *text, void *member, char *message, size_t size) {
    char quoted[QUOTE_SIZE];
    const char *star = strchr(text, '*');
    for (const char *at = text; *at != '\0'; at++)
        if (control_character(at) > 0)
            return say(message, size, "has a control character in it; remove it");
    if (star != NULL && star[1] != '\0')
        return say(message, size, "%s has a * that is not at its end; write for example order.*",
                   quote(text, quoted));
    return keep(text, member, sizeof((struct destination_settings *)0)->types[0].pattern, message,
                size);
}

/* ---- headers ---- */

/* Fields that HTTP, the event or lull itself sets; one that ends in '-' stands for all that begin so. */
static const char *const set_by_lull[] = {
    "Host",       "Content-Length", "Content-Type",    "Transfer-Encoding",
    "Connection", "Keep-Alive",     "Upgrade",         "TE",
    "Trailer",    "Expect",         "webhook-",        "Lull-",
    "Proxy-",     "Date",           "Idempotency-Key",
};

static bool read_header_name(const char *text, void *member, char *message, size_t size) {
    if (text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "!#$%&'*+-.^_`|~")] != '\0')
        return say(message, size, "is not the name of a header field; write for example X-Team");
    for (size_t i = 0; i < sizeof set_by_lull / sizeof set_by_lull[0]; i++) {
        size_t length = strlen(set_by_lull[i]);
        bool all = set_by_lull[i][length - 1] == '-';
        if (all ? strncasecmp(text, set_by_lull[i], length) == 0
                : strcasecmp(text, set_by_lull[i]) == 0)
            return say(message, size, "is set by lull itself; remove it");
    }
    return keep(text, member, sizeof((struct destination_header *)0)->name, message, size);
}

static const struct field header_fields[] = {
    {"name", FIELD_CUSTOM, PLACE(struct destination_header, name), .read = read_header_name},
    {"value", FIELD_TEXT, PLACE(struct destination_header, value), .required = true},
};
static const struct schema header_schema = SCHEMA(struct destination_header, header_fields);

/* HTTP does not tell X-Team from x-team. */
static bool check_headers(struct reader *reader, const struct destination_settings *settings) {
    for (uint32_t i = 1; i < settings->header_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcasecmp(settings->headers[i].name, settings->headers[j].name) == 0)
                return reader_wrong(reader, "headers", "%s and %s are the same header field",
                                    settings->headers[j].name, settings->headers[i].name);
    return true;
}

/* ---- how deliveries are guarded: destinations and policies alike ---- */

#define DEADLINE_LONGEST (30 * LULL_DAY)
#define CONCURRENCY_MOST 10000

/* Nothing is limited until somebody gives a rate. */
static void start_from(struct lull_guard_config *guard, const struct lull_guard_config *preset) {
    *guard = *preset;
    guard->without |= LULL_WITHOUT_BUCKET;
}

static bool read_preset(const char *text, void *member, char *message, size_t size) {
    struct lull_guard_config preset;
    if (!guard_read_preset(text, &preset, message, size))
        return false;
    start_from(member, &preset);
    return true;
}

static bool read_rate(const char *text, void *member, char *message, size_t size) {
    struct lull_guard_config *guard = member;
    if (strcmp(text, "none") == 0) {
        guard->without |= LULL_WITHOUT_BUCKET;
        guard->bucket = (struct lull_bucket_config){0};
        return true;
    }
    guard->without &= ~(uint32_t)LULL_WITHOUT_BUCKET;
    return guard_read_rate(text, &guard->bucket, message, size);
}

#define GUARD(member) PLACE(struct lull_guard_config, member)

static const struct field delivery_fields[] = {
    {NULL, FIELD_INCLUDE, GUARD(retry), .schema = &guard_retry_schema},
    {NULL, FIELD_INCLUDE, GUARD(retry), .schema = &guard_retry_after_schema},
    {"deadline", FIELD_DURATION, GUARD(retry.deadline), .none = true, .lowest = LULL_MILLISECOND,
     .highest = DEADLINE_LONGEST},
    {"timeout", FIELD_DURATION, GUARD(retry.attempt_timeout), .lowest = LULL_MILLISECOND,
     .highest = LULL_HOUR},
    {"connect_timeout", FIELD_DURATION, GUARD(connect_timeout), .lowest = LULL_MILLISECOND,
     .highest = LULL_HOUR},
    {"concurrency", FIELD_INTEGER, GUARD(bulkhead.limit), .lowest = 1, .highest = CONCURRENCY_MOST},
    {"rate", FIELD_CUSTOM, .size = sizeof(struct lull_guard_config), .read = read_rate},
    {"burst", FIELD_INTEGER, GUARD(bucket.capacity), .lowest = 1, .highest = GUARD_MOST_TOKENS},
    {"budget", FIELD_MAP, GUARD(budget), .none = true, .bit = LULL_WITHOUT_BUDGET,
     .count = offsetof(struct lull_guard_config, without), .schema = &guard_budget_schema},
    {"breaker", FIELD_MAP, GUARD(breaker), .none = true, .bit = LULL_WITHOUT_BREAKER,
     .count = offsetof(struct lull_guard_config, without), .schema = &guard_breaker_schema},
};
static const struct schema delivery_schema = SCHEMA(struct lull_guard_config, delivery_fields);

static const struct spelling spellings[] = {
    {"bucket.capacity", "burst"},
    {"bucket.rate", "rate"},
    {"bucket.per", "rate"},
    {"bulkhead.limit", "concurrency"},
    {"retry.attempt_timeout", "timeout"},
    {"backoff.", ""},
    {"retry.", ""},
    {0},
};

/* One second's worth, and at least one. */
static int64_t usual_burst(const struct lull_bucket_config *bucket) {
    return (bucket->rate * LULL_SECOND + bucket->per - 1) / bucket->per;
}

static void fill_in(struct lull_guard_config *guard) {
    lull_duration *timeout = &guard->retry.attempt_timeout;
    if (guard->retry.deadline == 0)
        guard->retry.deadline = LULL_NONE;
    if (*timeout == 0)
        *timeout = guard->read_timeout > 0 ? guard->connect_timeout + guard->read_timeout
                                           : DESTINATION_TIMEOUT;
    if (guard->connect_timeout == 0)
        guard->connect_timeout = DESTINATION_CONNECT_TIMEOUT;
    if (guard->connect_timeout > *timeout)
        guard->connect_timeout = *timeout;
    if (guard->bulkhead.limit == 0)
        guard->bulkhead.limit = DESTINATION_CONCURRENCY;
}

static bool check_delivery(struct reader *reader, struct lull_guard_config *guard) {
    bool limited = (guard->without & LULL_WITHOUT_BUCKET) == 0;
    lull_duration connect = guard->connect_timeout;
    if (reader_given(reader, "burst") && !limited)
        return reader_wrong(reader, "burst", "needs a rate; add one, for example rate: 100/s");
    if (reader_given(reader, "rate") && limited && !reader_given(reader, "burst"))
        guard->bucket.capacity = usual_burst(&guard->bucket);
    fill_in(guard);
    char longer[DURATION_TEXT_SIZE], whole[DURATION_TEXT_SIZE];
    if (reader_given(reader, "connect_timeout") && connect > guard->connect_timeout)
        return reader_wrong(reader, "connect_timeout",
                            "is %s, longer than the timeout of an attempt (%s); shorten it",
                            duration_format(connect, longer),
                            duration_format(guard->retry.attempt_timeout, whole));
    return guard_check(reader, guard, spellings);
}

/* ---- policies of the file ---- */

static void prepare_policy(void *object) {
    struct named_policy *policy = object;
    start_from(&policy->guard, lull_preset(DESTINATION_POLICY));
}

static bool check_policy(struct reader *reader, void *object) {
    struct named_policy *policy = object;
    if (lull_preset(policy->name) != NULL)
        return reader_wrong(reader, "name", "%s is the name of a preset; choose another",
                            policy->name);
    return check_delivery(reader, &policy->guard);
}

static const struct field policy_fields[] = {
    {"preset", FIELD_CUSTOM, PLACE(struct named_policy, guard), .read = read_preset},
    {"name", FIELD_CUSTOM, PLACE(struct named_policy, name), .required = true, .read = read_name},
    {NULL, FIELD_INCLUDE, PLACE(struct named_policy, guard), .schema = &delivery_schema},
};
const struct schema policy_of_file_schema =
    SCHEMA_WITH(struct named_policy, policy_fields, prepare_policy, check_policy);

/* ---- destinations ---- */

static bool look_up_policy(struct reader *reader, const char *text, void *member) {
    const struct destination_source *source = reader_context(reader);
    struct destination_settings *settings = member;
    struct names names = names_for(text);
    const struct lull_guard_config *preset = lull_preset(text);
    bool found = preset != NULL;
    if (preset != NULL)
        start_from(&settings->guard, preset);
    for (uint32_t i = 0; !found && i < source->config->policy_count; i++) {
        const struct named_policy *policy = &source->config->policies[i];
        names_offer(&names, policy->name);
        found = strcmp(policy->name, text) == 0;
        if (found)
            settings->guard = policy->guard;
    }
    if (found) { /* so it is no longer than a name */
        snprintf(settings->policy, sizeof settings->policy, "%s", text);
        return true;
    }
    for (size_t i = 0; lull_preset_name(i) != NULL; i++)
        names_offer(&names, lull_preset_name(i));
    char quoted[QUOTE_SIZE], advice[500];
    return reader_wrong(reader, "", "there is no policy %s; %s", quote(text, quoted),
                        names_advice(&names, advice, sizeof advice));
}

static bool check_secret(const char *secret, char *message, size_t size) {
    unsigned char key[SECRET_LONGEST];
    size_t length;
    bool fine = secret_decode(secret, key, &length, message, size);
    explicit_bzero(key, sizeof key);
    return fine;
}

bool destination_look_up_secret(struct reader *reader, const char *text, void *member) {
    const struct destination_source *source = reader_context(reader);
    char *secret = member, message[READER_MESSAGE_SIZE];
    size_t room = sizeof((struct destination_settings *)0)->secret;
    if (text[0] == '\0')
        return true;
    bool read = source->elsewhere ? elsewhere_read(text, secret, room, message, sizeof message)
                                  : keep(text, secret, room, message, sizeof message);
    return (read && check_secret(secret, message, sizeof message)) ||
           reader_wrong(reader, "", "%s", message);
}

static void prepare_destination(void *object) {
    struct destination_settings *settings = object;
    snprintf(settings->policy, sizeof settings->policy, "%s", DESTINATION_POLICY);
    start_from(&settings->guard, lull_preset(DESTINATION_POLICY));
}

static bool check_destination(struct reader *reader, void *object) {
    struct destination_settings *settings = object;
    settings->has_secret = reader_given(reader, "secret");
    return check_headers(reader, settings) && check_delivery(reader, &settings->guard);
}

static const struct field type_entry = {
    .kind = FIELD_CUSTOM,
    .size = sizeof((struct destination_settings *)0)->types[0],
    .read = read_type,
};

/* The policy comes before what changes it. */
static const struct field destination_fields[] = {
    {"policy", FIELD_LOOKUP, .size = sizeof(struct destination_settings),
     .look_up = look_up_policy},
    {"name", FIELD_CUSTOM, PLACE(struct destination_settings, name), .required = true,
     .read = read_name},
    {"url", FIELD_CUSTOM, PLACE(struct destination_settings, url), .required = true,
     .read = destination_read_url},
    {"types", FIELD_LIST, PLACE(struct destination_settings, types), .entry = &type_entry,
     .count = offsetof(struct destination_settings, type_count)},
    {NULL, FIELD_INCLUDE, PLACE(struct destination_settings, guard), .schema = &delivery_schema},
    {"headers", FIELD_PAIRS, PLACE(struct destination_settings, headers), .schema = &header_schema,
     .count = offsetof(struct destination_settings, header_count)},
    {"secret", FIELD_LOOKUP, PLACE(struct destination_settings, secret),
     .look_up = destination_look_up_secret},
};
const struct schema destination_schema = SCHEMA_WITH(
    struct destination_settings, destination_fields, prepare_destination, check_destination);

int destination_settings_read(const struct serve_config *config, const char *json, size_t length,
                              struct destination_settings *settings, struct reader_error *error) {
    const struct destination_source source = {.config = config};
    int result = reader_read_text_as(&(struct reading){.context = &source}, "", json, length,
                                     &destination_schema, settings, error);
    error->line = 0; /* nobody knows the lines of a request */
    return result;
}
