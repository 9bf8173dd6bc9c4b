/* A sentence's directions, and its vector from the weights of its words (docs/algorithm.md, section 4).

   Every result depends on the sentence alone, never on its neighbours in a batch. */

#include <math.h>

#include "lanes.h"

/* Share of a squared length below which the remainder is only rounding. */
static const double NOTHING_LEFT = 1e-12;

static void widen(const float *restrict row, int64_t dimension, double *restrict out) {
    for (int64_t x = 0; x < dimension; x++) out[x] = row[x];
}

/* Fills out (words, count) with the inner products of words' vectors (words, dimension) with directions (count, dimension). */
int project(const float *rows, int64_t words, int64_t dimension, const double *directions, int64_t count, double *out) {
    int64_t d = padded(dimension);
    Memory memory = {0};
    double *pair = numbers(&memory, 2 * d), found[4];
    const double *wide = with_padded_rows(directions, count, dimension, &memory);
    for (int64_t i = 0; i < words && !memory.failed; i += 2) { /* two words with two directions: each is read half as often */
        int64_t other = smaller(i + 1, words - 1);
        widen(rows + i * dimension, dimension, pair);
        widen(rows + other * dimension, dimension, pair + d);
        for (int64_t k = 0; k < count; k += 2) {
            int64_t next = smaller(k + 1, count - 1);
            four_dots(pair, pair + d, wide + k * d, wide + next * d, d, found);
            out[i * count + k] = found[0];
            out[i * count + next] = found[1];
            out[other * count + k] = found[2];
            out[other * count + next] = found[3];
        }
    }
    return release(&memory);
}

/* Fills selected (sentences, count) with the directions of the largest o_k, best first (Eq. 8; ties: smaller k first).
   plain_ranking ranks only by ||S^T d_k|| (preset cqa). */
int select_directions(const Sentences *batch, const double *sigma, bool plain_ranking, int64_t count, int64_t *selected) {
    int64_t directions = batch->directions;
    Memory memory = {0};
    double *restrict scores = numbers(&memory, directions);
    for (int64_t s = 0; s < batch->sentences && !memory.failed; s++) {
        memset(scores, 0, sizeof(double) * directions);
        for (int64_t i = batch->offsets[s]; i < batch->offsets[s + 1]; i++) {
            const double *restrict row = batch->projections + batch->ids[i] * directions;
            for (int64_t k = 0; k < directions; k++) scores[k] += row[k] * row[k];
        }
        for (int64_t k = 0; k < directions && !plain_ranking; k++) scores[k] *= sigma[k] * sigma[k];
        for (int64_t place = 0; place < count; place++) {
            int64_t best = 0;
            for (int64_t k = 1; k < directions; k++)
                if (scores[k] > scores[best]) best = k;
            selected[s * count + place] = best;
            scores[best] = -1.0;
        }
    }
    return release(&memory);
}

/* c -= a direction, for one direction of float32. */
static void subtract(double *restrict c, double a, const float *restrict direction, int64_t dimension) {
    for (int64_t x = 0; x < dimension; x++) c[x] -= a * direction[x];
}

/* Fills out (sentences, dimension) with unit vectors: weighted sums minus a share of their projections on directions.

   alpha (tokens,) holds the words' weights, removed (sentences, count) the directions that are removed (Eq. 11). */
int compose_sentences(const Sentences *batch, const double *alpha, const float *directions, const int64_t *removed,
                      int64_t count, double share, float *out) {
    int64_t dimension = batch->dimension, d = padded(dimension);
    Memory memory = {0};
    double *restrict c = numbers(&memory, d), *restrict along = numbers(&memory, count);
    for (int64_t s = 0; s < batch->sentences && !memory.failed; s++) {
        const int64_t *mine = removed + s * count;
        memset(c, 0, sizeof(double) * d);
        memset(along, 0, sizeof(double) * count);
        for (int64_t i = batch->offsets[s]; i < batch->offsets[s + 1]; i++) {
            const float *restrict row = batch->rows + batch->ids[i] * dimension;
            const double *projection = batch->projections + batch->ids[i] * batch->directions;
            double weight = alpha[i];
            for (int64_t x = 0; x < dimension; x++) c[x] += weight * row[x];
            for (int64_t place = 0; place < count; place++) along[place] += weight * projection[mine[place]];
        }
        double before = dot(c, c, d);
        int64_t place = 0;
        for (; place + 3 < count; place += 4) { /* four directions at a time, so that c is read and written less often */
            const float *restrict v = directions + mine[place] * dimension, *restrict w = directions + mine[place + 1] * dimension;
            const float *restrict y = directions + mine[place + 2] * dimension, *restrict z = directions + mine[place + 3] * dimension;
            double av = share * along[place], aw = share * along[place + 1];
            double ay = share * along[place + 2], az = share * along[place + 3];
            for (int64_t x = 0; x < dimension; x++) c[x] -= (av * v[x] + aw * w[x]) + (ay * y[x] + az * z[x]);
        }
        for (; place < count; place++) subtract(c, share * along[place], directions + mine[place] * dimension, dimension);
        double after = dot(c, c, d);
        /* if only rounding is left of the sentence, the zero vector and not a random direction */
        double scale = after <= NOTHING_LEFT * before ? 0.0 : 1.0 / sqrt(after);
        for (int64_t x = 0; x < dimension; x++) out[s * dimension + x] = (float)(c[x] * scale);
    }
    return release(&memory);
}
