//! Samples of tapped probes, stored until they are read.

use super::{
    cpu::{State, name},
    params::Params,
    probes::{self, PROBES},
    source::{self, N_SYMBOLS},
};
use crate::sim::{
    Axis, Histogram, LifeEvent, Link, Matrix, ProbeId, Reading, Series, Shape, SimError, Spike, Tap, TapArgs, TapKey,
    TextSample, Tokens,
};
use std::{fmt::Write as _, mem, sync::Arc};

/// Number of histogram bins, for weights from -8 to 8.
pub const N_BINS: usize = 32;
/// Width of a histogram bin.
pub const BIN: f32 = 0.5;

/// Samples of tapped probes.
#[derive(Default)]
pub struct Sampler {
    taps: Vec<Tap>,
    series: Vec<(TapKey, Series)>,
    histograms: Vec<(TapKey, Histogram)>,
    edges: Arc<Vec<f32>>,
    routes: Vec<Spike>,
    lives: Vec<LifeEvent>,
    texts: Vec<TextSample>,
    log: String,
}

impl Sampler {
    /// Sets the tapped probes; histories of probes that remain tapped continue. Fails if a tap does not exist.
    pub fn tap(&mut self, taps: &[Tap], state: &State) -> Result<(), SimError> {
        probes::check(taps)?;
        let had_lineage = self.is_tapped(probes::LINEAGE);
        self.taps = taps.to_vec();
        self.edges = Arc::new((0..=N_BINS).map(|i| (i as f32 - N_BINS as f32 / 2.0) * BIN).collect());
        let (mut series, mut histograms) = (mem::take(&mut self.series), mem::take(&mut self.histograms));
        for tap in taps {
            match PROBES[usize::from(tap.probe)].shape {
                Shape::Series { .. } => {
                    let known = series.iter_mut().find(|(key, s)| tap.has_key(key) && s.elements == tap.elements);
                    let new = || Series { elements: tap.elements.clone(), ..Series::default() };
                    self.series.push((tap.key(), known.map_or_else(new, |(_, s)| mem::take(s))));
                }
                Shape::Histogram { .. } => {
                    let known = histograms.iter_mut().find(|(key, _)| tap.has_key(key));
                    let new = || Histogram { edges: self.edges.clone(), ..Histogram::default() };
                    self.histograms.push((tap.key(), known.map_or_else(new, |(_, h)| mem::take(h))));
                }
                _ => {}
            }
        }
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

    /// Starts a lineage with the births of the living experts.
    fn announce(&mut self, state: &State) {
        let birth = |i: usize| {
            let born = (state.step > 0).then_some(state.experts[i].born);
            LifeEvent::Birth(crate::sim::Birth { born, ..state.birth(i, vec![]) })
        };
        let mut living: Vec<usize> = (0..state.experts.len()).collect();
        living.sort_unstable_by_key(|i| state.experts[*i].id);
        self.lives.extend(living.into_iter().map(birth));
    }

    /// Tables that each tapped histogram counts.
    pub fn counted_tables(&self, state: &State) -> Vec<Vec<u32>> {
        let slots = |(key, _): &(TapKey, Histogram)| {
            experts_of(&key.args, state).into_iter().map(|i| state.experts[i].slot).collect()
        };
        self.histograms.iter().map(slots).collect()
    }

    /// Whether a text is generated after this step.
    pub fn writes_text(&self, params: &Params, step: u64) -> bool {
        is_due(params.measure.text_every, step) && self.is_tapped(probes::TEXT)
    }

    /// Records a step that this expert predicted. `counted`: the histograms of this step, if the device counted them.
    pub fn record(&mut self, params: &Params, state: &State, expert: usize, seed: u64, counted: Option<&[u32]>) {
        if self.is_tapped(probes::ROUTE) {
            self.routes.push(Spike { step: (state.step - 1) as u32, lane: expert as u32 });
        }
        if is_due(params.measure.every, state.step) {
            self.record_numbers(state);
            self.record_histograms(state, counted);
        }
        if self.writes_text(params, state.step) {
            let title = format!("temperature 1, loss {:.3}", state.loss);
            let text = state.generate(params.measure.text_length, seed);
            self.texts.push(TextSample { step: state.step, title, text });
        }
    }

    fn record_numbers(&mut self, state: &State) {
        for (key, series) in &mut self.series {
            let before = series.values.len();
            let load = |e: &u32| state.experts.get(*e as usize).map_or(f32::NAN, |e| e.load);
            match key.probe {
                probes::LOSS => series.values.push(state.loss),
                probes::COUNT => series.values.push(state.experts.len() as f32),
                _ => series.values.extend(series.elements.iter().map(load)),
            }
            series.lanes = (series.values.len() - before) as u32;
            series.steps.push(state.step);
        }
    }

    fn record_histograms(&mut self, state: &State, counted: Option<&[u32]>) {
        for (i, (key, histogram)) in self.histograms.iter_mut().enumerate() {
            histogram.steps.push(state.step);
            if let Some(counts) = counted {
                histogram.counts.extend(counts[i * N_BINS..][..N_BINS].iter().map(|count| *count as f32));
                continue;
            }
            let mut counts = [0.0; N_BINS];
            for w in experts_of(&key.args, state).into_iter().flat_map(|i| state.table(i)) {
                let bin = (w / BIN + N_BINS as f32 / 2.0).clamp(0.0, N_BINS as f32 - 1.0);
                counts[bin as usize] += 1.0;
            }
            histogram.counts.extend(counts);
        }
    }

    /// Records births and deaths.
    pub fn lives(&mut self, events: &[LifeEvent]) {
        if self.is_tapped(probes::LINEAGE) {
            self.lives.extend_from_slice(events);
        }
        for event in events.iter().filter(|_| self.taps.iter().any(|t| t.probe == probes::LOG)) {
            // Writing to a `String` cannot fail.
            let _ = match event {
                LifeEvent::Birth(b) => writeln!(self.log, "{} birth of {} from {:?}", b.step, b.child, b.parents),
                LifeEvent::Death(d) => writeln!(self.log, "{} end of {}: {}", d.step, d.gone, d.end.word()),
            };
        }
    }

    /// Restarts from a state; taps are kept.
    pub fn restart(&mut self, state: &State) {
        for (_, series) in &mut self.series {
            (series.steps, series.values) = (vec![], vec![]);
        }
        for (_, histogram) in &mut self.histograms {
            (histogram.steps, histogram.counts) = (vec![], vec![]);
        }
        self.routes.clear();
        self.lives.clear();
        self.texts.clear();
        self.log.clear();
        if self.is_tapped(probes::LINEAGE) {
            self.announce(state);
        }
    }

    pub fn taps(&self) -> Vec<Tap> {
        self.taps.clone()
    }

    /// Takes the reading of a tap; `None` if its expert does not exist.
    pub fn take(&mut self, tap: &Tap, state: &State) -> Option<Reading> {
        Some(match tap.probe {
            probes::LOAD => Reading::field(state.experts.iter().map(|e| e.load).collect()),
            probes::AGE => Reading::field(state.experts.iter().map(|e| (state.step - e.born) as f32).collect()),
            probes::ROUTE => Reading::Spikes(mem::take(&mut self.routes)),
            probes::PREDICTED => Reading::Matrix(predicted(&tap.args, state)?),
            probes::ROUTED => Reading::Matrix(routed(state)),
            probes::STREAM => Reading::Tokens(Arc::new(stream(state))),
            probes::OWNERS => Reading::Links(Arc::new(owners(state))),
            probes::SIMILARITY => Reading::Links(Arc::new(similarity(state))),
            axis @ probes::AXIS_1..=probes::AXIS_3 => Reading::field(projection(state, axis - probes::AXIS_1)),
            probes::LINEAGE => Reading::lineage(mem::take(&mut self.lives)),
            probes::TEXT => Reading::Samples(mem::take(&mut self.texts)),
            probes::LOG => Reading::Text(mem::take(&mut self.log)),
            probes::WEIGHTS => {
                let (_, histogram) = self.histograms.iter_mut().find(|(key, _)| tap.has_key(key))?;
                let next = Histogram { edges: self.edges.clone(), ..Histogram::default() };
                Reading::Histogram(mem::replace(histogram, next))
            }
            _ => {
                let (_, series) = self.series.iter_mut().find(|(key, _)| tap.has_key(key))?;
                let lanes = if tap.probe == probes::LOAD_OF { series.elements.len() as u32 } else { 1 };
                let next = Series { elements: series.elements.clone(), lanes, ..Series::default() };
                Reading::Series(Series { lanes, ..mem::replace(series, next) })
            }
        })
    }
}

/// Whether an event with period `every` (0: never) is due after step `step`.
pub fn is_due(every: u32, step: u64) -> bool {
    every > 0 && step.is_multiple_of(every.into())
}

/// Values of the argument `expert`: `all`, then the ids.
pub fn experts(state: &State) -> Vec<String> {
    let ids = state.experts.iter().map(|e| e.id.to_string());
    [probes::ALL.to_owned()].into_iter().chain(ids).collect()
}

/// Indices of the experts that the argument `expert` selects.
fn experts_of(args: &TapArgs, state: &State) -> Vec<usize> {
    let wanted = args.get("expert").filter(|value| value != probes::ALL);
    let is_wanted = |id: u64| wanted.as_ref().is_none_or(|w| **w == *id.to_string());
    (0..state.experts.len()).filter(|i| is_wanted(state.experts[*i].id)).collect()
}

fn symbols() -> Axis {
    Axis::named((0..N_SYMBOLS as u8).map(source::name).collect())
}

fn predicted(args: &TapArgs, state: &State) -> Option<Matrix> {
    let chosen = match experts_of(args, state)[..] {
        [] => return None,
        [only] if args.get("expert").is_some() => Some(only),
        _ => None,
    };
    let row = |symbol: u8| state.predict(chosen.unwrap_or(state.owner[usize::from(symbol)].into()), symbol);
    let values = (0..N_SYMBOLS as u8).flat_map(row).collect();
    Some(Matrix { rows: symbols(), columns: symbols(), values: Arc::new(values) })
}

fn routed(state: &State) -> Matrix {
    let mut values = vec![0.0; state.experts.len() * N_SYMBOLS];
    for seen in &state.recent {
        if let Some(expert) = state.experts.iter().position(|e| e.id == seen.expert) {
            values[expert * N_SYMBOLS + usize::from(seen.symbol)] += 1.0;
        }
    }
    let rows = Axis::named(state.experts.iter().map(|e| name(e.id)).collect());
    Matrix { rows, columns: symbols(), values: Arc::new(values) }
}

fn stream(state: &State) -> Tokens {
    let mut ids: Vec<u64> = state.recent.iter().map(|seen| seen.expert).collect();
    ids.sort_unstable();
    ids.dedup();
    let category = |id: u64| ids.binary_search(&id).unwrap_or_default() as u32;
    let text = |symbol: u8| source::text(symbol).to_string();
    let candidates = |best: &[(u8, f32); 3]| best.iter().map(|(symbol, p)| (text(*symbol), *p)).collect();
    Tokens {
        step: state.step,
        texts: state.recent.iter().map(|seen| text(seen.symbol)).collect(),
        values: state.recent.iter().map(|seen| seen.loss).collect(),
        names: ids.iter().map(|id| name(*id)).collect(),
        categories: state.recent.iter().map(|seen| category(seen.expert)).collect(),
        candidates: state.recent.iter().map(|seen| candidates(&seen.best)).collect(),
    }
}

fn owners(state: &State) -> Vec<Link> {
    let link = |(from, to): (u32, &u16)| {
        let weight = state.experts.get(usize::from(*to)).map_or(0.0, |e| e.load);
        Link { from, to: (*to).into(), weight }
    };
    (0..).zip(&state.owner).map(link).collect()
}

/// Mean of an expert's weights with signs that alternate with a different period per axis.
fn projection(state: &State, axis: u16) -> Vec<f32> {
    let sign = |i: usize| if (i >> (axis + 1)).is_multiple_of(2) { 1.0 } else { -1.0 };
    let of = |expert: usize| {
        let sum: f32 = state.table(expert).enumerate().map(|(i, w)| sign(i) * w).sum();
        sum / (N_SYMBOLS as f32).powi(2)
    };
    (0..state.experts.len()).map(of).collect()
}

/// Cosine similarity of every pair of experts.
fn similarity(state: &State) -> Vec<Link> {
    let tables: Vec<Vec<f32>> = (0..state.experts.len()).map(|i| state.table(i).collect()).collect();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths: Vec<f32> = tables.iter().map(|t| dot(t, t).sqrt()).collect();
    let mut links = vec![];
    for (from, a) in tables.iter().enumerate() {
        for (to, b) in tables.iter().enumerate().skip(from + 1) {
            let weight = dot(a, b) / (lengths[from] * lengths[to]).max(f32::MIN_POSITIVE);
            links.push(Link { from: from as u32, to: to as u32, weight });
        }
    }
    links
}
