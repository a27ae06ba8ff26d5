//! Parameters of a nuclei project. Formulas stand where they are used: [`tunnel`](super::tunnel), [`cpu`](super::cpu).

use super::choices::{
    Answer, Barrier, ChildBase, Dynamics, FitnessMethod, Frequencies, FuseKey, Integrator, Method, Mixing, Norm,
    OrderSeen, Precision, Sent, Source, Storage,
};
use crate::{param_tree, params, params::PathText};

params! {
    /// What the nuclei are measured by: f_j = (1/B) Σ_b (x_b·w_j - y_b)², lower is better.
    pub struct Task {
        /// Where inputs and targets come from.
        #[param(apply = Rebuild)]
        source: Source = Source::Toy,

        /// Table with one column per input and one for the target, or a NumPy archive with X (B × D) and y (B).
        #[param(apply = Rebuild)]
        #[show_if(|s| s.source == Source::File)]
        path: PathText = PathText::default(),

        /// Column of the table that holds the target; all others are inputs.
        #[param(apply = Rebuild)]
        #[show_if(|s| s.source == Source::File)]
        target: String = "y".to_owned(),

        /// Samples B of the generated task.
        #[param(range = 8.0..=4096.0, hard = 1.0..=1_048_576.0, scale = Log, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Toy)]
        n_samples: u32 = 64,

        /// Inputs D; without a task the number of weights of a nucleus.
        #[param(range = 1.0..=128.0, hard = 1.0..=4096.0, scale = Log, apply = Rebuild)]
        #[show_if(|s| s.source != Source::File)]
        n_inputs: u32 = 20,

        /// Standard deviation of what the targets of the generated task have beside X w: its square is about the
        /// lowest error there is.
        #[param(range = 0.0..=1.0, hard = 0.0..=1000.0, apply = Rebuild)]
        #[show_if(|s| s.source == Source::Toy)]
        noise: f64 = 0.04,

        /// How a nucleus answers an input.
        #[param()]
        answer: Answer = Answer::Linear,

        /// How the error is computed.
        #[param()]
        method: FitnessMethod = FitnessMethod::Auto,

        /// What weights are rounded to before they are evaluated.
        #[param()]
        storage: Storage = Storage::Full,

        /// Rate η of learning by gradient, once per generation before the evaluation: w -= (2η/B) Xᵀ(X w - y). Stable
        /// below 1 / the largest eigenvalue of XᵀX/B; 0 learns by selection alone.
        #[param(range = 0.0..=0.5, hard = 0.0..=1000.0)]
        learning_rate: f64 = 0.0,
    }
}

params! {
    /// Who lives, fuses, decays and dies.
    pub struct Population {
        /// Nuclei at the start; not more than there are places.
        #[param(range = 8.0..=262_144.0, hard = 1.0..=4_194_304.0, scale = Log, apply = Rewind)]
        n_start: u32 = 128,

        /// Most nuclei there can be: the size of the table, which never grows. A child without a place is counted as
        /// overflow.
        #[param(range = 8.0..=262_144.0, hard = 1.0..=4_194_304.0, scale = Log, apply = Rebuild, symbol = "N_max")]
        capacity: u32 = 1024,

        /// Standard deviation of the weights at the start.
        #[param(range = 0.0..=1.0, hard = 0.0..=1000.0, apply = Rewind)]
        weight_scale: f64 = 0.3,

        /// How many of the least fit may decay in a generation.
        #[param(range = 0.0..=64.0, hard = 0.0..=4_194_304.0, symbol = "k")]
        k_worst: u32 = 3,

        /// The same as a share of all nuclei, rounded up; the larger of the two counts.
        #[param(range = 0.0..=0.1, hard = 0.0..=1.0)]
        worst_share: f64 = 0.0,

        /// How many nuclei become one when they fuse; below 2 none do.
        #[param(range = 0.0..=16.0, hard = 0.0..=4_194_304.0, symbol = "m")]
        m_fuse: u32 = 4,

        /// Children of a decay beside the nucleus itself, which is renewed: one becomes 1 + c.
        #[param(range = 0.0..=16.0, hard = 0.0..=65_536.0, symbol = "c")]
        c_new: u32 = 3,

        /// Standard deviation of what is added to the weights of children.
        #[param(range = 0.0..=0.5, hard = 0.0..=1000.0, symbol = "σ")]
        sigma: f64 = 0.05,

        /// Who fuses.
        #[param()]
        fuse_key: FuseKey = FuseKey::Hybrid,

        /// Whose weights children vary.
        #[param()]
        child_base: ChildBase = ChildBase::Best,

        /// Rate of radioactive death: a nucleus left alone dies with probability 1 - e^{-λ} per generation.
        #[param(range = 0.0..=0.1, hard = 0.0..=100.0, symbol = "λ")]
        death_rate: f64 = 0.01,

        /// Fewer than this many are not left by fusion or death.
        #[param(range = 0.0..=64.0, hard = 0.0..=4_194_304.0)]
        n_min: u32 = 8,

        /// Attempts per generation ν·Δt: events happen with probability 1 - e^{-νΔt P} (Gillespie 1977, one leap).
        /// 0 takes P itself.
        #[param(range = 0.0..=4.0, hard = 0.0..=1000.0)]
        attempts_per_step: f64 = 0.0,

        /// Arithmetic of the state.
        #[param(apply = Rebuild)]
        precision: Precision = Precision::F32,
    }
}

params! {
    /// Events are tunnelling: the more order, the lower the barrier. P = 1 from the threshold on.
    pub struct Tunnelling {
        /// Order at which the barrier is open.
        #[param(range = 0.0..=1.0, hard = -1000.0..=1000.0, symbol = "R_th")]
        r_threshold: f64 = 0.78,

        /// Probability with an open barrier; what exceeds 1 counts as 1.
        #[param(range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "C")]
        prefactor: f64 = 1.0,

        /// How readily barriers are crossed: 1 is never rare (P(0) = 0.21), 0.1 is (P(0) = 1.7e-7).
        #[param(range = 0.05..=2.0, hard = 0.001..=1000.0, scale = Log, symbol = "ħ")]
        hbar: f64 = 0.5,

        /// Width of the barrier.
        #[param(range = 0.0..=4.0, hard = 0.0..=1000.0, symbol = "ΔR")]
        width: f64 = 1.0,

        /// Which order opens the barrier for a decay.
        #[param()]
        seen: OrderSeen = OrderSeen::Local,

        /// Shape of the barrier.
        #[param()]
        barrier: Barrier = Barrier::Linear,

        /// Mass of what tunnels.
        #[param(range = 0.1..=10.0, hard = 0.0..=1e6, scale = Log)]
        #[show_if(|s| s.barrier == Barrier::SquareRoot)]
        mass: f64 = 1.0,
    }
}

params! {
    /// Phases φ of the nuclei, in radians; their time has no unit, its scale is set by the frequencies.
    pub struct Phases {
        /// How phases move.
        #[param()]
        dynamics: Dynamics = Dynamics::Kuramoto,

        /// How they are integrated.
        #[param()]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        integrator: Integrator = Integrator::Euler,

        /// Strength of the coupling; dt times this should stay below 0.1.
        #[param(range = 0.0..=10.0, hard = -1000.0..=1000.0, symbol = "K")]
        coupling: f64 = 1.0,

        /// Time of a substep.
        #[param(range = 0.001..=0.2, hard = 0.0..=10.0, scale = Log)]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        dt: f64 = 0.05,

        /// Substeps per generation, in which fitness and entropy stand still.
        #[param(range = 0.0..=64.0, hard = 0.0..=65_536.0)]
        substeps: u32 = 2,

        /// What the coupling sum is divided by.
        #[param()]
        norm: Norm = Norm::Row,

        /// Diffusion D_n: every substep adds √(2 D_n dt) times a normal number.
        #[param(range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "D_n")]
        #[show_if(|s| s.dynamics == Dynamics::Kuramoto)]
        noise: f64 = 0.0,

        /// Where natural frequencies come from. They belong to places in the table, not to nuclei.
        #[param()]
        frequencies: Frequencies = Frequencies::Normal,

        /// Multiplies the natural frequencies.
        #[param(range = 0.0..=2.0, hard = -1000.0..=1000.0)]
        omega_scale: f64 = 0.1,
    }
}

params! {
    /// How nuclei act on each other's phases: those of similar fitness and entropy most.
    pub struct Coupling {
        /// How the sums are computed; all but MeanField, Scan1d and Sparse agree up to rounding.
        #[param()]
        method: Method = Method::Auto,

        /// Pairs that act on each other less than this are left out.
        #[param(range = 1e-9..=0.1, hard = 1e-30..=1.0, scale = Log)]
        #[show_if(|s| s.method == Method::Sparse)]
        sparse_cutoff: f64 = 1e-4,

        /// NumPy archive with J, N_max × N_max: how much the nucleus in place k acts on the one in place j, at least 0.
        /// Without a file J follows fitness and entropy.
        #[param(apply = Rebuild)]
        #[show_if(|s| s.method == Method::Dense)]
        matrix: PathText = PathText::default(),

        /// Phases every nucleus has: so many fields of them, coupled by the same J. The barrier looks at the first.
        #[param(range = 1.0..=8.0, hard = 1.0..=8.0, apply = Rebuild, symbol = "F")]
        fields: u32 = 1,

        /// How much fields act on each other.
        #[param()]
        #[show_if(|s| s.fields > 1)]
        mixing: Mixing = Mixing::Even,

        /// Share of the pull on a phase that comes from the other fields: 0 leaves them alone, 1 - 1/F makes all alike.
        #[param(range = 0.0..=1.0, hard = 0.0..=1.0, symbol = "g")]
        #[show_if(|s| s.fields > 1 && s.mixing == Mixing::Even)]
        between: f64 = 0.2,

        /// How near fields must lie to act on each other: 0.07 leaves most alone, 1 makes all nearly alike.
        #[param(range = 0.01..=1.0, hard = 0.001..=1000.0, scale = Log, symbol = "τ")]
        #[show_if(|s| s.fields > 1 && s.mixing == Mixing::Embedded)]
        sharpness: f64 = 0.07,

        /// What of the phases acts on the others.
        #[param()]
        #[show_if(|s| s.fields > 1)]
        sent: Sent = Sent::Phase,
    }
}

params! {
    /// How measurements are taken. Changes nothing in the simulation.
    pub struct Measure {
        /// Generations between two samples of the curves.
        #[param(unit = Steps, range = 1.0..=100.0, hard = 1.0..=1_000_000.0, scale = Log)]
        every: u32 = 1,

        /// How many of the fittest answer together: their answers are averaged.
        #[param(range = 1.0..=64.0, hard = 1.0..=4096.0)]
        ensemble: u32 = 8,

        /// Beside every measured batch, times all ways to compute the coupling on the population as it is: the rows
        /// variant_… of the kernel table, in pairs per second, with their error against Naive. On the CPU at most 4,096
        /// nuclei take part.
        #[param()]
        variants: bool = false,

        /// Which field of phases is shown as the phase of a nucleus, when there are several: 1 is the first.
        #[param(range = 1.0..=8.0, hard = 1.0..=8.0)]
        field: u32 = 1,
    }
}

param_tree! {
    /// Parameters of a nuclei project.
    pub struct Params {
        /// What the nuclei are measured by.
        task: Task,
        /// Who lives, fuses, decays and dies.
        population: Population,
        /// When events happen.
        tunnelling: Tunnelling,
        /// The phases.
        phases: Phases,
        /// How nuclei act on each other.
        coupling: Coupling,
        /// How measurements are taken.
        measure: Measure,
    }
}
