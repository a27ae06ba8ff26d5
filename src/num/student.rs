//! Student's t distribution with any positive number of degrees of freedom, fractions included (Welch).

use super::quantile;

/// Returns the probability of a value below `t`.
pub fn cdf(t: f64, df: f64) -> f64 {
    let tail = 0.5 * two_sided(t, df);
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// Returns the probability of a value at least as far from 0 as `t`: the p value of a two-sided test. It is exact for small
/// values, where 1 minus the distribution function would lose digits.
pub fn two_sided(t: f64, df: f64) -> f64 {
    let square = t * t;
    if t.is_nan() {
        f64::NAN
    } else if square < df {
        1.0 - incomplete_beta(square / (df + square), 0.5, 0.5 * df)
    } else {
        incomplete_beta(df / (df + square), 0.5 * df, 0.5)
    }
}

/// Returns the value below which a value lies with probability `p`, between 0 and 1 exclusively: Newton's method, kept within
/// a bracket that contains the quantile.
pub fn quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -quantile(1.0 - p, df);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while cdf(high, df) < p && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    let mut t = quantile::normal(p).clamp(low, high);
    for _ in 0..200 {
        let excess = cdf(t, df) - p;
        if excess > 0.0 {
            high = t
        } else {
            low = t
        }
        let newton = t - excess / density(t, df);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-14 * t.abs() {
            return next;
        }
        t = next;
    }
    t
}

fn density(t: f64, df: f64) -> f64 {
    let norm = ln_gamma(0.5 * (df + 1.0)) - ln_gamma(0.5 * df) - 0.5 * (df * std::f64::consts::PI).ln();
    (norm - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp()
}

/// Returns the regularised incomplete beta function I_x(a, b), from its continued fraction (DLMF 8.17.22) on the side on which
/// the fraction converges fast.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// Evaluates the continued fraction by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |y: f64| if y.abs() < TINY { TINY } else { y };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// Returns the logarithm of the gamma function of a positive number (Lanczos approximation with g = 7 and 9 terms, relative
/// error about 1e-15).
fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum = TERMS.iter().zip(1..).fold(0.999_999_999_999_809_9, |sum, (c, i)| sum + c / (x + f64::from(i)));
    let t = x + 7.5;
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Lanczos coefficients after the constant term.
const TERMS: [f64; 8] = [
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(got: f64, want: f64) -> bool {
        (got - want).abs() <= 1e-10 * want.abs()
    }

    /// Values of scipy.stats.t 1.17: t, degrees of freedom, cdf(t), 2 sf(|t|).
    #[test]
    fn probabilities_are_those_of_scipy() {
        for (t, df, below, outside) in [
            (0.5, 1.0, 6.475_836_176_504_333e-1, 7.048_327_646_991_335e-1),
            (2.0, 1.0, 8.524_163_823_495_667e-1, 2.951_672_353_008_665e-1),
            (1.3, 2.5, 8.497_566_053_646_458e-1, 3.004_867_892_707_083e-1),
            (-2.2, 4.0, 4.632_633_508_981_73e-2, 9.265_267_017_963_459e-2),
            (0.01, 29.0, 5.039_551_175_983_876e-1, 9.920_897_648_032_249e-1),
            (3.1, 29.0, 9.978_609_088_132_222e-1, 4.278_182_373_555_57e-3),
            (8.0, 7.3, 9.999_636_901_339_59e-1, 7.261_973_208_191_443e-5),
            (25.0, 3.0, 9.999_298_343_050_212e-1, 1.403_313_899_575_486e-4),
            (-1.7, 120.5, 4.585_535_939_474_306e-2, 9.171_071_878_948_613e-2),
            (4.5, 1e4, 9.999_965_639_510_731e-1, 6.872_097_853_878_461e-6),
            (1e-8, 5.0, 5.000_000_037_960_669e-1, 9.999_999_924_078_662e-1),
        ] {
            let got = (cdf(t, df), two_sided(t, df));
            assert!(is_near(got.0, below) && is_near(got.1, outside), "t {t}, df {df}: {got:?}");
        }
    }

    /// Values of scipy.stats.t.ppf 1.17.
    #[test]
    fn quantiles_are_those_of_scipy() {
        for (p, df, want) in [
            (0.975, 1.0, 1.270_620_473_617_469e1),
            (0.975, 2.0, 4.302_652_729_749_462),
            (0.975, 4.0, 2.776_445_105_197_793),
            (0.975, 9.0, 2.262_157_162_798_205),
            (0.975, 29.0, 2.045_229_642_132_703),
            (0.995, 3.7, 4.869_252_253_227_828),
            (0.6, 12.25, 2.589_154_426_143_139e-1),
            (0.9999, 2.0, 7.070_007_107_496_818e1),
            (0.975, 1e5, 1.959_987_707_534_609),
            (0.025, 29.0, -2.045_229_642_132_704),
        ] {
            let got = quantile(p, df);
            assert!((got - want).abs() <= 1e-9 * want.abs(), "p {p}, df {df}: {got}");
        }
    }
}
