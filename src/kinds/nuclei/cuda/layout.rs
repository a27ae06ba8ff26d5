//! Structs in device memory, shared by the modules of this backend.

use crate::device_struct;

device_struct! {
    /// Population size and event totals. Only kernels write them while a simulation runs.
    pub struct PopulationCounts {
        /// Generations completed so far
        generation: u64,
        /// Fusions so far
        fused: u64,
        /// Nuclei absorbed by fusions
        absorbed: u64,
        /// Decays so far
        decayed: u64,
        /// Offspring placed in free slots
        children: u64,
        /// Offspring without a free slot
        missing: u64,
        /// Deaths so far
        died: u64,
        /// Number of nuclei
        n: u32,
        /// Slots without a nucleus
        n_free: u32,
    }
}

device_struct! {
    /// Statistics of the population in this generation.
    pub struct DeviceStats {
        /// Mean fitness of the nuclei; 0 without nuclei
        mean_f: f64,
        /// Sample standard deviation of fitness
        std_f: f64,
        /// Temperature, 1 + std
        t: f64,
        /// log2(e) / T
        per_t: f64,
        /// Mean entropy of the nuclei; 0 without nuclei
        mean_h: f64,
        /// Global order, 0 to 1
        r: f64,
        /// Mean of the cosines of all phases
        mean_cos: f64,
        /// Mean of the sines
        mean_sin: f64,
        /// Order weighted by the coupling, 0 to 1
        r_weighted: f64,
        /// Probability of tunnelling at the global order
        p: f64,
        /// Mean of the probabilities at the local orders
        p_mean: f64,
        /// Lowest error of a nucleus; infinite without nuclei
        min_f: f32,
        /// Median error, if sampled
        median_f: f32,
        /// Slot of the lowest error, the lowest of ties
        best: u32,
        /// Error of the mean output of the ensemble, if sampled
        ensemble_f: f32,
    }
}

device_struct! {
    /// Parameters as read by the kernels.
    pub struct KernelParams {
        /// Seed of the project: part of the address of every draw
        seed: u64,
        /// Fraction of the population that may decay
        worst_share: f64,
        /// Standard deviation of mutations
        sigma: f64,
        /// Probability of death
        p_death: f64,
        /// Attempts per generation; 0: probabilities are used directly
        attempts: f64,
        /// Order parameter at which the barrier vanishes
        r_threshold: f64,
        /// Probability without a barrier
        prefactor: f64,
        /// Effective Planck constant
        hbar: f64,
        /// Width of the barrier
        width: f64,
        /// Mass of the tunnelling particle
        mass: f64,
        /// Standard deviation of the noise of one substep
        noise: f64,
        /// Slots of the table
        n_slots: u32,
        /// Weights of a nucleus
        dim: u32,
        /// Numbers from one row of weights to the next
        stride: u32,
        /// Minimum decay count
        k_worst: u32,
        /// Nuclei per fusion
        m_fuse: u32,
        /// Offspring per decay
        c_new: u32,
        /// Minimum population: fusions and deaths never go below it
        n_min: u32,
        /// 0 hybrid, 1 entropy, 2 fitness
        fuse_key: u32,
        /// 0 best, 1 fused, 2 parent
        child_base: u32,
        /// Whether decays use the local order
        uses_local_order: u32,
        /// Whether the barrier is rectangular
        square_root: u32,
        /// Whether coupling sums are divided by d, not by N
        norm_by_row: u32,
        /// Whether the map is that of the original model
        compat_map: u32,
        /// Phases of a nucleus, one per phase field
        phase_fields: u32,
        /// Whether doubled phases are transmitted
        sends_double: u32,
        /// Strength of the coupling
        coupling: f32,
        /// Time of a substep
        dt: f32,
        /// Factor of the frequencies
        omega_scale: f32,
    }
}

device_struct! {
    /// Least-squares equations of the task. Rows are zero-padded to a multiple of 32, columns to a multiple of 16.
    pub struct TaskEquations {
        /// Residual sum of squares independent of the weights
        rest: f64,
        /// Number of samples, before compression
        samples: f64,
        /// Rows of the equations, padding included
        rows: u32,
        /// Columns of the equations, padding included
        columns: u32,
        /// Weights of a nucleus
        inputs: u32,
        /// Numbers from one row of weights to the next
        stride: u32,
        /// Slots of the table
        n_slots: u32,
        /// Whether row b starts with b zeros
        triangular: u32,
        /// Whether outputs saturate
        saturating: u32,
        /// 0 full, 1 f16, 2 bf16
        storage: u32,
        /// Gradient step size over the number of samples
        step: f32,
        /// Inverse scale of the split inputs
        unscale: f32,
    }
}

device_struct! {
    /// A selection of the largest keys.
    pub struct TopK {
        /// Number of keys to select
        want: u32,
        /// Known upper bits of the threshold
        prefix: u32,
        /// Keys above it
        above: u32,
        /// Keys equal to it to select
        ties: u32,
        /// Keys above the threshold listed so far
        count: u32,
        /// Blocks that finished counting
        done: u32,
    }
}

device_struct! {
    /// Events drawn in this generation.
    pub struct EventDecision {
        /// Sum of the weights of the fusing nuclei
        total: f64,
        /// Phase of the fusion product
        phi: f32,
        /// Amplitude of the fusion product
        amp: f32,
        /// Whether the fusion occurs
        fuses: u32,
        /// Nuclei selected for fusion
        m: u32,
        /// Lowest of their slots
        host: u32,
        /// Decays in this generation
        decays: u32,
        /// Deaths in this generation
        died: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// Fill level of the log.
    pub struct EventLog {
        /// Words in the log, of all entries
        words: u32,
        /// Entries in the log, one per generation
        entries: u32,
    }
}

device_struct! {
    /// Log entry of one generation. Its words are slots: fused nuclei, the host first; decayed nuclei; offspring and parent
    /// of each birth; dead nuclei.
    pub struct LogEntry {
        /// Statistics when the events were drawn
        stats: DeviceStats,
        /// Number of the generation, from 0
        generation: u64,
        /// Number of nuclei then
        n: u32,
        /// Nuclei fused in the generation, the host included
        fused: u32,
        /// Nuclei that decayed in the generation
        decayed: u32,
        /// Births, including decaying nuclei renewed in their own slot
        born: u32,
        /// Offspring without a free slot
        missing: u32,
        /// Nuclei that died in the generation
        died: u32,
        /// Index of its first word
        words: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

impl LogEntry {
    /// Returns the number of words of the entry.
    pub const fn length(&self) -> u32 {
        self.fused + self.decayed + 2 * self.born + self.died
    }
}
