//! Formulas of one step of one key, in f64.

use super::{Constants, state::Key};
use crate::nn::real::Real;

/// Computes the logistic function `1 / (1 + e^-x)`.
#[inline(always)]
pub fn sigmoid<R: Real>(x: f64) -> f64 {
    1.0 / (1.0 + R::exp_wide(-x))
}

/// Computes `ln(1 + e^x)` and its derivative, the logistic function, without overflow.
#[inline(always)]
pub fn softplus<R: Real>(x: f64) -> (f64, f64) {
    let u = R::exp_wide(-x.abs());
    let positive = if x < 0.0 { 0.0 } else { x };
    let numerator = if x > 0.0 { 1.0 } else { u };
    (positive + R::ln_wide(1.0 + u), numerator / (1.0 + u))
}

/// Clamps a value to two bounds. NaN stays NaN.
#[inline(always)]
pub fn clip(x: f64, low: f64, high: f64) -> f64 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// Rounds down to a multiple of 2^-19 (of 2^-48 for f64). Such multiples below 32 are added and subtracted without a
/// rounding error, so that the total number of vesicles is constant to the last bit.
#[inline(always)]
pub fn whole_quanta<R: Real>(x: f64) -> f64 {
    let quantum = 16.0 * R::epsilon().f64();
    // Adding this number rounds to multiples of the quantum.
    let magic = 1.5 / f64::EPSILON * quantum;
    (x - 0.5 * quantum + magic) - magic
}

/// Computes four reciprocals with one division.
#[inline(always)]
fn reciprocals([a, b, c, d]: [f64; 4]) -> [f64; 4] {
    let (ab, cd) = (a * b, c * d);
    let inverse = 1.0 / (ab * cd);
    let (rest_ab, rest_cd) = (inverse * cd, inverse * ab);
    [rest_ab * b, rest_ab * a, rest_cd * d, rest_cd * c]
}

/// Computes `1 + e^-x` with `x` clamped to ±150, so that the product of four such values is finite.
#[inline(always)]
fn denominator<R: Real>(x: f64) -> f64 {
    1.0 + R::exp_wide(-clip(x, -150.0, 150.0))
}

/// Computes the release probability at a concentration of calcium, and its derivative with respect to calcium.
#[inline(always)]
pub fn probability<R: Real>(c: &Constants, calcium: f64, clamp: f64, primed: f64) -> (f64, f64) {
    let [fast, slow, doc2, gate] = reciprocals([
        denominator::<R>(c.syt1.exponent(calcium)),
        denominator::<R>(c.syt7.exponent(calcium)),
        denominator::<R>(c.doc2.exponent(calcium)),
        denominator::<R>(
            c.complexin.k * (calcium - c.complexin.half) - c.complexin.weight * (clamp + c.complexin.bias),
        ),
    ]);
    let sensors = c.syt1.weight * fast + c.syt7.weight * slow + c.doc2.weight * doc2;
    let d_sensors = c.syt1.weight * c.syt1.k * (fast * (1.0 - fast))
        + c.syt7.weight * c.syt7.k * (slow * (1.0 - slow))
        + c.doc2.weight * c.doc2.k * (doc2 * (1.0 - doc2));
    let d_gate = c.complexin.k * (gate * (1.0 - gate));
    let p = sensors * gate * primed;
    let slope = if p < c.vesicles.p_max { primed * (d_sensors * gate + sensors * d_gate) } else { 0.0 };
    (clip(p, 0.0, c.vesicles.p_max), slope)
}

/// Computes the state after a step that released `released` vesicles and left the concentration `calcium`. In the result,
/// `returning` is the number of vesicles that enter the queue. Flows between pools are [`whole_quanta`].
#[inline(always)]
pub fn advance<R: Real>(c: &Constants, key: &Key, calcium: f64, released: f64) -> Key {
    let left = whole_quanta::<R>(released);
    let emptied = clip(key.rrp - left, 0.0, c.vesicles.rrp_max);
    let returned = key.reserve + key.returning;
    let supply = if returned < 1.0 { returned } else { 1.0 };
    let fuel = if c.energy.half > 0.0 { key.energy / (key.energy + c.energy.half) } else { 1.0 };
    // Vesicles for which the pool has no room stay in reserve, and at most the reserve is taken.
    let take = c.vesicles.k_prime * supply * fuel;
    let room = c.vesicles.rrp_max - emptied;
    let take = whole_quanta::<R>(clip(if take > room { room } else { take }, 0.0, returned));
    let returning = if c.vesicles.recycled < 1.0 { whole_quanta::<R>(c.vesicles.recycled * left) } else { left };
    let returning = if c.vesicles.endo_delay == 0 { 0.0 } else { returning };
    let loss = c.snare.unprime * released;
    let energy = key.energy + c.energy.fill * (c.energy.max - key.energy) - c.energy.per_vesicle * released;
    let amplitude =
        key.amplitude + c.amplitude.load * (c.amplitude.target - key.amplitude) - c.amplitude.leak * key.amplitude;
    Key {
        calcium,
        rrp: emptied + take,
        reserve: clip(returned - take, 0.0, f64::INFINITY),
        returning,
        primed: clip(key.primed * (1.0 - loss) + c.snare.k_nsf * (1.0 - key.primed), 0.0, 1.0),
        clamp: clip(c.snare.clamp_retain * key.clamp + (1.0 - c.snare.clamp_retain) - loss, 0.0, 1.0),
        amplitude: clip(amplitude, 0.0, c.amplitude.max),
        energy: clip(energy, 0.0, c.energy.max),
    }
}
