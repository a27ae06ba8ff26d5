// State of a key and one query of it: the arithmetic of kernels/synaptic/scan.cu.
#include "nn/narrow.cuh"

// No key.
constexpr unsigned int NONE = 0xffffffffu;
constexpr float LN_2 = 0.6931471805599453f;

struct Key { float calcium, rrp, reserve, primed, clamp, amplitude, energy, x, u; };

// NaN stays.
__device__ __forceinline__ float clip(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// As power_of_two and reciprocal of nn/narrow.cuh: one instruction; subnormal numbers are 0.
__device__ __forceinline__ float log2_of(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// Down to a multiple of 2^-19 (of 2^-18 from 16 on), for 0 <= x < 32: numbers of vesicles below 32 that are such multiples are
// added without a rounding error.
__device__ __forceinline__ float whole_quanta(float x) { return __fadd_rd(x, 16.0f) - 16.0f; }

__device__ __forceinline__ Key fresh(const ScanConstants& c) {
    return {0.0f, c.first.rrp, c.first.reserve, c.first.snare, c.first.clamp, c.first.amplitude, c.first.energy, 1.0f, c.tm.u_rest};
}

// Arithmetic of a query: of any operation; of those of `has_short_form`, with the default slopes (exponentials are powers of one)
// and with other slopes.
enum Form : unsigned int { GENERAL, POWERS, EXPONENTIALS };

// Places of the edges of a thread.
struct Column {
    ScanArgs a;
    u64 seed, step;               // of random draws, with the number of the head
    const unsigned int* selected; // bits by row, or all
    const unsigned int* last;     // last selected key of a row
    float* edges;
    float* factor;
    float* row_bias;
    unsigned int head, key;
};

__device__ __forceinline__ unsigned int words_of_row(const ScanArgs& a) { return (a.n_keys + 31) / 32; }

// The random words of an edge (groups 0, 1) or of a query (group 2): Draws::words. `step` has the number of the head.
__device__ __forceinline__ Words release_words(u64 seed, u64 step, unsigned int group, unsigned int query, unsigned int key) {
    return draw(seed, RELEASE, step | (u64)group << 32, query << 16 | key);
}

// Step and number of a head among all heads of the step.
__device__ __forceinline__ u64 step_of_head(const ScanArgs& a, const ReleaseStep& s, unsigned int head) {
    const u64 number = (u64)(a.layer * s.sequences + s.first) * a.heads_of_sequence + head;
    return (s.step & 0xffffffffull) | number << 34;
}

__device__ __forceinline__ unsigned int hits(const Words& w, unsigned int n, float below) {
    const unsigned int all[4] = {w.x, w.y, w.z, w.w};
    unsigned int count = 0;
#pragma unroll
    for (unsigned int i = 0; i < 4; ++i) count += i < n && (double)all[i] < (double)below * 4294967296.0;
    return count;
}

// Whether a query draws counts.
__device__ __noinline__ bool is_drawn(u64 seed, u64 step, unsigned int query, u64 below) {
    return (u64)release_words(seed, step, 2, query, 0).x < below;
}

// Vesicles released from a pool: each of n equal parts with probability p.
__device__ __noinline__ float draw_release(u64 seed, u64 step, unsigned int query, unsigned int key, float pool, float p) {
    const float rounded = rintf(pool);
    const unsigned int n = rounded >= 1.0f ? (unsigned int)fminf(rounded, (float)MAX_TRIALS) : 1;
    unsigned int count = hits(release_words(seed, step, 0, query, key), min(n, 4u), p);
    if (n > 4) count += hits(release_words(seed, step, 1, query, key), n - 4, p);
    return (float)count * pool / (float)n;
}

// Activations of the sensors and of the complexin gate at a concentration of calcium.
struct Sensors { float syt1, syt7, doc2, gate; };

__device__ __forceinline__ Sensors sense(const ScanConstants& c, float calcium, float clamp) {
    auto logistic = [&](float slope, float threshold) { return reciprocal(1.0f + power_of_two(threshold - slope * calcium)); };
    return {logistic(c.syt1.k_log2, c.syt1.k_half), logistic(c.syt7.k_log2, c.syt7.k_half), logistic(c.doc2.k_log2, c.doc2.k_half), logistic(c.cpx.k_log2, c.cpx.k_half + c.cpx.clamp_log2 * clamp)};
}

// One query: bias and its derivative; the state is advanced. `slot` is the number of vesicles that return from
// endocytosis, then of those that enter.
template <unsigned int MODE>
__device__ __forceinline__ void step_key(const ScanConstants& c, const Column& col, unsigned int query, bool is_selected, float drive, Key& k, float& slot, float& bias, float& slope_of_bias) {
    if (MODE == OFF) {
        bias = slope_of_bias = 0.0f;
        return;
    }
    // Softplus of the drive, and its derivative.
    const float u = power_of_two(-LOG2_E * fabsf(drive)), denominator = 1.0f + u;
    const float influx = fmaxf(drive, 0.0f) + LN_2 * log2_of(denominator);
    const float activation = (drive > 0.0f ? 1.0f : u) * reciprocal(denominator);
    if (MODE == TSODYKS_MARKRAM) {
        const float x = 1.0f - (1.0f - k.x) * c.tm.rec_factor, use = c.tm.u_rest + (k.u - c.tm.u_rest) * c.tm.facil_factor;
        const float weight = is_selected ? activation : 0.0f, used = weight * use * x, effect = c.tm.scale * used;
        k.x = x - used;
        k.u = use + weight * c.tm.u_rest * (1.0f - use);
        bias = c.bias.lambda_log2 * log2_of(c.bias.log_floor + effect);
        const float slope = activation * (1.0f - activation);
        slope_of_bias = is_selected ? c.bias.lambda_loge * c.tm.scale * (use * x) * slope * reciprocal(c.bias.log_floor + effect) : 0.0f;
        return;
    }
    const float decayed = c.influx.ca_retain * k.calcium, calcium = decayed + c.influx.alpha_c * influx;
    const Sensors s = sense(c, calcium, k.clamp);
    const float sensors = c.syt1.weight * s.syt1 + c.syt7.weight * s.syt7 + c.doc2.weight * s.doc2;
    const float d_sensors = c.syt1.weight_k * (s.syt1 - s.syt1 * s.syt1) + c.syt7.weight_k * (s.syt7 - s.syt7 * s.syt7) + c.doc2.weight_k * (s.doc2 - s.doc2 * s.doc2);
    const float d_gate = c.cpx.k * (s.gate - s.gate * s.gate);
    const float free = sensors * s.gate * k.primed;
    const bool is_full = free >= c.cycle.p_max; // not so of NaN, which stays
    const float slope = is_full ? 0.0f : k.primed * (d_sensors * s.gate + sensors * d_gate);
    const float p = is_full ? c.cycle.p_max : free;
    const float expected = is_selected ? p * k.rrp : 0.0f;
    float released = expected;
    if (col.a.drawn_below != 0 && is_selected && is_drawn(col.seed, col.step, query, col.a.drawn_below)) released = draw_release(col.seed, col.step, query, col.key, k.rrp, p);
    const float effect = c.bias.log_floor + released * k.amplitude, expected_effect = c.bias.log_floor + expected * k.amplitude;
    bias = c.bias.lambda_log2 * log2_of(effect);
    slope_of_bias = is_selected ? c.bias.lambda_alpha * (k.amplitude * k.rrp) * slope * activation * reciprocal(expected_effect) : 0.0f;
    if (MODE != SCAN) return;
    auto bounded = [](float x, float most) { return fminf(fmaxf(x, 0.0f), most); };
    const float fuel = (c.cycle.fuel_slope * k.energy + c.cycle.fuel_base) * reciprocal(c.cycle.fuel_slope * k.energy + c.cycle.fuel_offset);
    const float left = whole_quanta(released), emptied = bounded(k.rrp - left, c.cycle.rrp_max);
    const float returned = k.reserve + slot, supply = fminf(returned, 1.0f);
    const float wanted = fminf(c.cycle.prime_rate * supply * fuel, c.cycle.rrp_max - emptied);
    const float take = whole_quanta(bounded(fminf(wanted, returned), returned)), loss = c.cycle.unprime_per_release * released;
    k.calcium = is_selected ? calcium : decayed;
    k.rrp = emptied + take;
    k.reserve = returned - take;
    slot = whole_quanta(c.cycle.rec_rate * left);
    k.primed = __saturatef(k.primed * (1.0f - loss) + c.cycle.nsf_recover * (1.0f - k.primed));
    k.clamp = __saturatef(c.cycle.clamp_retain * k.clamp + (c.cycle.clamp_rise - loss));
    k.amplitude = bounded(c.cycle.amp_retain * k.amplitude + c.cycle.amp_rise, c.cycle.amp_max);
    k.energy = bounded(c.cycle.energy_retain * k.energy + (c.cycle.energy_rise - c.cycle.energy_use * released), c.cycle.energy_max);
}

// Added to numbers of vesicles that enter the queue in `step_short`, and missing in its reserve.
constexpr float QUEUED = 16.0f;

// The state behind a query that released vesicles of a key, except its calcium. `prime` is what is primed of a full reserve.
__device__ __forceinline__ void advance(const ScanConstants& c, float released, float prime, Key& k, float& slot) {
    const float left = __fadd_rd(released, QUEUED), returned = k.reserve + slot, take = __fmaf_rd(prime, fminf(returned, 1.0f), QUEUED);
    k.rrp = k.rrp - left + take;
    k.reserve = returned - take;
    slot = left;
    k.primed = __saturatef(k.primed * (c.cycle.snare_retain - c.cycle.unprime_per_release * released) + c.cycle.nsf_recover);
    k.clamp = __saturatef(c.cycle.clamp_retain * k.clamp + (c.cycle.clamp_rise - c.cycle.unprime_per_release * released));
    k.amplitude = c.cycle.amp_retain * k.amplitude + c.cycle.amp_rise;
    k.energy = __saturatef(c.cycle.energy_retain * k.energy + (c.cycle.energy_rise - c.cycle.energy_use * released));
}

// A query of a selected edge, as in step_key, in mode SCAN without draws, for states within their bounds: see
// `has_short_form`. Drives count up to
// 80. With POWERS the slopes of syt1, syt7, Doc2 and the gate are 8, 3, 4 and 8. `logarithm`: of the effect, to base 2. Numbers of the
// queue are more by QUEUED, as they come out of `whole_quanta` before its difference, and the reserve is less by it.
template <Form FORM>
__device__ __forceinline__ void step_short(const ScanConstants& c, float drive, Key& k, float& slot, float& logarithm, float& slope_of_bias) {
    const float u = power_of_two(LOG2_E * fminf(drive, 80.0f)), open = 1.0f + u;
    const float calcium = c.influx.alpha_c_log2 * log2_of(open) + c.influx.ca_retain * k.calcium;
    float of_syt1, of_gate, of_syt7, of_doc2;
    // Special functions are the scarcest: powers save two of them, and reciprocals are taken by twos.
    if (FORM == POWERS) {
        const float e = power_of_two(-LOG2_E * calcium), e2 = e * e, e4 = e2 * e2, e8 = e4 * e4;
        of_syt1 = 1.0f + c.syt1.half_factor * e8, of_gate = 1.0f + power_of_two(c.cpx.k_half + c.cpx.clamp_log2 * k.clamp) * e8;
        of_syt7 = 1.0f + c.syt7.half_factor * (e2 * e), of_doc2 = 1.0f + c.doc2.half_factor * e4;
    } else {
        of_syt1 = 1.0f + power_of_two(c.syt1.k_half - c.syt1.k_log2 * calcium);
        of_gate = 1.0f + power_of_two(c.cpx.k_half + c.cpx.clamp_log2 * k.clamp - c.cpx.k_log2 * calcium);
        of_syt7 = 1.0f + power_of_two(c.syt7.k_half - c.syt7.k_log2 * calcium);
        of_doc2 = 1.0f + power_of_two(c.doc2.k_half - c.doc2.k_log2 * calcium);
    }
    const float first = reciprocal(of_syt1 * of_gate), second = reciprocal(of_syt7 * of_doc2);
    const float syt1 = first * of_gate, gate = first * of_syt1, syt7 = second * of_doc2, doc2 = second * of_syt7;
    const float sensors = c.syt1.weight * syt1 + c.syt7.weight * syt7 + c.doc2.weight * doc2;
    const float d_sensors = c.syt1.bias_weight_k * (syt1 - syt1 * syt1) + c.syt7.bias_weight_k * (syt7 - syt7 * syt7) + c.doc2.bias_weight_k * (doc2 - doc2 * doc2);
    const float ready = gate * k.primed, free = sensors * ready;
    const bool is_full = free >= c.cycle.p_max; // not so of NaN, which stays
    const float slope = is_full ? 0.0f : ready * (d_sensors + sensors * (c.cpx.bias_k - c.cpx.bias_k * gate));
    const float p = is_full ? c.cycle.p_max : free, quanta = k.rrp * k.amplitude;
    const float released = p * k.rrp, effect = c.bias.log_floor + p * quanta;
    logarithm = log2_of(effect);
    const float fuel = c.cycle.fuel_slope * k.energy + c.cycle.fuel_offset, of_slope = open * effect, both = reciprocal(of_slope * fuel);
    slope_of_bias = quanta * (slope * u) * (both * fuel);
    const float prime = c.cycle.prime_rate + c.cycle.prime_gain * (both * of_slope);
    k.calcium = calcium;
    advance(c, released, prime, k, slot);
}
