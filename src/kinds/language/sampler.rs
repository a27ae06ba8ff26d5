//! Samples tapped probes, and keeps histories until they are read.

use crate::sim::{
    Axis, Frame, Histogram, Matrix, ProbeId, ProbeSpec, Reading, ReadingCost, Series, Shape, SimError, Tap, TapKey,
    TextSample,
};
use std::{mem, ops::Range, sync::Arc};

/// Number of bins of a histogram.
pub const N_BINS: usize = 64;

/// Probe specifications of a kind.
#[derive(Clone, Copy)]
pub struct Probes {
    /// All probes, by id.
    pub specs: &'static [ProbeSpec],
    /// Probes that read the newest sampled text.
    pub of_text: &'static [ProbeId],
    /// Largest magnitude on the axis of a histogram.
    pub limit: fn(ProbeId) -> f32,
}

/// Histories of tapped probes and cached readings.
pub struct Sampler {
    probes: Probes,
    taps: Vec<Tap>,
    series: Vec<(TapKey, Series)>,
    histograms: Vec<(TapKey, Histogram)>,
    texts: Vec<TextSample>,
    /// Cached readings, which later frames may show again.
    known: Vec<Known>,
}

/// Cached reading of an expensive probe.
struct Known {
    key: TapKey,
    step: u64,
    reading: Reading,
    cost: ReadingCost,
    /// Whether the text of the reading was replaced.
    is_outdated: bool,
}

impl Sampler {
    /// Creates a sampler without taps.
    pub const fn new(probes: Probes) -> Self {
        Self { probes, taps: vec![], series: vec![], histograms: vec![], texts: vec![], known: vec![] }
    }

    /// Sets the tapped probes. The histories of probes that stay tapped are kept.
    pub fn tap(&mut self, taps: &[Tap]) {
        self.taps = taps.to_vec();
        let (mut series, mut histograms) = (mem::take(&mut self.series), mem::take(&mut self.histograms));
        for tap in taps {
            match self.probes.specs[usize::from(tap.probe)].shape {
                Shape::Series { .. } => {
                    let old = series.iter_mut().find(|(key, s)| tap.has_key(key) && s.elements == tap.elements);
                    let new = || Series { elements: tap.elements.clone(), ..Series::default() };
                    self.series.push((tap.key(), old.map_or_else(new, |(_, s)| mem::take(s))));
                }
                Shape::Histogram { .. } => {
                    let old = histograms.iter_mut().find(|(key, _)| tap.has_key(key));
                    let new = || Histogram { edges: edges((self.probes.limit)(tap.probe)), ..Histogram::default() };
                    self.histograms.push((tap.key(), old.map_or_else(new, |(_, h)| mem::take(h))));
                }
                _ => {}
            }
        }
        if !self.shows_texts() {
            self.texts.clear();
        }
        self.known.retain(|known| taps.iter().any(|tap| tap.has_key(&known.key)));
    }

    /// Returns the tapped probes.
    pub fn taps(&self) -> Vec<Tap> {
        self.taps.clone()
    }

    /// Whether a probe is tapped.
    pub fn is_tapped(&self, probe: ProbeId) -> bool {
        self.taps.iter().any(|tap| tap.probe == probe)
    }

    /// Whether at least one of `probes` is tapped.
    pub fn is_any_tapped(&self, probes: &[ProbeId]) -> bool {
        probes.iter().any(|probe| self.is_tapped(*probe))
    }

    /// Whether a tapped probe reads the sampled text.
    pub fn wants_text(&self) -> bool {
        self.is_any_tapped(self.probes.of_text)
    }

    fn shows_texts(&self) -> bool {
        self.taps.iter().any(|tap| self.probes.specs[usize::from(tap.probe)].shape == Shape::Samples)
    }

    /// Returns the keys of the tapped histograms.
    pub fn histogram_keys(&self) -> Vec<TapKey> {
        self.histograms.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Appends a row to a series if it is tapped.
    pub fn push(&mut self, probe: ProbeId, step: u64, values: &[f32]) {
        if let Some((_, series)) = self.series.iter_mut().find(|(key, _)| key.probe == probe) {
            series.lanes = values.len() as u32;
            series.steps.push(step);
            series.values.extend_from_slice(values);
        }
    }

    /// Returns the smallest range of elements that covers all tapped series of a probe; empty if no series is tapped.
    pub fn span(&self, probe: ProbeId) -> Range<usize> {
        let elements = || self.series.iter().filter(|(key, _)| key.probe == probe).flat_map(|(_, s)| s.elements.iter());
        elements().min().zip(elements().max()).map_or(0..0, |(a, b)| *a as usize..*b as usize + 1)
    }

    /// Appends a row to each tapped series of a probe; `values` start at element `first`, the start of the
    /// [`span`](Self::span).
    pub fn push_elements(&mut self, probe: ProbeId, step: u64, first: usize, values: &[f32]) {
        for (_, series) in self.series.iter_mut().filter(|(key, _)| key.probe == probe) {
            series.lanes = series.elements.len() as u32;
            series.steps.push(step);
            let value =
                |element: &u32| values.get((*element as usize).wrapping_sub(first)).copied().unwrap_or(f32::NAN);
            series.values.extend(series.elements.iter().map(value));
        }
    }

    /// Appends the counts of `values` to a histogram. NaN is not counted.
    pub fn count(&mut self, key: &TapKey, step: u64, values: &[f32]) {
        let Some((_, histogram)) = self.histograms.iter_mut().find(|(known, _)| known == key) else { return };
        let (mut counts, limit) = ([0.0; N_BINS], (self.probes.limit)(key.probe));
        for x in values.iter().filter(|x| !x.is_nan()) {
            counts[bin(limit, *x)] += 1.0;
        }
        histogram.steps.push(step);
        histogram.counts.extend(counts);
    }

    /// Appends a sampled text if texts are tapped.
    pub fn text(&mut self, sample: TextSample) {
        if self.shows_texts() {
            self.texts.push(sample);
        }
    }

    /// Clears the histories and cached readings. The taps stay.
    pub fn restart(&mut self) {
        for (_, series) in &mut self.series {
            (series.steps, series.values) = (vec![], vec![]);
        }
        for (_, histogram) in &mut self.histograms {
            (histogram.steps, histogram.counts) = (vec![], vec![]);
        }
        self.texts.clear();
        self.known.clear();
    }

    /// Takes the history of a tap; `None` if the probe has no history or is not tapped. `lanes` is the row length of a
    /// series without rows.
    pub fn take(&mut self, tap: &Tap, lanes: usize) -> Option<Reading> {
        Some(match self.probes.specs[usize::from(tap.probe)].shape {
            Shape::Series { .. } => {
                let (_, series) = self.series.iter_mut().find(|(key, _)| tap.has_key(key))?;
                let lanes = if series.elements.is_empty() { lanes } else { series.elements.len() };
                let next = Series { elements: series.elements.clone(), ..Series::default() };
                Reading::Series(Series { lanes: lanes as u32, ..mem::replace(series, next) })
            }
            Shape::Histogram { .. } => {
                let (_, histogram) = self.histograms.iter_mut().find(|(key, _)| tap.has_key(key))?;
                let next = Histogram { edges: histogram.edges.clone(), ..Histogram::default() };
                Reading::Histogram(mem::replace(histogram, next))
            }
            Shape::Samples => Reading::Samples(mem::take(&mut self.texts)),
            _ => return None,
        })
    }

    /// Returns the cached reading of a tap; `None` if no cached reading can be shown. A reading of an earlier step can be
    /// shown only if the frame may lag, and the reading is at most `within` steps old or too costly to repeat now.
    pub fn known(&self, tap: &Tap, frame: &Frame, within: u32) -> Option<Reading> {
        let known = self.known.iter().find(|known| tap.has_key(&known.key))?;
        let (now, step) = (frame.clock.step, known.step);
        let is_early = || known.cost.is_early(self.known.iter().map(|known| known.cost));
        let is_recent = !known.is_outdated && (now == step || frame.may_lag && now < step + u64::from(within));
        (now >= step && (is_recent || frame.may_lag && is_early())).then(|| known.reading.clone())
    }

    /// Caches a reading for the next frames.
    pub fn keep(&mut self, tap: &Tap, step: u64, reading: &Reading, cost: ReadingCost) {
        self.known.retain(|known| !tap.has_key(&known.key));
        self.known.push(Known { key: tap.key(), step, reading: reading.clone(), cost, is_outdated: false });
    }

    /// Marks the cached readings of the replaced text as outdated.
    pub fn forget_text(&mut self) {
        let of_text = self.probes.of_text;
        self.known
            .iter_mut()
            .filter(|known| of_text.contains(&known.key.probe))
            .for_each(|known| known.is_outdated = true);
    }
}

/// Checks that each tap names an existing probe.
///
/// # Errors
/// Fails with the id of a probe that does not exist.
pub fn check(taps: &[Tap], specs: &[ProbeSpec]) -> Result<(), SimError> {
    match taps.iter().find(|tap| usize::from(tap.probe) >= specs.len()) {
        Some(tap) => Err(SimError::Input(format!("there is no probe {}", tap.probe))),
        None => Ok(()),
    }
}

/// Returns the edges of [`N_BINS`] bins of equal width. The first and last bin also count values beyond the limit.
fn edges(limit: f32) -> Arc<Vec<f32>> {
    let edge = |i: usize| limit * (2.0 * i as f32 / N_BINS as f32 - 1.0);
    Arc::new((0..=N_BINS).map(edge).collect())
}

fn bin(limit: f32, x: f32) -> usize {
    let at = (x / limit + 1.0) * (N_BINS / 2) as f32;
    (at.max(0.0) as usize).min(N_BINS - 1)
}

/// Creates a square attention map with the tokens as labels of both axes.
pub fn map(labels: Vec<String>, values: Vec<f32>) -> Matrix {
    let axis = Axis::named(labels);
    Matrix { rows: axis.clone(), columns: axis, values: Arc::new(values) }
}
