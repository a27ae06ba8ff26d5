//! Converts between the neurons on the device and [saved states](crate::kinds::spiking::saved_state).

use super::{
    buffers::DeviceBuffers,
    kernels::{Chunk, Segment},
    launch_queue::LaunchQueue,
    rings::FullRing,
    sizes::CHUNK,
    words::{numbers, words},
};
use crate::{
    data::Csr,
    kinds::spiking::{
        constants::Real,
        host_state::HostState,
        saved_state::{self, SavedNeuron, mark},
    },
    sim::{SimError, Snapshot},
};
use std::collections::BTreeMap;

/// Reads all neurons from the device. Fails if the device fails.
pub fn neurons<T: Real>(host: &HostState<T>, memory: &DeviceBuffers) -> Result<Vec<SavedNeuron<T>>, SimError> {
    let states = memory.states.read()?;
    let anchors = memory.anchors.read()?;
    let marks = memory.marks.read()?;
    let states: Vec<T> = numbers(&states).collect();
    let fired = |at: usize| {
        let running = host.measurements.running[at];
        if running.hz > 0.0 { (mark::FIRED, running.step) } else { (0, 0) }
    };
    let neuron = |(at, ug): (usize, &[T])| {
        let (fired, last_spike) = fired(at);
        SavedNeuron { u: ug[0], g: ug[1], anchor: anchors[at], last_spike, marks: marks[at] | fired }
    };
    Ok(states.chunks_exact(2).take(host.setup.n() as usize).enumerate().map(neuron).collect())
}

/// Reads the current into each neuron; empty if there is none. Fails if the device fails.
pub fn currents<T: Real>(memory: &DeviceBuffers) -> Result<Vec<T>, SimError> {
    let currents: Vec<T> = numbers(&memory.currents.read()?).take(memory.n as usize).collect();
    Ok(if currents.iter().all(|c| *c == T::ZERO) { vec![] } else { currents })
}

/// Creates a snapshot that suffices to continue bit for bit. Fails if the device fails.
pub fn write<T: Real>(host: &HostState<T>, memory: &DeviceBuffers, queue: &LaunchQueue) -> Result<Snapshot, SimError> {
    let mut pending_chunks = in_flight(host, memory, queue)?;
    let sent_in = |step| pending_chunks.remove(&step).unwrap_or_default();
    Ok(saved_state::write(host, neurons(host, memory)?.into_iter(), currents(memory)?, sent_in))
}

/// Returns the spikes in transit by step, ascending, from the first chunk of each row. Neurons without connections are
/// omitted. Fails if the device fails.
pub fn in_flight<T: Real>(
    host: &HostState<T>,
    memory: &DeviceBuffers,
    queue: &LaunchQueue,
) -> Result<BTreeMap<u64, Vec<u32>>, SimError> {
    let segments = memory.segments.read()?;
    let ring = memory.chunks.len();
    let rows = &host.setup.connectivity.rows;
    let now = host.step;
    let mut steps: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for segment in queue.in_flight() {
        let segment = segments[segment as usize & (segments.len() - 1)];
        let (from, n) = (segment.chunk_start as usize & (ring - 1), segment.n_chunks as usize);
        let before_end = (ring - from).min(n);
        let mut chunks = memory.chunks.read_range(from..from + before_end)?;
        chunks.extend(memory.chunks.read_range(0..n - before_end)?);
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
pub fn read<T: Real>(
    host: &mut HostState<T>,
    memory: &mut DeviceBuffers,
    queue: &mut LaunchQueue,
    from: &Snapshot,
) -> Result<(), SimError> {
    let saved = saved_state::parse(host, from)?;
    memory.clear()?;
    memory.states.write_at(0, &words(saved.neurons.iter().flat_map(|n| [n.u, n.g])).collect::<Vec<_>>())?;
    memory.anchors.write_at(0, &saved.neurons.iter().map(|n| n.anchor).collect::<Vec<_>>())?;
    // A neuron without a current must not be flagged, because kernels then read memory that may not be allocated.
    let unset = if saved.currents.is_empty() { mark::FIRED | mark::CURRENT } else { mark::FIRED };
    let marks = |n: &SavedNeuron<T>| n.marks & !unset;
    memory.marks.write_at(0, &saved.neurons.iter().map(marks).collect::<Vec<_>>())?;
    if !saved.currents.is_empty() {
        memory.reserve_currents()?;
        memory.currents.write_at(0, &words(saved.currents.iter().copied()).collect::<Vec<_>>())?;
    }
    queue_spikes(&host.setup.connectivity, memory, queue, &saved.spikes, saved.step)?;
    saved.restore(host);
    Ok(())
}

/// Queues spikes of the steps before `step` for delivery; clears all others. The ring is enlarged if it is too short for them. Fails if
/// device memory is full or the device fails.
pub fn queue_spikes(
    connectivity: &Csr,
    memory: &mut DeviceBuffers,
    queue: &mut LaunchQueue,
    spikes: &[(u64, Vec<u32>)],
    step: u64,
) -> Result<(), SimError> {
    let (segment, chunks) = pending_chunks(connectivity, spikes);
    // The spikes may be those of neurons with a shorter refractory time. Without memory, the next line reports the length.
    memory.enlarge(FullRing::Chunks, (chunks.len() as u32).next_power_of_two())?;
    memory.chunks.write_at(0, &chunks)?;
    memory.segments.write_at(1, &[segment])?;
    queue.restart(spikes.first().map(|(first, _)| *first..step));
    Ok(())
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
