// Standard normal numbers in double precision: the CUDA twin of src/num/normal.rs and src/num/quantile.rs. IEEE
// operations only, compiled with --fmad=false, so that both twins return the same bits.
#pragma once

namespace normal {

template <int N>
__device__ __forceinline__ double horner(double x, const double (&c)[N]) {
    double sum = c[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
    return sum;
}

// Natural logarithm of a positive normal number.
__device__ inline double ln(double x) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x);
    long long exponent = (long long)(bits >> 52 & 0x7ff) - 1023;
    double m = __longlong_as_double((long long)((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull));
    if (m > 1.41421356237309504880) {
        m *= 0.5;
        exponent += 1;
    }
    const double f = m - 1.0, s = f / (2.0 + f), z = s * s;
    const double c[] = {6.666666666666735130e-1, 3.999999999940941908e-1, 2.857142874366239149e-1, 2.222219843214978396e-1,
                             1.818357216161805012e-1, 1.531383769920937332e-1, 1.479819860511658591e-1};
    const double r = z * horner(z, c);
    const double half = 0.5 * f * f, e = (double)exponent;
    return e * 6.93147180369123816490e-1 - ((half - (s * (half + r) + e * 1.90821492927058770002e-10)) - f);
}

// Exponential function.
__device__ inline double exp(double x) {
    if (x > 709.0) return __longlong_as_double(0x7ff0000000000000ll);
    if (x < -708.0) return 0.0;
    const double n = round(x * 1.4426950408889634074);
    const double high = x - n * 6.93147180369123816490e-1, low = n * 1.90821492927058770002e-10;
    const double r = high - low, t = r * r;
    const double c[] = {1.66666666666666019037e-1, -2.77777777770155933842e-3, 6.61375632143793436117e-5, -1.65339022054652515390e-6,
                        4.13813679705723846039e-8};
    const double q = r - t * horner(t, c);
    const double y = 1.0 - ((low - (r * q) / (2.0 - q)) - high);
    return y * __longlong_as_double(((long long)n + 1023) << 52);
}

// Quantile of a probability in (0, 1).
__device__ inline double quantile(double p) {
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        const double x = 0.180625 - q * q;
        const double above[] = {3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                             4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3};
        const double below[] = {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                             2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3};
        return q * (horner(x, above) / horner(x, below));
    }
    const double r = sqrt(-ln(fmin(p, 1.0 - p)));
    double x;
    if (r <= 5.0) {
        const double above[] = {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
                             1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
        const double below[] = {1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
                             1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9};
        x = horner(r - 1.6, above) / horner(r - 1.6, below);
    } else {
        const double above[] = {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
                             2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
        const double below[] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                             7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15};
        x = horner(r - 5.0, above) / horner(r - 5.0, below);
    }
    return copysign(x, q);
}

// Normal number of a random word.
__device__ inline double of_word(unsigned int word) { return quantile(((double)word + 0.5) / 4294967296.0); }

} // namespace normal
