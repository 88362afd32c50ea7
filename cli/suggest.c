#include "suggest.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 31 };

static size_t least(size_t one, size_t other) {
    return one < other ? one : other;
}

size_t edit_distance(const char *one, const char *other) {
    size_t rows = strlen(one), columns = strlen(other);
    size_t cost[LONGEST + 1][LONGEST + 1];
    if (rows > LONGEST || columns > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= rows; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            size_t change = cost[i - 1][j - 1] + (one[i - 1] != other[j - 1]);
            cost[i][j] = least(change, least(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[rows][columns];
}

struct suggestion suggestion_for(const char *typed) {
    /* One slip in three letters is a slip; more is another word. */
    return (struct suggestion){.typed = typed, .distance = strlen(typed) / 3 + 1};
}

void suggestion_offer(struct suggestion *best, const char *name) {
    size_t distance = edit_distance(best->typed, name);
    if (distance < best->distance || (best->name == NULL && distance == best->distance)) {
        best->name = name;
        best->distance = distance;
    }
}
