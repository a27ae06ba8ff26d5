// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/StepTokens.cuh"
#include "gen/shared/OptimizerState.cuh"

constexpr unsigned int MAX_EXPERTS = 256u;
constexpr unsigned int TILE = 2048u;
constexpr unsigned int PARTS = 16u;
constexpr unsigned int GATES = 24u;
constexpr unsigned int CONTRIBUTION = 25u;
constexpr unsigned int COUNT = 26u;
constexpr unsigned int FEATURES = 24u;
constexpr unsigned int GENES = 4u;
constexpr double REFERENCE_RATE = 0.0001;
constexpr double REFERENCE_PUSH = 0.1;

// Sizes and constants of a router.
struct alignas(4) RouterArgs {
    unsigned int tokens; // Tokens of all sequences
    unsigned int experts; // Slots of experts
    unsigned int top_k; // Experts per token
    unsigned int width; // Components of a token
    float gene; // Factor of the gene bias
    float align; // Factor of the alignment
    float metabolic_bias; // Factor of energy and fatigue
    float aux_weight; // Weight of the auxiliary loss
    unsigned int is_aligned; // Whether rows are read 16 bytes at a time
    unsigned int is_reference; // Whether terms and updates are those of the earlier model
};
static_assert(sizeof(RouterArgs) == 40, "RouterArgs: size");

// Rates of the state after a step.
struct alignas(8) RouterRates {
    double energy_cost; // Energy spent per step at the fair load
    double pull; // Rate at which embeddings move to the features they serve
    double push; // Rate at which similar embeddings repel each other
    double balance_rate; // Change of the balance per step
    unsigned int is_balanced; // Whether load is balanced by it
    unsigned int is_own; // Whether the mean gate that scales the pull is that over the tokens of the expert, not over all
};
static_assert(sizeof(RouterRates) == 40, "RouterRates: size");

// Weight of a micro-batch.
struct alignas(4) BatchWeights {
    float share; // Share of the micro-batch in the targets of the step
};
static_assert(sizeof(BatchWeights) == 4, "BatchWeights: size");

// One warp per token: logits, the experts with the largest, their gates. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) route_tokens(RouterArgs a, const float* __restrict__ z, const float* __restrict__ features, const float* __restrict__ genome, const float* __restrict__ embeddings, const float* __restrict__ fatigue, const float* __restrict__ energy, const float* __restrict__ balance, const unsigned int* __restrict__ alive, float* __restrict__ inverse_norms, unsigned int* __restrict__ indices, float* __restrict__ gates, float* __restrict__ cosines);

// One block per tile of assignments: the number of assignments of each expert.
extern "C" __global__ void __launch_bounds__(512, 1) count_assignments(RouterArgs a, const unsigned int* __restrict__ indices, unsigned int* __restrict__ tiles);

// One block: offsets of groups.
extern "C" __global__ void __launch_bounds__(256, 1) offset_groups(RouterArgs a, unsigned int n_tiles, unsigned int* __restrict__ tiles, unsigned int* __restrict__ counts, unsigned int* __restrict__ offsets);

// One block per tile of assignments: their rows, by expert, then by token.
extern "C" __global__ void __launch_bounds__(512, 1) place_assignments(RouterArgs a, const unsigned int* __restrict__ indices, const unsigned int* __restrict__ offsets, const unsigned int* __restrict__ tiles, unsigned int* __restrict__ order, unsigned int* __restrict__ ranks);

// One warp per row: tokens in the order of their groups.
extern "C" __global__ void __launch_bounds__(256, 1) gather_tokens(RouterArgs a, unsigned int is_rounded, const unsigned int* __restrict__ order, const float* __restrict__ x, void* rows);

// One warp per token: sum of its rows.
extern "C" __global__ void __launch_bounds__(256, 1) combine_rows(RouterArgs a, const unsigned int* __restrict__ ranks, const void* gates, const float* __restrict__ rows, const void* base, float* __restrict__ out);

// One warp per row: gradients of gates and rows.
extern "C" __global__ void __launch_bounds__(256, 1) scatter_gradients(RouterArgs a, const unsigned int* __restrict__ order, const float* __restrict__ gates, const float* __restrict__ dout, float* __restrict__ rows, float* __restrict__ dgates);

// One block per 32 columns, part and expert: sums of columns.
extern "C" __global__ void __launch_bounds__(256, 1) sum_group_parts(unsigned int columns, unsigned int is_rounded, const unsigned int* __restrict__ offsets, const void* dy, float* __restrict__ partials);

// One thread per column of an expert: adds the parts.
extern "C" __global__ void __launch_bounds__(256, 1) add_group_parts(unsigned int columns, unsigned int n, const float* __restrict__ partials, float* __restrict__ to);

// One warp per token: gradients of logits and probe features.
extern "C" __global__ void __launch_bounds__(256, 1) differentiate_routing(RouterArgs a, const BatchWeights* __restrict__ weights, const unsigned int* __restrict__ indices, const float* __restrict__ gates, const float* __restrict__ cosines, const float* __restrict__ inverse_norms, const float* __restrict__ features, const float* __restrict__ embeddings, const unsigned int* __restrict__ alive, const unsigned int* __restrict__ counts, const float* __restrict__ dgates, float* __restrict__ dlogits, float* __restrict__ dfeatures);

// One block per expert and part: load, served features, contribution.
extern "C" __global__ void __launch_bounds__(1024, 1) sum_experts(RouterArgs a, const unsigned int* __restrict__ order, const unsigned int* __restrict__ offsets, const float* __restrict__ gates, const float* __restrict__ dgates, const float* __restrict__ features, const float* __restrict__ inverse_norms, double* __restrict__ partials);

// One block: adds the sums of a micro-batch to those of the step.
extern "C" __global__ void __launch_bounds__(1024, 1) add_statistics(RouterArgs a, const BatchWeights* __restrict__ weights, const unsigned int* __restrict__ counts, const unsigned int* __restrict__ alive, const double* __restrict__ partials, double* __restrict__ statistics, double* __restrict__ aux);

// One block per layer and 8 experts: fatigue, energy, balance and next embeddings.
extern "C" __global__ void __launch_bounds__(256, 1) update_router(RouterArgs a, RouterRates r, unsigned long long stride, const StepTokens* __restrict__ step, const OptimizerState* __restrict__ state, const unsigned int* __restrict__ frozen, const double* __restrict__ statistics, const float* __restrict__ genome, const unsigned int* __restrict__ alive, const float* __restrict__ embeddings, float* __restrict__ fatigue, float* __restrict__ energy, float* __restrict__ balance, float* __restrict__ next);

// One block per layer: embeddings by the rule of the earlier model.
extern "C" __global__ void __launch_bounds__(256, 1) repel_embeddings(RouterArgs a, const StepTokens* __restrict__ step, const OptimizerState* __restrict__ state, const unsigned int* __restrict__ frozen, const double* __restrict__ statistics, float* __restrict__ embeddings);

// One thread per expert: the phenotype of its genome. Items: experts.
extern "C" __global__ void __launch_bounds__(256, 1) decode_genomes(unsigned int experts, const float* __restrict__ genome, double* __restrict__ phenotypes);
