/* e^x with the same bits on every system; those of the C libraries differ in the last one. */

#ifndef GEM_EXPONENTIAL_H
#define GEM_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

/* Returns e^x within one unit of the last place: e^x = 2^k e^r with |r| <= ln 2 / 2, and e^r by its Taylor series.
   Below -708, where numbers begin to lose digits, it returns 0; x is at most 700. */
static inline double exponential(double x) {
    static const double log2e = 1.4426950408889634, ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    if (x < -708.0) return 0.0;
    double scaled = x * log2e;
    int64_t k = (int64_t)(scaled + (scaled < 0.0 ? -0.5 : 0.5));
    double high = x - (double)k * ln2_high, low = (double)k * ln2_low;
    double r = high - low;
    static const double inverse_factorials[] = {
        1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
        1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5};
    double series = 0.0;
    for (int i = 0; i < 12; i++) series = series * r + inverse_factorials[i];
    /* 1 + r + r^2 series, smallest terms first; (high - r) - low is what r lost by rounding */
    double value = 1.0 + (r + (r * r * series + ((high - r) - low)));
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += (uint64_t)k << 52;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

#endif
