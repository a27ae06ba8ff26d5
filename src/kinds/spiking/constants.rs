//! Converts user units to model constants. This is the only place where milliseconds become steps and time constants become
//! propagators. Both backends read these constants, so neither evaluates an exponential itself.

use super::params::Lif;
use crate::device_struct;
pub use crate::kinds::shared::real::Real;

/// Maximum interval, in steps, covered by one closed form. A neuron without events is re-anchored every `TABLE` steps.
pub const TABLE: u32 = 1024;

/// The exact solution of the membrane equations `k` steps after the anchor:
/// `u(k) = a u₀ + b g₀ + c I`, `g(k) = d g₀`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Propagator<T> {
    /// Decay of u: `exp(-k dt / τ_m)`.
    pub a: T,
    /// Contribution of g to u.
    pub b: T,
    /// Decay of g: `exp(-k dt / τ_syn)`.
    pub d: T,
    /// Contribution of a constant current to u: `1 - a`.
    pub c: T,
}

/// Constants of the LIF model, with the time step folded in.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants<T> {
    /// Propagators for `k = 0 ..= TABLE` steps.
    pub propagators: Box<[Propagator<T>; TABLE as usize + 1]>,
    /// Threshold relative to rest, mV.
    pub theta: T,
    /// u after a spike, mV, relative to rest.
    pub u_reset: T,
    /// Increment of g per synapse, mV.
    pub w_syn: T,
    /// `dt / τ_m`: u rises per step by at most `dt / τ_m` times `I + g - u`.
    pub dt_per_tau_m: T,
    /// Maximum over time of the contribution of g = 1 to u.
    pub b_peak: T,
    /// Bound on the relative rounding error of u, with a wide margin; part of the threshold bound.
    pub slack: T,
    /// Steps from a spike to the next integration, at least 1.
    pub refractory: u32,
    /// Steps from a spike to its effect on g, at least 1.
    pub delay: u32,
    /// Resting potential, mV: `v = v_rest + u`.
    pub v_rest: f64,
    /// Time step, ms.
    pub dt_ms: f64,
}

device_struct! {
    /// Constants of the LIF neuron
    pub struct LifConstants {
        /// Threshold above rest, mV
        theta: f64,
        /// u after a spike, mV
        u_reset: f64,
        /// Increase of g per synapse, mV
        w_syn: f64,
        /// dt / tau_m
        dt_per_tau_m: f64,
        /// Largest contribution of a unit of g to u
        b_peak: f64,
        /// Bound on rounding errors of u
        slack: f64,
        /// Resting potential, mV
        v_rest: f64,
    }
}

impl<T: Real> Constants<T> {
    /// Returns the constants as read by kernels, in double precision; narrowing them is exact.
    pub fn on_device(&self) -> LifConstants {
        LifConstants {
            theta: self.theta.wide(),
            u_reset: self.u_reset.wide(),
            w_syn: self.w_syn.wide(),
            dt_per_tau_m: self.dt_per_tau_m.wide(),
            b_peak: self.b_peak.wide(),
            slack: self.slack.wide(),
            v_rest: self.v_rest,
        }
    }
}

/// Converts a time in ms to steps.
pub fn steps_from_ms(ms: f64, dt_ms: f64) -> u64 {
    crate::params::schedule::steps(ms, dt_ms)
}

impl Lif {
    /// Converts the parameters to constants per time step.
    pub fn derive<T: Real>(&self) -> Constants<T> {
        let leak = 1.0 - propagator(self, f64::from(TABLE) * self.dt).a;
        Constants {
            propagators: Box::new(std::array::from_fn(|k| propagator(self, k as f64 * self.dt).narrow())),
            theta: T::of(self.v_threshold - self.v_rest),
            u_reset: T::of(self.v_reset - self.v_rest),
            w_syn: T::of(self.w_syn),
            dt_per_tau_m: T::of(self.dt / self.tau_m),
            b_peak: T::of(b_peak(self) * (1.0 + 1e-6)),
            slack: T::of(64.0 * T::EPSILON / leak.max(1e-6)),
            refractory: steps_from_ms(self.t_refractory, self.dt).clamp(1, 1 << 30) as u32,
            delay: steps_from_ms(self.t_delay, self.dt).clamp(1, 1 << 24) as u32,
            v_rest: self.v_rest,
            dt_ms: self.dt,
        }
    }
}

/// Returns the propagator over `t_ms`. `b` is written with `expm1`, so that it stays exact if the two time constants are nearly
/// or exactly equal: `b(t) = e^(-t/τ) (t/τ_m) φ(y)`, τ the longer of the two, `y = t |1/τ_syn - 1/τ_m|`, `φ(y) = (1 - e^-y)/y`,
/// `φ(0) = 1`.
fn propagator(lif: &Lif, t_ms: f64) -> Propagator<f64> {
    let a = (-t_ms / lif.tau_m).exp();
    let d = (-t_ms / lif.tau_syn).exp();
    let y = t_ms * (lif.tau_m - lif.tau_syn).abs() / (lif.tau_m * lif.tau_syn);
    let phi = if y == 0.0 { 1.0 } else { -(-y).exp_m1() / y };
    Propagator { a, b: a.max(d) * (t_ms / lif.tau_m) * phi, d, c: 1.0 - a }
}

/// Returns the maximum of b over time, where `db/dt = 0`.
fn b_peak(lif: &Lif) -> f64 {
    let gap = lif.tau_m - lif.tau_syn;
    let t = if gap.abs() < 1e-9 * lif.tau_m {
        lif.tau_m
    } else {
        (lif.tau_m / lif.tau_syn).ln() * lif.tau_m * lif.tau_syn / gap
    };
    propagator(lif, t).b
}

impl Propagator<f64> {
    fn narrow<T: Real>(self) -> Propagator<T> {
        Propagator { a: T::of(self.a), b: T::of(self.b), d: T::of(self.d), c: T::of(self.c) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brian_s_numbers() {
        let c = Lif::default().derive::<f64>();
        let one = c.propagators[1];
        assert!((one.d - 0.980_198_673_306_755).abs() < 1e-15);
        assert!((one.a - 0.995_012_479_192_682).abs() < 1e-15);
        assert!((one.b - 0.004_937_935_295_309).abs() < 1e-15);
        assert_eq!((c.refractory, c.delay), (22, 18));
        let peak = c.propagators.iter().map(|p| p.b).fold(0.0, f64::max);
        assert!((peak - 0.1575).abs() < 1e-4 && c.b_peak >= peak && c.b_peak < peak * 1.0001);
    }

    #[test]
    fn equal_time_constants_are_the_limit() {
        let at = |tau_syn: f64| Lif { tau_syn, ..Lif::default() }.derive::<f64>().propagators[200].b;
        let exact = (200.0 * 0.1 / 20.0) * (-1.0_f64).exp();
        assert!((at(20.0) - exact).abs() < 1e-15);
        assert!((at(20.0 + 1e-9) - exact).abs() < 1e-9);
    }

    #[test]
    fn steps_are_counted_as_brian2_does() {
        assert_eq!(steps_from_ms(2.2, 0.1), 22);
        assert_eq!(steps_from_ms(1.8, 0.1), 18);
        assert_eq!(steps_from_ms(0.0, 0.1), 0);
        assert_eq!(steps_from_ms(0.25, 0.1), 2);
    }
}
