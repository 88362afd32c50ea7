/* A destination as it is shown: its settings as they were given, and how it is now. */
#ifndef API_DESTINATION_VIEW_H
#define API_DESTINATION_VIEW_H

#include "api/json.h"
#include "api/route.h"

/* NULL: out of memory. */
json_t *destination_view(struct worker *worker, const struct destination *destination);

/* Its settings alone, without the secret: one reference. NULL: out of memory. */
json_t *destination_given(const struct destination *destination);

/* "closed", "open", "half_open" */
const char *circuit_name(enum lull_breaker_state state);

/* Names of lull's own begin with '_': not for users to send to, and not listed. */
static inline bool destination_is_internal(const struct destination *destination) {
    return destination->row.name[0] == '_';
}

/* The one that the path names: one reference. NULL: answered with 404. */
struct destination *destination_named(struct call *call);

void reply_unknown_destination(struct exchange *exchange, const char *name);

#endif
