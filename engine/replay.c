#include "replay.h"

void replay_pace_init(struct replay_pace *pace, double rate, lull_time now) {
    *pace = (struct replay_pace){.rate = rate, .minute_began = now, .next = now};
}

static void begin_minute(struct replay_pace *pace, lull_time now) {
    pace->minute_began = now;
    pace->succeeded = pace->failed = 0;
}

/* Judges a minute that is over. */
static void judge(struct replay_pace *pace, lull_time now) {
    if (now - pace->minute_began < LULL_MINUTE)
        return;
    uint64_t ended = pace->succeeded + pace->failed;
    if (ended > 0 && (double)pace->failed > REPLAY_ERRORS_SLOWER * (double)ended)
        pace->rate = pace->rate / REPLAY_GROWTH > REPLAY_SLOWEST ? pace->rate / REPLAY_GROWTH
                                                                 : REPLAY_SLOWEST;
    else if (ended > 0 && pace->failed == 0)
        pace->rate = pace->rate * REPLAY_GROWTH < REPLAY_FASTEST ? pace->rate * REPLAY_GROWTH
                                                                 : REPLAY_FASTEST;
    begin_minute(pace, now);
}

void replay_pace_hold(struct replay_pace *pace) {
    pace->held = true;
}

uint32_t replay_pace_step(struct replay_pace *pace, lull_time now) {
    if (pace->held) {
        begin_minute(pace, now);
        pace->held = false;
        pace->owed = 0;
        pace->next = now > pace->next ? now : pace->next;
    }
    judge(pace, now);
    if (now < pace->next)
        return 0;
    lull_duration interval = (lull_duration)((double)LULL_MINUTE / pace->rate);
    if (interval >= REPLAY_TICK) {
        pace->owed = 0;
        pace->next = now + interval;
        return 1;
    }
    pace->next = now + REPLAY_TICK;
    pace->owed += pace->rate * (double)REPLAY_TICK / (double)LULL_MINUTE;
    uint32_t whole = (uint32_t)pace->owed;
    pace->owed -= whole;
    return whole;
}

bool replay_pace_outcome(struct replay_pace *pace, bool succeeded, lull_time now) {
    judge(pace, now);
    if (succeeded)
        pace->succeeded++;
    else
        pace->failed++;
    uint64_t ended = pace->succeeded + pace->failed;
    return ended < REPLAY_STOP_AT_LEAST ||
           (double)pace->failed <= REPLAY_ERRORS_STOP * (double)ended;
}
