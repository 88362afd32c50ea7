#include "settings.h"

#include "json.h"
#include "setting_types.h"
#include "suggest.h"

#include <stddef.h>
#include <string.h>

const struct settings settings_defaults = {
    .fail = SHARE_UNSET,
    .gate = {.queue = GATE_QUEUE},
    .seed = SEED_UNSET,
};

enum scope { SERVER, REQUEST };

static const struct field {
    const char *name;
    const struct setting_type *type;
    size_t offset;
    enum scope scope;
} fields[SETTING_COUNT] = {
#define FLAKY_X(id, text, kind, member, where, ...)                                                \
    {.name = text,                                                                                 \
     .type = &setting_types[SETTING_TYPE_##kind],                                                  \
     .offset = offsetof(struct settings, member),                                                  \
     .scope = where},
    SETTINGS_MAP(FLAKY_X)
#undef FLAKY_X
};

static void *place_of(struct settings *settings, const struct field *field) {
    return (char *)settings + field->offset;
}

void setting_clear(struct settings *settings, enum setting setting) {
    const struct field *field = &fields[setting];
    memcpy(place_of(settings, field), (const char *)&settings_defaults + field->offset,
           field->type->size);
}

bool setting_is_list(enum setting setting) {
    return fields[setting].type->is_list;
}

/* "slow-body" is slow_body in JSON. */
static void json_name(const struct field *field, char name[64]) {
    text_copy(name, 64, field->name);
    for (char *at = strchr(name, '-'); at != NULL; at = strchr(at, '-'))
        *at = '_';
}

bool setting_read(struct settings *settings, enum setting setting, const char *value,
                  struct problem *problem) {
    const struct field *field = &fields[setting];
    if (value == NULL)
        value = field->type->alone;
    if (value == NULL)
        return problem_say(problem, "needs a value");
    return field->type->read(place_of(settings, field), value, problem);
}

enum setting setting_find(const char *name, bool underscores, struct settings_problem *problem) {
    char names[SETTING_COUNT][64];
    struct suggestion best = suggestion_for(name);
    text_copy(problem->field, sizeof problem->field, name);
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (underscores)
            json_name(&fields[i], names[i]);
        const char *known = underscores ? names[i] : fields[i].name;
        if (strcmp(known, name) == 0)
            return (enum setting)i;
        suggestion_offer(&best, known);
    }
    if (best.name != NULL)
        problem_say(&problem->problem, "there is no field %.64s; did you mean %s?", name,
                    best.name);
    else
        problem_say(&problem->problem, "there is no field %.64s", name);
    return SETTING_COUNT;
}

static char *trimmed(char *text) {
    text += strspn(text, " \t");
    for (size_t length = strlen(text); length > 0 && strchr(" \t", text[length - 1]) != NULL;)
        text[--length] = '\0';
    return text;
}

static void leave_nothing_to_chance(struct settings *settings) {
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (fields[i].type == &setting_types[SETTING_TYPE_SHARE] || i == SETTING_STATUS)
            setting_clear(settings, (enum setting)i);
    }
}

bool settings_override(struct settings *settings, const char *text,
                       struct settings_problem *problem) {
    char copy[2048];
    *problem = (struct settings_problem){0};
    if (!text_copy(copy, sizeof copy, text))
        return problem_say(&problem->problem, "longer than 2047 characters");
    leave_nothing_to_chance(settings);
    char *rest = copy;
    for (char *one = strsep(&rest, ";"); one != NULL; one = strsep(&rest, ";")) {
        char *value = one;
        char *name = trimmed(strsep(&value, "="));
        if (*name == '\0' && value == NULL)
            continue;
        enum setting setting = setting_find(name, false, problem);
        if (setting == SETTING_COUNT)
            return false;
        if (fields[setting].scope != REQUEST)
            return problem_say(&problem->problem, "%s is the server's, not a request's", name);
        if (!setting_read(settings, setting, value == NULL ? NULL : trimmed(value),
                          &problem->problem))
            return false;
    }
    return settings_check(settings, problem);
}

static bool say(struct settings_problem *problem, enum setting setting, const char *text) {
    json_name(&fields[setting], problem->field);
    return problem_say(&problem->problem, "%s", text);
}

bool settings_check(const struct settings *settings, struct settings_problem *problem) {
    double failing = settings->fail == SHARE_UNSET ? 0 : settings->fail;
    double sum = failing + settings->hang + settings->close + settings->reset + settings->truncate +
                 settings->garbage;
    if (sum > 1 + 1e-9)
        return say(problem, SETTING_FAIL,
                   "fail, hang, close, reset, truncate and garbage add up to more than 1");
    if (settings->outage_every > 0 && settings->outage_every < outages_end(&settings->outage))
        return say(problem, SETTING_OUTAGE_EVERY,
                   "the outages start over before the last one has ended");
    if (settings->rate.count > 0) {
        struct lull_bucket_config config = settings_bucket(settings);
        struct lull_bucket bucket;
        if (lull_bucket_init(&bucket, &config, NULL) != LULL_OK)
            return say(problem, SETTING_BURST, "a bucket of this size takes centuries to fill");
    }
    return true;
}

struct lull_bucket_config settings_bucket(const struct settings *settings) {
    return (struct lull_bucket_config){
        .capacity = settings->burst > 0 ? (int64_t)settings->burst : settings->rate.count,
        .rate = settings->rate.count,
        .per = settings->rate.per,
    };
}

void settings_write_json(FILE *stream, const struct settings *settings) {
    for (int i = 0; i < SETTING_COUNT; i++) {
        char name[64];
        json_name(&fields[i], name);
        fprintf(stream, "%s\"%s\":", i == 0 ? "{" : ",", name);
        fields[i].type->write(stream, (const char *)settings + fields[i].offset);
    }
    fputc('}', stream);
}
