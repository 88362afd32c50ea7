/* Settings out of JSON. Apart from settings.c because of jansson.h; see settings.h. */
#include "settings.h"

#include <jansson.h>

/* A number or truth value as it would have been typed; NULL: it is neither, nor a string. */
static const char *scalar_text(const json_t *value, char text[64]) {
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value))
        snprintf(text, 64, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, 64, "%.15f", json_real_value(value));
    else
        return NULL;
    return text;
}

static bool read_list(struct settings *settings, enum setting setting, const json_t *list,
                      struct problem *problem) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one == NULL)
            return problem_say(problem, "must be a list of strings");
        if (!setting_read(settings, setting, one, problem))
            return false;
    }
    return true;
}

static bool read_value(struct settings *settings, enum setting setting, const json_t *value,
                       struct problem *problem) {
    char text[64];
    setting_clear(settings, setting);
    if (json_is_null(value))
        return true;
    if (json_is_array(value) && setting_is_list(setting))
        return read_list(settings, setting, value, problem);
    const char *scalar = scalar_text(value, text);
    if (scalar == NULL)
        return problem_say(problem, "must not be an %s", json_is_array(value) ? "array" : "object");
    return setting_read(settings, setting, scalar, problem);
}

bool settings_read_json(struct settings *settings, json_t *object, uint64_t *touched,
                        struct settings_problem *problem) {
    struct settings changed = *settings;
    const char *name;
    json_t *value;
    *problem = (struct settings_problem){0};
    *touched = 0;
    if (!json_is_object(object))
        return problem_say(&problem->problem, "must be a JSON object");
    json_object_foreach(object, name, value) {
        enum setting setting = setting_find(name, true, problem);
        if (setting == SETTING_COUNT || !read_value(&changed, setting, value, &problem->problem))
            return false;
        *touched |= UINT64_C(1) << setting;
    }
    if (!settings_check(&changed, problem))
        return false;
    *settings = changed;
    return true;
}
