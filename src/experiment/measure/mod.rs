//! Measures: values that are computed from the readings of a trial.
//!
//! Events count from the first step of the span on, before its last step. A sample holds for the time before it, so samples count
//! after the start of the span and up to its end; a span from 0 includes the sample of step 0. No result depends on the number of
//! steps per batch.

mod events;
mod samples;
mod text;
mod usual;

use crate::{
    engine::SimSchema,
    project::{
        Elements, Project,
        experiment::{Measure, Reduction},
        record,
    },
    sim::{Frame, Reading, Shape, Tap, TimeBase},
};
use events::{EventMeter, EventSpan};
use samples::{SampleMeter, SampleSpan};
use std::{path::Path, sync::Arc};
pub use text::{parse, show};
pub use usual::usual;

/// Measure with its probe, elements and span in a simulation.
#[derive(Clone, Debug)]
pub struct ResolvedMeasure {
    /// Name of the measure.
    pub name: String,
    /// Unit of the values: `Hz`, `ms`, `mV`; empty for counts and shares.
    pub unit: String,
    /// Request for the readings.
    pub tap: Tap,
    span: Span,
}

#[derive(Clone, Debug)]
enum Span {
    Events(EventSpan),
    Samples(SampleSpan),
}

/// Returns a message about a measure.
fn named(measure: &Measure, why: &str) -> String {
    format!("measure `{}`: {why}", measure.name)
}

/// Resolves the measures of an experiment for a simulation with `until` steps per trial.
///
/// # Errors
/// Fails with a sentence if there is no measure, names repeat, or a probe, a query, a span or a reduction is not possible.
pub fn resolve(
    project: &Project,
    measures: &[Measure],
    schema: &SimSchema,
    base: &Path,
    until: u64,
) -> Result<Arc<[ResolvedMeasure]>, String> {
    if measures.is_empty() {
        return Err("the experiment has no measure; add one, for example `rate = mean spikes`".to_owned());
    }
    for (i, measure) in measures.iter().enumerate() {
        if measure.name.trim().is_empty() {
            return Err("a measure has no name".to_owned());
        }
        if measures[..i].iter().any(|other| other.name == measure.name) {
            return Err(named(measure, "another measure has this name"));
        }
    }
    let one =
        |measure: &Measure| resolve_one(project, measure, schema, base, until).map_err(|why| named(measure, &why));
    measures.iter().map(one).collect()
}

fn resolve_one(
    project: &Project,
    measure: &Measure,
    schema: &SimSchema,
    base: &Path,
    until: u64,
) -> Result<ResolvedMeasure, String> {
    let name = record::probe_of(&measure.read);
    let Some(probe) = schema.probe(name) else {
        let known: Vec<&str> = schema.probes.iter().map(|p| p.name).collect();
        return Err(format!("there is no probe `{name}`; probes: {}", known.join(", ")));
    };
    let spec = &schema.probes[usize::from(probe)];
    let time = project.model.time_base();
    let (from, to) = span(measure, time, until)?;
    let elements = Elements { sets: &schema.sets, connectivity: schema.connectivity.as_ref(), base: Some(base) };
    let new = |tap: Tap, unit: &str, span: Span| ResolvedMeasure {
        name: measure.name.clone(),
        unit: unit.to_owned(),
        tap,
        span,
    };
    match spec.shape {
        Shape::Spikes { over } => {
            let set = schema.sets.iter().find(|set| set.name == over);
            let n = set.map_or(0, |set| set.len);
            let chosen = match record::element_query(&measure.read) {
                None => None,
                Some(query) => Some(project.select(&query, over, &elements)?),
            };
            if chosen.as_ref().is_some_and(Vec::is_empty) {
                return Err(format!("`{}` selects no element", measure.read));
            }
            let bin = steps(measure.bin, time);
            let span = EventSpan::new(measure.reduce, (from, to), bin, (n, chosen), time)?;
            let unit = span.unit(time);
            Ok(new(Tap::of(probe), &unit, Span::Events(span)))
        }
        Shape::Series { of } => {
            if matches!(measure.reduce, Reduction::Latency | Reduction::Active) {
                return Err(format!("{name} has samples; latency and active elements are of events such as spikes"));
            }
            let lanes = schema.lanes.get(usize::from(probe)).map_or(&[][..], Vec::as_slice);
            let (tap, lane) = if of.is_empty() {
                (tap_of(project, name, &measure.read, &elements)?, lane(lanes, &measure.read)?)
            } else {
                (tap_of(project, "", &measure.read, &elements)?, None)
            };
            if !of.is_empty() && tap.elements.is_empty() {
                return Err(format!("`{}` selects no element; write e.g. `{name}[idx = 1]`", measure.read));
            }
            let unit = if measure.reduce == Reduction::Count { "" } else { spec.unit };
            Ok(new(tap, unit, Span::Samples(SampleSpan { reduce: measure.reduce, from, to, lane })))
        }
        _ => Err(format!("{name} has neither events nor samples over time; choose spikes or a series")),
    }
}

/// Returns the tap of an entry; with `without` the name and arguments of the entry alone, because its brackets name a lane.
fn tap_of(project: &Project, without: &str, entry: &str, elements: &Elements<'_>) -> Result<Tap, String> {
    let entry = if without.is_empty() { entry } else { entry.split('[').next().unwrap_or(entry) };
    let only = Project { record: vec![entry.trim().to_owned()], ..project.clone() };
    let (taps, problems) = only.taps_in(elements);
    match (taps.into_iter().next(), problems.into_iter().next()) {
        (_, Some(problem)) => Err(problem.trim_start_matches("`record`: ").to_owned()),
        (Some(tap), None) => Ok(tap),
        (None, None) => Err(format!("`{entry}` is not a probe")),
    }
}

/// Returns the index of the lane that an entry names in brackets; `None` for all lanes. Fails if there is no such lane.
fn lane(lanes: &[String], entry: &str) -> Result<Option<usize>, String> {
    let Some(wanted) = entry.trim().strip_suffix(']').and_then(|entry| entry.split_once('[')) else { return Ok(None) };
    let wanted = wanted.1.trim();
    match lanes.iter().position(|lane| lane == wanted) {
        Some(at) => Ok(Some(at)),
        None => Err(format!("there is no lane `{wanted}`; lanes: {}", lanes.join(", "))),
    }
}

/// Converts a time in ms to the nearest number of steps; counted steps stay as they are.
fn steps(time: f64, base: TimeBase) -> u64 {
    let per_step = if base.is_count() { 1.0 } else { base.per_step() * 1e3 };
    (time / per_step).round().max(0.0) as u64
}

/// Returns the first step of the span and the step after its last. Fails for an empty span, and one beyond the trial.
fn span(measure: &Measure, base: TimeBase, until: u64) -> Result<(u64, u64), String> {
    let unit = if base.is_count() { base.plural() } else { "ms" };
    if !(measure.from >= 0.0 && measure.to >= 0.0 && measure.bin >= 0.0) {
        return Err("times are not negative".to_owned());
    }
    let (from, to) = (steps(measure.from, base), if measure.to > 0.0 { steps(measure.to, base) } else { until });
    if to > until {
        return Err(format!("its span ends at {} {unit}, after the trial", measure.to));
    }
    if from >= to {
        return Err(format!("its span from {} {unit} is empty", measure.from));
    }
    Ok((from, to))
}

/// Computes the values of one trial from its frames, in the order of the frames.
pub struct Meter {
    measures: Arc<[ResolvedMeasure]>,
    state: Vec<State>,
}

enum State {
    Events(EventMeter),
    Samples(SampleMeter),
}

impl Meter {
    /// Begins a trial.
    pub fn new(measures: &Arc<[ResolvedMeasure]>) -> Self {
        let begin = |measure: &ResolvedMeasure| match &measure.span {
            Span::Events(span) => State::Events(EventMeter::new(span)),
            Span::Samples(_) => State::Samples(SampleMeter::default()),
        };
        Self { measures: measures.clone(), state: measures.iter().map(begin).collect() }
    }

    /// Returns the taps of all measures, one per key.
    pub fn taps(measures: &[ResolvedMeasure]) -> Vec<Tap> {
        let mut taps = vec![];
        Tap::merge(&mut taps, measures.iter().map(|measure| measure.tap.clone()));
        taps
    }

    /// Adds the readings of a frame.
    pub fn add(&mut self, frame: &Frame) {
        for (measure, state) in self.measures.iter().zip(&mut self.state) {
            match (state, &measure.span, frame.reading(measure.tap.key())) {
                (State::Events(meter), Span::Events(span), Some(Reading::Spikes(events))) => meter.add(span, events),
                (State::Samples(meter), Span::Samples(span), Some(reading @ Reading::Series(series))) => {
                    if series.elements.is_empty() || series.elements == measure.tap.elements {
                        meter.add(span, series);
                    } else if let Reading::Series(own) = reading.of_elements(&measure.tap.elements) {
                        meter.add(span, &own);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the value of each measure; `None` for a trial without a value.
    pub fn values(&self) -> Vec<Option<f64>> {
        let value = |(measure, state): (&ResolvedMeasure, &State)| match (state, &measure.span) {
            (State::Events(meter), Span::Events(span)) => meter.value(span),
            (State::Samples(meter), Span::Samples(span)) => meter.value(span),
            _ => None,
        };
        self.measures.iter().zip(&self.state).map(value).map(|value| value.filter(|x| x.is_finite())).collect()
    }
}

#[cfg(test)]
mod tests;
