/* Eigenvectors of a symmetric matrix, without LAPACK.

   LAPACK starts threads of its own inside ours, which then wait for one another, and its last bits depend on how many there
   are. This is Householder's tridiagonal form and the implicit QL iteration (Dubrulle, Martin and Wilkinson, "The implicit QL
   algorithm", Numerische Mathematik 12, 1968): one thread, one order of operations. */

#ifndef GEM_EIGEN_H
#define GEM_EIGEN_H

#include <math.h>

#include "lanes.h"

static const double EPSILON = 2.220446049250313e-16;

/* Lengths below it are taken for zero: the square of one may underflow, and the inverse of that is infinite. The matrix of a
   sentence that repeats few words has such lengths, as each reflection leaves rounding of the one before. */
static const double NEGLIGIBLE = 1e-150;

enum { MOST_ROUNDS = 60 }; /* for one eigenvalue; two or three are usual */

/* A symmetric matrix A = H T H^T, and the eigenvectors of T; n is at most that of make_eigen. */
typedef struct {
    int64_t n, width; /* width: of a row, n padded to LANES */
    double *matrix;   /* (n, width) first A; then row k holds reflection k in the columns after k, and zeros */
    double *vectors;  /* (n, width) row j is the eigenvector of T that belongs to values[j] */
    double *values;   /* (n,) in no order */
    double *beside;   /* (n,) T's elements beside the diagonal */
    double *factors;  /* (n,) reflection k is I - factors[k] r r^T */
    double *product, *reflection; /* (width,) */
    double *sines, *cosines;      /* (n,) of the rotations of one sweep */
} Eigen;

static Eigen make_eigen(int64_t n, Memory *memory) {
    int64_t width = padded(n);
    return (Eigen){.matrix = numbers(memory, n * width),
                   .vectors = numbers(memory, n * width),
                   .values = numbers(memory, n),
                   .beside = numbers(memory, n),
                   .factors = numbers(memory, n),
                   .product = numbers(memory, width),
                   .reflection = numbers(memory, width),
                   .sines = numbers(memory, n),
                   .cosines = numbers(memory, n)};
}

/* Makes the matrix one of n rows, all zero. */
static void set_size(Eigen *eigen, int64_t n) {
    eigen->n = n;
    eigen->width = padded(n);
    memset(eigen->matrix, 0, sizeof(double) * n * eigen->width);
}

/* Reduces the matrix to tridiagonal form: values and beside are its diagonals. */
static void make_tridiagonal(Eigen *eigen) {
    int64_t n = eigen->n, width = eigen->width;
    double *matrix = eigen->matrix, *product = eigen->product, *reflection = eigen->reflection;
    memset(eigen->factors, 0, sizeof(double) * n);
    memset(eigen->beside, 0, sizeof(double) * n);
    for (int64_t k = 0; k + 2 < n; k++) {
        /* the row after the diagonal becomes the vector of a reflection, and stays in its place */
        double *row = matrix + k * width;
        int64_t begin = (k + 1) / LANES * LANES; /* what lies between begin and k + 1 is multiplied by zeros */
        memset(reflection, 0, sizeof(double) * width);
        memset(product, 0, sizeof(double) * width);
        memcpy(reflection + k + 1, row + k + 1, sizeof(double) * (n - k - 1));
        double length = sqrt(dot(reflection + begin, reflection + begin, width - begin));
        double first = reflection[k + 1];
        eigen->values[k] = row[k];
        if (length > NEGLIGIBLE) {
            eigen->beside[k] = first >= 0.0 ? -length : length;
            reflection[k + 1] = first - eigen->beside[k];
            double factor = 1.0 / (length * (length + fabs(first))), along = 0.0;
            eigen->factors[k] = factor;
            for (int64_t i = k + 1; i < n; i++) {
                product[i] = factor * dot(matrix + i * width + begin, reflection + begin, width - begin);
                along += product[i] * reflection[i];
            }
            add_scaled_row(product + begin, -0.5 * factor * along, reflection + begin, width - begin);
            for (int64_t i = k + 1; i < n; i++) {
                double *other = matrix + i * width, a = -reflection[i], b = -product[i];
                for (int64_t j = begin; j < width; j += LANES) {
                    Lanes sum = add_scaled(load(other + j), a, load(product + j));
                    store(other + j, add_scaled(sum, b, load(reflection + j)));
                }
            }
        }
        memcpy(row, reflection, sizeof(double) * width);
    }
    if (n > 1) {
        eigen->values[n - 2] = matrix[(n - 2) * width + n - 2];
        eigen->beside[n - 2] = matrix[(n - 2) * width + n - 1];
    }
    eigen->values[n - 1] = matrix[(n - 1) * width + n - 1];
}

/* Applies the rotations of a sweep to the rows high, high - 1, ..., end of the vectors. */
static void rotate(Eigen *eigen, int64_t high, int64_t end) {
    int64_t width = eigen->width;
    for (int64_t b = 0; b < width; b += LANES) {
        double *column = eigen->vectors + b;
        Lanes carried = load(column + high * width);
        for (int64_t i = high - 1; i >= end; i--) {
            Lanes row = load(column + i * width), zero = {{{0}}};
            double sine = eigen->sines[i], cosine = eigen->cosines[i];
            store(column + (i + 1) * width, add_scaled(add_scaled(zero, sine, row), cosine, carried));
            carried = add_scaled(add_scaled(zero, cosine, row), -sine, carried);
        }
        store(column + end * width, carried);
    }
}

/* One sweep of the implicit QL iteration over the rows low to high of the tridiagonal form. */
static void sweep(Eigen *eigen, int64_t low, int64_t high) {
    double *values = eigen->values, *beside = eigen->beside;
    double shift = (values[low + 1] - values[low]) / (2.0 * beside[low]);
    double root = sqrt(shift * shift + 1.0);
    double g = values[high] - values[low] + beside[low] / (shift + (shift >= 0.0 ? root : -root));
    double sine = 1.0, cosine = 1.0, moved = 0.0;
    int64_t i = high - 1;
    for (; i >= low; i--) {
        double f = sine * beside[i], b = cosine * beside[i];
        double r = sqrt(f * f + g * g);
        beside[i + 1] = r;
        if (r <= NEGLIGIBLE) { /* the form falls into two parts */
            beside[i + 1] = 0.0;
            values[i + 1] -= moved;
            break;
        }
        double inverse = 1.0 / r;
        sine = f * inverse, cosine = g * inverse;
        g = values[i + 1] - moved;
        r = (values[i] - g) * sine + 2.0 * cosine * b;
        moved = sine * r;
        values[i + 1] = g + moved;
        g = cosine * r - b;
        eigen->sines[i] = sine, eigen->cosines[i] = cosine;
    }
    if (i < low) {
        values[low] -= moved;
        beside[low] = g;
    }
    beside[high] = 0.0;
    if (i + 1 < high) rotate(eigen, high, i + 1);
}

/* Fills values, and vectors with the eigenvectors of the tridiagonal form. */
static void solve(Eigen *eigen) {
    int64_t n = eigen->n, width = eigen->width;
    const double *values = eigen->values, *beside = eigen->beside;
    make_tridiagonal(eigen);
    memset(eigen->vectors, 0, sizeof(double) * n * width);
    for (int64_t i = 0; i < n; i++) eigen->vectors[i * width + i] = 1.0;
    for (int64_t low = 0; low < n; low++)
        for (int round = 0; round < MOST_ROUNDS; round++) {
            int64_t high = low;
            while (high < n - 1 && fabs(beside[high]) > EPSILON * (fabs(values[high]) + fabs(values[high + 1]))) high++;
            if (high == low) break;
            sweep(eigen, low, high);
        }
}

static void reflect(const Eigen *eigen, int64_t k, double *vector) {
    int64_t begin = (k + 1) / LANES * LANES, length = eigen->width - begin;
    const double *reflection = eigen->matrix + k * eigen->width + begin;
    add_scaled_row(vector + begin, -eigen->factors[k] * dot(reflection, vector + begin, length), reflection, length);
}

/* Turns a vector (width,) from the space of T into that of A: H x. */
static inline void to_original(const Eigen *eigen, double *vector) {
    for (int64_t k = eigen->n - 3; k >= 0; k--) reflect(eigen, k, vector);
}

/* Turns a vector (width,) from the space of A into that of T: H^T x. */
static inline void to_tridiagonal(const Eigen *eigen, double *vector) {
    for (int64_t k = 0; k + 2 < eigen->n; k++) reflect(eigen, k, vector);
}

#endif
