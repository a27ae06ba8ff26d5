//! A stand-in for the FlyWire v783 connectome: its size, signs, degrees, classes, sides and the shape of a
//! fly's brain, made from a seed. Who is connected to whom is random within and between regions, so it is for
//! trying things out and for measuring speed, never for biology.

mod anatomy;
mod degrees;
mod populations;
mod roster;
mod wiring;

use crate::data::{Connectome, DataError, ProgressFn, read::describe_synapses, report};
use roster::Roster;

/// Neurons, as in FlyWire v783.
pub const N_NEURONS: u32 = 138_639;
/// Excitatory connections.
pub const N_EXCITATORY: u32 = 9_059_302;
/// Inhibitory connections.
pub const N_INHIBITORY: u32 = 6_032_681;

/// Neurons and connections.
pub const SIZE: (u32, u32) = (N_NEURONS, N_EXCITATORY + N_INHIBITORY);

/// A network of 138,639 neurons and 15,091,983 connections shaped like a fly's brain. Positions are µm with x
/// to the right, y up and z towards the viewer who faces the fly, so its left side is at positive x. Neurons
/// of one class and side stand together, in the order of [`populations`]; the first are the sensory ones.
///
/// # Errors
/// [`DataError::Cancelled`] when the watcher says so.
pub fn fly_stand_in(seed: u64, watch: &ProgressFn) -> Result<Connectome, DataError> {
    report(watch, "Placing neurons", 0.0)?;
    let roster = Roster::new(seed);
    let out_degrees = degrees::out_degrees(&roster);
    report(watch, "Wiring", 0.1)?;
    let synapses = wiring::wire(&roster, &out_degrees, watch)?;
    report(watch, "Describing neurons", 0.95)?;
    let neurons = roster.table();
    let provenance = vec![
        format!("generated: synthetic stand-in for a fly's brain, seed {seed}; not the wiring of any animal"),
        describe_synapses(&synapses),
    ];
    let mut connectome = Connectome { neurons, synapses, provenance };
    connectome.provenance.push(format!("fingerprint {:016x}", connectome.fingerprint()));
    Ok(connectome)
}

#[cfg(test)]
mod tests;
