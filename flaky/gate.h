/* The way into a server of limited capacity: who may start, who waits in line, who is turned
 * away.
 *
 * Two limits, alone or together: no more than `capacity` requests start per second, evenly
 * spaced, and no more than `workers` are served at once. Who cannot start waits, first come
 * first served, if fewer than `queue` wait already.
 *
 *   capacity 10/s, queue 2, four requests at t = 0:
 *       the first starts, the second starts at 100 ms, the third at 200 ms, and the fourth is
 *       turned away at once.
 *   workers 2, each request taking 100 ms: 20 requests a second; the rest as above.
 *
 * The gate counts; the line itself belongs to the caller.
 */
#ifndef FLAKY_GATE_H
#define FLAKY_GATE_H

#include <lull/base.h>

struct gate_limits {
    double capacity;  /* starts per second; 0: any number */
    uint64_t workers; /* served at once; 0: any number */
    uint64_t queue;   /* waiting */
};

#define GATE_QUEUE 100 /* the default of `queue` */

struct gate { /* all zero: nobody there */
    uint64_t waiting;
    uint64_t serving;
    lull_time next_start; /* by the pace */
};

enum gate_answer {
    GATE_START, /* in; gate_leave is due when it is over */
    GATE_WAIT,  /* in line; gate_next lets it in */
    GATE_FULL,  /* turned away */
};

enum gate_answer gate_arrive(struct gate *gate, const struct gate_limits *limits, lull_time now);

/* May the first in line start now? If so, it is in. */
bool gate_next(struct gate *gate, const struct gate_limits *limits, lull_time now);

/* When to ask gate_next again: LULL_NEVER if nobody waits, or if first a worker must become
 * free. */
lull_time gate_opens(const struct gate *gate, const struct gate_limits *limits);

/* One in line has left it. */
void gate_quit(struct gate *gate);

/* One that was let in is over. */
void gate_leave(struct gate *gate);

#endif
