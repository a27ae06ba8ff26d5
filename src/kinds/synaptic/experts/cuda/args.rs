//! Kernels of `kernels/synaptic/router.cu`, and the definitions that they share with the host.

use crate::{
    device_constants, device_struct,
    gpu::{
        ModuleSpec,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    kinds::synaptic::experts::{FEATURES, GENES},
    nn::optimizer::cuda::OptimizerState,
};

/// Rate of the update of embeddings in bio_inspired_nanochat.
const REFERENCE_RATE: f64 = 1e-4;
/// Factor of the push in the update of embeddings in bio_inspired_nanochat.
const REFERENCE_PUSH: f64 = 0.1;
/// Maximum number of expert slots per layer.
pub(super) const MAX_EXPERTS: u32 = 256;
/// Number of assignments per block of the sort.
pub(super) const TILE: u32 = 2048;
/// Number of partial sums per group.
pub(super) const PARTS: u32 = 16;
/// Index of the sum of gates in an expert's statistics, after the features.
pub(super) const GATES: u32 = 24;
/// Index of the contribution in an expert's statistics.
pub const CONTRIBUTION: u32 = 25;
/// Index of the number of tokens in an expert's statistics.
pub const COUNT: u32 = 26;

const CONSTANTS: &[Constant] = device_constants![
    MAX_EXPERTS,
    TILE,
    PARTS,
    GATES,
    CONTRIBUTION,
    COUNT,
    FEATURES,
    GENES,
    REFERENCE_RATE,
    REFERENCE_PUSH
];

device_struct! {
    /// Sizes and constants of a router.
    pub struct RouterArgs {
        /// Tokens of all sequences
        tokens: u32,
        /// Slots of experts
        experts: u32,
        /// Experts per token
        top_k: u32,
        /// Components of a token
        width: u32,
        /// Factor of the gene bias
        gene: f32,
        /// Factor of the alignment
        align: f32,
        /// Factor of energy and fatigue
        metabolic_bias: f32,
        /// Weight of the auxiliary loss
        aux_weight: f32,
        /// Whether rows are read 16 bytes at a time
        is_aligned: u32,
        /// Whether terms and updates are those of the earlier model
        is_reference: u32,
    }
}

device_struct! {
    /// Rates of the state after a step.
    pub struct RouterRates {
        /// Energy spent per step at the fair load
        energy_cost: f64,
        /// Rate at which embeddings move to the features they serve
        pull: f64,
        /// Rate at which similar embeddings repel each other
        push: f64,
        /// Change of the balance per step
        balance_rate: f64,
        /// Whether load is balanced by it
        is_balanced: u32,
        /// Whether the mean gate that scales the pull is that over the tokens of the expert, not over all
        is_own: u32,
    }
}

device_struct! {
    /// Weight of a micro-batch.
    pub struct BatchWeights {
        /// Share of the micro-batch in the targets of the step
        share: f32,
    }
}

device_struct! {
    /// Tokens of a step.
    pub struct StepTokens {
        /// Tokens of all micro-batches
        tokens: u64,
    }
}

kernels! {
    /// Router, groups and statistics of experts.
    pub struct RouterKernels in "synaptic/router.cu"
        compiled (Compile::FUSED) using [RouterArgs, RouterRates, BatchWeights, StepTokens, OptimizerState]
        with [CONSTANTS]
    {
        /// One warp per token: logits, the experts with the largest, their gates. Items: tokens.
        #[block(256)]
        fn route_tokens as RouteTokens(
            a: Size<RouterArgs>, z: In<f32>, features: In<f32>, genome: In<f32>, embeddings: In<f32>, fatigue: In<f32>,
            energy: In<f32>, balance: In<f32>, alive: In<u32>, inverse_norms: InOut<f32>, indices: InOut<u32>,
            gates: InOut<f32>, cosines: InOut<f32>
        );

        /// One block per tile of assignments: the number of assignments of each expert.
        #[block(512)]
        fn count_assignments as CountAssignments(a: Size<RouterArgs>, indices: In<u32>, tiles: InOut<u32>);

        /// One block: offsets of groups.
        #[block(256)]
        fn offset_groups as OffsetGroups(
            a: Size<RouterArgs>, n_tiles: Size<u32>, tiles: InOut<u32>, counts: InOut<u32>, offsets: InOut<u32>
        );

        /// One block per tile of assignments: their rows, by expert, then by token.
        #[block(512)]
        fn place_assignments as PlaceAssignments(
            a: Size<RouterArgs>, indices: In<u32>, offsets: In<u32>, tiles: In<u32>, order: InOut<u32>,
            ranks: InOut<u32>
        );

        /// One warp per row: tokens in the order of their groups.
        #[block(256)]
        fn gather_tokens as GatherTokens(
            a: Size<RouterArgs>, is_rounded: Size<u32>, order: In<u32>, x: In<f32>, rows: InOutAny
        );

        /// One warp per token: sum of its rows.
        #[block(256)]
        fn combine_rows as CombineRows(
            a: Size<RouterArgs>, ranks: In<u32>, gates: InAny, rows: In<f32>, base: InAny, out: InOut<f32>
        );

        /// One warp per row: gradients of gates and rows.
        #[block(256)]
        fn scatter_gradients as ScatterGradients(
            a: Size<RouterArgs>, order: In<u32>, gates: In<f32>, dout: In<f32>, rows: InOut<f32>, dgates: InOut<f32>
        );

        /// One block per 32 columns, part and expert: sums of columns.
        #[block(256)]
        fn sum_group_parts as SumGroupParts(
            columns: Size<u32>, is_rounded: Size<u32>, offsets: In<u32>, dy: InAny, partials: InOut<f32>
        );

        /// One thread per column of an expert: adds the parts.
        #[block(256)]
        fn add_group_parts as AddGroupParts(columns: Size<u32>, n: Size<u32>, partials: In<f32>, to: InOut<f32>);

        /// One warp per token: gradients of logits and probe features.
        #[block(256)]
        fn differentiate_routing as DifferentiateRouting(
            a: Size<RouterArgs>, weights: In<BatchWeights>, indices: In<u32>, gates: In<f32>, cosines: In<f32>,
            inverse_norms: In<f32>, features: In<f32>, embeddings: In<f32>, alive: In<u32>, counts: In<u32>,
            dgates: In<f32>, dlogits: InOut<f32>, dfeatures: InOut<f32>
        );

        /// One block per expert and part: load, served features, contribution.
        #[block(1024)]
        fn sum_experts as SumExperts(
            a: Size<RouterArgs>, order: In<u32>, offsets: In<u32>, gates: In<f32>, dgates: In<f32>, features: In<f32>,
            inverse_norms: In<f32>, partials: InOut<f64>
        );

        /// One block: adds the sums of a micro-batch to those of the step.
        #[block(1024)]
        fn add_statistics as AddStatistics(
            a: Size<RouterArgs>, weights: In<BatchWeights>, counts: In<u32>, alive: In<u32>, partials: In<f64>,
            statistics: InOut<f64>, aux: InOut<f64>
        );

        /// One block per layer and 8 experts: fatigue, energy, balance and next embeddings.
        #[block(256)]
        fn update_router as UpdateRouter(
            a: Size<RouterArgs>, r: Size<RouterRates>, stride: Size<u64>, step: In<StepTokens>,
            state: In<OptimizerState>, frozen: In<u32>, statistics: In<f64>, genome: In<f32>, alive: In<u32>,
            embeddings: In<f32>, fatigue: InOut<f32>, energy: InOut<f32>, balance: InOut<f32>, next: InOut<f32>
        );

        /// One block per layer: embeddings by the rule of the earlier model.
        #[block(256)]
        fn repel_embeddings as RepelEmbeddings(
            a: Size<RouterArgs>, step: In<StepTokens>, state: In<OptimizerState>, frozen: In<u32>, statistics: In<f64>,
            embeddings: InOut<f32>
        );

        /// One thread per expert: the phenotype of its genome. Items: experts.
        #[block(256)]
        fn decode_genomes as DecodeGenomes(experts: Size<u32>, genome: In<f32>, phenotypes: InOut<f64>);
    }
}

/// All CUDA modules of the experts.
pub const MODULES: &[ModuleSpec] = &[RouterKernels::SPEC];
