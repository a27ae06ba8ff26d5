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
    unsigned int n_queries; // Queries of a head
    unsigned int n_keys; // Keys of a head
    unsigned int n_heads; // Heads of all sequences
    unsigned int heads_of_sequence; // Heads of a sequence
    unsigned int layer; // Number of the block of the model
    unsigned int capacity; // Keys from a head to the next in the state
    unsigned int mode; // Source of the bias
    unsigned int delay; // Steps of the queue
    unsigned int known; // Keys whose state is in memory
};
static_assert(sizeof(ScanArgs) == 48, "ScanArgs: size");

// Calcium influx of a key
struct alignas(4) Influx {
    float ca_retain; // Share of the calcium that remains after a step
    float alpha_c; // Calcium influx per softplus of the drive, natural logarithm
    float alpha_c_log2; // alpha_c ln 2: calcium influx per softplus of the drive, logarithm to base 2
};
static_assert(sizeof(Influx) == 12, "Influx: size");

// A calcium sensor with activation 1 / (1 + 2^(k_half - k_log2 C))
struct alignas(4) Sensor {
    float k_log2; // k / ln 2: exponent of 2 per calcium
    float k_half; // k C_half / ln 2: exponent of 2 without calcium
    float half_factor; // 2^(k C_half / ln 2): the power of 2 without calcium
    float weight; // Weight of the activation in the release probability
    float weight_k; // weight k: derivative of the weighted activation a, per a (1 - a)
    float bias_weight_k; // lambda_loge alpha_c weight k: derivative of the bias with respect to the drive, per a (1 - a)
};
static_assert(sizeof(Sensor) == 24, "Sensor: size");

// Complexin gate, 1 / (1 + 2^(k_half + clamp_log2 clamp - k_log2 C))
struct alignas(4) ComplexinGate {
    float k_log2; // k_cpx / ln 2: exponent of 2 per calcium
    float k_half; // (k_cpx C_cpx + w_cpx complexin_bias) / ln 2: exponent of 2 without calcium and clamp
    float clamp_log2; // w_cpx / ln 2: exponent of 2 per clamp
    float k; // k_cpx: derivative of the opening o, per o (1 - o)
    float bias_k; // lambda_loge alpha_c k_cpx: derivative of the bias with respect to the drive, per o (1 - o)
};
static_assert(sizeof(ComplexinGate) == 20, "ComplexinGate: size");

// Vesicle cycle: pools, SNARE complexes, amplitude, energy and clamp
struct alignas(4) Cycle {
    float p_max; // Largest release probability
    float prime_rate; // Vesicles primed per step, at most
    float unprime_per_release; // Loss of primed SNAREs and of clamp per released vesicle
    float nsf_recover; // Share of the unprimed SNAREs that NSF primes per step
    float snare_retain; // 1 - nsf_recover: share of the unprimed SNAREs that stays unprimed
    float rec_rate; // Share of the released vesicles that is recovered, at most 1
    float amp_retain; // 1 - amp_load - amp_leak: share of the quantal amplitude that remains after a step
    float amp_rise; // amp_load amp_target: added to the quantal amplitude per step
    float amp_max; // Largest quantal amplitude
    float energy_retain; // 1 - energy_fill: share of the energy that remains after a step
    float energy_rise; // energy_fill energy_max: added to the energy per step
    float energy_use; // Energy per released vesicle
    float energy_max; // Upper bound of the energy
    float fuel_slope; // s of the fuel of priming, (s E + b) / (s E + o)
    float fuel_base; // b of the fuel of priming, (s E + b) / (s E + o)
    float fuel_offset; // o of the fuel of priming, (s E + b) / (s E + o)
    float prime_gain; // prime_rate (b - o): vesicles primed per step are prime_rate + prime_gain / (s E + o)
    float clamp_retain; // Share of the clamp's distance from 1 that remains after a step
    float clamp_rise; // 1 - clamp_retain: added to the clamp per step
    float rrp_max; // Largest readily releasable pool
};
static_assert(sizeof(Cycle) == 80, "Cycle: size");

// State of a key before its first query
struct alignas(4) FirstState {
    float rrp; // Readily releasable pool
    float reserve; // Vesicles in the reserve pool
    float snare; // Share of primed SNAREs
    float clamp; // Complexin clamp, 0 to 1
    float amplitude; // Effect per released vesicle
    float energy; // Energy, at most energy_max
};
static_assert(sizeof(FirstState) == 24, "FirstState: size");

// Bias of an attention logit
struct alignas(4) Bias {
    float lambda_loge; // Weight of the natural logarithm of the effect
    float lambda_log2; // lambda_loge ln 2: weight of the logarithm to base 2
    float lambda_alpha; // lambda_loge alpha_c: derivative of the bias per calcium influx
    float log_floor; // Constant added to the effect before its logarithm
    float barrier; // Penalty per position between query and key
};
static_assert(sizeof(Bias) == 20, "Bias: size");

// Short-term plasticity after Tsodyks and Markram
struct alignas(4) TsodyksMarkram {
    float u_rest; // U: share of the resources that a spike uses at rest
    float rec_factor; // e^(-1 / tau_rec): share of the missing resources that is still missing after a step
    float facil_factor; // e^(-1 / tau_facil): share of the facilitation that remains after a step
    float scale; // Effect when all resources are used at once
};
static_assert(sizeof(TsodyksMarkram) == 16, "TsodyksMarkram: size");

// Constants of release
struct alignas(4) ScanConstants {
    Influx influx; // Constants of the calcium influx
    Sensor syt1; // Fast calcium sensor, synaptotagmin 1
    Sensor syt7; // Slow calcium sensor, synaptotagmin 7
    Sensor doc2; // Sensor of spontaneous release, Doc2
    ComplexinGate cpx; // Constants of the complexin gate
    Cycle cycle; // Constants of the vesicle cycle
    FirstState first; // State of a key before its first query
    Bias bias; // Bias of an attention logit
    TsodyksMarkram tm; // Short-term plasticity after Tsodyks and Markram
    float table_step; // Calcium from an entry of the table of the sensors to the next
    unsigned int has_default_slopes; // Whether the slopes of syt1, syt7, Doc2 and the gate are 8, 3, 4 and 8: 1, else 0
};
static_assert(sizeof(ScanConstants) == 252, "ScanConstants: size");

// Addresses of the random draws of a batch: see `Draws`.
struct alignas(8) ReleaseStep {
    unsigned long long seed; // Seed of the model
    unsigned long long step; // Number of the step
    unsigned int first; // Sequences of the step before these
    unsigned int sequences; // Sequences of the step
};
static_assert(sizeof(ReleaseStep) == 24, "ReleaseStep: size");

// One thread per key: walks the queries and adds the bias to each logit. Items: edges.
extern "C" __global__ void __launch_bounds__(128, 3) scan_release(ScanArgs a, ScanConstants c, const void* first, const void* step, const void* selected, const void* last, float* __restrict__ edges, void* factor, void* row_bias, void* state);

// One thread per key of all edges, with the default delay. Items: edges.
extern "C" __global__ void __launch_bounds__(128, 6) scan_all_edges(ScanArgs a, ScanConstants c, const void* first, float* __restrict__ edges, void* factor, void* state);

// One warp per 32 keys of whole sequences, with the default delay; sensors from a table. Items: edges.
extern "C" __global__ void __launch_bounds__(128, 6) scan_sequences(ScanArgs a, ScanConstants c, unsigned int is_packed, float* __restrict__ edges, void* factor);

// One block per query: the edges with the largest logits. Items: rows.
extern "C" __global__ void __launch_bounds__(256, 1) select_edges(ScanArgs a, const void* first, unsigned int k, const float* __restrict__ edges, unsigned int* __restrict__ selected, unsigned int* __restrict__ last);

// One block per query: the bias of the edges that are not selected. Items: rows.
extern "C" __global__ void __launch_bounds__(256, 1) fill_unselected(ScanArgs a, const void* first, const unsigned int* __restrict__ selected, const unsigned int* __restrict__ last, const float* __restrict__ row_bias, float* __restrict__ edges);

// A warp or a block per query: backward pass of softmax and release. Items: rows.
extern "C" __global__ void __launch_bounds__(512, 1) release_backward(ScanArgs a, unsigned int is_aligned, unsigned int is_packed, const float* __restrict__ p, const void* factor, float* __restrict__ d);
