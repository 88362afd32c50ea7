#include "gate.h"

/* A loop that wakes up late may let those in line start as they should have, but makes up for no
 * more than this: a line that waited for workers must not burst past the pace afterwards. */
#define CATCH_UP (10 * LULL_MILLISECOND)

static lull_time later(lull_time one, lull_time other) {
    return one > other ? one : other;
}

static bool workers_busy(const struct gate *gate, const struct gate_limits *limits) {
    return limits->workers > 0 && gate->serving >= limits->workers;
}

static bool closed(const struct gate *gate, const struct gate_limits *limits, lull_time now) {
    return workers_busy(gate, limits) || (limits->capacity > 0 && gate->next_start > now);
}

/* `moment`: the start by the pace, which may be a little in the past. */
static void start(struct gate *gate, const struct gate_limits *limits, lull_time moment) {
    gate->serving++;
    if (limits->capacity > 0)
        gate->next_start = moment + (lull_duration)((double)LULL_SECOND / limits->capacity + 0.5);
}

enum gate_answer gate_arrive(struct gate *gate, const struct gate_limits *limits, lull_time now) {
    if (gate->waiting == 0 && !closed(gate, limits, now)) {
        start(gate, limits, now);
        return GATE_START;
    }
    if (gate->waiting >= limits->queue)
        return GATE_FULL;
    gate->waiting++;
    return GATE_WAIT;
}

bool gate_next(struct gate *gate, const struct gate_limits *limits, lull_time now) {
    if (gate->waiting == 0 || closed(gate, limits, now))
        return false;
    gate->waiting--;
    start(gate, limits, later(gate->next_start, now - CATCH_UP));
    return true;
}

lull_time gate_opens(const struct gate *gate, const struct gate_limits *limits) {
    if (gate->waiting == 0 || workers_busy(gate, limits))
        return LULL_NEVER;
    return limits->capacity > 0 ? gate->next_start : 0;
}

void gate_quit(struct gate *gate) {
    gate->waiting--;
}

void gate_leave(struct gate *gate) {
    gate->serving--;
}
