//! Parameters of a nuclei project. Formulas are documented where they are used: [`tunnelling`](super::tunnelling),
//! [`cpu`](super::cpu).

use super::choices::{
    Barrier, ChildBase, CouplingMethod, CouplingNorm, Dynamics, FitnessMethod, Frequencies, FuseKey, Integrator,
    Mixing, OrderUsed, OutputFunction, SentPhase, Storage, TaskSource,
};
use crate::{
    interventions,
    kinds::shared::real::StatePrecision,
    param_tree, params,
    params::{PathText, Selection},
};

params! {
    /// Fitness task: mean squared error f_j = (1/B) Σ_b (x_b·w_j - y_b)² of a nucleus' weights; lower is better.
    pub struct Task {
        /// Source of inputs and targets.
        #[param(title = "Task source", apply = Rebuild)]
        source: TaskSource = TaskSource::Toy,

        /// Table with one column per input and one for the target, or a NumPy archive with X (B × D) and y (B).
        #[param(title = "Data file", apply = Data)]
        #[show_if(|s| s.source == TaskSource::File)]
        path: PathText = PathText::default(),

        /// Column of the table that holds the target. All other columns are inputs.
        #[param(title = "Target column", apply = Rebuild)]
        #[show_if(|s| s.source == TaskSource::File)]
        target: String = "y".to_owned(),

        /// Samples B of the generated task.
        #[param(title = "Samples", range = 8.0..=4096.0, hard = 1.0..=1_048_576.0, scale = Log, apply = Rebuild, symbol = "B")]
        #[show_if(|s| s.source == TaskSource::Toy)]
        n_samples: u32 = 64,

        /// Inputs D. Without a task, the number of weights of a nucleus.
        #[param(title = "Inputs", range = 1.0..=128.0, hard = 1.0..=4096.0, scale = Log, apply = Rebuild, symbol = "D")]
        #[show_if(|s| s.source != TaskSource::File)]
        n_inputs: u32 = 20,

        /// Standard deviation of the noise added to the targets X w of the generated task. Its square is about the
        /// lowest error that can be reached.
        #[param(title = "Target noise", range = 0.0..=1.0, hard = 0.0..=1000.0, apply = Rebuild)]
        #[show_if(|s| s.source == TaskSource::Toy)]
        noise: f64 = 0.04,

        /// Output of a nucleus for an input x.
        #[param(title = "Output function")]
        #[show_if(|s| s.source != TaskSource::Nothing)]
        answer: OutputFunction = OutputFunction::Linear,

        /// Algorithm of the error. Direct and compressed agree up to rounding.
        #[param(title = "Error method")]
        #[show_if(|s| s.source != TaskSource::Nothing)]
        method: FitnessMethod = FitnessMethod::Auto,

        /// Number format that weights are rounded to before they are evaluated.
        #[param(title = "Weight storage")]
        #[show_if(|s| s.source != TaskSource::Nothing)]
        storage: Storage = Storage::Full,

        /// Learning rate η of one gradient step per generation, before the evaluation: w -= (2η/B) Xᵀ(X w - y). Stable
        /// below 1 / the largest eigenvalue of XᵀX/B. With 0 there is selection only.
        #[param(title = "Learning rate", range = 0.0..=0.5, hard = 0.0..=1000.0, symbol = "η")]
        #[show_if(|s| s.source != TaskSource::Nothing)]
        learning_rate: f64 = 0.0,
    }
}

params! {
    /// Population dynamics: fusion, decay, and death of nuclei.
    pub struct Population {
        /// Nuclei at step 0; at most the capacity.
        #[param(title = "Initial population", range = 8.0..=262_144.0, hard = 1.0..=4_194_304.0, scale = Log, apply = Rewind)]
        n_start: u32 = 128,

        /// Slots of the population's table, which never grows: the maximum number of nuclei. An offspring without a free
        /// slot is counted as overflow.
        #[param(title = "Capacity", range = 8.0..=262_144.0, hard = 1.0..=4_194_304.0, scale = Log, apply = Rebuild, symbol = "N_max")]
        capacity: u32 = 1024,

        /// Standard deviation of the weights at step 0.
        #[param(title = "Initial weight scale", range = 0.0..=1.0, hard = 0.0..=1000.0, apply = Rewind)]
        weight_scale: f64 = 0.3,

        /// Number of least fit nuclei that may decay in a generation.
        #[param(title = "Decay count", range = 0.0..=64.0, hard = 0.0..=4_194_304.0, symbol = "k")]
        k_worst: u32 = 3,

        /// Decay count as a fraction of the population, rounded up. The larger of the two counts is used.
        #[param(title = "Decay fraction", range = 0.0..=0.1, hard = 0.0..=1.0)]
        worst_share: f64 = 0.0,

        /// Nuclei that fuse into one. Below 2 there is no fusion.
        #[param(title = "Fusion size", range = 0.0..=16.0, hard = 0.0..=4_194_304.0, symbol = "m")]
        m_fuse: u32 = 4,

        /// Offspring per decay in addition to the decaying nucleus, which is renewed: one becomes 1 + c.
        #[param(title = "Offspring per decay", range = 0.0..=16.0, hard = 0.0..=65_536.0, symbol = "c")]
        #[show_if(Self::can_decay)]
        c_new: u32 = 3,

        /// Standard deviation of the mutation added to each weight of an offspring.
        #[param(title = "Mutation scale", range = 0.0..=0.5, hard = 0.0..=1000.0, symbol = "σ")]
        #[show_if(Self::can_decay)]
        sigma: f64 = 0.05,

        /// Key that ranks nuclei for fusion: the m nuclei with the highest key fuse.
        #[param(title = "Fusion criterion")]
        #[show_if(Self::can_fuse)]
        fuse_key: FuseKey = FuseKey::Hybrid,

        /// Weights that offspring are mutated from.
        #[param(title = "Parent of offspring")]
        #[show_if(Self::can_decay)]
        child_base: ChildBase = ChildBase::Best,

        /// Death rate λ per generation: a nucleus that neither decays nor fuses dies with probability 1 - e^{-λ}.
        #[param(title = "Death rate", range = 0.0..=0.1, hard = 0.0..=100.0, symbol = "λ")]
        death_rate: f64 = 0.01,

        /// Fusion and death never reduce the population below this number.
        #[param(title = "Minimum population", range = 0.0..=64.0, hard = 0.0..=4_194_304.0, symbol = "N_min")]
        #[show_if(|s| s.can_fuse() || s.death_rate > 0.0)]
        n_min: u32 = 8,

        /// Attempts per generation ν·Δt: events occur with probability 1 - e^{-νΔt P} (tau leaping, after Gillespie 1977).
        /// With 0 the probability is P itself.
        #[param(title = "Attempts per generation", range = 0.0..=4.0, hard = 0.0..=1000.0, symbol = "νΔt")]
        #[show_if(|s| s.can_fuse() || s.can_decay())]
        attempts_per_step: f64 = 0.0,

        /// Precision of the state. A GPU computes in single precision only.
        #[param(title = "Precision", apply = Rebuild)]
        precision: StatePrecision = StatePrecision::F32,
    }
}

params! {
    /// Tunnelling: probability P(R) of fusion and decay as a function of the order parameter R. P = C from the threshold
    /// on.
    pub struct Tunnelling {
        /// Order parameter at which the barrier vanishes.
        #[param(title = "Order threshold", range = 0.0..=1.0, hard = -1000.0..=1000.0, symbol = "R_th")]
        r_threshold: f64 = 0.78,

        /// Probability without a barrier. P is limited to 1.
        #[param(title = "Prefactor", range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "C")]
        prefactor: f64 = 1.0,

        /// Effective Planck constant: smaller values make tunnelling rarer. With the other defaults P(0) is 0.21 for ħ = 1
        /// and 1.7e-7 for ħ = 0.1.
        #[param(title = "Planck constant", range = 0.05..=2.0, hard = 0.001..=1000.0, scale = Log, symbol = "ħ")]
        hbar: f64 = 0.5,

        /// Width of the barrier.
        #[param(title = "Barrier width", range = 0.0..=4.0, hard = 0.0..=1000.0, symbol = "ΔR")]
        width: f64 = 1.0,

        /// Order parameter in the probability of decay. Fusion always uses the global order r.
        #[param(title = "Order parameter used")]
        seen: OrderUsed = OrderUsed::Local,

        /// Shape of the barrier.
        #[param(title = "Barrier shape")]
        barrier: Barrier = Barrier::Linear,

        /// Mass of the tunnelling particle.
        #[param(title = "Mass", range = 0.1..=10.0, hard = 0.0..=1e6, scale = Log, symbol = "m")]
        #[show_if(|s| s.barrier == Barrier::SquareRoot)]
        mass: f64 = 1.0,
    }
}

params! {
    /// Phase dynamics: phases φ of the nuclei in radians. Their time is dimensionless; the frequencies set its scale.
    pub struct Phases {
        /// Equation of motion of the phases.
        #[param(title = "Dynamics")]
        dynamics: Dynamics = Dynamics::Kuramoto,

        /// Integration scheme.
        #[param(title = "Integrator")]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        integrator: Integrator = Integrator::Euler,

        /// Coupling strength K. Keep K·dt below 0.1.
        #[param(title = "Coupling strength", range = 0.0..=10.0, hard = -1000.0..=1000.0, symbol = "K")]
        #[show_if(|s| s.dynamics != Dynamics::Still)]
        coupling: f64 = 1.0,

        /// Time step of a substep.
        #[param(title = "Time step", range = 0.001..=0.2, hard = 0.0..=10.0, scale = Log, symbol = "dt")]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        dt: f64 = 0.05,

        /// Substeps per generation. Fitness and entropy are constant during the substeps.
        #[param(title = "Substeps per generation", range = 0.0..=64.0, hard = 0.0..=65_536.0)]
        #[show_if(|s| s.dynamics != Dynamics::Still)]
        substeps: u32 = 2,

        /// Divisor of the coupling sum.
        #[param(title = "Coupling norm")]
        #[show_if(|s| matches!(s.dynamics, Dynamics::Kuramoto | Dynamics::QkmCovariant))]
        norm: CouplingNorm = CouplingNorm::Row,

        /// Diffusion coefficient D_n of the phase noise: every substep adds √(2 D_n dt) times a standard normal number.
        #[param(title = "Phase noise", range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "D_n")]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        noise: f64 = 0.0,

        /// Distribution of the natural frequencies. They belong to the slots of the table, not to the nuclei.
        #[param(title = "Natural frequencies")]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        frequencies: Frequencies = Frequencies::Normal,

        /// Factor of the natural frequencies.
        #[param(title = "Frequency scale", range = 0.0..=2.0, hard = -1000.0..=1000.0)]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        omega_scale: f64 = 0.1,
    }
}

params! {
    /// Coupling J_jk between nuclei: strongest between nuclei of similar fitness and entropy.
    pub struct Coupling {
        /// Algorithm of the coupling sums. All but MeanField, Scan1d and Sparse agree up to rounding.
        #[param(title = "Algorithm")]
        method: CouplingMethod = CouplingMethod::Auto,

        /// Pairs with J below this value are skipped.
        #[param(title = "Sparse cutoff", range = 1e-9..=0.1, hard = 1e-30..=1.0, scale = Log)]
        #[show_if(|s| s.method == CouplingMethod::Sparse)]
        sparse_cutoff: f64 = 1e-4,

        /// NumPy archive with J, N_max × N_max: effect of the nucleus in slot k on the nucleus in slot j, at least 0.
        /// Without a file J is computed from fitness and entropy.
        #[param(title = "Coupling matrix file", apply = Rebuild)]
        #[show_if(|s| s.method == CouplingMethod::Dense)]
        matrix: PathText = PathText::default(),

        /// Number of phases of every nucleus (phase fields), coupled by the same J. The barrier uses the first.
        #[param(title = "Phase fields", range = 1.0..=8.0, hard = 1.0..=8.0, apply = Rebuild, symbol = "F")]
        fields: u32 = 1,

        /// Coupling G between the phase fields.
        #[param(title = "Field coupling")]
        #[show_if(|s| s.fields > 1)]
        mixing: Mixing = Mixing::Even,

        /// Fraction of the coupling that comes from the other fields: with 0 fields are independent, with 1 - 1/F all
        /// fields have equal weight.
        #[param(title = "Coupling between fields", range = 0.0..=1.0, hard = 0.0..=1.0, symbol = "g")]
        #[show_if(|s| s.fields > 1 && s.mixing == Mixing::Even)]
        between: f64 = 0.2,

        /// Softmax temperature τ of the embedded field coupling: 0.07 makes most fields nearly independent, 1 couples all
        /// nearly equally.
        #[param(title = "Softmax temperature", range = 0.01..=1.0, hard = 0.001..=1000.0, scale = Log, symbol = "τ")]
        #[show_if(|s| s.fields > 1 && s.mixing == Mixing::Embedded)]
        sharpness: f64 = 0.07,

        /// Function of the phase that enters the sums of the other fields.
        #[param(title = "Transmitted phase")]
        #[show_if(|s| s.fields > 1)]
        sent: SentPhase = SentPhase::Phase,
    }
}

params! {
    /// Recording. These parameters do not affect the simulation.
    pub struct Measure {
        /// Generations between two samples of the curves.
        #[param(title = "Sample interval", unit = Steps, range = 1.0..=100.0, hard = 1.0..=1_000_000.0, scale = Log)]
        every: u32 = 1,

        /// Ensemble size: number of fittest nuclei whose outputs are averaged for the ensemble error.
        #[param(title = "Ensemble size", range = 1.0..=64.0, hard = 1.0..=4096.0)]
        ensemble: u32 = 8,

        /// After every profiled batch, times all coupling algorithms on the current population: rows variant_… of the
        /// kernel table, in pairs per second, with their error relative to Naive. On the CPU at most 4,096 nuclei are used.
        #[param(title = "Compare algorithms")]
        variants: bool = false,

        /// Phase field that is shown as the phase of a nucleus when there are several. 1 is the first.
        #[param(title = "Phase field shown", range = 1.0..=8.0, hard = 1.0..=8.0)]
        field: u32 = 1,
    }
}

interventions! {
    /// Effect of an intervention while it is active.
    pub enum Effect {}

    /// An intervention over a span of generations.
    pub struct Intervention(u64, Count("generations")) {}
}

param_tree! {
    /// Parameters of a nuclei project.
    pub struct Params {
        /// Regression that defines the fitness of nuclei.
        #[title("Fitness task")]
        task: Task,
        /// Fusion, decay and death of nuclei.
        #[title("Population dynamics")]
        population: Population,
        /// Probability of fusion and decay.
        #[title("Tunnelling")]
        #[show_if(|s| s.population.can_fuse() || s.population.can_decay())]
        tunnelling: Tunnelling,
        /// Motion of the phases.
        #[title("Phase dynamics")]
        phases: Phases,
        /// Coupling between nuclei.
        #[title("Coupling")]
        coupling: Coupling,
        /// Named sets of nuclei, for use in views.
        #[title("Selections")]
        #[role(Selections)]
        selections: [Selection],
        /// Values of parameters over spans of generations.
        #[title("Interventions")]
        #[role(Interventions)]
        interventions: [Intervention],
        /// Sampling of curves and fields.
        #[title("Recording")]
        measure: Measure,
    }
}

impl Population {
    /// Whether a fusion can occur.
    pub const fn can_fuse(&self) -> bool {
        self.m_fuse >= 2
    }

    /// Whether a decay can occur.
    pub fn can_decay(&self) -> bool {
        self.k_worst > 0 || self.worst_share > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::nuclei::{NucleiKind, probes},
        params::{Params as _, path},
        sim::Kind as _,
    };

    fn shown(params: &Params, name: &str) -> bool {
        let id = params.ids().into_iter().find(|id| params.path(*id) == name);
        params.is_shown(id.unwrap_or_else(|| panic!("no parameter {name}")))
    }

    #[test]
    fn parameters_that_a_model_does_not_use_are_hidden() {
        let evolution = ["population.fuse_key", "population.child_base", "population.n_min", "tunnelling.hbar"];
        let task = ["task.answer", "task.method", "task.storage", "task.learning_rate"];
        let phases = ["phases.coupling", "phases.substeps", "phases.norm", "phases.frequencies"];
        let (default, kuramoto, births) = (Params::default(), Params::kuramoto(16), Params::population(0.01));
        for name in evolution {
            assert!(shown(&default, name) && shown(&births, name) && !shown(&kuramoto, name), "{name}");
        }
        for name in task {
            assert!(shown(&default, name) && !shown(&kuramoto, name) && !shown(&births, name), "{name}");
        }
        for name in phases {
            assert!(shown(&default, name) && shown(&kuramoto, name) && !shown(&births, name), "{name}");
        }
        let lineage = |params: &Params| NucleiKind::unused_probes(params).contains(&probes::LINEAGE);
        assert!(!lineage(&default) && !lineage(&births) && lineage(&kuramoto));
        assert!(NucleiKind::unused_probes(&default).is_empty());
        let phase = |params: &Params| NucleiKind::unused_probes(params).contains(&probes::PHASE);
        assert!(phase(&births) && !phase(&kuramoto), "constant phases without a barrier");
        let mut behind_barrier = births;
        assert!(behind_barrier.set(&path::parse(&behind_barrier, "tunnelling.r_threshold=0.5").unwrap()));
        assert!(!phase(&behind_barrier));
        let mut with_decay = kuramoto;
        assert!(with_decay.set(&path::parse(&with_decay, "population.k_worst=2").unwrap()), "hidden ones are settable");
        assert!(shown(&with_decay, "population.c_new") && !shown(&with_decay, "population.fuse_key"));
    }
}
