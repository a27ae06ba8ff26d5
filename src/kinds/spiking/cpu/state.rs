//! Converts between the neurons of this backend and [saved states](crate::kinds::spiking::saved_state).
//!
//! The calendar is not saved: it holds only bounds, which follow from the states.

use super::{CpuSim, neuron::Neuron};
use crate::{
    kinds::spiking::{
        constants::Real,
        saved_state::{self, SavedNeuron, mark},
    },
    sim::{SimError, Snapshot},
};

/// Creates a snapshot that suffices to continue bit for bit.
pub fn write<T: Real>(sim: &CpuSim<T>) -> Snapshot {
    let neurons = sim.partitions.iter().flat_map(|p| &p.store.neurons).map(|n| SavedNeuron {
        u: n.u,
        g: n.g,
        anchor: n.anchor,
        last_spike: n.last_spike,
        marks: n.flags & mark::ALL,
    });
    let currents: Vec<T> = sim.partitions.iter().flat_map(|p| &p.store.currents).copied().collect();
    let sent_in = |sent| sim.rings.iter().flat_map(|r| r.read(sent).spikes.clone()).collect();
    saved_state::write(&sim.host, neurons, currents, sent_in)
}

/// Restores a state; on `Err` the simulation is unchanged.
pub fn read<T: Real>(sim: &mut CpuSim<T>, from: &Snapshot) -> Result<(), SimError> {
    let saved = saved_state::parse(&sim.host, from)?;
    let mut at = 0;
    for (partition, ring) in sim.partitions.iter_mut().zip(&mut sim.rings) {
        let n = partition.store.neurons.len();
        partition.rewind();
        for (neuron, s) in partition.store.neurons.iter_mut().zip(&saved.neurons[at..at + n]) {
            *neuron = Neuron { u: s.u, g: s.g, anchor: s.anchor, last_spike: s.last_spike, check: 0, flags: s.marks };
        }
        partition.store.currents = saved.currents.get(at..at + n).unwrap_or_default().to_vec();
        ring.clear();
        let range = partition.range();
        for (step, lanes) in &saved.spikes {
            ring.write(*step).spikes = lanes.iter().copied().filter(|l| range.contains(l)).collect();
        }
        at += n;
    }
    saved.restore(&mut sim.host);
    sim.reschedule_all();
    Ok(())
}
