#include "eigen.h"

/* Fills values (n,) and the rows of vectors (n, n) with the eigenvalues, in no order, and eigenvectors of length 1 of a
   symmetric matrix (n, n). */
int symmetric_eigen(const double *matrix, int64_t n, double *values, double *vectors) {
    Memory memory = {0};
    Eigen eigen = make_eigen(n, &memory);
    if (!memory.failed && n > 0) {
        set_size(&eigen, n);
        for (int64_t i = 0; i < n; i++) memcpy(eigen.matrix + i * eigen.width, matrix + i * n, sizeof(double) * n);
        solve(&eigen);
        memcpy(values, eigen.values, sizeof(double) * n);
        for (int64_t i = 0; i < n; i++) {
            to_original(&eigen, eigen.vectors + i * eigen.width);
            memcpy(vectors + i * n, eigen.vectors + i * eigen.width, sizeof(double) * n);
        }
    }
    return release(&memory);
}
