/* Looking up one event, or one delivery of it, in the store. */
#ifndef API_LOOK_H
#define API_LOOK_H

#include "api/route.h"

struct looking {
    struct store_get get;
    struct worker *worker;
    struct exchange *exchange;
    void (*show)(const struct looking *looking);
    void (*unknown)(struct exchange *exchange);
};

/* Then `show` answers with what was found, or `unknown` says that there is none. */
void look_up(struct call *call, int64_t id, bool is_delivery,
             void (*show)(const struct looking *looking),
             void (*unknown)(struct exchange *exchange));

#endif
