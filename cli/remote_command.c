#include "remote_command.h"

#include "duration.h"
#include "number.h"
#include "suggest.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- flags ---- */

bool common_set_server(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct common *)options)->remote.server = value;
    return true;
}

bool common_set_token(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct common *)options)->remote.token = value;
    return true;
}

bool common_set_ca(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct common *)options)->remote.ca = value;
    return true;
}

bool common_set_timeout(void *options, const char *value, struct problem *problem) {
    struct common *common = options;
    if (!duration_parse(value, &common->remote.timeout) || common->remote.timeout == 0)
        return problem_say(problem, "must be a duration longer than 0: " DURATION_FORMS);
    return true;
}

bool common_set_json(void *options, const char *value, struct problem *problem) {
    (void)value, (void)problem;
    ((struct common *)options)->json = true;
    return true;
}

bool common_set_help(void *options, const char *value, struct problem *problem) {
    (void)value, (void)problem;
    ((struct common *)options)->help = true;
    return true;
}

bool common_set_limit(void *options, const char *value, struct problem *problem) {
    struct common *common = options;
    common->given |= GIVEN(LIMIT);
    return (number_parse(value, UINT32_MAX, &common->limit) && common->limit > 0) ||
           problem_say(problem, "must be a whole number, 1 or more");
}

bool common_set_cursor(void *options, const char *value, struct problem *problem) {
    struct common *common = options;
    (void)problem;
    common->given |= GIVEN(CURSOR);
    common->cursor = value;
    return true;
}

bool common_set_all(void *options, const char *value, struct problem *problem) {
    struct common *common = options;
    (void)value, (void)problem;
    common->given |= GIVEN(ALL);
    common->all = true;
    return true;
}

int words_parse(const struct flag *flags, size_t flag_count, void *options, int count,
                char **arguments, struct problem *problem) {
    int at = 0, words = 0;
    bool words_only = false;
    while (at < count) {
        int taken = words_only ? 0
                               : flags_parse(flags, flag_count, options, count - at, arguments + at,
                                             problem);
        if (taken < 0)
            return -1;
        words_only = words_only || (taken > 0 && strcmp(arguments[at + taken - 1], "--") == 0);
        at += taken;
        if (at < count)
            arguments[words++] = arguments[at++];
    }
    return words;
}

/* ---- verbs ---- */

int misused(const char *command, const struct problem *problem) {
    complain("%s", problem->text);
    complain("see lull help %s", command);
    return EXIT_USAGE;
}

static const struct verb *find_verb(const struct remote_command *command, const char *name,
                                    struct problem *problem) {
    struct suggestion best = suggestion_for(name);
    for (size_t i = 0; i < command->verb_count; i++) {
        if (strcmp(command->verbs[i].name, name) == 0)
            return &command->verbs[i];
        suggestion_offer(&best, command->verbs[i].name);
    }
    if (best.name != NULL)
        problem_say(problem, "there is no lull %s %.100s; did you mean %s?", command->name, name,
                    best.name);
    else
        problem_say(problem, "there is no lull %s %.100s", command->name, name);
    return NULL;
}

static bool flags_belong(const struct remote_command *command, const struct verb *verb,
                         uint32_t given, struct problem *problem) {
    static const char *const names[] = {
#define X(name, text) text,
        COMMON_FLAG_MAP(X)
#undef X
    };
    for (size_t i = 0; i < COMMON_FLAG_COUNT; i++)
        if ((given & ~verb->flags & UINT32_C(1) << i) != 0)
            return problem_say(problem, "--%s means nothing to lull %s %s", names[i], command->name,
                               verb->name);
    return true;
}

static bool words_fit(const struct remote_command *command, const struct verb *verb, int count,
                      char **words, struct problem *problem) {
    for (int i = 0; i < count; i++)
        if (words[i][0] == '\0')
            return problem_say(problem, "an empty word names nothing; write lull %s %s %s",
                               command->name, verb->name, verb->words);
    if (count < verb->least)
        return problem_say(problem, "something is missing; write lull %s %s %s", command->name,
                           verb->name, verb->words);
    if (count > verb->most)
        return problem_say(problem, "%.100s is too much; write lull %s %s%s%s", words[verb->most],
                           command->name, verb->name, verb->words[0] == '\0' ? "" : " ",
                           verb->words);
    return true;
}

static const struct verb *choose(const struct remote_command *command, const struct common *common,
                                 int count, char **words, struct problem *problem) {
    if (count == 0) {
        problem_say(problem, "lull %s what? For one, lull %s %s", command->name, command->name,
                    command->verbs[0].name);
        return NULL;
    }
    const struct verb *verb = find_verb(command, words[0], problem);
    if (verb == NULL || !words_fit(command, verb, count - 1, words + 1, problem) ||
        !flags_belong(command, verb, common->given, problem))
        return NULL;
    if (common->all && (common->given & GIVEN(LIMIT)) != 0) {
        problem_say(problem, "--all and --limit exclude each other");
        return NULL;
    }
    return verb;
}

int remote_command_run(const struct remote_command *command, void *options, int count,
                       char **arguments) {
    struct common *common = options;
    struct problem problem = {{0}};
    struct remote remote;
    int words =
        words_parse(command->flags, command->flag_count, options, count, arguments, &problem);
    if (words < 0)
        return misused(command->name, &problem);
    if (common->help) {
        command->help(stdout);
        return 0;
    }
    const struct verb *verb = choose(command, common, words, arguments, &problem);
    if (verb == NULL || !remote_init(&remote, &common->remote, &problem))
        return misused(command->name, &problem);
    struct call call = {
        .remote = &remote,
        .screen = screen_of(STDOUT_FILENO),
        .common = common,
        .options = options,
        .count = words - 1,
        .words = arguments + 1,
    };
    int code = verb->run(&call);
    remote_clean_up(&remote);
    return code;
}

void remote_command_usage(const struct remote_command *command, FILE *stream) {
    for (size_t i = 0; i < command->verb_count; i++) {
        const struct verb *verb = &command->verbs[i];
        int column = fprintf(stream, "%s lull %s %s %s", i == 0 ? "usage:" : "      ",
                             command->name, verb->name, verb->words);
        fprintf(stream, "%*s%s\n", column < 42 ? 42 - column : 2, "", verb->summary);
    }
}

/* ---- asking ---- */

bool call_ask(struct call *call, const struct remote_request *request,
              struct remote_answer *answer) {
    struct problem problem = {{0}};
    if (remote_ask(call->remote, request, answer, &problem))
        return true;
    complain("%s", problem.text);
    remote_answer_clean_up(answer);
    return false;
}

/* Takes the answer: its document, or an empty one. */
static json_t *document_of(struct remote_answer *answer) {
    json_t *document = answer->json != NULL ? json_incref(answer->json) : json_object();
    remote_answer_clean_up(answer);
    return document;
}

static json_t *ask_for_document(struct call *call, const struct remote_request *request) {
    struct remote_answer answer;
    return call_ask(call, request, &answer) ? document_of(&answer) : NULL;
}

json_t *call_get(struct call *call, const struct remote_path *path) {
    return ask_for_document(call, &(struct remote_request){.method = "GET", .path = path});
}

json_t *call_poll(struct call *call, const struct remote_path *path, struct status_line *line) {
    struct remote_answer answer;
    struct problem problem = {{0}};
    struct remote_request request = {.method = "GET", .path = path};
    if (remote_ask(call->remote, &request, &answer, &problem))
        return document_of(&answer);
    remote_answer_clean_up(&answer);
    status_line_clean_up(line);
    complain("%s", problem.text);
    return NULL;
}

json_t *call_send(struct call *call, const char *method, const struct remote_path *path,
                  json_t *document) {
    struct remote_request request = {.method = method, .path = path};
    char *text = NULL;
    if (document != NULL) {
        text = screen_memory(json_dumps(document, JSON_COMPACT));
        request.body = text;
        request.length = strlen(text);
        request.content_type = "application/json";
    }
    json_t *answer = ask_for_document(call, &request);
    json_decref(document);
    free(text);
    return answer;
}

/* ---- lists ---- */

/* How far a list has come. */
struct listing {
    struct table table;
    uint64_t shown;
    uint64_t wanted;
    bool begun; /* the JSON document */
    char *next; /* cursor; NULL: none */
};

static void show_page(const struct call *call, const struct list *list, struct listing *listing,
                      const json_t *items) {
    size_t index = 0;
    const json_t *item = NULL;
    /* Not before the first page is there: a list that fails at once leaves no half a document. */
    if (call->common->json && !listing->begun)
        fputs("{\"items\":[", stdout);
    listing->begun = true;
    json_array_foreach(items, index, item) {
        if (call->common->json) {
            fputs(listing->shown == 0 ? "" : ",", stdout);
            view_json_piece(&call->screen, item);
        } else {
            list->row(&listing->table, item);
        }
        listing->shown++;
    }
    table_flush(&listing->table, stdout);
}

/* False, with a complaint, if it failed; else listing->next says whether there is more. */
static bool next_page(struct call *call, const struct list *list, struct listing *listing) {
    struct remote_path path = list->path;
    uint64_t left = listing->wanted - listing->shown;
    char limit[24];
    snprintf(limit, sizeof limit, "%u", (unsigned)(left < LIST_PAGE ? left : LIST_PAGE));
    remote_path_query(&path, "limit", limit);
    remote_path_query(&path, "cursor", listing->next);
    json_t *page = call_get(call, &path);
    if (page == NULL)
        return false;
    const char *next = json_string_value(json_object_get(page, "next"));
    bool again = next != NULL && listing->next != NULL && strcmp(next, listing->next) == 0;
    free(listing->next);
    listing->next = next == NULL ? NULL : screen_memory(strdup(next));
    show_page(call, list, listing, json_object_get(page, "items"));
    json_decref(page);
    if (again)
        complain("the server gives the same page again and again; cursor %.100s", listing->next);
    return !again;
}

static void end_list(const struct call *call, const struct list *list,
                     const struct listing *listing) {
    if (call->common->json) {
        json_t *next = listing->next == NULL ? json_null() : json_string(listing->next);
        fputs("],\"next\":", stdout);
        view_json_piece(&call->screen, next);
        fputs("}\n", stdout);
        json_decref(next);
        return;
    }
    if (listing->shown == 0 && listing->next == NULL && call->screen.terminal)
        puts(list->nothing);
    if (listing->next == NULL)
        return;
    fflush(stdout);
    char *safe = screen_safe(&call->screen, listing->next, strlen(listing->next), false);
    complain("there is more: --all shows all, --cursor %s goes on from here", safe);
    free(safe);
}

int call_list(struct call *call, const struct list *list) {
    const struct common *common = call->common;
    struct listing listing = {
        .wanted = common->all         ? UINT64_MAX
                  : common->limit > 0 ? common->limit
                                      : LIST_LIMIT,
        .next = common->cursor == NULL ? NULL : screen_memory(strdup(common->cursor)),
    };
    bool fine = true;
    table_init(&listing.table, list->columns, list->column_count, &call->screen);
    do {
        fine = next_page(call, list, &listing);
    } while (fine && listing.next != NULL && listing.shown < listing.wanted);
    if (fine)
        end_list(call, list, &listing);
    table_clean_up(&listing.table);
    free(listing.next);
    return fine ? 0 : EXIT_FAILURE;
}
