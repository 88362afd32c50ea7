/* Signing as Standard Webhooks has it (standardwebhooks.com), so that a receiver can use any of its libraries:
 *
 *   webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek
 *   webhook-timestamp: 1614265330
 *   webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
 *
 * where the signature is the HMAC-SHA256 of "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}", body and all, under the key that
 * the secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw holds in base64. While a secret is being changed there are two signatures, with a blank
 * between them. */
#ifndef NET_SIGN_H
#define NET_SIGN_H

#include <lull/base.h>

#define SECRET_PREFIX "whsec_"
#define SECRET_SHORTEST 24  /* bytes of the key, as the specification has it */
#define SECRET_LONGEST 64   /* the same */
#define SECRET_GENERATED 24 /* the same */
#define SECRET_TEXT_SIZE 96 /* of the longest, NUL included */
#define SIGNATURE_SIZE 48   /* "v1," and 44 characters, NUL included */

/* A new secret from the kernel's random numbers. LULL_ESYSTEM: it has none. */
LULL_MUST_USE int secret_generate(char text[SECRET_TEXT_SIZE]);

/* The key of a secret. False: `message` (of `size` bytes) says what is wrong with it, to be read after the name of a setting, without repeating
 * it; `key` may have been written to. */
bool secret_decode(const char *text, unsigned char key[SECRET_LONGEST], size_t *length,
                   char *message, size_t size);

/* A key made ready. For one thread at a time. */
struct signer;

struct signer *signer_new(const unsigned char *key,
                          size_t length);   /* copied; NULL: out of memory */
void signer_destroy(struct signer *signer); /* NULL is fine */
/* "v1,…" of a message. False: out of memory. */
LULL_MUST_USE bool signer_sign(struct signer *signer, const char *id, int64_t timestamp,
                               const void *payload, size_t length, char signature[SIGNATURE_SIZE]);

#endif
