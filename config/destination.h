/* A destination's settings: the same table reads them from the configuration file and from a request's JSON, which is YAML, too.
 *
 *   name: shop
 *   url: https://shop.example/hooks
 *   types: [order.*, refund.created]
 *   policy: webhook              a preset of the library or a policy of the file; what follows changes it
 *   attempts: 8                  also base, multiplier, cap, jitter, jitter_factor, tiers, deadline, retry_after_cap
 *   timeout: 15s                 of an attempt; also connect_timeout
 *   concurrency: 10
 *   rate: 100/s                  and burst, one second's worth if not given; `none`, as without one
 *   budget: {ratio: 0.1}         breaker: {…}, by the names of the library's fields; `none` for none
 *   headers: {X-Team: payments}
 *   secret: whsec_…              in the file also env:NAME or file:PATH, see elsewhere.h
 *
 * Where neither the destination nor its policy says so: there is no deadline; an attempt ends after DESTINATION_TIMEOUT or, if the
 * preset has a read time-out, after its connect and read time-outs; DESTINATION_CONCURRENCY attempts at once; and a connection has
 * DESTINATION_CONNECT_TIMEOUT, but no longer than the attempt.
 *
 * Nothing in an error repeats a secret.
 */
#ifndef CONFIG_DESTINATION_H
#define CONFIG_DESTINATION_H

#include "reader.h"

#include <lull/guard.h>

#define DESTINATION_POLICY "webhook"           /* the preset where none is named */
#define DESTINATION_TIMEOUT (15 * LULL_SECOND) /* of an attempt */
#define DESTINATION_CONNECT_TIMEOUT (5 * LULL_SECOND)
#define DESTINATION_CONCURRENCY 10
#define DESTINATION_TYPES 32
#define DESTINATION_HEADERS 16
#define DESTINATION_NAME_SIZE 65
#define DESTINATION_URL_SIZE 2048

struct destination_settings {
    char name[DESTINATION_NAME_SIZE]; /* a-z A-Z 0-9 . _ - , begins with a letter or digit */
    char url[DESTINATION_URL_SIZE];   /* http or https; no user, no fragment */
    struct {
        char pattern[128]; /* "order.paid", "order.*", "*" */
    } types[DESTINATION_TYPES];
    uint32_t type_count;
    struct destination_header {
        char name[64], value[512];
    } headers[DESTINATION_HEADERS];
    uint32_t header_count;
    char policy[DESTINATION_NAME_SIZE];
    struct lull_guard_config
        guard;        /* all of the above resolved; valid by lull_guard_check; timeouts filled in */
    char secret[160]; /* "": not given, or given empty */
    bool has_secret;  /* given, if only as "" */
};

/* "order.*" takes order.paid and order.paid.late, not order; "*" takes all. */
bool type_matches(const char *pattern, const char *type);

/* ---- for the tables of serve.c ---- */

/* The reader's context when destinations are read. */
struct destination_source {
    const struct serve_config *config; /* whose policies there are */
    bool elsewhere; /* secrets may be kept there: it is the operator's file, not a request */
};

extern const struct schema destination_schema;    /* of a struct destination_settings */
extern const struct schema policy_of_file_schema; /* of a struct named_policy, by serve.h */

field_read_fn destination_read_url; /* into DESTINATION_URL_SIZE bytes */

/* Into 160 bytes: a signing secret, or (if not empty) where one is kept. */
field_look_up_fn destination_look_up_secret;

#endif
