/* Replay: dead letters go back to their lane through a pace.
 *
 *   100 a minute at first; twice as many after a clean minute; half as many after a minute with more than 10 % errors; stopped when more
 *   than 50 % of at least 10 attempts of a minute have failed. A minute with some errors, but no more than 10 %, changes nothing; nor does
 *   one in which nothing came back.
 *
 *   rate 100: one letter every 600 ms. rate 6,400: above 600 a minute they go ten times a second, 10 or 11 at a time.
 *
 * While the lane does not run (circuit open, Retry-After, paused) nothing is moved and the minute begins anew afterwards. Pure: says what to
 * do; the lane asks the store. */
#ifndef ENGINE_REPLAY_H
#define ENGINE_REPLAY_H

#include <lull/base.h>

#define REPLAY_RATE 100.0       /* letters a minute, at first */
#define REPLAY_SLOWEST 1.0      /* halving ends here */
#define REPLAY_FASTEST 600000.0 /* doubling ends here */
#define REPLAY_GROWTH 2.0
#define REPLAY_ERRORS_SLOWER 0.1 /* more than this: halved */
#define REPLAY_ERRORS_STOP 0.5   /* more than this: stopped */
#define REPLAY_STOP_AT_LEAST 10  /* attempts of a minute, to decide that */
#define REPLAY_TICK (100 * LULL_MILLISECOND)

struct replay_pace {
    double rate; /* letters a minute */
    lull_time minute_began;
    uint64_t succeeded, failed; /* attempts, this minute */
    lull_time next;             /* the next letters are due */
    double owed;                /* fractions of letters, at ten steps a second */
    bool held;                  /* the lane did not run when asked last */
};

/* Starts, or goes on after a restart, at `rate`. */
void replay_pace_init(struct replay_pace *pace, double rate, lull_time now);
/* How many letters to move now; 0: none before pace->next. Moves the clock of the pace. */
uint32_t replay_pace_step(struct replay_pace *pace, lull_time now);
/* The lane does not run. */
void replay_pace_hold(struct replay_pace *pace);
/* An attempt of a replayed letter ended. False: too many have failed, stop. */
bool replay_pace_outcome(struct replay_pace *pace, bool succeeded, lull_time now);

#endif
