//! The normal distribution in double precision, from IEEE additions, products, quotients and roots only: the same bits
//! on every platform and for every number of threads.

#![expect(clippy::excessive_precision, reason = "published coefficients")]

use super::rng::Draw;

impl Draw {
    /// Uniform in `(0, 1)`: the first 53 of its bits, both ends excluded.
    pub const fn unit(self) -> f64 {
        let [high, low, ..] = self.words();
        let bits = ((high as u64) << 32 | low as u64) >> 11;
        (bits as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// Probability that a standard normal variable is at most `x`: Cody's rational approximations (1969), relative error below
/// 7e-16 where `x` is negative. It is 0 below -37.
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
    // The square of the leading digits is exact.
    let leading = (y * 16.0).trunc() / 16.0;
    let tail = exp(-leading * leading * 0.5) * exp(-(y - leading) * (y + leading) * 0.5) * ratio;
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// The value that a standard normal variable exceeds with probability `1 - p`: Wichura's PPND16 (AS 241, 1988), relative
/// error about 1e-16. The ends are infinite.
pub fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * horner(r, &A) / horner(r, &B);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-ln(tail)).sqrt();
    let z =
        if r <= 5.0 { horner(r - 1.6, &C) / horner(r - 1.6, &D) } else { horner(r - 5.0, &E) / horner(r - 5.0, &F) };
    z.copysign(q)
}

/// The value of a standard normal variable between `low` and `high` that is reached with probability `u` of the part
/// between them: the inverse of the truncated distribution (Devroye 1986, section II.2.2). Both tails keep their relative
/// precision. Where no probability is left, beyond 37, it is the end nearest to 0.
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

/// Natural logarithm of a positive normal number (fdlibm `e_log.c`, error below 1 ulp).
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

/// Exponential function (fdlibm `e_exp.c`, error below 1 ulp). 0 below -708, infinite above 709.
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

const A: [f64; 8] = [
    3.387_132_872_796_366_608_0,
    1.331_416_678_917_843_774_5e2,
    1.971_590_950_306_551_442_7e3,
    1.373_169_376_550_946_112_5e4,
    4.592_195_393_154_987_145_7e4,
    6.726_577_092_700_870_085_3e4,
    3.343_057_558_358_812_810_5e4,
    2.509_080_928_730_122_672_7e3,
];
const B: [f64; 8] = [
    1.0,
    4.231_333_070_160_091_125_2e1,
    6.871_870_074_920_579_083_0e2,
    5.394_196_021_424_751_107_7e3,
    2.121_379_430_158_659_586_7e4,
    3.930_789_580_009_271_061_0e4,
    2.872_908_573_572_194_267_4e4,
    5.226_495_278_852_854_561_0e3,
];
const C: [f64; 8] = [
    1.423_437_110_749_683_577_34,
    4.630_337_846_156_545_295_90,
    5.769_497_221_460_691_405_50,
    3.647_848_324_763_204_605_04,
    1.270_458_252_452_368_382_58,
    2.417_807_251_774_506_117_70e-1,
    2.272_384_498_926_918_458_33e-2,
    7.745_450_142_783_414_076_40e-4,
];
const D: [f64; 8] = [
    1.0,
    2.053_191_626_637_758_821_87,
    1.676_384_830_183_803_849_40,
    6.897_673_349_851_000_045_50e-1,
    1.481_039_764_274_800_745_90e-1,
    1.519_866_656_361_645_719_66e-2,
    5.475_938_084_995_344_946_00e-4,
    1.050_750_071_644_416_843_24e-9,
];
const E: [f64; 8] = [
    6.657_904_643_501_103_777_20,
    5.463_784_911_164_114_369_90,
    1.784_826_539_917_291_335_80,
    2.965_605_718_285_048_912_30e-1,
    2.653_218_952_657_612_309_30e-2,
    1.242_660_947_388_078_438_60e-3,
    2.711_555_568_743_487_578_15e-5,
    2.010_334_399_292_288_132_65e-7,
];
const F: [f64; 8] = [
    1.0,
    5.998_322_065_558_879_376_90e-1,
    1.369_298_809_227_358_053_10e-1,
    1.487_536_129_085_061_485_25e-2,
    7.868_691_311_456_132_591_00e-4,
    1.846_318_317_510_054_681_80e-5,
    1.421_511_758_316_445_888_70e-7,
    2.044_263_103_389_939_785_64e-15,
];

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

    /// Reference values: 40 digits with mpmath, `ncdf` and `erfinv`.
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
