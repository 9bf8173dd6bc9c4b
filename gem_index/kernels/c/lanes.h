/* Numbers eight at a time, with the same bits on every processor.

   A sum runs in eight lanes: lane l adds the terms l, l + 8, l + 16, ..., and at the end the lanes are added in pairs. A
   processor holds the eight lanes in one, two or four registers, which changes no order of additions; products are not
   fused with sums (-ffp-contract=off). Arrays that lanes run over are padded with zeros to a multiple of eight. */

#ifndef GEM_LANES_H
#define GEM_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { LANES = 8 };

#if defined(__AVX512F__)
#define WIDTH 8 /* numbers of a register */
#elif defined(__AVX__)
#define WIDTH 4
#else
#define WIDTH 2
#endif
enum { PARTS = LANES / WIDTH };

/* Vectors of GCC and Clang; they may begin at any number of an array. */
typedef double Vector __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));

typedef struct {
    Vector part[PARTS];
} Lanes;

static inline Lanes load(const double *from) {
    Lanes lanes;
    for (int p = 0; p < PARTS; p++) lanes.part[p] = *(const Vector *)(from + p * WIDTH);
    return lanes;
}

static inline Lanes all_lanes(double number) {
    Lanes lanes;
    for (int p = 0; p < PARTS; p++) lanes.part[p] = (Vector){0} + number;
    return lanes;
}

static inline void store(double *to, Lanes lanes) {
    for (int p = 0; p < PARTS; p++) *(Vector *)(to + p * WIDTH) = lanes.part[p];
}

/* sum + a b, lane by lane */
static inline Lanes add_product(Lanes sum, Lanes a, Lanes b) {
    for (int p = 0; p < PARTS; p++) sum.part[p] += a.part[p] * b.part[p];
    return sum;
}

/* sum + factor a */
static inline Lanes add_scaled(Lanes sum, double factor, Lanes a) {
    for (int p = 0; p < PARTS; p++) sum.part[p] += factor * a.part[p];
    return sum;
}

static inline double total(Lanes lanes) {
    double s[LANES];
    store(s, lanes);
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* The inner product of two vectors whose length n is a multiple of LANES. */
static inline double dot(const double *a, const double *b, int64_t n) {
    Lanes sum = {{{0}}};
    for (int64_t x = 0; x < n; x += LANES) sum = add_product(sum, load(a + x), load(b + x));
    return total(sum);
}

/* out += factor a, for vectors whose length n is a multiple of LANES. */
static inline void add_scaled_row(double *out, double factor, const double *a, int64_t n) {
    for (int64_t x = 0; x < n; x += LANES) store(out + x, add_scaled(load(out + x), factor, load(a + x)));
}

/* The inner products of the vectors v and w with y and z: out is v y, v z, w y, w z. */
static inline void four_dots(const double *v, const double *w, const double *y, const double *z, int64_t n, double *out) {
    Lanes vy = {{{0}}}, vz = {{{0}}}, wy = {{{0}}}, wz = {{{0}}};
    for (int64_t x = 0; x < n; x += LANES) {
        Lanes a = load(v + x), b = load(w + x), c = load(y + x), d = load(z + x);
        vy = add_product(vy, a, c);
        vz = add_product(vz, a, d);
        wy = add_product(wy, b, c);
        wz = add_product(wz, b, d);
    }
    out[0] = total(vy), out[1] = total(vz), out[2] = total(wy), out[3] = total(wz);
}

static inline int64_t padded(int64_t n) { return (n + LANES - 1) / LANES * LANES; }
static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Scratch arrays of one call. Each is an allocation of its own, so that AddressSanitizer sees where it ends. */
typedef struct {
    void *blocks[16];
    int count;
    bool failed;
} Memory;

static inline void *take(Memory *memory, int64_t count, size_t size) {
    void *block = calloc((size_t)larger(count, 1), size);
    if (!block) memory->failed = true;
    memory->blocks[memory->count++] = block;
    return block;
}

static inline double *numbers(Memory *memory, int64_t count) { return take(memory, count, sizeof(double)); }

static inline int64_t *integers(Memory *memory, int64_t count) { return take(memory, count, sizeof(int64_t)); }

/* Returns an array (rows, n) with its rows padded to LANES: itself, if they are. */
static inline const double *with_padded_rows(const double *array, int64_t rows, int64_t n, Memory *memory) {
    if (n == padded(n)) return array;
    double *wide = numbers(memory, rows * padded(n));
    for (int64_t r = 0; r < rows && wide; r++) memcpy(wide + r * padded(n), array + r * n, sizeof(double) * n);
    return wide;
}

/* Frees everything; returns what a kernel returns. */
static inline int release(Memory *memory) {
    for (int b = 0; b < memory->count; b++) free(memory->blocks[b]);
    return memory->failed ? -1 : 0;
}

#endif
