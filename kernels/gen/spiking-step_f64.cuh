// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int TRAIN_STEPS = 64u;
constexpr unsigned int CLOSED = 1u;
constexpr unsigned int DRIVEN = 2u;
constexpr unsigned int CURRENT = 4u;
constexpr unsigned int TABLE = 1024u;
constexpr unsigned int MAX_WINDOW_STEPS = 32u;
constexpr unsigned int COPIES = 8u;
constexpr unsigned int COUNTERS = 288u;
constexpr unsigned int HASH = 258u;
constexpr unsigned int NON_FINITE = 260u;
constexpr unsigned int LANE_BITS = 26u;
constexpr unsigned int CHUNK = 128u;
constexpr unsigned int NEURONS_PER_BLOCK = 512u;
constexpr unsigned int MAX_NEURONS_PER_BLOCK = 1088u;
constexpr unsigned int MAX_BLOCKS = 256u;
constexpr unsigned int MAX_PENDING_QUADS = 2560u;
constexpr unsigned int MAX_LOCAL_SPIKES = 1024u;
constexpr unsigned int MAX_TRACED = 128u;
constexpr unsigned int TRACE_WORDS = 40u;
constexpr unsigned int MEMBER_BITS = 11u;
constexpr unsigned int SORTED_BY_DEVICE = 8192u;

// Layout of ring buffers, tables and connection words; constant for the life of a network.
struct alignas(4) RingLayout {
    unsigned int target_bits; // Bits of the target in a packed connection
    unsigned int window; // Steps of a whole window: rows of the arrivals table
    unsigned int spike_mask; // Ring size of spikes less one; sizes are powers of two
    unsigned int chunk_mask; // Ring size of chunks less one
    unsigned int segment_mask; // Ring size of segments less one
    unsigned int dense_chunks; // Chunks of a window from which on all warps are evaluated
};
static_assert(sizeof(RingLayout) == 24, "RingLayout: size");

// Model constants and sizes; rewritten between steps when a parameter changes.
struct alignas(8) Model {
    unsigned long long seed; // Project seed
    double theta; // Threshold above rest, mV
    double u_reset; // u after a spike, mV
    double w_syn; // Added to g per synapse, mV
    double dt_per_tau_m; // dt / tau_m
    double b_peak; // Largest contribution of a unit of g to u
    double slack; // Bound on rounding errors of u
    double v_rest; // Resting potential, mV
    unsigned int refractory; // Steps from a spike to the next integration
    unsigned int n; // Neurons
    unsigned int n_warps; // Warps of neurons
    unsigned int stride; // Neurons, rounded up to whole blocks
    unsigned int n_overflow; // Entries of the overflow list
    unsigned int n_sources; // Active kick sources
    unsigned int has_gains; // Whether weights are changed
    unsigned int counts_active; // Whether evaluated neurons are counted
    RingLayout layout; // Layout of rings and tables
    float theta_f; // Threshold in single precision, for the threshold bound
    float gain; // Increment of a running rate per spike, Hz
    unsigned int n_coarse; // Entries of the coarse decay table
    unsigned int may_overflow; // Whether an input is large enough to make a state non-finite
};
static_assert(sizeof(Model) == 136, "Model: size");

// One window of steps. Planned by the host, which controls the clock, not the activity.
struct alignas(8) Window {
    unsigned long long step; // First step
    unsigned int steps; // Number of steps, at most 32; 0 is an unused entry of a graph
    unsigned int sent; // Step, modulo 2^32, whose spikes arrive in the first step
    unsigned int previous; // Previous segment
    unsigned int first; // First segment with spikes that arrive in it
    unsigned int last; // Last such segment; first - 1 for none
    unsigned int unread; // Ring offset of the first spike the host has not read
    int most_spikes; // Spikes in the ring with which the window still fits; negative: never
    int most_chunks; // Chunks in the ring with which the window still fits; negative: never
    unsigned int segment; // Segment of its spikes
    unsigned int kick_from; // First listed kick
    unsigned int kick_to; // End of its listed kicks (exclusive)
    unsigned int slot; // Index of its counters
};
static_assert(sizeof(Window) == 56, "Window: size");

// The spikes of one window: their range in the ring buffers.
struct alignas(4) Segment {
    unsigned int n_spikes; // Spikes
    unsigned int n_chunks; // Chunks of their rows; beside n_spikes, so that one atomic moves both
    unsigned int spike_start; // Offset in the ring of spikes
    unsigned int chunk_start; // Offset in the ring of chunks
    unsigned int halted; // The window was not run: the rings were full
    unsigned int dense; // All warps are evaluated
};
static_assert(sizeof(Segment) == 24, "Segment: size");

// At most 128 synapses of a neuron that fired.
struct alignas(4) Chunk {
    unsigned int word; // First connection
    unsigned int meta; // Connections less one in the lower bits; step of the spike in the upper
};
static_assert(sizeof(Chunk) == 8, "Chunk: size");

// A running rate, updated at spikes only.
struct alignas(4) DeviceRate {
    float hz; // Right after the last spike, Hz
    unsigned int step; // The step of the last spike
};
static_assert(sizeof(DeviceRate) == 8, "DeviceRate: size");

// A source of kicks.
struct alignas(8) KickSource {
    double weight; // Added to u per event, mV
    unsigned int address; // Purpose and stream of its draws
    unsigned int draws; // Whether events are drawn; 0 for listed kicks
};
static_assert(sizeof(KickSource) == 16, "KickSource: size");

// A listed kick; sorted by step, neuron, source.
struct alignas(8) Kick {
    unsigned long long step; // Step
    double weight; // Added to u, mV
    unsigned int lane; // Neuron
    unsigned int source; // Index of its source
};
static_assert(sizeof(Kick) == 24, "Kick: size");

// A count that does not fit into its word.
struct alignas(4) Overflow {
    unsigned int word; // Index of the connection
    int count; // The exact count
};
static_assert(sizeof(Overflow) == 8, "Overflow: size");

// A change of outgoing weights.
struct alignas(8) WeightGain {
    double factor; // Multiplies the count
    int sign; // Sign given to the count first; 0 keeps its own
    unsigned int silent; // Whether spikes are not delivered
    unsigned int changes; // Whether counts change
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(WeightGain) == 24, "WeightGain: size");

// Adds the spikes that arrive in the window to their targets, as integers: one warp per chunk of at most 128
// synapses. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_spikes(RingLayout layout, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ segments, Segment* __restrict__ live, const Chunk* __restrict__ chunks, const unsigned int* __restrict__ words, int* __restrict__ arrivals, unsigned char* __restrict__ touched);

// The same with Poisson stimuli or changed weights: extra blocks draw the kicks. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_spikes_driven(RingLayout layout, unsigned int n, unsigned int is_exact, const Model* __restrict__ model, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ segments, Segment* __restrict__ live, const Chunk* __restrict__ chunks, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const Overflow* __restrict__ overflow, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, unsigned int* __restrict__ kick_bits, int* __restrict__ arrivals, unsigned char* __restrict__ touched);

// Marks the listed kicks of the window per neuron and step.
extern "C" __global__ void __launch_bounds__(256, 1) mark_kicks(const Model* __restrict__ model, const Window* __restrict__ windows, unsigned int index, const Segment* __restrict__ live, const Kick* __restrict__ kicks, unsigned int* __restrict__ kick_bits, unsigned char* __restrict__ touched);

// Samples v and g of traced neurons over the window, one warp per neuron, ahead of `step_lif`.
extern "C" __global__ void __launch_bounds__(64, 1) sample_traces(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int index, const Segment* __restrict__ live, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states, const unsigned int* __restrict__ anchors, const int* __restrict__ arrivals, const unsigned int* __restrict__ kick_bits, unsigned int n_traced, const unsigned int* __restrict__ traced, float* __restrict__ samples);

// The same for all windows of a persistent launch, from what it recorded, one warp per window and neuron.
extern "C" __global__ void __launch_bounds__(64, 1) sample_recorded_traces(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int n_windows, const Segment* __restrict__ segments, const KickSource* __restrict__ sources, const unsigned int* __restrict__ currents, unsigned int n_traced, const unsigned int* __restrict__ traced, const unsigned int* __restrict__ trace_inputs, float* __restrict__ samples);

// Steps all neurons through the window: input, spikes, resets. Blocks of 512 neurons without input and
// without possible crossings return at once; eight more blocks count synaptic events. Items: spikes.
extern "C" __global__ void __launch_bounds__(256, 1) step_lif(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ live, const Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes, unsigned char* __restrict__ touched, int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, DeviceRate* __restrict__ rates, const float* __restrict__ fade);

// Many windows per launch: neurons in shared memory, blocks exchange their spikes once per window and add
// arrivals in shared memory. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(544, 1) step_lif_persistent(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const unsigned int* __restrict__ heads, const unsigned int* __restrict__ tails, const unsigned int* __restrict__ tail_starts, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes, int* __restrict__ arrivals, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, unsigned int* __restrict__ barrier, unsigned long long* __restrict__ mailboxes, unsigned int first_tag, DeviceRate* __restrict__ rates, const float* __restrict__ fade, unsigned int n_traced, const unsigned int* __restrict__ traced, unsigned int* __restrict__ trace_inputs);

// Sorts the spikes of each window by step and neuron. Once per graph; for windows launched one by one, it
// also hashes the spikes and copies their segments into the ring buffer.
extern "C" __global__ void __launch_bounds__(1024, 1) sort_spikes(const Model* __restrict__ model, const Window* __restrict__ windows, const Segment* __restrict__ live, unsigned int is_live, Segment* __restrict__ segments, unsigned int* __restrict__ spikes, unsigned int* __restrict__ counters);

// Applies stimuli between two steps.
extern "C" __global__ void __launch_bounds__(256, 1) apply_stimuli(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, const unsigned int* __restrict__ new_marks, const unsigned int* __restrict__ new_currents, unsigned int* __restrict__ marks, unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes);

// Re-anchors all neurons at the current step, when the neuron model changes.
extern "C" __global__ void __launch_bounds__(256, 1) reanchor_neurons(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, double shift, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors);

// Advances old anchors, once in 2^28 steps.
extern "C" __global__ void __launch_bounds__(256, 1) advance_anchors(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes);

// Computes v of every neuron, for views.
extern "C" __global__ void __launch_bounds__(256, 1) read_potentials(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states, const unsigned int* __restrict__ anchors, float* __restrict__ v);
