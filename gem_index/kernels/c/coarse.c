/* Inner loops of fitting: coarse vectors of sentences, and their products (docs/algorithm.md, section 3). */

#include "eigen.h"

/* Fills the matrix with S^T S of n words (n, d), d a multiple of LANES. */
static void fill_gram(const double *words, int64_t n, int64_t d, Eigen *eigen) {
    double *out = eigen->matrix, found[4];
    for (int64_t i = 0; i < n; i += 2) {
        int64_t below = smaller(i + 1, n - 1);
        for (int64_t j = 0; j <= below; j += 2) {
            int64_t beside = smaller(j + 1, n - 1);
            four_dots(words + i * d, words + below * d, words + j * d, words + beside * d, d, found);
            out[i * eigen->width + j] = out[j * eigen->width + i] = found[0];
            out[i * eigen->width + beside] = out[beside * eigen->width + i] = found[1];
            out[below * eigen->width + j] = out[j * eigen->width + below] = found[2];
            out[below * eigen->width + beside] = out[beside * eigen->width + below] = found[3];
        }
    }
}

/* Fills the matrix with S S^T of n words (n, d). */
static void fill_scatter(const double *words, int64_t n, int64_t d, Eigen *eigen) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = 0; x < eigen->n; x++) add_scaled_row(eigen->matrix + x * d, words[i * d + x], words + i * d, d);
}

/* Returns square^(twice / 2): exact steps for a whole number, so that it has the same bits on every system. */
static double half_power(double square, double twice) {
    if (twice < 0.0 || twice > 64.0 || twice != floor(twice)) return pow(square, 0.5 * twice);
    double power = (int)twice % 2 ? sqrt(square) : 1.0;
    for (int step = 0; step < (int)twice / 2; step++) power *= square;
    return power;
}

/* Fills mix (width,) with sum_j gain_j v_j over the eigenvectors of the matrix, where gain_j = values_j^(twice / 2) with the
   sign of v_j toward; toward (width,) is overwritten. Eigenvectors that are only rounding are left out. */
static void mix_eigenvectors(Eigen *eigen, double twice, double *toward, double *mix) {
    int64_t n = eigen->n, width = eigen->width;
    solve(eigen);
    to_tridiagonal(eigen, toward);
    double largest = 0.0;
    for (int64_t j = 0; j < n; j++)
        if (eigen->values[j] > largest) largest = eigen->values[j];
    memset(mix, 0, sizeof(double) * width);
    for (int64_t j = 0; j < n; j++) {
        if (eigen->values[j] <= 1e-14 * largest) continue;
        const double *vector = eigen->vectors + j * width;
        double gain = half_power(eigen->values[j], twice);
        add_scaled_row(mix, dot(vector, toward, width) >= 0.0 ? gain : -gain, vector, width);
    }
    to_original(eigen, mix);
}

/* Fills out (sentences, dimension) with g = sum_j sigma_j^power u_j (Eq. 7).

   Each left singular vector u_j points toward the sum of the sentence's words (docs/algorithm.md, section 3). Up to
   dimension words, the SVD comes from the n x n Gram matrix S^T S = V L V^T, where u_j = S v_j / sigma_j; beyond, from the
   matrix S S^T. */
int coarse_vectors(const int32_t *ids, const int64_t *offsets, int64_t sentences, const float *rows, int64_t dimension,
                   double power, double *out) {
    int64_t longest = 0, d = padded(dimension);
    for (int64_t s = 0; s < sentences; s++) longest = larger(longest, offsets[s + 1] - offsets[s]);
    int64_t most = smaller(longest, dimension);
    Memory memory = {0};
    Eigen eigen = make_eigen(most, &memory);
    double *words = numbers(&memory, longest * d), *coarse = numbers(&memory, d);
    double *toward = numbers(&memory, d), *mix = numbers(&memory, d);
    for (int64_t s = 0; s < sentences && !memory.failed; s++) {
        int64_t n = offsets[s + 1] - offsets[s];
        const int32_t *sentence = ids + offsets[s];
        double *vector = coarse;
        memset(coarse, 0, sizeof(double) * d);
        for (int64_t i = 0; i < n; i++) {
            const float *restrict row = rows + sentence[i] * dimension;
            double *restrict word = words + i * d;
            for (int64_t x = 0; x < dimension; x++) word[x] = row[x];
        }
        memset(toward, 0, sizeof(double) * d);
        set_size(&eigen, smaller(n, dimension));
        if (n > dimension) {
            fill_scatter(words, n, d, &eigen);
            for (int64_t i = 0; i < n; i++) add_scaled_row(toward, 1.0, words + i * d, d);
            mix_eigenvectors(&eigen, power, toward, coarse);
        } else if (n > 0) {
            fill_gram(words, n, d, &eigen);
            for (int64_t i = 0; i < n; i++) toward[i] = 1.0; /* the sum of the words, in terms of the words */
            mix_eigenvectors(&eigen, power - 1.0, toward, mix);
            for (int64_t i = 0; i < n; i++) add_scaled_row(coarse, mix[i], words + i * d, d);
        }
        memcpy(out + s * dimension, vector, sizeof(double) * dimension);
    }
    return release(&memory);
}

typedef int64_t Bits __attribute__((vector_size(8 * WIDTH)));

/* A sum of up to 128 products of numbers below 1 lies between 256 and 512 if it begins here, so that each addition rounds to
   a multiple of 2^-44. */
static const double SHIFT = 384.0;

/* Adds the product of a factor and a row to a sum that began at SHIFT. The last bit of each product is set: none lies half way
   between two multiples of 2^-44, where the rounding would depend on the sum. */
static inline Lanes add_rounded(Lanes sum, double factor, Lanes row) {
    for (int p = 0; p < PARTS; p++) sum.part[p] += (Vector)((Bits)(factor * row.part[p]) | 1);
    return sum;
}

/* Adds the upper triangle of rows^T rows, rows (count, dimension), to out (dimension, dimension), each product rounded to a
   multiple of 2^-44: sums of up to 128 such products are exact, and do not depend on their order. count is at most 128. */
int add_products(const double *rows, int64_t count, int64_t dimension, double *out) {
    int64_t d = padded(dimension);
    Memory memory = {0};
    double row[LANES];
    const double *wide = with_padded_rows(rows, count, dimension, &memory);
    for (int64_t x = 0; x < dimension && !memory.failed; x += 4) /* four rows of out and eight columns at a time */
        for (int64_t y = x / LANES * LANES; y < d; y += LANES) {
            Lanes sums[4];
            for (int r = 0; r < 4; r++) sums[r] = all_lanes(SHIFT);
            for (int64_t s = 0; s < count; s++) {
                const double *one = wide + s * d;
                Lanes other = load(one + y);
                for (int r = 0; r < 4; r++) sums[r] = add_rounded(sums[r], one[x + r], other);
            }
            for (int r = 0; r < 4 && x + r < dimension; r++) {
                store(row, sums[r]);
                for (int64_t l = 0; l < LANES && y + l < dimension; l++)
                    if (y + l >= x + r) out[(x + r) * dimension + y + l] += row[l] - SHIFT;
            }
        }
    return release(&memory);
}
