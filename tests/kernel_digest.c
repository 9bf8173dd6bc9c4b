/* Prints a digest of what the kernels of numbers compute, for processors that Python is not at hand for:

     sources="-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -I gem_index/kernels/c tests/kernel_digest.c gem_index/kernels/c/?*.c"
     cc $sources -o here -lm && ./here
     python -m ziglang cc -target aarch64-linux-musl -fno-sanitize=undefined $sources -o arm -lm && qemu-aarch64 ./arm

   The same flags as in hatch_build.py, and the same digest. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { WORDS = 400, DIRECTIONS = 45, SENTENCES = 60, REMOVED = 17 };

static uint64_t state = 88172645463325252u, digest = 14695981039346656037u;

/* A number from -0.5 to 0.5 (xorshift). */
static double random_number(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static void *room(int64_t count, size_t size) {
    void *block = calloc((size_t)count, size);
    if (!block) exit(1);
    return block;
}

/* Adds the bytes of an array to the digest (FNV-1a), and frees it. */
static void consume(void *array, int64_t count, size_t size) {
    for (size_t b = 0; b < (size_t)count * size; b++) digest = (digest ^ ((uint8_t *)array)[b]) * 1099511628211u;
    free(array);
}

static void digest_dimension(int64_t d) {
    float *rows = room(WORDS * d, sizeof(float)), *narrow = room(DIRECTIONS * d, sizeof(float));
    double *directions = room(DIRECTIONS * d, sizeof(double)), *projections = room(WORDS * DIRECTIONS, sizeof(double));
    double sigma[DIRECTIONS];
    for (int64_t i = 0; i < WORDS * d; i++) rows[i] = (float)random_number();
    for (int64_t x = 0; x < d; x++) { /* a copy, a sum, a zero vector, and one that is nearly another */
        rows[7 * d + x] = rows[9 * d + x];
        rows[11 * d + x] = rows[12 * d + x] + rows[13 * d + x];
        rows[20 * d + x] = 0;
        rows[30 * d + x] = rows[31 * d + x] + (float)(1e-5 * random_number());
    }
    for (int64_t i = 0; i < DIRECTIONS * d; i++) narrow[i] = (float)(directions[i] = random_number() / 8);
    for (int k = 0; k < DIRECTIONS; k++) sigma[k] = 50.0 / (k + 1);
    project(rows, WORDS, d, directions, DIRECTIONS, projections);

    int64_t offsets[SENTENCES + 1] = {0}, tokens;
    for (int s = 0; s < SENTENCES; s++) offsets[s + 1] = offsets[s] + (s % 10 == 9 ? 350 : s * 7 % 41);
    tokens = offsets[SENTENCES];
    int32_t *ids = room(tokens, sizeof(int32_t));
    for (int64_t i = 0; i < tokens; i++) ids[i] = (int32_t)((random_number() + 0.5) * WORDS);
    Sentences batch = {ids, offsets, rows, projections, SENTENCES, d, DIRECTIONS};

    int64_t *selected = room(SENTENCES * REMOVED, sizeof(int64_t));
    double *weights = room(3 * tokens, sizeof(double)), *alpha = room(tokens, sizeof(double));
    float *vectors = room(SENTENCES * d, sizeof(float));
    select_directions(&batch, sigma, false, REMOVED, selected);
    weigh_sentences(&batch, sigma, selected, REMOVED, 7, weights);
    for (int64_t i = 0; i < tokens; i++) alpha[i] = weights[3 * i] + weights[3 * i + 1] + weights[3 * i + 2];
    compose_sentences(&batch, alpha, narrow, selected, REMOVED, 0.4, vectors);
    consume(weights, 3 * tokens, sizeof(double));
    consume(vectors, SENTENCES * d, sizeof(float));

    double *coarse = room(SENTENCES * d, sizeof(double)), *moment = room(d * d, sizeof(double));
    double *values = room(d, sizeof(double)), *eigenvectors = room(d * d, sizeof(double));
    coarse_vectors(ids, offsets, SENTENCES, rows, d, 3.0, coarse);
    for (int64_t i = 0; i < SENTENCES * d; i++) coarse[i] /= 4096;
    add_products(coarse, SENTENCES, d, moment);
    for (int64_t i = 0; i < d * d; i++)
        if (i % d < i / d) moment[i] = moment[i % d * d + i / d];
    symmetric_eigen(moment, d, values, eigenvectors);
    consume(coarse, SENTENCES * d, sizeof(double));
    consume(moment, d * d, sizeof(double));
    consume(values, d, sizeof(double));
    consume(eigenvectors, d * d, sizeof(double));

    int16_t *stored = room(WORDS * d, sizeof(int16_t));
    int64_t positions[WORDS];
    float *scores = room(WORDS, sizeof(float));
    for (int64_t i = 0; i < WORDS * d; i++) stored[i] = (int16_t)(rows[i] * 32767);
    for (int i = 0; i < WORDS; i++) positions[i] = WORDS - 1 - i;
    score_rows(stored, positions, WORDS, rows, d, scores);
    consume(scores, WORDS, sizeof(float));
    free(rows), free(narrow), free(directions), free(projections), free(ids), free(selected), free(alpha), free(stored);
}

int main(void) {
    const int64_t dimensions[] = {17, 64, 256, 300};
    for (int i = 0; i < 4; i++) digest_dimension(dimensions[i]);
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
