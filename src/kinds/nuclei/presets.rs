//! Presets: differences from the defaults.

use super::{
    choices::{
        ChildBase, CouplingMethod, CouplingNorm, Dynamics, Frequencies, FuseKey, Integrator, OrderUsed, TaskSource,
    },
    params::Params,
};
use crate::sim::Preset;

impl Params {
    /// Returns the rules of the original model, with a normalised order parameter, for regression tests and comparison.
    pub fn compat() -> Self {
        let mut params = Self::default();
        (params.population.sigma, params.population.death_rate) = (0.01, 0.0);
        (params.population.fuse_key, params.population.child_base) = (FuseKey::Entropy, ChildBase::Fused);
        (params.tunnelling.hbar, params.tunnelling.seen) = (1.0, OrderUsed::Global);
        params.phases.substeps = 1;
        params
    }

    /// Returns a preset with phases only: the classical Kuramoto model with `n` oscillators.
    pub fn kuramoto(n: u32) -> Self {
        let mut params = Self::default();
        params.task.source = TaskSource::Nothing;
        params.task.n_inputs = 1;
        let population = &mut params.population;
        (population.n_start, population.capacity) = (n, n);
        (population.k_worst, population.m_fuse, population.death_rate) = (0, 0, 0.0);
        let phases = &mut params.phases;
        (phases.integrator, phases.norm, phases.substeps) = (Integrator::Rk4, CouplingNorm::Number, 1);
        (phases.frequencies, phases.omega_scale) = (Frequencies::LorentzQuantiles, 1.0);
        params.coupling.method = CouplingMethod::MeanField;
        params
    }

    /// Returns a preset with three coupled phase fields per nucleus.
    pub fn fields() -> Self {
        let mut params = Self::default();
        (params.coupling.fields, params.coupling.between) = (3, 0.2);
        params
    }

    /// Returns a preset with population only, without a barrier: births and fusions against deaths at `death_rate`.
    pub fn population(death_rate: f64) -> Self {
        let mut params = Self::default();
        params.task.source = TaskSource::Nothing;
        params.task.n_inputs = 1;
        params.population.death_rate = death_rate;
        params.tunnelling.r_threshold = 0.0;
        params.phases.dynamics = Dynamics::Still;
        params
    }
}

/// Presets in the order of the menu.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "Original SODA-QD1102 rules",
        docs: "The rules of the first publication: for regression tests and comparison.",
        source: "SODA-QD1102 (2025)",
        set: &[
            "population.sigma=0.01",
            "population.death_rate=0",
            "population.fuse_key=Entropy",
            "population.child_base=Fused",
            "tunnelling.hbar=1",
            "tunnelling.seen=Global",
            "phases.substeps=1",
        ],
    },
    Preset {
        name: "Kuramoto, 1024 oscillators",
        docs: "Phases only: no task, births or deaths; Lorentz-distributed frequencies and mean-field coupling.",
        source: "Kuramoto 1975, Self-entrainment of a population of coupled non-linear oscillators",
        set: &[
            "task.source=Nothing",
            "task.n_inputs=1",
            "population.n_start=1024",
            "population.capacity=1024",
            "population.k_worst=0",
            "population.m_fuse=0",
            "population.death_rate=0",
            "phases.integrator=Rk4",
            "phases.norm=Number",
            "phases.substeps=1",
            "phases.frequencies=LorentzQuantiles",
            "phases.omega_scale=1",
            "coupling.method=MeanField",
        ],
    },
    Preset {
        name: "Three phase fields",
        docs: "Every nucleus has three phases with the same coupling J; a fifth of the coupling of each field comes \
               from the other two. The barrier uses the first field.",
        source: "SODA-QD1102 (2025), its multi-field kernel, made invariant under rotation of all phases",
        set: &["coupling.fields=3", "coupling.between=0.2"],
    },
    Preset {
        name: "Births and deaths only",
        docs: "No barrier and constant phases: births and fusions against death.",
        source: "Gillespie 1977, Exact stochastic simulation of coupled chemical reactions",
        set: &[
            "task.source=Nothing",
            "task.n_inputs=1",
            "population.death_rate=0.01",
            "tunnelling.r_threshold=0",
            "phases.dynamics=Still",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params as _, path};

    fn preset(name: &str) -> Params {
        let preset = PRESETS.iter().find(|p| p.name.starts_with(name)).unwrap();
        let mut params = Params::default();
        for text in preset.set {
            let change = path::parse(&params, text).unwrap();
            assert!(params.set(&change));
        }
        params
    }

    #[test]
    fn presets_equal_their_constructors() {
        assert_eq!(preset("Original"), Params::compat());
        assert_eq!(preset("Kuramoto"), Params::kuramoto(1024));
        assert_eq!(preset("Three"), Params::fields());
        assert_eq!(preset("Births"), Params::population(0.01));
    }
}
