#include "lanes.h"

/* Returns the level of the x86-64 architecture that this processor reaches, of those that kernels are built for: 1, 3 or 4;
   0 on another architecture. */
int best_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        return 4;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? 3 : 1;
#else
    return 0;
#endif
}
