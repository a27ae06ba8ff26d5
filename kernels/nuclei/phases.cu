// Phase dynamics at constant fitness and entropy. A launch reads the coupling sums, updates the phases and writes the new
// sites for the next sums. Integrators with several evaluations use one launch per stage; with several phase fields, one
// launch per stage and field.
#include "gen/nuclei-phases.cuh"
#include "nuclei/math.cuh"
#include "nuclei/random.cuh"
#include "nuclei/table.cuh"

enum Stage { EULER, RK4_1, RK4_2, RK4_3, RK4_4, HEUN_1, HEUN_2 };

extern "C" __global__ void update_phases(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int stage, unsigned int substep, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ sums, const unsigned int* __restrict__ tags, float* __restrict__ fields, float* __restrict__ starts, float* __restrict__ totals, float* __restrict__ sites) {
    const unsigned int i = thread_index(), n = population->n, n_slots = params->n_slots;
    if (i >= n) return;
    const unsigned int slot = idx[i];
    const float4 sum = ((const float4*)sums)[i];
    const bool moves = tags[FROZEN * n_slots + slot] == 0;
    // A row of a coupling matrix may be empty.
    const float over = params->norm_by_row ? sum.z : (float)n, dt = params->dt;
    const float per = over > 0.0f ? params->coupling / over : 0.0f;
    const float slope = moves ? params->omega_scale * fields[OMEGA * n_slots + slot] + per * sum.y : 0.0f;
    float noise = 0.0f;
    if (params->noise > 0.0 && moves && (stage == EULER || stage >= HEUN_1)) {
        const Words x = words(params->seed, FOR_NOISE, population->generation, slot, substep | field << 16);
        noise = (float)(params->noise * normal_pair(x.x, x.y).x);
    }
    float* own = fields + phase_of(field) * n_slots + slot;
    float phi = *own;
    float start = phi, total = slope;
    const size_t at = (size_t)field * n_slots + i;
    if (stage == RK4_1 || stage == HEUN_1) starts[at] = start;
    else if (stage != EULER) start = starts[at], total = totals[at];
    switch (stage) {
        case EULER: phi = wrap(phi + slope * dt + noise); break;
        case RK4_1: phi = start + slope * (0.5f * dt); break;
        case RK4_2: phi = start + slope * (0.5f * dt); total += 2.0f * slope; break;
        case RK4_3: phi = start + slope * dt; total += 2.0f * slope; break;
        case RK4_4: phi = wrap(start + (total + slope) * (dt / 6.0f)); break;
        case HEUN_1: phi = phi + slope * dt + noise; break;
        default: phi = wrap(start + (total + slope) * (0.5f * dt) + noise);
    }
    if (stage != EULER && stage != RK4_4 && stage != HEUN_2) totals[at] = total;
    *own = phi;
    ((float2*)sites)[2 * i + 1] = phasor(phi);
}

// Next spike count: spike <- Poisson(max(0.5, 0.8 spike)) + 1, by inversion.
extern "C" __global__ void draw_spikes(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, float* __restrict__ fields) {
    const unsigned int i = thread_index();
    if (i >= population->n) return;
    const unsigned int slot = idx[i];
    float* own = fields + SPIKE * params->n_slots + slot;
    const double mean = fmax(0.8 * (double)*own, 0.5), u = uniform(params->seed, FOR_SPIKES, population->generation, slot);
    double count = 0.0, p = exp(-mean), below = p;
    while (u > below && p > 0.0) {
        count += 1.0;
        p *= mean / count;
        below += p;
    }
    *own = (float)(count + 1.0);
}

// Maximum spike count and sum of amplitudes of 1024 nuclei per block.
extern "C" __global__ void sum_amplitudes(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts) {
    __shared__ double warps[8];
    __shared__ float tops[8];
    const unsigned int n = population->n, first = blockIdx.x * 1024, n_slots = params->n_slots;
    if (first >= n) return;
    float top = 0.0f;
    double sum = 0.0;
    for (unsigned int i = first + threadIdx.x; i < min(first + 1024, n); i += 256) {
        top = fmaxf(top, fields[SPIKE * n_slots + idx[i]]);
        sum += fields[AMP * n_slots + idx[i]];
    }
    sum = block_sum(sum, warps);
    for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_down_sync(ALL_LANES, top, d));
    if ((threadIdx.x & 31) == 0) tops[threadIdx.x >> 5] = top;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int v = 1; v < 8; ++v) top = fmaxf(top, tops[v]);
    parts[2 * blockIdx.x] = top;
    parts[2 * blockIdx.x + 1] = sum;
}

extern "C" __global__ void apply_map(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, const unsigned int* __restrict__ tags, const double* __restrict__ parts, float* __restrict__ fields, double* __restrict__ norms) {
    __shared__ double warps[8];
    __shared__ double most;
    const unsigned int n = population->n, first = blockIdx.x * 1024, n_slots = params->n_slots, blocks = (n + 1023) / 1024;
    if (first >= n) return;
    double amps = 0.0;
    for (unsigned int b = threadIdx.x; b < blocks; b += 256) amps += parts[2 * b + 1];
    const double mean = block_total(amps, warps) / n;
    if (threadIdx.x == 0) {
        most = 0.0;
        for (unsigned int b = 0; b < blocks; ++b) most = fmax(most, parts[2 * b]);
    }
    __syncthreads();
    const double scale = 1.0 / (1000.0 + most), k = params->coupling;
    double norm = 0.0;
    for (unsigned int i = first + threadIdx.x; i < min(first + 1024, n); i += 256) {
        const unsigned int slot = idx[i];
        const float4 site = ((const float4*)sites)[i], sum = ((const float4*)sums)[i];
        const double amp = fields[AMP * n_slots + slot], turn = fields[SPIKE * n_slots + slot] * scale;
        double re, im;
        if (params->compat_map) {
            re = amp * (1.0 + turn) * site.z + k * sum.x;
            im = amp * (1.0 + turn) * site.w + k * sum.y;
        } else {
            // In the frame of the nucleus, then rotated by its phase and by its spike angle.
            const double pull = k * mean / (params->norm_by_row ? (double)sum.z : (double)n);
            const double a = amp + pull * sum.x, b = pull * sum.y;
            const double c = a * site.z - b * site.w, s = a * site.w + b * site.z;
            double sine, cosine;
            sincospi(turn * 0.3183098861837907, &sine, &cosine);
            re = c * cosine - s * sine;
            im = c * sine + s * cosine;
        }
        norm += re * re + im * im;
        if (tags[FROZEN * n_slots + slot] == 0) fields[PHI * n_slots + slot] = (float)atan2(im, re);
        fields[AMP * n_slots + slot] = (float)sqrt(re * re + im * im);
    }
    norm = block_sum(norm, warps);
    if (threadIdx.x == 0) norms[blockIdx.x] = norm;
}

extern "C" __global__ void normalise_amplitudes(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const double* __restrict__ norms, float* __restrict__ fields, float* __restrict__ sites) {
    __shared__ double warps[8];
    const unsigned int n = population->n, i = thread_index(), n_slots = params->n_slots;
    if (blockIdx.x * 256 >= n) return;
    double norm = 0.0;
    for (unsigned int b = threadIdx.x; b < (n + 1023) / 1024; b += 256) norm += norms[b];
    norm = sqrt(block_total(norm, warps));
    if (i >= n) return;
    const unsigned int slot = idx[i];
    if (norm > 0.0) fields[AMP * n_slots + slot] = (float)((double)fields[AMP * n_slots + slot] / norm);
    ((float2*)sites)[2 * i + 1] = phasor(fields[PHI * n_slots + slot]);
}
