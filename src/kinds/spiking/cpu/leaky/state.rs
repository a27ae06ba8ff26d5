//! Saved states of leaky units, independent of threads and backend. Noise is addressed and has no state.

use super::LeakySim;
use crate::{
    kinds::spiking::{
        measure::Measurements,
        saved_state::{Counted, inconsistent, read_kicks, write_kicks},
    },
    sim::{SimError, Snapshot, snapshot::misfit},
};

const MODEL: &str = "spiking, leaky integrator";

pub use super::partition::NEVER;

/// Creates a snapshot that suffices to continue bit for bit.
pub(super) fn write(sim: &LeakySim) -> Snapshot {
    let sent = sim.host.step.checked_sub(1);
    let in_flight: Vec<u32> =
        sent.map_or_else(Vec::new, |sent| sim.rings.iter().flat_map(|ring| ring.read(sent).spikes.clone()).collect());
    let last = sim.partitions.iter().flat_map(|p| &p.last_spike).copied().collect();
    compose(
        sim.host.params.dt_ms(),
        sim.host.step,
        sim.states(),
        last,
        in_flight,
        &sim.host.manual_kicks,
        &sim.host.measurements,
    )
}

/// Creates a snapshot from its parts.
pub fn compose(
    dt_ms: f64,
    step: u64,
    v: Vec<f32>,
    last_spikes: Vec<u64>,
    in_flight: Vec<u32>,
    manual_kicks: &[(u32, f32)],
    measurements: &Measurements,
) -> Snapshot {
    let mut out = Snapshot::new(MODEL);
    out.number("step", step);
    out.number("dt_ms", dt_ms);
    out.list("v", v);
    out.list("last_spike", last_spikes);
    out.list("in_transit.neurons", in_flight);
    let (neurons, weights) = manual_kicks.iter().copied().unzip();
    write_kicks::<f32>(&mut out, neurons, weights);
    measurements.write(&mut out);
    out
}

/// Restores a state; on `Err` the simulation is unchanged.
pub(super) fn read(sim: &mut LeakySim, from: &Snapshot) -> Result<(), SimError> {
    let saved = parse(sim.host.setup.n(), sim.host.params.dt_ms(), from)?;
    sim.host.step = saved.step;
    let mut at = 0;
    for (partition, ring) in sim.partitions.iter_mut().zip(&mut sim.rings) {
        let range = partition.range();
        let mine = at..at + range.len();
        partition.v[..range.len()].copy_from_slice(&saved.v[mine.clone()]);
        partition.last_spike.copy_from_slice(&saved.last_spike[mine.clone()]);
        ring.clear();
        if let Some(sent) = saved.step.checked_sub(1) {
            ring.write(sent).spikes = saved.in_flight.iter().copied().filter(|i| range.contains(i)).collect();
        }
        at = mine.end;
    }
    sim.host.manual_kicks = saved.manual_kicks;
    sim.host.measurements.resume(saved.counted, saved.step);
    sim.host.stimuli_changed = true;
    Ok(())
}

/// Contents of a saved state.
pub struct Saved {
    /// Number of completed steps.
    pub step: u64,
    /// Potential of every unit.
    pub v: Vec<f32>,
    /// Step of each unit's last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Units that fired in the last step.
    pub in_flight: Vec<u32>,
    /// Manual kicks for the next step.
    pub manual_kicks: Vec<(u32, f32)>,
    /// Counters of the measurements.
    pub counted: Counted,
}

/// Parses a state of a network of `n` units. Fails if the time step or the number of units differs, or the contents are
/// inconsistent.
pub fn parse(n: u32, dt_ms: f64, from: &Snapshot) -> Result<Saved, SimError> {
    from.expect_model(MODEL)?;
    if from.read_number::<f64>("dt_ms")?.to_bits() != dt_ms.to_bits() {
        return Err(misfit("it was saved with another time step"));
    }
    let step: u64 = from.read_number("step")?;
    let v = from.read("v", &[n as usize])?;
    let last_spike: Vec<u64> = from.read("last_spike", &[n as usize])?;
    let in_flight: Vec<u32> = from.read_list("in_transit.neurons")?;
    let manual_kicks = read_kicks(from, n)?;
    let counted = Counted::read(from, step)?;
    let fits = in_flight.is_sorted_by(|a, b| a < b)
        && in_flight.last().is_none_or(|i| *i < n && step > 0)
        && last_spike.iter().all(|last| *last == NEVER || *last < step);
    if !fits {
        return Err(inconsistent());
    }
    Ok(Saved { step, v, last_spike, in_flight, manual_kicks, counted })
}
