//! A synthetic network with the size, signs, degrees, classes, sides and brain shape of the FlyWire v783 connectome, generated
//! from a seed. Connections are random within and between regions, so use the network for experiments and benchmarks, not for
//! biology.

mod anatomy;
mod cell_types;
mod connections;
mod degrees;
mod populations;

use crate::data::{Connectome, DataError, ProgressFn, read::describe_synapses, report};
use cell_types::CellTypeTable;

/// Number of neurons in FlyWire v783.
pub const N_NEURONS: u32 = 138_639;
/// Number of excitatory connections.
pub const N_EXCITATORY: u32 = 9_059_302;
/// Number of inhibitory connections.
pub const N_INHIBITORY: u32 = 6_032_681;

/// Numbers of neurons and connections of the network.
pub const SIZE: (u32, u32) = (N_NEURONS, N_EXCITATORY + N_INHIBITORY);

/// Generates a network of 138,639 neurons and 15,091,983 connections in the shape of a fly brain. Positions are µm with x to
/// the right, y up and z towards the viewer who faces the fly, so the fly's left side is at positive x. Neurons of one class
/// and side are adjacent, in the order of [`populations`]; sensory neurons come first.
///
/// # Errors
/// Returns [`DataError::Cancelled`] if `watch` cancels.
pub fn fly_stand_in(seed: u64, watch: &ProgressFn) -> Result<Connectome, DataError> {
    report(watch, "Placing neurons", 0.0)?;
    let table = CellTypeTable::new(seed);
    let out_degrees = degrees::out_degrees(&table);
    report(watch, "Connections", 0.1)?;
    let synapses = connections::connect(&table, &out_degrees, watch)?;
    report(watch, "Describing neurons", 0.95)?;
    let neurons = table.neuron_table();
    let provenance = vec![
        format!("generated: synthetic stand-in for a fly's brain, seed {seed}; not the wiring of any animal"),
        describe_synapses(&synapses),
    ];
    let mut connectome = Connectome { neurons, synapses, provenance, notices: vec![] };
    connectome.provenance.push(format!("fingerprint {:016x}", connectome.fingerprint()));
    Ok(connectome)
}

#[cfg(test)]
mod tests;
