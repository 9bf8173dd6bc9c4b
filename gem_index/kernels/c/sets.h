/* Sets as ascending lists of numbers: what two of them have in common. */

#ifndef GEM_SETS_H
#define GEM_SETS_H

#include "lanes.h"

static const double SLACK = 1e-9; /* above the rounding of a product: a bound may be too low, never too high */

/* Returns how many numbers two ascending lists have in common, or 0 once these cannot be as many as needed. */
static inline int64_t shared(const int32_t *a, int64_t a_size, const int32_t *b, int64_t b_size, int64_t needed) {
    int64_t i = 0, j = 0, count = 0;
    while (i < a_size && j < b_size) {
        if (count + smaller(a_size - i, b_size - j) < needed) return 0;
        int32_t left = a[i], right = b[j];
        count += left == right;
        i += left <= right;
        j += right <= left;
    }
    return count;
}

#endif
