/* Outages on a schedule.
 *
 *   10s+30s                     from 10 s after the start, for 30 s: connections are refused
 *   10s+30s:hang,2m+5s:error    two of them; where they overlap, the first one named counts
 *
 * With a period the schedule starts over: `10s+5s:error` every 60 s is down from 10 to 15 s,
 * from 70 to 75 s, and so on.
 */
#ifndef FLAKY_OUTAGE_H
#define FLAKY_OUTAGE_H

#include "problem.h"

#include <lull/base.h>
#include <stdio.h>

#define OUTAGE_MODE_MAP(X)                                                                         \
    X(REFUSE, "refuse")     /* nobody listens, and open connections are reset */                   \
    X(HANG, "hang")         /* no answer before the end of the outage */                           \
    X(CLOSE, "close")       /* the connection is closed without an answer */                       \
    X(RESET, "reset")       /* half an answer, then a reset */                                     \
    X(TRUNCATE, "truncate") /* half an answer, then the end */                                     \
    X(GARBAGE, "garbage")   /* bytes that are no HTTP */                                           \
    X(ERROR, "error")       /* the failure status, at once */                                      \
    X(SLOW, "slow")         /* the body comes in drops */

enum outage_mode {
    OUTAGE_NONE,
#define FLAKY_X(name, text) OUTAGE_##name,
    OUTAGE_MODE_MAP(FLAKY_X)
#undef FLAKY_X
        OUTAGE_MODE_COUNT
};

#define OUTAGE_DEFAULT_MODE OUTAGE_REFUSE

const char *outage_mode_name(enum outage_mode mode); /* "refuse"; "none" */

struct outage {
    lull_duration from;
    lull_duration length;
    enum outage_mode mode;
};

enum { OUTAGES_MOST = 64 };
struct outages {
    size_t count;
    struct outage list[OUTAGES_MOST];
};

/* Adds what `text` names to the list. */
bool outages_parse(const char *text, struct outages *outages, struct problem *problem);

/* In the form that outages_parse reads. */
void outages_print(FILE *stream, const struct outages *outages);

/* When the last one is over. */
lull_duration outages_end(const struct outages *outages);

struct outage_state {
    enum outage_mode mode; /* OUTAGE_NONE: all is well */
    lull_duration change;  /* nothing begins or ends before; LULL_NEVER: or ever again */
};

/* How things are `elapsed` after the schedule's start. `every`: its period, 0: it does not start
 * over. */
struct outage_state outages_at(const struct outages *outages, lull_duration every,
                               lull_duration elapsed);

#endif
