//! Presets: what is not the default. The default is what a user should see.

use crate::sim::Preset;

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

    /// Three fields of phases on every nucleus, which pull at each other.
    pub fn fields() -> Self {
        let mut params = Self::default();
        (params.coupling.fields, params.coupling.between) = (3, 0.2);
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

/// What the menu offers.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "Rules of the origin",
        docs: "As the model was first written down: for regression and comparison.",
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
        docs: "Phases alone: no task, no birth, no death; Lorentz-distributed frequencies and coupling to the mean.",
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
        name: "Three fields of phases",
        docs: "Every nucleus has three phases, coupled by the same fitness and entropy; a fifth of the pull on each comes \
               from the other two. The barrier looks at the first.",
        source: "SODA-QD1102 (2025), its multi-field kernel, made to commute with rotating all phases",
        set: &["coupling.fields=3", "coupling.between=0.2"],
    },
    Preset {
        name: "Birth and death alone",
        docs: "An open barrier and phases that stand still: births and fusions against death.",
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
    fn the_menu_says_what_the_code_says() {
        assert_eq!(preset("Rules"), Params::compat());
        assert_eq!(preset("Kuramoto"), Params::kuramoto(1024));
        assert_eq!(preset("Three"), Params::fields());
        assert_eq!(preset("Birth"), Params::population(0.01));
    }
}
