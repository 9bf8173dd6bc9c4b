#include "lanes.h"

#if defined(__x86_64__)

#include <cpuid.h>

/* Registers that the operating system saves when it changes between processes: bits 1 and 2 for AVX, 5 to 7 for AVX-512. */
static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool all_of(unsigned found, unsigned wanted) { return (found & wanted) == wanted; }

/* Returns the level of the x86-64 architecture that this processor reaches, of those that kernels are built for: 1, 3 or 4.

   __builtin_cpu_supports would say it too, but with Zig's library it knows no processor. */
int best_level(void) {
    unsigned a, b, c, d, more;
    if (!__get_cpuid(0x80000001, &a, &b, &more, &d) || !all_of(more, bit_LZCNT)) return 1;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !all_of(c, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C | bit_MOVBE)) return 1;
    unsigned saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !all_of(b, bit_AVX2 | bit_BMI | bit_BMI2) || !all_of(saved, 0x06)) return 1;
    return all_of(b, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL) && all_of(saved, 0xe6) ? 4 : 3;
}

#else

/* Returns 0: on this architecture there is one level. */
int best_level(void) { return 0; }

#endif
