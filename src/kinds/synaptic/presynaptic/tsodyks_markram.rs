//! Short-term plasticity after Tsodyks and Markram (PNAS 94:719, 1997), with spikes of graded weight.
//!
//! Between two queries, one step apart, resources `x` recover and their use `u` decays, exactly:
//! `x ← 1 - (1 - x)·e^(-1/tau_rec)`, `u ← U + (u - U)·e^(-1/tau_facil)`. A query is a spike of weight `w = sg(dot)`: its
//! effect is `e = scale·w·u·x`, then `x -= w·u·x` and `u += w·U·(1 - u)`, in this order (Brian's). With `w = 1` this is the
//! published model, and `x` stays in [0, 1].

use super::{constants::ResourceConstants, step::softplus};
use crate::nn::real::Real;

/// Resources of one key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resources {
    /// Available resources, 1 when fully recovered.
    pub x: f64,
    /// Share of the available resources that a spike of weight 1 uses.
    pub u: f64,
}

/// Computes the factors of one step: the remaining shares of `1 - x` and of `u - U`.
pub fn decay(c: &ResourceConstants) -> [f64; 2] {
    [c.tau_rec, c.tau_facil].map(|tau| if tau > 0.0 { (-1.0 / tau).exp() } else { 0.0 })
}

/// Advances the resources by one step without a spike.
#[inline(always)]
pub fn relax(c: &ResourceConstants, [recovery, facilitation]: [f64; 2], k: Resources) -> Resources {
    Resources { x: 1.0 - (1.0 - k.x) * recovery, u: c.u + (k.u - c.u) * facilitation }
}

/// Applies a spike of a given weight. Returns the effect and the resources after the spike.
#[inline(always)]
pub fn spike(c: &ResourceConstants, k: Resources, weight: f64) -> (f64, Resources) {
    let used = weight * k.u * k.x;
    (c.scale * used, Resources { x: k.x - used, u: k.u + weight * c.u * (1.0 - k.u) })
}

/// Computes the weight of the spike of a drive, and its derivative.
#[inline(always)]
pub fn weight<R: Real>(drive: f64) -> (f64, f64) {
    let (_, w) = softplus::<R>(drive);
    (w, w * (1.0 - w))
}
