//! Saved states, independent of threads and backend. A state saved by one backend continues bit for bit on the other.

use super::{
    bin::Bin,
    constants::Real,
    host_state::HostState,
    measure::{Measurements, RunningRate},
};
use crate::sim::{SimError, Snapshot, snapshot::misfit};

const MODEL: &str = "spiking, LIF";

/// Saved flags of a neuron.
pub mod mark {
    /// No input reaches the neuron.
    pub const CLOSED: u32 = 1;
    /// The neuron is driven by a stimulus and has no refractory period.
    pub const DRIVEN: u32 = 2;
    /// A constant current flows into the neuron.
    pub const CURRENT: u32 = 4;
    /// The neuron has fired at least once; its last spike is valid.
    pub const FIRED: u32 = 8;
    /// Mask of all flags.
    pub const ALL: u32 = CLOSED | DRIVEN | CURRENT | FIRED;
}

/// State of a neuron at its anchor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SavedNeuron<T> {
    /// Potential relative to rest, mV.
    pub u: T,
    /// Synaptic drive, mV.
    pub g: T,
    /// Number of completed steps at which `u` and `g` hold.
    pub anchor: u32,
    /// Step of the last spike.
    pub last_spike: u32,
    /// Flags of the neuron, see [`mark`].
    pub marks: u32,
}

/// Contents of a saved state that, with the parameters, suffice to continue bit for bit.
pub struct Saved<T> {
    /// Number of completed steps.
    pub step: u64,
    pub neurons: Vec<SavedNeuron<T>>,
    /// Current into each neuron, mV; empty if there is none.
    pub currents: Vec<T>,
    /// Spikes within the last delay, by step, ascending.
    pub spikes: Vec<(u64, Vec<u32>)>,
    manual_kicks: Vec<(u32, T)>,
    counted: Counted,
}

/// Creates a snapshot of the host state, the neurons and the spikes in transit.
pub fn write<T: Real>(
    host: &HostState<T>,
    neurons: impl Iterator<Item = SavedNeuron<T>>,
    currents: Vec<T>,
    mut sent_in: impl FnMut(u64) -> Vec<u32>,
) -> Snapshot {
    let mut out = Snapshot::new(MODEL);
    let (c, n) = (&host.constants, host.setup.n() as usize);
    out.number("step", host.step);
    out.number("dt_ms", c.dt_ms);
    out.number("delay", c.delay);
    let (mut u, mut g) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let mut whole = [const { vec![] }; 3];
    whole.iter_mut().for_each(|values: &mut Vec<u32>| values.reserve_exact(n));
    for neuron in neurons {
        u.push(neuron.u);
        g.push(neuron.g);
        let values = [neuron.anchor, neuron.last_spike, neuron.marks & mark::ALL];
        whole.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
    }
    let [anchor, last_spike, marks] = whole;
    out.list("u", u);
    out.list("g", g);
    out.list("anchor", anchor);
    out.list("last_spike", last_spike);
    out.list("marks", marks);
    out.list("current", currents);
    let (mut counts, mut lanes) = (vec![], vec![]);
    for sent in host.step.saturating_sub(c.delay.into())..host.step {
        let before = lanes.len();
        lanes.extend(sent_in(sent));
        counts.push((lanes.len() - before) as u32);
    }
    out.list("in_transit.counts", counts);
    out.list("in_transit.neurons", lanes);
    let (neurons, weights) = host.manual_kicks.iter().copied().unzip();
    write_kicks(&mut out, neurons, weights);
    host.measurements.write(&mut out);
    out
}

/// Adds the manual kicks of the next step to a snapshot.
pub fn write_kicks<T: Real>(out: &mut Snapshot, neurons: Vec<u32>, weights: Vec<T>) {
    out.list("kicks.neurons", neurons);
    out.list("kicks.weights", weights);
}

/// Reads the manual kicks of the next step. Fails if a neuron is not below `n`.
pub fn read_kicks<T: Real>(from: &Snapshot, n: u32) -> Result<Vec<(u32, T)>, SimError> {
    let neurons: Vec<u32> = from.read_list("kicks.neurons")?;
    let weights = from.read("kicks.weights", &[neurons.len()])?;
    if neurons.iter().any(|i| *i >= n) {
        return Err(inconsistent());
    }
    Ok(neurons.into_iter().zip(weights).collect())
}

/// Returns the error for contents that no simulation writes.
pub fn inconsistent() -> SimError {
    misfit("its contents are inconsistent")
}

/// Parses a state of this network, without changing the host state. Fails if model, delay, time step or number of neurons
/// differ, or the contents are inconsistent.
pub fn parse<T: Real>(host: &HostState<T>, from: &Snapshot) -> Result<Saved<T>, SimError> {
    from.expect_model(MODEL)?;
    let (n, delay) = (host.setup.n(), host.constants.delay);
    if from.read_number::<u32>("delay")? != delay {
        return Err(misfit("it was saved with another delay"));
    }
    if from.read_number::<f64>("dt_ms")?.to_bits() != host.constants.dt_ms.to_bits() {
        return Err(misfit("it was saved with another time step"));
    }
    let step: u64 = from.read_number("step")?;
    let shape = [n as usize];
    let (u, g) = (from.read::<T>("u", &shape)?, from.read::<T>("g", &shape)?);
    let [anchor, last_spike, marks] = ["anchor", "last_spike", "marks"].map(|name| from.read::<u32>(name, &shape));
    let (anchor, last_spike, marks) = (anchor?, last_spike?, marks?);
    let neurons = (0..n as usize).map(|i| SavedNeuron {
        u: u[i],
        g: g[i],
        anchor: anchor[i],
        last_spike: last_spike[i],
        marks: marks[i] & mark::ALL,
    });
    let currents: Vec<T> = from.read_list("current")?;
    let window = step.saturating_sub(delay.into())..step;
    let counts: Vec<u32> = from.read("in_transit.counts", &[(window.end - window.start) as usize])?;
    let lanes: Vec<u32> = from.read_list("in_transit.neurons")?;
    let mut rest = &lanes[..];
    let mut spikes = Vec::with_capacity(counts.len());
    for (sent, count) in window.zip(counts) {
        let (now, later) = rest.split_at_checked(count as usize).ok_or_else(inconsistent)?;
        spikes.push((sent, now.to_vec()));
        rest = later;
    }
    let manual_kicks = read_kicks(from, n)?;
    let counted = Counted::read(from, step)?;
    let ascending = |lanes: &[u32]| lanes.is_sorted_by(|a, b| a < b) && lanes.last().is_none_or(|l| *l < n);
    let fits = rest.is_empty()
        && (currents.is_empty() || currents.len() == n as usize)
        && spikes.iter().all(|(_, lanes)| ascending(lanes));
    if !fits {
        return Err(inconsistent());
    }
    Ok(Saved { step, neurons: neurons.collect(), currents, spikes, manual_kicks, counted })
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

/// Counters of the measurements.
pub struct Counted {
    totals: [u64; 4],
    bin: Bin,
    running: Vec<RunningRate>,
}

impl Counted {
    /// Reads the counters; `step` is the step of the state. Fails if a section is missing or has another shape, or the bin
    /// begins after `step`.
    pub fn read(from: &Snapshot, step: u64) -> Result<Self, SimError> {
        let totals: [u64; 4] = from.read("totals", &[4])?.try_into().unwrap_or_default();
        let bin: Vec<u64> = from.read("bin", &[4])?;
        let bin = Bin {
            since: bin[0],
            spikes: bin[1],
            events: bin[2],
            active: bin[3],
            classes: from.read_list("bin.classes")?,
        };
        let hz: Vec<f32> = from.read_list("rate.hz")?;
        let steps: Vec<u32> = from.read("rate.step", &[hz.len()])?;
        if bin.since > step {
            return Err(inconsistent());
        }
        let running = hz.into_iter().zip(steps).map(|(hz, step)| RunningRate { hz, step }).collect();
        Ok(Self { totals, bin, running })
    }
}

impl Measurements {
    /// Adds the counters to a snapshot.
    pub fn write(&self, out: &mut Snapshot) {
        out.list("totals", vec![self.hash.0, self.spikes, self.events, self.active]);
        let bin = &self.bin;
        out.list("bin", vec![bin.since, bin.spikes, bin.events, bin.active]);
        out.list("bin.classes", bin.classes.clone());
        out.list("rate.hz", self.running.iter().map(|r| r.hz).collect());
        out.list("rate.step", self.running.iter().map(|r| r.step).collect());
    }

    /// Continues from the counters at `step`. Restarts the bin if its categories differ, and the rates if the number of neurons
    /// differs.
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
