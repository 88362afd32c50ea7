/* What the engine has to tell people: typed, never printed here. The daemon logs it, counts it, and may post it to the operator's
 * webhook. */
#ifndef ENGINE_NEWS_H
#define ENGINE_NEWS_H

#include "store.h"

struct lane;

enum news_kind {
    NEWS_DEAD_LETTER,    /* a delivery died: id, reason, error */
    NEWS_BREAKER_OPENED, /* until `at` */
    NEWS_BREAKER_CLOSED,
    NEWS_STORM_BEGAN, /* ratio: retries per first attempt */
    NEWS_STORM_ENDED,
    NEWS_STORM_NEAR,     /* an early sign: the retry backlog grows, or too many retries a second */
    NEWS_DISABLED,       /* it answered 410 */
    NEWS_BLOCKED,        /* Retry-After moved the lane's clock to `at` */
    NEWS_RECOVERED,      /* the ramp after an outage has reached its top */
    NEWS_REPLAY_STOPPED, /* for errors: id */
    NEWS_REPLAY_DONE,    /* id */
};

struct news {
    enum news_kind kind;
    const struct lane *lane;
    int64_t id; /* of the delivery or the replay */
    enum lull_reason reason;
    const char *error; /* of the last attempt; borrowed; "" if none */
    lull_time at;
    double ratio;
};

#endif
