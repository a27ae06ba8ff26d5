// Readings of a running population, gathered into buffers that no other kernel writes: the copy stream reads them while
// the next generations run.
#include "gen/nuclei-readings.cuh"
#include "nuclei/math.cuh"
#include "nuclei/table.cuh"

// Occupied slots have a value; frequency and occupation are properties of all slots.
__device__ inline float read_slot(unsigned int what, unsigned int slot, const PopulationCounts* population, const KernelParams* params, const float* fields, const unsigned int* tags) {
    const unsigned int n_slots = params->n_slots;
    if (what == OMEGA) return fields[OMEGA * n_slots + slot];
    const bool is_alive = tags[ALIVE * n_slots + slot] != 0;
    if (what == READ_ALIVE) return is_alive ? 1.0f : 0.0f;
    if (!is_alive) return __int_as_float(0x7fc00000);
    if (what == READ_AGE) return (float)((unsigned int)population->generation - tags[BIRTH * n_slots + slot]);
    return fields[what * n_slots + slot];
}

extern "C" __global__ void gather_fields(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ what, unsigned int n_fields, const float* __restrict__ fields, const unsigned int* __restrict__ tags, float* __restrict__ values) {
    const unsigned int slot = thread_index(), n_slots = params->n_slots;
    if (slot >= n_slots) return;
    for (unsigned int field = 0; field < n_fields; ++field)
        values[(size_t)field * n_slots + slot] = read_slot(what[field], slot, population, params, fields, tags);
}

// Runs after `finish_ledger`, which counted the entry of this generation.
extern "C" __global__ void sample_chosen(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventLog* __restrict__ log, const unsigned int* __restrict__ chosen, unsigned int n_chosen, const float* __restrict__ fields, const unsigned int* __restrict__ tags, float* __restrict__ samples) {
    const unsigned int i = thread_index();
    if (i >= n_chosen) return;
    samples[(size_t)(log->entries - 1) * n_chosen + i] = read_slot(chosen[2 * i], chosen[2 * i + 1], population, params, fields, tags);
}
