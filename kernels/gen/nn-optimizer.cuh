// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/OptimizerState.cuh"

constexpr unsigned int RUN = 16384u;
constexpr unsigned int FROZEN = 0u;
constexpr unsigned int ADAMW = 1u;
constexpr unsigned int MUON = 2u;
constexpr unsigned int COPY_NONE = 0u;
constexpr unsigned int COPY_F16 = 1u;
constexpr unsigned int COPY_BF16 = 2u;
constexpr unsigned int EDIT_COPY = 0u;
constexpr unsigned int EDIT_MASK = 1u;
constexpr unsigned int EDIT_RESET = 2u;
constexpr unsigned int ROUNDING = 11u;
constexpr double MUON_EPS = 1e-7;

// Settings from the host: constants of the optimisers, and the learning rate of the step.
struct alignas(8) OptimizerSettings {
    double learning_rate; // Learning rate, before the factors of groups
    double beta1; // Decay of the mean of gradients
    double beta2; // Decay of the mean of the squares of gradients
    unsigned long long seed; // Seed of stochastic rounding
    float eps; // Constant added to the denominator
    float clip; // Largest norm of the gradient; 0: any
    float momentum; // Momentum of Muon
    float growth; // Factor of a growing scale of the loss
    float backoff; // Factor of a shrinking scale of the loss
    unsigned int interval; // Updates without overflow before the scale grows
    unsigned int is_nesterov; // Whether Muon applies the momentum once ahead
    unsigned int is_stochastic; // Whether the copy in bf16 is rounded stochastically, by draws of seed, number of updates and element
};
static_assert(sizeof(OptimizerSettings) == 64, "OptimizerSettings: size");

// The rule of a group.
struct alignas(8) OptimizerRule {
    double lr_factor; // Factor of the learning rate
    float decay; // Decoupled weight decay, multiplied by the learning rate
    unsigned int mode; // Kind of update, a value of `Mode`
};
static_assert(sizeof(OptimizerRule) == 16, "OptimizerRule: size");

// One block per run of elements: the sum of the squares of their gradients, without frozen groups.
extern "C" __global__ void __launch_bounds__(256, 1) sum_squares(unsigned long long n, const unsigned short* __restrict__ groups, const OptimizerRule* __restrict__ rules, const float* __restrict__ g, float* __restrict__ partials);

// One block: the norm of the gradient, whether the update is applied, and the scale of the next loss.
extern "C" __global__ void __launch_bounds__(256, 1) begin_update(unsigned int n_partials, const float* __restrict__ partials, const OptimizerSettings* __restrict__ settings, OptimizerState* __restrict__ state);

// Four parameters per thread: AdamW, with a rounded copy of the new weights.
extern "C" __global__ void __launch_bounds__(256, 1) update_adamw(unsigned long long n, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const unsigned short* __restrict__ groups, const OptimizerRule* __restrict__ rules, const float* __restrict__ gradients, float* __restrict__ params, float* __restrict__ means, float* __restrict__ squares, void* copy, unsigned int format);

// One block per run of elements of each matrix: Muon's momentum, and the matrix to orthogonalise.
extern "C" __global__ void __launch_bounds__(256, 1) update_momentum(unsigned long long n, const void* used, unsigned int used_stride, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const float* __restrict__ g, float* __restrict__ momentum, float* __restrict__ x, float* __restrict__ partials);

// One block per run of elements of each matrix: divides it by its norm.
extern "C" __global__ void __launch_bounds__(256, 1) divide_by_norm(unsigned long long n, unsigned int n_partials, const float* __restrict__ partials, float* __restrict__ x);

// An element of each matrix per thread: Muon's update by the orthogonal matrix, with a rounded copy.
extern "C" __global__ void __launch_bounds__(256, 1) update_muon(unsigned long long first, unsigned long long n, float factor, const void* used, unsigned int used_stride, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const unsigned short* __restrict__ groups, const OptimizerRule* __restrict__ rules, const float* __restrict__ x, float* __restrict__ params, void* copy, unsigned int format);

// Four weights per thread: the copy in the format of the model.
extern "C" __global__ void __launch_bounds__(256, 1) round_weights(unsigned long long n, const float* __restrict__ params, void* copy, unsigned int format);

// Four weights per thread: the copy that is rounded stochastically, as the last update leaves it.
extern "C" __global__ void __launch_bounds__(256, 1) draw_weights(unsigned long long n, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const float* __restrict__ params, void* copy, unsigned int format);

// An element per thread: copies a range of parameters with its state, or sets it or its state to zero.
extern "C" __global__ void __launch_bounds__(256, 1) edit_range(unsigned int edit, unsigned long long from, unsigned long long to, unsigned long long n, float* __restrict__ params, float* __restrict__ means, float* __restrict__ squares, void* copy, unsigned int format);
