/* What the commands that talk to a server share: flags, sub-commands ("verbs"), lists.
 *
 *   lull dest list --json          flags may stand anywhere: before, between and after the words
 *   lull --server … dest           but not before the command
 *
 * A command is a table of verbs and one of flags. Its options begin with a `struct common`, which
 * also notes the flags that were given, so that one which means nothing to a verb is refused
 * rather than overlooked.
 */
#ifndef CLI_REMOTE_COMMAND_H
#define CLI_REMOTE_COMMAND_H

#include "command.h"
#include "flags.h"
#include "remote.h"
#include "table.h"

/* Flags that belong to some verbs only. */
#define COMMON_FLAG_MAP(X)                                                                         \
    X(LIMIT, "limit")                                                                              \
    X(CURSOR, "cursor")                                                                            \
    X(ALL, "all")                                                                                  \
    X(DESTINATION, "destination")                                                                  \
    X(STATE, "state")                                                                              \
    X(TYPE, "type")                                                                                \
    X(POLICY, "policy")                                                                            \
    X(SET, "set")                                                                                  \
    X(SECRET, "secret")                                                                            \
    X(UNSIGNED, "unsigned")                                                                        \
    X(HEADER, "header")                                                                            \
    X(FORCE, "force")                                                                              \
    X(PAYLOAD, "payload")                                                                          \
    X(RATE, "rate")                                                                                \
    X(ID, "id")                                                                                    \
    X(WATCH, "watch")

enum common_flag {
#define X(name, text) COMMON_##name,
    COMMON_FLAG_MAP(X)
#undef X
        COMMON_FLAG_COUNT
};
#define GIVEN(flag) (UINT32_C(1) << COMMON_##flag)
#define LIST_FLAGS_GIVEN (GIVEN(LIMIT) | GIVEN(CURSOR) | GIVEN(ALL))

#define LIST_LIMIT 100 /* rows, if not told otherwise */
#define LIST_PAGE 1000 /* the most that the server gives at once */

struct common {
    struct remote_options remote;
    bool json, help;
    uint32_t given; /* GIVEN(…) */
    uint64_t limit; /* 0: LIST_LIMIT */
    const char *cursor;
    bool all;
};

bool common_set_server(void *options, const char *value, struct problem *problem);
bool common_set_token(void *options, const char *value, struct problem *problem);
bool common_set_ca(void *options, const char *value, struct problem *problem);
bool common_set_timeout(void *options, const char *value, struct problem *problem);
bool common_set_json(void *options, const char *value, struct problem *problem);
bool common_set_help(void *options, const char *value, struct problem *problem);
bool common_set_limit(void *options, const char *value, struct problem *problem);
bool common_set_cursor(void *options, const char *value, struct problem *problem);
bool common_set_all(void *options, const char *value, struct problem *problem);

#define COMMON_FLAGS                                                                               \
    {"server", 0, "URL", "where lull serve is (default: $LULL_SERVER, or\n" REMOTE_SERVER ")",     \
     common_set_server},                                                                           \
        {"token", 0, "TOKEN", "if it wants one (default: $LULL_TOKEN)", common_set_token},         \
        {"ca", 0, "FILE", "trust these authorities instead of the system's\n(default: $LULL_CA)",  \
         common_set_ca},                                                                           \
        {"timeout", 0, "D", "for a request, retries included (default: 30s)", common_set_timeout}, \
        {"json", 0, NULL, "the server's JSON, as one document", common_set_json}, {                \
        "help", 'h', NULL, "show this", common_set_help                                            \
    }

#define COMMON_LIST_FLAGS                                                                          \
    {"limit", 0, "N", "at most this many (default: 100)", common_set_limit},                       \
        {"all", 0, NULL, "all there are", common_set_all}, {                                       \
        "cursor", 0, "C", "go on from here: the `next` of an earlier list", common_set_cursor      \
    }

/* What a verb is called with. */
struct call {
    struct remote *remote;
    struct screen screen; /* stdout */
    const struct common *common;
    void *options; /* the same, as the command's own */
    int count;     /* of words after the verb */
    char **words;
};

struct verb {
    const char *name;
    const char *words; /* that follow it: "NAME URL"; "": none */
    const char *summary;
    int least, most;               /* how many words those are */
    uint32_t flags;                /* that it knows beside the common ones, GIVEN(…) */
    int (*run)(struct call *call); /* the exit code */
};

struct remote_command {
    const char *name;
    const struct verb *verbs;
    size_t verb_count;
    const struct flag *flags;
    size_t flag_count;
    void (*help)(FILE *stream);
};

/* Reads flags and words in any order: the words are left in arguments[0 …], and their number is
 * returned; or -1, and a problem. */
int words_parse(const struct flag *flags, size_t flag_count, void *options, int count,
                char **arguments, struct problem *problem);

/* All of a command: parses into `options` (which begin with a zeroed struct common), finds the
 * verb, runs it. */
int remote_command_run(const struct remote_command *command, void *options, int count,
                       char **arguments);

/* "usage: …" and the verbs with what they do. */
void remote_command_usage(const struct remote_command *command, FILE *stream);

/* The complaint about a mistake on the command line; EXIT_USAGE. */
int misused(const char *command, const struct problem *problem);

/* Asks, and complains if that fails: then the answer has been cleaned up. */
bool call_ask(struct call *call, const struct remote_request *request,
              struct remote_answer *answer);

/* GET of a path; NULL if it failed. The caller owns the document. */
json_t *call_get(struct call *call, const struct remote_path *path);
/* The same while a line is drawn, which is wiped away before a complaint. */
json_t *call_poll(struct call *call, const struct remote_path *path, struct status_line *line);

/* POST or PATCH of a document (taken) or of nothing (NULL); NULL if it failed. */
json_t *call_send(struct call *call, const char *method, const struct remote_path *path,
                  json_t *document);

/* A list, followed from page to page as the flags say, as a table or as JSON. */
struct list {
    struct remote_path path; /* with its filters */
    const struct table_column *columns;
    size_t column_count;
    void (*row)(struct table *table, const json_t *item);
    const char *nothing; /* what to say if there are none */
};
int call_list(struct call *call, const struct list *list);

#endif
