// Networks from rules: the CUDA counterpart of src/kinds/spiking/general/cpu, whose page defines the step.
//
// A thread steps one neuron; then the block adds the rows of the spikes of its own neurons to the sums of the next
// steps. Sums are integers, so the order of the additions changes no bit; a ring with one slot more than there are
// delays keeps the additions apart from the step that is being read. Spikes with a smallest delay above one step are
// taken from the list of spikes when they are due. The last step of a launch delivers nothing, because stimuli may
// change the weights before the next step; `deliver_rules` delivers its spikes at the start of the next launch.
//
// `step_rules_persistent` takes many steps per launch if the device holds all neurons at once, one block per multiprocessor: the
// neurons stay in registers, and a grid barrier separates the steps. Otherwise `step_rules` is launched once per step, in a graph.
//
// Microseconds per step on an H200: CUBA with 4,000 neurons / a tenth of the microcircuit / all of it
//   3.6 /  5.2 /  8.8   this version: CUBA 27.8 times real time, the microcircuit 11.3 times
//   4.8 /  5.9 / 12.8   rows looked up after the step, own rows through the batch, blocks of at least 32 threads, a fence after the
//                       barrier, and Poisson input drawn before the step instead of while the other blocks arrive
//   4.6 /  7.8 / 20.6   every block delivers all synapses of its own spikes: an SM with two spikes adds 8,000 numbers, the others none
//   5.1 /  9.3 / 23.2   the same, with coefficients and tables in global memory, since the barrier invalidates the first-level cache
#include "gen/spiking-rules.cuh"
#include "spiking/rules_step.cuh"

extern "C" __global__ void __launch_bounds__(256, 1) deliver_rules(RULES_DELIVERY_PARAMETERS) {
    rules::deliver_at_start<false>(RULES_DELIVERY_ARGUMENTS, rules::Plasticity());
}

extern "C" __global__ void __launch_bounds__(256, 1)
    step_rules(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int index, unsigned int delivers,
               RULES_STEP_PARAMETERS) {
    rules::step_once<false>(model, clock, index, delivers, RULES_STEP_ARGUMENTS, rules::Plasticity());
}

extern "C" __global__ void __launch_bounds__(768, 1)
    step_rules_persistent(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int n_steps, RulesTables table_sizes,
                          RULES_STEP_PARAMETERS, unsigned int* __restrict__ barrier) {
    rules::step_many<768, false>(model, clock, n_steps, table_sizes, RULES_STEP_ARGUMENTS, barrier, rules::Plasticity());
}

extern "C" __global__ void __launch_bounds__(256, 1)
    read_rules_potentials(const RulesModel* __restrict__ model, const RulesPopulation* __restrict__ populations,
                          const unsigned short* __restrict__ population_of, const float* __restrict__ values,
                          const float* __restrict__ state, float* __restrict__ v) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= model->stride) return;
    const RulesPopulation& p = populations[population_of[at / STATE_BLOCK]];
    const unsigned int of = at - p.state;
    const rules::Values c = {values + p.values + of * p.varies, p.pitch};
    if (of < p.n) v[p.first + of] = c[REST] + state[at];
}
