#include "sign.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DIGEST_SIZE 32
#define STRINGIFY(number) #number
#define TEXT_OF(number) STRINGIFY(number)

int secret_generate(char text[SECRET_TEXT_SIZE]) {
    unsigned char key[SECRET_GENERATED];
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return LULL_ESYSTEM;
    EVP_EncodeBlock((unsigned char *)stpcpy(text, SECRET_PREFIX), key, sizeof key);
    explicit_bzero(key, sizeof key);
    return LULL_OK;
}

static bool wrong(char *message, size_t size, const char *text) {
    if (size > 0)
        snprintf(message, size, "%s", text);
    return false;
}

/* The value of a digit of base64; -1: it is none. */
static int digit_value(char digit) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = memchr(digits, digit, sizeof digits - 1);
    return at != NULL ? (int)(at - digits) : -1;
}

/* Strict, unlike OpenSSL's, which skips blanks and takes what is cut off: false if it is no base64, padding and all. What does not fit is only
 * counted. */
static bool decode(const char *text, unsigned char *bytes, size_t room, size_t *length) {
    size_t characters = strlen(text), padding = 0;
    while (padding < 2 && padding < characters && text[characters - 1 - padding] == '=')
        padding++;
    if (characters % 4 != 0)
        return false;
    *length = 0;
    uint32_t word = 0;
    for (size_t i = 0; i < characters - padding; i++) {
        int value = digit_value(text[i]);
        if (value < 0)
            return false;
        word = word << 6 | (uint32_t)value;
        if (i % 4 == 0)
            continue;
        unsigned spare = 6 - 2 * (unsigned)(i % 4); /* bits that belong to the next byte */
        if (*length < room)
            bytes[*length] = (unsigned char)(word >> spare);
        ++*length;
    }
    /* Bits that belong to no byte are zero, or two texts would be the same key. */
    return padding == 0 || (word & (padding == 2 ? 0xfU : 0x3U)) == 0;
}

bool secret_decode(const char *text, unsigned char key[SECRET_LONGEST], size_t *length,
                   char *message, size_t size) {
    size_t prefix = strlen(SECRET_PREFIX);
    if (strncmp(text, SECRET_PREFIX, prefix) != 0)
        return wrong(message, size, "must begin with " SECRET_PREFIX);
    if (!decode(text + prefix, key, SECRET_LONGEST, length))
        return wrong(message, size,
                     "must be base64 after " SECRET_PREFIX
                     ", padded with = to a multiple of 4 characters");
    if (*length >= SECRET_SHORTEST && *length <= SECRET_LONGEST)
        return true;
    char sentence[120];
    snprintf(sentence, sizeof sentence,
             "holds a key of %zu bytes; it must be " TEXT_OF(SECRET_SHORTEST) " to " TEXT_OF(
                 SECRET_LONGEST),
             *length);
    return wrong(message, size, sentence);
}

/* Fetching the algorithm and setting up the key takes several times as long as hashing half a kilobyte; starting again under the same key is
 * all but free. */
struct signer {
    EVP_MAC_CTX *context;
};

struct signer *signer_new(const unsigned char *key, size_t length) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    struct signer *signer = malloc(sizeof *signer);
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac); /* the context has its own reference */
    if (signer == NULL || context == NULL || !EVP_MAC_init(context, key, length, parameters)) {
        EVP_MAC_CTX_free(context);
        free(signer);
        return NULL;
    }
    signer->context = context;
    return signer;
}

void signer_destroy(struct signer *signer) {
    if (signer == NULL)
        return;
    EVP_MAC_CTX_free(signer->context);
    free(signer);
}

bool signer_sign(struct signer *signer, const char *id, int64_t timestamp, const void *payload,
                 size_t length, char signature[SIGNATURE_SIZE]) {
    char stamp[32];
    int stamp_length = snprintf(stamp, sizeof stamp, ".%lld.", (long long)timestamp);
    unsigned char digest[DIGEST_SIZE];
    size_t digest_length = 0;
    EVP_MAC_CTX *context = signer->context;
    if (!EVP_MAC_init(context, NULL, 0, NULL) ||
        !EVP_MAC_update(context, (const unsigned char *)id, strlen(id)) ||
        !EVP_MAC_update(context, (const unsigned char *)stamp, (size_t)stamp_length) ||
        !EVP_MAC_update(context, payload, length) ||
        !EVP_MAC_final(context, digest, &digest_length, sizeof digest))
        return false;
    EVP_EncodeBlock((unsigned char *)stpcpy(signature, "v1,"), digest, sizeof digest);
    return true;
}
