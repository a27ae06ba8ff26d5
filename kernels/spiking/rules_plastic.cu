// Networks from rules with plastic synapses: the kernels of rules.cu, which also update weights, and those between launches.
#include "gen/spiking-rules_plastic.cuh"
#include "spiking/rules_step.cuh"

#define RULES_PLASTIC_PARAMETERS \
    const RulesPlastic* __restrict__ plastic, const unsigned int* __restrict__ incoming, const float* __restrict__ decays, \
    RulesRowState* __restrict__ rows, unsigned long long* __restrict__ heads, unsigned long long* __restrict__ entries, \
    float* __restrict__ seconds, float* __restrict__ plastic_weights, float* __restrict__ eligibility, \
    unsigned long long* __restrict__ weight_hash
#define RULES_PLASTICITY \
    rules::Plasticity { plastic, incoming, decays, rows, heads, entries, seconds, plastic_weights, eligibility, weight_hash }

extern "C" __global__ void __launch_bounds__(256, 1) deliver_rules_plastic(RULES_DELIVERY_PARAMETERS, RULES_PLASTIC_PARAMETERS) {
    rules::deliver_at_start<true>(RULES_DELIVERY_ARGUMENTS, RULES_PLASTICITY);
}

extern "C" __global__ void __launch_bounds__(256, 1)
    step_rules_plastic(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int index, unsigned int delivers,
                       RULES_STEP_PARAMETERS, RULES_PLASTIC_PARAMETERS) {
    rules::step_once<true>(model, clock, index, delivers, RULES_STEP_ARGUMENTS, RULES_PLASTICITY);
}

extern "C" __global__ void __launch_bounds__(512, 1)
    step_rules_plastic_persistent(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int n_steps,
                                  RulesTables table_sizes, RULES_STEP_PARAMETERS, unsigned int* __restrict__ barrier, RULES_PLASTIC_PARAMETERS) {
    rules::step_many<512, true>(model, clock, n_steps, table_sizes, RULES_STEP_ARGUMENTS, barrier, RULES_PLASTICITY);
}

// Sets the weights of a plastic projection to their start values. A thread takes every gridDim.x * blockDim.x-th synapse.
extern "C" __global__ void __launch_bounds__(256, 1)
    start_rules_weights(unsigned int index, unsigned int projection, unsigned long long synapses, const RulesPlastic* __restrict__ plastic,
                        const RulesProjection* __restrict__ projections, const unsigned char* __restrict__ weights, float* __restrict__ plastic_weights) {
    const RulesPlastic& of = plastic[index];
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < synapses; at += (unsigned long long)gridDim.x * blockDim.x) {
        const int units = rules::weight_of(projections[projection], weights, at);
        const float w = (float)units * of.unit, size = fabsf(w) < of.w_max ? fabsf(w) : of.w_max;
        plastic_weights[of.weights + at] = (units == 0 ? of.is_inhibitory : units < 0) ? -size : size;
    }
}

// Adds the absolute weights of a plastic projection to the sums of their postsynaptic neurons, as integers in units of 1 / scale, so
// that the order of the additions does not matter. A thread takes every gridDim.x * blockDim.x-th synapse.
extern "C" __global__ void __launch_bounds__(256, 1)
    sum_rules_inputs(unsigned int index, unsigned int projection, unsigned long long synapses, float scale, const RulesPlastic* __restrict__ plastic,
                     const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ words, const float* __restrict__ plastic_weights,
                     unsigned long long* __restrict__ input_sums) {
    const unsigned int* const own = words + projections[projection].words;
    const float* const weights = plastic_weights + plastic[index].weights;
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < synapses; at += (unsigned long long)gridDim.x * blockDim.x)
        atomicAdd(input_sums + (own[at] & ((1u << TARGET_BITS) - 1)), (unsigned long long)(fabsf(weights[at]) * scale));
}

// Multiplies the weights of a plastic projection by the factors of their postsynaptic neurons, up to the maximum weight. A thread
// takes every gridDim.x * blockDim.x-th synapse.
extern "C" __global__ void __launch_bounds__(256, 1)
    scale_rules_inputs(unsigned int index, unsigned int projection, unsigned long long synapses, const RulesPlastic* __restrict__ plastic,
                       const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ words, const float* __restrict__ factors,
                       float* __restrict__ plastic_weights) {
    const unsigned int* const own = words + projections[projection].words;
    const RulesPlastic& of = plastic[index];
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < synapses; at += (unsigned long long)gridDim.x * blockDim.x) {
        const float w = plastic_weights[of.weights + at];
        const float size = rules::bounded(fabsf(w) * factors[own[at] & ((1u << TARGET_BITS) - 1)], of.w_max);
        plastic_weights[of.weights + at] = __uint_as_float(__float_as_uint(size) | (__float_as_uint(w) & 0x80000000u));
    }
}

// Brings all rows of a plastic projection to a synapse time, one warp per row.
extern "C" __global__ void __launch_bounds__(256, 1)
    update_rules_rows(unsigned int index, unsigned int projection, unsigned int n_rows, unsigned int to, float gain, const RulesProjection* __restrict__ projections,
                      const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ words, RULES_PLASTIC_PARAMETERS) {
    const rules::Plasticity p = RULES_PLASTICITY;
    const RulesPlastic& of = plastic[index];
    const RulesProjection& own = projections[projection];
    const unsigned int lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
    for (unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < n_rows; row += warps) {
        const RulesRowState a = rules::load_row(rows + 2 * (of.rows + row)), b = rules::load_row(rows + 2 * (of.rows + row) + 1);
        const RulesRowState now = rules::is_after(b.last, a.last) ? b : a;
        const rules::RowNow state = {now.last, rules::is_after(of.settled, now.last) ? of.settled : now.last, to, now.trace, 0.0f, 0.0f};
        const unsigned long long from = starts[own.starts + row], end = starts[own.starts + row + 1];
        for (unsigned long long at = from + lane; at < end; at += 32) rules::update(p, of, state, words[own.words + at], at, false, gain, to + of.dendritic_min + 1);
    }
}
