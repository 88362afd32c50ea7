#include "api/auth.h"

#include "api/reply.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#define TOKEN_SIZE sizeof((struct serve_config *)0)->auth.tokens[0].text

/* Every token is compared in full, padded to the same length: how long it takes tells nothing about any of them. */
static bool is_token(const struct serve_config *config, const char *given) {
    char padded[TOKEN_SIZE] = {0}, token[TOKEN_SIZE];
    size_t length = strlen(given);
    bool found = false;
    if (length == 0 || length >= sizeof padded)
        return false;
    memcpy(padded, given, length);
    for (uint32_t i = 0; i < config->auth.token_count; i++) {
        const char *text = config->auth.tokens[i].text;
        memset(token, 0, sizeof token);
        memcpy(token, text, strnlen(text, sizeof token - 1));
        found |= CRYPTO_memcmp(padded, token, sizeof token) == 0;
    }
    return found;
}

static bool check_token(const struct serve_config *config, struct exchange *exchange) {
    static const char scheme[] = "Bearer ";
    const char *given = exchange_header(exchange, "Authorization");
    if (given == NULL || strncasecmp(given, scheme, sizeof scheme - 1) != 0) {
        reply_problem_field(exchange, 401, "unauthorized", "WWW-Authenticate",
                            "Bearer realm=\"lull\"",
                            "this needs a token; send Authorization: Bearer TOKEN");
        return false;
    }
    given += sizeof scheme - 1;
    given += strspn(given, " ");
    if (is_token(config, given))
        return true;
    reply_problem_field(exchange, 401, "unauthorized", "WWW-Authenticate",
                        "Bearer realm=\"lull\", error=\"invalid_token\"",
                        "this token is not one of auth.tokens");
    return false;
}

/* A page's Origin is "http://HOST" of its own server. */
static bool is_own(const char *origin, const char *host) {
    const char *after = strstr(origin, "://");
    return after != NULL && host != NULL && strcasecmp(after + 3, host) == 0;
}

static bool check_origin(struct exchange *exchange) {
    const char *method = exchange_method(exchange);
    const char *origin = exchange_header(exchange, "Origin");
    if (origin == NULL || strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
        is_own(origin, exchange_header(exchange, "Host")))
        return true;
    reply_problem(exchange, 403, "cross_origin",
                  "a page of another site must not ask this; with auth.tokens set it could, with a "
                  "token");
    return false;
}

bool auth_check(const struct serve_config *config, struct exchange *exchange) {
    return config->auth.token_count > 0 ? check_token(config, exchange) : check_origin(exchange);
}
