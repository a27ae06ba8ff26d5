// Networks from rules: the connections, made on the device. The CUDA counterpart of src/kinds/spiking/general/rows.rs, whose draws
// have addresses, so that the rows are the same in every order. Rows are not sorted, because the sums of arrivals do not depend on
// the order.
#include "gen/spiking-rules_connect.cuh"
#include "common/normal.cuh"
#include "common/philox.cuh"

namespace rules {

__device__ inline Words words_of(const RulesRowArgs& r, unsigned int lane, unsigned int number, unsigned int stage) {
    return philox4x32({lane, r.address, number, stage}, (unsigned int)r.seed, (unsigned int)(r.seed >> 32));
}

__device__ inline unsigned int below(unsigned int word, unsigned int n) { return __umulhi(word, n); }

__device__ inline double unit(unsigned int word) { return ((double)word + 0.5) * (1.0 / 4294967296.0); }

// Quantile of a distribution that is not constant, as `Distribution::quantile`.
__device__ inline double quantile(const RulesLaw& law, double u) {
    double x;
    if (law.kind == LAW_UNIFORM) {
        x = law.a + u * law.b;
    } else {
        const double below = law.below + u * law.below_width, above = law.above + (1.0 - u) * law.above_width;
        const bool is_below = below <= above;
        const double p = is_below ? below : above;
        double z = fmin(p, 1.0 - p) > 0.0 ? normal::quantile(p) : 0.0;
        z = fmin(fmax(is_below ? z : -z, law.z_low), law.z_high);
        x = law.a + law.b * z;
        if (law.kind == LAW_LOG_NORMAL) x = normal::exp(x);
    }
    return fmin(fmax(x, law.low), law.high);
}

// Image of a number below n, as `Permutation::image`.
__device__ inline unsigned int image(const Words& keys, unsigned int n, unsigned int of) {
    const unsigned int bits = n > 1 ? 32 - __clz(n - 1) : 0, half = (bits + 1) / 2;
    const unsigned long long mask = (1ull << half) - 1;
    const unsigned int key[4] = {keys.x, keys.y, keys.z, keys.w};
    unsigned long long x = of;
    do {
        for (unsigned int i = 0; i < 4; ++i) {
            const unsigned long long high = x >> half, low = x & mask;
            unsigned int mixed = ((unsigned int)low ^ key[i]) * 0x85ebca6bu;
            mixed = (mixed ^ mixed >> 15) * 0xc2b2ae35u;
            x = low << half | ((high ^ (mixed ^ mixed >> 16)) & mask);
        }
    } while (x >= n);
    return (unsigned int)x;
}

// Partner `number` of neuron `own` among n, drawn independently with multapses, otherwise from a permutation.
__device__ inline unsigned int partner(const RulesRowArgs& r, unsigned int word, unsigned int number, unsigned int n, unsigned int own) {
    n -= r.skips_own;
    const unsigned int drawn = r.multapses ? below(word, n) : image(words_of(r, own, 0, STAGE_PERMUTATION), n, number);
    return drawn + (r.skips_own && drawn >= own ? 1 : 0);
}

// Delay that a word draws, beyond the smallest one, steps.
__device__ inline unsigned int delay_of(const RulesRowArgs& r, unsigned int word) {
    if (r.delay.kind == LAW_CONSTANT) return 0;
    const long long steps = (long long)floor(quantile(r.delay, unit(word)) / r.dt_ms + 0.5) - (long long)r.delay_min;
    return (unsigned int)min(max(steps, 0ll), (long long)r.delays - 1);
}

// Stores a synapse whose draws are `w`.
__device__ inline void store(const RulesRowArgs& r, unsigned long long at, unsigned int target, unsigned int delay, const Words& w,
                                  unsigned int* words, unsigned char* weights) {
    words[r.words + at] = target | delay << TARGET_BITS;
    if (r.format == WEIGHT_CONSTANT) return;
    const double units = round(quantile(r.weight, unit(w.y)) / r.scale);
    if (r.format == WEIGHT_NARROW) reinterpret_cast<short*>(weights + r.weights)[at] = (short)min(max(__double2int_rz(units), -32768), 32767);
    else reinterpret_cast<int*>(weights + r.weights)[at] = __double2int_rz(units);
}

// Calls `found` with number, target and draws of each synapse of a row of pairwise connections. Returns the number of
// synapses.
template <typename F> __device__ inline unsigned int walk(const RulesRowArgs& r, unsigned int source, F found) {
    unsigned long long target = 0;
    unsigned int degree = 0;
    if (r.p <= 0.0) return 0;
    for (unsigned int number = 0;; ++number) {
        const Words w = words_of(r, source, number, STAGE_SYNAPSE);
        target += (unsigned long long)(normal::ln(unit(w.x)) * r.per_log);
        if (target >= r.n_to) return degree;
        if (!(r.skips_own && target == source)) found(degree++, (unsigned int)target, w);
        ++target;
    }
}

}  // namespace rules

extern "C" __global__ void __launch_bounds__(256, 1) count_rules_rows(RulesRowArgs r, unsigned int* __restrict__ degrees) {
    const unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (r.rule == RULE_PAIRS) {
        if (at < r.n_from) degrees[at] = rules::walk(r, (unsigned int)at, [](unsigned int, unsigned int, const Words&) {});
        return;
    }
    for (unsigned long long i = at; i < (unsigned long long)r.n_to * r.degree; i += (unsigned long long)gridDim.x * blockDim.x) {
        const unsigned int target = (unsigned int)(i / r.degree), number = (unsigned int)(i % r.degree);
        const unsigned int word = r.multapses ? rules::words_of(r, target, number, STAGE_SYNAPSE).x : 0;
        atomicAdd(&degrees[rules::partner(r, word, number, r.n_from, target)], 1);
    }
}

// Synapses with the smallest delay of the projection are placed from the front of a row, the others from its back; `splits` receives
// the number of the former. `cursors` hold both numbers for each row of a fixed in-degree.
extern "C" __global__ void __launch_bounds__(256, 1)
    fill_rules_rows(RulesRowArgs r, const unsigned long long* __restrict__ starts, unsigned int* __restrict__ splits,
                    unsigned int* __restrict__ cursors, unsigned int* __restrict__ words, unsigned char* __restrict__ weights) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long* const start = starts + r.starts;
    if (r.rule == RULE_PAIRS) {
        if (at >= r.n_from) return;
        unsigned int front = 0, back = 0;
        rules::walk(r, at, [&](unsigned int, unsigned int target, const Words& w) {
            const unsigned int delay = rules::delay_of(r, w.z);
            rules::store(r, delay == 0 ? start[at] + front++ : start[at + 1] - ++back, target, delay, w, words, weights);
        });
        splits[r.starts + at] = front;
        return;
    }
    if (r.rule == RULE_IN_DEGREE) {
        for (unsigned long long i = at; i < (unsigned long long)r.n_to * r.degree; i += (unsigned long long)gridDim.x * blockDim.x) {
            const unsigned int target = (unsigned int)(i / r.degree), number = (unsigned int)(i % r.degree);
            const Words w = rules::words_of(r, target, number, STAGE_SYNAPSE);
            const unsigned int source = rules::partner(r, w.x, number, r.n_from, target), delay = rules::delay_of(r, w.z);
            const unsigned long long place = delay == 0 ? start[source] + atomicAdd(&splits[r.starts + source], 1)
                                                        : start[source + 1] - 1 - atomicAdd(&cursors[source], 1);
            rules::store(r, place, target, delay, w, words, weights);
        }
        return;
    }
    // One warp per presynaptic neuron.
    const unsigned int lane = threadIdx.x & 31, below = (1u << lane) - 1, warps = gridDim.x * blockDim.x / 32;
    for (unsigned int source = at / 32; source < r.n_from; source += warps) {
        const unsigned long long from = start[source], to = start[source + 1];
        const unsigned int degree = (unsigned int)(to - from);
        unsigned int front = 0, back = 0;
        for (unsigned int first = 0; first < degree; first += 32) {
            const unsigned int i = first + lane, all = __ballot_sync(0xffffffffu, i < degree);
            unsigned int target, number = i;
            if (r.rule == RULE_ALL) number = target = i + (r.skips_own && i >= source ? 1 : 0);
            const Words w = rules::words_of(r, source, number, STAGE_SYNAPSE);
            if (r.rule == RULE_ONE) target = source;
            else if (r.rule != RULE_ALL && i < degree) target = rules::partner(r, w.x, i, r.n_to, source);
            const unsigned int delay = rules::delay_of(r, w.z);
            const unsigned int smallest = __ballot_sync(0xffffffffu, i < degree && delay == 0), others = all & ~smallest;
            const unsigned long long place = delay == 0 ? from + front + __popc(smallest & below) : to - 1 - back - __popc(others & below);
            if (i < degree) rules::store(r, place, target, delay, w, words, weights);
            front += __popc(smallest);
            back += __popc(others);
        }
        if (lane == 0) splits[r.starts + source] = front;
    }
}

namespace rules {

// Mixes two words, as `StreamHash::push_spike`.
__device__ inline unsigned long long mixed(unsigned int high, unsigned int low) {
    const unsigned long long both = ((unsigned long long)high << 32 | low) + 0x9e3779b97f4a7c15ull;
    const unsigned long long once = (both ^ both >> 32) * 0xd6e8feb86659fd93ull;
    return (once ^ once >> 32) * 0xd6e8feb86659fd93ull;
}

}  // namespace rules

extern "C" __global__ void __launch_bounds__(256, 1)
    hash_rules_rows(RulesRowArgs r, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ words,
                    const unsigned char* __restrict__ weights, unsigned long long* __restrict__ hash) {
    const unsigned int lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
    unsigned long long sum = 0;
    for (unsigned int source = (blockIdx.x * blockDim.x + threadIdx.x) / 32; source < r.n_from; source += warps) {
        const unsigned long long from = starts[r.starts + source], to = starts[r.starts + source + 1];
        for (unsigned long long at = from + lane; at < to; at += 32) {
            int weight = r.constant;
            if (r.format == WEIGHT_NARROW) weight = (int)((unsigned int)(int)reinterpret_cast<const short*>(weights + r.weights)[at] << r.shift);
            if (r.format == WEIGHT_WIDE) weight = reinterpret_cast<const int*>(weights + r.weights)[at];
            const unsigned long long ends = rules::mixed(source, words[r.words + at]);
            sum += rules::mixed(r.projection ^ (unsigned int)ends, (unsigned int)weight ^ (unsigned int)(ends >> 32)) ^ ends;
        }
    }
    for (unsigned int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0 && sum) atomicAdd(hash, sum);
}
