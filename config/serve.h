/* The configuration of `lull serve`: etc/lull.yaml shows all of it, docs/configuration.md explains it.
 *
 *   struct serve_config config;
 *   struct reader_error error;
 *   if (serve_config_read("lull.yaml", &config, &error) != LULL_OK)
 *       complain("%s", reader_error_format(&error, text, sizeof text));
 *
 *           lull.yaml:12: destinations[0].policy: there is no policy "webhok"; did you mean webhook? There are …
 */
#ifndef CONFIG_SERVE_H
#define CONFIG_SERVE_H

#include "destination.h"

#include <netinet/in.h>

#define SERVE_LISTEN "127.0.0.1:8080"
#define SERVE_STORE "sqlite:lull.db"
#define SERVE_FILE_LONGEST (8 * 1024 * 1024) /* bytes: 10,000 destinations of 800 each */
#define SERVE_DESTINATIONS 10000             /* in a file; the HTTP interface takes more */
#define SERVE_POLICIES 1000
#define SERVE_TOKENS 32
#define SERVE_TOKEN_SHORTEST 16
#define SERVE_CIDRS 64
#define SERVE_BODY_MAX (INT64_C(1) << 20)
#define SERVE_BATCH_MAX (INT64_C(16) << 20)
#define SERVE_CONNECTIONS 10000
#define SERVE_IDLE (60 * LULL_SECOND)
#define SERVE_REQUEST (30 * LULL_SECOND)
#define SERVE_RETENTION (7 * LULL_DAY)
#define SERVE_PATIENCE (20 * LULL_SECOND)

struct cidr {
    bool v6;
    unsigned char address[16]; /* network order; the first 4 bytes for v4 */
    uint8_t bits;
};

struct named_policy {
    char name[DESTINATION_NAME_SIZE];
    struct lull_guard_config guard;
};

enum alert_kind { ALERT_DEAD_LETTER = 1, ALERT_STORM = 2, ALERT_BREAKER = 4, ALERT_DISABLED = 8 };

struct serve_config {
    char listen[300];
    char store[1024];
    uint32_t workers; /* 0: as many as there are cores, at most 8 */
    struct {
        struct {
            char text[256];
        } tokens[SERVE_TOKENS];
        uint32_t token_count;
        bool open;
    } auth;
    struct {
        char certificate[1024], key[1024]; /* files; "": no TLS */
    } tls;
    struct {
        int64_t body, batch;
        uint32_t connections; /* per worker */
        lull_duration idle, request;
    } limits;
    struct cidr allow[SERVE_CIDRS]; /* addresses.allow: private ones that may be called */
    uint32_t allow_count;
    char ca_file
        [1024]; /* addresses.ca_file: authorities trusted instead of the system's; "": the system's */
    lull_duration retention; /* retention.delivered */
    lull_duration patience;  /* shutdown.patience: for attempts under way */
    struct {
        char url[DESTINATION_URL_SIZE];
        char secret[160];
        uint32_t events; /* enum alert_kind; all if not given */
    } alerts;
    uint32_t log_level;            /* 0 error, 1 warn, 2 info, 3 debug */
    struct named_policy *policies; /* on the heap */
    uint32_t policy_count;
    struct destination_settings *destinations; /* on the heap */
    uint32_t destination_count;
};

/* All that can be written, for those who hold the documents to it. */
extern const struct schema serve_schema;

/* Reads the file (NULL: all defaults). LULL_OK; else the error says file, line and key, and nothing needs cleaning up. */
LULL_MUST_USE int serve_config_read(const char *file, struct serve_config *config,
                                    struct reader_error *error);
/* The same from text; for tests and the fuzzer. */
LULL_MUST_USE int serve_config_read_text(const char *file, const char *text, size_t length,
                                         struct serve_config *config, struct reader_error *error);
void serve_config_clean_up(struct serve_config *config);

/* What flags may have changed since it was read. False: not so, and `message` says why and how to mend it. */
bool serve_listen_check(const char *address, char *message, size_t size); /* ADDR:PORT */
bool serve_store_check(const char *url, char *message, size_t size);      /* sqlite:PATH */
/* Whoever can reach `listen` can use it: if that is not this machine alone, there are tokens, or auth.open says that it is meant. */
bool serve_auth_check(const struct serve_config *config, char *message, size_t size);

/* Reads one destination from JSON (already checked to be JSON, and an object) under the policies of `config`. Errors have no file and no line: their
 * key and message are for a problem body. */
LULL_MUST_USE int destination_settings_read(const struct serve_config *config, const char *json,
                                            size_t length, struct destination_settings *settings,
                                            struct reader_error *error);

#endif
