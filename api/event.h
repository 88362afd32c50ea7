/* An event as it comes in, alone or in a batch: what its parts must be, and what makes two the same. */
#ifndef API_EVENT_H
#define API_EVENT_H

#include "engine/store.h"

#define CONTENT_TYPE_LONGEST 255
#define FAN_OUT_MOST 1000 /* destinations of one event */

/* A part of a text; not terminated. NULL: not given. */
struct slice {
    const char *text;
    size_t length;
};

/* What is wrong with it, as a sentence; NULL: nothing. */
const char *event_wrong_type(struct slice type);
const char *event_wrong_key(struct slice key);
const char *event_wrong_content_type(struct slice content_type);

/* The first 64 bits of the SHA-256 of all that must be the same under one idempotency key. `destination` or `type` may be not given.
 * False: out of memory. */
bool event_fingerprint(struct slice destination, struct slice type, struct slice content_type,
                       struct slice payload, uint64_t *fingerprint);

#endif
