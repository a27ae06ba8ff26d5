// The CUDA twin of src/num/fixed.rs: Q16.16 sums, independent of the order of threads.
#pragma once

namespace fixed {

// Nearest representable number, half away from zero; saturates; NaN becomes 0.
__device__ inline int from_real(double x) {
    const double scaled = x * 65536.0;
    if (!(scaled == scaled)) return 0;
    double whole = trunc(scaled);
    if (fabs(scaled - whole) >= 0.5) whole += scaled < 0.0 ? -1.0 : 1.0;
    if (whole >= 2147483647.0) return 2147483647;
    if (whole <= -2147483648.0) return -2147483647 - 1;
    return (int)whole;
}

// Converts exactly.
__device__ inline double to_real(int q) { return q * (1.0 / 65536.0); }

// Sum that wraps like integer atomics.
__device__ inline int plus(int a, int b) { return (int)((unsigned int)a + (unsigned int)b); }

}  // namespace fixed
