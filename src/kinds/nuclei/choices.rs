//! What parameters of a nuclei project can be chosen from.

use crate::choices;

choices! {
    /// What the nuclei are measured by.
    pub enum Source {
        /// Generated: a linear regression whose answer is known, drawn from the seed.
        Toy,
        /// Inputs X and targets y from a table (.csv, .tsv, .parquet) or a NumPy archive (.npz with X and y).
        File,
        /// Nothing: all nuclei are alike (f = H = 0), for phases alone or the statistics of the population alone.
        Nothing,
    }
}

choices! {
    /// How a nucleus answers an input.
    pub enum Answer {
        /// w·x.
        Linear,
        /// tanh(w·x / 1000) · 1000: saturates far away (the origin's "Chaos").
        Saturating,
    }
}

choices! {
    /// How the mean squared error is computed.
    pub enum FitnessMethod {
        /// Compressed when the answer is linear and there are more samples than inputs, else direct.
        Auto,
        /// Sample by sample, in tiles: predictions are never stored.
        Direct,
        /// Exact: with the thin factorisation X = QR, f = (|R w - Qᵀy|² + |y - QQᵀy|²) / B, for linear answers.
        Compressed,
    }
}

choices! {
    /// What weights are rounded to before they are evaluated; sums stay in the arithmetic of the state.
    pub enum Storage {
        /// As they are.
        Full,
        /// 16 bits, 11 of them significant: fitness to about 5e-4.
        F16,
        /// 16 bits, 8 of them significant: fitness to about 4e-3.
        Bf16,
    }
}

choices! {
    /// Arithmetic of the state.
    pub enum Precision {
        /// Double precision: the reference.
        F64,
        /// Single precision: what the GPU computes with.
        F32,
    }
}

choices! {
    /// What decides who fuses: the m nuclei with the highest key do.
    pub enum FuseKey {
        /// H - (f - mean f) / T: novel and good. T is 1 + the standard deviation of f.
        Hybrid,
        /// H: the most even weights (the origin's rule; it does not improve the best).
        Entropy,
        /// -f: the fittest.
        Fitness,
    }
}

choices! {
    /// Whose weights the children of a decay vary.
    pub enum ChildBase {
        /// The row of the fittest nucleus as it stands after the fusion of this generation: the fused weights when it
        /// hosts that fusion, zeros when it was absorbed by it.
        Best,
        /// The fused weights, also when no fusion took place (the origin's rule).
        Fused,
        /// Those of the nucleus that decays; its children are as bad as it was.
        Parent,
    }
}

choices! {
    /// Which order opens the barrier for a decay. Fusion always looks at the global order r.
    pub enum OrderSeen {
        /// P_j = P(R_j): each nucleus its own neighbourhood.
        Local,
        /// P_j = P(r): all the same.
        Global,
    }
}

choices! {
    /// Shape of the barrier.
    pub enum Barrier {
        /// P = C exp(-(2/ħ) ΔR max(0, R_th - R)): the exponent grows linearly with the missing order.
        Linear,
        /// P = C exp(-(2/ħ) ΔR √(2 m (R_th - R))): a rectangular barrier after Gamow 1928, with V = R_th and E = R.
        SquareRoot,
    }
}

choices! {
    /// How phases move.
    pub enum Dynamics {
        /// dφ_j/dt = ω_j + (K / D_j) Im S_j + noise (Kuramoto 1975).
        Kuramoto,
        /// ψ_j ← (ψ_j + K ā (S_j / D_j) e^{iφ_j}) e^{iδ_j} / Z: a map that commutes with rotating all phases.
        QkmCovariant,
        /// ψ_j ← (ψ_j + K S_j + δ_j ψ_j) / Z: the origin's map as it was found, which does not.
        QkmCompat,
        /// Not at all.
        Still,
    }
}

choices! {
    /// How phases are integrated over time.
    pub enum Integrator {
        /// One evaluation per substep; with noise, Euler-Maruyama.
        Euler,
        /// Fourth order, four evaluations; without noise.
        Rk4,
        /// Stochastic Heun, two evaluations.
        Heun,
    }
}

choices! {
    /// What the coupling sum is divided by.
    pub enum Norm {
        /// D_j = Σ_k J_jk: a mean over those that resemble j.
        Row,
        /// D_j = N: the classical model; the mean phase then moves at the mean frequency.
        Number,
    }
}

choices! {
    /// Where natural frequencies come from.
    pub enum Frequencies {
        /// Standard normal, drawn from the seed.
        Normal,
        /// The quantiles of a Lorentz distribution of width 1, in order: no sampling error.
        LorentzQuantiles,
        /// The quantiles of the standard normal distribution, in order: no sampling error.
        NormalQuantiles,
    }
}

choices! {
    /// How S_j = Σ_k J_jk e^{i(φ_k - φ_j)} is computed, with J_jk = e^{-|f_j - f_k|/T} e^{-|H_j - H_k|}.
    pub enum Method {
        /// The quickest exact one for the number of nuclei.
        Auto,
        /// Pair by pair, as the formula stands: a reference.
        Naive,
        /// Pair by pair, with e^{iφ} computed once, in tiles.
        Tiled,
        /// Exact in N log N steps: sorted by f, merged by H (after Langrené & Warin 2020).
        Fast,
        /// J = 1: all pairs alike, N steps.
        MeanField,
        /// Entropy is ignored: sorted by f, N steps. d is off by at most 1 - e^{-range of H}.
        Scan1d,
        /// Pairs with J below sparse_cutoff are left out.
        Sparse,
        /// J is written out, N × N, once per generation; or it is given by a file, coupling.matrix.
        Dense,
    }
}

choices! {
    /// How much the fields of phases act on each other: G_ab, in S_j^a = Σ_b G_ab Σ_k J_jk e^{i(φ_k^b - φ_j^a)}.
    pub enum Mixing {
        /// G_aa = 1 - g, and g shared evenly by the other fields; g is coupling.between.
        Even,
        /// softmax over b of ((cos_ab + 1) / 2) / τ, made symmetric: fields that lie near each other act most on each other.
        /// Where they lie is drawn from the seed; τ is coupling.sharpness.
        Embedded,
    }
}

choices! {
    /// What of the phases acts on the others.
    pub enum Sent {
        /// φ: S_j^a = Σ_b G_ab Σ_k J_jk e^{i(φ_k^b - φ_j^a)}, which leads to consensus.
        Phase,
        /// 2φ, with the same S of doubled phases: what the origin amounts to, which multiplies by ψ what carries a phase
        /// already. Each field splits into two opposite clusters and never agrees.
        Double,
    }
}
