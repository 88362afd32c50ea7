#include "remote.h"

#include "duration.h"
#include "screen.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define USER_AGENT "lull/" LULL_VERSION

/* One request, over all of its attempts. */
struct exchange {
    struct remote *remote;
    struct remote_answer *answer;
    size_t room;     /* of answer->body */
    CURLcode result; /* of the last attempt */
    int system_error;
    bool too_large;
    char error[CURL_ERROR_SIZE];
};

/* ---- paths ---- */

static void append(struct remote_path *path, const char *text, size_t length) {
    if (length >= sizeof path->text - path->length) {
        path->too_long = true;
        return;
    }
    memcpy(path->text + path->length, text, length);
    path->length += length;
    path->text[path->length] = '\0';
}

static void append_escaped(struct remote_path *path, const char *text) {
    for (; *text != '\0'; text++) {
        char escaped[4];
        if (isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL) {
            append(path, text, 1);
        } else {
            snprintf(escaped, sizeof escaped, "%%%02X", (unsigned char)*text);
            append(path, escaped, 3);
        }
    }
}

static void append_segment(struct remote_path *path, const char *word) {
    if (word == NULL)
        return;
    append(path, "/", 1);
    append_escaped(path, word);
}

struct remote_path remote_path(const char *base, const char *name, const char *action) {
    struct remote_path path = {.length = 0};
    append(&path, base, strlen(base));
    append_segment(&path, name);
    append_segment(&path, action);
    return path;
}

void remote_path_query(struct remote_path *path, const char *name, const char *value) {
    if (value == NULL)
        return;
    append(path, path->has_query ? "&" : "?", 1);
    path->has_query = true;
    append_escaped(path, name);
    append(path, "=", 1);
    append_escaped(path, value);
}

/* ---- the server's address ---- */

static const char *given_or_environment(const char *given, const char *name, const char *fallback) {
    const char *value = given != NULL ? given : getenv(name);
    return value == NULL || value[0] == '\0' ? fallback : value;
}

static bool is_loopback(const char *host) {
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "[::1]") == 0;
}

/* A part of the address, on the heap (curl_free); NULL: it has none. */
static char *part_of(CURLU *url, CURLUPart part) {
    char *text = NULL;
    return curl_url_get(url, part, &text, 0) == CURLUE_OK ? text : NULL;
}

static bool address_is_fine(CURLU *url, const char *server, bool *loopback,
                            struct problem *problem) {
    char *scheme = part_of(url, CURLUPART_SCHEME), *host = part_of(url, CURLUPART_HOST);
    char *query = part_of(url, CURLUPART_QUERY), *fragment = part_of(url, CURLUPART_FRAGMENT);
    char *user = part_of(url, CURLUPART_USER);
    bool http = scheme != NULL && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    bool fine = http && host != NULL && query == NULL && fragment == NULL && user == NULL;
    *loopback = host != NULL && is_loopback(host);
    curl_free(scheme), curl_free(host), curl_free(query), curl_free(fragment), curl_free(user);
    return fine || problem_say(problem,
                               "%.200s is not the address of a server; write it as " REMOTE_SERVER
                               ", with no user and no query",
                               server);
}

static bool set_server(struct remote *remote, const char *server, struct problem *problem) {
    CURLU *url = screen_memory(curl_url());
    bool loopback = false;
    size_t length = strlen(server);
    while (length > 0 && server[length - 1] == '/')
        length--;
    if (asprintf(&remote->server, "%s%.*s", strstr(server, "://") == NULL ? "http://" : "",
                 (int)length, server) < 0)
        remote->server = screen_memory(NULL);
    /* What cannot be parsed leaves `url` empty. */
    (void)curl_url_set(url, CURLUPART_URL, remote->server, CURLU_NON_SUPPORT_SCHEME);
    bool fine = address_is_fine(url, server, &loopback, problem);
    curl_url_cleanup(url);
    /* A proxy of the environment knows nothing of this machine's own addresses. */
    if (fine && loopback)
        curl_easy_setopt(remote->curl, CURLOPT_PROXY, "");
    return fine;
}

/* ---- life ---- */

bool remote_header_is_fine(const char *header) {
    const char *colon = strchr(header, ':');
    if (colon == NULL || colon == header)
        return false;
    for (const char *at = header; *at != '\0'; at++) {
        if (iscntrl((unsigned char)*at) || (at < colon && isspace((unsigned char)*at)))
            return false;
    }
    return true;
}

static bool set_token(struct remote *remote, const char *token, struct problem *problem) {
    if (token == NULL)
        return true;
    if (asprintf(&remote->authorization, "Authorization: Bearer %s", token) < 0)
        remote->authorization = screen_memory(NULL);
    return remote_header_is_fine(remote->authorization) ||
           problem_say(problem, "the token has control characters in it");
}

static struct lull_guard_config interactive(void) {
    struct lull_guard_config config = *lull_preset("interactive");
    /* There is one call at a time, and nobody to protect from the others. */
    config.without =
        LULL_WITHOUT_BREAKER | LULL_WITHOUT_BUDGET | LULL_WITHOUT_BUCKET | LULL_WITHOUT_BULKHEAD;
    return config;
}

bool remote_init(struct remote *remote, const struct remote_options *options,
                 struct problem *problem) {
    struct lull_guard_config config = interactive();
    struct lull_error error = {0};
    *remote = (struct remote){
        .timeout = options->timeout > 0 ? options->timeout : REMOTE_TIMEOUT,
        .nested = getenv("LULL_ATTEMPT") != NULL,
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    remote->curl = screen_memory(curl_easy_init());
    const char *server = given_or_environment(options->server, "LULL_SERVER", REMOTE_SERVER);
    const char *token = given_or_environment(options->token, "LULL_TOKEN", NULL);
    const char *ca = given_or_environment(options->ca, "LULL_CA", NULL);
    if (ca != NULL)
        curl_easy_setopt(remote->curl, CURLOPT_CAINFO, ca);
    if (lull_guard_init(&remote->guard, &config, &error) != LULL_OK)
        problem_say(problem, "%s", error.message);
    else if (set_server(remote, server, problem) && set_token(remote, token, problem))
        return true;
    remote_clean_up(remote);
    return false;
}

void remote_clean_up(struct remote *remote) {
    curl_easy_cleanup(remote->curl);
    free(remote->server);
    free(remote->authorization);
    *remote = (struct remote){0};
    curl_global_cleanup();
}

void remote_make_key(char key[REMOTE_KEY_SIZE]) {
    unsigned char bytes[16];
    size_t length = (size_t)snprintf(key, REMOTE_KEY_SIZE, "lull-");
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        /* No kernel of this century fails here; a moment and a process are unique enough. */
        snprintf(key, REMOTE_KEY_SIZE, "lull-%d-%lld", (int)getpid(), (long long)lull_clock());
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        length += (size_t)snprintf(key + length, REMOTE_KEY_SIZE - length, "%02x", bytes[i]);
}

/* ---- one attempt ---- */

static size_t take_body(char *data, size_t size, size_t count, void *arg) {
    struct exchange *exchange = arg;
    struct remote_answer *answer = exchange->answer;
    size_t length = size * count;
    if (length > REMOTE_ANSWER_MAX - answer->length) {
        exchange->too_large = true;
        return 0;
    }
    if (answer->length + length >= exchange->room) {
        exchange->room = (answer->length + length + 1) * 2;
        answer->body = screen_memory(realloc(answer->body, exchange->room));
    }
    memcpy(answer->body + answer->length, data, length);
    answer->length += length;
    answer->body[answer->length] = '\0';
    return length;
}

static const char *header_of(CURL *curl, const char *name) {
    struct curl_header *header = NULL;
    return curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK ? header->value
                                                                                   : NULL;
}

static long milliseconds(lull_duration duration) {
    lull_duration most = 24 * LULL_HOUR, least = LULL_MILLISECOND;
    return (long)((duration > most    ? most
                   : duration < least ? least
                                      : duration) /
                  LULL_MILLISECOND);
}

static struct lull_outcome attempt_once(void *arg, const struct lull_attempt *attempt) {
    struct exchange *exchange = arg;
    CURL *curl = exchange->remote->curl;
    long status = 0, system_error = 0;
    lull_duration connect =
        attempt->timeout < REMOTE_CONNECT_TIMEOUT ? attempt->timeout : REMOTE_CONNECT_TIMEOUT;
    remote_answer_clean_up(exchange->answer); /* what an earlier attempt was told */
    exchange->room = 0;
    exchange->answer->attempts = attempt->number;
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds(attempt->timeout));
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(connect));
    exchange->error[0] = '\0';
    exchange->result = curl_easy_perform(curl);
    if (exchange->result != CURLE_OK) {
        curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &system_error);
        exchange->system_error = (int)system_error;
        return (struct lull_outcome){
            .class_ = lull_classify(LULL_CODE_CURL, (int)exchange->result, NULL, 0),
            .code = (int)exchange->result,
        };
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    exchange->answer->status = (int)status;
    const char *replayed = header_of(curl, "Idempotency-Replayed");
    exchange->answer->replayed = replayed != NULL && strcmp(replayed, "true") == 0;
    const char *wait = header_of(curl, "Retry-After");
    return lull_outcome_http((int)status, wait, wait == NULL ? 0 : strlen(wait), time(NULL), NULL,
                             0);
}

/* ---- what is wrong, said to people ---- */

static bool say_unreachable(const struct exchange *exchange, struct problem *problem) {
    const char *server = exchange->remote->server;
    const char *reason =
        exchange->error[0] != '\0' ? exchange->error : curl_easy_strerror(exchange->result);
    char text[CURL_ERROR_SIZE], time[DURATION_TEXT_SIZE];
    if (exchange->too_large)
        return problem_say(problem, "the answer of %s is too long for one of lull serve", server);
    if (exchange->result == CURLE_OPERATION_TIMEDOUT)
        return problem_say(problem, "no answer from %s within %s; --timeout gives it longer",
                           server, duration_format(exchange->remote->timeout, time));
    if (exchange->result == CURLE_COULDNT_RESOLVE_HOST)
        reason = "there is no such host";
    else if (exchange->result == CURLE_GOT_NOTHING)
        reason = "the connection was closed without an answer";
    else if (exchange->result == CURLE_COULDNT_CONNECT && exchange->system_error != 0)
        reason = strerror(exchange->system_error);
    snprintf(text, sizeof text, "%s", reason);
    if (!isupper((unsigned char)text[1])) /* not an "SSL …" */
        text[0] = (char)tolower((unsigned char)text[0]);
    return problem_say(problem,
                       "cannot reach %s: %s; is lull serve running? (--server or LULL_SERVER says "
                       "where)",
                       server, text);
}

/* Where the server says which request helps, the command that does is said instead. Gives the length
 * of what is left of the detail. */
static size_t without_request(const char *detail) {
    static const char *const requests[] = {"; GET /", "; POST /", "; PATCH /", "; ?force",
                                           "; send Authorization"};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        const char *request = strstr(detail, requests[i]);
        if (request != NULL)
            return (size_t)(request - detail);
    }
    return strlen(detail);
}

static const char *advice(const struct exchange *exchange, bool wanted) {
    static const struct {
        const char *code, *advice;
    } rows[] = {
        {"unknown_destination", "; lull dest list names those there are"},
        {"unknown_replay", "; lull dlq replays names those there are"},
        {"destination_exists", "; lull dest set changes it"},
        {"destination_disabled", "; lull dest resume makes it take events again"},
    };
    const char *code = json_string_value(json_object_get(exchange->answer->json, "code"));
    for (size_t i = 0; wanted && code != NULL && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].code, code) == 0)
            return rows[i].advice;
    if (exchange->answer->status != 401)
        return "";
    return exchange->remote->authorization == NULL ? "; give --token TOKEN, or set LULL_TOKEN"
                                                   : "; give another --token or LULL_TOKEN";
}

static bool say_refused(const struct exchange *exchange, struct problem *problem) {
    const struct remote_answer *answer = exchange->answer;
    const char *detail = json_string_value(json_object_get(answer->json, "detail"));
    const char *title = json_string_value(json_object_get(answer->json, "title"));
    const char *text = detail != NULL ? detail : title;
    char attempts[40] = "";
    if (answer->attempts > 1)
        snprintf(attempts, sizeof attempts, " (%u attempts)", answer->attempts);
    if (text == NULL)
        return problem_say(problem, "%s answered %d%s%s%s", exchange->remote->server,
                           answer->status, attempts, advice(exchange, false),
                           answer->status == 401 ? "" : "; is it a lull serve?");
    struct screen screen = screen_of(STDERR_FILENO);
    size_t length = without_request(text);
    char *safe = screen_safe(&screen, text, length, false);
    problem_say(problem, "%.380s%s%s", safe, attempts, advice(exchange, text[length] != '\0'));
    free(safe);
    return false;
}

/* ---- asking ---- */

/* The list and one field more, unless there is no value. */
static struct curl_slist *with(struct curl_slist *list, const char *name, const char *value) {
    char *line = NULL;
    if (value == NULL)
        return list;
    if (asprintf(&line, "%s%s", name, value) < 0)
        line = screen_memory(NULL);
    list = screen_memory(curl_slist_append(list, line));
    free(line);
    return list;
}

static struct curl_slist *header_list(const struct remote *remote,
                                      const struct remote_request *request) {
    struct curl_slist *list = with(NULL, "Accept: ", "application/json");
    list = with(list, "Expect:", ""); /* no round trip to ask whether a body is welcome */
    list = with(list, "", remote->authorization);
    /* With nothing after its colon, a field is left out: curl's own guess would be a form. */
    list = with(list, "Content-Type: ", request->content_type == NULL ? "" : request->content_type);
    list = with(list, "Idempotency-Key: ", request->key);
    for (size_t i = 0; i < request->header_count; i++)
        list = with(list, "", request->headers[i]);
    return list;
}

static void prepare(struct exchange *exchange, const struct remote_request *request,
                    const char *url, const struct curl_slist *headers) {
    CURL *curl = exchange->remote->curl;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); /* a destination may be called ".." */
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, USER_AGENT);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange->error);
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    if (request->body != NULL || strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body == NULL ? "" : request->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static bool judge(const struct exchange *exchange, struct problem *problem) {
    struct remote_answer *answer = exchange->answer;
    if (answer->attempts == 0)
        return problem_say(problem,
                           "%s has asked to be left alone for longer than this may take; --timeout "
                           "gives it longer",
                           exchange->remote->server);
    if (exchange->result != CURLE_OK)
        return say_unreachable(exchange, problem);
    if (answer->length > 0)
        answer->json = json_loadb(answer->body, answer->length, JSON_ALLOW_NUL, NULL);
    if (answer->status < 200 || answer->status > 299)
        return say_refused(exchange, problem);
    if (answer->json == NULL && answer->status != 204)
        return problem_say(problem, "%s answered %d, but not with JSON; is it a lull serve?",
                           exchange->remote->server, answer->status);
    return true;
}

bool remote_ask(struct remote *remote, const struct remote_request *request,
                struct remote_answer *answer, struct problem *problem) {
    struct exchange exchange = {
        .remote = remote, .answer = answer, .result = CURLE_OPERATION_TIMEDOUT};
    bool safe = strcmp(request->method, "GET") == 0 || request->key != NULL || request->repeatable;
    struct lull_run_options options = {
        .call = {.deadline = remote->timeout,
                 .idempotent = true,
                 .not_the_edge = !safe || remote->nested},
        .wait = true,
    };
    char *url = NULL;
    *answer = (struct remote_answer){0};
    if (request->path->too_long)
        return problem_say(problem, "that is too long to ask a server for");
    if (asprintf(&url, "%s%s", remote->server, request->path->text) < 0)
        url = screen_memory(NULL);
    struct curl_slist *headers = header_list(remote, request);
    prepare(&exchange, request, url, headers);
    /* The verdict is in the answer: what lull_run returns says no more. */
    (void)lull_run(&remote->guard, attempt_once, &exchange, &options, NULL);
    curl_easy_setopt(remote->curl, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(remote->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    free(url);
    return judge(&exchange, problem);
}

void remote_answer_clean_up(struct remote_answer *answer) {
    json_decref(answer->json);
    free(answer->body);
    *answer = (struct remote_answer){0};
}
