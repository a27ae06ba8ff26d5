//! Constants of release of the earlier model.

use neuropil::kinds::synaptic::presynaptic::Constants;

/// Few vesicles are recovered, the pool is refilled slowly, and energy has no effect.
pub fn constants() -> Constants {
    Constants { rec_rate: 0.06, prime_rate: 0.075, log_floor: 1e-6, energy_half: 0.0, ..Constants::RECOMMENDED }
}
