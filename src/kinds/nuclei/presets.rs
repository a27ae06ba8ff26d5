//! Presets: what is not the default. The default is what a user should see.

use super::{ChildBase, Dynamics, Frequencies, FuseKey, Integrator, Method, Norm, OrderSeen, Params, Source};

impl Params {
    /// The rules of the origin, with the order parameter normalised: for regression and comparison.
    pub fn compat() -> Self {
        let mut params = Self::default();
        (params.population.sigma, params.population.death_rate) = (0.01, 0.0);
        (params.population.fuse_key, params.population.child_base) = (FuseKey::Entropy, ChildBase::Fused);
        (params.tunnelling.hbar, params.tunnelling.seen) = (1.0, OrderSeen::Global);
        params.phases.substeps = 1;
        params
    }

    /// Phases alone: the classical model of Kuramoto with this many oscillators.
    pub fn kuramoto(n: u32) -> Self {
        let mut params = Self::default();
        params.task.source = Source::Nothing;
        params.task.n_inputs = 1;
        let population = &mut params.population;
        (population.n_start, population.capacity) = (n, n);
        (population.k_worst, population.m_fuse, population.death_rate) = (0, 0, 0.0);
        let phases = &mut params.phases;
        (phases.integrator, phases.norm, phases.substeps) = (Integrator::Rk4, Norm::Number, 1);
        (phases.frequencies, phases.omega_scale) = (Frequencies::LorentzQuantiles, 1.0);
        params.coupling.method = Method::MeanField;
        params
    }

    /// The population alone, with an open barrier: births and fusions against death at this rate.
    pub fn population(death_rate: f64) -> Self {
        let mut params = Self::default();
        params.task.source = Source::Nothing;
        params.task.n_inputs = 1;
        params.population.death_rate = death_rate;
        params.tunnelling.r_threshold = 0.0;
        params.phases.dynamics = Dynamics::Still;
        params
    }
}
