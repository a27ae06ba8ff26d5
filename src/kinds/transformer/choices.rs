//! Choices in the parameters of a transformer.

use crate::choices;

choices! {
    /// Formula of the activation function between the two matrices of a feed-forward layer.
    pub enum ActivationFunction {
        /// 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))), as in GPT-2.
        #[title("GELU (tanh)")]
        GeluTanh,
        /// x Φ(x), with the error function.
        #[title("GELU (erf)")]
        GeluErf,
        /// max(x, 0).
        #[title("ReLU")]
        Relu,
        /// max(x, 0)².
        #[title("ReLU²")]
        ReluSquared,
        /// silu(gate) · up, with a first matrix of twice the width.
        #[title("SwiGLU")]
        SwiGlu,
    }
}

choices! {
    /// Normalisation of the features of a token.
    pub enum NormFunction {
        /// (x - mean) / sqrt(variance + ε) · weight + bias.
        #[title("LayerNorm")]
        Layer,
        /// x / sqrt(mean of x² + ε) · weight.
        #[title("RMSNorm")]
        Rms,
    }
}

choices! {
    /// Place of the norms in a block.
    pub enum NormPlacement {
        /// x + f(norm(x)), and a norm before the logits, as in GPT-2.
        #[title("Before (pre-norm)")]
        Pre,
        /// norm(x + f(x)), as in the first transformer.
        #[title("After (post-norm)")]
        Post,
    }
}

choices! {
    /// Pairs of features of a head that rotate together.
    pub enum PairLayout {
        /// i and i + d/2, as in GPT-NeoX.
        #[title("Halves")]
        Half,
        /// 2i and 2i + 1, as in the RoPE paper.
        Interleaved,
    }
}

choices! {
    /// Number format of weights and activations in matrix multiplications on a GPU. Sums, statistics, losses, master
    /// weights and optimiser states are f32 in all of them. The CPU computes in f32.
    pub enum Precision {
        /// IEEE single precision.
        #[title("fp32")]
        F32,
        /// Single precision in memory, operands of multiplications rounded to 10 bits of mantissa.
        #[title("tf32")]
        Tf32,
        /// bfloat16.
        #[title("bf16")]
        Bf16,
        /// IEEE half precision, with a dynamic loss scale.
        #[title("fp16")]
        F16,
    }
}

choices! {
    /// Implementation of attention.
    pub enum AttentionMethod {
        /// Tiles with an online softmax: memory proportional to the number of tokens.
        Flash,
        /// The whole matrix of probabilities: the reference.
        Naive,
    }
}

choices! {
    /// Implementation of matrix multiplications on a GPU.
    pub enum GemmMethod {
        /// cuBLASLt if it is found, else own kernels on tensor cores: wgmma on Hopper (H100, H200) if it is expected to
        /// be faster, else mma.sync.
        #[title("Automatic")]
        Auto,
        /// The fastest of all for each multiplication of a training step, timed before the first run on a device. Choices are
        /// kept in the program's cache folder and in the manifest of a run, whose repetition times nothing.
        #[title("Fastest (measured)")]
        Measured,
        /// Own kernel without tensor cores.
        #[title("SIMT")]
        Simt,
        /// Own kernel with WMMA fragments.
        #[title("WMMA")]
        Wmma,
        /// Own kernel with mma.sync.
        #[title("mma.sync")]
        Mma,
        /// Own kernel with wgmma, for f16 and bf16 on Hopper (H100, H200); elsewhere as automatic.
        #[title("wgmma")]
        Wgmma,
        /// NVIDIA's cuBLASLt.
        #[title("cuBLASLt")]
        CublasLt,
    }
}

choices! {
    /// Linear layer of a transformer.
    pub enum LinearLayer {
        /// Queries, keys and values.
        #[title("Attention, q k v")]
        AttentionQkv,
        /// Output of attention.
        #[title("Attention, output")]
        AttentionOut,
        /// First matrix of the feed-forward layer.
        #[title("Feed-forward, up")]
        MlpUp,
        /// Second matrix of the feed-forward layer.
        #[title("Feed-forward, down")]
        MlpDown,
        /// Logits.
        Head,
    }
}

choices! {
    /// Multiplication of a linear layer or by its weights.
    pub enum LayerProduct {
        /// All three of the forward and the backward pass.
        #[title("Forward and backward")]
        All,
        /// y = x Wᵀ, in training, evaluation and decoding.
        #[title("Forward")]
        Forward,
        /// dx = dy W, in the backward pass.
        #[title("Backward, inputs")]
        BackwardInputs,
        /// dW = dyᵀ x, in the backward pass.
        #[title("Backward, weights")]
        BackwardWeights,
        /// Products of Muon, which makes the update of W orthogonal; in f32.
        #[title("Muon")]
        Muon,
    }
}

choices! {
    /// Activations that are computed again in the backward pass instead of being kept. Gradients have the same bits
    /// with every choice.
    pub enum Checkpointing {
        /// Everything is kept.
        #[title("0: none")]
        Nothing,
        /// The activation function.
        #[title("1: activation function")]
        Activation,
        /// The activation function and the norms.
        #[title("2: and norms")]
        Norms,
        /// Whole blocks: only their inputs are kept.
        #[title("3: whole blocks")]
        Blocks,
    }
}

impl Checkpointing {
    /// Returns the level of recomputation, 0 to 3.
    pub const fn mode(self) -> u8 {
        self as u8
    }
}
