// Generated from the Rust declarations by `UPDATE=1 cargo test --test kernels`.
#pragma once

// How many there are, and what happened so far. Only kernels write it while a simulation runs.
struct alignas(8) Census {
    unsigned long long generation; // Generations done
    unsigned long long fused; // Fusions
    unsigned long long absorbed; // Nuclei absorbed by fusions
    unsigned long long decayed; // Decays
    unsigned long long children; // Children in places that were free
    unsigned long long missing; // Children for which there was no place
    unsigned long long died; // Deaths
    unsigned int n; // Living nuclei
    unsigned int n_free; // Free places
};
static_assert(sizeof(Census) == 64, "Census: size");

// What holds for the whole population in this generation.
struct alignas(8) Climate {
    double mean_f; // Mean fitness
    double std_f; // Sample standard deviation of fitness
    double t; // Temperature, 1 + std
    double per_t; // log2(e) / T
    double mean_h; // Mean entropy
    double r; // Global order, 0 to 1
    double mean_cos; // Mean of the cosines of all phases
    double mean_sin; // Mean of the sines
    double r_weighted; // Order weighted by the coupling, 0 to 1
    double p; // Probability of tunnelling at the global order
    double p_mean; // Mean of the probabilities at the local orders
    float min_f; // Least fitness
    float median_f; // Median fitness, when somebody looks
    unsigned int best; // Slot of the least fitness, the lowest one
    float together_f; // Error of the mean answer of the fittest, when somebody looks
};
static_assert(sizeof(Climate) == 104, "Climate: size");

// The parameters as kernels read them.
struct alignas(8) Rules {
    unsigned long long seed; // Project seed
    double worst_share; // Share of all that may decay
    double sigma; // Spread of what is added to the weights of children
    double p_death; // Probability of radioactive death
    double attempts; // Attempts per generation; 0 takes probabilities as they are
    double r_threshold; // Order at which the barrier is open
    double prefactor; // Probability with an open barrier
    double hbar; // How readily barriers are crossed
    double width; // Width of the barrier
    double mass; // Mass of what tunnels
    double noise; // Spread of the noise of one substep
    unsigned int places; // Places in the table
    unsigned int dim; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int k_worst; // Least number of nuclei that may decay
    unsigned int m_fuse; // Nuclei that become one
    unsigned int c_new; // Children of a decay
    unsigned int n_min; // Fewer are not left by fusion or death
    unsigned int fuse_key; // 0 hybrid, 1 entropy, 2 fitness
    unsigned int child_base; // 0 best, 1 fused, 2 parent
    unsigned int seen_local; // Whether decays look at the local order
    unsigned int square_root; // Whether the barrier is rectangular
    unsigned int norm_by_row; // Whether coupling sums are divided by d, not by N
    unsigned int as_found; // Whether the map is the one that was found
    unsigned int waves; // Fields of phases
    unsigned int sends_double; // Whether fields send the double of their phases
    float coupling; // Strength of the coupling
    float dt; // Time of a substep
    float omega_scale; // Multiplies frequencies
};
static_assert(sizeof(Rules) == 160, "Rules: size");

// A selection of the largest keys.
struct alignas(4) Choice {
    unsigned int want; // How many
    unsigned int prefix; // Upper bits of the threshold, as far as they are known
    unsigned int above; // Keys above it
    unsigned int ties; // Keys on it that are wanted
    unsigned int count; // Keys listed
    unsigned int done; // Blocks that have counted
};
static_assert(sizeof(Choice) == 24, "Choice: size");

// What was decided in this generation.
struct alignas(8) Verdict {
    double total; // Sum of the shares of those to fuse
    float phi; // Phase of what they become
    float amp; // Its amplitude
    unsigned int fires; // Whether they do
    unsigned int m; // How many they are
    unsigned int host; // The lowest of them
    unsigned int decays; // Decays
    unsigned int died; // Deaths
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(Verdict) == 40, "Verdict: size");

// What the host has not read.
struct alignas(4) Log {
    unsigned int words; // Words written
    unsigned int entries; // Generations written
};
static_assert(sizeof(Log) == 8, "Log: size");

// One generation, as the host reads it. Its words are those who fused, the host first; who decayed; child and
// parent of each birth; who died.
struct alignas(8) Entry {
    Climate climate; // How it stood when events were drawn
    unsigned long long generation; // Which generation
    unsigned int n; // Living nuclei then
    unsigned int fused; // How many fused
    unsigned int decayed; // How many decayed
    unsigned int born; // How many were born, with those that were renewed in their own place
    unsigned int missing; // Children without a place
    unsigned int died; // How many died
    unsigned int words; // Where its words begin
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(Entry) == 144, "Entry: size");

// One block: sorts the chosen and draws what happens.
extern "C" __global__ void __launch_bounds__(1024, 1) decide(const Census* __restrict__ census, const Climate* __restrict__ climate, const Rules* __restrict__ rules, const Choice* __restrict__ choices, const float* __restrict__ fields, const unsigned long long* __restrict__ chosen, unsigned int* __restrict__ order, double* __restrict__ shares, Verdict* __restrict__ verdict, const Log* __restrict__ log, unsigned int* __restrict__ words_out);

// Weights of what the chosen become, one thread per weight.
extern "C" __global__ void __launch_bounds__(128, 1) blend(const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ w, float* __restrict__ fused);

// One block per nucleus to fuse: the host takes the weights, the others are wiped.
extern "C" __global__ void __launch_bounds__(128, 1) fuse(const Census* __restrict__ census, const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const float* __restrict__ fused, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags);

// Where the phases of the chosen point in further fields of phases, one thread per field.
extern "C" __global__ void __launch_bounds__(32, 1) blend_fields(const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ fields, float* __restrict__ phases);

// The host of a fusion takes them.
extern "C" __global__ void __launch_bounds__(32, 1) host_fields(const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const float* __restrict__ phases, float* __restrict__ fields);

// The order of further fields of phases, one block per field. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) order_fields(const Census* __restrict__ census, const Rules* __restrict__ rules, const Log* __restrict__ log, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ orders);

// What children vary, as the fusion left it.
extern "C" __global__ void __launch_bounds__(128, 1) take_base(const Climate* __restrict__ climate, const Rules* __restrict__ rules, const float* __restrict__ fused, const float* __restrict__ w, float* __restrict__ base);

// Counts the living, 1024 places per block. Items: places.
extern "C" __global__ void __launch_bounds__(256, 1) count_alive(const Rules* __restrict__ rules, const unsigned int* __restrict__ tags, unsigned int* __restrict__ counts);

// Lists the living and the free, ascending. Items: places.
extern "C" __global__ void __launch_bounds__(256, 1) list_alive(const Rules* __restrict__ rules, const unsigned int* __restrict__ tags, const unsigned int* __restrict__ counts, unsigned int* __restrict__ idx, unsigned int* __restrict__ free, Census* __restrict__ census);

// One block per decay: the nucleus itself and the next free places.
extern "C" __global__ void __launch_bounds__(128, 1) decay(const Census* __restrict__ census, const Rules* __restrict__ rules, const Verdict* __restrict__ verdict, const unsigned int* __restrict__ order, const unsigned int* __restrict__ free, const float* __restrict__ base, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, const Log* __restrict__ log, unsigned int* __restrict__ words_out);

// Draws who dies, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) count_deaths(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ tags, unsigned int* __restrict__ doomed, unsigned int* __restrict__ counts);

// They die, by ascending slot, while enough are left. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) die(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ doomed, const unsigned int* __restrict__ counts, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, Verdict* __restrict__ verdict, const Log* __restrict__ log, unsigned int* __restrict__ words_out);

// One thread: totals, and one entry of the log.
extern "C" __global__ void __launch_bounds__(1, 1) close_books(const Rules* __restrict__ rules, const Climate* __restrict__ climate, const Verdict* __restrict__ verdict, Census* __restrict__ census, Log* __restrict__ log, Entry* __restrict__ entries);
