use super::*;

/// Every `step`-th f32 between two values, with both signs if `negative`.
fn numbers(from: f32, to: f32, step: u32, negative: bool) -> Vec<f32> {
    let positive = (from.to_bits()..=to.to_bits()).step_by(step as usize).map(f32::from_bits);
    positive.flat_map(|x| [x, if negative { -x } else { x }]).collect()
}

/// Maximum error, in units in the last place of an f32.
fn worst(x: &[f32], f: fn(&mut [f32]), exact: impl Fn(f64) -> f64) -> f64 {
    let mut y = x.to_vec();
    f(&mut y);
    let off = |(x, y): (&f32, &f32)| {
        let want = exact(f64::from(*x));
        if f64::from(*y) == want || (want.is_infinite() && y.is_infinite()) || want.abs() > f64::from(f32::MAX) {
            return 0.0;
        }
        let size = (want.abs() as f32).max(f32::MIN_POSITIVE);
        let unit = f64::from(f32::from_bits(size.to_bits() + 1)) - f64::from(size);
        (f64::from(*y) - want).abs() / unit
    };
    x.iter().zip(&y).map(off).fold(0.0, f64::max)
}

#[test]
fn vector_functions_are_within_two_units_in_the_last_place() {
    let step = 49_999;
    let cases: [(&str, f64, f64); 4] = [
        ("exp", worst(&numbers(1e-30, 120.0, step, true), vexp, f64::exp), 0.51),
        ("tanh", worst(&numbers(1e-40, 30.0, step, true), vtanh, f64::tanh), 0.51),
        ("erf", worst(&numbers(1e-40, 8.0, step, true), verf, math::erf_f64), 0.51),
        ("ln", worst(&numbers(1e-45, f32::MAX, step, false), vln, f64::ln), 0.51),
    ];
    for (name, worst, limit) in cases {
        assert!(worst <= limit, "{name}: {worst}");
    }
    let erfc = |x: &mut [f32]| x.iter_mut().for_each(|x| *x = math::erfc(f64::from(*x)) as f32);
    let off = worst(&numbers(1e-40, 9.0, step, true), erfc, math::erfc_f64);
    assert!(off <= 0.51, "erfc: {off}");
    // Values near the points where functions change their formula.
    let near = |x: f32| numbers(x * 0.999, x * 1.001, 7, true);
    assert!(worst(&near(1.0), verf, math::erf_f64) <= 0.51 && worst(&near(1.0 / 65_536.0), vtanh, f64::tanh) <= 0.51);
    for middle in [1.0, std::f32::consts::FRAC_1_SQRT_2, std::f32::consts::SQRT_2] {
        assert!(worst(&numbers(middle * 0.999, middle * 1.001, 7, false), vln, f64::ln) <= 0.51);
    }
}

#[test]
fn vector_functions_have_limits() {
    let at = |f: fn(&mut [f32]), x: f32| {
        let mut x = [x; 3];
        f(&mut x);
        x[1]
    };
    let inf = f32::INFINITY;
    assert_eq!(
        [at(vexp, inf), at(vexp, -inf), at(vexp, 0.0), at(vexp, 89.0), at(vexp, -104.0)],
        [inf, 0.0, 1.0, inf, 0.0]
    );
    assert_eq!([at(vtanh, inf), at(vtanh, -inf), at(verf, inf), at(verf, -inf)], [1.0, -1.0, 1.0, -1.0]);
    assert_eq!([at(vln, 0.0), at(vln, 1.0), at(vln, inf)], [-inf, 0.0, inf]);
    for f in [vexp, vtanh, verf, vln] {
        assert!(at(f, f32::NAN).is_nan());
    }
    assert!(at(vln, -1.0).is_nan());
    for zero in [0.0_f32, -0.0] {
        assert_eq!([at(vtanh, zero), at(verf, zero)].map(f32::to_bits), [zero.to_bits(); 2]);
    }
}

/// Pins the bits of a few results: they must not change with machine, instruction set or compiler.
#[test]
fn vector_functions_have_these_bits() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for f in [vexp, vtanh, verf, vln] {
        let mut x: Vec<f32> = (0..1003).map(|i| (i as f32 - 300.0) * 0.0173).collect();
        f(&mut x);
        for x in x.iter().filter(|x| !x.is_nan()) {
            hash = (hash ^ u64::from(x.to_bits())).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(hash, 0xbb3a_c013_1121_acd2, "{hash:#x}");
}

#[test]
fn a_sum_has_one_order() {
    for n in [0, 1, 15, 16, 17, 1000] {
        let x: Vec<f32> = (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect();
        let mut lanes = [0.0_f64; LANES];
        x.iter().enumerate().for_each(|(i, x)| lanes[i % LANES] += f64::from(*x));
        for half in [8, 4, 2, 1] {
            (0..half).for_each(|l| lanes[l] += lanes[l + half]);
        }
        let [sum, squares] = wide(|| sums([&x[..]], |[x]| [x, x * x]));
        assert_eq!(sum.to_bits(), lanes[0].to_bits(), "{n}");
        let want: f64 = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        assert!((squares - want).abs() <= 1e-12 * want);
        assert_eq!(wide(|| max(&x)), x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    }
}

#[test]
fn the_double_error_function_is_exact() {
    // Values from Abramowitz and Stegun, table 7.1.
    for (x, y) in [(0.5, 0.520_499_877_813_046_5), (1.0, 0.842_700_792_949_714_9), (2.0, 0.995_322_265_018_952_7)] {
        assert!((math::erf_f64(x) - y).abs() < 4e-16 && math::erf_f64(-x) == -math::erf_f64(x));
    }
    assert_eq!([math::erf_f64(7.0), math::erf_f64(0.0)], [1.0, 0.0]);
    for (x, y) in [(2.0, 0.004_677_734_981_047_266), (4.0, 1.541_725_790_028_002e-8), (-3.0, 1.999_977_909_503_001_4)] {
        assert!((math::erfc_f64(x) / y - 1.0).abs() < 1e-13, "{x}: {}", math::erfc_f64(x));
    }
}
