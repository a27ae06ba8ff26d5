//! Normal distribution in double precision, composed of IEEE additions, products, quotients and roots only: bits are equal on
//! every platform and for every number of threads.

#![expect(clippy::excessive_precision, reason = "published coefficients")]

use super::{quantile, rng::Draw};

impl Draw {
    /// Returns a uniform number in `(0, 1)` from the first 53 bits of the draw, both ends excluded.
    pub const fn unit(self) -> f64 {
        let [high, low, ..] = self.words();
        let bits = ((high as u64) << 32 | low as u64) >> 11;
        (bits as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// Returns the probability that a standard normal variable is at most `x`, by Cody's rational approximations (1969), with a
/// relative error below 7e-16 for negative `x`. The probability is 0 below -37.
pub fn cdf(x: f64) -> f64 {
    let y = x.abs();
    if y <= 0.674_489_75 {
        let s = x * x;
        return 0.5 + x * horner(s, &NEAR_TOP) / horner(s, &NEAR_BOTTOM);
    }
    if y > 37.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let ratio = if y <= 32_f64.sqrt() {
        horner(y, &MIDDLE_TOP) / horner(y, &MIDDLE_BOTTOM)
    } else {
        let s = 1.0 / (x * x);
        (INVERSE_ROOT_2_PI - s * horner(s, &FAR_TOP) / horner(s, &FAR_BOTTOM)) / y
    };
    // The product of the leading digits with themselves is exact.
    let leading = (y * 16.0).trunc() / 16.0;
    let tail = exp(-leading * leading * 0.5) * exp(-(y - leading) * (y + leading) * 0.5) * ratio;
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the quantile of the standard normal distribution, from the logarithm of this module, with a relative error of about
/// 1e-16. The quantile is infinite at 0 and 1.
pub fn quantile(p: f64) -> f64 {
    quantile::normal_with(p, ln)
}

/// Returns the quantile `u` of a standard normal distribution truncated to `low..high` (Devroye 1986, section II.2.2). Both
/// tails keep their relative precision. If the range has no probability left, beyond 37, the quantile is the end nearest to 0.
pub fn truncated_quantile(u: f64, low: f64, high: f64) -> f64 {
    let below = cdf(low) + u * (cdf(high) - cdf(low));
    let above = cdf(-high) + (1.0 - u) * (cdf(-low) - cdf(-high));
    match if below <= above { quantile(below) } else { -quantile(above) } {
        z if z.is_finite() => z.clamp(low, high),
        _ => 0_f64.clamp(low, high),
    }
}

fn horner(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Returns the natural logarithm of a positive normal number (fdlibm `e_log.c`, error below 1 ulp).
pub fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut e = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut m = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * horner(
        z,
        &[
            6.666_666_666_666_735_130e-1,
            3.999_999_999_940_941_908e-1,
            2.857_142_874_366_239_149e-1,
            2.222_219_843_214_978_396e-1,
            1.818_357_216_161_805_012e-1,
            1.531_383_769_920_937_332e-1,
            1.479_819_860_511_658_591e-1,
        ],
    );
    let half = 0.5 * f * f;
    let e = e as f64;
    e * LN2_HIGH - ((half - (s * (half + r) + e * LN2_LOW)) - f)
}

/// Returns the exponential function (fdlibm `e_exp.c`, error below 1 ulp): 0 below -708, infinite above 709.
pub fn exp(x: f64) -> f64 {
    if x > 709.0 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    let n = (x * std::f64::consts::LOG2_E).round();
    let (high, low) = (x - n * LN2_HIGH, n * LN2_LOW);
    let r = high - low;
    let t = r * r;
    let c = r - t * horner(
        t,
        &[
            1.666_666_666_666_660_190_37e-1,
            -2.777_777_777_701_559_338_42e-3,
            6.613_756_321_437_934_361_17e-5,
            -1.653_390_220_546_525_153_90e-6,
            4.138_136_797_057_238_460_39e-8,
        ],
    );
    let y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    y * f64::from_bits(((n as i64 + 1023) as u64) << 52)
}

const INVERSE_ROOT_2_PI: f64 = 0.398_942_280_401_432_677_94;
const NEAR_TOP: [f64; 5] = [
    1.815_498_125_334_356_124_9e4,
    1.067_689_485_460_370_958_2e3,
    1.610_282_310_685_558_788_1e2,
    2.235_252_035_460_683_928_7,
    6.568_233_791_820_744_911_3e-2,
];
const NEAR_BOTTOM: [f64; 5] = [
    4.550_778_933_502_672_995_6e4,
    1.026_093_220_861_897_820_5e4,
    9.760_985_517_377_766_932_2e2,
    4.720_258_190_468_824_187e1,
    1.0,
];
const MIDDLE_TOP: [f64; 9] = [
    9.842_714_838_383_978_021_8e3,
    1.160_265_143_764_735_012_4e4,
    6.848_190_450_536_282_332_6e3,
    2.494_537_585_290_372_671_1e3,
    5.972_702_763_948_002_622_6e2,
    9.350_665_613_217_785_597_9e1,
    8.883_149_794_388_375_941_2,
    3.989_415_120_881_346_676_4e-1,
    1.076_557_677_372_019_231_7e-8,
];
const MIDDLE_BOTTOM: [f64; 9] = [
    1.968_542_967_685_999_072_7e4,
    3.891_200_328_609_327_141_1e4,
    3.490_095_272_114_597_726_6e4,
    1.861_557_164_088_509_809_1e4,
    6.485_558_298_266_760_755e3,
    1.519_377_599_407_554_805e3,
    2.353_879_017_826_249_986_1e2,
    2.226_668_804_432_811_569_1e1,
    1.0,
];
const FAR_TOP: [f64; 6] = [
    2.911_287_495_116_879_2e-5,
    1.421_619_193_227_893_466e-3,
    2.223_527_787_064_980_7e-2,
    1.274_011_611_602_473_639e-1,
    2.158_985_340_579_569_9e-1,
    2.307_344_176_494_017_303e-2,
];
const FAR_BOTTOM: [f64; 6] = [
    7.297_515_550_839_662_05e-5,
    3.782_396_332_027_582_44e-3,
    6.598_813_786_892_855_15e-2,
    4.682_382_124_808_651_18e-1,
    1.284_260_096_144_911_21,
    1.0,
];
const LN2_HIGH: f64 = 6.931_471_803_691_238_164_90e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_700_02e-10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::rng::Purpose;

    fn close(got: f64, want: f64, relative: f64, what: &str) {
        assert!((got - want).abs() <= relative * want.abs(), "{what}: {got:e} instead of {want:e}");
    }

    #[test]
    fn elementary_functions_are_those_of_the_library() {
        for i in 0..20_000 {
            let x = f64::from(i) * 0.07 - 700.0;
            close(exp(x), x.exp(), 4e-16, "exp");
            close(ln(exp(x)), exp(x).ln(), 4e-16, "ln");
        }
        assert_eq!((ln(1.0), exp(0.0), exp(-800.0), exp(800.0)), (0.0, 1.0, 0.0, f64::INFINITY));
    }

    /// Reference values were computed with mpmath to 40 digits, by `ncdf` and `erfinv`.
    #[test]
    fn values_of_the_normal_distribution() {
        for (x, p) in REFERENCE {
            close(cdf(x), p, 1e-13, "cdf");
            close(quantile(p), x, 1e-13, "quantile");
        }
        assert_eq!((cdf(0.0), quantile(0.5)), (0.5, 0.0));
        assert_eq!((cdf(-40.0), cdf(40.0)), (0.0, 1.0));
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }

    const REFERENCE: [(f64, f64); 6] = [
        (-0.1, 0.460_172_162_722_971_0),
        (-1.0, 0.158_655_253_931_457_05),
        (-2.5, 6.209_665_325_776_132e-3),
        (-6.0, 9.865_876_450_376_98e-10),
        (-8.0, 6.220_960_574_271_785e-16),
        (-20.0, 2.753_624_118_606_234e-89),
    ];

    #[test]
    fn truncated_values_stay_between_the_ends() {
        for (low, high) in [(-1.0, 2.0), (3.0, 4.0), (-9.0, -8.0), (8.0, 9.0), (40.0, 41.0), (-1.0, f64::INFINITY)] {
            let at = |u| truncated_quantile(u, low, high);
            let values: Vec<f64> = (1..200).map(|i| at(f64::from(i) / 200.0)).collect();
            assert!(values.iter().all(|z| (low..=high).contains(z)), "{low} to {high}");
            assert!(values.is_sorted(), "{low} to {high}: {values:?}");
            assert_eq!(at(0.25), -truncated_quantile(0.75, -high, -low), "{low} to {high}: symmetric");
        }
        assert_eq!(truncated_quantile(0.5, 40.0, 41.0), 40.0);
    }

    #[test]
    fn units_have_53_bits() {
        let draw = |lane| Draw { seed: 1, purpose: Purpose::Start, step: 0, lane };
        let mean = (0..10_000).map(|lane| draw(lane).unit()).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!((0..10_000).all(|lane| draw(lane).unit() > 0.0 && draw(lane).unit() < 1.0));
    }
}
