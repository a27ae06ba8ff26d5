// The table of the population: arrays over its places (slots), one behind the other in two buffers.
#pragma once

// Numbers of a slot: fields + FIELD * places + slot.
enum Field { PHI, AMP, OMEGA, SPIKE, F, H, S_RE, S_IM, D, R_LOCAL };

// Numbers of a slot but for its phases in further fields, which follow: fields + phase_of(field) * places + slot.
constexpr unsigned int NUMBERS = 10;
__device__ inline unsigned int phase_of(unsigned int field) { return field == 0 ? PHI : NUMBERS + field - 1; }

// Words of a slot: tags + TAG * places + slot. MARK is 1 for who was chosen in this generation.
enum Tag { ALIVE, FROZEN, BIRTH, PARENT, MARK };

constexpr unsigned int NOBODY = 0xffffffffu;
