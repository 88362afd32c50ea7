/* lull send: hands events to a running lull serve. */
#include "duration.h"
#include "remote_command.h"
#include "send_batch.h"
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define POLL_FIRST (LULL_SECOND / 5)
#define POLL_LAST (2 * LULL_SECOND)

enum { HEADERS = 32, PAYLOAD_MAX = 256 << 20 };

struct send_options {
    struct common common;
    const char *destination, *type;
    const char *data, *file;
    const char *key, *content_type;
    const char *headers[HEADERS];
    size_t header_count;
    const char *batch;
    bool wait;
    lull_duration wait_for; /* 0: as long as it takes */
};

/* ---- flags ---- */

#define TEXT(field)                                                                                \
    static bool set_##field(void *options, const char *value, struct problem *problem) {           \
        ((struct send_options *)options)->field = value;                                           \
        return value[0] != '\0' || problem_say(problem, "is empty");                               \
    }
TEXT(type)
TEXT(file)
TEXT(batch)
#undef TEXT

static bool set_data(void *options, const char *value, struct problem *problem) {
    (void)problem;
    ((struct send_options *)options)->data = value; /* may be empty: so may a payload */
    return true;
}

/* What goes into a header field must stay one line. */
static bool is_line(const char *value) {
    for (; *value != '\0'; value++)
        if ((unsigned char)*value < 0x20 || *value == 0x7F)
            return false;
    return true;
}

static bool set_key(void *options, const char *value, struct problem *problem) {
    ((struct send_options *)options)->key = value;
    return (value[0] != '\0' && is_line(value)) ||
           problem_say(problem, "must be a line of text that names this event");
}

static bool set_content_type(void *options, const char *value, struct problem *problem) {
    ((struct send_options *)options)->content_type = value;
    return (value[0] != '\0' && is_line(value)) ||
           problem_say(problem, "must be a type such as application/json");
}

static bool set_header(void *options, const char *value, struct problem *problem) {
    struct send_options *send = options;
    if (!remote_header_is_fine(value))
        return problem_say(problem, "must be a header field: --header 'traceparent: 00-...'");
    if (send->header_count == HEADERS)
        return problem_say(problem, "is one too many; %d are the most", HEADERS);
    send->headers[send->header_count++] = value;
    return true;
}

static bool set_wait(void *options, const char *value, struct problem *problem) {
    struct send_options *send = options;
    send->wait = true;
    send->wait_for = 0;
    if (value == NULL)
        return true;
    return (duration_parse(value, &send->wait_for) && send->wait_for > 0) ||
           problem_say(problem, "must be a duration longer than 0: " DURATION_FORMS);
}

static const struct flag flags[] = {
    {"type", 't', "TYPE", "the event's type; without DEST, to all that subscribe", set_type},
    {"data", 'd', "DATA", "the payload", set_data},
    {"file", 'f', "FILE", "a file with the payload; - is stdin, and the default", set_file},
    {"content-type", 0, "T",
     "of the payload (default: application/json if it is\n"
     "JSON, text/plain if it is text, else\n"
     "application/octet-stream)",
     set_content_type},
    {"key", 'k', "KEY", "Idempotency-Key: sent again, it is the same event", set_key},
    {"header", 'H', "'K: V'",
     "a header field that travels on: Content-Encoding,\n"
     "traceparent or tracestate; may be given several times",
     set_header},
    {"wait", 'w', "[D]",
     "until it is delivered or dead, at most D; exits with\n"
     "1 if it is not delivered",
     set_wait},
    {"batch", 0, "FILE",
     "many events, a JSON object a line:\n"
     "{\"destination\": ..., \"payload\": ...}, or \"type\" for\n"
     "\"destination\"; \"key\" and \"content_type\" are\n"
     "optional; - is stdin",
     set_batch},
    COMMON_FLAGS,
};

static bool take_word(struct send_options *options, const char *word, struct problem *problem) {
    if (options->destination != NULL)
        return problem_say(problem, "one destination at a time; %.100s and %.100s are two",
                           options->destination, word);
    if (word[0] == '\0')
        return problem_say(problem, "the destination's name is empty");
    options->destination = word;
    return true;
}

static bool parse_words(struct send_options *options, int count, char **arguments,
                        struct problem *problem) {
    int at = 0;
    bool words_only = false;
    while (at < count) {
        int taken = words_only ? 0
                               : flags_parse(flags, COUNT(flags), options, count - at,
                                             arguments + at, problem);
        if (taken < 0)
            return false;
        const char *last = taken > 0 ? arguments[at + taken - 1] : "";
        words_only = words_only || strcmp(last, "--") == 0;
        at += taken;
        if (at == count)
            break;
        /* --wait 30s, as other flags have it. */
        bool waits = options->wait && (strcmp(last, "--wait") == 0 || strcmp(last, "-w") == 0);
        if (waits && duration_parse(arguments[at], &options->wait_for) && options->wait_for > 0) {
            at++;
            continue;
        }
        if (!take_word(options, arguments[at++], problem))
            return false;
    }
    return true;
}

static bool make_sense(const struct send_options *options, struct problem *problem) {
    if (options->batch != NULL) {
        if (options->destination != NULL || options->type != NULL || options->data != NULL ||
            options->file != NULL || options->content_type != NULL || options->wait ||
            options->header_count > 0)
            return problem_say(problem, "--batch goes with --key and nothing else of an event: its "
                                        "lines say where they go");
        return true;
    }
    if (options->destination == NULL && options->type == NULL)
        return problem_say(problem, "where to? Name a destination, or give the event's --type");
    if (options->data != NULL && options->file != NULL)
        return problem_say(problem, "--data and --file exclude each other");
    return true;
}

/* ---- the payload ---- */

struct payload {
    char *bytes;
    size_t length;
};

static bool read_stream(FILE *stream, const char *name, struct payload *payload) {
    size_t room = 0, got = 0;
    do {
        if (payload->length == room) {
            room = room == 0 ? 64 << 10 : room * 2;
            payload->bytes = screen_memory(realloc(payload->bytes, room));
        }
        got = fread(payload->bytes + payload->length, 1, room - payload->length, stream);
        payload->length += got;
    } while (got > 0 && payload->length <= PAYLOAD_MAX);
    if (ferror(stream)) {
        complain("cannot read %s: %s", name, strerror(errno));
        return false;
    }
    if (payload->length > PAYLOAD_MAX) {
        complain("%s is too large for a payload", name);
        return false;
    }
    return true;
}

static bool read_payload(const struct send_options *options, struct payload *payload) {
    if (options->data != NULL) {
        payload->bytes = screen_memory(strdup(options->data));
        payload->length = strlen(options->data);
        return true;
    }
    if (options->file == NULL || strcmp(options->file, "-") == 0) {
        if (isatty(STDIN_FILENO))
            complain("type the payload, and Ctrl-D at its end");
        return read_stream(stdin, "stdin", payload);
    }
    FILE *stream = fopen(options->file, "re");
    if (stream == NULL) {
        complain("cannot read %s: %s", options->file, strerror(errno));
        return false;
    }
    bool fine = read_stream(stream, options->file, payload);
    fclose(stream);
    return fine;
}

static const char *guess_type(const struct payload *payload) {
    json_t *json = json_loadb(payload->bytes, payload->length,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    const char *type = "application/json";
    if (json == NULL) {
        json = json_stringn(payload->bytes, payload->length); /* checks that it is UTF-8 */
        bool text = json != NULL && memchr(payload->bytes, '\0', payload->length) == NULL;
        type = text ? "text/plain" : "application/octet-stream";
    }
    json_decref(json);
    return type;
}

/* ---- waiting ---- */

struct standing {
    size_t pending, dead;
    const json_t *first_pending, *first_dead;
};

static struct standing standing_of(const json_t *event) {
    struct standing standing = {0};
    size_t index = 0;
    const json_t *delivery = NULL;
    json_array_foreach(json_object_get(event, "deliveries"), index, delivery) {
        const char *state = json_string_value(json_object_get(delivery, "state"));
        if (state == NULL || strcmp(state, "pending") == 0) {
            standing.pending++;
            standing.first_pending =
                standing.first_pending == NULL ? delivery : standing.first_pending;
        } else if (strcmp(state, "dead") == 0) {
            standing.dead++;
            standing.first_dead = standing.first_dead == NULL ? delivery : standing.first_dead;
        }
    }
    return standing;
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static void say_pending(struct status_line *line, const char *id, struct standing standing) {
    const json_t *delivery = standing.first_pending;
    status_line_text(line, "%.60s  pending at %.60s, %lld attempts so far", id,
                     text_of(delivery, "destination"),
                     (long long)json_integer_value(json_object_get(delivery, "attempts")));
}

/* Why the last attempt failed: "status 503", "connection refused". */
static const char *last_error(const json_t *delivery) {
    const json_t *trace = json_object_get(delivery, "trace");
    size_t count = json_array_size(trace);
    return count == 0 ? "" : text_of(json_array_get(trace, count - 1), "error");
}

static int say_end(const struct call *call, const json_t *event, struct standing standing) {
    if (call->common->json)
        view_json(&call->screen, event);
    if (standing.dead == 0) {
        if (call->screen.terminal && !call->common->json)
            puts("delivered");
        return 0;
    }
    const json_t *delivery = standing.first_dead;
    struct screen screen = screen_of(STDERR_FILENO);
    char *name = screen_safe(&screen, text_of(delivery, "destination"),
                             strlen(text_of(delivery, "destination")), false);
    char *reason = screen_safe(&screen, text_of(delivery, "reason"),
                               strlen(text_of(delivery, "reason")), false);
    char *error = screen_safe(&screen, last_error(delivery), strlen(last_error(delivery)), false);
    long long attempts = json_integer_value(json_object_get(delivery, "attempts"));
    complain("dead at %s after %lld attempt%s%s%s%s%s", name, attempts, attempts == 1 ? "" : "s",
             reason[0] == '\0' ? "" : ": ", reason, error[0] == '\0' ? "" : "; last: ", error);
    free(name);
    free(reason);
    free(error);
    return EXIT_FAILURE;
}

static int say_late(const struct call *call, const char *id, const json_t *event) {
    const struct send_options *options = call->options;
    char time[DURATION_TEXT_SIZE];
    if (call->common->json)
        view_json(&call->screen, event);
    complain("still pending after %s; lull event show %s tells how it goes on",
             duration_format(options->wait_for, time), id);
    return EXIT_FAILURE;
}

static int wait_for(struct call *call, const char *id) {
    const struct send_options *options = call->options;
    struct remote_path path = remote_path("/v1/events", id, NULL);
    lull_time now = lull_clock();
    bool bounded = options->wait_for > 0 && options->wait_for < LULL_NEVER - now;
    lull_time until = bounded ? now + options->wait_for : LULL_NEVER;
    lull_duration interval = POLL_FIRST;
    struct status_line line;
    int code = EXIT_FAILURE;
    status_line_init(&line, true);
    for (;;) {
        json_t *event = call_poll(call, &path, &line);
        struct standing standing = standing_of(event);
        lull_duration left = until - lull_clock();
        bool ended = event != NULL && standing.pending == 0;
        if (event == NULL || ended || left <= 0) {
            status_line_clean_up(&line);
            code = ended           ? say_end(call, event, standing)
                   : event != NULL ? say_late(call, id, event)
                                   : EXIT_FAILURE;
            json_decref(event);
            return code;
        }
        say_pending(&line, id, standing);
        json_decref(event);
        lull_duration pause = interval < left ? interval : left;
        nanosleep(&(struct timespec){.tv_sec = pause / LULL_SECOND, .tv_nsec = pause % LULL_SECOND},
                  NULL);
        interval = interval * 2 < POLL_LAST ? interval * 2 : POLL_LAST;
    }
}

/* ---- sending ---- */

static bool post(struct call *call, const struct payload *payload, struct remote_answer *answer) {
    const struct send_options *options = call->options;
    char random[REMOTE_KEY_SIZE];
    struct remote_path path = options->destination == NULL
                                  ? remote_path("/v1/events", NULL, NULL)
                                  : remote_path("/v1/destinations", options->destination, "events");
    remote_path_query(&path, "type", options->type);
    remote_make_key(random);
    return call_ask(call,
                    &(struct remote_request){
                        .method = "POST",
                        .path = &path,
                        .body = payload->bytes,
                        .length = payload->length,
                        .content_type = options->content_type != NULL ? options->content_type
                                                                      : guess_type(payload),
                        .key = options->key != NULL ? options->key : random,
                        .headers = options->headers,
                        .header_count = options->header_count,
                    },
                    answer);
}

static int tell(struct call *call, const struct remote_answer *answer) {
    const struct send_options *options = call->options;
    const char *id = text_of(answer->json, "id");
    char *safe = screen_safe(&call->screen, id, strlen(id), false);
    int code = 0;
    if (!call->common->json)
        puts(safe);
    else if (!options->wait)
        view_json(&call->screen, answer->json);
    fflush(stdout);
    if (answer->replayed && options->key != NULL)
        complain("it was accepted before, with this key; nothing new is sent");
    const json_t *deliveries = json_object_get(answer->json, "deliveries");
    if (json_is_integer(deliveries) && json_integer_value(deliveries) == 0)
        complain("no destination subscribes to %s; it is delivered to none", options->type);
    if (options->wait)
        code = wait_for(call, id);
    free(safe);
    return code;
}

static int send_one(struct call *call) {
    struct payload payload = {0};
    struct remote_answer answer;
    int code = EXIT_FAILURE;
    if (read_payload(call->options, &payload) && post(call, &payload, &answer)) {
        code = tell(call, &answer);
        remote_answer_clean_up(&answer);
    }
    free(payload.bytes);
    return code;
}

int send_command(int count, char **arguments) {
    struct send_options options = {0};
    struct problem problem = {{0}};
    struct remote remote;
    if (!parse_words(&options, count, arguments, &problem))
        return misused("send", &problem);
    if (options.common.help) {
        send_help(stdout);
        return 0;
    }
    if (!make_sense(&options, &problem) || !remote_init(&remote, &options.common.remote, &problem))
        return misused("send", &problem);
    struct call call = {
        .remote = &remote,
        .screen = screen_of(STDOUT_FILENO),
        .common = &options.common,
        .options = &options,
    };
    int code =
        options.batch != NULL ? send_batch(&call, options.batch, options.key) : send_one(&call);
    remote_clean_up(&remote);
    return code;
}

void send_help(FILE *stream) {
    fputs("usage: lull send DEST [FLAG...]\n"
          "       lull send --type TYPE [FLAG...]\n"
          "       lull send --batch FILE [FLAG...]\n"
          "\n"
          "Hands an event to lull serve, and prints its id once it is on the server's\n"
          "disk. It goes to one destination, or to all that subscribe to its type.\n"
          "\n",
          stream);
    flags_print(flags, COUNT(flags), stream);
    fputs("\n"
          "Without --data and --file the payload is read from stdin. Without --key a\n"
          "random one is made, so that its own retries cannot make two events of one. In a\n"
          "batch, lines without a key get one: KEY and the line's number. With the same\n"
          "KEY, a file can be sent again, and what was accepted before is not sent twice.\n"
          "\n"
          "Exits with 0 if it was done, with 1 if it failed, and with 2 if the flags make\n"
          "no sense.\n"
          "\n"
          "  lull send shop -d '{\"order\": 7}' --wait 30s\n"
          "  lull send --type order.paid -f order.json -k order-7-paid\n"
          "  lull send --batch events.ndjson\n",
          stream);
}
