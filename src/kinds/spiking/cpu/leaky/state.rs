//! Saved states of leaky units: little-endian bytes, versioned, independent of threads and backend. Noise has no
//! state: it is addressed.

use super::LeakySim;
use crate::{
    kinds::{
        saved::{Reader, Writer, broken},
        spiking::{measure::Measurements, saved_state::Counted},
    },
    sim::SimError,
};

const MAGIC: &[u8; 8] = b"npleaky\x01";

pub use super::partition::NEVER;

/// Everything needed to continue bit for bit.
pub(super) fn write(sim: &LeakySim) -> Vec<u8> {
    let sent = sim.step.checked_sub(1);
    let in_flight: Vec<u32> =
        sent.map_or_else(Vec::new, |sent| sim.rings.iter().flat_map(|ring| ring.read(sent).spikes.clone()).collect());
    let last = sim.partitions.iter().flat_map(|p| &p.last_spike).copied();
    compose(sim.params.dt_ms(), sim.step, &sim.states(), last, &in_flight, &sim.manual_kicks, &sim.measurements)
}

/// Serialises a state.
pub fn compose(
    dt_ms: f64,
    step: u64,
    v: &[f32],
    last_spikes: impl Iterator<Item = u64>,
    in_flight: &[u32],
    manual_kicks: &[(u32, f32)],
    measurements: &Measurements,
) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    out.u32(v.len() as u32);
    out.u64(dt_ms.to_bits());
    out.u64(step);
    v.iter().for_each(|v| out.u32(v.to_bits()));
    last_spikes.for_each(|step| out.u64(step));
    out.list(in_flight, Writer::u32);
    out.list(manual_kicks, |out, (i, weight)| {
        out.u32(i);
        out.u32(weight.to_bits());
    });
    measurements.write(&mut out);
    out.0
}

/// Restores a state; an `Err` leaves the simulation unchanged.
pub(super) fn read(sim: &mut LeakySim, bytes: &[u8]) -> Result<(), SimError> {
    let saved = parse(sim.setup.n(), sim.params.dt_ms(), bytes)?;
    sim.step = saved.step;
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
    sim.manual_kicks = saved.manual_kicks;
    sim.measurements.resume(saved.counted, saved.step);
    sim.stimuli_changed = true;
    Ok(())
}

/// A parsed state.
pub struct Saved {
    /// Completed steps.
    pub step: u64,
    /// Of every unit.
    pub v: Vec<f32>,
    /// Step of the last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Units that fired in the last step.
    pub in_flight: Vec<u32>,
    /// Manual kicks for the next step.
    pub manual_kicks: Vec<(u32, f32)>,
    /// Counters of the measurements.
    pub counted: Counted,
}

/// Parses a state of this network; changes nothing.
pub fn parse(n: u32, dt_ms: f64, bytes: &[u8]) -> Result<Saved, SimError> {
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(broken("it is not a state of leaky units, or of another version"));
    };
    let mut r = Reader(body);
    if r.u32()? != n {
        return Err(broken("it was saved with another number of neurons"));
    }
    if r.u64()? != dt_ms.to_bits() {
        return Err(broken("it was saved with another time step"));
    }
    let step = r.u64()?;
    let v = (0..n).map(|_| Ok(f32::from_bits(r.u32()?))).collect::<Result<Vec<_>, SimError>>()?;
    let last_spike = (0..n).map(|_| r.u64()).collect::<Result<Vec<_>, _>>()?;
    let in_flight = r.list(4, Reader::u32)?;
    let manual_kicks: Vec<(u32, f32)> = r.list(8, |r| Ok((r.u32()?, f32::from_bits(r.u32()?))))?;
    let counted = Counted::read(&mut r, step)?;
    let fits = r.0.is_empty()
        && in_flight.is_sorted_by(|a, b| a < b)
        && in_flight.last().is_none_or(|i| *i < n && step > 0)
        && last_spike.iter().all(|last| *last == NEVER || *last < step)
        && manual_kicks.iter().all(|(i, _)| *i < n);
    if !fits {
        return Err(broken("its contents are inconsistent"));
    }
    Ok(Saved { step, v, last_spike, in_flight, manual_kicks, counted })
}
