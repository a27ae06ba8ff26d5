// Fusion, decay and death: steps 4 to 9 of a generation. No launch reads values that another block of it writes.
//
//   decide_events   one block: sorts the selected nuclei, draws decays and the fusion, weights of the fusion
//   blend_weights, fuse_nuclei   fusion product, stored in the lowest slot; the other slots are cleared
//   list_alive      occupied and free slots, ascending; here and at the end
//   decay_nuclei    one block per decay: its own slot and the next free ones
//   count_deaths, remove_dead
//   blend_phase_fields, store_host_phases, order_phase_fields   phase fields 2 to F
//   finish_ledger   totals, and a log entry for the host
//
// Totals are 64-bit integers with one writer each.
#include "gen/nuclei-turnover.cuh"
#include "nuclei/math.cuh"
#include "nuclei/block_scan.cuh"
#include "nuclei/random.cuh"
#include "nuclei/table.cuh"
#include "nuclei/tunnelling.cuh"

// Sorts a power of two of keys in shared memory, ascending.
__device__ inline void sort(unsigned long long* keys, unsigned int size) {
    for (unsigned int run = 2; run <= size; run *= 2)
        for (unsigned int gap = run / 2; gap > 0; gap /= 2) {
            __syncthreads();
            for (unsigned int i = threadIdx.x; i < size; i += 1024) {
                const unsigned int j = i ^ gap;
                if (j < i) continue;
                const unsigned long long a = keys[i], b = keys[j];
                if ((a > b) == ((i & run) == 0)) keys[i] = b, keys[j] = a;
            }
        }
    __syncthreads();
}

// Weight of a nucleus in the fusion product.
__device__ inline double share_of(const KernelParams* params, const DeviceStats* stats, float least, float f, float h) {
    return params->fuse_key == 2 ? exp(-((double)f - (double)least) / stats->t) : (double)h;
}

extern "C" __global__ void decide_events(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const TopK* __restrict__ top_k, const float* __restrict__ fields, const unsigned long long* __restrict__ chosen, unsigned int* __restrict__ order, double* __restrict__ shares, EventDecision* __restrict__ decision, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out, float* __restrict__ errors_out) {
    __shared__ unsigned long long list[MAX_SELECTED];
    __shared__ unsigned int warps[32];
    const unsigned int t = threadIdx.x, n = population->n, n_slots = params->n_slots;
    const float *f = fields + F * n_slots, *h = fields + H * n_slots, *phi = fields + PHI * n_slots;
    const float *r_local = fields + R_LOCAL * n_slots, *amp = fields + AMP * n_slots;
    const unsigned long long seed = params->seed, generation = population->generation;
    const unsigned int m = min(top_k[0].want, MAX_SELECTED), k = min(top_k[1].want, MAX_SELECTED);
    for (unsigned int which = 0; which < 2; ++which) {
        const unsigned int count = which ? k : m;
        unsigned int size = 2;
        while (size < count) size *= 2;
        __syncthreads();
        for (unsigned int i = t; i < size; i += 1024) list[i] = i < count ? chosen[which * MAX_SELECTED + i] : ~0ull;
        sort(list, size);
        for (unsigned int i = t; i < count; i += 1024) order[which * MAX_SELECTED + i] = (unsigned int)list[i];
    }
    __syncthreads();
    // Decays, four consecutive candidates per thread, with a prefix sum.
    unsigned int own = 0, flags = 0;
    for (unsigned int e = 0; e < 4; ++e) {
        const unsigned int i = 4 * t + e;
        if (i >= k) break;
        const unsigned int slot = order[MAX_SELECTED + i];
        const double p = params->uses_local_order ? tunnelling(params, r_local[slot]) : stats->p;
        if (uniform(seed, FOR_DECAY, generation, slot) < in_a_step(params, p)) flags |= 1u << e, ++own;
    }
    unsigned int sum = own;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned int other = __shfl_up_sync(ALL_LANES, sum, d);
        if ((t & 31) >= d) sum += other;
    }
    if ((t & 31) == 31) warps[t >> 5] = sum;
    __syncthreads();
    unsigned int at = sum - own, decays = 0;
    for (unsigned int v = 0; v < 32; ++v) {
        if (v < t >> 5) at += warps[v];
        decays += warps[v];
    }
    const bool fuses = m >= 2 && n + 1 >= params->n_min + m && uniform(seed, FOR_FUSION, generation, 0) < in_a_step(params, stats->p);
    const unsigned int logged = log->words + (fuses ? m : 0);
    for (unsigned int e = 0; e < 4; ++e) {
        if (!(flags >> e & 1)) continue;
        const unsigned int slot = order[MAX_SELECTED + 4 * t + e];
        order[2 * MAX_SELECTED + at] = slot;
        errors_out[logged + at] = f[slot];
        words_out[logged + at++] = slot;
    }
    // Lowest slot and lowest error among the nuclei selected for fusion.
    unsigned int host = 0xffffffffu, least_key = 0xffffffffu;
    for (unsigned int i = t; i < m; i += 1024) {
        host = min(host, order[i]);
        least_key = min(least_key, ordered(f[order[i]]));
    }
    __shared__ unsigned int lowest, least;
    if (t == 0) lowest = least = 0xffffffffu;
    __syncthreads();
    atomicMin(&lowest, host);
    atomicMin(&least, least_key);
    __syncthreads();
    const float least_f = __int_as_float((int)(least ^ ((least >> 31) ? 0x80000000u : 0xffffffffu)));
    for (unsigned int i = t; i < m; i += 1024) shares[i] = share_of(params, stats, least_f, f[order[i]], h[order[i]]);
    __syncthreads();
    if (t != 0) return;
    double total = 0.0, re = 0.0, im = 0.0;
    float amps = 0.0f;
    for (unsigned int i = 0; i < m; ++i) total += shares[i];
    const bool equal_shares = !(total > 0.0);
    if (equal_shares) total = m;
    unsigned int build_sites = log->words;
    if (fuses) {
        errors_out[build_sites] = f[lowest];
        words_out[build_sites++] = lowest;
    }
    for (unsigned int i = 0; i < m; ++i) {
        const unsigned int slot = order[i];
        if (equal_shares) shares[i] = 1.0;
        double sine, cosine;
        sincospi((double)phi[slot] * 0.3183098861837907, &sine, &cosine);
        re += shares[i] * cosine;
        im += shares[i] * sine;
        amps += amp[slot];
        if (fuses && slot != lowest) {
            errors_out[build_sites] = f[slot];
            words_out[build_sites++] = slot;
        }
    }
    const bool has_no_direction = sqrt(re * re + im * im) < 1e-12;
    decision->total = total;
    decision->phi = m == 0 ? 0.0f : has_no_direction ? wrap(phi[lowest]) : (float)atan2(im, re);
    decision->amp = m == 0 ? 0.0f : amps / m;
    decision->fuses = fuses;
    decision->m = m;
    decision->host = lowest;
    decision->decays = decays;
    decision->died = 0;
}

extern "C" __global__ void blend_weights(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ w, float* __restrict__ fused) {
    const unsigned int d = thread_index();
    if (d >= params->dim) return;
    double sum = 0.0;
    for (unsigned int i = 0; i < decision->m; ++i) sum += shares[i] * (double)w[(size_t)order[i] * params->stride + d];
    fused[d] = decision->m ? (float)(sum / decision->total) : 0.0f;
}

__device__ inline void clear_slot(const KernelParams* params, float* fields, unsigned int* tags, unsigned int slot) {
    const unsigned int n_slots = params->n_slots;
    const int all[] = {PHI, AMP, SPIKE, F, H, S_RE, S_IM, D, R_LOCAL};
    for (int field : all) fields[field * n_slots + slot] = 0.0f;
    for (unsigned int field = 1; field < params->phase_fields; ++field) fields[phase_of(field) * n_slots + slot] = 0.0f;
    tags[ALIVE * n_slots + slot] = tags[FROZEN * n_slots + slot] = tags[BIRTH * n_slots + slot] = 0;
    tags[PARENT * n_slots + slot] = NO_PARENT;
}

// Marks a nucleus as new.
__device__ inline void mark_new(const KernelParams* params, float* fields, unsigned int* tags, unsigned int slot, unsigned int parent, unsigned long long generation) {
    const unsigned int n_slots = params->n_slots;
    tags[BIRTH * n_slots + slot] = (unsigned int)generation + 1;
    tags[PARENT * n_slots + slot] = parent;
    tags[FROZEN * n_slots + slot] = 0;
    tags[ALIVE * n_slots + slot] = 1;
    fields[SPIKE * n_slots + slot] = 0.0f;
    fields[F * n_slots + slot] = fields[H * n_slots + slot] = __int_as_float(0x7fc00000); // not evaluated yet
}

extern "C" __global__ void fuse_nuclei(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const float* __restrict__ fused, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags) {
    if (!decision->fuses) return;
    const unsigned int n_slots = params->n_slots;
    for (unsigned int i = blockIdx.x; i < decision->m; i += gridDim.x) {
        const unsigned int slot = order[i];
        const bool is_host = slot == decision->host;
        for (unsigned int d = threadIdx.x; d < params->dim; d += 128) w[(size_t)slot * params->stride + d] = is_host ? fused[d] : 0.0f;
        if (threadIdx.x != 0) continue;
        if (!is_host) {
            clear_slot(params, fields, tags, slot);
            continue;
        }
        fields[PHI * n_slots + slot] = decision->phi;
        fields[AMP * n_slots + slot] = decision->amp;
        mark_new(params, fields, tags, slot, slot, population->generation);
    }
}

// Mean phases of the fusing nuclei in phase fields 2 to F, one thread per field; before their slots are cleared.
extern "C" __global__ void blend_phase_fields(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ fields, float* __restrict__ phases) {
    const unsigned int field = threadIdx.x + 1;
    if (field >= params->phase_fields || decision->m == 0) return;
    const float* phi = fields + phase_of(field) * params->n_slots;
    double re = 0.0, im = 0.0;
    for (unsigned int i = 0; i < decision->m; ++i) {
        double sine, cosine;
        sincospi((double)phi[order[i]] * 0.3183098861837907, &sine, &cosine);
        re += shares[i] * cosine;
        im += shares[i] * sine;
    }
    const bool has_no_direction = sqrt(re * re + im * im) < 1e-12;
    phases[field - 1] = has_no_direction ? wrap(phi[decision->host]) : (float)atan2(im, re);
}

extern "C" __global__ void store_host_phases(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const float* __restrict__ phases, float* __restrict__ fields) {
    const unsigned int field = threadIdx.x + 1;
    if (field < params->phase_fields && decision->fuses) fields[phase_of(field) * params->n_slots + decision->host] = phases[field - 1];
}

// Order parameters of phase fields 2 to F, one block per field, for the next log entry.
extern "C" __global__ void order_phase_fields(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventLog* __restrict__ log, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ orders) {
    __shared__ double warps[8];
    const unsigned int n = population->n, field = blockIdx.x + 1;
    if (field >= params->phase_fields) return;
    const float* phi = fields + phase_of(field) * params->n_slots;
    double re = 0.0, im = 0.0;
    for (unsigned int i = threadIdx.x; i < n; i += 256) {
        const float2 z = phasor(phi[idx[i]]);
        re += z.x;
        im += z.y;
    }
    re = block_sum(re, warps);
    im = block_sum(im, warps);
    if (threadIdx.x == 0) orders[log->entries * (params->phase_fields - 1) + field - 1] = n ? sqrt(re * re + im * im) / n : 0.0;
}

// Weights that offspring are mutated from, after the fusion.
extern "C" __global__ void copy_base_weights(const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const float* __restrict__ fused, const float* __restrict__ w, float* __restrict__ base) {
    const unsigned int d = thread_index();
    if (d < params->dim) base[d] = params->child_base == 1 ? fused[d] : w[(size_t)stats->best * params->stride + d];
}

extern "C" __global__ void count_alive(const KernelParams* __restrict__ params, const unsigned int* __restrict__ tags, unsigned int* __restrict__ block_counts) {
    __shared__ unsigned int warps[8];
    const unsigned int first = blockIdx.x * 1024 + threadIdx.x * 4;
    unsigned int own = 0;
    for (unsigned int slot = first; slot < min(first + 4, params->n_slots); ++slot) own += tags[ALIVE * params->n_slots + slot];
    const Scan scan = scan_block(own, warps);
    if (threadIdx.x == 0) block_counts[blockIdx.x] = scan.all;
}

extern "C" __global__ void list_alive(const KernelParams* __restrict__ params, const unsigned int* __restrict__ tags, const unsigned int* __restrict__ block_counts, unsigned int* __restrict__ idx, unsigned int* __restrict__ free, PopulationCounts* __restrict__ population) {
    __shared__ unsigned int warps[8];
    const unsigned int n_slots = params->n_slots, first = blockIdx.x * 1024 + threadIdx.x * 4;
    const unsigned int before = sum_before(block_counts, blockIdx.x, warps);
    unsigned int own = 0;
    for (unsigned int slot = first; slot < min(first + 4, n_slots); ++slot) own += tags[ALIVE * n_slots + slot];
    const Scan scan = scan_block(own, warps);
    unsigned int at = before + scan.before;
    for (unsigned int slot = first; slot < min(first + 4, n_slots); ++slot) {
        if (tags[ALIVE * n_slots + slot]) idx[at++] = slot;
        else free[slot - at] = slot;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
        population->n = before + scan.all;
        population->n_free = n_slots - before - scan.all;
    }
}

// Offspring placed in free slots by the first `decays` decays.
__device__ inline unsigned int placed(const PopulationCounts* population, const KernelParams* params, unsigned int decays) {
    const unsigned long long wanted = (unsigned long long)params->c_new * decays;
    return (unsigned int)min(wanted, (unsigned long long)population->n_free);
}

// Index of the first birth of this generation in the log.
__device__ inline unsigned int births_at(const EventLog* log, const EventDecision* decision) {
    return log->words + (decision->fuses ? decision->m : 0) + decision->decays;
}

extern "C" __global__ void decay_nuclei(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const unsigned int* __restrict__ free, const float* __restrict__ base, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out) {
    const unsigned int n_slots = params->n_slots, dim = params->dim, stride = params->stride;
    const unsigned long long seed = params->seed, generation = population->generation;
    for (unsigned int event = blockIdx.x; event < decision->decays; event += gridDim.x) {
        const unsigned int parent = order[2 * MAX_SELECTED + event], first = placed(population, params, event);
        const unsigned int children = placed(population, params, event + 1) - first;
        // Four weights per thread: the base is in registers before the parent's row is overwritten.
        for (unsigned int block = threadIdx.x; 4 * block < dim; block += 128) {
            float from[4];
            for (unsigned int e = 0; e < 4; ++e) {
                const unsigned int d = min(4 * block + e, dim - 1);
                from[e] = params->child_base == 2 ? w[(size_t)parent * stride + d] : base[d];
            }
            for (unsigned int c = 0; c <= children; ++c) {
                const unsigned int slot = c == 0 ? parent : free[first + c - 1];
                const Words x = words(seed, FOR_WEIGHTS, generation, slot, block);
                const double2 low = normal_pair(x.x, x.y), high = normal_pair(x.z, x.w);
                const double normals[4] = {low.x, low.y, high.x, high.y};
                for (unsigned int e = 0; e < 4; ++e)
                    if (4 * block + e < dim)
                        w[(size_t)slot * stride + 4 * block + e] = (float)((double)from[e] + params->sigma * normals[e]);
            }
        }
        const float amp = fields[AMP * n_slots + parent];
        for (unsigned int c = threadIdx.x; c <= children; c += 128) {
            const unsigned int slot = c == 0 ? parent : free[first + c - 1];
            fields[PHI * n_slots + slot] = wrap((float)(6.283185307179586 * uniform(seed, FOR_PHASE, generation, slot)));
            for (unsigned int field = 1; field < params->phase_fields; ++field) {
                const double u = exact::unit(words(seed, FOR_PHASE, generation, slot, field).x);
                fields[phase_of(field) * n_slots + slot] = wrap((float)(6.283185307179586 * u));
            }
            if (c > 0) fields[AMP * n_slots + slot] = amp;
            mark_new(params, fields, tags, slot, parent, generation);
            unsigned int* born = words_out + births_at(log, decision) + 2 * (event + first + c);
            born[0] = slot;
            born[1] = parent;
        }
    }
}

// Whether a nucleus that took no part in an event dies.
__device__ inline bool dies(const PopulationCounts* population, const KernelParams* params, const unsigned int* tags, unsigned int slot) {
    const bool is_new = tags[BIRTH * params->n_slots + slot] == (unsigned int)population->generation + 1;
    return !is_new && uniform(params->seed, FOR_DEATH, population->generation, slot) < params->p_death;
}

extern "C" __global__ void count_deaths(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ tags, unsigned int* __restrict__ dying, unsigned int* __restrict__ block_counts) {
    __shared__ unsigned int warps[8];
    const unsigned int n = population->n, first = blockIdx.x * 1024 + threadIdx.x * 4;
    if (blockIdx.x * 1024 >= n || !(params->p_death > 0.0)) return;
    unsigned int flags = 0;
    for (unsigned int e = 0; e < 4; ++e)
        if (first + e < n && dies(population, params, tags, idx[first + e])) flags |= 1u << e;
    dying[blockIdx.x * 256 + threadIdx.x] = flags;
    const Scan scan = scan_block(__popc(flags), warps);
    if (threadIdx.x == 0) block_counts[blockIdx.x] = scan.all;
}

extern "C" __global__ void remove_dead(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ dying, const unsigned int* __restrict__ block_counts, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, EventDecision* __restrict__ decision, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out, float* __restrict__ errors_out) {
    __shared__ unsigned int warps[8];
    const unsigned int n = population->n, first = blockIdx.x * 1024 + threadIdx.x * 4;
    if (blockIdx.x * 1024 >= n || !(params->p_death > 0.0)) return;
    const unsigned int decays = decision->decays, children = placed(population, params, decays), now = n + children;
    const unsigned int removable = now > params->n_min ? now - params->n_min : 0;
    const unsigned int flags = dying[blockIdx.x * 256 + threadIdx.x];
    const unsigned int before = sum_before(block_counts, blockIdx.x, warps);
    const Scan scan = scan_block(__popc(flags), warps);
    unsigned int rank = before + scan.before;
    const unsigned int died = births_at(log, decision) + 2 * (decays + children);
    const float* f = fields + F * params->n_slots;
    for (unsigned int e = 0; e < 4; ++e) {
        if (!(flags >> e & 1)) continue;
        if (rank < removable) {
            const unsigned int slot = idx[first + e];
            for (unsigned int d = 0; d < params->dim; ++d) w[(size_t)slot * params->stride + d] = 0.0f;
            errors_out[died + rank] = f[slot];
            clear_slot(params, fields, tags, slot);
            words_out[died + rank] = slot;
        }
        ++rank;
    }
    if (blockIdx.x == (n - 1) / 1024 && threadIdx.x == 0) decision->died = min(before + scan.all, removable);
}

// Runs before the last listing: `population` still holds the counts from before the decays.
extern "C" __global__ void finish_ledger(const KernelParams* __restrict__ params, const DeviceStats* __restrict__ stats, const EventDecision* __restrict__ decision, PopulationCounts* __restrict__ population, EventLog* __restrict__ log, LogEntry* __restrict__ entries) {
    const unsigned int decays = decision->decays, children = placed(population, params, decays);
    const unsigned int absorbed = decision->fuses ? decision->m - 1 : 0, missing = params->c_new * decays - children;
    LogEntry entry;
    entry.stats = *stats;
    entry.generation = population->generation;
    entry.n = population->n + absorbed;
    entry.fused = decision->fuses ? decision->m : 0;
    entry.decayed = decays;
    entry.born = decays + children;
    entry.missing = missing;
    entry.died = decision->died;
    entry.words = log->words;
    entry.pad = 0;
    entries[log->entries++] = entry;
    log->words += entry.fused + decays + 2 * entry.born + entry.died;
    population->fused += decision->fuses;
    population->absorbed += absorbed;
    population->decayed += decays;
    population->children += children;
    population->missing += missing;
    population->died += decision->died;
    population->generation += 1;
}
