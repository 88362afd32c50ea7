/* What a request says: the fields of its head, as a list that libcurl borrows.
 *
 * Most of it is the same for all requests to a target, and is prepared once; the rest is written into the request's own memory, which is used again
 * for the next one. */
#ifndef NET_CLIENT_REQUEST_H
#define NET_CLIENT_REQUEST_H

#include "id.h"
#include "sign.h"
#include "transport.h"

#include <curl/curl.h>

/* Ours that a target may have its own of. */
enum { FIELD_CONTENT_TYPE, FIELD_USER_AGENT, FIELD_KEY, FIELD_ATTEMPT, FIELD_DEADLINE };

/* A target's part. In its transport_data, made when it is first used. */
struct prepared {
    uint64_t
        serial; /* differs between targets, even those that get the memory of one that is gone */
    CURLU *url; /* parsed: libcurl would do so for each request */
    struct curl_slist *fixed; /* the target's own fields */
    uint32_t overridden;      /* 1 << FIELD_…: fields that the target has its own of */
    struct signer *signers[TARGET_SECRETS];
};

/* NULL: out of memory. */
struct prepared *prepared_of(struct target *target);

#define OWN_SIZE                                                                                   \
    (sizeof "webhook-id: " + sizeof "webhook-timestamp: " + sizeof "webhook-signature:" +          \
     sizeof "User-Agent: lull/" LULL_VERSION + sizeof "Idempotency-Key: " +                        \
     sizeof "Lull-Attempt: " + sizeof "Lull-Deadline-Ms: " + 2 * ID_TEXT_SIZE + 3 * 21 +           \
     TARGET_SECRETS * SIGNATURE_SIZE + 2 * 8)

struct request {
    /* Our own fields, with line ends between them: to libcurl they are one, which spares it going through them again and again. */
    struct curl_slist own;
    char own_text[OWN_SIZE];
    char *further; /* the message's fields: first a list of them, then their texts */
    size_t further_size;
};

/* Writes the fields and gives the list. It holds until the next one. NULL: out of memory. */
struct curl_slist *request_fields(struct request *request, struct prepared *prepared,
                                  const struct attempt *attempt, lull_duration timeout,
                                  lull_time wall);
void request_clean_up(struct request *request);

#endif
