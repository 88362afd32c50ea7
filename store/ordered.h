/* An ordered map from pairs of numbers to pointers: a skip list. Its heights come from a generator of its own, so the same
 * calls make the same list.
 *
 *   ordered_add(&map, (struct pair){due, id}, row);
 *   for (struct ordered_node *node = ordered_after(&map, pair); node != NULL; node = node->next[0]) …
 */
#ifndef STORE_ORDERED_H
#define STORE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDERED_HEIGHT 16

struct pair {
    int64_t major, minor;
};
#define PAIR_LEAST ((struct pair){INT64_MIN, INT64_MIN})
#define PAIR_GREATEST ((struct pair){INT64_MAX, INT64_MAX})

struct ordered_node {
    struct pair pair;
    void *value;
    struct ordered_node *next[]; /* [0]: the one after it */
};

struct ordered { /* zero is an empty one */
    struct ordered_node *first[ORDERED_HEIGHT];
    uint64_t random;
    size_t count;
};

void ordered_clean_up(struct ordered *map); /* the values are the caller's */
/* The pair must not be there. False: out of memory. */
bool ordered_add(struct ordered *map, struct pair pair, void *value);
/* What was there; NULL: nothing. */
void *ordered_take(struct ordered *map, struct pair pair);
void *ordered_find(const struct ordered *map, struct pair pair);
/* The nearest after, before; NULL: none. */
struct ordered_node *ordered_after(const struct ordered *map, struct pair pair);
struct ordered_node *ordered_before(const struct ordered *map, struct pair pair);

#endif
