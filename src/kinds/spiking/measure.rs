//! Measures the spike stream, step by step. Backends feed [`Measurements`], which does not affect the simulation.

use super::{
    bin::{Bin, Run, runs_of},
    constants::steps_from_ms,
    general::{homeostasis::counts::SpikeCounts, patterns::readout::Readout},
    params::Measure,
    probes,
    synapse_readings::SYNAPSE_PROBES,
    weight_readings::{WEIGHT_PROBES, WeightReadings},
};
use crate::{
    num::hash::StreamHash,
    sim::{Column, Digest, ElementSet, ProbeId, Series, SimError, Spike, Tap},
};
use std::sync::Arc;

/// A running rate, updated only at spikes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunningRate {
    /// Rate immediately after `step`, Hz.
    pub hz: f32,
    /// Step of the last spike, modulo 2³².
    pub step: u32,
}

/// Table of `exp(-age / tau)` for whole steps, as the product of two entries: exact to two roundings, and the same on every
/// machine.
struct DecayTable {
    fine: Vec<f32>,
    coarse: Vec<f32>,
}

impl DecayTable {
    const FINE: u32 = 1024;

    fn new(tau_steps: f64) -> Self {
        let at = |age: f64| (-age / tau_steps).exp() as f32;
        let coarse = (0..1 << 16).map(|c| at(f64::from(c) * f64::from(Self::FINE)));
        Self {
            fine: (0..Self::FINE).map(|age| at(f64::from(age))).collect(),
            coarse: coarse.take_while(|f| *f > 0.0).collect(),
        }
    }

    #[inline]
    fn after(&self, age: u32) -> f32 {
        let coarse = self.coarse.get((age / Self::FINE) as usize);
        coarse.map_or(0.0, |coarse| coarse * self.fine[(age % Self::FINE) as usize])
    }
}

/// Counts, hashes and bins spikes; stores samples until they are taken.
pub struct Measurements {
    set: Arc<ElementSet>,
    tapped: [bool; probes::PROBES.len()],
    dt_ms: f64,
    bin_steps: u64,
    tau_steps: f64,
    fade: DecayTable,
    group_by: String,
    /// Index of the column `group_by`.
    grouped_by: Option<usize>,
    /// Runs of equal classes in the column `group_by`.
    runs: Vec<Run>,
    /// Number of steps between traces.
    pub trace_every: u64,
    /// Neurons that are traced, ascending.
    pub traced: Vec<u32>,
    /// Hash of all spikes.
    pub hash: StreamHash,
    /// Total number of spikes.
    pub spikes: u64,
    /// Total number of synaptic events.
    pub events: u64,
    /// Total number of neurons evaluated.
    pub active: u64,
    /// The current bin.
    pub bin: Bin,
    /// Running rates. Always updated, so that a new tap shows the past.
    pub running: Vec<RunningRate>,
    /// Whether the backend updates the running rates, and copies them to `running` on request.
    pub rates_on_device: bool,
    /// Whether the backend hashes the spikes.
    pub hash_on_device: bool,
    waiting: Vec<Spike>,
    series: Vec<Series>,
    trace_row: Vec<[f32; 2]>,
    /// Positions in a row of the elements of the series, for v and for g.
    trace_columns: [Vec<usize>; 2],
    sizes: Vec<u32>,
    /// Samples of plastic weights.
    pub weights: WeightReadings,
    /// Spikes of single neurons, for homeostasis.
    pub counts: SpikeCounts,
    /// Readout of presented patterns; `None` without.
    pub readout: Option<Readout>,
}

/// Series that grow with every bin or trace, in the order of `Measurements::series`.
const SERIES_PROBES: [ProbeId; 6] =
    [probes::RATE, probes::CLASS_RATES, probes::V, probes::G, probes::SYNAPTIC_EVENTS, probes::ACTIVE];

/// Traces: probe, index of its series, index of its value in an entry of a row.
const TRACES: [(ProbeId, usize, usize); 2] = [(probes::V, 2, 0), (probes::G, 3, 1)];

impl Measurements {
    /// Creates measurements without taps, with all counters 0.
    pub fn new(set: Arc<ElementSet>, dt_ms: f64, measure: &Measure) -> Self {
        let n = set.len as usize;
        let mut measurements = Self {
            set,
            tapped: [false; probes::PROBES.len()],
            dt_ms,
            bin_steps: 1,
            tau_steps: 0.0,
            fade: DecayTable { fine: vec![], coarse: vec![] },
            group_by: String::new(),
            grouped_by: None,
            runs: vec![],
            trace_every: 1,
            traced: vec![],
            hash: StreamHash::default(),
            spikes: 0,
            events: 0,
            active: 0,
            bin: Bin::default(),
            running: vec![RunningRate::default(); n],
            rates_on_device: false,
            hash_on_device: false,
            waiting: vec![],
            series: vec![Series::default(); SERIES_PROBES.len()],
            trace_row: vec![],
            trace_columns: [vec![], vec![]],
            sizes: vec![],
            weights: WeightReadings::default(),
            counts: SpikeCounts::default(),
            readout: None,
        };
        measurements.configure(measure, 0);
        measurements
    }

    /// Applies changed bins and intervals; restarts the current bin.
    pub fn configure(&mut self, measure: &Measure, step: u64) {
        self.bin_steps = steps_from_ms(measure.rate_bin_ms, self.dt_ms).max(1);
        let tau_steps = measure.rate_tau_ms / self.dt_ms;
        if tau_steps != self.tau_steps {
            self.tau_steps = tau_steps;
            self.fade = DecayTable::new(tau_steps);
        }
        self.trace_every = steps_from_ms(measure.trace_every_ms, self.dt_ms).max(1);
        if self.group_by != measure.group_by {
            measure.group_by.clone_into(&mut self.group_by);
            self.series[1] = Series::default();
        }
        self.grouped_by = self.set.columns.iter().position(|c| c.name == self.group_by);
        self.runs = self.column().map_or_else(Vec::new, |column| runs_of(&column.codes));
        self.sizes = self.column().map_or_else(|| vec![self.set.len], Column::counts);
        self.start_bin(step);
    }

    /// Checks that the neurons have a column with this name. The error lists the existing columns.
    pub fn check_column(&self, name: &str) -> Result<(), SimError> {
        if self.set.column(name).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = self.set.columns.iter().map(|c| c.name.as_str()).collect();
        Err(SimError::Input(format!("measure.group_by: there is no column `{name}`; there is {}", known.join(", "))))
    }

    fn column(&self) -> Option<&Column> {
        self.set.columns.get(self.grouped_by?)
    }

    /// Returns the names of the lanes of `class_rates`.
    pub fn class_names(&self) -> Vec<String> {
        let name = |l: &String| if l.is_empty() { "unknown".to_owned() } else { l.clone() };
        self.column().map_or_else(|| vec!["all".to_owned()], |c| c.labels.iter().map(name).collect())
    }

    /// Sets the taps. Series that were tapped before continue without a gap. Fails if a probe or a neuron does not exist.
    pub fn tap(&mut self, taps: &[Tap], step: u64) -> Result<(), SimError> {
        let n = self.set.len;
        if let Some(tap) = taps.iter().find(|t| usize::from(t.probe) >= self.tapped.len()) {
            return Err(SimError::Input(format!("there is no probe {}", tap.probe)));
        }
        if let Some(beyond) = taps.iter().flat_map(|t| &t.elements).find(|e| **e >= n) {
            return Err(SimError::Input(format!(
                "there is no neuron {beyond}; the last one is {}",
                n.saturating_sub(1)
            )));
        }
        let before = self.tapped;
        self.tapped.fill(false);
        let mut traced = vec![];
        for tap in taps {
            self.tapped[usize::from(tap.probe)] = true;
            if let Some(i) = SERIES_PROBES.iter().position(|p| *p == tap.probe) {
                let over_neurons = matches!(tap.probe, probes::V | probes::G);
                let elements = if over_neurons { tap.elements.clone() } else { vec![] };
                if over_neurons {
                    traced.extend(&elements);
                }
                if self.series[i].elements != elements || !before[usize::from(tap.probe)] {
                    self.series[i] = Series { elements, ..Series::default() };
                }
            }
        }
        traced.sort_unstable();
        traced.dedup();
        let column = |e: &u32| traced.binary_search(e).unwrap_or(usize::MAX); // `usize::MAX` for a series that is not tapped
        self.trace_columns = TRACES.map(|(_, series, _)| self.series[series].elements.iter().map(column).collect());
        self.traced = traced;
        self.weights.tap(WEIGHT_PROBES.map(|probe| self.is_tapped(probe)));
        self.weights.synapses.tap(SYNAPSE_PROBES.map(|probe| self.is_tapped(probe)));
        let is_tapped = self.is_tapped(probes::ACCURACY);
        self.readout.iter_mut().for_each(|readout| readout.tap(is_tapped));
        if !self.is_tapped(probes::SPIKES) {
            self.waiting = vec![];
        }
        if self.bin.classes.len() != self.n_classes() {
            self.start_bin(step);
        }
        Ok(())
    }

    fn is_tapped(&self, probe: ProbeId) -> bool {
        self.tapped[usize::from(probe)]
    }

    fn start_bin(&mut self, step: u64) {
        self.bin = Bin { since: step, classes: vec![0; self.n_classes()], ..Bin::default() };
    }

    /// Returns the number of counted classes: 0 unless class rates are tapped.
    fn n_classes(&self) -> usize {
        if self.is_tapped(probes::CLASS_RATES) { self.sizes.len() } else { 0 }
    }

    /// Adds spikes of one step, ascending over all calls of the step.
    pub fn spikes(&mut self, step: u64, lanes: &[u32]) {
        let step32 = step as u32;
        self.counts.add(lanes);
        if let Some(readout) = &mut self.readout {
            readout.add(lanes);
        }
        self.spikes += lanes.len() as u64;
        self.bin.spikes += lanes.len() as u64;
        if self.is_tapped(probes::SPIKES) {
            self.waiting.extend(lanes.iter().map(|lane| Spike { step: step32, lane: *lane }));
        }
        if !self.bin.classes.is_empty() {
            match self.grouped_by.and_then(|at| self.set.columns.get(at)) {
                Some(column) => self.bin.count(&column.codes, &self.runs, lanes),
                None => self.bin.classes[0] += lanes.len() as u64,
            }
        }
        if !self.hash_on_device {
            let mut hash = self.hash;
            lanes.iter().for_each(|lane| hash.push_spike(step32, *lane));
            self.hash = hash;
        }
        if self.rates_on_device {
            return;
        }
        let gain = self.gain();
        for lane in lanes {
            let r = &mut self.running[*lane as usize];
            *r = RunningRate { hz: r.hz * self.fade.after(step32.wrapping_sub(r.step)) + gain, step: step32 };
        }
    }

    /// Returns the increment of a running rate per spike, Hz.
    pub fn gain(&self) -> f32 {
        (1000.0 / (self.tau_steps * self.dt_ms)) as f32
    }

    /// Returns the decay tables of a running rate: factors after 0, 1, … 1023 steps; and after 0, 1024, 2048, … as long as the
    /// factor is above 0.
    pub fn fade_tables(&self) -> (&[f32], &[f32]) {
        (&self.fade.fine, &self.fade.coarse)
    }

    /// Adds v and g of traced neurons, ascending over all calls of the step.
    pub fn trace(&mut self, values: &[[f32; 2]]) {
        self.trace_row.extend_from_slice(values);
    }

    /// Ends a step.
    pub fn end_step(&mut self, step: u64, events: u64, active: u64) {
        self.events += events;
        self.active += active;
        self.bin.events += events;
        self.bin.active += active;
        let completed = step + 1;
        if let Some(readout) = &mut self.readout {
            readout.end_step(completed);
        }
        if !self.trace_row.is_empty() {
            self.push_traces(completed);
        }
        if completed.is_multiple_of(self.bin_steps) {
            if completed - self.bin.since == self.bin_steps {
                self.push_bin(completed);
            }
            self.start_bin(completed);
        }
    }

    fn push_traces(&mut self, completed: u64) {
        for (probe, series, which) in TRACES {
            if !self.is_tapped(probe) {
                continue;
            }
            let series = &mut self.series[series];
            series.lanes = series.elements.len() as u32;
            series.steps.push(completed);
            let row = &self.trace_row;
            let value = |column: &usize| row.get(*column).map_or(f32::NAN, |entry| entry[which]);
            series.values.extend(self.trace_columns[which].iter().map(value));
        }
        self.trace_row.clear();
    }

    fn push_bin(&mut self, completed: u64) {
        let secs = self.bin_steps as f64 * self.dt_ms * 1e-3;
        let per_neuron = |count: u64, size: u32| (count as f64 / (f64::from(size.max(1)) * secs)) as f32;
        let bin = &self.bin;
        let rows = [
            (0, vec![per_neuron(bin.spikes, self.set.len)]),
            (1, bin.classes.iter().zip(&self.sizes).map(|(c, s)| per_neuron(*c, *s)).collect()),
            (4, vec![(bin.events as f64 / secs) as f32]),
            (5, vec![(bin.active as f64 / self.bin_steps as f64) as f32]),
        ];
        for (i, row) in rows {
            if self.tapped[usize::from(SERIES_PROBES[i])] && !row.is_empty() {
                let series = &mut self.series[i];
                series.lanes = row.len() as u32;
                series.steps.push(completed);
                series.values.extend(row);
            }
        }
    }

    /// Takes the samples of a series since the last call; `None` if the probe is not a series.
    pub fn take_series(&mut self, probe: ProbeId) -> Option<Series> {
        let i = SERIES_PROBES.iter().position(|p| *p == probe)?;
        let lanes = match probe {
            probes::CLASS_RATES => self.sizes.len(),
            probes::V | probes::G => self.series[i].elements.len(),
            _ => 1,
        };
        let series = &mut self.series[i];
        let next = Series { elements: series.elements.clone(), lanes: lanes as u32, ..Series::default() };
        Some(Series { lanes: lanes as u32, ..std::mem::replace(series, next) })
    }

    /// Takes the spikes since the last call. The next batch is written to `spare`, which is enlarged for longer batches,
    /// because writing spikes to new memory is slower.
    pub fn take_spikes(&mut self, mut spare: Vec<Spike>) -> Vec<Spike> {
        spare.clear();
        let n = self.waiting.len();
        if spare.capacity() < n + n / 8 {
            spare.reserve_exact(n + n / 4);
        }
        std::mem::replace(&mut self.waiting, spare)
    }

    /// Returns the running rates after `completed` steps, Hz.
    pub fn running_rates(&self, completed: u64) -> Vec<f32> {
        let decayed = |r: &RunningRate| r.hz * self.fade.after((completed as u32).wrapping_sub(r.step));
        self.running.iter().map(decayed).collect()
    }

    /// Returns the time from each neuron's last spike to the end of `completed` steps, ms; -1 for never.
    pub fn since_last_spikes(&self, completed: u64) -> Vec<f32> {
        let now = (completed as u32).wrapping_sub(1);
        let age = |r: &RunningRate| match r.hz > 0.0 {
            true => (f64::from(now.wrapping_sub(r.step)) * self.dt_ms) as f32,
            false => -1.0,
        };
        self.running.iter().map(age).collect()
    }

    /// Returns the tapped probes without arguments.
    pub fn taps(&self) -> impl Iterator<Item = ProbeId> + use<> {
        let tapped = self.tapped;
        let is_plain = |i: &usize| probes::PROBES[*i].args.is_empty();
        (0..tapped.len()).filter(move |i| tapped[*i]).filter(is_plain).map(|i| i as ProbeId)
    }

    /// Returns the hash of all spikes, and event totals.
    pub fn digest(&self) -> Digest {
        let totals = [("spikes", self.spikes), ("synaptic_events", self.events)];
        Digest::new(self.hash.hex(), totals.map(|(n, v)| (n.to_owned(), v)).to_vec())
    }

    /// Returns to step 0; taps are kept. Samples that were not taken are dropped.
    pub fn rewind(&mut self) {
        self.hash = StreamHash::default();
        (self.spikes, self.events, self.active) = (0, 0, 0);
        self.running.fill(RunningRate::default());
        self.counts.clear();
        self.readout.iter_mut().for_each(Readout::rewind);
        self.start_bin(0);
        self.drop_unread();
    }

    /// Drops samples that were not taken, because they precede a load or rewind.
    pub fn drop_unread(&mut self) {
        self.waiting.clear();
        for series in &mut self.series {
            series.steps.clear();
            series.values.clear();
        }
        self.weights.drop_unread();
        self.readout.iter_mut().for_each(Readout::drop_unread);
    }

    pub fn n_bytes(&self) -> u64 {
        let series: usize = self.series.iter().map(|s| s.values.capacity() * 4 + s.steps.capacity() * 8).sum();
        (series + self.running.capacity() * 8 + self.waiting.capacity() * 8) as u64 + self.weights.n_bytes()
    }
}
