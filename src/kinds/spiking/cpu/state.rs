//! Between the neurons of this backend and [saved states](crate::kinds::spiking::saved).
//!
//! The calendar is not saved: it only holds bounds, which the states imply.

use super::{CpuSim, neuron::Neuron};
use crate::{
    kinds::spiking::{
        layout::Real,
        saved::{self, SavedNeuron, mark},
    },
    sim::SimError,
};

/// Everything needed to continue bit for bit.
pub fn write<T: Real>(sim: &CpuSim<T>) -> Vec<u8> {
    let neurons = sim.parts.iter().flat_map(|p| &p.cells.neurons).map(|n| SavedNeuron {
        u: n.u,
        g: n.g,
        anchor: n.anchor,
        last_spike: n.last_spike,
        marks: n.flags & mark::ALL,
    });
    let currents: Vec<T> = sim.parts.iter().flat_map(|p| &p.cells.currents).copied().collect();
    let sent_in = |sent| sim.rings.iter().flat_map(|r| r.read(sent).spikes.clone()).collect();
    saved::write(&sim.desk, neurons, &currents, sent_in)
}

/// The reverse; an `Err` leaves the simulation as it was.
pub fn read<T: Real>(sim: &mut CpuSim<T>, bytes: &[u8]) -> Result<(), SimError> {
    let saved = saved::parse(&sim.desk, bytes)?;
    let mut at = 0;
    for (part, ring) in sim.parts.iter_mut().zip(&mut sim.rings) {
        let n = part.cells.neurons.len();
        part.rewind();
        for (neuron, s) in part.cells.neurons.iter_mut().zip(&saved.neurons[at..at + n]) {
            *neuron = Neuron { u: s.u, g: s.g, anchor: s.anchor, last_spike: s.last_spike, check: 0, flags: s.marks };
        }
        part.cells.currents = saved.currents.get(at..at + n).unwrap_or_default().to_vec();
        ring.clear();
        let range = part.range();
        for (step, lanes) in &saved.spikes {
            ring.write(*step).spikes = lanes.iter().copied().filter(|l| range.contains(l)).collect();
        }
        at += n;
    }
    saved.restore(&mut sim.desk);
    sim.refile();
    Ok(())
}
