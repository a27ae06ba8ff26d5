// Who fuses, decays and dies, steps 4 to 9 of a generation, in their order and without a race: every launch either
// reads what others write or writes what others read.
//
//   decide       one block: sorts the chosen, draws who decays and whether they fuse, shares of the fusion
//   blend, fuse  what they become; the lowest slot hosts it, the others are wiped
//   list_alive   the living and the free, ascending; once here and once at the end
//   decay        one block per decay: its own slot and the next free ones
//   count_deaths, die
//   blend_fields, host_fields, order_fields   the same for further fields of phases, where there are any
//   close        totals, and one entry of the log the host reads
//
// Totals are 64-bit integers, and there is one writer of each.
#include "gen/nuclei-turnover.cuh"
#include "nuclei/math.cuh"
#include "nuclei/blocks.cuh"
#include "nuclei/draw.cuh"
#include "nuclei/table.cuh"
#include "nuclei/tunnel.cuh"

constexpr unsigned int MOST = 4096;

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

// What one of the chosen is worth, and where its phase points.
__device__ inline double share_of(const Rules* rules, const Climate* climate, float least, float f, float h) {
    return rules->fuse_key == 2 ? exp(-((double)f - (double)least) / climate->t) : (double)h;
}

extern "C" __global__ void decide(const Census* __restrict__ census, const Climate* __restrict__ climate, const Rules* __restrict__ rules, const Choice* __restrict__ choices, const float* __restrict__ fields, const unsigned long long* __restrict__ chosen, unsigned int* __restrict__ order, double* __restrict__ shares, Verdict* __restrict__ verdict, const Log* __restrict__ log, unsigned int* __restrict__ words_out) {
    __shared__ unsigned long long list[MOST];
    __shared__ unsigned int warps[32];
    const unsigned int t = threadIdx.x, n = census->n, places = rules->places;
    const float *f = fields + F * places, *h = fields + H * places, *phi = fields + PHI * places;
    const float *r_local = fields + R_LOCAL * places, *amp = fields + AMP * places;
    const unsigned long long seed = rules->seed, generation = census->generation;
    const unsigned int m = min(choices[0].want, MOST), k = min(choices[1].want, MOST);
    for (unsigned int which = 0; which < 2; ++which) {
        const unsigned int count = which ? k : m;
        unsigned int size = 2;
        while (size < count) size *= 2;
        __syncthreads();
        for (unsigned int i = t; i < size; i += 1024) list[i] = i < count ? chosen[which * MOST + i] : ~0ull;
        sort(list, size);
        for (unsigned int i = t; i < count; i += 1024) order[which * MOST + i] = (unsigned int)list[i];
    }
    __syncthreads();
    // Who decays, four in a row per thread, and how many before each.
    unsigned int own = 0, flags = 0;
    for (unsigned int e = 0; e < 4; ++e) {
        const unsigned int i = 4 * t + e;
        if (i >= k) break;
        const unsigned int slot = order[MOST + i];
        const double p = rules->seen_local ? tunnelling(rules, r_local[slot]) : climate->p;
        if (uniform(seed, FOR_DECAY, generation, slot) < in_a_step(rules, p)) flags |= 1u << e, ++own;
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
    const bool fires = m >= 2 && n + 1 >= rules->n_min + m && uniform(seed, FOR_FUSION, generation, 0) < in_a_step(rules, climate->p);
    const unsigned int logged = log->words + (fires ? m : 0);
    for (unsigned int e = 0; e < 4; ++e) {
        if (!(flags >> e & 1)) continue;
        const unsigned int slot = order[MOST + 4 * t + e];
        order[2 * MOST + at] = slot;
        words_out[logged + at++] = slot;
    }
    // The lowest and the fittest of those to fuse.
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
    for (unsigned int i = t; i < m; i += 1024) shares[i] = share_of(rules, climate, least_f, f[order[i]], h[order[i]]);
    __syncthreads();
    if (t != 0) return;
    double total = 0.0, re = 0.0, im = 0.0;
    float amps = 0.0f;
    for (unsigned int i = 0; i < m; ++i) total += shares[i];
    const bool alike = !(total > 0.0);
    if (alike) total = m;
    unsigned int place = log->words;
    if (fires) words_out[place++] = lowest;
    for (unsigned int i = 0; i < m; ++i) {
        const unsigned int slot = order[i];
        if (alike) shares[i] = 1.0;
        double sine, cosine;
        sincospi((double)phi[slot] * 0.3183098861837907, &sine, &cosine);
        re += shares[i] * cosine;
        im += shares[i] * sine;
        amps += amp[slot];
        if (fires && slot != lowest) words_out[place++] = slot;
    }
    const bool aimless = sqrt(re * re + im * im) < 1e-12;
    verdict->total = total;
    verdict->phi = m == 0 ? 0.0f : aimless ? wrap(phi[lowest]) : (float)atan2(im, re);
    verdict->amp = m == 0 ? 0.0f : amps / m;
    verdict->fires = fires;
    verdict->m = m;
    verdict->host = lowest;
    verdict->decays = decays;
    verdict->died = 0;
}

extern "C" __global__ void blend(const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ w, float* __restrict__ fused) {
    const unsigned int d = thread_index();
    if (d >= rules->dim) return;
    double sum = 0.0;
    for (unsigned int i = 0; i < verdict->m; ++i) sum += shares[i] * (double)w[(size_t)order[i] * rules->stride + d];
    fused[d] = verdict->m ? (float)(sum / verdict->total) : 0.0f;
}


__device__ inline void wipe(const Rules* rules, float* fields, unsigned int* tags, unsigned int slot) {
    const unsigned int places = rules->places;
    const int all[] = {PHI, AMP, SPIKE, F, H, S_RE, S_IM, D, R_LOCAL};
    for (int field : all) fields[field * places + slot] = 0.0f;
    for (unsigned int field = 1; field < rules->waves; ++field) fields[phase_of(field) * places + slot] = 0.0f;
    tags[ALIVE * places + slot] = tags[FROZEN * places + slot] = tags[BIRTH * places + slot] = 0;
    tags[PARENT * places + slot] = NOBODY;
}

// Marks a nucleus as new.
__device__ inline void renew(const Rules* rules, float* fields, unsigned int* tags, unsigned int slot, unsigned int parent, unsigned long long generation) {
    const unsigned int places = rules->places;
    tags[BIRTH * places + slot] = (unsigned int)generation + 1;
    tags[PARENT * places + slot] = parent;
    tags[FROZEN * places + slot] = 0;
    tags[ALIVE * places + slot] = 1;
    fields[SPIKE * places + slot] = 0.0f;
    fields[F * places + slot] = fields[H * places + slot] = __int_as_float(0x7fc00000); // nobody has measured it yet
}

extern "C" __global__ void fuse(const Census* __restrict__ census, const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const float* __restrict__ fused, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags) {
    if (!verdict->fires) return;
    const unsigned int places = rules->places;
    for (unsigned int i = blockIdx.x; i < verdict->m; i += gridDim.x) {
        const unsigned int slot = order[i];
        const bool hosts = slot == verdict->host;
        for (unsigned int d = threadIdx.x; d < rules->dim; d += 128) w[(size_t)slot * rules->stride + d] = hosts ? fused[d] : 0.0f;
        if (threadIdx.x != 0) continue;
        if (!hosts) {
            wipe(rules, fields, tags, slot);
            continue;
        }
        fields[PHI * places + slot] = verdict->phi;
        fields[AMP * places + slot] = verdict->amp;
        renew(rules, fields, tags, slot, slot, census->generation);
    }
}

// Where the phases of those to fuse point in further fields, one thread per field; before they are wiped.
extern "C" __global__ void blend_fields(const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ fields, float* __restrict__ phases) {
    const unsigned int field = threadIdx.x + 1;
    if (field >= rules->waves || verdict->m == 0) return;
    const float* phi = fields + phase_of(field) * rules->places;
    double re = 0.0, im = 0.0;
    for (unsigned int i = 0; i < verdict->m; ++i) {
        double sine, cosine;
        sincospi((double)phi[order[i]] * 0.3183098861837907, &sine, &cosine);
        re += shares[i] * cosine;
        im += shares[i] * sine;
    }
    const bool aimless = sqrt(re * re + im * im) < 1e-12;
    phases[field - 1] = aimless ? wrap(phi[verdict->host]) : (float)atan2(im, re);
}

extern "C" __global__ void host_fields(const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const float* __restrict__ phases, float* __restrict__ fields) {
    const unsigned int field = threadIdx.x + 1;
    if (field < rules->waves && verdict->fires) fields[phase_of(field) * rules->places + verdict->host] = phases[field - 1];
}

// One block per further field: its order, beside the entry that will be written.
extern "C" __global__ void order_fields(const Census* __restrict__ census, const Rules* __restrict__ rules, const Log* __restrict__ log, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ orders) {
    __shared__ double warps[8];
    const unsigned int n = census->n, field = blockIdx.x + 1;
    if (field >= rules->waves) return;
    const float* phi = fields + phase_of(field) * rules->places;
    double re = 0.0, im = 0.0;
    for (unsigned int i = threadIdx.x; i < n; i += 256) {
        const float2 z = rotor(phi[idx[i]]);
        re += z.x;
        im += z.y;
    }
    re = block_sum(re, warps);
    im = block_sum(im, warps);
    if (threadIdx.x == 0) orders[log->entries * (rules->waves - 1) + field - 1] = n ? sqrt(re * re + im * im) / n : 0.0;
}

// What children vary, read once, after the fusion.
extern "C" __global__ void take_base(const Climate* __restrict__ climate, const Rules* __restrict__ rules, const float* __restrict__ fused, const float* __restrict__ w, float* __restrict__ base) {
    const unsigned int d = thread_index();
    if (d < rules->dim) base[d] = rules->child_base == 1 ? fused[d] : w[(size_t)climate->best * rules->stride + d];
}

extern "C" __global__ void count_alive(const Rules* __restrict__ rules, const unsigned int* __restrict__ tags, unsigned int* __restrict__ counts) {
    __shared__ unsigned int warps[8];
    const unsigned int first = blockIdx.x * 1024 + threadIdx.x * 4;
    unsigned int own = 0;
    for (unsigned int slot = first; slot < min(first + 4, rules->places); ++slot) own += tags[ALIVE * rules->places + slot];
    const Scan scan = scan_block(own, warps);
    if (threadIdx.x == 0) counts[blockIdx.x] = scan.all;
}

extern "C" __global__ void list_alive(const Rules* __restrict__ rules, const unsigned int* __restrict__ tags, const unsigned int* __restrict__ counts, unsigned int* __restrict__ idx, unsigned int* __restrict__ free, Census* __restrict__ census) {
    __shared__ unsigned int warps[8];
    const unsigned int places = rules->places, first = blockIdx.x * 1024 + threadIdx.x * 4;
    const unsigned int before = sum_before(counts, blockIdx.x, warps);
    unsigned int own = 0;
    for (unsigned int slot = first; slot < min(first + 4, places); ++slot) own += tags[ALIVE * places + slot];
    const Scan scan = scan_block(own, warps);
    unsigned int at = before + scan.before;
    for (unsigned int slot = first; slot < min(first + 4, places); ++slot) {
        if (tags[ALIVE * places + slot]) idx[at++] = slot;
        else free[slot - at] = slot;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
        census->n = before + scan.all;
        census->n_free = places - before - scan.all;
    }
}

// Children with a place, of the first so many decays.
__device__ inline unsigned int placed(const Census* census, const Rules* rules, unsigned int decays) {
    const unsigned long long wanted = (unsigned long long)rules->c_new * decays;
    return (unsigned int)min(wanted, (unsigned long long)census->n_free);
}

// Where in the log the births of this generation begin.
__device__ inline unsigned int births_at(const Log* log, const Verdict* verdict) {
    return log->words + (verdict->fires ? verdict->m : 0) + verdict->decays;
}

extern "C" __global__ void decay(const Census* __restrict__ census, const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const unsigned int* __restrict__ free, const float* __restrict__ base, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, const Log* __restrict__ log, unsigned int* __restrict__ words_out) {
    const unsigned int places = rules->places, dim = rules->dim, stride = rules->stride;
    const unsigned long long seed = rules->seed, generation = census->generation;
    for (unsigned int event = blockIdx.x; event < verdict->decays; event += gridDim.x) {
        const unsigned int parent = order[2 * MOST + event], first = placed(census, rules, event);
        const unsigned int children = placed(census, rules, event + 1) - first;
        // Four weights per thread: the base is in registers before the parent's own row is overwritten.
        for (unsigned int block = threadIdx.x; 4 * block < dim; block += 128) {
            float from[4];
            for (unsigned int e = 0; e < 4; ++e) {
                const unsigned int d = min(4 * block + e, dim - 1);
                from[e] = rules->child_base == 2 ? w[(size_t)parent * stride + d] : base[d];
            }
            for (unsigned int c = 0; c <= children; ++c) {
                const unsigned int slot = c == 0 ? parent : free[first + c - 1];
                const Words x = words(seed, FOR_WEIGHTS, generation, slot, block);
                const double2 low = normal_pair(x.x, x.y), high = normal_pair(x.z, x.w);
                const double normals[4] = {low.x, low.y, high.x, high.y};
                for (unsigned int e = 0; e < 4; ++e)
                    if (4 * block + e < dim)
                        w[(size_t)slot * stride + 4 * block + e] = (float)((double)from[e] + rules->sigma * normals[e]);
            }
        }
        const float amp = fields[AMP * places + parent];
        for (unsigned int c = threadIdx.x; c <= children; c += 128) {
            const unsigned int slot = c == 0 ? parent : free[first + c - 1];
            fields[PHI * places + slot] = wrap((float)(6.283185307179586 * uniform(seed, FOR_PHASE, generation, slot)));
            for (unsigned int field = 1; field < rules->waves; ++field) {
                const double u = exact::unit(words(seed, FOR_PHASE, generation, slot, field).x);
                fields[phase_of(field) * places + slot] = wrap((float)(6.283185307179586 * u));
            }
            if (c > 0) fields[AMP * places + slot] = amp;
            renew(rules, fields, tags, slot, parent, generation);
            unsigned int* born = words_out + births_at(log, verdict) + 2 * (event + first + c);
            born[0] = slot;
            born[1] = parent;
        }
    }
}

// Whether a nucleus that was left alone dies.
__device__ inline bool dies(const Census* census, const Rules* rules, const unsigned int* tags, unsigned int slot) {
    const bool is_new = tags[BIRTH * rules->places + slot] == (unsigned int)census->generation + 1;
    return !is_new && uniform(rules->seed, FOR_DEATH, census->generation, slot) < rules->p_death;
}

extern "C" __global__ void count_deaths(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ tags, unsigned int* __restrict__ doomed, unsigned int* __restrict__ counts) {
    __shared__ unsigned int warps[8];
    const unsigned int n = census->n, first = blockIdx.x * 1024 + threadIdx.x * 4;
    if (blockIdx.x * 1024 >= n || !(rules->p_death > 0.0)) return;
    unsigned int flags = 0;
    for (unsigned int e = 0; e < 4; ++e)
        if (first + e < n && dies(census, rules, tags, idx[first + e])) flags |= 1u << e;
    doomed[blockIdx.x * 256 + threadIdx.x] = flags;
    const Scan scan = scan_block(__popc(flags), warps);
    if (threadIdx.x == 0) counts[blockIdx.x] = scan.all;
}

extern "C" __global__ void die(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ doomed, const unsigned int* __restrict__ counts, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, Verdict* __restrict__ verdict, const Log* __restrict__ log, unsigned int* __restrict__ words_out) {
    __shared__ unsigned int warps[8];
    const unsigned int n = census->n, first = blockIdx.x * 1024 + threadIdx.x * 4;
    if (blockIdx.x * 1024 >= n || !(rules->p_death > 0.0)) return;
    const unsigned int decays = verdict->decays, children = placed(census, rules, decays), now = n + children;
    const unsigned int spare = now > rules->n_min ? now - rules->n_min : 0;
    const unsigned int flags = doomed[blockIdx.x * 256 + threadIdx.x];
    const unsigned int before = sum_before(counts, blockIdx.x, warps);
    const Scan scan = scan_block(__popc(flags), warps);
    unsigned int rank = before + scan.before;
    unsigned int* died = words_out + births_at(log, verdict) + 2 * (decays + children);
    for (unsigned int e = 0; e < 4; ++e) {
        if (!(flags >> e & 1)) continue;
        if (rank < spare) {
            const unsigned int slot = idx[first + e];
            for (unsigned int d = 0; d < rules->dim; ++d) w[(size_t)slot * rules->stride + d] = 0.0f;
            wipe(rules, fields, tags, slot);
            died[rank] = slot;
        }
        ++rank;
    }
    if (blockIdx.x == (n - 1) / 1024 && threadIdx.x == 0) verdict->died = min(before + scan.all, spare);
}

// Before the last listing: `census` still says how many there were, and how many places, when decays began.
extern "C" __global__ void close_books(const Rules* __restrict__ rules, const Climate* __restrict__ climate, const Verdict* __restrict__ verdict, Census* __restrict__ census, Log* __restrict__ log, Entry* __restrict__ entries) {
    const unsigned int decays = verdict->decays, children = placed(census, rules, decays);
    const unsigned int absorbed = verdict->fires ? verdict->m - 1 : 0, missing = rules->c_new * decays - children;
    Entry entry;
    entry.climate = *climate;
    entry.generation = census->generation;
    entry.n = census->n + absorbed;
    entry.fused = verdict->fires ? verdict->m : 0;
    entry.decayed = decays;
    entry.born = decays + children;
    entry.missing = missing;
    entry.died = verdict->died;
    entry.words = log->words;
    entry.pad = 0;
    entries[log->entries++] = entry;
    log->words += entry.fused + decays + 2 * entry.born + entry.died;
    census->fused += verdict->fires;
    census->absorbed += absorbed;
    census->decayed += decays;
    census->children += children;
    census->missing += missing;
    census->died += verdict->died;
    census->generation += 1;
}
