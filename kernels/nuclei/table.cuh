// The table of the population: arrays over its slots, stored consecutively in two buffers.
#pragma once

// Floats of a slot: fields + PHI * n_slots + slot, and so on; the phases of phase fields 2 to F follow the first FIELDS
// arrays: fields + phase_of(field) * n_slots + slot.
__device__ inline unsigned int phase_of(unsigned int field) { return field == 0 ? PHI : FIELDS + field - 1; }

// Integers of a slot: tags + ALIVE * n_slots + slot, and so on.

constexpr unsigned int NO_PARENT = 0xffffffffu;
