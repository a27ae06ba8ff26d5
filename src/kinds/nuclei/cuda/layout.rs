//! Structs that lie on the device, shared by the modules of this backend.

use crate::device_struct;

device_struct! {
    /// How many there are, and what happened so far. Only kernels write it while a simulation runs.
    pub struct Census {
        /// Generations done
        generation: u64,
        /// Children written
        born: u64,
        /// Fusions
        fused: u64,
        /// Decays
        decayed: u64,
        /// Deaths
        died: u64,
        /// Children for which there was no room
        missing: u64,
        /// Living nuclei
        n: u32,
        /// Free slots
        n_free: u32,
    }
}

device_struct! {
    /// What holds for the whole population in this generation.
    pub struct Climate {
        /// Mean fitness
        mean_f: f64,
        /// Sample standard deviation of fitness
        std_f: f64,
        /// Temperature, 1 + std
        t: f64,
        /// log2(e) / T
        per_t: f64,
        /// Mean entropy
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
        /// Least fitness
        min_f: f32,
        /// Slot of the least fitness, the lowest one
        best: u32,
    }
}
