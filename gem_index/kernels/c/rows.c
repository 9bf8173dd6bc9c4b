/* Inner loops over rows of vectors. */

#include "lanes.h"

enum { BYTES = 8 * WIDTH, COUNT = 2 * WIDTH }; /* of a register; its numbers of 32 bits */

typedef float Floats __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef int32_t Integers __attribute__((vector_size(BYTES), aligned(4), may_alias));
typedef int16_t Shorts __attribute__((vector_size(BYTES / 2), aligned(2), may_alias));

/* Fills out (count,) with the inner products of a query (dimension,) with the rows (n, dimension) at some positions.

   Each depends on its row alone, whatever else is scored with it. Rows are read where they lie: as numbers of 32 bits they
   would be written and read once more, and take the place of everything else in the processor's cache. Sixteen lanes. */
void score_rows(const int16_t *rows, const int64_t *positions, int64_t count, const float *query, int64_t dimension,
                float *out) {
    for (int64_t i = 0; i < count; i++) {
        const int16_t *row = rows + positions[i] * dimension;
        Floats sums[PARTS] = {{0}};
        int64_t x = 0;
        for (; x + 2 * LANES <= dimension; x += 2 * LANES)
            for (int p = 0; p < PARTS; p++) {
                int64_t at = x + p * COUNT;
                Integers whole = __builtin_convertvector(*(const Shorts *)(row + at), Integers);
                sums[p] += __builtin_convertvector(whole, Floats) * *(const Floats *)(query + at);
            }
        float s[2 * LANES];
        memcpy(s, sums, sizeof s);
        for (; x < dimension; x++) s[0] += query[x] * (float)row[x];
        for (int half = LANES; half; half /= 2)
            for (int l = 0; l < half; l++) s[l] += s[l + half];
        out[i] = s[0];
    }
}

/* Adds to each row i of out (words, dimension) its counts[i] rows of a table (n, dimension); rows lists them in order of i. */
void sum_rows(const float *table, const int64_t *rows, const int64_t *counts, int64_t words, int64_t dimension, float *out) {
    for (int64_t i = 0; i < words; i++) {
        float *restrict sum = out + i * dimension;
        for (int64_t piece = 0; piece < counts[i]; piece++) {
            const float *restrict row = table + *rows++ * dimension;
            for (int64_t x = 0; x < dimension; x++) sum[x] += row[x];
        }
    }
}
