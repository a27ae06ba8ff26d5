//! Samples of tapped probes; kept until they are read.

use super::{
    Params,
    cpu::{Prediction, State},
    probes::{self, PROBES},
    source::N_SYMBOLS,
};
use crate::sim::{LifeEvent, ProbeId, Reading, Series, Shape, SimError, Spike, Tap};

/// Samples of tapped probes.
#[derive(Default)]
pub struct Sampler {
    taps: Vec<Tap>,
    series: Vec<(ProbeId, Series)>,
    routes: Vec<Spike>,
    lives: Vec<LifeEvent>,
    texts: String,
}

impl Sampler {
    /// Sets the tapped probes; histories of those that stay continue.
    pub fn tap(&mut self, taps: &[Tap], state: &State) -> Result<(), SimError> {
        probes::check(taps)?;
        let had_lineage = self.is_tapped(probes::LINEAGE);
        self.taps = taps.to_vec();
        for tap in taps {
            if !matches!(PROBES[usize::from(tap.probe)].shape, Shape::Series { .. }) {
                continue;
            }
            match self.series.iter_mut().find(|(id, _)| *id == tap.probe) {
                Some((_, series)) if series.elements == tap.elements => {}
                Some((_, series)) => *series = Series { elements: tap.elements.clone(), ..Series::default() },
                None => self.series.push((tap.probe, Series { elements: tap.elements.clone(), ..Series::default() })),
            }
        }
        self.series.retain(|(id, _)| taps.iter().any(|t| t.probe == *id));
        if !self.is_tapped(probes::LINEAGE) {
            self.lives.clear();
        } else if !had_lineage {
            self.announce(state);
        }
        Ok(())
    }

    fn is_tapped(&self, probe: ProbeId) -> bool {
        self.taps.iter().any(|t| t.probe == probe)
    }

    /// A lineage begins with the living.
    fn announce(&mut self, state: &State) {
        let birth = |i: usize| {
            let born = (state.step > 0).then_some(state.experts[i].born);
            LifeEvent::Birth(crate::sim::Birth { born, ..state.birth(i, vec![]) })
        };
        let mut living: Vec<usize> = (0..state.experts.len()).collect();
        living.sort_unstable_by_key(|i| state.experts[*i].id);
        self.lives.extend(living.into_iter().map(birth));
    }

    /// After a step.
    pub fn record(&mut self, params: &Params, state: &State, now: &Prediction, seed: u64) {
        if self.is_tapped(probes::ROUTE) {
            self.routes.push(Spike { step: (state.step - 1) as u32, lane: now.expert as u32 });
        }
        let measure = &params.measure;
        let is_due = |every: u32| every > 0 && state.step.is_multiple_of(every.into());
        if is_due(measure.every) {
            for (probe, series) in &mut self.series {
                let before = series.values.len();
                match *probe {
                    probes::LOSS => series.values.push(state.loss),
                    probes::COUNT => series.values.push(state.experts.len() as f32),
                    _ => series.values.extend(
                        series.elements.iter().map(|e| state.experts.get(*e as usize).map_or(f32::NAN, |e| e.load)),
                    ),
                }
                series.lanes = (series.values.len() - before) as u32;
                series.steps.push(state.step);
            }
        }
        if is_due(measure.text_every) && self.is_tapped(probes::TEXT) {
            let text = state.generate(measure.text_length, seed);
            self.texts.push_str(&format!("{} {text}\n", state.step));
        }
    }

    /// Births and deaths.
    pub fn lives(&mut self, events: &[LifeEvent]) {
        if self.is_tapped(probes::LINEAGE) {
            self.lives.extend_from_slice(events);
        }
    }

    /// Restarts; taps stay.
    pub fn restart(&mut self, state: &State) {
        for (_, series) in &mut self.series {
            (series.steps, series.values) = (vec![], vec![]);
        }
        self.routes.clear();
        self.lives.clear();
        self.texts.clear();
        if self.is_tapped(probes::LINEAGE) {
            self.announce(state);
        }
    }

    /// The tapped probes.
    pub fn taps(&self) -> Vec<Tap> {
        self.taps.clone()
    }

    /// Takes the reading of a tap.
    pub fn take(&mut self, tap: &Tap, state: &State) -> Option<Reading> {
        Some(match tap.probe {
            probes::LOAD => Reading::Field(state.experts.iter().map(|e| e.load).collect()),
            probes::AGE => Reading::Field(state.experts.iter().map(|e| (state.step - e.born) as f32).collect()),
            probes::ROUTE => Reading::Spikes(std::mem::take(&mut self.routes)),
            probes::PREDICTED => {
                let row = |symbol: u8| state.predict(state.owner[usize::from(symbol)].into(), symbol);
                Reading::Matrix(N_SYMBOLS as u32, (0..N_SYMBOLS as u8).flat_map(row).collect())
            }
            probes::LINEAGE => Reading::Lineage(std::mem::take(&mut self.lives)),
            probes::TEXT => Reading::Text(std::mem::take(&mut self.texts)),
            _ => {
                let (_, series) = self.series.iter_mut().find(|(id, _)| *id == tap.probe)?;
                let lanes = if tap.probe == probes::LOAD_OF { series.elements.len() as u32 } else { 1 };
                let next = Series { elements: series.elements.clone(), lanes, ..Series::default() };
                Reading::Series(Series { lanes, ..std::mem::replace(series, next) })
            }
        })
    }
}
