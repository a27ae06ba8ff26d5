//! Choices of the parameters of a nuclei project.

use crate::choices;

choices! {
    /// Source of inputs and targets.
    pub enum TaskSource {
        /// Generated from the seed: linear regression with a known solution.
        #[title("Generated")]
        Toy,
        /// Inputs X and targets y from a table (.csv, .tsv, .parquet) or a NumPy archive (.npz with X and y).
        #[title("File")]
        File,
        /// No task: all nuclei are equal (f = H = 0), for phase dynamics or population statistics only.
        #[title("None")]
        Nothing,
    }
}

choices! {
    /// Output of a nucleus for an input.
    pub enum OutputFunction {
        /// w·x.
        Linear,
        /// 1000 · tanh(w·x / 1000): saturates far from zero ("Chaos" in the original model).
        Saturating,
    }
}

choices! {
    /// Algorithm of the mean squared error.
    pub enum FitnessMethod {
        /// Compressed when the output is linear and there are more samples than inputs, otherwise direct.
        #[title("Automatic")]
        Auto,
        /// Sample by sample, in tiles. Predictions are never stored.
        Direct,
        /// Exact for linear outputs: with the thin QR factorisation X = QR, f = (|R w - Qᵀy|² + |y - QQᵀy|²) / B.
        #[title("Compressed (QR)")]
        Compressed,
    }
}

choices! {
    /// Number format that weights are rounded to before they are evaluated. Sums stay in the precision of the state.
    pub enum Storage {
        /// No rounding.
        #[title("Full precision")]
        Full,
        /// IEEE half precision, 11 significant bits: relative error of the fitness about 5e-4.
        F16,
        /// bfloat16, 8 significant bits: relative error of the fitness about 4e-3.
        #[title("BF16")]
        Bf16,
    }
}

choices! {
    /// Key that ranks nuclei for fusion: the m nuclei with the highest key fuse.
    pub enum FuseKey {
        /// H - (f - mean f) / T: high entropy and low error. T is 1 + the standard deviation of f.
        #[title("Entropy and fitness")]
        Hybrid,
        /// H: the most even weights (rule of the original model; it does not improve the best nucleus).
        Entropy,
        /// -f: the lowest error.
        Fitness,
    }
}

choices! {
    /// Weights that the offspring of a decay are mutated from.
    pub enum ChildBase {
        /// The row of the fittest nucleus after the fusion of this generation: the fused weights when it hosts the fusion,
        /// zeros when the fusion absorbed it.
        #[title("Fittest nucleus")]
        Best,
        /// The fused weights, even when no fusion took place (rule of the original model).
        #[title("Fusion product")]
        Fused,
        /// The decaying nucleus: its offspring are about as unfit as it is.
        #[title("Decaying nucleus")]
        Parent,
    }
}

choices! {
    /// Order parameter in the probability of decay. Fusion always uses the global order r.
    pub enum OrderUsed {
        /// P_j = P(R_j): local order of each nucleus.
        Local,
        /// P_j = P(r): global order for all nuclei.
        Global,
    }
}

choices! {
    /// Shape of the barrier.
    pub enum Barrier {
        /// P = C exp(-(2/ħ) ΔR max(0, R_th - R)): the exponent is linear in the missing order.
        Linear,
        /// P = C exp(-(2/ħ) ΔR √(2 m (R_th - R))): rectangular barrier after Gamow 1928, with V = R_th and E = R.
        #[title("Rectangular (Gamow)")]
        SquareRoot,
    }
}

choices! {
    /// Equation of motion of the phases.
    pub enum Dynamics {
        /// dφ_j/dt = ω_j + (K / D_j) Im S_j + noise (Kuramoto 1975).
        Kuramoto,
        /// ψ_j ← (ψ_j + K ā (S_j / D_j) e^{iφ_j}) e^{iδ_j} / Z: quantum-Kuramoto map, invariant under rotation of all phases.
        #[title("Quantum Kuramoto map")]
        QkmCovariant,
        /// ψ_j ← (ψ_j + K S_j + δ_j ψ_j) / Z: quantum-Kuramoto map of the original model, not invariant under rotation.
        #[title("Quantum Kuramoto, original")]
        QkmCompat,
        /// Constant phases.
        #[title("None")]
        Still,
    }
}

choices! {
    /// Integration scheme of the phases.
    pub enum Integrator {
        /// One evaluation per substep; Euler-Maruyama with noise.
        Euler,
        /// Runge-Kutta of fourth order, four evaluations. With noise, stochastic Heun is used.
        #[title("Runge-Kutta 4")]
        Rk4,
        /// Stochastic Heun, two evaluations.
        Heun,
    }
}

choices! {
    /// Divisor of the coupling sum.
    pub enum CouplingNorm {
        /// D_j = Σ_k J_jk: weighted mean over similar nuclei.
        #[title("Row sum of J")]
        Row,
        /// D_j = N: the classical model; the mean phase then moves at the mean frequency.
        #[title("Population size N")]
        Number,
    }
}

choices! {
    /// Distribution of the natural frequencies.
    pub enum Frequencies {
        /// Standard normal, drawn from the seed.
        Normal,
        /// Quantiles of a Lorentz distribution of width 1, in order of slots: no sampling error.
        LorentzQuantiles,
        /// Quantiles of the standard normal distribution, in order of slots: no sampling error.
        NormalQuantiles,
    }
}

choices! {
    /// Algorithm of S_j = Σ_k J_jk e^{i(φ_k - φ_j)} with J_jk = e^{-|f_j - f_k|/T} e^{-|H_j - H_k|}.
    pub enum CouplingMethod {
        /// The fastest exact algorithm for this population size.
        #[title("Automatic")]
        Auto,
        /// All pairs, the formula evaluated literally: the reference.
        #[title("All pairs, naive")]
        Naive,
        /// All pairs in tiles, with e^{iφ} computed once per nucleus.
        #[title("All pairs, tiled")]
        Tiled,
        /// Exact in O(N log N): sorted by f, merged by H (after Langrené & Warin 2020).
        #[title("Fast, O(N log N)")]
        Fast,
        /// J = 1: all pairs equal, O(N).
        #[title("Mean field")]
        MeanField,
        /// Entropy ignored: sorted by f, O(N) after sorting. The error of d is at most 1 - e^{-range of H}.
        #[title("1D scan (fitness only)")]
        Scan1d,
        /// Pairs with J below sparse_cutoff are skipped.
        Sparse,
        /// J is stored as an N × N matrix, computed once per generation or read from the file coupling.matrix.
        #[title("Dense matrix")]
        Dense,
    }
}

choices! {
    /// Coupling G_ab between phase fields, in S_j^a = Σ_b G_ab Σ_k J_jk e^{i(φ_k^b - φ_j^a)}.
    pub enum Mixing {
        /// G_aa = 1 - g, and g distributed evenly over the other fields; g is coupling.between.
        Even,
        /// softmax over b of ((cos_ab + 1) / 2) / τ, symmetrised: fields with similar embedding vectors couple strongly. The
        /// vectors are drawn from the seed; τ is coupling.sharpness.
        Embedded,
    }
}

choices! {
    /// Function of the phase that enters the sums of other fields.
    pub enum SentPhase {
        /// φ: S_j^a = Σ_b G_ab Σ_k J_jk e^{i(φ_k^b - φ_j^a)}, which leads to consensus.
        #[title("Phase φ")]
        Phase,
        /// 2φ, with the same S of doubled phases, as in the original model, which multiplies by ψ twice. Each field splits
        /// into two opposite clusters.
        #[title("Doubled phase 2φ")]
        Double,
    }
}
