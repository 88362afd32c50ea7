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

static const char bearer[] = "Bearer ";

/* The token of the request; NULL: none. */
static const char *token_of(const struct exchange *exchange) {
    const char *given = exchange_header(exchange, "Authorization");
    if (given == NULL || strncasecmp(given, bearer, sizeof bearer - 1) != 0)
        return NULL;
    given += sizeof bearer - 1;
    return given + strspn(given, " ");
}

bool auth_known(const struct serve_config *config, const struct exchange *exchange) {
    const char *given = token_of(exchange);
    return config->auth.token_count == 0 || (given != NULL && is_token(config, given));
}

static bool check_token(const struct serve_config *config, struct exchange *exchange) {
    const char *given = token_of(exchange);
    if (given == NULL) {
        reply_problem_field(exchange, 401, "unauthorized", "WWW-Authenticate",
                            "Bearer realm=\"lull\"",
                            "this needs a token; send Authorization: Bearer TOKEN");
        return false;
    }
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
