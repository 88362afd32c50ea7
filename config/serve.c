#include "serve.h"

#include "address.h"
#include "elsewhere.h"
#include "words.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__attribute__((format(printf, 3, 4))) static bool say(char *message, size_t size,
                                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- where it listens ---- */

#define LISTEN_FORMS "write ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080"

/* The host of "host:port" or "[host]:port"; "" for ":port". False if it is neither. */
static bool take_host(const char *address, char host[300]) {
    const char *port = strrchr(address, ':');
    if (port == NULL || strlen(address) >= 300)
        return false;
    bool brackets = address[0] == '[';
    size_t length = (size_t)(port - address);
    if (brackets && (length < 3 || port[-1] != ']'))
        return false;
    snprintf(host, 300, "%.*s", (int)(brackets ? length - 2 : length),
             brackets ? address + 1 : address);
    struct in6_addr v6;
    if (brackets)
        return inet_pton(AF_INET6, host, &v6) == 1;
    return host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")] ==
           '\0';
}

static bool is_port(const char *text) {
    size_t length = strlen(text);
    return length > 0 && length <= 5 && text[strspn(text, "0123456789")] == '\0' &&
           strtoul(text, NULL, 10) <= 65535;
}

bool serve_listen_check(const char *address, char *message, size_t size) {
    char host[300], quoted[QUOTE_SIZE];
    if (!take_host(address, host) || !is_port(strrchr(address, ':') + 1))
        return say(message, size, "%s is not an address to listen on; " LISTEN_FORMS,
                   quote(address, quoted));
    return true;
}

/* Only this machine can reach it. */
static bool is_loopback(const char *address) {
    char host[300];
    struct in_addr v4;
    struct in6_addr v6;
    if (!take_host(address, host))
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

bool serve_auth_check(const struct serve_config *config, char *message, size_t size) {
    if (config->auth.token_count > 0 || config->auth.open || is_loopback(config->listen))
        return true;
    return say(
        message, size,
        "others could reach %.100s, and there are no tokens; add some to auth.tokens, listen "
        "on 127.0.0.1, or write auth: {open: true} if anybody may use it",
        config->listen);
}

bool serve_store_check(const char *url, char *message, size_t size) {
    char quoted[QUOTE_SIZE];
    if (strncmp(url, "sqlite:", 7) == 0 && url[7] != '\0')
        return true;
    return say(message, size, "%s is not a store; write for example " SERVE_STORE,
               quote(url, quoted));
}

/* ---- values ---- */

static bool keep(const char *text, char *member, size_t room, char *message, size_t size) {
    if (strlen(text) >= room)
        return say(message, size, "is %zu bytes long; at most %zu are kept", strlen(text),
                   room - 1);
    for (const char *at = text; *at != '\0'; at++)
        if (control_character(at) > 0)
            return say(message, size, "has a control character in it; remove it");
    memset(member, 0, room);
    snprintf(member, room, "%s", text);
    return true;
}

static bool read_listen(const char *text, void *member, char *message, size_t size) {
    return serve_listen_check(text, message, size) &&
           keep(text, member, sizeof((struct serve_config *)0)->listen, message, size);
}

static bool read_store(const char *text, void *member, char *message, size_t size) {
    return serve_store_check(text, message, size) &&
           keep(text, member, sizeof((struct serve_config *)0)->store, message, size);
}

static bool read_cidr(const char *text, void *member, char *message, size_t size) {
    char quoted[QUOTE_SIZE];
    return cidr_parse(text, member) || say(message, size,
                                           "%s is not a range of addresses; write for example "
                                           "10.0.0.0/8, fd00::/8 or 192.168.1.7",
                                           quote(text, quoted));
}

/* Whatever is wrong with it, it is not shown. */
static bool look_up_token(struct reader *reader, const char *text, void *member) {
    char *token = member, message[READER_MESSAGE_SIZE];
    if (!elsewhere_read(text, token, sizeof((struct serve_config *)0)->auth.tokens[0].text, message,
                        sizeof message))
        return reader_wrong(reader, "", "%s", message);
    for (const char *at = token; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return reader_wrong(reader, "",
                                "has a blank or a letter that is not ASCII; a token has neither");
    if (strlen(token) < SERVE_TOKEN_SHORTEST)
        return reader_wrong(reader, "",
                            "is too short to be a secret; it must have at least %d characters",
                            SERVE_TOKEN_SHORTEST);
    return true;
}

/* ---- tables ---- */

#define CONFIG(member) PLACE(struct serve_config, member)

static const struct field token_entry = {
    .kind = FIELD_LOOKUP,
    .size = sizeof((struct serve_config *)0)->auth.tokens[0],
    .look_up = look_up_token,
};
static const struct field auth_fields[] = {
    {"tokens", FIELD_LIST, CONFIG(auth.tokens), .entry = &token_entry,
     .count = offsetof(struct serve_config, auth.token_count)},
    {"open", FIELD_FLAG, CONFIG(auth.open)},
};
static const struct schema auth_schema = SCHEMA(struct serve_config, auth_fields);

static bool check_tls(struct reader *reader, void *object) {
    const struct serve_config *config = object;
    const char *key = config->tls.certificate[0] == '\0' ? "certificate" : "key";
    if (config->tls.certificate[0] != '\0' && config->tls.key[0] != '\0')
        return true;
    return reader_wrong(reader, key, "%s; TLS needs a certificate and a key",
                        reader_given(reader, key) ? "must not be empty" : "is missing");
}
static const struct field tls_fields[] = {
    {"certificate", FIELD_TEXT, CONFIG(tls.certificate)},
    {"key", FIELD_TEXT, CONFIG(tls.key)},
};
static const struct schema tls_schema =
    SCHEMA_WITH(struct serve_config, tls_fields, NULL, check_tls);

static bool check_limits(struct reader *reader, void *object) {
    const struct serve_config *config = object;
    if (config->limits.batch < config->limits.body)
        return reader_wrong(reader, reader_given(reader, "batch") ? "batch" : "body",
                            "the body of a batch would be smaller than that of one event; raise "
                            "batch or lower body");
    return true;
}
static const struct field limit_fields[] = {
    {"body", FIELD_SIZE, CONFIG(limits.body), .lowest = 1024, .highest = INT64_C(1) << 30},
    {"batch", FIELD_SIZE, CONFIG(limits.batch), .lowest = 1024, .highest = INT64_C(1) << 30},
    {"connections", FIELD_INTEGER, CONFIG(limits.connections), .lowest = 1, .highest = 1000000},
    {"idle", FIELD_DURATION, CONFIG(limits.idle), .lowest = LULL_SECOND, .highest = LULL_DAY},
    {"request", FIELD_DURATION, CONFIG(limits.request), .lowest = LULL_SECOND,
     .highest = LULL_HOUR},
};
static const struct schema limit_schema =
    SCHEMA_WITH(struct serve_config, limit_fields, NULL, check_limits);

static const struct field cidr_entry = {
    .kind = FIELD_CUSTOM, .size = sizeof(struct cidr), .read = read_cidr};
static const struct field address_fields[] = {
    {"allow", FIELD_LIST, CONFIG(allow), .entry = &cidr_entry,
     .count = offsetof(struct serve_config, allow_count)},
    {"ca_file", FIELD_TEXT, CONFIG(ca_file)},
};
static const struct schema address_schema = SCHEMA(struct serve_config, address_fields);

static const struct field retention_fields[] = {
    {"delivered", FIELD_DURATION, CONFIG(retention), .lowest = LULL_MINUTE,
     .highest = 3650 * LULL_DAY},
};
static const struct schema retention_schema = SCHEMA(struct serve_config, retention_fields);

static const struct field shutdown_fields[] = {
    {"patience", FIELD_DURATION, CONFIG(patience), .highest = LULL_HOUR},
};
static const struct schema shutdown_schema = SCHEMA(struct serve_config, shutdown_fields);

static const struct choice alert_kinds[] = {
    {"dead_letter", ALERT_DEAD_LETTER},
    {"storm", ALERT_STORM},
    {"breaker", ALERT_BREAKER},
    {"disabled", ALERT_DISABLED},
    {NULL, 0},
};
static bool check_alerts(struct reader *reader, void *object) {
    struct serve_config *config = object;
    if (!reader_given(reader, "events"))
        config->alerts.events = ALERT_DEAD_LETTER | ALERT_STORM | ALERT_BREAKER | ALERT_DISABLED;
    return true;
}
static const struct field alert_fields[] = {
    {"url", FIELD_CUSTOM, CONFIG(alerts.url), .required = true, .read = destination_read_url},
    {"secret", FIELD_LOOKUP, CONFIG(alerts.secret), .look_up = destination_look_up_secret},
    {"events", FIELD_SET, CONFIG(alerts.events), .choices = alert_kinds},
};
static const struct schema alert_schema =
    SCHEMA_WITH(struct serve_config, alert_fields, NULL, check_alerts);

static const struct choice log_levels[] = {
    {"error", 0}, {"warn", 1}, {"info", 2}, {"debug", 3}, {NULL, 0}};

static const struct field policy_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct named_policy), .schema = &policy_of_file_schema};
static const struct field destination_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct destination_settings), .schema = &destination_schema};

/* Policies come before the destinations that name them. */
static const struct field serve_fields[] = {
    {"listen", FIELD_CUSTOM, CONFIG(listen), .read = read_listen},
    {"store", FIELD_CUSTOM, CONFIG(store), .read = read_store},
    {"workers", FIELD_INTEGER, CONFIG(workers), .highest = 64},
    {"auth", FIELD_MAP, .schema = &auth_schema},
    {"tls", FIELD_MAP, .schema = &tls_schema},
    {"limits", FIELD_MAP, .schema = &limit_schema},
    {"addresses", FIELD_MAP, .schema = &address_schema},
    {"retention", FIELD_MAP, .schema = &retention_schema},
    {"shutdown", FIELD_MAP, .schema = &shutdown_schema},
    {"alerts", FIELD_MAP, .schema = &alert_schema},
    {"log_level", FIELD_CHOICE, CONFIG(log_level), .choices = log_levels},
    {"policies", FIELD_HEAP_LIST, .offset = offsetof(struct serve_config, policies),
     .entry = &policy_entry, .highest = SERVE_POLICIES,
     .count = offsetof(struct serve_config, policy_count)},
    {"destinations", FIELD_HEAP_LIST, .offset = offsetof(struct serve_config, destinations),
     .entry = &destination_entry, .highest = SERVE_DESTINATIONS,
     .count = offsetof(struct serve_config, destination_count)},
};

/* ---- all of it together ---- */

static void prepare_serve(void *object) {
    struct serve_config *config = object;
    *config = (struct serve_config){
        .listen = SERVE_LISTEN,
        .store = SERVE_STORE,
        .limits = {.body = SERVE_BODY_MAX,
                   .batch = SERVE_BATCH_MAX,
                   .connections = SERVE_CONNECTIONS,
                   .idle = SERVE_IDLE,
                   .request = SERVE_REQUEST},
        .retention = SERVE_RETENTION,
        .patience = SERVE_PATIENCE,
        .log_level = 2,
    };
}

/* A list of structs that begin with their names. */
struct named_list {
    const char *key, *noun;
    const char *first;
    size_t size, count;
};

/* Of equal names the one that stands first comes first: addresses within an array tell. */
static int compare_names(const void *one, const void *other) {
    const char *a = *(const char *const *)one, *b = *(const char *const *)other;
    int order = strcmp(a, b);
    return order != 0 ? order : (a > b) - (a < b);
}

/* The first entry of the list whose name was there before, and that one; false if there is none. */
static bool find_twin(const struct named_list *list, const char **names, size_t *entry,
                      size_t *before) {
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->first + i * list->size;
    qsort((void *)names, list->count, sizeof names[0], compare_names);
    *entry = list->count;
    for (size_t i = 1; i < list->count; i++) {
        size_t place = (size_t)(names[i] - list->first) / list->size;
        if (strcmp(names[i - 1], names[i]) != 0 || place >= *entry)
            continue;
        *entry = place;
        *before = (size_t)(names[i - 1] - list->first) / list->size;
    }
    return *entry < list->count;
}

static bool check_unique(struct reader *reader, const struct named_list *list) {
    if (list->count < 2)
        return true;
    const char **names = calloc(list->count, sizeof names[0]);
    if (names == NULL)
        return reader_wrong(reader, list->key, "there is not enough memory to read it");
    size_t entry, before = 0;
    bool twins = find_twin(list, names, &entry, &before);
    free((void *)names);
    if (!twins)
        return true;
    char key[48], other[48];
    snprintf(key, sizeof key, "%s[%zu].name", list->key, entry);
    snprintf(other, sizeof other, "%s[%zu].name", list->key, before);
    return reader_wrong(reader, key, "%s is the name of the %s in line %d already",
                        list->first + entry * list->size, list->noun, reader_line(reader, other));
}

static bool check_serve(struct reader *reader, void *object) {
    const struct serve_config *config = object;
    char message[READER_MESSAGE_SIZE];
    const struct named_list policies = {"policies", "policy", (const char *)config->policies,
                                        sizeof config->policies[0], config->policy_count};
    const struct named_list destinations = {
        "destinations", "destination", (const char *)config->destinations,
        sizeof config->destinations[0], config->destination_count};
    if (!serve_auth_check(config, message, sizeof message))
        return reader_wrong(reader, "listen", "%s", message);
    return check_unique(reader, &policies) && check_unique(reader, &destinations);
}

const struct schema serve_schema =
    SCHEMA_WITH(struct serve_config, serve_fields, prepare_serve, check_serve);

/* The policies that destinations may name are those of the configuration being read. */
#define SOURCE(of) (&(const struct destination_source){.config = (of), .elsewhere = true})
#define READING(of) (&(const struct reading){.context = SOURCE(of), .longest = SERVE_FILE_LONGEST})

int serve_config_read(const char *file, struct serve_config *config, struct reader_error *error) {
    if (file != NULL)
        return reader_read_file_as(READING(config), file, &serve_schema, config, error);
    *error = (struct reader_error){0};
    prepare_serve(config);
    return LULL_OK;
}

int serve_config_read_text(const char *file, const char *text, size_t length,
                           struct serve_config *config, struct reader_error *error) {
    return reader_read_text_as(READING(config), file, text, length, &serve_schema, config, error);
}

void serve_config_clean_up(struct serve_config *config) {
    free(config->policies);
    free(config->destinations);
    *config = (struct serve_config){0};
}
