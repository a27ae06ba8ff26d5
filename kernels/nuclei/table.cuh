// The table of the population: arrays over its slots, stored consecutively in two buffers.
#pragma once

// Floats of a slot: fields + FIELD * n_slots + slot.
enum Field { PHI, AMP, OMEGA, SPIKE, F, H, S_RE, S_IM, D, R_LOCAL };

// Number of float arrays before the phases of phase fields 2 to F: fields + phase_of(field) * n_slots + slot.
constexpr unsigned int NUMBERS = 10;
__device__ inline unsigned int phase_of(unsigned int field) { return field == 0 ? PHI : NUMBERS + field - 1; }

// Integers of a slot: tags + TAG * n_slots + slot. MARK is 1 for nuclei selected in this generation.
enum Tag { ALIVE, FROZEN, BIRTH, PARENT, MARK };

constexpr unsigned int NO_PARENT = 0xffffffffu;
