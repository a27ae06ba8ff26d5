// Coupling of phases: S_j = sum_k J_jk e^(i (phi_k - phi_j)) and d_j = sum_k J_jk with J_jk = exp(-|f_j - f_k| / T)
// exp(-|H_j - H_k|).
//
// A site holds the values of one nucleus in a pair: {f log2(e) / T, H log2(e), cos phi, sin phi}. Sums are {Re S, Im S,
// d, |S| / d}. Sites and sums are in the order of the compacted list of occupied slots.
//
//  couple_naive     one thread per j, all k from global memory, the accurate exponential, double sums.
//                   The reference.
//  couple_tiled     the phase factors are moved out of the inner loop, S_j = conj(z_j) sum_k J_jk z_k, so that a pair
//                   costs one ex2, four additions and two fused multiply-adds; 1024 j by a chunk of k per block,
//                   four j per thread share each site read from shared memory. The chunks of k depend on n only, and
//                   partial sums are added in order: the same bits for any launch configuration.
//  couple_mean_field  J = 1: one sum.
//  couple_matrix    J is a stored matrix: one warp per row, bounded by reading it.
// Several phase fields: send_field writes the phasors of one field into the sites, any of these kernels computes its
// sums, mix_field adds them, weighted by G, to the sums of all fields, and gather_field reads the sums of one field.
// The exact O(N log N) form is in fast.cu.
//
// Measured on an H200 (132 multiprocessors; the bound of one ex2 per pair is 4.18e12 pairs/s), error over the largest
// d:
//   N = 65,536    couple_naive 5608 us (0.77e12 pairs/s), couple_tiled with reduce_tiles 1362 us (3.15e12, 75.5 %)
//   N = 4096      12.7 us (32 %)    N = 16,384    93 us (69 %)    N = 262,144    21,957 us (74.9 %), error 3.5e-7
//   The inner loop is 7.4 instructions per pair on sm_90, 32 of 236 of them ex2.
//   Without partial sums of 32 the error is 5e-6 at N = 2050 (emulated with exact exponentials), with them 1e-7 to 3e-7.
#include "gen/nuclei-couple.cuh"
#include "nuclei/math.cuh"
#include "nuclei/pairs.cuh"
#include "nuclei/table.cuh"
#include "nuclei/tunnelling.cuh"

constexpr unsigned int TILE = 256;

extern "C" __global__ void build_sites(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites) {
    const unsigned int i = thread_index();
    if (i >= population->n) return;
    const float* own = fields + idx[i];
    const float2 z = phasor(own[PHI * n_slots]);
    const float x = (float)(((double)own[F * n_slots] - stats->mean_f) * stats->per_t);
    ((float4*)sites)[i] = make_float4(x, own[H * n_slots] * LOG2_E, z.x, z.y);
}

// Converts sum_k J_jk z_k to S_j, and its length to the local order.
__device__ inline float4 finish(float4 site, float re, float im, float d) {
    const float s_re = fmaf(site.z, re, site.w * im), s_im = fmaf(site.z, im, -(site.w * re));
    return make_float4(s_re, s_im, d, d > 0.0f ? sqrtf(fmaf(re, re, im * im)) / d : 0.0f);
}

extern "C" __global__ void couple_naive(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, float* __restrict__ sums) {
    const unsigned int j = thread_index(), n = population->n;
    if (j >= n) return;
    const float4* all = (const float4*)sites;
    const float4 own = all[j];
    double re = 0.0, im = 0.0, d = 0.0;
    for (unsigned int k = 0; k < n; ++k) {
        const float4 other = all[k];
        const float weight = exp2f(-(fabsf(own.x - other.x) + fabsf(own.y - other.y)));
        re += weight * other.z;
        im += weight * other.w;
        d += weight;
    }
    ((float4*)sums)[j] = finish(own, (float)re, (float)im, (float)d);
}

// Work items of n x n pairs: a function of n only.
struct Cut { unsigned int blocks, splits, chunk; };

__device__ inline Cut cut_of(unsigned int n) {
    const unsigned int blocks = (n + BLOCK_J - 1) / BLOCK_J;
    const unsigned int wanted = blocks <= 8 ? 264 : blocks <= 32 ? 528 : 2112;
    const unsigned int most = (n + 63) / 64, even = (wanted + blocks - 1) / blocks;
    const unsigned int rough = (n + min(most, even) - 1) / min(most, even), chunk = (rough + 31) / 32 * 32;
    return {blocks, (n + chunk - 1) / chunk, chunk};
}

extern "C" __global__ void couple_tiled(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, float* __restrict__ partials) {
    __shared__ float4 tile[TILE];
    const unsigned int n = population->n, t = threadIdx.x;
    if (n == 0) return;
    const Cut cut = cut_of(n);
    const float4* all = (const float4*)sites;
    for (unsigned int item = blockIdx.x; item < cut.blocks * cut.splits; item += gridDim.x) {
        const unsigned int split = item / cut.blocks, first_j = (item % cut.blocks) * BLOCK_J + t;
        const unsigned int begin = split * cut.chunk, end = min(begin + cut.chunk, n);
        float x[4], h[4];
        Four sum = {};
        for (int q = 0; q < 4; ++q) {
            const float4 own = all[min(first_j + q * TILE, n - 1)];
            x[q] = own.x;
            h[q] = own.y;
        }
        for (unsigned int base = begin; base < end; base += TILE) {
            __syncthreads();
            tile[t] = base + t < end ? all[base + t] : empty_site();
            __syncthreads();
            add_pairs(tile, (min(TILE, end - base) + 31) & ~31u, x, h, sum);
        }
        float* mine = partials + (size_t)split * 3 * n;
        for (int q = 0; q < 4; ++q) {
            const unsigned int j = first_j + q * TILE;
            if (j >= n) continue;
            mine[j] = sum.re[q];
            mine[n + j] = sum.im[q];
            mine[2 * (size_t)n + j] = sum.d[q];
        }
    }
}

extern "C" __global__ void reduce_tiles(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, const float* __restrict__ partials, float* __restrict__ sums) {
    const unsigned int j = thread_index(), n = population->n;
    if (j >= n) return;
    const Cut cut = cut_of(n);
    float re = 0.0f, im = 0.0f, d = 0.0f;
#pragma unroll 8
    for (unsigned int split = 0; split < cut.splits; ++split) {
        const float* part = partials + (size_t)split * 3 * n;
        re += part[j];
        im += part[n + j];
        d += part[2 * (size_t)n + j];
    }
    ((float4*)sums)[j] = finish(((const float4*)sites)[j], re, im, d);
}

// Sums of 1024 sites per block; the kernels that read them add them in order of blocks.
extern "C" __global__ void sum_phasors(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, double* __restrict__ parts) {
    __shared__ double warps[8];
    const unsigned int n = population->n, first = blockIdx.x * 1024;
    if (first >= n) return;
    double re = 0.0, im = 0.0;
    for (unsigned int i = first + threadIdx.x; i < min(first + 1024, n); i += 256) {
        const float4 site = ((const float4*)sites)[i];
        re += site.z;
        im += site.w;
    }
    re = block_sum(re, warps);
    im = block_sum(im, warps);
    if (threadIdx.x == 0) parts[2 * blockIdx.x] = re, parts[2 * blockIdx.x + 1] = im;
}

extern "C" __global__ void couple_mean_field(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, const double* __restrict__ parts, float* __restrict__ sums) {
    __shared__ double warps[8];
    __shared__ float whole[2];
    const unsigned int n = population->n, j = thread_index();
    if (blockIdx.x * 256 >= n) return;
    double re = 0.0, im = 0.0;
    for (unsigned int part = threadIdx.x; part < (n + 1023) / 1024; part += 256) {
        re += parts[2 * part];
        im += parts[2 * part + 1];
    }
    re = block_sum(re, warps);
    im = block_sum(im, warps);
    if (threadIdx.x == 0) whole[0] = (float)re, whole[1] = (float)im;
    __syncthreads();
    if (j < n) ((float4*)sums)[j] = finish(((const float4*)sites)[j], whole[0], whole[1], (float)n);
}

extern "C" __global__ void couple_matrix(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ matrix, const float* __restrict__ sites, float* __restrict__ sums) {
    const unsigned int n = population->n, j = thread_index() / 32, lane = threadIdx.x & 31;
    if (j >= n) return;
    const float* row = matrix + (size_t)idx[j] * n_slots;
    float re = 0.0f, im = 0.0f, d = 0.0f;
    for (unsigned int k = lane; k < n; k += 32) {
        const float4 other = ((const float4*)sites)[k];
        const float weight = row[idx[k]];
        re = fmaf(weight, other.z, re);
        im = fmaf(weight, other.w, im);
        d += weight;
    }
    for (int o = 16; o > 0; o >>= 1) {
        re += __shfl_xor_sync(ALL_LANES, re, o);
        im += __shfl_xor_sync(ALL_LANES, im, o);
        d += __shfl_xor_sync(ALL_LANES, d, o);
    }
    if (lane == 0) ((float4*)sums)[j] = finish(((const float4*)sites)[j], re, im, d);
}

// Writes S, d and the local order to the table; partial sums of the order parameters.
extern "C" __global__ void sum_order(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ fields, double* __restrict__ parts) {
    __shared__ double warps[8];
    const unsigned int n = population->n, first = blockIdx.x * 1024, n_slots = params->n_slots;
    if (first >= n) return;
    double part[5] = {};
    for (unsigned int i = first + threadIdx.x; i < min(first + 1024, n); i += 256) {
        const float4 site = ((const float4*)sites)[i], sum = ((const float4*)sums)[i];
        float* own = fields + idx[i];
        own[S_RE * n_slots] = sum.x;
        own[S_IM * n_slots] = sum.y;
        own[D * n_slots] = sum.z;
        own[R_LOCAL * n_slots] = sum.w;
        part[0] += site.z;
        part[1] += site.w;
        part[2] += sum.x;
        part[3] += sum.z;
        part[4] += tunnelling(params, sum.w);
    }
    for (int c = 0; c < 5; ++c) {
        const double sum = block_sum(part[c], warps);
        if (threadIdx.x == 0) parts[5 * blockIdx.x + c] = sum;
    }
}

extern "C" __global__ void reduce_order(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const double* __restrict__ parts, DeviceStats* __restrict__ stats) {
    __shared__ double warps[8];
    const unsigned int n = population->n;
    double whole[5] = {};
    for (unsigned int part = threadIdx.x; part < (n + 1023) / 1024; part += 256)
        for (int c = 0; c < 5; ++c) whole[c] += parts[5 * part + c];
    for (int c = 0; c < 5; ++c) whole[c] = block_sum(whole[c], warps);
    if (threadIdx.x != 0) return;
    const double per_n = n ? 1.0 / n : 0.0;
    stats->r = sqrt(whole[0] * whole[0] + whole[1] * whole[1]) * per_n;
    stats->mean_cos = whole[0] * per_n;
    stats->mean_sin = whole[1] * per_n;
    stats->r_weighted = whole[3] > 0.0 ? sqrt(fmax(whole[2], 0.0) / whole[3]) : 0.0;
    stats->p = tunnelling(params, stats->r);
    stats->p_mean = whole[4] * per_n;
}

__device__ inline float2 doubled(float2 z) { return make_float2(z.x * z.x - z.y * z.y, 2.0f * z.x * z.y); }

// Phasors that a field transmits: e^(i phi), or e^(2 i phi).
extern "C" __global__ void send_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites) {
    const unsigned int i = thread_index();
    if (i >= population->n) return;
    const float2 z = phasor(fields[phase_of(field) * params->n_slots + idx[i]]);
    ((float2*)sites)[2 * i + 1] = params->sends_double ? doubled(z) : z;
}

// The first field initialises the sums.
extern "C" __global__ void mix_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const float* __restrict__ mixing, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ mixed) {
    const unsigned int i = thread_index(), phase_fields = params->phase_fields;
    if (i >= population->n) return;
    const float4 site = ((const float4*)sites)[i], sum = ((const float4*)sums)[i];
    // Converts from the frame of the nucleus.
    const float re = fmaf(sum.x, site.z, -(sum.y * site.w)), im = fmaf(sum.x, site.w, sum.y * site.z);
    for (unsigned int to = 0; to < phase_fields; ++to) {
        float2* whole = (float2*)mixed + (size_t)to * params->n_slots + i;
        const float2 before = field == 0 ? make_float2(0.0f, 0.0f) : *whole;
        const float g = mixing[to * phase_fields + field];
        *whole = make_float2(fmaf(g, re, before.x), fmaf(g, im, before.y));
    }
}

// Reads the sums of one field; its phasors are written to the sites.
extern "C" __global__ void gather_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const float* __restrict__ mixed, float* __restrict__ sites, float* __restrict__ sums) {
    const unsigned int i = thread_index();
    if (i >= population->n) return;
    const float2 z = phasor(fields[phase_of(field) * params->n_slots + idx[i]]);
    const float2 frame = params->sends_double ? doubled(z) : z;
    const float2 whole = ((const float2*)mixed)[(size_t)field * params->n_slots + i];
    ((float2*)sites)[2 * i + 1] = z;
    ((float4*)sums)[i] = finish(make_float4(0.0f, 0.0f, frame.x, frame.y), whole.x, whole.y, ((const float4*)sums)[i].z);
}
