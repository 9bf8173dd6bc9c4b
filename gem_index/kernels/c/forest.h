/* A forest over texts: each entry is its parent, a root its own. */

#ifndef GEM_FOREST_H
#define GEM_FOREST_H

#include <stdint.h>

static inline int32_t root(int32_t *parents, int32_t i) {
    while (parents[i] != i) {
        parents[i] = parents[parents[i]]; /* halves the path */
        i = parents[i];
    }
    return i;
}

/* Joins two trees; the lower root stays, so that a root is the first of its component. */
static inline void join(int32_t *parents, int32_t i, int32_t j) {
    if (i < j)
        parents[j] = i;
    else
        parents[i] = j;
}

#endif
