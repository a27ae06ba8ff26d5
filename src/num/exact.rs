//! Functions composed of IEEE additions, products, quotients, roots and integer operations only. The CUDA counterparts
//! in `kernels/common/philox.cuh`, compiled with `--fmad=false`, therefore return equal bits.

/// 1.5 · 2^23. Its sum with a number of at most 2^22 is rounded to a whole number, half to even, and its two's complement is in the low
/// 22 bits.
pub const WHOLE: f32 = 12_582_912.0;
/// 1.5 · 2^52: the counterpart of [`WHOLE`] for numbers of at most 2^51.
pub const WHOLE_F64: f64 = 6_755_399_441_055_744.0;

/// Maps a word to a uniform number in `(0, 1)` with 23 bits, both ends excluded.
pub fn unit(word: u32) -> f32 {
    ((word >> 9) as f32 + 0.5) * (1.0 / 8_388_608.0)
}

/// Returns the natural logarithm of a normal positive `x` (Cephes `logf`).
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "published coefficients")]
pub fn ln(x: f32) -> f32 {
    let bits = x.to_bits() as i32;
    let mut e = (bits >> 23) - 126;
    let mut m = f32::from_bits((bits as u32 & 0x007f_ffff) | 0x3f00_0000);
    if m < std::f32::consts::FRAC_1_SQRT_2 {
        e -= 1;
        m = m + m - 1.0;
    } else {
        m -= 1.0;
    }
    let z = m * m;
    let mut y = 7.037_683_629_2e-2_f32;
    for c in [
        -1.151_461_031_0e-1,
        1.167_699_874_0e-1,
        -1.242_014_084_6e-1,
        1.424_932_278_7e-1,
        -1.666_805_766_5e-1,
        2.000_071_476_5e-1,
        -2.499_999_399_3e-1,
        3.333_333_117_4e-1,
    ] {
        y = y * m + c;
    }
    y = y * m * z;
    let f = e as f32;
    y += -2.121_944_40e-4 * f;
    y -= 0.5 * z;
    (m + y) + 0.693_359_375 * f
}

/// Maps a word to a standard normal value by the inverse error function (Giles 2012, single precision).
#[expect(clippy::excessive_precision, reason = "published coefficients")]
pub fn normal(word: u32) -> f32 {
    let x = 2.0 * unit(word) - 1.0;
    let w = -ln((1.0 - x) * (1.0 + x));
    let horner = |w: f32, p: [f32; 9]| p[1..].iter().fold(p[0], |acc, c| c + acc * w);
    let p = if w < 5.0 {
        horner(
            w - 2.5,
            [
                2.810_226_36e-08,
                3.432_739_39e-07,
                -3.523_387_7e-06,
                -4.391_506_54e-06,
                0.000_218_580_87,
                -0.001_253_725_03,
                -0.004_177_681_64,
                0.246_640_727,
                1.501_409_41,
            ],
        )
    } else {
        horner(
            w.sqrt() - 3.0,
            [
                -0.000_200_214_257,
                0.000_100_950_558,
                0.001_349_343_22,
                -0.003_673_428_44,
                0.005_739_507_73,
                -0.007_622_461_3,
                0.009_438_870_47,
                1.001_674_06,
                2.832_976_82,
            ],
        )
    };
    std::f32::consts::SQRT_2 * (p * x)
}

/// Returns the exponential function (Cephes `expf`): 0 below -87, infinite above 88. Choices are selections, so that loops
/// vectorise.
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "published coefficients")]
pub fn exp(x: f32) -> f32 {
    let within = x.clamp(-87.0, 88.0);
    let n = (within * std::f32::consts::LOG2_E + 0.5).floor();
    let r = within - n * 0.693_359_375;
    let r = r - n * -2.121_944_40e-4;
    let y = 1.987_569_15e-4_f32 * r + 1.398_199_95e-3;
    let y = y * r + 8.333_451_91e-3;
    let y = y * r + 4.166_579_58e-2;
    let y = y * r + 1.666_666_55e-1;
    let y = y * r + 5.000_000_12e-1;
    let y = y * (r * r) + r + 1.0;
    // `n` is a whole number, which the addition leaves in the low bits: compilers do not vectorise a saturating cast. For NaN, which
    // `y` keeps, the factor does not matter.
    let y = y * f32::from_bits((n + WHOLE).to_bits().wrapping_add(127) << 23);
    let y = if x < -87.0 { 0.0 } else { y };
    if x > 88.0 { f32::INFINITY } else { y }
}

/// Returns `1 - exp(-x)` for `x >= 0` without cancellation: a Taylor polynomial below 0.35, [`exp`] above.
#[inline(always)]
pub fn one_minus_exp(x: f32) -> f32 {
    let y = 1.0 / 5_040.0 * x + -1.0 / 720.0;
    let y = y * x + 1.0 / 120.0;
    let y = y * x + -1.0 / 24.0;
    let y = y * x + 1.0 / 6.0;
    let y = y * x + -0.5;
    let y = y * x + 1.0;
    if x > 0.35 { 1.0 - exp(-x) } else { y * x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_the_exponential_are_powers_of_2() {
        for n in -126..=127 {
            let factor = f32::from_bits((n as f32 + WHOLE).to_bits().wrapping_add(127) << 23);
            assert_eq!(factor, 2.0_f32.powi(n));
        }
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn close_to_the_library() {
        for i in 0..20_000u32 {
            let x = (i as f32 + 0.5) * 1e-3;
            assert!((f64::from(ln(x)) - f64::from(x).ln()).abs() < 3e-7 * (1.0 + f64::from(x).ln().abs()), "ln {x}");
            let z = x * 4.0 - 40.0;
            let want = f64::from(z).exp();
            assert!((f64::from(exp(z)) - want).abs() <= 3e-7 * want, "exp {z}");
        }
    }

    #[test]
    fn one_minus_exp_does_not_cancel() {
        for i in 0..20_000u32 {
            let x = 1e-6 * 1.001_f32.powi(i as i32);
            let want = -(-f64::from(x)).exp_m1();
            assert!((f64::from(one_minus_exp(x)) - want).abs() <= 3e-7 * want, "1 - exp(-{x})");
        }
        assert_eq!(one_minus_exp(0.0), 0.0);
    }
}
