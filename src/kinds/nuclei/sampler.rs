//! Samples the probes and the run's hash, generation by generation. Both backends share this code.

use super::{
    event_log::EventLog,
    events::{Events, PopulationStats},
    ledger::Ledger,
    lineage::{Lineage, SavedIds},
    params::Measure,
    probes,
};
use crate::{
    num::hash::StreamHash,
    sim::{ProbeId, Reading, Series, SimError, Spike, Tap},
};

/// Series probes, in the order of `ProbeSampler::series`.
const SERIES_PROBES: [ProbeId; 9] = [
    probes::ORDER,
    probes::ALIVE,
    probes::EVENTS,
    probes::FITNESS,
    probes::BARRIER,
    probes::ENTROPY,
    probes::MEAN_PHASE,
    probes::PHASE_OF,
    probes::FITNESS_OF,
];

/// Returns the names of the lanes of a series with `fields` phase fields.
pub fn lanes(probe: ProbeId, fields: usize) -> Vec<String> {
    let names: &[&str] = match probe {
        probes::ORDER => {
            let more = (2..=fields).map(|field| format!("r, field {field}"));
            return ["r", "R_J"].map(str::to_owned).into_iter().chain(more).collect();
        }
        probes::EVENTS => &["fusions", "decays", "deaths", "overflow"],
        probes::FITNESS => &["best", "median", "mean", "ensemble"],
        probes::BARRIER => &["P(r)", "mean P_j"],
        _ => &[],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Samples tapped probes and hashes all events; stores samples until they are read.
pub struct ProbeSampler {
    tapped: [bool; probes::PROBES.len()],
    capacity: u32,
    fields: usize,
    every: u64,
    series: [Series; SERIES_PROBES.len()],
    /// Event totals at the last sample.
    pub sampled: Ledger,
    /// Hash of all events, and of r in every generation.
    pub hash: StreamHash,
    births: Vec<Spike>,
    deaths: Vec<Spike>,
    /// Ids of nuclei, with births and deaths.
    pub lineage: Lineage,
    log: EventLog,
}

impl ProbeSampler {
    pub fn new(measure: &Measure, capacity: u32, fields: usize, ledger: Ledger) -> Self {
        let mut lineage = Lineage::default();
        lineage.begin(0, capacity, &(0..ledger.founders as u32).collect::<Vec<_>>(), None);
        Self {
            tapped: [false; probes::PROBES.len()],
            capacity,
            fields,
            every: u64::from(measure.every).max(1),
            series: Default::default(),
            sampled: ledger,
            hash: StreamHash::default(),
            births: vec![],
            deaths: vec![],
            lineage,
            log: EventLog::default(),
        }
    }

    /// Sets the sample interval.
    pub fn configure(&mut self, measure: &Measure) {
        self.every = u64::from(measure.every).max(1);
    }

    /// Sets the tapped probes. Probes that were tapped before continue without a gap; `living` are the slots of the living
    /// nuclei, with which a lineage begins. Fails if a probe or a slot does not exist.
    pub fn tap(&mut self, taps: &[Tap], step: u64, living: &[u32]) -> Result<(), SimError> {
        if let Some(tap) = taps.iter().find(|t| usize::from(t.probe) >= self.tapped.len()) {
            return Err(SimError::Input(format!("there is no probe {}", tap.probe)));
        }
        if let Some(beyond) = taps.iter().flat_map(|t| &t.elements).find(|e| **e >= self.capacity) {
            return Err(SimError::Input(format!("there is no slot {beyond}; the last slot is {}", self.capacity - 1)));
        }
        let before = std::mem::replace(&mut self.tapped, [false; probes::PROBES.len()]);
        for tap in taps {
            let probe = usize::from(tap.probe);
            self.tapped[probe] = true;
            let Some(i) = SERIES_PROBES.iter().position(|p| *p == tap.probe) else { continue };
            let over_nuclei = matches!(tap.probe, probes::PHASE_OF | probes::FITNESS_OF);
            let elements = if over_nuclei { tap.elements.clone() } else { vec![] };
            if self.series[i].elements != elements || !before[probe] {
                self.series[i] = Series { elements, ..Series::default() };
            }
        }
        self.lineage.tap(self.is_tapped(probes::LINEAGE), step, living);
        if !self.is_tapped(probes::LOG) {
            self.log.clear();
        }
        for (probe, pending) in [(probes::BIRTHS, &mut self.births), (probes::DEATHS, &mut self.deaths)] {
            if !self.tapped[usize::from(probe)] {
                *pending = vec![];
            }
        }
        Ok(())
    }

    fn is_tapped(&self, probe: ProbeId) -> bool {
        self.tapped[usize::from(probe)]
    }

    pub fn taps(&self) -> impl Iterator<Item = ProbeId> + use<> {
        let tapped = self.tapped;
        (0..tapped.len()).filter(move |i| tapped[*i]).map(|i| i as ProbeId)
    }

    /// Whether the median and ensemble errors are sampled after `completed` generations.
    pub fn needs_errors(&self, completed: u64) -> bool {
        completed.is_multiple_of(self.every) && self.is_tapped(probes::FITNESS)
    }

    /// Whether the median and ensemble errors, or the mean of P(R_j), are sampled after `completed` generations.
    pub fn needs_details(&self, completed: u64) -> bool {
        self.needs_errors(completed) || completed.is_multiple_of(self.every) && self.is_tapped(probes::BARRIER)
    }

    /// Records the events of generation `step`.
    pub fn events(&mut self, step: u64, events: &Events) {
        for (word, slots) in [(1, &events.fused), (2, &events.decayed), (3, &events.died)] {
            slots.iter().for_each(|slot| self.hash.push_spike((step as u32) << 2 | word, *slot));
        }
        if self.is_tapped(probes::BIRTHS) {
            let host = events.fused.first();
            let born = host.into_iter().chain(events.born.iter().map(|(child, _)| child));
            push_sorted(&mut self.births, step, born);
        }
        if self.is_tapped(probes::DEATHS) {
            push_sorted(&mut self.deaths, step, events.fused.iter().skip(1).chain(&events.died));
        }
        self.lineage.events(step, events);
        if self.is_tapped(probes::LOG) {
            self.log.push(step, events);
        }
    }

    /// Ends a generation; `value` returns the value of a probe in one slot.
    pub fn end(&mut self, completed: u64, now: &PopulationStats, ledger: &Ledger, value: &dyn Fn(ProbeId, u32) -> f32) {
        let bits = now.r.to_bits();
        self.hash.push_spike((bits >> 32) as u32, bits as u32);
        if !completed.is_multiple_of(self.every) {
            return;
        }
        let counts = ledger.since(&self.sampled);
        self.sampled = *ledger;
        for (i, probe) in SERIES_PROBES.into_iter().enumerate().filter(|(_, probe)| self.tapped[usize::from(*probe)]) {
            let series = &mut self.series[i];
            let before = series.values.len();
            match probe {
                probes::ORDER => {
                    series.values.extend([now.r as f32, now.r_j as f32]);
                    series.values.extend(now.r_more[..self.fields - 1].iter().map(|r| *r as f32));
                }
                probes::ALIVE => series.values.push(ledger.n() as f32),
                probes::EVENTS => series
                    .values
                    .extend([counts.n_fused, counts.n_decay, counts.n_died, counts.overflow].map(|count| count as f32)),
                probes::FITNESS => {
                    series.values.extend([now.f_best, now.f_median, now.f_mean, now.f_ensemble].map(|x| x as f32))
                }
                probes::BARRIER => series.values.extend([now.p_dec as f32, now.p_mean as f32]),
                probes::ENTROPY => series.values.push(now.h_mean as f32),
                probes::MEAN_PHASE => series.values.push(now.mean_phase as f32),
                _ => series.values.extend(series.elements.iter().map(|slot| value(probe, *slot))),
            }
            series.lanes = (series.values.len() - before) as u32;
            series.steps.push(completed);
        }
    }

    /// Takes the reading of a tapped series, event or text probe; of a text, at most the newest `text_limit` bytes. `None` for
    /// fields.
    pub fn take(&mut self, probe: ProbeId, text_limit: Option<usize>) -> Option<Reading> {
        Some(match probe {
            probes::BIRTHS => Reading::Spikes(take(&mut self.births)),
            probes::DEATHS => Reading::Spikes(take(&mut self.deaths)),
            probes::LINEAGE => Reading::lineage(self.lineage.take()),
            probes::LOG => Reading::Text(self.log.take(text_limit)),
            _ => {
                let series = &mut self.series[SERIES_PROBES.iter().position(|p| *p == probe)?];
                let lanes = match probe {
                    probes::PHASE_OF | probes::FITNESS_OF => series.elements.len() as u32,
                    _ => lanes(probe, self.fields).len().max(1) as u32,
                };
                let next = Series { elements: series.elements.clone(), lanes, ..Series::default() };
                Reading::Series(Series { lanes, ..std::mem::replace(series, next) })
            }
        })
    }

    /// Restarts from a state with the nuclei in the slots `living`; taps are kept. Unread samples are dropped because they belong
    /// to another run. Without saved `ids`, new ids are assigned.
    pub fn resume(&mut self, hash: StreamHash, sampled: Ledger, step: u64, living: &[u32], ids: Option<SavedIds>) {
        (self.hash, self.sampled) = (hash, sampled);
        for series in &mut self.series {
            series.steps.clear();
            series.values.clear();
        }
        self.births.clear();
        self.deaths.clear();
        self.log.clear();
        self.lineage.begin(step, self.capacity, living, ids);
    }

    pub fn n_bytes(&self) -> u64 {
        let series: usize = self.series.iter().map(|s| s.values.capacity() * 4 + s.steps.capacity() * 8).sum();
        let events = (self.births.capacity() + self.deaths.capacity()) * 8;
        (series + events + self.log.n_bytes()) as u64 + self.lineage.n_bytes()
    }
}

/// Takes all events, and reserves memory for an equal number in the next batch.
fn take(events: &mut Vec<Spike>) -> Vec<Spike> {
    let next = Vec::with_capacity(events.len());
    std::mem::replace(events, next)
}

/// Appends the events of one generation, sorted by slot.
fn push_sorted<'a>(to: &mut Vec<Spike>, step: u64, slots: impl Iterator<Item = &'a u32>) {
    let mut slots: Vec<u32> = slots.copied().collect();
    sort(&mut slots);
    to.extend(slots.into_iter().map(|lane| Spike { step: step as u32, lane }));
}

/// Minimum number of slots for which radix sort is used.
const RADIX_FROM: usize = 256;
/// Number of bits per digit of the radix sort.
const DIGIT: u32 = 9;

/// Sorts slots, from [`RADIX_FROM`] on by radix sort, because the device waits for thousands of events.
fn sort(slots: &mut Vec<u32>) {
    if slots.len() < RADIX_FROM {
        return slots.sort_unstable();
    }
    let bits = u32::BITS - slots.iter().copied().max().unwrap_or(0).leading_zeros();
    let mut sorted = vec![0; slots.len()];
    for shift in (0..bits).step_by(DIGIT as usize) {
        let digit = |slot: u32| (slot >> shift) as usize & ((1 << DIGIT) - 1);
        let mut places = [0_u32; 1 << DIGIT];
        slots.iter().for_each(|slot| places[digit(*slot)] += 1);
        let mut next = 0;
        places.iter_mut().for_each(|place| next += std::mem::replace(place, next));
        for slot in &*slots {
            let place = &mut places[digit(*slot)];
            sorted[*place as usize] = *slot;
            *place += 1;
        }
        std::mem::swap(slots, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_sorted_with_those_that_occur_twice() {
        for (n, capacity) in [(0, 1), (5, 100), (255, 1 << 18), (256, 300), (3_000, 1 << 18), (700, u32::MAX), (400, 1)]
        {
            let mut slots: Vec<u32> = (0..n).map(|i: u32| i.wrapping_mul(2_654_435_761) % capacity).collect();
            slots.extend_from_within(..slots.len() / 3);
            let mut want = slots.clone();
            want.sort_unstable();
            sort(&mut slots);
            assert_eq!(slots, want, "{n} of {capacity}");
        }
    }
}
