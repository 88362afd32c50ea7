/* lull event: what became of events. */
#include "remote_command.h"
#include "suggest.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct event_options {
    struct common common;
    const char *destination, *state;
};

static bool set_destination(void *options, const char *value, struct problem *problem) {
    struct event_options *event = options;
    (void)problem;
    event->common.given |= GIVEN(DESTINATION);
    event->destination = value;
    return true;
}

static bool set_state(void *options, const char *value, struct problem *problem) {
    static const char *const states[] = {"pending", "delivered", "dead"};
    struct event_options *event = options;
    struct suggestion best = suggestion_for(value);
    event->common.given |= GIVEN(STATE);
    event->state = value;
    for (size_t i = 0; i < COUNT(states); i++) {
        if (strcmp(states[i], value) == 0)
            return true;
        suggestion_offer(&best, states[i]);
    }
    if (best.name != NULL)
        return problem_say(problem, "no such state; did you mean %s?", best.name);
    return problem_say(problem, "no such state; there are pending, delivered and dead");
}

static const struct flag flags[] = {
    {"destination", 'd', "NAME", "only to this destination", set_destination},
    {"state", 's', "STATE", "only these: pending, delivered or dead", set_state},
    COMMON_LIST_FLAGS,
    COMMON_FLAGS,
};

static void list_row(struct table *table, const json_t *item) {
    view_cell(table, item, "event");
    view_cell(table, item, "destination");
    view_cell(table, item, "type");
    view_state(table, item, "state");
    view_cell(table, item, "attempts");
    view_moment(table, item, "at");
    view_error(table, item);
}

static int list(struct call *call) {
    static const struct table_column columns[] = {
        {"event"},
        {"destination", .shrinks = true},
        {"type", .shrinks = true},
        {"state"},
        {"tries", .right = true},
        {"due/ended"},
        {"last answer", .shrinks = true},
    };
    const struct event_options *options = call->options;
    struct list request = {
        .path = remote_path("/v1/events", NULL, NULL),
        .columns = columns,
        .column_count = COUNT(columns),
        .row = list_row,
        .nothing = "no such events",
    };
    remote_path_query(&request.path, "destination", options->destination);
    remote_path_query(&request.path, "state", options->state);
    return call_list(call, &request);
}

static int show(struct call *call) {
    struct remote_path path = remote_path("/v1/events", call->words[0], NULL);
    size_t index = 0;
    const json_t *delivery = NULL;
    json_t *event = call_get(call, &path);
    if (event == NULL)
        return EXIT_FAILURE;
    if (call->common->json) {
        view_json(&call->screen, event);
        json_decref(event);
        return 0;
    }
    view_details(&call->screen, event, "deliveries");
    json_array_foreach(json_object_get(event, "deliveries"), index, delivery) {
        putchar('\n');
        view_details(&call->screen, delivery, "trace");
        view_trace(&call->screen, json_object_get(delivery, "trace"));
    }
    json_decref(event);
    return 0;
}

static const struct verb verbs[] = {
    {"list", "", "deliveries, and how they stand", 0, 0,
     GIVEN(DESTINATION) | GIVEN(STATE) | LIST_FLAGS_GIVEN, list},
    {"show", "ID", "an event and every attempt at it", 1, 1, 0, show},
};

static const struct remote_command command = {
    "event", verbs, COUNT(verbs), flags, COUNT(flags), event_help,
};

int event_command(int count, char **arguments) {
    struct event_options options = {0};
    return remote_command_run(&command, &options, count, arguments);
}

void event_help(FILE *stream) {
    remote_command_usage(&command, stream);
    fputs("\n"
          "Events that lull serve has accepted. A delivery is an event on its way to one\n"
          "destination: pending, delivered or dead.\n"
          "\n",
          stream);
    flags_print(flags, COUNT(flags), stream);
    fputs("\n"
          "Exits with 0 if it was done, with 1 if it failed, and with 2 if the flags make\n"
          "no sense.\n"
          "\n"
          "  lull event list --destination shop --state pending\n"
          "  lull event list --state dead --all --json\n"
          "  lull event show evt_1m7gs63280000\n",
          stream);
}
