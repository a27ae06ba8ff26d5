//! Saved states of leaky units: little-endian bytes, versioned, independent of the number of threads and of the
//! backend. Noise has no state: it is addressed.

use super::LeakySim;
use crate::{
    kinds::{
        saved::{Reader, Writer, broken},
        spiking::{measure::Meter, saved::Counted},
    },
    sim::SimError,
};

const MAGIC: &[u8; 8] = b"npleaky\x01";

pub use super::part::NEVER;

/// Everything needed to continue bit for bit.
pub(super) fn write(sim: &LeakySim) -> Vec<u8> {
    let sent = sim.step.checked_sub(1);
    let in_flight: Vec<u32> =
        sent.map_or_else(Vec::new, |sent| sim.rings.iter().flat_map(|ring| ring.read(sent).spikes.clone()).collect());
    let last = sim.parts.iter().flat_map(|p| &p.last_spike).copied();
    compose(sim.params.dt_ms(), sim.step, &sim.states(), last, &in_flight, &sim.by_hand, &sim.meter)
}

/// The bytes, from what a backend knows.
pub fn compose(
    dt_ms: f64,
    step: u64,
    v: &[f32],
    last_spikes: impl Iterator<Item = u64>,
    in_flight: &[u32],
    by_hand: &[(u32, f32)],
    meter: &Meter,
) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    out.u32(v.len() as u32);
    out.u64(dt_ms.to_bits());
    out.u64(step);
    v.iter().for_each(|v| out.u32(v.to_bits()));
    last_spikes.for_each(|step| out.u64(step));
    out.list(in_flight, Writer::u32);
    out.list(by_hand, |out, (i, weight)| {
        out.u32(i);
        out.u32(weight.to_bits());
    });
    meter.write(&mut out);
    out.0
}

/// The reverse; an `Err` leaves the simulation as it was.
pub(super) fn read(sim: &mut LeakySim, bytes: &[u8]) -> Result<(), SimError> {
    let saved = parse(sim.setup.n(), sim.params.dt_ms(), bytes)?;
    sim.step = saved.step;
    let mut at = 0;
    for (part, ring) in sim.parts.iter_mut().zip(&mut sim.rings) {
        let range = part.range();
        let mine = at..at + range.len();
        part.v[..range.len()].copy_from_slice(&saved.v[mine.clone()]);
        part.last_spike.copy_from_slice(&saved.last_spike[mine.clone()]);
        ring.clear();
        if let Some(sent) = saved.step.checked_sub(1) {
            ring.write(sent).spikes = saved.in_flight.iter().copied().filter(|i| range.contains(i)).collect();
        }
        at = mine.end;
    }
    sim.by_hand = saved.by_hand;
    sim.meter.resume(saved.counted, saved.step);
    sim.stale = true;
    Ok(())
}

/// A state that was read.
pub struct Saved {
    /// Steps taken.
    pub step: u64,
    /// Of every unit.
    pub v: Vec<f32>,
    /// Step of the last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Who fired in the last step.
    pub in_flight: Vec<u32>,
    /// Kicks for the next step.
    pub by_hand: Vec<(u32, f32)>,
    /// What the meter had counted.
    pub counted: Counted,
}

/// Reads a state that fits; changes nothing.
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
    let by_hand: Vec<(u32, f32)> = r.list(8, |r| Ok((r.u32()?, f32::from_bits(r.u32()?))))?;
    let counted = Counted::read(&mut r, step)?;
    let fits = r.0.is_empty()
        && in_flight.is_sorted_by(|a, b| a < b)
        && in_flight.last().is_none_or(|i| *i < n && step > 0)
        && last_spike.iter().all(|last| *last == NEVER || *last < step)
        && by_hand.iter().all(|(i, _)| *i < n);
    if !fits {
        return Err(broken("it contradicts itself"));
    }
    Ok(Saved { step, v, last_spike, in_flight, by_hand, counted })
}
