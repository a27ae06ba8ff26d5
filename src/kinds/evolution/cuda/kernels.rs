//! Declarations of the kernels, and the structs that they share with the host.

use crate::{
    device_constants, device_struct,
    gpu::{
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
    kinds::evolution::choices::{Generator, Shaping},
};

/// Largest rank of a perturbation.
pub const MAX_RANK: u32 = 16;
/// Largest number of steps of a sequence in chunk form: shared memory holds the corrections of a group of columns.
pub const MAX_STEPS: usize = 512;
/// Largest width with a state matrix: shared memory holds the state of a group of columns.
pub const MAX_STATE: usize = 512;
const SUM_OF_FOUR: u32 = Generator::SumOfFour as u32;
const TERNARY: u32 = Generator::Ternary as u32;
/// Number of the rule with momentum in [`StepArgs`].
pub const MOMENTUM: u32 = 1;
/// Number of Adam in [`StepArgs`].
pub const ADAM: u32 = 2;
/// Value of `layer` in [`TensorArgs`] for the biases of the gates, of which each layer has one.
pub const GATE_BIASES: u32 = u32::MAX;

const CENTRED_RANK: u32 = Shaping::CentredRank as u32;
const SIGN: u32 = Shaping::Sign as u32;

const CONSTANTS: &[Constant] =
    device_constants![MAX_RANK, SUM_OF_FOUR, TERNARY, MOMENTUM, ADAM, GATE_BIASES, CENTRED_RANK, SIGN];

/// Outputs and inputs of a matrix for which a block of `sum_inputs` sums.
pub const SUM_TILE: u32 = 64;
/// Pairs per block of a weighted sum of perturbed activations.
pub const SUM_PAIRS: u32 = 16;

const SUMS: &[Constant] = device_constants![SUM_TILE, SUM_PAIRS];

device_struct! {
    /// Sizes and scales of a forward pass.
    pub struct PassArgs {
        /// Rows of each member
        rows: u32,
        /// Steps of a sequence
        steps: u32,
        /// Features of a row
        width: u32,
        /// Whether rows belong to perturbed members
        is_perturbed: u32,
        /// Perturbations are scaled by 2^-shift
        shift: u32,
        /// Rank of the perturbation; 0: full rank, or none
        rank: u32,
        /// Factor of a low-rank perturbation
        factor: i32,
        /// Words of signs of each pair
        words: u32,
        /// Elements of all vectors
        vectors: u32,
        /// Whether activations are perturbed in place of weights
        perturbs_activations: u32,
        /// Row of the pair with which the rows of a member begin
        first_row: u32,
        /// Members that read the text of a pair: 2, or 1 for the unperturbed model
        members_per_pair: u32,
        /// Whether every matrix has an effect
        is_live: u32,
        /// Scale after the input projection
        activation: f32,
        /// Scale in the feed-forward layer
        mlp_activation: f32,
        /// Scale of the norm
        norm: f32,
        /// Scale of attention
        residual: f32,
        /// Scale of the feed-forward layer
        mlp_residual: f32,
    }
}

device_struct! {
    /// A matrix of weights.
    pub struct MatrixArgs {
        /// Rows of the matrix
        outputs: u32,
        /// Columns of the matrix
        inputs: u32,
        /// First word of its signs
        first_word: u32,
        /// Scale of the integer sums
        scale: f32,
        /// Magnitude of a perturbation of the sums
        magnitude: i32,
    }
}

device_struct! {
    /// Attention of a layer.
    pub struct DeltaRuleArgs {
        /// Index of the layer
        layer: u32,
        /// First element of the biases of the gates among all vectors
        first_bias: u32,
        /// Whether keys are normalised, and gates are used as they are
        is_delta_net: u32,
        /// Whether states are rounded to 16 bits
        has_f16_state: u32,
    }
}

device_struct! {
    /// Draws of the pairs of a launch. Kernels read them from memory, so that captured launches serve all groups of pairs.
    pub struct Draws {
        /// Seed of the run
        seed: u64,
        /// Number of the generation
        generation: u64,
        /// First pair
        first_pair: u32,
        /// Generator of full-rank perturbations
        generator: u32,
        /// Whether perturbations are of low rank
        is_low_rank: u32,
        /// Whether all pairs read the same text
        is_shared: u32,
    }
}

device_struct! {
    /// A tensor in the layout of the parameters.
    pub struct TensorArgs {
        /// Salt of its perturbation
        salt: u64,
        /// First of its elements
        start: u32,
        /// Number of elements
        len: u32,
        /// Elements of a row
        columns: u32,
        /// Index among all tensors
        index: u32,
        /// First word of its signs
        first_word: u32,
        /// Words of its signs
        words: u32,
        /// Factor of its low-rank perturbation
        factor: i32,
        /// Layer by which it is frozen
        layer: u32,
        /// Whether it is a vector of f32
        is_vector: u32,
        /// Whether it is never changed
        is_fixed: u32,
    }
}

device_struct! {
    /// Step of an update.
    pub struct StepArgs {
        /// Number of the rule
        rule: u32,
        /// Whether rounding errors are kept in 8 bits
        has_byte_residual: u32,
        /// Learning rate of the generation
        rate: f32,
        /// Least magnitude of a direction
        threshold: f32,
        /// Limit of shadow weights
        limit: f32,
        /// Decay of the first moment
        decay1: f32,
        /// Decay of the second moment
        decay2: f32,
        /// Factor of the first moment
        correction1: f32,
        /// Factor of the second moment
        correction2: f32,
    }
}

kernels! {
    /// Draws, and the forward pass between matrix multiplications.
    pub struct PopulationKernels in "evolution/population.cu" using [PassArgs, MatrixArgs, Draws, TensorArgs] with [CONSTANTS] {
        /// Shifts the weights to units of the perturbation, a thread per weight. Items: weights.
        #[block(256)]
        fn shift_weights as ShiftWeights(n: Size<u32>, shift: Size<u32>, weights: In<i8>, shifted: InOut<i8>);

        /// Draws the signs of a matrix, a thread per word. Items: words.
        #[block(256)]
        fn draw_signs as DrawSigns(draws: In<Draws>, t: Size<TensorArgs>, pairs: Size<u32>, words_per_pair: Size<u32>, words: InOut<u64>);

        /// Adds full-rank perturbations to the weights of both members of pairs, a thread per weight of a pair. Items:
        /// weights of a pair.
        #[block(256)]
        fn merge_full_rank as MergeFullRank(draws: In<Draws>, t: Size<TensorArgs>, pairs: Size<u32>, n: Size<u32>, shifted: In<i8>, merged: InOut<i8>);

        /// Draws the perturbation of a vector, a thread per element. Items: elements.
        #[block(256)]
        fn draw_vectors as DrawVectors(draws: In<Draws>, t: Size<TensorArgs>, pairs: Size<u32>, n: Size<u32>, first: Size<u32>, noise: InOut<i8>);

        /// Copies the sequences of pairs and their targets from the text, a thread per token. Items: tokens.
        #[block(256)]
        fn draw_text as DrawText(draws: In<Draws>, pairs: Size<u32>, first: Size<u32>, sequences: Size<u32>, steps: Size<u32>, starts: Size<u64>, text: In<u16>, tokens: InOut<u16>, targets: InOut<u16>);

        /// Embeds tokens with the perturbation of their member, a warp per row. Items: tokens.
        #[block(256)]
        fn embed_rows as EmbedRows(p: Size<PassArgs>, w: Size<MatrixArgs>, rows: Size<u32>, stride: Size<u32>, signs: In<u64>, weights: In<i8>, tokens: In<u16>, y: InOut<i8>);

        /// Adds positions to the input projection, applies GELU, rounds and normalises, a warp per row. Items: tokens.
        #[block(256)]
        fn input_rows as InputRows(p: Size<PassArgs>, w: Size<MatrixArgs>, rows: Size<u32>, signs: In<u64>, noise: In<i8>, positions: In<f32>, embedded: In<i8>, sums: In<i32>, x: InOut<i8>, y: InOut<i8>);

        /// Adds attention to the residual stream and normalises it, a warp per row. Items: tokens.
        #[block(256)]
        fn attention_rows_out as AttentionRowsOut(p: Size<PassArgs>, rows: Size<u32>, output: In<f32>, x: InOut<i8>, y: InOut<i8>);

        /// Applies GELU in the feed-forward layer and rounds, a warp per row. Items: tokens.
        #[block(256)]
        fn gelu_rows as GeluRows(p: Size<PassArgs>, w: Size<MatrixArgs>, down: Size<MatrixArgs>, rows: Size<u32>, signs: In<u64>, y: In<i8>, sums: In<i32>, hidden: InOut<i8>, along: InOut<i32>);

        /// Adds the feed-forward layer to the residual stream and normalises it, a warp per row. Items: tokens.
        #[block(256)]
        fn mlp_rows as MlpRows(p: Size<PassArgs>, w: Size<MatrixArgs>, rows: Size<u32>, signs: In<u64>, along: In<i32>, sums: In<i32>, x: InOut<i8>, y: InOut<i8>);

        /// Computes the cross entropy, a warp per row. Items: tokens.
        #[block(256)]
        fn loss_rows as LossRows(
            p: Size<PassArgs>, w: Size<MatrixArgs>, rows: Size<u32>, adds: Size<u32>, first_bias: Size<u32>, draws: In<Draws>, signs: In<u64>,
            noise: In<i8>, biases: In<f32>, y: In<i8>, sums: In<i32>, targets: In<u16>, losses: InOut<u64>
        );
    }
}

kernels! {
    /// Linear attention by the delta rule.
    pub struct AttentionKernels in "evolution/attention.cu" using [PassArgs, MatrixArgs, DeltaRuleArgs, Draws] with [CONSTANTS] {
        /// Computes gates, norms of queries and keys, and products with the second factors of low-rank perturbations,
        /// 32 rows per block. Items: tokens.
        #[block(256)]
        fn attention_rows as AttentionRows(
            p: Size<PassArgs>, a: Size<DeltaRuleArgs>, of_query: Size<MatrixArgs>, of_key: Size<MatrixArgs>, of_value: Size<MatrixArgs>,
            of_gate: Size<MatrixArgs>, rows: Size<u32>, stride: Size<u32>, signs: In<u64>, noise: In<i8>, gate_bias: In<f32>,
            gate_weights: In<i8>, y: In<i8>, query_sums: In<i32>, key_sums: In<i32>, along: InOut<i32>, alphas: InOut<f32>, inverses: InOut<f32>
        );

        /// Multiplies keys and queries with keys, a block per 64 x 64 of a sequence. Items: tokens.
        #[block(128)]
        fn attention_products as AttentionProducts(
            p: Size<PassArgs>, of_query: Size<MatrixArgs>, of_key: Size<MatrixArgs>, signs: In<u64>, query_sums: In<i32>, key_sums: In<i32>,
            along: In<i32>, inverses: In<f32>, products: InOut<f32>
        );

        /// Computes corrections and outputs in chunk form, two columns per thread. Items: tokens.
        #[block(64)]
        fn attention_outputs as AttentionOutputs(
            p: Size<PassArgs>, of_value: Size<MatrixArgs>, signs: In<u64>, products: In<f32>, value_sums: In<i32>, along: In<i32>,
            alphas: In<f32>, output: InOut<f32>
        );

        /// Computes outputs step by step with a state matrix, a thread per column. Items: tokens.
        #[block(128)]
        fn attention_states as AttentionStates(
            p: Size<PassArgs>, a: Size<DeltaRuleArgs>, of_query: Size<MatrixArgs>, of_key: Size<MatrixArgs>, of_value: Size<MatrixArgs>,
            signs: In<u64>, query_sums: In<i32>, key_sums: In<i32>, value_sums: In<i32>, along: In<i32>, alphas: In<f32>, inverses: In<f32>,
            output: InOut<f32>
        );
    }
}

kernels! {
    /// Weighted sums of perturbations, and the update of weights.
    pub struct UpdateKernels in "evolution/update.cu" using [PassArgs, MatrixArgs, Draws, TensorArgs, StepArgs] with [CONSTANTS] {
        /// Adds up the weighted full-rank perturbations of a tensor, a thread per element. Items: elements.
        #[block(256)]
        fn sum_full_rank as SumFullRank(draws: In<Draws>, t: Size<TensorArgs>, pairs: Size<u32>, pair_weights: In<i64>, z: InOut<i64>);

        /// Adds up the weighted low-rank perturbations of a matrix, a thread per four elements of a row. Items:
        /// elements.
        #[block(256)]
        fn sum_low_rank as SumLowRank(draws: In<Draws>, t: Size<TensorArgs>, pairs: Size<u32>, rank: Size<u32>, words_per_pair: Size<u32>, words: In<u64>, pair_weights: In<i64>, z: InOut<i64>);

        /// Adds up the weighted signs of a vector, a thread per element. Items: elements.
        #[block(256)]
        fn sum_vector_signs as SumVectorSigns(draws: In<Draws>, t: Size<TensorArgs>, pairs: Size<u32>, pair_weights: In<i64>, z: InOut<i64>);

        /// Adds up the squares of the weighted sums of a tensor, several elements per thread. Items: elements.
        #[block(256)]
        fn sum_squares as SumSquares(t: Size<TensorArgs>, z: In<i64>, halves: InOut<u64>);

        /// Updates running mean squares and their roots, a thread per tensor. Items: tensors.
        #[block(64)]
        fn update_roots as UpdateRoots(n: Size<u32>, halves: In<u64>, lengths: In<u32>, mean_squares: InOut<f32>, roots: InOut<f32>, counts: InOut<u64>);

        /// Changes the weights of a tensor, a thread per element. Items: elements.
        #[block(256)]
        fn update_weights as UpdateWeights(
            steps: In<StepArgs>, t: Size<TensorArgs>, z: In<i64>, roots: In<f32>, frozen: In<u8>, shadows: InOut<f32>, weights: InOut<i8>,
            first: InOut<f32>, second: InOut<f32>, counts: InOut<u64>
        );
    }
}

device_struct! {
    /// Rows of the unperturbed model; their inputs are added to weighted sums.
    pub struct InputRowsArgs {
        /// Number of pairs
        pairs: u32,
        /// Rows of each pair
        rows: u32,
        /// Row of the pair with which they begin
        first_row: u32,
        /// Words of signs of each pair
        words: u32,
    }
}

kernels! {
    /// Perturbed activations, and their weighted sums.
    pub struct ActivationKernels in "evolution/activations.cu" using [PassArgs, MatrixArgs, Draws, TensorArgs, InputRowsArgs] with [CONSTANTS, SUMS] {
        /// Adds the perturbation to the sums of a product, a thread per sum; rows are `stride` sums apart. Items: sums.
        #[block(256)]
        fn perturb_sums as PerturbSums(p: Size<PassArgs>, w: Size<MatrixArgs>, rows: Size<u32>, stride: Size<u32>, signs: In<u64>, sums: InOut<i32>);

        /// Adds the weighted products of signs and inputs to the sums of a matrix, a block per tile of outputs and inputs and
        /// group of pairs.
        #[block(256)]
        fn sum_inputs as SumInputs(r: Size<InputRowsArgs>, draws: In<Draws>, t: Size<TensorArgs>, signs: In<u64>, pair_weights: In<i64>, x: In<i8>, z: InOut<i64>);

        /// Adds the weighted signs of the embedding to the rows of their tokens, a thread per feature. Items: features.
        #[block(256)]
        fn sum_embeddings as SumEmbeddings(r: Size<InputRowsArgs>, draws: In<Draws>, t: Size<TensorArgs>, signs: In<u64>, pair_weights: In<i64>, tokens: In<u16>, z: InOut<i64>);

        /// Adds the weighted signs of a matrix to the sums of a vector that is added to its outputs, a thread per element. The element
        /// repeats after `period` rows. Items: elements.
        #[block(256)]
        fn sum_outputs as SumOutputs(r: Size<InputRowsArgs>, draws: In<Draws>, t: Size<TensorArgs>, outputs: Size<u32>, period: Size<u32>, start: Size<u32>, signs: In<u64>, pair_weights: In<i64>, z: InOut<i64>);
    }
}

kernels! {
    /// Fitness shaping: weights of pairs from the losses of their members.
    pub struct ShapingKernels in "evolution/shaping.cu" with [CONSTANTS] {
        /// Ranks the fitness of pairs, or converts it, a thread per pair. Items: pairs.
        #[block(256)]
        fn rank_pairs as RankPairs(pairs: Size<u32>, shaping: Size<u32>, losses: In<u64>, shaped: InOut<f64>);

        /// Computes mean and standard deviation in the order of the pairs, in one block. Items: pairs.
        #[block(256)]
        fn measure_fitness as MeasureFitness(pairs: Size<u32>, shaped: In<f64>, mean_deviation: InOut<f64>);

        /// Computes the weights of pairs, a thread per pair. Items: pairs.
        #[block(256)]
        fn weigh_pairs as WeighPairs(pairs: Size<u32>, shaping: Size<u32>, clip: Size<f64>, shaped: In<f64>, mean_deviation: In<f64>, pair_weights: InOut<i64>);
    }
}
