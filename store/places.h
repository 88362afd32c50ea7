/* Ids and places, given out so that each comes after all before it, whatever the wall clock does.
 *
 * An event's id is the millisecond of its acceptance, shifted by 20 bits, or one more than the last id,
 * whichever is greater; its deliveries take the ids that follow. So ids sort by time, and a million of
 * them fit in a millisecond before they run ahead of the clock.
 *
 *   now = 5 ms, last = 7            an event of 2 deliveries: 5 << 20, (5 << 20) + 1, (5 << 20) + 2
 *   the next at the same time:      (5 << 20) + 3
 *
 * A place's due time is now, or one nanosecond past the horizon: past all that was given or loaded. */
#ifndef STORE_PLACES_H
#define STORE_PLACES_H

#include "store.h"

struct places {
    int64_t last_id;   /* given */
    lull_time horizon; /* given, or loaded up to */
};

/* Room for an event and `count` deliveries. */
int64_t places_event(struct places *places, uint32_t count, lull_time now);
/* When the last id was given, to the millisecond; 0: none was. */
lull_time places_newest(const struct places *places);
lull_time places_stamp(struct places *places, lull_time now);
/* A FRESH stream was read up to `until`. (RETRY streams do not matter: nothing is accepted into them.) A
 * reader who says LULL_NEVER must remember the last row instead. */
void places_loaded(struct places *places, lull_time until);

#endif
