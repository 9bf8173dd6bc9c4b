/* The weights of words in windows of nearly dependent vectors: slower than sliding, as exact as a QR factorisation.

   For each word, the Gram matrix of its window is factored by Cholesky with v_i last. The rounding error is about 1e-16
   divided by the smallest squared residual, so nearly singular windows are orthogonalised from the vectors themselves:
   Gram-Schmidt with column pivoting. One pass is enough: a second one changed no weight by more than its rounding. */

#ifndef GEM_CAREFUL_H
#define GEM_CAREFUL_H

#include "window.h"

/* A residual of at most this share of its vector counts as zero (docs/algorithm.md, section 4). */
static const double RANK_TOLERANCE = 1e-6;

/* If the determinant of the Gram matrix of unit vectors is at most this, Gram-Schmidt is used. The determinant is a lower
   bound of each vector's squared residual against all others, and so limits the rounding error of the Cholesky factor. */
static const double SINGULAR_BELOW = 1e-8;

/* What is known of the window of one word. */
typedef struct {
    int64_t width;    /* of a row of projections: count, padded to LANES */
    int64_t size;     /* words in context */
    int64_t *context; /* (most,) distinct nonzero words of the window, without v_i */
    double *factor;   /* (most, most) Cholesky factor of their Gram matrix */
    double *shares;   /* (most,) coefficients of v_i in terms of them */
    double *basis;    /* (most, dimension) orthonormal vectors of their span, then unit vectors minus their projections on these */
    double *aligned;  /* (most, width) the projections of the rows of basis as in Window.aligned */
    double *residual; /* (dimension,) the part of v_i outside the span */
    double *query;    /* (width,) the projections of the residual */
} Careful;

static Careful make_careful(const Window *window, Memory *memory) {
    Careful careful = {.width = padded(window->count)};
    careful.context = integers(memory, window->most);
    careful.factor = numbers(memory, window->most * window->most);
    careful.shares = numbers(memory, window->most);
    careful.basis = numbers(memory, window->most * window->dimension);
    careful.aligned = numbers(memory, window->most * careful.width);
    careful.residual = numbers(memory, window->dimension);
    careful.query = numbers(memory, careful.width);
    return careful;
}

/* Fills context with the words of low..high except i, each once and without zero vectors. */
static void find_context(const int32_t *sentence, int64_t i, int64_t low, int64_t high, const Window *window, Careful *careful) {
    careful->size = 0;
    for (int64_t j = low; j < high; j++) {
        bool known = j == i || *gram_of(window, j, j) == 0.0;
        for (int64_t a = 0; a < careful->size; a++) known |= sentence[careful->context[a]] == sentence[j];
        if (!known) careful->context[careful->size++] = j;
    }
}

static void copy_projections(double *out, double scale, int64_t i, const Window *window) {
    for (int64_t k = 0; k < window->count; k++) out[k] = scale * window->aligned[i * window->count + k];
}

/* Returns r, the distance of v_i to the span of its context, and fills query; -1 if too inexact. */
static double residual_by_cholesky(int64_t i, const Window *window, Careful *careful) {
    int64_t most = window->most, size = careful->size;
    double *factor = careful->factor, *shares = careful->shares, pivot = 0.0, volume = 1.0;
    for (int64_t place = 0; place <= size; place++) {
        int64_t word = place == size ? i : careful->context[place];
        double norm = *gram_of(window, word, word), *row = factor + place * most;
        pivot = norm;
        for (int64_t a = 0; a < place; a++) {
            int64_t other = careful->context[a];
            double value = *gram_of(window, smaller(word, other), larger(word, other));
            for (int64_t b = 0; b < a; b++) value -= row[b] * factor[a * most + b];
            row[a] = value / factor[a * most + a];
            pivot -= row[a] * row[a];
        }
        volume *= pivot / norm;
        if (volume <= SINGULAR_BELOW) return -1.0;
        if (place < size) row[place] = sqrt(pivot);
    }
    const double *last = factor + size * most;
    for (int64_t a = size - 1; a >= 0; a--) { /* L^T shares = the last row of L */
        shares[a] = last[a];
        for (int64_t b = a + 1; b < size; b++) shares[a] -= factor[b * most + a] * shares[b];
        shares[a] /= factor[a * most + a];
    }
    copy_projections(careful->query, 1.0, i, window);
    for (int64_t a = 0; a < size; a++)
        for (int64_t k = 0; k < window->count; k++)
            careful->query[k] -= shares[a] * window->aligned[careful->context[a] * window->count + k];
    return sqrt(pivot);
}

static void exchange_rows(double *a, double *b, int64_t n) {
    for (int64_t x = 0; x < n; x++) {
        double kept = a[x];
        a[x] = b[x];
        b[x] = kept;
    }
}

/* Returns r and fills query from the vectors themselves; the longest remaining context vector goes first. */
static double residual_by_gram_schmidt(int64_t i, const Window *window, Careful *careful) {
    int64_t d = window->dimension, width = careful->width, size = careful->size, rank = 0;
    double *basis = careful->basis, *aligned = careful->aligned;
    for (int64_t a = 0; a < size; a++) {
        int64_t word = careful->context[a];
        double scale = 1.0 / sqrt(*gram_of(window, word, word));
        for (int64_t x = 0; x < d; x++) basis[a * d + x] = scale * word_of(window, word)[x];
        copy_projections(aligned + a * width, scale, word, window);
    }
    for (; rank < size; rank++) {
        int64_t best = rank;
        double most = 0.0, *row = basis + rank * d, *projections = aligned + rank * width;
        for (int64_t a = rank; a < size; a++) {
            double left = dot(basis + a * d, basis + a * d, d);
            if (left > most) best = a, most = left;
        }
        if (most <= RANK_TOLERANCE * RANK_TOLERANCE) break;
        if (best != rank) {
            exchange_rows(row, basis + best * d, d);
            exchange_rows(projections, aligned + best * width, width);
        }
        double scale = 1.0 / sqrt(dot(row, row, d));
        for (int64_t x = 0; x < d; x++) row[x] *= scale;
        for (int64_t k = 0; k < width; k++) projections[k] *= scale;
        for (int64_t a = rank + 1; a < size; a++) {
            double along = dot(basis + a * d, row, d);
            add_scaled_row(basis + a * d, -along, row, d);
            add_scaled_row(aligned + a * width, -along, projections, width);
        }
    }
    memcpy(careful->residual, word_of(window, i), sizeof(double) * d);
    copy_projections(careful->query, 1.0, i, window);
    for (int64_t a = 0; a < rank; a++) {
        double along = dot(careful->residual, basis + a * d, d);
        add_scaled_row(careful->residual, -along, basis + a * d, d);
        add_scaled_row(careful->query, -along, aligned + a * width, width);
    }
    return sqrt(dot(careful->residual, careful->residual, d));
}

/* Fills the weights; the span of the context is computed for each word separately. */
static void weigh_carefully(const int32_t *sentence, const Window *window, Careful *careful) {
    for (int64_t i = 0; i < window->length; i++) {
        int64_t low = larger(0, i - window->reach), high = smaller(window->length, i + window->reach + 1);
        if (weigh_as_repeated(sentence, i, low, high, window)) continue;
        find_context(sentence, i, low, high, window, careful);
        double r = residual_by_cholesky(i, window, careful);
        if (r < 0.0) r = residual_by_gram_schmidt(i, window, careful);
        double length = sqrt(*gram_of(window, i, i));
        if (r <= RANK_TOLERANCE * length) continue;
        double *out = window->weights + i * 3;
        out[0] = exponential(r / length);
        out[1] = r / (double)(high - low);
        double alignment = sqrt(dot(careful->query, careful->query, careful->width));
        out[2] = exponential(-alignment / (r * (double)larger(window->count, 1)));
    }
}

#endif
