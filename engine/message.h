/* A message: what a producer handed over, as it is sent on. Immutable once accepted; shared by all deliveries of a
 * fan-out, which may be on several threads, so it is counted.
 *
 * One block of memory: the struct, then type, content type, headers and payload. */
#ifndef ENGINE_MESSAGE_H
#define ENGINE_MESSAGE_H

#include <lull/base.h>

#define MESSAGE_TYPE_LONGEST 255
#define MESSAGE_HEADERS_LONGEST 8192

struct message {
    LULL_ATOMIC(uint32_t) references;
    uint32_t type_length, content_type_length, headers_length;
    size_t payload_length;
    int64_t id;         /* the event's; 0 until the store has accepted it */
    lull_time accepted; /* by the store */
    char *type;         /* "" if none; each text ends with a NUL that its length does not count */
    char *content_type; /* "" if none was given */
    char *headers;      /* further fields that travel on, each "name: value\n" */
    char *payload;      /* any bytes; a NUL follows them */
};

struct message_parts {
    const char *type, *content_type, *headers, *payload;
    size_t type_length, content_type_length, headers_length, payload_length;
};

/* Copies the parts (a NULL part is empty, or, for the payload, room to be written to). One reference, the caller's. NULL: out of
 * memory. */
struct message *message_new(const struct message_parts *parts);
struct message *message_share(struct message *message); /* one more reference; returns it */
void message_release(struct message *message);          /* NULL is fine */
/* What it takes in memory. */
size_t message_size(const struct message *message);

#endif
