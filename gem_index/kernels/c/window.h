/* A window that slides over a sentence: its words, their inner products, and what is known of those inside it. */

#ifndef GEM_WINDOW_H
#define GEM_WINDOW_H

#include <math.h>

#include "exponential.h"
#include "lanes.h"

/* Share of |v|^2: if a squared residual is smaller, the sentence is left to the careful path. */
static const double CAREFUL_BELOW = 1e-4;

/* Words after which the sliding inverse starts again: bounds memory and rounding in a long text. */
enum { PIECE = 128 };

typedef struct {
    int64_t reach;     /* m, the words on either side */
    int64_t most;      /* words that a window holds at most */
    int64_t length;    /* words of the sentence, or of the piece of one */
    int64_t dimension; /* of a word, padded to LANES */
    int64_t count;     /* h, the selected directions */
    int64_t width;     /* of a row of state: most + count, padded to LANES */
    int64_t size;      /* members */
    double *words;     /* (length, dimension) vectors */
    double *aligned;   /* (length, count) E: projections on the selected directions, times their singular values */
    double *gram;      /* (length, most) banded Gram matrix: v_i v_{i+b} in row i, column b */
    double *weights;   /* (length, 3) */
    double *state;     /* (most, width) X, zero outside of the members, beside T = X E */
    int64_t *members;  /* (most,) the word in each row of X, by its last position in the window */
    double *border;    /* (width,) of a word: its coefficients in terms of the members, and what these leave of its E, negative */
    double *products;  /* (most,) inner products of a word with the members */
} Window;

static Window make_window(const Sentences *batch, int64_t count, int64_t reach, Memory *memory) {
    int64_t longest = 1;
    for (int64_t s = 0; s < batch->sentences; s++) longest = larger(longest, batch->offsets[s + 1] - batch->offsets[s]);
    int64_t length = smaller(longest, PIECE + 2 * reach);
    Window window = {.reach = reach, .most = smaller(longest, 2 * reach + 1), .dimension = padded(batch->dimension), .count = count};
    window.width = padded(window.most + count);
    window.words = numbers(memory, length * window.dimension);
    window.aligned = numbers(memory, length * count);
    window.gram = numbers(memory, length * window.most);
    window.weights = numbers(memory, length * 3);
    window.state = numbers(memory, window.most * window.width);
    window.members = integers(memory, window.most);
    window.border = numbers(memory, window.width);
    window.products = numbers(memory, window.most);
    return window;
}

/* The inner product of words i and j of one window, i <= j. */
static inline double *gram_of(const Window *window, int64_t i, int64_t j) {
    return window->gram + i * window->most + (j - i);
}

static inline const double *word_of(const Window *window, int64_t i) { return window->words + i * window->dimension; }

/* Fills the Gram matrix for all pairs that share a window: two words with two others at a time, so that each is read half
   as often. */
static void fill_gram(const Window *window) {
    int64_t n = window->length, band = window->most, d = window->dimension;
    double found[4];
    for (int64_t i = 0; i + 1 < n; i += 2) {
        const double *v = word_of(window, i), *w = word_of(window, i + 1);
        four_dots(v, w, v, w, d, found);
        *gram_of(window, i, i) = found[0];
        *gram_of(window, i + 1, i + 1) = found[3];
        if (band > 1) *gram_of(window, i, i + 1) = found[1];
        int64_t high = smaller(n, i + band), j = i + 2; /* what v meets; w meets one more */
        for (; j + 1 < high; j += 2) {
            four_dots(v, w, word_of(window, j), word_of(window, j + 1), d, found);
            *gram_of(window, i, j) = found[0];
            *gram_of(window, i, j + 1) = found[1];
            *gram_of(window, i + 1, j) = found[2];
            *gram_of(window, i + 1, j + 1) = found[3];
        }
        if (j < high) {
            *gram_of(window, i, j) = dot(v, word_of(window, j), d);
            *gram_of(window, i + 1, j) = dot(w, word_of(window, j), d);
        }
        if (band > 1 && high < n) *gram_of(window, i + 1, high) = dot(w, word_of(window, high), d);
    }
    if (n % 2) *gram_of(window, n - 1, n - 1) = dot(word_of(window, n - 1), word_of(window, n - 1), d);
}

/* Fills words, aligned and gram for the words of a sentence or a piece of one. */
static void fill_window(const int32_t *sentence, const Sentences *batch, const double *sigma, const int64_t *selected, Window *window) {
    for (int64_t i = 0; i < window->length; i++) {
        const float *restrict row = batch->rows + sentence[i] * batch->dimension;
        double *restrict word = window->words + i * window->dimension;
        for (int64_t x = 0; x < batch->dimension; x++) word[x] = row[x];
        const double *projection = batch->projections + sentence[i] * batch->directions;
        for (int64_t place = 0; place < window->count; place++)
            window->aligned[i * window->count + place] = sigma[selected[place]] * projection[selected[place]];
    }
    fill_gram(window);
}

/* Sets the weights of word i to those of a word that brings nothing new. Returns whether it is one: a zero vector, or a word
   that its window low..high holds more than once. */
static bool weigh_as_repeated(const int32_t *sentence, int64_t i, int64_t low, int64_t high, const Window *window) {
    double *out = window->weights + i * 3;
    out[0] = 1.0, out[1] = 0.0, out[2] = 1.0;
    bool repeated = *gram_of(window, i, i) == 0.0;
    for (int64_t j = low; j < high; j++) repeated |= j != i && sentence[j] == sentence[i];
    return repeated;
}

#endif
