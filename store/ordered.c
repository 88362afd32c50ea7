#include "ordered.h"

#include <stdlib.h>

static bool less(struct pair a, struct pair b) {
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

static bool equal(struct pair a, struct pair b) {
    return a.major == b.major && a.minor == b.minor;
}

/* For each height the link that leads to the first node that is not less; returns the nearest that is less. */
static struct ordered_node *descend(const struct ordered *map, struct pair pair,
                                    struct ordered_node **links[ORDERED_HEIGHT]) {
    struct ordered_node *node = NULL;
    for (int height = ORDERED_HEIGHT - 1; height >= 0; height--) {
        struct ordered_node **link =
            node == NULL ? (struct ordered_node **)&map->first[height] : &node->next[height];
        while (*link != NULL && less((*link)->pair, pair)) {
            node = *link;
            link = &node->next[height];
        }
        links[height] = link;
    }
    return node;
}

/* One in four is higher by one. */
static int next_height(struct ordered *map) {
    map->random = map->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int height = 1;
    for (uint64_t bits = map->random >> 32; (bits & 3) == 0 && height < ORDERED_HEIGHT; bits >>= 2)
        height++;
    return height;
}

bool ordered_add(struct ordered *map, struct pair pair, void *value) {
    struct ordered_node **links[ORDERED_HEIGHT];
    int height = next_height(map);
    struct ordered_node *node =
        calloc(1, sizeof *node + (size_t)height * sizeof(struct ordered_node *));
    if (node == NULL)
        return false;
    descend(map, pair, links);
    node->pair = pair;
    node->value = value;
    int i = 0;
    do {
        node->next[i] = *links[i];
        *links[i] = node;
    } while (++i < height);
    map->count++;
    return true;
}

void *ordered_take(struct ordered *map, struct pair pair) {
    struct ordered_node **links[ORDERED_HEIGHT];
    descend(map, pair, links);
    struct ordered_node *node = *links[0];
    if (node == NULL || !equal(node->pair, pair))
        return NULL;
    for (int i = 0; i < ORDERED_HEIGHT && *links[i] == node; i++)
        *links[i] = node->next[i];
    void *value = node->value;
    free(node);
    map->count--;
    return value;
}

void *ordered_find(const struct ordered *map, struct pair pair) {
    struct ordered_node **links[ORDERED_HEIGHT];
    descend(map, pair, links);
    return *links[0] != NULL && equal((*links[0])->pair, pair) ? (*links[0])->value : NULL;
}

struct ordered_node *ordered_after(const struct ordered *map, struct pair pair) {
    struct ordered_node **links[ORDERED_HEIGHT];
    descend(map, pair, links);
    struct ordered_node *node = *links[0];
    return node != NULL && equal(node->pair, pair) ? node->next[0] : node;
}

struct ordered_node *ordered_before(const struct ordered *map, struct pair pair) {
    struct ordered_node **links[ORDERED_HEIGHT];
    return descend(map, pair, links);
}

void ordered_clean_up(struct ordered *map) {
    for (struct ordered_node *node = map->first[0], *next; node != NULL; node = next) {
        next = node->next[0];
        free(node);
    }
    *map = (struct ordered){0};
}
