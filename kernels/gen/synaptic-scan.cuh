// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int OFF = 0u;
constexpr unsigned int STATIC = 1u;
constexpr unsigned int SCAN = 2u;
constexpr unsigned int TSODYKS_MARKRAM = 3u;
constexpr unsigned int RELEASE = 12u;
constexpr unsigned int QUANTITIES = 9u;
constexpr unsigned int MAX_TRIALS = 8u;
constexpr unsigned int FAST_DELAY = 3u;
constexpr unsigned int RING = 6u;
constexpr unsigned int TABLE = 512u;

// Sizes of a pass.
struct alignas(8) ScanArgs {
    unsigned long long drawn_below; // Queries that draw counts: those whose random word is less; 0: none
    unsigned int first_query; // Position of the first query
    unsigned int n_queries; // Queries
    unsigned int n_keys; // Keys
    unsigned int n_heads; // Heads of all sequences
    unsigned int heads_of_sequence; // Heads of a sequence
    unsigned int layer; // Number of the block of the model
    unsigned int capacity; // Keys from a head to the next in the state
    unsigned int mode; // Source of the bias
    unsigned int delay; // Steps of the queue
    unsigned int known; // Keys whose state is in memory
};
static_assert(sizeof(ScanArgs) == 48, "ScanArgs: size");

// Constants of release; see `Constants`. Exponents are of 2.
struct alignas(4) ScanConstants {
    float ca_retain; // Share of the calcium that remains after a step
    float alpha_c; // Calcium influx per softplus of the drive
    float influx_gain; // The same of a logarithm to base 2
    float syt1_slope; // Exponent of synaptotagmin 1 per calcium
    float syt1_thresh; // Its exponent without calcium
    float syt1_factor; // 2 to that
    float syt1_weight; // Its weight
    float syt1_gain; // Weight of the derivative of its activation
    float syt1_bias_gain; // The same in the derivative of the bias
    float syt7_slope; // Exponent of synaptotagmin 7 per calcium
    float syt7_thresh; // Its exponent without calcium
    float syt7_factor; // 2 to that
    float syt7_weight; // Its weight
    float syt7_gain; // Weight of the derivative of its activation
    float syt7_bias_gain; // The same in the derivative of the bias
    float doc2_slope; // Exponent of Doc2 per calcium
    float doc2_thresh; // Its exponent without calcium
    float doc2_factor; // 2 to that
    float doc2_gain; // Its weight
    float doc2_slope_gain; // Weight of the derivative of its activation
    float doc2_bias_gain; // The same in the derivative of the bias
    float cpx_slope; // Exponent of the complexin gate per calcium
    float cpx_thresh; // Its exponent without calcium and clamp
    float cpx_weight; // Its exponent per clamp
    float cpx_gain; // Weight of the derivative of its opening
    float cpx_bias_gain; // The same in the derivative of the bias
    float p_max; // Largest release probability
    float prime_rate; // Vesicles primed per step, at most
    float unprime_per_release; // Loss of primed SNAREs and of clamp per released vesicle
    float nsf_recover; // Recovery of primed SNAREs
    float snare_retain; // The rest
    float rec_rate; // Share of the released vesicles that is recovered, at most 1
    float amp_retain; // Share of the quantal amplitude that remains after a step
    float amp_rise; // Added to it
    float amp_max; // Largest quantal amplitude
    float energy_retain; // Share of the energy that remains after a step
    float energy_rise; // Added to it
    float energy_use; // Energy per released vesicle
    float energy_max; // Largest energy
    float fuel_slope; // Fuel of priming is (slope E + base) / (slope E + offset): the slope
    float fuel_base; // Its base
    float fuel_offset; // Its offset
    float prime_gain; // Fuel is 1 + (base - offset) / (slope E + offset): what is divided times the primed vesicles
    float clamp_retain; // Share of the clamp that remains after a step
    float clamp_rise; // The rest
    float rrp_max; // Largest readily releasable pool
    float init_rrp; // First readily releasable pool
    float init_reserve; // First reserve pool
    float init_snare; // First share of primed SNAREs
    float init_clamp; // First clamp
    float init_amp; // First quantal amplitude
    float init_energy; // First energy
    float lambda_loge; // Weight of the bias
    float log_gain; // The same of a logarithm to base 2
    float slope_gain; // Weight of the derivative of the bias
    float log_floor; // Added to the effect before its logarithm
    float barrier; // Barrier per position
    float tm_use; // Tsodyks-Markram: use of resources at rest
    float tm_recovery; // What remains of the missing resources after a step
    float tm_facilitation; // What remains of facilitation after a step
    float tm_scale; // Effect when all resources are used at once
    float table_step; // Calcium from an entry of the table of the sensors to the next
};
static_assert(sizeof(ScanConstants) == 248, "ScanConstants: size");

// Where the random draws of a batch are: see `Draws`.
struct alignas(8) ReleaseStep {
    unsigned long long seed; // Seed of the model
    unsigned long long step; // Number of the step
    unsigned int first; // Sequences of the step before these
    unsigned int sequences; // Sequences of the step
};
static_assert(sizeof(ReleaseStep) == 24, "ReleaseStep: size");

// One thread per key: walks the queries, in place of each logit that with its bias. Items: edges.
extern "C" __global__ void __launch_bounds__(128, 3) scan_release(ScanArgs a, ScanConstants c, const void* first, const void* step, const void* selected, const void* last, float* __restrict__ edges, void* factor, void* row_bias, void* state);

// The same of all edges with the slopes and the delay of the defaults. Items: edges.
extern "C" __global__ void __launch_bounds__(128, 6) scan_all_edges(ScanArgs a, ScanConstants c, const void* first, float* __restrict__ edges, void* factor, void* state);

// The same of whole sequences, a warp per 32 keys. Items: edges.
extern "C" __global__ void __launch_bounds__(128, 6) scan_sequences(ScanArgs a, ScanConstants c, unsigned int is_packed, float* __restrict__ edges, void* factor);

// One block per query: the edges with the largest logits. Items: rows.
extern "C" __global__ void __launch_bounds__(256, 1) select_edges(ScanArgs a, const void* first, unsigned int k, const float* __restrict__ edges, unsigned int* __restrict__ selected, unsigned int* __restrict__ last);

// One block per query: the bias of the edges that are not selected. Items: rows.
extern "C" __global__ void __launch_bounds__(256, 1) fill_unselected(ScanArgs a, const void* first, const unsigned int* __restrict__ selected, const unsigned int* __restrict__ last, const float* __restrict__ row_bias, float* __restrict__ edges);

// A warp or a block per query: backward pass of softmax and release. Items: rows.
extern "C" __global__ void __launch_bounds__(512, 1) release_backward(ScanArgs a, unsigned int is_aligned, unsigned int is_packed, const float* __restrict__ p, const void* factor, float* __restrict__ d);
