//! Saved states: little-endian bytes, versioned, independent of the number of threads.
//!
//! The calendar is not saved: it only holds bounds, which the states imply.

use super::{
    CpuSim,
    neuron::{CLOSED, CURRENT, DRIVEN, FIRED, Neuron},
};
use crate::{
    kinds::spiking::{
        layout::Real,
        measure::{Bin, Running},
    },
    sim::SimError,
};

const MAGIC: &[u8; 8] = b"npspike\x01";

/// Everything needed to continue bit for bit.
pub fn write<T: Real>(sim: &CpuSim<T>) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    let c = &sim.constants;
    out.u32(T::BYTES as u32);
    out.u32(sim.setup.n());
    out.u32(c.delay);
    out.u64(c.dt_ms.to_bits());
    out.u64(sim.step);
    for neuron in sim.parts.iter().flat_map(|p| &p.cells.neurons) {
        out.u64(neuron.u.to_bits());
        out.u64(neuron.g.to_bits());
        out.u32(neuron.anchor);
        out.u32(neuron.last_spike);
        out.u32(neuron.flags & (CLOSED | DRIVEN | CURRENT | FIRED));
    }
    let currents: Vec<u64> = sim.parts.iter().flat_map(|p| &p.cells.currents).map(|i| i.to_bits()).collect();
    out.list(&currents, Writer::u64);
    for sent in sim.step.saturating_sub(c.delay.into())..sim.step {
        let lanes: Vec<u32> = sim.rings.iter().flat_map(|r| r.read(sent).spikes.clone()).collect();
        out.list(&lanes, Writer::u32);
    }
    let by_hand: Vec<(u32, u64)> = sim.by_hand.iter().map(|(i, w)| (*i, w.to_bits())).collect();
    out.list(&by_hand, |out, (i, w)| {
        out.u32(i);
        out.u64(w);
    });
    let m = &sim.meter;
    [m.hash.0, m.spikes, m.events, m.active].into_iter().for_each(|x| out.u64(x));
    [m.bin.since, m.bin.spikes, m.bin.events, m.bin.active].into_iter().for_each(|x| out.u64(x));
    out.list(&m.bin.classes, Writer::u64);
    out.list(&m.running, |out, r| {
        out.u32(r.hz.to_bits());
        out.u32(r.step);
    });
    out.0
}

/// The reverse; an `Err` leaves the simulation as it was.
pub fn read<T: Real>(sim: &mut CpuSim<T>, bytes: &[u8]) -> Result<(), SimError> {
    let saved = parse(sim, bytes)?;
    sim.step = saved.step;
    let mut at = 0;
    for (part, ring) in sim.parts.iter_mut().zip(&mut sim.rings) {
        let n = part.cells.neurons.len();
        part.rewind();
        part.cells.neurons.copy_from_slice(&saved.neurons[at..at + n]);
        part.cells.currents = saved.currents.get(at..at + n).unwrap_or_default().to_vec();
        ring.clear();
        let range = part.range();
        for (step, lanes) in &saved.spikes {
            ring.write(*step).spikes = lanes.iter().copied().filter(|l| range.contains(l)).collect();
        }
        at += n;
    }
    sim.by_hand = saved.by_hand;
    let m = &mut sim.meter;
    [m.hash.0, m.spikes, m.events, m.active] = saved.totals;
    m.drop_unread();
    // A bin of other categories, or a running average nobody kept, starts over.
    if saved.bin.classes.len() == m.bin.classes.len() {
        m.bin = saved.bin;
    } else {
        m.bin = Bin { since: saved.step, classes: vec![0; m.bin.classes.len()], ..Bin::default() };
    }
    if saved.running.len() == m.running.len() {
        m.running = saved.running;
    } else {
        m.running.fill(Running::default());
    }
    sim.stale = true;
    sim.refile();
    Ok(())
}

struct Saved<T> {
    step: u64,
    neurons: Vec<Neuron<T>>,
    currents: Vec<T>,
    spikes: Vec<(u64, Vec<u32>)>,
    by_hand: Vec<(u32, T)>,
    totals: [u64; 4],
    bin: Bin,
    running: Vec<Running>,
}

fn parse<T: Real>(sim: &CpuSim<T>, bytes: &[u8]) -> Result<Saved<T>, SimError> {
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(broken("it is not a state of a spiking network, or of another version"));
    };
    let mut r = Reader(body);
    let (n, delay) = (sim.setup.n(), sim.constants.delay);
    let same =
        [r.u32()? == T::BYTES as u32, r.u32()? == n, r.u32()? == delay, r.u64()? == sim.constants.dt_ms.to_bits()];
    for (same, what) in same.into_iter().zip(["precision", "number of neurons", "delay", "time step"]) {
        if !same {
            return Err(broken(&format!("it was saved with another {what}")));
        }
    }
    let step = r.u64()?;
    let neurons = (0..n).map(|_| r.neuron()).collect::<Result<_, _>>()?;
    let currents: Vec<T> = r.list(8, |r| Ok(T::from_bits(r.u64()?)))?;
    let spikes = (step.saturating_sub(delay.into())..step)
        .map(|sent| Ok((sent, r.list(4, Reader::u32)?)))
        .collect::<Result<Vec<_>, SimError>>()?;
    let by_hand: Vec<(u32, T)> = r.list(12, |r| Ok((r.u32()?, T::from_bits(r.u64()?))))?;
    let totals = [r.u64()?, r.u64()?, r.u64()?, r.u64()?];
    let mut bin = Bin { since: r.u64()?, spikes: r.u64()?, events: r.u64()?, active: r.u64()?, classes: vec![] };
    bin.classes = r.list(8, Reader::u64)?;
    let running: Vec<Running> = r.list(8, |r| Ok(Running { hz: f32::from_bits(r.u32()?), step: r.u32()? }))?;
    let ascending = |lanes: &[u32]| lanes.is_sorted_by(|a, b| a < b) && lanes.last().is_none_or(|l| *l < n);
    let fits = r.0.is_empty()
        && (currents.is_empty() || currents.len() == n as usize)
        && spikes.iter().all(|(_, lanes)| ascending(lanes))
        && by_hand.iter().all(|(i, _)| *i < n)
        && bin.since <= step;
    if !fits {
        return Err(broken("it contradicts itself"));
    }
    Ok(Saved { step, neurons, currents, spikes, by_hand, totals, bin, running })
}

fn broken(why: &str) -> SimError {
    SimError::Input(format!("the saved state does not fit: {why}"))
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, x: u32) {
        self.0.extend(x.to_le_bytes());
    }

    fn u64(&mut self, x: u64) {
        self.0.extend(x.to_le_bytes());
    }

    fn list<X: Copy>(&mut self, items: &[X], mut put: impl FnMut(&mut Self, X)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|x| put(self, *x));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], SimError> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or_else(|| broken("it ends too early"))?;
        self.0 = tail;
        Ok(*head)
    }

    fn u32(&mut self) -> Result<u32, SimError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, SimError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// A list whose items take at least `size` bytes each: a broken length is noticed before memory is asked for.
    fn list<X>(
        &mut self,
        size: usize,
        mut take: impl FnMut(&mut Self) -> Result<X, SimError>,
    ) -> Result<Vec<X>, SimError> {
        let len = self.u32()? as usize;
        if self.0.len() < len.saturating_mul(size) {
            return Err(broken("it ends too early"));
        }
        (0..len).map(|_| take(self)).collect()
    }

    fn neuron<T: Real>(&mut self) -> Result<Neuron<T>, SimError> {
        let (u, g) = (T::from_bits(self.u64()?), T::from_bits(self.u64()?));
        let (anchor, last_spike, flags) = (self.u32()?, self.u32()?, self.u32()?);
        Ok(Neuron { u, g, anchor, last_spike, check: 0, flags: flags & (CLOSED | DRIVEN | CURRENT | FIRED) })
    }
}
