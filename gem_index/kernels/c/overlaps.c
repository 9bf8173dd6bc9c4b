/* Connected components of sets with a high Jaccard similarity: a shared rare member proposes a pair, the sets decide. */

#include <math.h>

#include "forest.h"
#include "sets.h"

/* Returns the first position from begin to end whose value is at least a value; the values ascend. */
static int64_t lower_bound(const int32_t *values, int64_t begin, int64_t end, int64_t value) {
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (values[middle] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Joins each set of the ranks first to last (not included) with the similar ones of lower ranks.

   Set x has the members begins[x] to begins[x + 1] of members, ascending, the rarest first. order (count,) has the sets by
   ascending size, sizes (count,) their sizes in this order. List m, from list_begins[m] to list_begins[m + 1] of lists, has
   the ranks of the sets with m in their prefix, ascending, and places the position of m in each: two sets with a Jaccard
   similarity of at least the threshold have a member of both prefixes. Before the first such member they have nothing in
   common, so the numbers of members after it bound the similarity. Sets of different labels are not joined. parents and seen (count,), which begins with -1, are
   of each thread its own. */
void join_overlapping(const int32_t *members, const int64_t *begins, const int32_t *order, const int32_t *sizes, int64_t count,
                      const int32_t *labels, const int64_t *list_begins, const int32_t *lists, const int32_t *places,
                      double threshold, int64_t first, int64_t last, int32_t *parents, int32_t *seen) {
    for (int64_t rank = first; rank < last; rank++) {
        int64_t size = sizes[rank], x = order[rank];
        if (!size) continue;
        int64_t least = (int64_t)ceil(threshold * (double)size - SLACK);
        if (least < 1) least = 1;
        int64_t lowest = lower_bound(sizes, 0, count, least);
        const int32_t *mine = members + begins[x];
        for (int64_t k = 0; k <= size - least; k++) {
            int64_t end = list_begins[mine[k] + 1];
            for (int64_t i = lower_bound(lists, list_begins[mine[k]], end, lowest); i < end; i++) {
                int32_t other = lists[i];
                if (other >= rank) break;
                if (seen[other] == rank) continue;
                seen[other] = (int32_t)rank;
                int64_t y = order[other], total = size + sizes[other];
                if (labels[x] != labels[y]) continue;
                int64_t needed = (int64_t)ceil(threshold / (1 + threshold) * (double)total - SLACK);
                int64_t left = size - k, right = sizes[other] - places[i];
                if (smaller(left, right) < needed) continue;
                int32_t root_x = root(parents, (int32_t)x), root_y = root(parents, (int32_t)y);
                if (root_x == root_y) continue;
                int64_t both = shared(mine + k, left, members + begins[y] + places[i], right, needed);
                if ((double)both / (double)(total - both) >= threshold) join(parents, root_x, root_y);
            }
        }
    }
}
