/* How the server misbehaves. One list of fields makes the flags, their help, the JSON of the
 * control endpoint in both directions and the override of a single request.
 *
 *   --slow-body 1k        {"slow_body": "1k"} or {"slow_body": 1024}        X-Flaky: slow-body=1k
 *
 * A field is read by one function, whichever way it comes: JSON numbers and truth values are
 * written out and read as text.
 */
#ifndef FLAKY_SETTINGS_H
#define FLAKY_SETTINGS_H

#include "body.h"
#include "gate.h"
#include "latency.h"
#include "outage.h"
#include "problem.h"
#include "text.h"

#include <lull/bucket.h>

struct json_t; /* jansson's */

#define FAILURE_STATUS 503 /* unless --status says otherwise */
/* A second, in an outage of mode slow, unless --slow-body says otherwise. */
#define SLOW_OUTAGE_BYTES 10
#define SHARE_UNSET (-1.0)
#define SEED_UNSET UINT64_MAX

#define SETTINGS_TEXT(value) #value
#define SETTINGS_TEXT_OF(constant) SETTINGS_TEXT(constant)

enum retry_after_form { RETRY_AFTER_SECONDS, RETRY_AFTER_DATE };

enum { HEADERS_MOST = 16, FIELD_TEXT_SIZE = 512 };
struct headers {
    size_t count;
    char list[HEADERS_MOST][FIELD_TEXT_SIZE]; /* "Name: value" */
};

struct settings {
    struct latency latency;
    double fail;     /* shares are of 1; SHARE_UNSET: every answer has `status` */
    uint64_t status; /* 0: not set */
    double hang, close, reset, truncate, garbage;
    uint64_t slow_body; /* bytes a second; 0: at once */
    char retry_after[FIELD_TEXT_SIZE];
    enum retry_after_form retry_after_form;
    struct body body;
    struct headers header;
    char redirect[FIELD_TEXT_SIZE];
    bool echo;
    struct outages outage;
    lull_duration outage_every;
    struct gate_limits gate;
    struct rate rate;
    uint64_t burst; /* 0: as many as `rate` counts */
    uint64_t seed;  /* SEED_UNSET: the server chooses one */
    bool allow_override;
};

/* id, name, type, member, where it may be set, what the help calls its value, help */
#define SETTINGS_MAP(X)                                                                            \
    X(LATENCY, "latency", LATENCY, latency, REQUEST, "TIME",                                       \
      "time to an answer: 50ms, 50ms+-10ms, exponential:50ms,\n"                                   \
      "lognormal:50ms:p99=400ms or lognormal:50ms:sigma=0.8")                                      \
    X(FAIL, "fail", SHARE, fail, REQUEST, "SHARE", "this share of requests fails, 0 to 1")         \
    X(STATUS, "status", STATUS, status, REQUEST, "CODE",                                           \
      "how they fail; without --fail: the status of every\n"                                       \
      "answer (default: " SETTINGS_TEXT_OF(FAILURE_STATUS) ", or 200)")                            \
    X(HANG, "hang", SHARE, hang, REQUEST, "SHARE", "share of requests that get no answer")         \
    X(CLOSE, "close", SHARE, close, REQUEST, "SHARE",                                              \
      "share whose connection is closed without an answer")                                        \
    X(RESET, "reset", SHARE, reset, REQUEST, "SHARE",                                              \
      "share whose connection is reset amid the answer")                                           \
    X(TRUNCATE, "truncate", SHARE, truncate, REQUEST, "SHARE", "share whose answer ends half-way") \
    X(GARBAGE, "garbage", SHARE, garbage, REQUEST, "SHARE",                                        \
      "share answered with bytes that are no HTTP")                                                \
    X(SLOW_BODY, "slow-body", SIZE, slow_body, REQUEST, "BYTES",                                   \
      "bodies come at this many bytes a second")                                                   \
    X(OUTAGE, "outage", OUTAGES, outage, SERVER, "FROM+LEN[:MODE],...",                            \
      "down from FROM after the start for LEN; MODE: refuse\n"                                     \
      "(default), hang, close, reset, truncate, garbage, error\n"                                  \
      "or slow")                                                                                   \
    X(OUTAGE_EVERY, "outage-every", DURATION, outage_every, SERVER, "D",                           \
      "the outages repeat with this period")                                                       \
    X(CAPACITY, "capacity", DECIMAL, gate.capacity, SERVER, "RPS",                                 \
      "start no more requests a second; others wait in line")                                      \
    X(WORKERS, "workers", COUNT, gate.workers, SERVER, "N",                                        \
      "serve no more at once; others wait in line")                                                \
    X(QUEUE, "queue", COUNT, gate.queue, SERVER, "N",                                              \
      "places in the line; over it 503 at once (default: " SETTINGS_TEXT_OF(GATE_QUEUE) ")")       \
    X(RATE, "rate", RATE, rate, SERVER, "N/s|N/m|N/h", "limit: over it 429 with Retry-After")      \
    X(BURST, "burst", COUNT, burst, SERVER, "N", "at once within the rate (default: its N)")       \
    X(RETRY_AFTER, "retry-after", TEXT, retry_after, REQUEST, "VALUE",                             \
      "Retry-After of failures, sent as it is")                                                    \
    X(RETRY_AFTER_FORM, "retry-after-form", FORM, retry_after_form, REQUEST, "FORM",               \
      "seconds (default), or date: whole seconds become a date")                                   \
    X(BODY, "body", BODY, body, REQUEST, "SIZE|TEXT", "the body of answers: 64k, or a text")       \
    X(HEADER, "header", HEADERS, header, REQUEST, "'NAME: VALUE'",                                 \
      "a header field of every answer; repeatable")                                                \
    X(REDIRECT, "redirect", TEXT, redirect, REQUEST, "URL",                                        \
      "answer 302 (or --status) with this Location")                                               \
    X(ECHO, "echo", SWITCH, echo, REQUEST, NULL, "answer with the request as JSON")                \
    X(SEED, "seed", COUNT, seed, SERVER, "N", "make the same choices each time")                   \
    X(ALLOW_OVERRIDE, "allow-override", SWITCH, allow_override, SERVER, NULL,                      \
      "a request may choose for itself: 'X-Flaky: status=503;\n"                                   \
      "latency=200ms; reset', or ?x-flaky=...")

enum setting {
#define FLAKY_X(id, ...) SETTING_##id,
    SETTINGS_MAP(FLAKY_X)
#undef FLAKY_X
        SETTING_COUNT
};

extern const struct settings settings_defaults;

/* What was wrong with some JSON, or with an override. */
struct settings_problem {
    char field[64]; /* "": with all of it */
    struct problem problem;
};

/* Reads one field from text; lists grow. `value` NULL: the field was only named, which switches
 * it on, or makes a share 1. */
bool setting_read(struct settings *settings, enum setting setting, const char *value,
                  struct problem *problem);

/* Makes it what it is by default. */
void setting_clear(struct settings *settings, enum setting setting);

/* A list, to which reading adds? */
bool setting_is_list(enum setting setting);

/* The field of that name, which has '_' for '-' in JSON. SETTING_COUNT, and a complaint, if
 * there is none. */
enum setting setting_find(const char *name, bool underscores, struct settings_problem *problem);

/* Takes over what the object names, all or nothing. null makes a field what it is by default.
 * Bits 1 << setting of what was named go to *touched. */
bool settings_read_json(struct settings *settings, struct json_t *object, uint64_t *touched,
                        struct settings_problem *problem);

/* Makes settings for one request out of the server's: "status=503; latency=200ms; reset". What a
 * request chooses is not left to chance: the server's shares and status do not apply to it. Only
 * fields that make sense for one request may be named. */
bool settings_override(struct settings *settings, const char *text,
                       struct settings_problem *problem);

/* What no field can see alone. False: `problem` says it. */
bool settings_check(const struct settings *settings, struct settings_problem *problem);

/* `rate` and `burst` as the bucket wants them. */
struct lull_bucket_config settings_bucket(const struct settings *settings);

/* An object of all fields. */
void settings_write_json(FILE *stream, const struct settings *settings);

#endif
