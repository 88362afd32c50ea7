#include "places.h"

int64_t places_event(struct places *places, uint32_t count, lull_time now) {
    int64_t id = now > 0 ? now / LULL_MILLISECOND * (INT64_C(1) << 20) : 1;
    if (id <= places->last_id)
        id = places->last_id + 1;
    places->last_id = id + count;
    return id;
}

lull_time places_stamp(struct places *places, lull_time now) {
    places->horizon = now > places->horizon ? now : places->horizon + 1;
    return places->horizon;
}

void places_loaded(struct places *places, lull_time until) {
    if (until > places->horizon && until != LULL_NEVER)
        places->horizon = until;
}

lull_time places_newest(const struct places *places) {
    return (places->last_id >> 20) * LULL_MILLISECOND;
}
