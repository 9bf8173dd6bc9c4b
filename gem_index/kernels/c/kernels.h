/* The kernels: what Python calls. cffi reads this file too, so it holds declarations alone.

   Arrays are contiguous, row by row. Kernels read no global state, check no bounds, and run over disjoint ranges in threads.
   Those that return an int return 0, or -1 if no memory is left, where nothing else is said. */

typedef struct {
    const int32_t *ids;        /* (tokens,) the words of all sentences */
    const int64_t *offsets;    /* (sentences + 1,) where each sentence begins in ids */
    const float *rows;         /* (words, dimension) the vectors of the distinct words */
    const double *projections; /* (words, directions) their inner products with the corpus' directions */
    int64_t sentences, dimension, directions;
} Sentences;

/* sentences.c */
int project(const float *rows, int64_t words, int64_t dimension, const double *directions, int64_t count, double *out);
int select_directions(const Sentences *batch, const double *sigma, bool plain_ranking, int64_t count, int64_t *selected);
int compose_sentences(const Sentences *batch, const double *alpha, const float *directions, const int64_t *removed,
                      int64_t count, double share, float *out);

/* weights.c */
int weigh_sentences(const Sentences *batch, const double *sigma, const int64_t *selected, int64_t count, int64_t window,
                    double *weights);

/* coarse.c */
int coarse_vectors(const int32_t *ids, const int64_t *offsets, int64_t sentences, const float *rows, int64_t dimension,
                   double power, double *out);
int add_products(const double *rows, int64_t count, int64_t dimension, double *out);

/* eigen.c */
int symmetric_eigen(const double *matrix, int64_t n, double *values, double *vectors);

/* near_pairs.c */
int64_t join_near(const float *tiles, int64_t tile_count, int64_t size, const float *vectors, int64_t count,
                  int64_t dimension, const int32_t *labels, double threshold, double slack, const int32_t *members,
                  const int64_t *begins, const uint64_t *sketches, double least_overlap, int64_t first, int64_t last,
                  int32_t *parents);
void sketch_sets(const int32_t *members, const int64_t *begins, int64_t count, uint64_t *sketches);
void merge_forest(int32_t *parents, const int32_t *other, int64_t count);

/* overlaps.c */
void join_overlapping(const int32_t *members, const int64_t *begins, const int32_t *order, const int32_t *sizes, int64_t count,
                      const int32_t *labels, const int64_t *list_begins, const int32_t *lists, const int32_t *places,
                      double threshold, int64_t first, int64_t last, int32_t *parents, int32_t *seen);

/* rows.c */
void score_rows(const int16_t *rows, const int64_t *positions, int64_t count, const float *query, int64_t dimension,
                float *out);
void sum_rows(const float *table, const int64_t *rows, const int64_t *counts, int64_t words, int64_t dimension, float *out);

/* words.c */
int64_t number_words(const uint8_t *text, const int64_t *starts, int64_t texts, const bool *split, int32_t *table,
                     int64_t places, int32_t *ids, int64_t *offsets, int64_t *words);
void hash_words(const uint8_t *text, const int64_t *offsets, int64_t count, uint64_t *out);
void find_words(const uint8_t *wanted, const int64_t *wanted_offsets, const uint64_t *wanted_keys, int64_t count,
                const uint8_t *text, const int64_t *offsets, const uint64_t *keys, const int64_t *rows, int64_t words,
                int64_t *out);
int64_t hash_ngrams(const uint8_t *text, const int64_t *offsets, int64_t words, int64_t shortest, int64_t longest,
                    int64_t buckets, int64_t *out, int64_t *counts);

/* lines.c */
int64_t parse_lines(const uint8_t *text, int64_t size, int64_t lines, int64_t dimension, int64_t *words, float *rows);

/* level.c */
int best_level(void);
