// The step of src/kinds/demo/cpu.rs with the same bits: probabilities are summed in the order of the symbols, and
// exponential and logarithm are those of common/exact.cuh.
#include "gen/demo-experts.cuh"
#include "common/exact.cuh"
#include "common/philox.cuh"

constexpr unsigned int ALL_LANES = 0xffffffffu;

// Symbol of a step: read from a text, or one of four successors with probabilities 1/2, 1/4, 1/8, 1/8.
__device__ inline unsigned int next_symbol(const StreamParams* params, const unsigned char* source, unsigned int symbol, unsigned long long step) {
    if (params->n_text > 0) return source[step % params->n_text];
    const unsigned int eighth = draw(params->seed, STIMULUS, step, 0).x >> 29;
    return source[4 * symbol + (eighth < 4 ? 0 : eighth < 6 ? 1 : eighth == 6 ? 2 : 3)];
}

// Stochastic rounding to bfloat16: up with the probability of the truncated fraction.
__device__ inline bf16 round_randomly(float x, unsigned int word) {
    return bf16{(unsigned short)(((unsigned int)__float_as_int(x) + (word & 0xffffu)) >> 16)};
}

// One warp reads the tokens in order, one lane per symbol. Bound by the latency of a token: a row of the table, 27 dependent
// additions, two Philox calls.
extern "C" __global__ void read_tokens(unsigned int n_tokens, unsigned int first, const StreamParams* __restrict__ params, const unsigned char* __restrict__ source, const unsigned int* __restrict__ owners, StreamPosition* __restrict__ position, bf16* __restrict__ weights, TokenRecord* __restrict__ records) {
    const unsigned int lane = threadIdx.x;
    const bool has_symbol = lane < N_SYMBOLS;
    unsigned long long step = position->step;
    unsigned int from = position->symbol;
    for (unsigned int token = 0; token < n_tokens; ++token, ++step) {
        const unsigned int symbol = next_symbol(params, source, from, step);
        bf16* weight = weights + (size_t)owners[from] * TABLE + from * ROW + lane;
        const float before = has_symbol ? to_float(*weight) : 0.0f, e = exact::exp(before);
        float sum = 0.0f;
        for (unsigned int other = 0; other < N_SYMBOLS; ++other) sum += __shfl_sync(ALL_LANES, e, other);
        const float p = e / sum;
        if (__any_sync(ALL_LANES, has_symbol && !(p < __int_as_float(0x7f800000)))) {
            // NaN: neither this nor later tokens are read, also in the next launch.
            if (lane == 0) records[first + token].symbol = NON_FINITE;
            break;
        }
        const float came = __shfl_sync(ALL_LANES, p, symbol);
        if (has_symbol) {
            const Words w = draw(params->seed, NOISE, step, lane / 8);
            const unsigned int of_pair[4] = {w.x, w.y, w.z, w.w};
            const float gradient = p - (lane == symbol ? 1.0f : 0.0f);
            float x = before - params->learning_rate * gradient;
            x = x < -60.0f ? -60.0f : x > 60.0f ? 60.0f : x;
            *weight = round_randomly(x, of_pair[lane % 8 / 2] >> 16 * (lane % 2));
        }
        // The three most probable symbols; ties go to the lower one.
        TokenRecord record;
        record.symbol = symbol;
        record.loss = -exact::ln(came > 0x1p-126f ? came : 0x1p-126f);
        float left = has_symbol ? p : -1.0f, best_p[3];
        unsigned int best = 0;
        for (unsigned int rank = 0; rank < 3; ++rank) {
            float most = left;
            for (unsigned int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, offset));
            const unsigned int winner = __ffs(__ballot_sync(ALL_LANES, left == most)) - 1;
            best_p[rank] = most;
            best |= winner << 8 * rank;
            if (lane == winner) left = -1.0f;
        }
        record.best = best;
        record.best_p0 = best_p[0];
        record.best_p1 = best_p[1];
        record.best_p2 = best_p[2];
        if (lane == 0) records[first + token] = record;
        from = symbol;
    }
    __syncwarp();
    if (lane == 0) {
        position->step = step;
        position->symbol = from;
    }
}

// One block per table. Counts are integers, so the result does not depend on their order.
extern "C" __global__ void count_weights(const unsigned int* __restrict__ slots, unsigned int first, const bf16* __restrict__ weights, unsigned int* __restrict__ counts) {
    __shared__ unsigned int bins[N_BINS];
    if (threadIdx.x < N_BINS) bins[threadIdx.x] = 0;
    __syncthreads();
    const bf16* table = weights + (size_t)slots[blockIdx.x] * TABLE;
    for (unsigned int i = threadIdx.x; i < N_SYMBOLS * N_SYMBOLS; i += blockDim.x) {
        float bin = to_float(table[i / N_SYMBOLS * ROW + i % N_SYMBOLS]) / BIN + 0.5f * N_BINS;
        bin = bin < 0.0f ? 0.0f : bin > N_BINS - 1.0f ? N_BINS - 1.0f : bin;
        atomicAdd(&bins[(unsigned int)bin], 1u);
    }
    __syncthreads();
    if (threadIdx.x < N_BINS && bins[threadIdx.x]) atomicAdd(&counts[first + threadIdx.x], bins[threadIdx.x]);
}
