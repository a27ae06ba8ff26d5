//! Samples of tapped probes; histories are kept until they are read.

use super::probes::{self, PROBES};
use crate::sim::{Axis, Frame, Histogram, Matrix, ProbeId, Reading, Series, Shape, SimError, Tap, TapKey, TextSample};
use std::{mem, sync::Arc};

/// Bins of a histogram.
pub const N_BINS: usize = 64;

/// Probes that show the newest sampled text.
const OF_TEXT: &[ProbeId] = &[probes::SAMPLES, probes::TOKENS, probes::ATTENTION, probes::ACTIVATIONS];
/// Probes that need norms of parameters.
const OF_NORMS: &[ProbeId] = &[
    probes::WEIGHT_NORMS,
    probes::GRADIENT_NORMS,
    probes::UPDATE_RATIOS,
    probes::LAYER_UPDATE,
    probes::TENSOR_RMS,
    probes::TENSOR_GRADIENT,
    probes::TENSOR_UPDATE,
];

/// Samples of tapped probes.
#[derive(Default)]
pub struct Sampler {
    taps: Vec<Tap>,
    series: Vec<(TapKey, Series)>,
    histograms: Vec<(TapKey, Histogram)>,
    texts: Vec<TextSample>,
    /// Readings that a window may see again, with their steps.
    known: Vec<(TapKey, u64, Reading)>,
}

impl Sampler {
    /// Sets the tapped probes; histories of those that stay continue.
    pub fn tap(&mut self, taps: &[Tap]) {
        self.taps = taps.to_vec();
        let (mut series, mut histograms) = (mem::take(&mut self.series), mem::take(&mut self.histograms));
        for tap in taps {
            match PROBES[usize::from(tap.probe)].shape {
                Shape::Series { .. } => {
                    let old = series.iter_mut().find(|(key, _)| tap.has_key(key));
                    self.series.push((tap.key(), old.map(|(_, s)| mem::take(s)).unwrap_or_default()));
                }
                Shape::Histogram { .. } => {
                    let old = histograms.iter_mut().find(|(key, _)| tap.has_key(key));
                    let new = || Histogram { edges: edges(tap.probe), ..Histogram::default() };
                    self.histograms.push((tap.key(), old.map_or_else(new, |(_, h)| mem::take(h))));
                }
                _ => {}
            }
        }
        if !self.is_tapped(probes::SAMPLES) {
            self.texts.clear();
        }
        self.known.retain(|(key, ..)| taps.iter().any(|tap| tap.has_key(key)));
    }

    /// Checks taps.
    pub fn check(taps: &[Tap]) -> Result<(), SimError> {
        match taps.iter().find(|tap| usize::from(tap.probe) >= PROBES.len()) {
            Some(tap) => Err(SimError::Input(format!("there is no probe {}", tap.probe))),
            None => Ok(()),
        }
    }

    /// The tapped probes.
    pub fn taps(&self) -> Vec<Tap> {
        self.taps.clone()
    }

    /// Whether a probe is tapped.
    pub fn is_tapped(&self, probe: ProbeId) -> bool {
        self.taps.iter().any(|tap| tap.probe == probe)
    }

    /// Whether a sampled text is looked at.
    pub fn wants_text(&self) -> bool {
        OF_TEXT.iter().any(|probe| self.is_tapped(*probe))
    }

    /// Whether norms are looked at.
    pub fn wants_norms(&self) -> bool {
        OF_NORMS.iter().any(|probe| self.is_tapped(*probe))
    }

    /// The tapped histograms.
    pub fn histogram_keys(&self) -> Vec<TapKey> {
        self.histograms.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Adds a row to a series, if it is tapped.
    pub fn push(&mut self, probe: ProbeId, step: u64, values: &[f32]) {
        if let Some((_, series)) = self.series.iter_mut().find(|(key, _)| key.probe == probe) {
            series.lanes = values.len() as u32;
            series.steps.push(step);
            series.values.extend_from_slice(values);
        }
    }

    /// Adds counts of values to a histogram.
    pub fn count(&mut self, key: &TapKey, step: u64, values: &[f32]) {
        let Some((_, histogram)) = self.histograms.iter_mut().find(|(known, _)| known == key) else { return };
        let mut counts = [0.0; N_BINS];
        for x in values.iter().filter(|x| !x.is_nan()) {
            counts[bin(key.probe, *x)] += 1.0;
        }
        histogram.steps.push(step);
        histogram.counts.extend(counts);
    }

    /// Adds a sampled text.
    pub fn text(&mut self, sample: TextSample) {
        if self.is_tapped(probes::SAMPLES) {
            self.texts.push(sample);
        }
    }

    /// Forgets histories; taps stay.
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

    /// Takes the history of a tap; `lanes`: of a series without rows.
    pub fn take(&mut self, tap: &Tap, lanes: usize) -> Option<Reading> {
        Some(match PROBES[usize::from(tap.probe)].shape {
            Shape::Series { .. } => {
                let (_, series) = self.series.iter_mut().find(|(key, _)| tap.has_key(key))?;
                Reading::Series(Series { lanes: lanes as u32, ..mem::take(series) })
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

    /// A reading of the last steps, where the frame may lag.
    pub fn known(&self, tap: &Tap, frame: &Frame, within: u32) -> Option<Reading> {
        let (_, step, reading) = self.known.iter().find(|(key, ..)| tap.has_key(key))?;
        let is_new = frame.clock.step == *step || frame.may_lag && frame.clock.step < step + u64::from(within);
        (is_new && frame.clock.step >= *step).then(|| reading.clone())
    }

    /// Keeps a reading for the next frames.
    pub fn keep(&mut self, tap: &Tap, step: u64, reading: &Reading) {
        self.known.retain(|(key, ..)| !tap.has_key(key));
        self.known.push((tap.key(), step, reading.clone()));
    }

    /// Forgets readings of a text that was replaced.
    pub fn forget_text(&mut self) {
        self.known.retain(|(key, ..)| !OF_TEXT.contains(&key.probe));
    }
}

/// Largest magnitude of a histogram.
fn limit(probe: ProbeId) -> f32 {
    if probe == probes::WEIGHTS { 0.5 } else { 8.0 }
}

/// Bins of equal width, those at the ends with everything beyond.
fn edges(probe: ProbeId) -> Arc<Vec<f32>> {
    let edge = |i: usize| limit(probe) * (2.0 * i as f32 / N_BINS as f32 - 1.0);
    Arc::new((0..=N_BINS).map(edge).collect())
}

fn bin(probe: ProbeId, x: f32) -> usize {
    let at = (x / limit(probe) + 1.0) * (N_BINS / 2) as f32;
    (at.max(0.0) as usize).min(N_BINS - 1)
}

/// An attention map with the tokens as labels.
pub fn map(labels: Vec<String>, values: Vec<f32>) -> Matrix {
    let axis = Axis::named(labels);
    Matrix { rows: axis.clone(), columns: axis, values: Arc::new(values) }
}
