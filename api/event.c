#include "api/event.h"

#include "api/text.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

const char *event_wrong_type(struct slice type) {
    if (type.length == 0)
        return "type must not be empty; write for example order.paid";
    if (type.length > MESSAGE_TYPE_LONGEST)
        return "type is too long; at most 255 bytes are kept";
    if (!text_is_line(type.text, type.length))
        return "type must be UTF-8 without control characters";
    return NULL;
}

const char *event_wrong_key(struct slice key) {
    if (key.length == 0)
        return "the idempotency key must not be empty";
    if (key.length > IDEMPOTENCY_KEY_LONGEST)
        return "the idempotency key is too long; at most 255 bytes are kept";
    if (!text_is_line(key.text, key.length))
        return "the idempotency key must be UTF-8 without control characters";
    return NULL;
}

const char *event_wrong_content_type(struct slice content_type) {
    if (content_type.length > CONTENT_TYPE_LONGEST)
        return "the content type is too long; at most 255 bytes are sent on";
    if (!text_is_field(content_type.text, content_type.length))
        return "the content type must be printable ASCII, as it is sent on in a header field";
    return NULL;
}

/* Fetched once: looking an algorithm up costs more than running it over a small event. */
static EVP_MD *sha256;

static void fetch_sha256(void) {
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

bool event_fingerprint(struct slice destination, struct slice type, struct slice content_type,
                       struct slice payload, uint64_t *fingerprint) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct slice parts[] = {destination, type, content_type, payload};
    /* The lengths first, so that no two lists of parts are the same text. */
    const uint64_t lengths[] = {destination.length, type.length, content_type.length,
                                payload.length};
    unsigned char digest[EVP_MAX_MD_SIZE];
    pthread_once(&once, fetch_sha256);
    EVP_MD_CTX *context = sha256 != NULL ? EVP_MD_CTX_new() : NULL;
    bool fine = context != NULL && EVP_DigestInit_ex2(context, sha256, NULL) == 1 &&
                EVP_DigestUpdate(context, lengths, sizeof lengths) == 1;
    for (size_t i = 0; fine && i < sizeof parts / sizeof parts[0]; i++)
        fine =
            parts[i].length == 0 || EVP_DigestUpdate(context, parts[i].text, parts[i].length) == 1;
    fine = fine && EVP_DigestFinal_ex(context, digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    if (fine)
        memcpy(fingerprint, digest, sizeof *fingerprint);
    return fine;
}
