/* Configurations of lull serve: any bytes are one that makes sense, or an error that can be shown and that
 * leaves nothing behind. The same bytes are then read as a request for a destination. */
#include "input.h"

#include "guard.h"
#include "serve.h"

#include <string.h>
#include <strings.h>

static void check_text(const char *text, size_t size) {
    CHECK(memchr(text, '\0', size) != NULL);
    for (; *text != '\0'; text++)
        CHECK((unsigned char)*text >= 0x20 && *text != 0x7F);
}

static void check_error(const struct reader_error *error) {
    char text[2000];
    CHECK(error->line >= 0);
    CHECK(error->message[0] != '\0');
    check_text(error->key, sizeof error->key);
    check_text(error->message, sizeof error->message);
    check_text(reader_error_format(error, text, sizeof text), sizeof text);
}

static void check_guard(const struct lull_guard_config *guard) {
    CHECK(lull_guard_check(guard, NULL) == LULL_OK);
    CHECK(guard->retry.attempt_timeout > 0);
    CHECK(guard->connect_timeout > 0 && guard->connect_timeout <= guard->retry.attempt_timeout);
    CHECK(guard->retry.deadline == LULL_NONE || guard->retry.deadline > 0);
    CHECK(guard->bulkhead.limit > 0);
    CHECK((guard->without & LULL_WITHOUT_BUCKET) != 0 ||
          (guard->bucket.rate > 0 && guard->bucket.per > 0 && guard->bucket.capacity > 0));
}

static void check_destination(const struct destination_settings *settings) {
    CHECK(settings->name[0] != '\0' && settings->name[0] != '_');
    check_text(settings->name, sizeof settings->name);
    CHECK(strncasecmp(settings->url, "http", 4) == 0);
    check_text(settings->url, sizeof settings->url);
    CHECK(settings->policy[0] != '\0');
    CHECK(settings->type_count <= DESTINATION_TYPES);
    for (uint32_t i = 0; i < settings->type_count; i++) {
        check_text(settings->types[i].pattern, sizeof settings->types[i].pattern);
        CHECK(type_matches(settings->types[i].pattern, settings->types[i].pattern));
    }
    CHECK(settings->header_count <= DESTINATION_HEADERS);
    for (uint32_t i = 0; i < settings->header_count; i++) {
        check_text(settings->headers[i].name, sizeof settings->headers[i].name);
        check_text(settings->headers[i].value, sizeof settings->headers[i].value);
        CHECK(settings->headers[i].name[0] != '\0' && settings->headers[i].value[0] != '\0');
    }
    check_text(settings->secret, sizeof settings->secret);
    CHECK(settings->has_secret || settings->secret[0] == '\0');
    check_guard(&settings->guard);
}

static void check_config(const struct serve_config *config) {
    char message[300];
    CHECK(serve_listen_check(config->listen, message, sizeof message));
    CHECK(serve_store_check(config->store, message, sizeof message));
    CHECK(serve_auth_check(config, message, sizeof message));
    CHECK(config->auth.token_count <= SERVE_TOKENS);
    for (uint32_t i = 0; i < config->auth.token_count; i++)
        CHECK(strlen(config->auth.tokens[i].text) >= SERVE_TOKEN_SHORTEST);
    CHECK((config->tls.certificate[0] != '\0') == (config->tls.key[0] != '\0'));
    CHECK(config->limits.body > 0 && config->limits.batch >= config->limits.body);
    CHECK((config->alerts.url[0] == '\0') || config->alerts.events <= 15);
    for (uint32_t i = 0; i < config->policy_count; i++) {
        CHECK(config->policies[i].name[0] != '\0' && lull_preset(config->policies[i].name) == NULL);
        check_guard(&config->policies[i].guard);
    }
    for (uint32_t i = 0; i < config->destination_count; i++) {
        check_destination(&config->destinations[i]);
        for (uint32_t j = 0; j < i; j++)
            CHECK(strcmp(config->destinations[i].name, config->destinations[j].name) != 0);
    }
}

/* `env:` and `file:` would make it depend on where it runs, and read there what it likes. */
static bool leads_elsewhere(const char *text, size_t size) {
    return memmem(text, size, "env:", 4) != NULL || memmem(text, size, "file:", 5) != NULL ||
           memchr(text, '\\', size) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct serve_config none;
    static struct serve_config config;
    static struct destination_settings settings;
    struct reader_error error;
    const char *text = (const char *)data;
    memset(&config, 0xa5, sizeof config);
    int result = LULL_EINVAL;
    if (!leads_elsewhere(text, size)) {
        result = serve_config_read_text("fuzz.yaml", text, size, &config, &error);
        if (result == LULL_OK) {
            check_config(&config);
        } else {
            CHECK(result == LULL_EINVAL);
            CHECK(memcmp(&config, &none, sizeof none) == 0);
            check_error(&error);
        }
    }
    memset(&settings, 0xa5, sizeof settings);
    if (destination_settings_read(result == LULL_OK ? &config : &none, text, size, &settings,
                                  &error) == LULL_OK)
        check_destination(&settings);
    else
        check_error(&error);
    if (result == LULL_OK)
        serve_config_clean_up(&config);
    return 0;
}
