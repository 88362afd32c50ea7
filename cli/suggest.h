/* "Did you mean …?" */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* How many letters must be added, removed, changed or swapped with a neighbour to make `one` the
 * `other`. Names longer than 31 letters are as far apart as can be. */
size_t edit_distance(const char *one, const char *other);

/* Keeps the nearest of the names it is shown.
 *
 *   struct suggestion best = suggestion_for("statrt");
 *   suggestion_offer(&best, "start"), suggestion_offer(&best, "stop");      best.name is "start"
 */
struct suggestion {
    const char *typed;
    const char *name; /* NULL: none is near enough to be a slip of the finger */
    size_t distance;
};

struct suggestion suggestion_for(const char *typed);
void suggestion_offer(struct suggestion *best, const char *name);

#endif
