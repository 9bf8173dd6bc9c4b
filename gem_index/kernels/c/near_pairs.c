/* Connected components of near vectors: every pair is tested by a bound on its inner product, survivors exactly. */

#include <math.h>

#include "forest.h"
#include "sets.h"

enum {
    TILE = 128, /* vectors of a tile: at 24 numbers each they fit the first-level cache; as in near_pairs.py */
    STEP = 8,   /* numbers of a vector that are multiplied at once; a prefix holds a multiple; as in near_pairs.py */
    SKETCH = 16, /* words of 64 bits of a set's sketch; as in near_pairs.py */
};

/* Fills bounds (TILE,) with the products of column i of a tile with all columns of another. */
static void bound(const float *tile, int64_t i, const float *restrict columns, int64_t size, float *restrict bounds) {
    memset(bounds, 0, sizeof(float) * TILE);
    for (int64_t k = 0; k < size; k += STEP) {
        const float *mine = tile + k * TILE + i, *restrict theirs = columns + k * TILE;
        float a = mine[0], b = mine[TILE], c = mine[2 * TILE], d = mine[3 * TILE];
        float e = mine[4 * TILE], f = mine[5 * TILE], g = mine[6 * TILE], h = mine[7 * TILE];
        for (int j = 0; j < TILE; j++)
            bounds[j] += ((a * theirs[j] + b * theirs[j + TILE]) + (c * theirs[j + 2 * TILE] + d * theirs[j + 3 * TILE])) +
                         ((e * theirs[j + 4 * TILE] + f * theirs[j + 5 * TILE]) + (g * theirs[j + 6 * TILE] + h * theirs[j + 7 * TILE]));
    }
}

static double product_of(const float *a, const float *b, int64_t n) {
    double s[LANES] = {0};
    int64_t x = 0;
    for (; x + LANES <= n; x += LANES)
        for (int l = 0; l < LANES; l++) s[l] += (double)a[x + l] * (double)b[x + l];
    for (; x < n; x++) s[0] += (double)a[x] * (double)b[x];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* Fills sketches (count, SKETCH): bit m modulo 64 * SKETCH of a set's sketch is set for each of its members m. */
void sketch_sets(const int32_t *members, const int64_t *begins, int64_t count, uint64_t *sketches) {
    memset(sketches, 0, sizeof(uint64_t) * (size_t)(count * SKETCH));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = begins[i]; k < begins[i + 1]; k++) {
            uint32_t bit = (uint32_t)members[k] % (64 * SKETCH);
            sketches[i * SKETCH + bit / 64] |= (uint64_t)1 << bit % 64;
        }
}

/* Tells whether the Jaccard similarity of two sets reaches a threshold above 0. Each bit of the one sketch that the other
   lacks is a member that the other lacks, which excludes most pairs. */
static int overlap(const int32_t *members, const int64_t *begins, const uint64_t *sketches, int64_t x, int64_t y,
                   double threshold) {
    int64_t size_x = begins[x + 1] - begins[x], size_y = begins[y + 1] - begins[y], total = size_x + size_y;
    int64_t needed = (int64_t)ceil(threshold / (1 + threshold) * (double)total - SLACK), only_x = 0, only_y = 0;
    for (int64_t k = 0; k < SKETCH; k++) {
        uint64_t a = sketches[x * SKETCH + k], b = sketches[y * SKETCH + k];
        only_x += __builtin_popcountll(a & ~b);
        only_y += __builtin_popcountll(b & ~a);
    }
    if (smaller(size_x - only_x, size_y - only_y) < needed) return 0;
    int64_t both = shared(members + begins[x], size_x, members + begins[y], size_y, needed);
    return both > 0 && (double)both / (double)(total - both) >= threshold;
}

/* Joins each vector of the tiles first to last (not included) with the near ones of the same and later tiles; returns how many
   pairs were tested exactly.

   Column j of tile i (tiles: tile_count, size, TILE) belongs to vector i * TILE + j: numbers whose inner product is an upper
   bound of that of the vectors (count, dimension), up to slack. Columns after the last vector are zero. Vectors are near if
   their inner product reaches the threshold, which is above 0. parents (count,) is a forest over the vectors, of each thread
   its own. Vectors of different labels (count,) are not joined. If least_overlap is above 0, the sets of two joined vectors
   have at least this Jaccard similarity: set x has the members begins[x] to begins[x + 1] of members, ascending, and the
   sketch x of sketches. */
int64_t join_near(const float *tiles, int64_t tile_count, int64_t size, const float *vectors, int64_t count,
                  int64_t dimension, const int32_t *labels, double threshold, double slack, const int32_t *members,
                  const int64_t *begins, const uint64_t *sketches, double least_overlap, int64_t first, int64_t last,
                  int32_t *parents) {
    float bounds[TILE], least = (float)(threshold - slack);
    int64_t tested = 0;
    for (int64_t right = first; right < tile_count; right++)
        for (int64_t left = first; left < smaller(last, right + 1); left++)
            for (int64_t i = 0; i < smaller(TILE, count - left * TILE); i++) {
                bound(tiles + left * size * TILE, i, tiles + right * size * TILE, size, bounds);
                int near = 0;
                for (int j = 0; j < TILE; j++) near += bounds[j] >= least;
                if (!near) continue;
                int64_t x = left * TILE + i;
                for (int64_t j = left == right ? i + 1 : 0; j < smaller(TILE, count - right * TILE); j++) {
                    if (bounds[j] < least) continue;
                    int64_t y = right * TILE + j;
                    if (labels[x] != labels[y]) continue;
                    int32_t root_x = root(parents, (int32_t)x), root_y = root(parents, (int32_t)y);
                    if (root_x == root_y) continue;
                    tested++;
                    if (product_of(vectors + x * dimension, vectors + y * dimension, dimension) < threshold) continue;
                    if (least_overlap > 0 && !overlap(members, begins, sketches, x, y, least_overlap)) continue;
                    join(parents, root_x, root_y);
                }
            }
    return tested;
}

/* Joins in one forest (count,) what another over the same vectors joins; afterwards each entry is its root, the lowest. */
void merge_forest(int32_t *parents, const int32_t *other, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int32_t left = root(parents, (int32_t)i), right = root(parents, other[i]);
        if (left != right) join(parents, left, right);
    }
    for (int64_t i = 0; i < count; i++) parents[i] = root(parents, (int32_t)i);
}
