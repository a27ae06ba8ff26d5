// How phases move while fitness and entropy stand still. A step reads the sums over all pairs, moves the phases and
// leaves the new sites, so that the next sums can follow at once; integrators that evaluate several times are several
// launches, told apart by their stage. With several fields of phases each stage is one launch per field.
#include "gen/nuclei-phases.cuh"
#include "nuclei/math.cuh"
#include "nuclei/draw.cuh"
#include "nuclei/table.cuh"

enum Stage { EULER, RK4_1, RK4_2, RK4_3, RK4_4, HEUN_1, HEUN_2 };

extern "C" __global__ void step_phases(const Census* __restrict__ census, const Rules* __restrict__ rules, unsigned int stage, unsigned int substep, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ sums, const unsigned int* __restrict__ tags, float* __restrict__ fields, float* __restrict__ starts, float* __restrict__ totals, float* __restrict__ sites) {
    const unsigned int i = thread_index(), n = census->n, places = rules->places;
    if (i >= n) return;
    const unsigned int slot = idx[i];
    const float4 sum = ((const float4*)sums)[i];
    const bool moves = tags[FROZEN * places + slot] == 0;
    // Nobody acts on a nucleus whose row of a given J is empty.
    const float over = rules->norm_by_row ? sum.z : (float)n, dt = rules->dt;
    const float per = over > 0.0f ? rules->coupling / over : 0.0f;
    const float slope = moves ? rules->omega_scale * fields[OMEGA * places + slot] + per * sum.y : 0.0f;
    float noise = 0.0f;
    if (rules->noise > 0.0 && moves && (stage == EULER || stage >= HEUN_1)) {
        const Words x = words(rules->seed, FOR_NOISE, census->generation, slot, substep | field << 16);
        noise = (float)(rules->noise * normal_pair(x.x, x.y).x);
    }
    float* own = fields + phase_of(field) * places + slot;
    float phi = *own;
    float start = phi, total = slope;
    const size_t at = (size_t)field * places + i;
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
    ((float2*)sites)[2 * i + 1] = rotor(phi);
}

// One spike count more: spike <- Poisson(max(0.5, 0.8 spike)) + 1, by inversion.
extern "C" __global__ void spike(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, float* __restrict__ fields) {
    const unsigned int i = thread_index();
    if (i >= census->n) return;
    const unsigned int slot = idx[i];
    float* own = fields + SPIKE * rules->places + slot;
    const double mean = fmax(0.8 * (double)*own, 0.5), u = uniform(rules->seed, FOR_SPIKES, census->generation, slot);
    double count = 0.0, p = exp(-mean), below = p;
    while (u > below && p > 0.0) {
        count += 1.0;
        p *= mean / count;
        below += p;
    }
    *own = (float)(count + 1.0);
}

// Largest spike count and sum of amplitudes of 1024 nuclei per block.
extern "C" __global__ void sum_waves(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts) {
    __shared__ double warps[8];
    __shared__ float tops[8];
    const unsigned int n = census->n, first = blockIdx.x * 1024, places = rules->places;
    if (first >= n) return;
    float top = 0.0f;
    double sum = 0.0;
    for (unsigned int i = first + threadIdx.x; i < min(first + 1024, n); i += 256) {
        top = fmaxf(top, fields[SPIKE * places + idx[i]]);
        sum += fields[AMP * places + idx[i]];
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

extern "C" __global__ void apply_map(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, const unsigned int* __restrict__ tags, const double* __restrict__ parts, float* __restrict__ fields, double* __restrict__ norms) {
    __shared__ double warps[8];
    __shared__ double most;
    const unsigned int n = census->n, first = blockIdx.x * 1024, places = rules->places, blocks = (n + 1023) / 1024;
    if (first >= n) return;
    double amps = 0.0;
    for (unsigned int b = threadIdx.x; b < blocks; b += 256) amps += parts[2 * b + 1];
    const double mean = block_total(amps, warps) / n;
    if (threadIdx.x == 0) {
        most = 0.0;
        for (unsigned int b = 0; b < blocks; ++b) most = fmax(most, parts[2 * b]);
    }
    __syncthreads();
    const double scale = 1.0 / (1000.0 + most), k = rules->coupling;
    double norm = 0.0;
    for (unsigned int i = first + threadIdx.x; i < min(first + 1024, n); i += 256) {
        const unsigned int slot = idx[i];
        const float4 site = ((const float4*)sites)[i], sum = ((const float4*)sums)[i];
        const double amp = fields[AMP * places + slot], turn = fields[SPIKE * places + slot] * scale;
        double re, im;
        if (rules->as_found) {
            re = amp * (1.0 + turn) * site.z + k * sum.x;
            im = amp * (1.0 + turn) * site.w + k * sum.y;
        } else {
            // In the frame of the nucleus, then turned back by its phase and on by its spikes.
            const double pull = k * mean / (rules->norm_by_row ? (double)sum.z : (double)n);
            const double a = amp + pull * sum.x, b = pull * sum.y;
            const double c = a * site.z - b * site.w, s = a * site.w + b * site.z;
            double sine, cosine;
            sincospi(turn * 0.3183098861837907, &sine, &cosine);
            re = c * cosine - s * sine;
            im = c * sine + s * cosine;
        }
        norm += re * re + im * im;
        if (tags[FROZEN * places + slot] == 0) fields[PHI * places + slot] = (float)atan2(im, re);
        fields[AMP * places + slot] = (float)sqrt(re * re + im * im);
    }
    norm = block_sum(norm, warps);
    if (threadIdx.x == 0) norms[blockIdx.x] = norm;
}

extern "C" __global__ void scale_waves(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const double* __restrict__ norms, float* __restrict__ fields, float* __restrict__ sites) {
    __shared__ double warps[8];
    const unsigned int n = census->n, i = thread_index(), places = rules->places;
    if (blockIdx.x * 256 >= n) return;
    double norm = 0.0;
    for (unsigned int b = threadIdx.x; b < (n + 1023) / 1024; b += 256) norm += norms[b];
    norm = sqrt(block_total(norm, warps));
    if (i >= n) return;
    const unsigned int slot = idx[i];
    if (norm > 0.0) fields[AMP * places + slot] = (float)((double)fields[AMP * places + slot] / norm);
    ((float2*)sites)[2 * i + 1] = rotor(fields[PHI * places + slot]);
}
