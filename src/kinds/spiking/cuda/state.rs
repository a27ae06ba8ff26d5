//! Converts between the neurons on the device and [saved states](crate::kinds::spiking::saved_state).

use super::{
    CudaSim,
    kernels::{Chunk, Segment},
    numbers,
    sizes::CHUNK,
    words,
};
use crate::{
    data::Csr,
    kinds::spiking::{
        constants::Real,
        cpu::neuron::Neuron,
        saved_state::{self, SavedNeuron, mark},
    },
    sim::{SimError, Snapshot},
};
use std::collections::BTreeMap;

/// Reads all neurons from the device.
pub fn neurons<T: Real>(sim: &CudaSim<T>) -> Result<Vec<SavedNeuron<T>>, SimError> {
    let states = sim.memory.states.read()?;
    let anchors = sim.memory.anchors.read()?;
    let marks = sim.memory.marks.read()?;
    let states: Vec<T> = numbers(&states).collect();
    let fired = |at: usize| {
        let running = sim.host.measurements.running[at];
        if running.hz > 0.0 { (mark::FIRED, running.step) } else { (0, 0) }
    };
    let neuron = |(at, ug): (usize, &[T])| {
        let (fired, last_spike) = fired(at);
        SavedNeuron { u: ug[0], g: ug[1], anchor: anchors[at], last_spike, marks: marks[at] | fired }
    };
    Ok(states.chunks_exact(2).take(sim.host.setup.n() as usize).enumerate().map(neuron).collect())
}

/// Reads the current into each neuron; empty if there is none.
pub fn currents<T: Real>(sim: &CudaSim<T>) -> Result<Vec<T>, SimError> {
    let currents: Vec<T> = numbers(&sim.memory.currents.read()?).take(sim.host.setup.n() as usize).collect();
    Ok(if currents.iter().all(|c| *c == T::ZERO) { vec![] } else { currents })
}

/// Creates a snapshot that suffices to continue bit for bit.
pub fn write<T: Real>(sim: &CudaSim<T>) -> Result<Snapshot, SimError> {
    let mut pending_chunks = in_flight(sim)?;
    let sent_in = |step| pending_chunks.remove(&step).unwrap_or_default();
    Ok(saved_state::write(&sim.host, neurons(sim)?.into_iter(), currents(sim)?, sent_in))
}

/// Returns the spikes in transit by step, ascending, from the first chunk of each row. Neurons without connections are omitted.
pub fn in_flight<T: Real>(sim: &CudaSim<T>) -> Result<BTreeMap<u64, Vec<u32>>, SimError> {
    let segments = sim.memory.segments.read()?;
    let ring = sim.memory.chunks.len();
    let rows = &sim.host.setup.connectivity.rows;
    let now = sim.host.step;
    let mut steps: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for segment in sim.queue.in_flight() {
        let segment = segments[segment as usize & (segments.len() - 1)];
        let (from, n) = (segment.chunk_start as usize & (ring - 1), segment.n_chunks as usize);
        let before_end = (ring - from).min(n);
        let mut chunks = sim.memory.chunks.read_range(from..from + before_end)?;
        chunks.extend(sim.memory.chunks.read_range(0..n - before_end)?);
        for chunk in chunks {
            let row = rows.partition_point(|start| *start <= chunk.word) - 1;
            if rows[row] == chunk.word {
                let ago = (now as u32).wrapping_sub(chunk.meta >> 7) & (u32::MAX >> 7);
                steps.entry(now - u64::from(ago)).or_default().push(row as u32);
            }
        }
    }
    steps.values_mut().for_each(|lanes| lanes.sort_unstable());
    Ok(steps)
}

/// Restores a state; on an `Err` about the snapshot the simulation is unchanged.
pub fn read<T: Real>(sim: &mut CudaSim<T>, from: &Snapshot) -> Result<(), SimError> {
    let saved = saved_state::parse(&sim.host, from)?;
    let memory = &mut sim.memory;
    memory.clear()?;
    memory.states.write_at(0, &words(saved.neurons.iter().flat_map(|n| [n.u, n.g])).collect::<Vec<_>>())?;
    memory.anchors.write_at(0, &saved.neurons.iter().map(|n| n.anchor).collect::<Vec<_>>())?;
    let marks = |n: &SavedNeuron<T>| n.marks & !mark::FIRED;
    memory.marks.write_at(0, &saved.neurons.iter().map(marks).collect::<Vec<_>>())?;
    if !saved.currents.is_empty() {
        memory.currents.write_at(0, &words(saved.currents.iter().copied()).collect::<Vec<_>>())?;
    }
    sim.queue_spikes(&saved.spikes, saved.step)?;
    saved.restore(&mut sim.host);
    Ok(())
}

impl<T: Real> CudaSim<T> {
    /// Returns the exact u and g of every neuron, mV, for tests and comparisons of backends.
    pub fn states(&mut self) -> Result<Vec<(f64, f64)>, SimError> {
        let saved = neurons::<T>(self)?;
        let constants = &self.host.constants;
        let now = self.host.step as u32;
        let currents = currents::<T>(self)?;
        let of = |(neuron, current): (SavedNeuron<T>, T)| {
            let mut neuron =
                Neuron { u: neuron.u, g: neuron.g, anchor: neuron.anchor, flags: neuron.marks, ..Neuron::default() };
            let (u, g) = neuron.state_at(now, current, constants);
            (u.wide(), g.wide())
        };
        let none = vec![T::ZERO; saved.len()];
        let currents = if currents.is_empty() { none } else { currents };
        Ok(saved.into_iter().zip(currents).map(of).collect())
    }

    /// Queues spikes of the steps before `step` for delivery; clears all others.
    pub(super) fn queue_spikes(&mut self, spikes: &[(u64, Vec<u32>)], step: u64) -> Result<(), SimError> {
        let (segment, chunks) = pending_chunks(&self.host.setup.connectivity, spikes);
        self.memory.chunks.write_at(0, &chunks)?;
        self.memory.segments.write_at(1, &[segment])?;
        self.queue.restart(spikes.first().map(|(first, _)| *first..step));
        self.manual.clear();
        Ok(())
    }
}

/// Converts spikes of several steps to one segment with its chunks.
fn pending_chunks(connectivity: &Csr, spikes: &[(u64, Vec<u32>)]) -> (Segment, Vec<Chunk>) {
    let mut chunks = vec![];
    for (step, lanes) in spikes {
        for lane in lanes {
            let (from, to) = (connectivity.rows[*lane as usize], connectivity.rows[*lane as usize + 1]);
            for at in (from..to).step_by(CHUNK as usize) {
                let len = CHUNK.min(to - at);
                chunks.push(Chunk { word: at, meta: (*step as u32) << 7 | (len - 1) });
            }
        }
    }
    (Segment { n_chunks: chunks.len() as u32, ..Segment::default() }, chunks)
}
