//! Structs that lie on the device, shared by the modules of this backend.

use crate::device_struct;

device_struct! {
    /// How many there are, and what happened so far. Only kernels write it while a simulation runs.
    pub struct Census {
        /// Generations done
        generation: u64,
        /// Fusions
        fused: u64,
        /// Nuclei absorbed by fusions
        absorbed: u64,
        /// Decays
        decayed: u64,
        /// Children in places that were free
        children: u64,
        /// Children for which there was no place
        missing: u64,
        /// Deaths
        died: u64,
        /// Living nuclei
        n: u32,
        /// Free places
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
        /// Mean of the probabilities at the local orders
        p_mean: f64,
        /// Least fitness
        min_f: f32,
        /// Median fitness, when somebody looks
        median_f: f32,
        /// Slot of the least fitness, the lowest one
        best: u32,
        /// Error of the mean answer of the fittest, when somebody looks
        together_f: f32,
    }
}

device_struct! {
    /// The parameters as kernels read them.
    pub struct Rules {
        /// Project seed
        seed: u64,
        /// Share of all that may decay
        worst_share: f64,
        /// Spread of what is added to the weights of children
        sigma: f64,
        /// Probability of radioactive death
        p_death: f64,
        /// Attempts per generation; 0 takes probabilities as they are
        attempts: f64,
        /// Order at which the barrier is open
        r_threshold: f64,
        /// Probability with an open barrier
        prefactor: f64,
        /// How readily barriers are crossed
        hbar: f64,
        /// Width of the barrier
        width: f64,
        /// Mass of what tunnels
        mass: f64,
        /// Spread of the noise of one substep
        noise: f64,
        /// Places in the table
        places: u32,
        /// Weights of a nucleus
        dim: u32,
        /// Numbers from one row of weights to the next
        stride: u32,
        /// Least number of nuclei that may decay
        k_worst: u32,
        /// Nuclei that become one
        m_fuse: u32,
        /// Children of a decay
        c_new: u32,
        /// Fewer are not left by fusion or death
        n_min: u32,
        /// 0 hybrid, 1 entropy, 2 fitness
        fuse_key: u32,
        /// 0 best, 1 fused, 2 parent
        child_base: u32,
        /// Whether decays look at the local order
        seen_local: u32,
        /// Whether the barrier is rectangular
        square_root: u32,
        /// Whether coupling sums are divided by d, not by N
        norm_by_row: u32,
        /// Whether the map is the one that was found
        as_found: u32,
        /// Fields of phases
        waves: u32,
        /// Whether fields send the double of their phases
        sends_double: u32,
        /// Strength of the coupling
        coupling: f32,
        /// Time of a substep
        dt: f32,
        /// Multiplies frequencies
        omega_scale: f32,
    }
}

device_struct! {
    /// What nuclei are held against. Rows are padded to a multiple of 32, columns to one of 16, with zeros.
    pub struct Equations {
        /// Sum of squares that no weights can remove
        rest: f64,
        /// Samples
        samples: f64,
        /// Rows
        rows: u32,
        /// Columns
        columns: u32,
        /// Weights of a nucleus
        inputs: u32,
        /// Numbers from one row of weights to the next
        stride: u32,
        /// Places in the table
        places: u32,
        /// Whether row b begins with b zeros
        triangular: u32,
        /// Whether answers saturate
        saturating: u32,
        /// 0 as they are, 1 f16, 2 bf16
        storage: u32,
        /// Step down the gradient, over the samples
        step: f32,
        /// Takes back what the split inputs were multiplied by
        unscale: f32,
    }
}

device_struct! {
    /// A selection of the largest keys.
    pub struct Choice {
        /// How many
        want: u32,
        /// Upper bits of the threshold, as far as they are known
        prefix: u32,
        /// Keys above it
        above: u32,
        /// Keys on it that are wanted
        ties: u32,
        /// Keys listed
        count: u32,
        /// Blocks that have counted
        done: u32,
    }
}

device_struct! {
    /// What was decided in this generation.
    pub struct Verdict {
        /// Sum of the shares of those to fuse
        total: f64,
        /// Phase of what they become
        phi: f32,
        /// Its amplitude
        amp: f32,
        /// Whether they do
        fires: u32,
        /// How many they are
        m: u32,
        /// The lowest of them
        host: u32,
        /// Decays
        decays: u32,
        /// Deaths
        died: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

device_struct! {
    /// What the host has not read.
    pub struct Log {
        /// Words written
        words: u32,
        /// Generations written
        entries: u32,
    }
}

device_struct! {
    /// One generation, as the host reads it. Its words are those who fused, the host first; who decayed; child and
    /// parent of each birth; who died.
    pub struct Entry {
        /// How it stood when events were drawn
        climate: Climate,
        /// Which generation
        generation: u64,
        /// Living nuclei then
        n: u32,
        /// How many fused
        fused: u32,
        /// How many decayed
        decayed: u32,
        /// How many were born, with those that were renewed in their own place
        born: u32,
        /// Children without a place
        missing: u32,
        /// How many died
        died: u32,
        /// Where its words begin
        words: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}
