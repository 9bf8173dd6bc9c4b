/* The weights of a sentence's words, computed only from inner products (docs/algorithm.md, section 5).

   The window slides over the sentence with the inverse X of its words' Gram matrix, and T = X E with E their projections: a
   word that enters adds a border to X, a word that leaves is removed by a Schur complement. The part of word i outside the
   span of the others has the squared length 1 / X_ii and the projections T_i / X_ii. A sentence of nearly dependent words is
   weighed by careful.h instead. */

#include "window.h"

#include "careful.h"

/* Adds word i to X and T; false if it is too close to the span of the members. */
static bool enter(int64_t i, Window *window) {
    int64_t width = window->width, size = window->size;
    double *state = window->state, *border = window->border, *products = window->products;
    for (int64_t a = 0; a < size; a++) products[a] = *gram_of(window, window->members[a], i);
    /* the products with the members, times X and T: coefficients of the members, and what these explain of E */
    for (int64_t b = 0; b < width; b += LANES) {
        Lanes sum = {{{0}}};
        for (int64_t a = 0; a < size; a++) sum = add_scaled(sum, products[a], load(state + a * width + b));
        store(border + b, sum);
    }
    double norm = *gram_of(window, i, i), pivot = norm;
    for (int64_t a = 0; a < size; a++) pivot -= border[a] * products[a];
    if (pivot <= CAREFUL_BELOW * norm) return false;
    double scale = 1.0 / pivot;
    for (int64_t k = 0; k < window->count; k++) border[window->most + k] -= window->aligned[i * window->count + k];
    border[size] = -1.0; /* makes the new column of X with the others */
    for (int64_t b = 0; b < width; b += LANES) {
        Lanes part = load(border + b);
        for (int64_t a = 0; a < size; a++) {
            double *row = state + a * width + b;
            store(row, add_scaled(load(row), scale * border[a], part));
        }
        store(state + size * width + b, add_scaled((Lanes){{{0}}}, -scale, part));
    }
    window->members[size] = i;
    window->size++;
    return true;
}

static void exchange(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Removes the member in row a from X and T; the last member moves into its row. */
static void leave(int64_t a, Window *window) {
    int64_t width = window->width, last = window->size - 1;
    double *state = window->state, *gone = state + last * width, *shares = window->products;
    if (a != last) { /* rows and columns a and last change places, so that the removed member is at the edge */
        for (int64_t b = 0; b < width; b++) exchange(state + a * width + b, gone + b);
        for (int64_t b = 0; b <= last; b++) exchange(state + b * width + a, state + b * width + last);
        window->members[a] = window->members[last];
    }
    for (int64_t b = 0; b < last; b++) shares[b] = -state[b * width + last] / gone[last];
    for (int64_t c = 0; c < width; c += LANES) {
        Lanes part = load(gone + c);
        for (int64_t b = 0; b < last; b++) {
            double *row = state + b * width + c;
            store(row, add_scaled(load(row), shares[b], part));
        }
    }
    for (int64_t b = 0; b < last; b++) state[b * width + last] = 0.0;
    memset(gone, 0, sizeof(double) * width);
    window->size = last;
}

/* Fills the weights by sliding the window; false if a word must be left to the careful path.

   A word that occurs in its window more than once is one member, and none of its occurrences has anything new. */
static bool slide(const int32_t *sentence, Window *window) {
    int64_t width = window->width, entered = 0, *members = window->members;
    const double *state = window->state;
    memset(window->state, 0, sizeof(double) * window->most * width);
    window->size = 0;
    for (int64_t i = 0; i < window->length; i++) {
        int64_t low = larger(0, i - window->reach), high = smaller(window->length, i + window->reach + 1);
        for (int64_t a = 0; a < window->size; a++)
            if (members[a] < low) {
                leave(a, window);
                break;
            }
        for (; entered < high; entered++) {
            bool known = *gram_of(window, entered, entered) == 0.0;
            for (int64_t a = 0; a < window->size; a++)
                if (sentence[members[a]] == sentence[entered]) {
                    members[a] = entered;
                    known = true;
                }
            if (!known && !enter(entered, window)) return false;
        }
        /* a member that was far from the earlier ones may be close to the span of all others */
        for (int64_t a = 0; a < window->size; a++)
            if (state[a * width + a] * *gram_of(window, members[a], members[a]) * CAREFUL_BELOW >= 1.0) return false;
        if (weigh_as_repeated(sentence, i, low, high, window)) continue;
        int64_t a = 0;
        while (members[a] != i) a++;
        double r = 1.0 / sqrt(state[a * width + a]), alignment = 0.0;
        const double *projections = state + a * width + window->most;
        for (int64_t k = 0; k < window->count; k++) alignment += projections[k] * projections[k];
        double *out = window->weights + i * 3;
        out[0] = exponential(r / sqrt(*gram_of(window, i, i)));
        out[1] = r / (double)(high - low);
        out[2] = exponential(-r * sqrt(alignment) / (double)larger(window->count, 1));
    }
    return true;
}

/* Weighs a sentence in pieces; false if one of them must be left to the careful path. */
static bool weigh(const int32_t *sentence, int64_t length, const Sentences *batch, const double *sigma, const int64_t *selected,
                  Window *window, Careful *careful, double *weights) {
    for (int64_t first = 0; first < length; first += PIECE) {
        int64_t low = larger(0, first - window->reach), last = smaller(length, first + PIECE);
        window->length = smaller(length, last + window->reach) - low;
        fill_window(sentence + low, batch, sigma, selected, window);
        if (careful)
            weigh_carefully(sentence + low, window, careful);
        else if (!slide(sentence + low, window))
            return false;
        memcpy(weights + first * 3, window->weights + (first - low) * 3, sizeof(double) * 3 * (last - first));
    }
    return true;
}

/* Fills weights (tokens, 3) with alpha_n, alpha_s and alpha_u of the words of sentences (docs/algorithm.md, section 4).

   sigma (directions,) are the corpus' singular values, selected (sentences, count) the directions of each sentence, reach is
   m. A long sentence is weighed in pieces; each includes reach more words on either side, so that its own words get the
   weights that they have in the whole sentence. */
int weigh_sentences(const Sentences *batch, const double *sigma, const int64_t *selected, int64_t count, int64_t reach,
                    double *weights) {
    Memory memory = {0}, more = {0};
    Window window = make_window(batch, count, reach, &memory);
    Careful careful = {0};
    for (int64_t s = 0; s < batch->sentences && !memory.failed; s++) {
        int64_t begin = batch->offsets[s], length = batch->offsets[s + 1] - begin;
        const int32_t *sentence = batch->ids + begin;
        const int64_t *mine = selected + s * count;
        if (weigh(sentence, length, batch, sigma, mine, &window, NULL, weights + begin * 3)) continue;
        if (!careful.context) careful = make_careful(&window, &more);
        if (more.failed) break;
        weigh(sentence, length, batch, sigma, mine, &window, &careful, weights + begin * 3);
    }
    int failed = release(&more);
    return release(&memory) | failed;
}
