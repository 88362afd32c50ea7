/* lull dlq: dead letters, and their replay. */
#include "base64.h"
#include "remote_command.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WATCH_INTERVAL (LULL_SECOND / 2)

struct dlq_options {
    struct common common;
    const char *destination;
    const char *rate;
    json_t *ids; /* of `replay`; owned */
    bool payload, watch;
};

static bool set_destination(void *options, const char *value, struct problem *problem) {
    struct dlq_options *dlq = options;
    (void)problem;
    dlq->common.given |= GIVEN(DESTINATION);
    dlq->destination = value;
    return true;
}

static bool set_payload(void *options, const char *value, struct problem *problem) {
    struct dlq_options *dlq = options;
    (void)value, (void)problem;
    dlq->common.given |= GIVEN(PAYLOAD);
    return dlq->payload = true;
}

static bool set_rate(void *options, const char *value, struct problem *problem) {
    struct dlq_options *dlq = options;
    (void)problem;
    dlq->common.given |= GIVEN(RATE);
    dlq->rate = value;
    return true;
}

static bool set_id(void *options, const char *value, struct problem *problem) {
    struct dlq_options *dlq = options;
    dlq->common.given |= GIVEN(ID);
    if (dlq->ids == NULL)
        dlq->ids = screen_memory(json_array());
    return json_array_append_new(dlq->ids, json_string(value)) == 0 ||
           problem_say(problem, "cannot be sent: it is no UTF-8");
}

static bool set_watch(void *options, const char *value, struct problem *problem) {
    struct dlq_options *dlq = options;
    (void)value, (void)problem;
    dlq->common.given |= GIVEN(WATCH);
    return dlq->watch = true;
}

static const struct flag flags[] = {
    {"destination", 'd', "NAME", "only of this destination", set_destination},
    {"payload", 0, NULL, "what was to be delivered, and nothing else", set_payload},
    {"rate", 0, "R", "how fast at first (default: 100/m)", set_rate},
    {"id", 0, "ID", "only this one; may be given several times", set_id},
    {"watch", 'w', NULL, "follow it to its end", set_watch},
    COMMON_LIST_FLAGS,
    COMMON_FLAGS,
};

/* ---- dead letters ---- */

static void list_row(struct table *table, const json_t *item) {
    view_cell(table, item, "id");
    view_cell(table, item, "destination");
    view_cell(table, item, "type");
    view_cell(table, item, "failures");
    view_moment(table, item, "died_at");
    view_cell(table, item, "reason");
    view_error(table, item);
}

static int list(struct call *call) {
    static const struct table_column columns[] = {
        {"id"},
        {"destination", .shrinks = true},
        {"type", .shrinks = true},
        {"failed", .right = true},
        {"died"},
        {"reason", .shrinks = true},
        {"last error", .shrinks = true},
    };
    const struct dlq_options *options = call->options;
    struct list request = {
        .path = remote_path("/v1/dlq", NULL, NULL),
        .columns = columns,
        .column_count = COUNT(columns),
        .row = list_row,
        .nothing = "no dead letters",
    };
    remote_path_query(&request.path, "destination", options->destination);
    return call_list(call, &request);
}

/* To a file as it is; to a terminal only if it is text, and made safe. */
static int show_payload(const struct call *call, const json_t *letter) {
    const json_t *text = json_object_get(letter, "payload");
    const char *encoded = json_string_value(json_object_get(letter, "payload_base64"));
    if (json_is_string(text)) {
        size_t length = json_string_length(text);
        char *safe = call->screen.terminal
                         ? screen_safe(&call->screen, json_string_value(text), length, true)
                         : NULL;
        fwrite(safe != NULL ? safe : json_string_value(text), 1,
               safe != NULL ? strlen(safe) : length, stdout);
        if (call->screen.terminal)
            putchar('\n');
        free(safe);
        return 0;
    }
    if (encoded != NULL && call->screen.terminal) {
        complain("the payload is not text; write it to a file: lull dlq show %s --payload >FILE",
                 call->words[0]);
        return EXIT_FAILURE;
    }
    if (encoded == NULL || !base64_write(encoded, stdout)) {
        complain("the server has sent no payload that can be read");
        return EXIT_FAILURE;
    }
    return 0;
}

static int show(struct call *call) {
    const struct dlq_options *options = call->options;
    struct remote_path path = remote_path("/v1/dlq", call->words[0], NULL);
    json_t *letter = call_get(call, &path);
    int code = 0;
    if (letter == NULL)
        return EXIT_FAILURE;
    if (options->payload) {
        code = show_payload(call, letter);
    } else if (call->common->json) {
        view_json(&call->screen, letter);
    } else {
        view_details(&call->screen, letter, "payload payload_base64 trace");
        putchar('\n');
        view_trace(&call->screen, json_object_get(letter, "trace"));
    }
    json_decref(letter);
    return code;
}

/* All that can be are dropped: one that is gone already does not save the others. */
static int drop(struct call *call) {
    json_t *dropped = screen_memory(json_array());
    bool all = true;
    for (int i = 0; i < call->count; i++) {
        struct remote_path path = remote_path("/v1/dlq", call->words[i], NULL);
        struct remote_answer answer;
        if (!call_ask(call, &(struct remote_request){"DELETE", &path}, &answer)) {
            all = false;
            continue;
        }
        remote_answer_clean_up(&answer);
        if (call->common->json)
            json_array_append_new(dropped, json_string(call->words[i]));
        else
            printf("%s dropped\n", call->words[i]);
    }
    json_t *document = json_pack("{s:O}", "dropped", dropped);
    if (call->common->json)
        view_json(&call->screen, screen_memory(document));
    json_decref(document);
    json_decref(dropped);
    return all ? 0 : EXIT_FAILURE;
}

/* ---- replays ---- */

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static double number_of(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static void say_progress(struct status_line *line, const json_t *replay) {
    char label[160];
    double total = number_of(replay, "total"), moved = number_of(replay, "moved");
    snprintf(label, sizeof label, "%.60s  %.0f of %.0f, %.0f failed, %.30s",
             text_of(replay, "destination"), moved, total, number_of(replay, "failed"),
             text_of(replay, "rate"));
    status_line_bar(line, label, total > 0 ? moved / total : 1);
}

/* Follows a replay until it has ended; takes the document, and gives the last one. */
static json_t *follow(struct call *call, json_t *replay) {
    struct status_line line;
    struct timespec interval = {.tv_nsec = WATCH_INTERVAL};
    status_line_init(&line, true);
    while (replay != NULL && strcmp(text_of(replay, "state"), "running") == 0) {
        struct remote_path path = remote_path("/v1/replays", text_of(replay, "id"), NULL);
        say_progress(&line, replay);
        nanosleep(&interval, NULL);
        json_decref(replay);
        replay = call_poll(call, &path, &line);
    }
    status_line_clean_up(&line);
    return replay;
}

static int present(const struct call *call, json_t *replay) {
    if (replay == NULL)
        return EXIT_FAILURE;
    if (call->common->json)
        view_json(&call->screen, replay);
    else
        view_details(&call->screen, replay, "");
    json_decref(replay);
    return 0;
}

static int replay(struct call *call) {
    struct dlq_options *options = call->options;
    struct remote_path path = remote_path("/v1/dlq/replay", NULL, NULL);
    json_t *body = json_pack("{s:s, s:s*, s:O*}", "destination", call->words[0], "rate",
                             options->rate, "ids", options->ids);
    if (body == NULL)
        return misused("dlq", &(struct problem){"what is no UTF-8 cannot be sent"});
    json_t *answer = call_send(call, "POST", &path, body);
    if (answer == NULL || !options->watch)
        return present(call, answer);
    answer = follow(call, answer);
    bool done = answer != NULL && strcmp(text_of(answer, "state"), "done") == 0;
    int code = present(call, answer);
    return done ? code : EXIT_FAILURE;
}

static void replay_row(struct table *table, const json_t *item) {
    view_cell(table, item, "id");
    view_cell(table, item, "destination");
    view_state(table, item, "state");
    view_cell(table, item, "rate");
    view_cell(table, item, "total");
    view_cell(table, item, "moved");
    view_cell(table, item, "succeeded");
    view_cell(table, item, "failed");
    view_moment(table, item, "created_at");
}

static int replays(struct call *call) {
    static const struct table_column columns[] = {
        {"id"},
        {"destination", .shrinks = true},
        {"state"},
        {"rate", .right = true},
        {"total", .right = true},
        {"moved", .right = true},
        {"ok", .right = true},
        {"failed", .right = true},
        {"began"},
    };
    return call_list(call, &(struct list){
                               .path = remote_path("/v1/replays", NULL, NULL),
                               .columns = columns,
                               .column_count = COUNT(columns),
                               .row = replay_row,
                               .nothing = "no replays",
                           });
}

static int status(struct call *call) {
    struct remote_path path = remote_path("/v1/replays", call->words[0], NULL);
    const struct dlq_options *options = call->options;
    json_t *answer = call_get(call, &path);
    if (options->watch)
        answer = follow(call, answer);
    return present(call, answer);
}

static int cancel(struct call *call) {
    struct remote_path path = remote_path("/v1/replays", call->words[0], NULL);
    return present(call, call_send(call, "DELETE", &path, NULL));
}

static const struct verb verbs[] = {
    {"list", "", "what could not be delivered", 0, 0, GIVEN(DESTINATION) | LIST_FLAGS_GIVEN, list},
    {"show", "ID", "a dead letter and every attempt at it", 1, 1, GIVEN(PAYLOAD), show},
    {"drop", "ID...", "remove them for good", 1, 100000, 0, drop},
    {"replay", "DEST", "try again, at a pace", 1, 1, GIVEN(RATE) | GIVEN(ID) | GIVEN(WATCH),
     replay},
    {"replays", "", "all replays", 0, 0, LIST_FLAGS_GIVEN, replays},
    {"status", "REPLAY", "how far one has come", 1, 1, GIVEN(WATCH), status},
    {"cancel", "REPLAY", "end one; the rest stays dead", 1, 1, 0, cancel},
};

static const struct remote_command command = {
    "dlq", verbs, COUNT(verbs), flags, COUNT(flags), dlq_help,
};

int dlq_command(int count, char **arguments) {
    struct dlq_options options = {0};
    int code = remote_command_run(&command, &options, count, arguments);
    json_decref(options.ids);
    return code;
}

void dlq_help(FILE *stream) {
    remote_command_usage(&command, stream);
    fputs("\n"
          "Dead letters: deliveries that lull serve has given up on. They stay until they\n"
          "are replayed or dropped. A replay begins at --rate, doubles it after each clean\n"
          "minute, halves it when more than one in ten fails, and stops when more than half\n"
          "do.\n"
          "\n",
          stream);
    flags_print(flags, COUNT(flags), stream);
    fputs("\n"
          "Exits with 0 if it was done, with 1 if it failed (with --watch: if the replay\n"
          "was stopped or cancelled), and with 2 if the flags make no sense.\n"
          "\n"
          "  lull dlq list --destination shop\n"
          "  lull dlq show dlv_1m7gs63280001 --payload >payload.json\n"
          "  lull dlq replay shop --rate 20/s --watch\n",
          stream);
}
