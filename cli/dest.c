/* lull dest: where events go. */
#include "remote_command.h"
#include "view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct dest_options {
    struct common common;
    json_t *settings; /* of `add`, as they come; owned */
    bool force;
};

static bool note(void *options, uint32_t given) {
    ((struct dest_options *)options)->common.given |= given;
    return true;
}

/* ---- settings ---- */

/* A value as JSON has it: what looks like JSON is, the rest is text. `types` takes a list with
 * commas, and texts stay texts even if they look like numbers. NULL: it begins like JSON, and is
 * none. */
static json_t *value_of(const char *key, const char *text) {
    static const char *const texts[] = {"name", "url", "policy", "secret", "jitter"};
    size_t length = strlen(text);
    if (strchr("[{\"", text[0]) != NULL && text[0] != '\0')
        return json_loadb(text, length, JSON_DECODE_ANY, NULL);
    if (strcmp(key, "types") == 0) {
        json_t *list = json_array();
        for (const char *at = text; *at != '\0'; at += *at == ',') {
            size_t part = strcspn(at, ",");
            json_array_append_new(list, json_stringn(at, part));
            at += part;
        }
        return list;
    }
    for (size_t i = 0; i < COUNT(texts); i++)
        if (strcmp(texts[i], key) == 0)
            return json_string(text);
    json_t *value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
    return value != NULL && !json_is_null(value) ? value : json_string(text);
}

/* Adds what KEY=VALUE says; `take_back`: KEY= is null rather than a mistake. */
static bool add_setting(json_t *settings, const char *text, bool take_back,
                        struct problem *problem) {
    size_t length = strcspn(text, "=");
    char key[64];
    if (text[length] == '\0' || length == 0 || length >= sizeof key)
        return problem_say(problem, "%.100s is no setting; write KEY=VALUE, as in attempts=8",
                           text);
    memcpy(key, text, length);
    key[length] = '\0';
    const char *value = text + length + 1;
    if (*value == '\0' && !take_back)
        return problem_say(problem, "%s has no value; leave it out for the default", key);
    json_t *json = *value == '\0' ? json_null() : value_of(key, value);
    if (json == NULL)
        return problem_say(problem, "%s: %.200s begins like JSON, but is none", key, value);
    if (json_object_set_new(settings, key, json) != 0)
        return problem_say(problem, "%.60s cannot be sent: it is no UTF-8", key);
    return true;
}

static bool add_text(json_t *settings, const char *key, const char *value,
                     struct problem *problem) {
    json_t *json = json_string(value);
    return (json != NULL && json_object_set_new(settings, key, json) == 0) ||
           problem_say(problem, "cannot be sent: it is no UTF-8");
}

static json_t *settings_of(void *options) {
    struct dest_options *dest = options;
    if (dest->settings == NULL)
        dest->settings = screen_memory(json_object());
    return dest->settings;
}

static bool set_type(void *options, const char *value, struct problem *problem) {
    json_t *settings = settings_of(options), *types = json_object_get(settings, "types");
    note(options, GIVEN(TYPE));
    if (types == NULL) {
        types = json_array();
        json_object_set_new(settings, "types", types);
    }
    return json_array_append_new(types, json_string(value)) == 0 ||
           problem_say(problem, "cannot be sent: it is no UTF-8");
}

static bool set_policy(void *options, const char *value, struct problem *problem) {
    note(options, GIVEN(POLICY));
    return add_text(settings_of(options), "policy", value, problem);
}

static bool set_set(void *options, const char *value, struct problem *problem) {
    note(options, GIVEN(SET));
    return add_setting(settings_of(options), value, false, problem);
}

static bool set_secret(void *options, const char *value, struct problem *problem) {
    note(options, GIVEN(SECRET));
    if (*value == '\0')
        return problem_say(problem, "is empty; --unsigned says that requests are not signed");
    return add_text(settings_of(options), "secret", value, problem);
}

static bool set_unsigned(void *options, const char *value, struct problem *problem) {
    (void)value;
    note(options, GIVEN(UNSIGNED));
    return add_text(settings_of(options), "secret", "", problem);
}

static bool set_header(void *options, const char *value, struct problem *problem) {
    json_t *settings = settings_of(options), *headers = json_object_get(settings, "headers");
    note(options, GIVEN(HEADER));
    if (!remote_header_is_fine(value))
        return problem_say(problem, "must be a header field: --header 'X-Team: payments'");
    if (headers == NULL) {
        headers = json_object();
        json_object_set_new(settings, "headers", headers);
    }
    char *name = screen_memory(strndup(value, strcspn(value, ":")));
    const char *text = value + strlen(name) + 1;
    bool fine = add_text(headers, name, text + strspn(text, " "), problem);
    free(name);
    return fine;
}

static bool set_force(void *options, const char *value, struct problem *problem) {
    (void)value, (void)problem;
    ((struct dest_options *)options)->force = true;
    return note(options, GIVEN(FORCE));
}

static const struct flag flags[] = {
    {"type", 't', "TYPE",
     "events that it subscribes to, as in order.paid or\n"
     "order.*; may be given several times",
     set_type},
    {"policy", 'p', "NAME", "a preset, or a policy of the server's file", set_policy},
    {"set", 0, "KEY=VALUE",
     "another setting, as in attempts=8 or rate=100/s;\n"
     "may be given several times",
     set_set},
    {"secret", 0, "SECRET", "to sign with, whsec_... (default: one is made)", set_secret},
    {"unsigned", 0, NULL, "do not sign requests", set_unsigned},
    {"header", 'H', "'K: V'",
     "a header field of every request; may be given several\n"
     "times",
     set_header},
    {"force", 0, NULL, "remove it even if deliveries are pending or dead", set_force},
    COMMON_LIST_FLAGS,
    COMMON_FLAGS,
};

/* ---- verbs ---- */

static void list_row(struct table *table, const json_t *item) {
    const json_t *backlog = json_object_get(item, "backlog");
    view_cell(table, item, "name");
    view_state(table, item, "state");
    view_state(table, item, "circuit");
    view_cell(table, backlog, "fresh");
    view_cell(table, backlog, "retry");
    view_cell(table, backlog, "inflight");
    view_cell(table, backlog, "dead");
    table_add(table, json_is_true(json_object_get(item, "storm")) ? "yes" : "no",
              json_is_true(json_object_get(item, "storm")) ? TINT_BAD : TINT_NONE);
    view_cell(table, item, "url");
}

static int list(struct call *call) {
    static const struct table_column columns[] = {
        {"name", .shrinks = true},
        {"state"},
        {"circuit"},
        {"fresh", .right = true},
        {"retry", .right = true},
        {"in flight", .right = true},
        {"dead", .right = true},
        {"storm"},
        {"url", .shrinks = true},
    };
    return call_list(call, &(struct list){
                               .path = remote_path("/v1/destinations", NULL, NULL),
                               .columns = columns,
                               .column_count = COUNT(columns),
                               .row = list_row,
                               .nothing = "no destinations; lull dest add NAME URL adds one",
                           });
}

/* Shows the destination, or tells of its new state in a line; takes the document. */
static int present(const struct call *call, json_t *destination, const char *done) {
    if (destination == NULL)
        return EXIT_FAILURE;
    if (call->common->json)
        view_json(&call->screen, destination);
    else if (done == NULL)
        view_details(&call->screen, destination, "");
    else
        printf("%s %s\n", call->words[0], done);
    json_decref(destination);
    return 0;
}

static int show(struct call *call) {
    struct remote_path path = remote_path("/v1/destinations", call->words[0], NULL);
    return present(call, call_get(call, &path), NULL);
}

static void tell_secret(const struct call *call, const json_t *answer) {
    const char *secret = json_string_value(json_object_get(answer, "secret"));
    if (secret == NULL || *secret == '\0')
        return;
    char *safe = screen_safe(&call->screen, secret, strlen(secret), false);
    printf("secret %s\n", safe);
    free(safe);
    if (call->screen.terminal)
        puts("Keep it: it is not shown again.");
}

static void tell_warning(const struct call *call, const json_t *answer) {
    const char *warning = json_string_value(json_object_get(answer, "warning"));
    if (warning == NULL)
        return;
    char *safe = screen_safe(&call->screen, warning, strlen(warning), false);
    complain("nothing will be delivered to it: %s", safe);
    free(safe);
}

static int add(struct call *call) {
    struct dest_options *options = call->options;
    json_t *body = screen_memory(json_object());
    struct problem problem = {{0}};
    struct remote_path path = remote_path("/v1/destinations", NULL, NULL);
    if (!add_text(body, "name", call->words[0], &problem) ||
        !add_text(body, "url", call->words[1], &problem)) {
        json_decref(body);
        return misused("dest", &problem);
    }
    if (options->settings != NULL)
        json_object_update_missing(body, options->settings);
    json_t *answer = call_send(call, "POST", &path, body);
    if (answer != NULL && !call->common->json) {
        printf("%s added\n", call->words[0]);
        tell_secret(call, answer);
        tell_warning(call, answer);
        json_decref(answer);
        return 0;
    }
    return present(call, answer, NULL);
}

static int set(struct call *call) {
    json_t *body = screen_memory(json_object());
    struct problem problem = {{0}};
    struct remote_path path = remote_path("/v1/destinations", call->words[0], NULL);
    for (int i = 1; i < call->count; i++)
        if (!add_setting(body, call->words[i], true, &problem)) {
            json_decref(body);
            return misused("dest", &problem);
        }
    return present(call, call_send(call, "PATCH", &path, body), "changed");
}

static int post(struct call *call, const char *action, const char *done) {
    struct remote_path path = remote_path("/v1/destinations", call->words[0], action);
    return present(call, call_send(call, "POST", &path, NULL), done);
}

static int pause_it(struct call *call) {
    return post(call, "pause", "paused");
}

static int resume(struct call *call) {
    return post(call, "resume", "resumed");
}

static int rotate_secret(struct call *call) {
    struct remote_path path = remote_path("/v1/destinations", call->words[0], "rotate-secret");
    json_t *answer = call_send(call, "POST", &path, NULL);
    if (answer == NULL)
        return EXIT_FAILURE;
    if (call->common->json) {
        view_json(&call->screen, answer);
    } else {
        tell_secret(call, answer);
        view_details(&call->screen, answer, "secret");
    }
    json_decref(answer);
    return 0;
}

static int rm(struct call *call) {
    const struct dest_options *options = call->options;
    struct remote_path path = remote_path("/v1/destinations", call->words[0], NULL);
    struct remote_answer answer;
    struct problem problem = {{0}};
    if (options->force)
        remote_path_query(&path, "force", "true");
    bool done =
        remote_ask(call->remote, &(struct remote_request){"DELETE", &path}, &answer, &problem);
    const char *code = done ? NULL : json_string_value(json_object_get(answer.json, "code"));
    if (!done)
        complain("%s%s", problem.text,
                 code != NULL && strcmp(code, "not_empty") == 0 ? " (--force drops them)" : "");
    remote_answer_clean_up(&answer);
    if (!done)
        return EXIT_FAILURE;
    return present(call, json_pack("{s:[s]}", "removed", call->words[0]), "removed");
}

static const struct verb verbs[] = {
    {"list", "", "all of them, and how they are", 0, 0, LIST_FLAGS_GIVEN, list},
    {"show", "NAME", "one, with its settings", 1, 1, 0, show},
    {"add", "NAME URL", "a new one", 2, 2,
     GIVEN(TYPE) | GIVEN(POLICY) | GIVEN(SET) | GIVEN(SECRET) | GIVEN(UNSIGNED) | GIVEN(HEADER),
     add},
    {"set", "NAME KEY=VALUE...", "change settings; KEY= takes one back", 2, 1000, 0, set},
    {"pause", "NAME", "events are accepted, and wait", 1, 1, 0, pause_it},
    {"resume", "NAME", "deliver again, after a pause or a 410", 1, 1, 0, resume},
    {"rotate-secret", "NAME", "a new secret; for a day both sign", 1, 1, 0, rotate_secret},
    {"rm", "NAME", "remove it", 1, 1, GIVEN(FORCE), rm},
};

static const struct remote_command command = {
    "dest", verbs, COUNT(verbs), flags, COUNT(flags), dest_help,
};

int dest_command(int count, char **arguments) {
    struct dest_options options = {0};
    int code = remote_command_run(&command, &options, count, arguments);
    json_decref(options.settings);
    return code;
}

void dest_help(FILE *stream) {
    remote_command_usage(&command, stream);
    fputs("\n"
          "Destinations: where lull serve delivers events to, and how.\n"
          "\n",
          stream);
    flags_print(flags, COUNT(flags), stream);
    fputs("\n"
          "VALUE is a number, a word, or JSON: attempts=8, rate=100/s,\n"
          "types=order.*,refund.*, 'headers={\"X-Team\": \"payments\"}'.\n"
          "\n"
          "Exits with 0 if it was done, with 1 if it failed, and with 2 if the flags make\n"
          "no sense.\n"
          "\n"
          "  lull dest add shop https://shop.example/hooks -t 'order.*' --set attempts=8\n"
          "  lull dest set shop rate=50/s attempts=\n"
          "  lull dest pause shop\n",
          stream);
}
