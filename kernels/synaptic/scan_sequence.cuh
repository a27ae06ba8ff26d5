// Walks over whole sequences of 128, 256 or 512 tokens without a state in memory: addresses are constants, and the sum of the
// sensors, a function of calcium alone, is read from a table. Part of scan.cu.

// Entries of the table, and what puts the nearest whole number below 2^22 into the last bits of a sum.
constexpr float NEAREST = 8388608.0f;

// The sensors at multiples of `table_step` of calcium: value, slope and half the curvature per entry.
__device__ __forceinline__ void fill_table(const ScanConstants& c, float4* table) {
    for (unsigned int i = threadIdx.x; i < TABLE; i += blockDim.x) {
        const float calcium = (float)i * c.table_step;
        float4 entry = {};
        auto add = [&](float weight, float slope, float threshold) {
            const float s = reciprocal(1.0f + power_of_two(threshold - slope * calcium)), k = slope * LN_2 * c.table_step, d = weight * k * (s - s * s);
            entry.x += weight * s;
            entry.y += d;
            entry.z += 0.5f * k * d * (1.0f - 2.0f * s);
        };
        add(c.syt1.weight, c.syt1.k_log2, c.syt1.k_half);
        add(c.syt7.weight, c.syt7.k_log2, c.syt7.k_half);
        add(c.doc2.weight, c.doc2.k_log2, c.doc2.k_half);
        table[i] = entry;
    }
}

// Constants of the table that a query needs. Calcium of these walks is in units of `influx_gain`.
struct Table {
    unsigned int base;         // address of entry 0, less what NEAREST adds
    float scale, most;         // entries per calcium, calcium of the last entry
    float exponent, gate, all; // exponent of the gate per calcium, its derivative per entry, derivative of the bias per entry
};

__device__ __forceinline__ Table table_at(const ScanConstants& c, const float4* table) {
    const float scale = c.influx.alpha_c_log2 / c.table_step;
    const unsigned int base = (unsigned int)__cvta_generic_to_shared(table) - ((unsigned int)__float_as_int(NEAREST) << 4);
    return {base, scale, (float)(TABLE - 1) / scale, c.cpx.k_log2 * c.influx.alpha_c_log2, c.cpx.k * c.table_step, c.bias.lambda_alpha / c.table_step};
}

// As step_short, for any slopes: see `has_table`.
__device__ __forceinline__ void step_table(const ScanConstants& c, const Table& of, float drive, Key& k, float& slot, float& logarithm, float& slope_of_bias) {
    const float u = power_of_two(LOG2_E * fminf(drive, 80.0f)), open = 1.0f + u;
    k.calcium = c.influx.ca_retain * k.calcium + log2_of(open);
    const float known = fminf(k.calcium, of.most), nearest = __fmaf_rn(known, of.scale, NEAREST), offset = __fmaf_rn(known, of.scale, NEAREST - nearest);
    float value, rise, curve;
    asm("{ .reg .f32 none; ld.shared.v4.f32 {%0, %1, %2, none}, [%3]; }" : "=f"(value), "=f"(rise), "=f"(curve) : "r"(((unsigned int)__float_as_int(nearest) << 4) + of.base));
    const float middle = rise + offset * curve, sensors = value + offset * middle, d_sensors = middle + offset * curve;
    const float gate = reciprocal(1.0f + power_of_two(c.cpx.k_half + c.cpx.clamp_log2 * k.clamp - of.exponent * k.calcium));
    const float ready = gate * k.primed, free = sensors * ready;
    const bool is_full = free >= c.cycle.p_max; // not so of NaN, which stays
    const float slope = is_full ? 0.0f : ready * (d_sensors + sensors * (of.gate - of.gate * gate));
    const float p = is_full ? c.cycle.p_max : free, quanta = k.rrp * k.amplitude;
    const float released = p * k.rrp, effect = c.bias.log_floor + p * quanta;
    logarithm = log2_of(effect);
    slope_of_bias = of.all * quanta * (slope * u) * reciprocal(open * effect);
    const float prime = c.cycle.prime_rate + c.cycle.prime_gain * reciprocal(c.cycle.fuel_slope * k.energy + c.cycle.fuel_offset);
    advance(c, released, prime, k, slot);
}

// The key of a thread of a walk, and where its next rows are. IS_PACKED: derivatives are in f16, those of two queries in a word.
template <unsigned int KEYS, bool IS_PACKED>
struct Walker {
    float *edge, *factor;
    bool has_factor;
    Key k;
    RegisterQueue queue;
    float distance;

    __device__ __forceinline__ Walker(const ScanConstants& c, unsigned int head, unsigned int first, float* edges, float* factors) {
        const unsigned int lane = threadIdx.x % 32;
        const u64 before = ((u64)head * KEYS + first) * KEYS + first;
        edge = edges + before + lane;
        factor = factors + (IS_PACKED ? ((u64)head * KEYS + first) / 2 * KEYS + first : before) + lane;
        has_factor = factors;
        k = fresh(c);
        k.reserve -= QUEUED;
        queue = {{QUEUED, QUEUED, QUEUED}};
        distance = -(float)(int)lane;
    }

    // Four queries.
    __device__ __forceinline__ void advance_four(const ScanConstants& c, const Table& table, const float (&drive)[4], bool is_checked) {
        float slope[4];
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) {
            slope[i] = 0.0f;
            if (!is_checked || distance >= 0.0f) {
                float slot = queue.take(), logarithm;
                step_table(c, table, drive[i], k, slot, logarithm, slope[i]);
                queue.put(slot);
                edge[i * KEYS] = drive[i] - c.bias.barrier * distance + c.bias.lambda_log2 * logarithm;
                if (!IS_PACKED && has_factor) factor[i * KEYS] = slope[i];
            }
            if (IS_PACKED && has_factor && i % 2 == 1) ((unsigned int*)factor)[i / 2 * KEYS] = narrow_two(slope[i - 1], slope[i], f16{});
            distance += 1.0f;
        }
        edge += 4 * KEYS;
        factor += (IS_PACKED ? 2 : 4) * KEYS;
    }
};

#if __CUDA_ARCH__ >= 800
// From logits in memory. Rows are copied to shared memory, 4 at a time and 4 RING - 4 before they are used, a quarter of a warp per
// row.
template <unsigned int KEYS, bool IS_PACKED>
__device__ __forceinline__ void walk_rows(const ScanConstants& c, const Table& table, float* rows, unsigned int head, unsigned int first, float* edges, float* factors) {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int to = (unsigned int)__cvta_generic_to_shared(rows + lane * 4);
    const float* from = edges + ((u64)head * KEYS + first) * KEYS + first + lane / 8 * KEYS + lane % 8 * 4;
    unsigned int copied = first, filled = 0, read = 0;
    auto copy = [&] {
        if (copied < KEYS) copy_chunk(to + filled * 512, from, 16);
        commit_copies();
        from += 4 * KEYS;
        copied += 4;
        filled = filled + 1 == RING ? 0 : filled + 1;
    };
#pragma unroll
    for (unsigned int i = 0; i + 1 < RING; ++i) copy();
    Walker<KEYS, IS_PACKED> walker(c, head, first, edges, factors);
    auto group = [&](bool is_checked) {
        float drive[4];
        wait_for_copies<RING - 2>();
        __syncwarp();
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) drive[i] = rows[read * 128 + i * 32 + lane];
        read = read + 1 == RING ? 0 : read + 1;
        copy();
        walker.advance_four(c, table, drive, is_checked);
    };
    unsigned int t = first;
#pragma unroll 1
    for (; t < first + 32; t += 4) group(true);
#pragma unroll 1
    for (; t < KEYS; t += 4) group(false);
}
#endif

template <unsigned int KEYS>
__device__ __forceinline__ void walk_any(const ScanConstants& c, const Table& table, unsigned int is_packed, float* rows, unsigned int head, unsigned int first, float* edges, float* factors) {
#if __CUDA_ARCH__ >= 800
    if (is_packed) walk_rows<KEYS, true>(c, table, rows, head, first, edges, factors);
    else walk_rows<KEYS, false>(c, table, rows, head, first, edges, factors);
#endif
}

// A warp per 32 keys of a head, from 8.0 on. The longest walks, those of the first keys, begin first; those of a block are of
// neighbouring heads and of one length.
extern "C" __global__ void scan_sequences(ScanArgs a, ScanConstants c, unsigned int is_packed, float* __restrict__ edges, void* factor) {
    extern __shared__ __align__(16) float4 table[]; // [TABLE], then [warps, RING, 4, 32] numbers
    fill_table(c, table);
    __syncthreads();
    const unsigned int warp = threadIdx.x / 32, unit = blockIdx.x * (blockDim.x / 32) + warp, head = unit % a.n_heads, first = unit / a.n_heads * 32;
    float* const rows = (float*)(table + TABLE) + warp * (RING * 128);
    if (first >= a.n_keys) return;
    if (a.n_keys == 128) walk_any<128>(c, table_at(c, table), is_packed, rows, head, first, edges, (float*)factor);
    else if (a.n_keys == 256) walk_any<256>(c, table_at(c, table), is_packed, rows, head, first, edges, (float*)factor);
    else walk_any<512>(c, table_at(c, table), is_packed, rows, head, first, edges, (float*)factor);
}
