//! Saved states: little-endian bytes, versioned, independent of threads and backend. A state saved by one backend
//! continues bit for bit on the other.

use super::{
    constants::Real,
    host_state::HostState,
    measure::{Bin, Measurements, RunningRate},
};
use crate::{
    kinds::saved::{Reader, Writer, broken},
    sim::SimError,
};

const MAGIC: &[u8; 8] = b"npspike\x01";

/// Flags of a neuron that are saved.
pub mod mark {
    /// No input reaches the neuron.
    pub const CLOSED: u32 = 1;
    /// The neuron is driven by a stimulus and has no refractory period.
    pub const DRIVEN: u32 = 2;
    /// A constant current flows into the neuron.
    pub const CURRENT: u32 = 4;
    /// The neuron has fired at least once; its last spike is valid.
    pub const FIRED: u32 = 8;
    /// All flags.
    pub const ALL: u32 = CLOSED | DRIVEN | CURRENT | FIRED;
}

/// A neuron at its anchor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SavedNeuron<T> {
    /// Potential above rest, mV.
    pub u: T,
    /// Synaptic drive, mV.
    pub g: T,
    /// Completed steps at which `u` and `g` hold.
    pub anchor: u32,
    /// Step of the last spike.
    pub last_spike: u32,
    /// See [`mark`].
    pub marks: u32,
}

/// Everything needed to continue bit for bit, besides the parameters.
pub struct Saved<T> {
    /// Completed steps.
    pub step: u64,
    /// All neurons.
    pub neurons: Vec<SavedNeuron<T>>,
    /// Current into each, mV; empty when there is none.
    pub currents: Vec<T>,
    /// The spikes of the last delay, step by step, ascending.
    pub spikes: Vec<(u64, Vec<u32>)>,
    manual_kicks: Vec<(u32, T)>,
    counted: Counted,
}

/// Serialises a state: host state, neurons and spikes in transit.
pub fn write<T: Real>(
    host: &HostState<T>,
    neurons: impl Iterator<Item = SavedNeuron<T>>,
    currents: &[T],
    mut sent_in: impl FnMut(u64) -> Vec<u32>,
) -> Vec<u8> {
    let mut out = Writer(MAGIC.to_vec());
    let c = &host.constants;
    out.u32(T::BYTES as u32);
    out.u32(host.setup.n());
    out.u32(c.delay);
    out.u64(c.dt_ms.to_bits());
    out.u64(host.step);
    for neuron in neurons {
        out.u64(neuron.u.to_bits());
        out.u64(neuron.g.to_bits());
        out.u32(neuron.anchor);
        out.u32(neuron.last_spike);
        out.u32(neuron.marks & mark::ALL);
    }
    let currents: Vec<u64> = currents.iter().map(|i| i.to_bits()).collect();
    out.list(&currents, Writer::u64);
    for sent in host.step.saturating_sub(c.delay.into())..host.step {
        out.list(&sent_in(sent), Writer::u32);
    }
    let manual_kicks: Vec<(u32, u64)> = host.manual_kicks.iter().map(|(i, w)| (*i, w.to_bits())).collect();
    out.list(&manual_kicks, |out, (i, w)| {
        out.u32(i);
        out.u64(w);
    });
    host.measurements.write(&mut out);
    out.0
}

/// Parses a state of this network; changes nothing.
pub fn parse<T: Real>(host: &HostState<T>, bytes: &[u8]) -> Result<Saved<T>, SimError> {
    let Some(body) = bytes.strip_prefix(MAGIC) else {
        return Err(broken("it is not a state of a spiking network, or of another version"));
    };
    let mut r = Reader(body);
    let (n, delay) = (host.setup.n(), host.constants.delay);
    let same =
        [r.u32()? == T::BYTES as u32, r.u32()? == n, r.u32()? == delay, r.u64()? == host.constants.dt_ms.to_bits()];
    for (same, what) in same.into_iter().zip(["precision", "number of neurons", "delay", "time step"]) {
        if !same {
            return Err(broken(&format!("it was saved with another {what}")));
        }
    }
    let step = r.u64()?;
    let neurons = (0..n).map(|_| neuron(&mut r)).collect::<Result<_, _>>()?;
    let currents: Vec<T> = r.list(8, |r| Ok(T::from_bits(r.u64()?)))?;
    let spikes = (step.saturating_sub(delay.into())..step)
        .map(|sent| Ok((sent, r.list(4, Reader::u32)?)))
        .collect::<Result<Vec<_>, SimError>>()?;
    let manual_kicks: Vec<(u32, T)> = r.list(12, |r| Ok((r.u32()?, T::from_bits(r.u64()?))))?;
    let counted = Counted::read(&mut r, step)?;
    let ascending = |lanes: &[u32]| lanes.is_sorted_by(|a, b| a < b) && lanes.last().is_none_or(|l| *l < n);
    let fits = r.0.is_empty()
        && (currents.is_empty() || currents.len() == n as usize)
        && spikes.iter().all(|(_, lanes)| ascending(lanes))
        && manual_kicks.iter().all(|(i, _)| *i < n);
    if !fits {
        return Err(broken("its contents are inconsistent"));
    }
    Ok(Saved { step, neurons, currents, spikes, manual_kicks, counted })
}

impl<T: Real> Saved<T> {
    /// Restores the host state.
    pub fn restore(self, host: &mut HostState<T>) {
        host.step = self.step;
        host.manual_kicks = self.manual_kicks;
        host.stimuli_changed = true;
        host.measurements.resume(self.counted, self.step);
    }
}

fn neuron<T: Real>(r: &mut Reader<'_>) -> Result<SavedNeuron<T>, SimError> {
    let (u, g) = (T::from_bits(r.u64()?), T::from_bits(r.u64()?));
    let (anchor, last_spike, marks) = (r.u32()?, r.u32()?, r.u32()?);
    Ok(SavedNeuron { u, g, anchor, last_spike, marks: marks & mark::ALL })
}

/// Counters of the measurements.
pub struct Counted {
    totals: [u64; 4],
    bin: Bin,
    running: Vec<RunningRate>,
}

impl Counted {
    /// Parses them; `step` is the step of the state.
    pub fn read(r: &mut Reader<'_>, step: u64) -> Result<Self, SimError> {
        let totals = [r.u64()?, r.u64()?, r.u64()?, r.u64()?];
        let mut bin = Bin { since: r.u64()?, spikes: r.u64()?, events: r.u64()?, active: r.u64()?, classes: vec![] };
        bin.classes = r.list(8, Reader::u64)?;
        let running = r.list(8, |r| Ok(RunningRate { hz: f32::from_bits(r.u32()?), step: r.u32()? }))?;
        if bin.since > step {
            return Err(broken("its contents are inconsistent"));
        }
        Ok(Self { totals, bin, running })
    }
}

impl Measurements {
    /// Serialises the counters.
    pub fn write(&self, out: &mut Writer) {
        [self.hash.0, self.spikes, self.events, self.active].into_iter().for_each(|x| out.u64(x));
        let bin = &self.bin;
        [bin.since, bin.spikes, bin.events, bin.active].into_iter().for_each(|x| out.u64(x));
        out.list(&bin.classes, Writer::u64);
        out.list(&self.running, |out, r| {
            out.u32(r.hz.to_bits());
            out.u32(r.step);
        });
    }

    /// Continues from the counters at `step`. A bin of other categories, or rates of other neurons, restart.
    pub fn resume(&mut self, counted: Counted, step: u64) {
        [self.hash.0, self.spikes, self.events, self.active] = counted.totals;
        self.drop_unread();
        let classes = self.bin.classes.len();
        self.bin = if counted.bin.classes.len() == classes {
            counted.bin
        } else {
            Bin { since: step, classes: vec![0; classes], ..Bin::default() }
        };
        if counted.running.len() == self.running.len() {
            self.running = counted.running;
        } else {
            self.running.fill(RunningRate::default());
        }
    }
}
