// Release of vesicles along a sequence: the recurrence of src/kinds/synaptic/presynaptic, which is the definition, in f32. A
// thread has one key of one head and walks the queries: its state is in registers, its queue of vesicles under endocytosis in
// shared memory. Neighbouring threads have neighbouring keys, so that rows of edges are read and written whole. Bound by the
// special function units (15 of their instructions per edge) and, where there are few keys, by the latency of a step.
#include "gen/synaptic-scan.cuh"
#include "common/philox.cuh"

typedef float T;
#include "nn/rows.cuh"

// Queries whose edges are read before those of the ones before them are computed.
constexpr unsigned int AHEAD = 4;
// No key.
constexpr unsigned int NONE = 0xffffffffu;

struct Key { float calcium, rrp, reserve, primed, clamp, amplitude, energy, x, u; };

// NaN stays.
__device__ __forceinline__ float clip(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

__device__ __forceinline__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

// Down to a multiple of 2^-19: numbers of vesicles below 32 that are such multiples are added without a rounding error.
__device__ __forceinline__ float whole_quanta(float x) { return floorf(x * 0x1p19f) * 0x1p-19f; }

__device__ __forceinline__ Key fresh(const ScanConstants& c) {
    return {0.0f, c.init_rrp, c.init_reserve, c.init_snare, c.init_clamp, c.init_amp, c.init_energy, 1.0f, c.tm_use};
}

// Where the edges of a thread are.
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

// One query: bias and its derivative; the state is advanced. `slot` is what returns from endocytosis, then what enters.
template <unsigned int MODE>
__device__ __forceinline__ void step_key(const ScanConstants& c, const Column& col, unsigned int query, bool is_selected, float drive, Key& k, float& slot, float& bias, float& slope_of_bias) {
    if (MODE == OFF) {
        bias = slope_of_bias = 0.0f;
        return;
    }
    const float u = __expf(-fabsf(drive)), denominator = 1.0f + u;
    const float influx_slope = __fdividef(drive > 0.0f ? 1.0f : u, denominator);
    if (MODE == TSODYKS_MARKRAM) {
        const float x = 1.0f - (1.0f - k.x) * c.tm_recovery, use = c.tm_use + (k.u - c.tm_use) * c.tm_facilitation;
        const float weight = is_selected ? influx_slope : 0.0f, used = weight * use * x, effect = c.tm_scale * used;
        k.x = x - used;
        k.u = use + weight * c.tm_use * (1.0f - use);
        bias = c.lambda_loge * __logf(c.log_floor + effect);
        const float slope = influx_slope * (1.0f - influx_slope);
        slope_of_bias = is_selected ? c.lambda_loge * c.tm_scale * (use * x) * slope / (c.log_floor + effect) : 0.0f;
        return;
    }
    const float influx = (drive < 0.0f ? 0.0f : drive) + __logf(denominator);
    const float decayed = c.ca_retain * k.calcium, calcium = decayed + c.alpha_c * influx;
    const float fast = sigmoid(c.syt1_slope * (calcium - c.syt1_thresh));
    const float slow = sigmoid(c.syt7_slope * (calcium - c.syt7_thresh));
    const float doc2 = sigmoid(c.doc2_slope * (calcium - c.doc2_thresh));
    const float gate = sigmoid(c.cpx_slope * (calcium - c.cpx_thresh) - c.cpx_weight * (k.clamp + c.complexin_bias));
    const float sensors = c.syt1_weight * fast + c.syt7_weight * slow + c.doc2_gain * doc2;
    const float d_sensors = c.syt1_weight * c.syt1_slope * (fast * (1.0f - fast)) + c.syt7_weight * c.syt7_slope * (slow * (1.0f - slow)) + c.doc2_gain * c.doc2_slope * (doc2 * (1.0f - doc2));
    const float d_gate = c.cpx_slope * (gate * (1.0f - gate));
    const float free = sensors * gate * k.primed;
    const float slope = free < c.p_max ? k.primed * (d_sensors * gate + sensors * d_gate) : 0.0f;
    const float p = clip(free, 0.0f, c.p_max);
    const float expected = is_selected ? p * k.rrp : 0.0f;
    float released = expected;
    if (col.a.drawn_below != 0 && is_selected && is_drawn(col.seed, col.step, query, col.a.drawn_below)) released = draw_release(col.seed, col.step, query, col.key, k.rrp, p);
    bias = c.lambda_loge * __logf(c.log_floor + released * k.amplitude);
    slope_of_bias = is_selected ? c.lambda_loge * (k.amplitude * k.rrp) * (slope * (c.alpha_c * influx_slope)) / (c.log_floor + expected * k.amplitude) : 0.0f;
    if (MODE != SCAN) return;
    const float left = whole_quanta(released), emptied = clip(k.rrp - left, 0.0f, c.rrp_max);
    const float returned = k.reserve + slot, supply = returned < 1.0f ? returned : 1.0f;
    const float fuel = c.energy_half > 0.0f ? __fdividef(k.energy, k.energy + c.energy_half) : 1.0f;
    const float wanted = c.prime_rate * supply * fuel, room = c.rrp_max - emptied;
    const float take = whole_quanta(clip(wanted > room ? room : wanted, 0.0f, returned)), loss = c.unprime_per_release * released;
    const float rest = returned - take;
    k.calcium = is_selected ? calcium : decayed;
    k.rrp = emptied + take;
    k.reserve = rest < 0.0f ? 0.0f : rest;
    slot = c.rec_rate < 1.0f ? whole_quanta(c.rec_rate * left) : left;
    k.primed = clip(k.primed * (1.0f - loss) + c.nsf_recover * (1.0f - k.primed), 0.0f, 1.0f);
    k.clamp = clip(c.clamp_retain * k.clamp + c.clamp_rise - loss, 0.0f, 1.0f);
    k.amplitude = clip(k.amplitude + c.amp_load * (c.amp_target - k.amplitude) - c.amp_leak * k.amplitude, 0.0f, c.amp_max);
    k.energy = clip(k.energy + c.energy_fill * (c.energy_max - k.energy) - c.energy_use * released, 0.0f, c.energy_max);
}

// Walks the queries that see the key. `queue` is the first place of this thread in shared memory; the one that returns next is
// `cursor` places of the block further on.
template <unsigned int MODE>
__device__ __forceinline__ void walk(const ScanConstants& c, const Column& col, Key& k, float* queue, unsigned int& cursor) {
    const ScanArgs& a = col.a;
    const unsigned int from = col.key > a.first_query ? col.key - a.first_query : 0;
    const u64 first_row = (u64)col.head * a.n_queries;
    float* column = col.edges + first_row * a.n_keys + col.key;
    float* factor = col.factor ? col.factor + first_row * a.n_keys + col.key : nullptr;
    float next[AHEAD];
#pragma unroll
    for (unsigned int i = 0; i < AHEAD; ++i) next[i] = from + i < a.n_queries ? column[(u64)(from + i) * a.n_keys] : 0.0f;
    for (unsigned int t = from; t < a.n_queries; t += AHEAD) {
        float drive[AHEAD];
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) drive[i] = next[i];
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) next[i] = t + AHEAD + i < a.n_queries ? column[(u64)(t + AHEAD + i) * a.n_keys] : 0.0f;
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) {
            const unsigned int query = a.first_query + t + i;
            if (t + i >= a.n_queries) break;
            const u64 row = first_row + t + i;
            const bool is_selected = !col.selected || (col.selected[row * words_of_row(a) + col.key / 32] >> col.key % 32 & 1u);
            float slot = MODE == SCAN && a.delay > 0 ? queue[cursor * blockDim.x] : 0.0f, bias, slope;
            step_key<MODE>(c, col, query, is_selected, drive[i], k, slot, bias, slope);
            if (MODE == SCAN && a.delay > 0) {
                queue[cursor * blockDim.x] = slot;
                cursor = cursor + 1 == a.delay ? 0 : cursor + 1;
            }
            // Edges that are not selected get the bias of the last one that is, in fill_unselected.
            if (col.selected && col.last[row] == col.key) col.row_bias[row] = bias;
            column[(u64)(t + i) * a.n_keys] = drive[i] + (is_selected ? bias : 0.0f) - c.barrier * (float)(query - col.key);
            if (factor) factor[(u64)(t + i) * a.n_keys] = slope;
        }
    }
}

// Place of a number of the state: quantities, heads, keys.
__device__ __forceinline__ u64 place(const ScanArgs& a, unsigned int quantity, unsigned int head, unsigned int key) {
    return ((u64)quantity * a.n_heads + head) * a.capacity + key;
}

extern "C" __global__ void scan_release(ScanArgs a, ScanConstants c, const void* step, const void* selected, const void* last, float* __restrict__ edges, void* factor, void* row_bias, void* state) {
    extern __shared__ float queues[]; // [delay, threads]
    // The longest walks, those of the first keys, begin first.
    const unsigned int head = blockIdx.x % a.n_heads, key = blockIdx.x / a.n_heads * blockDim.x + threadIdx.x;
    if (key >= a.n_keys) return;
    ReleaseStep at = {};
    if (step) at = *(const ReleaseStep*)step;
    const Column col = {a, at.seed, step_of_head(a, at, head), (const unsigned int*)selected, (const unsigned int*)last, edges, (float*)factor, (float*)row_bias, head, key};
    float* queue = queues + threadIdx.x;
    float* memory = (float*)state;
    Key k = fresh(c);
    const bool is_known = memory && key < a.known;
    if (is_known) {
        float* const all[QUANTITIES] = {&k.calcium, &k.rrp, &k.reserve, &k.primed, &k.clamp, &k.amplitude, &k.energy, &k.x, &k.u};
#pragma unroll
        for (unsigned int i = 0; i < QUANTITIES; ++i) *all[i] = memory[place(a, i, head, key)];
    }
    for (unsigned int i = 0; i < a.delay; ++i) queue[i * blockDim.x] = is_known ? memory[place(a, QUANTITIES + i, head, key)] : 0.0f;
    unsigned int cursor = 0;
    switch (a.mode) {
        case SCAN: walk<SCAN>(c, col, k, queue, cursor); break;
        case STATIC: walk<STATIC>(c, col, k, queue, cursor); break;
        case TSODYKS_MARKRAM: walk<TSODYKS_MARKRAM>(c, col, k, queue, cursor); break;
        default: walk<OFF>(c, col, k, queue, cursor); break;
    }
    if (!memory) return;
    const float all[QUANTITIES] = {k.calcium, k.rrp, k.reserve, k.primed, k.clamp, k.amplitude, k.energy, k.x, k.u};
#pragma unroll
    for (unsigned int i = 0; i < QUANTITIES; ++i) memory[place(a, i, head, key)] = all[i];
    for (unsigned int i = 0; i < a.delay; ++i) {
        const unsigned int from = cursor + i < a.delay ? cursor + i : cursor + i - a.delay;
        memory[place(a, QUANTITIES + i, head, key)] = queue[from * blockDim.x];
    }
}

// Larger for larger logits (f32 total order), then for earlier keys: 48 bits.
__device__ __forceinline__ u64 rank_of(float x, unsigned int key) {
    const unsigned int bits = (unsigned int)__float_as_int(x);
    return (u64)(bits >> 31 ? ~bits : bits | 0x80000000u) << 16 | (0xffffu - key);
}

// A block per row: bits of the k largest edges that the query sees, and the last of them. Counts are integers: their order does
// not matter.
extern "C" __global__ void select_edges(ScanArgs a, unsigned int k, const float* __restrict__ edges, unsigned int* __restrict__ selected, unsigned int* __restrict__ last) {
    __shared__ unsigned int bins[256];
    __shared__ u64 chosen;
    __shared__ unsigned int left;
    const u64 row = blockIdx.x;
    const unsigned int n = min(a.first_query + (unsigned int)(row % a.n_queries) + 1, a.n_keys);
    const float* of_row = edges + row * a.n_keys;
    const bool is_whole = n <= k;
    if (threadIdx.x == 0) {
        chosen = 0;
        left = k;
    }
    // The k-th largest rank, a byte at a time.
    for (int shift = 40; shift >= 0 && !is_whole; shift -= 8) {
        bins[threadIdx.x] = 0;
        __syncthreads();
        const u64 prefix = chosen;
        for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
            const u64 rank = rank_of(of_row[j], j);
            if (rank >> (shift + 8) == prefix) atomicAdd(&bins[rank >> shift & 0xffu], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned int byte = 255, wanted = left;
            while (byte > 0 && bins[byte] < wanted) wanted -= bins[byte--];
            chosen = prefix << 8 | byte;
            left = wanted;
        }
        __syncthreads();
    }
    __syncthreads();
    const u64 least = is_whole ? 0 : chosen;
    if (threadIdx.x == 0) last[row] = is_whole ? NONE : 0xffffu - (unsigned int)(least & 0xffffu);
    const unsigned int words = words_of_row(a);
    for (unsigned int word = threadIdx.x / 32; word < words; word += blockDim.x / 32) {
        const unsigned int j = 32 * word + threadIdx.x % 32;
        const unsigned int bits = __ballot_sync(ALL_LANES, j < n && rank_of(of_row[j < n ? j : 0], j) >= least);
        if (threadIdx.x % 32 == 0) selected[row * words + word] = bits;
    }
}

// A block per row: edges that are not selected get the bias of the last one that is.
extern "C" __global__ void fill_unselected(ScanArgs a, const unsigned int* __restrict__ selected, const unsigned int* __restrict__ last, const float* __restrict__ row_bias, float* __restrict__ edges) {
    const u64 row = blockIdx.x;
    if (last[row] == NONE) return;
    const unsigned int n = min(a.first_query + (unsigned int)(row % a.n_queries) + 1, a.n_keys);
    const float bias = row_bias[row];
    const unsigned int* bits = selected + row * words_of_row(a);
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x)
        if (!(bits[j / 32] >> j % 32 & 1u)) edges[row * a.n_keys + j] += bias;
}

// A warp or a block per row: in place of the gradients of probabilities those of the logits before release,
// p (d - Σ p d) (1 + factor); 0 where invisible.
extern "C" __global__ void release_backward(ScanArgs a, unsigned int is_aligned, const float* __restrict__ p, const void* factor, float* d) {
    __shared__ float slots[1][MAX_WARPS];
    for (u64 row = first_row(); row < (u64)a.n_heads * a.n_queries; row += row_step()) {
        const unsigned int n = min(a.first_query + (unsigned int)(row % a.n_queries) + 1, a.n_keys);
        const u64 at = row * a.n_keys;
        float y[KEPT + 1][PACK], dy[KEPT + 1][PACK];
        auto read = [&](unsigned int c, unsigned int i) {
            read_pack(p + at, i, n, is_aligned, y[c]);
            read_pack(d + at, i, n, is_aligned, dy[c]);
        };
        float mean[1] = {0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            read(c, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) mean[0] += y[c][e] * dy[c][e];
        });
        reduce_row<Sum>(mean, slots);
        each_pack(a.n_keys, [&](unsigned int c, unsigned int i) {
            float out[PACK] = {};
            if (i < n) {
                if (c == KEPT) read(c, i);
                float f[PACK] = {};
                if (factor) read_pack((const float*)factor + at, i, n, is_aligned, f);
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) out[e] = i + e < n ? y[c][e] * (dy[c][e] - mean[0]) * (1.0f + f[e]) : 0.0f;
            }
            write_pack(d + at, i, a.n_keys, is_aligned, out);
        });
    }
}
