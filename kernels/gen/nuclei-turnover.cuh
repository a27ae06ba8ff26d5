// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/DeviceStats.cuh"
#include "gen/shared/KernelParams.cuh"
#include "gen/shared/TopK.cuh"
#include "gen/shared/EventLog.cuh"

// Events drawn in this generation.
struct alignas(8) EventDecision {
    double total; // Sum of the weights of the fusing nuclei
    float phi; // Phase of the fusion product
    float amp; // Amplitude of the fusion product
    unsigned int fuses; // Whether the fusion occurs
    unsigned int m; // Nuclei selected for fusion
    unsigned int host; // Lowest of their slots
    unsigned int decays; // Decays in this generation
    unsigned int died; // Deaths in this generation
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(EventDecision) == 40, "EventDecision: size");

// Log entry of one generation. Its words are slots: fused nuclei, the host first; decayed nuclei; offspring and parent
// of each birth; dead nuclei.
struct alignas(8) LogEntry {
    DeviceStats stats; // Statistics when the events were drawn
    unsigned long long generation; // Number of the generation, from 0
    unsigned int n; // Number of nuclei then
    unsigned int fused; // Nuclei fused in the generation, the host included
    unsigned int decayed; // Nuclei that decayed in the generation
    unsigned int born; // Births, including decaying nuclei renewed in their own slot
    unsigned int missing; // Offspring without a free slot
    unsigned int died; // Nuclei that died in the generation
    unsigned int words; // Index of its first word
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(LogEntry) == 144, "LogEntry: size");

// One block: sorts the selected nuclei and draws the events.
extern "C" __global__ void __launch_bounds__(1024, 1) decide_events(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const TopK* __restrict__ top_k, const float* __restrict__ fields, const unsigned long long* __restrict__ chosen, unsigned int* __restrict__ order, double* __restrict__ shares, EventDecision* __restrict__ decision, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out, float* __restrict__ errors_out);

// Weights of the fusion product, one thread per weight.
extern "C" __global__ void __launch_bounds__(128, 1) blend_weights(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ w, float* __restrict__ fused);

// One block per fusing nucleus: writes the fusion product to the host slot and clears the others.
extern "C" __global__ void __launch_bounds__(128, 1) fuse_nuclei(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const float* __restrict__ fused, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags);

// Mean phases of the fusing nuclei in phase fields 2 to F, one thread per field.
extern "C" __global__ void __launch_bounds__(32, 1) blend_phase_fields(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ fields, float* __restrict__ phases);

// Stores them in the host slot of the fusion.
extern "C" __global__ void __launch_bounds__(32, 1) store_host_phases(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const float* __restrict__ phases, float* __restrict__ fields);

// Order parameters of phase fields 2 to F, one block per field. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) order_phase_fields(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventLog* __restrict__ log, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ orders);

// Copies the weights that offspring are mutated from, after the fusion.
extern "C" __global__ void __launch_bounds__(128, 1) copy_base_weights(const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const float* __restrict__ fused, const float* __restrict__ w, float* __restrict__ base);

// Counts occupied slots, 1024 slots per block. Items: slots.
extern "C" __global__ void __launch_bounds__(256, 1) count_alive(const KernelParams* __restrict__ params, const unsigned int* __restrict__ tags, unsigned int* __restrict__ block_counts);

// Lists occupied and free slots, ascending. Items: slots.
extern "C" __global__ void __launch_bounds__(256, 1) list_alive(const KernelParams* __restrict__ params, const unsigned int* __restrict__ tags, const unsigned int* __restrict__ block_counts, unsigned int* __restrict__ idx, unsigned int* __restrict__ free, PopulationCounts* __restrict__ population);

// One block per decay: writes offspring to the nucleus' own slot and the next free slots.
extern "C" __global__ void __launch_bounds__(128, 1) decay_nuclei(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const unsigned int* __restrict__ free, const float* __restrict__ base, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out);

// Draws deaths, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) count_deaths(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ tags, unsigned int* __restrict__ dying, unsigned int* __restrict__ block_counts);

// Clears the slots of dying nuclei, ascending, down to the minimum population. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) remove_dead(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ dying, const unsigned int* __restrict__ block_counts, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, EventDecision* __restrict__ decision, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out, float* __restrict__ errors_out);

// One thread: updates the totals and appends a log entry.
extern "C" __global__ void __launch_bounds__(1, 1) finish_ledger(const KernelParams* __restrict__ params, const DeviceStats* __restrict__ stats, const EventDecision* __restrict__ decision, PopulationCounts* __restrict__ population, EventLog* __restrict__ log, LogEntry* __restrict__ entries);
