#include "target.h"

#include "sign.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "name: value\n" of each. */
static char *headers_text(const struct destination_settings *settings) {
    size_t size = 1;
    for (uint32_t i = 0; i < settings->header_count; i++)
        size += strlen(settings->headers[i].name) + strlen(settings->headers[i].value) + 3;
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    char *end = text;
    *end = '\0';
    for (uint32_t i = 0; i < settings->header_count; i++)
        end += sprintf(end, "%s: %s\n", settings->headers[i].name, settings->headers[i].value);
    return text;
}

static bool add_secret(struct target *target, unsigned index, const struct target_secret *secret) {
    unsigned char key[SECRET_LONGEST];
    size_t length;
    char message[1];
    target->secrets[index].until = secret->until;
    if (secret->text == NULL || secret->text[0] == '\0')
        return true;
    if (!secret_decode(secret->text, key, &length, message, sizeof message))
        return false;
    target->secrets[index].bytes = malloc(length);
    if (target->secrets[index].bytes == NULL)
        return false;
    memcpy(target->secrets[index].bytes, key, length);
    target->secrets[index].length = length;
    explicit_bzero(key, sizeof key);
    return true;
}

struct target *target_new(const struct destination_settings *settings,
                          const struct target_secret secrets[TARGET_SECRETS]) {
    struct target *target = calloc(1, sizeof *target);
    if (target == NULL)
        return NULL;
    atomic_init(&target->references, 1);
    snprintf(target->name, sizeof target->name, "%s", settings->name);
    target->url = strdup(settings->url);
    target->headers = headers_text(settings);
    target->connect_timeout = settings->guard.connect_timeout > 0 ? settings->guard.connect_timeout
                                                                  : DESTINATION_CONNECT_TIMEOUT;
    target->timeout = settings->guard.retry.attempt_timeout > 0
                          ? settings->guard.retry.attempt_timeout
                          : DESTINATION_TIMEOUT;
    bool complete = target->url != NULL && target->headers != NULL;
    for (unsigned i = 0; complete && i < TARGET_SECRETS; i++)
        complete = add_secret(target, i, &secrets[i]);
    if (complete)
        return target;
    target_release(target);
    return NULL;
}
