//! Trials of an export: their streams, times and names.

use super::format;
use crate::{
    data::io_reason,
    project::{
        Manifest, RunFolder, Stream,
        read_meter::ReadMeter,
        stream_reader::{LineReader, RowReader, SpikeReader},
    },
    sim::{AttributeValue, Birth, Death, LifeEvent, SPIKES, Spike, TimeBase},
};
use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::Path,
    sync::Arc,
};

/// Condition of a recorded trial of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialCondition {
    /// Name of the condition.
    pub name: String,
    /// Paths of varied parameters with their values.
    pub factors: Vec<(String, String)>,
}

/// Trial with its manifest and the public ids of its neurons.
pub(super) struct Trial {
    pub run: RunFolder,
    pub ids: Vec<u64>,
    /// Condition, in an experiment.
    pub condition: TrialCondition,
    /// Counts the bytes that the export reads.
    pub meter: Option<Arc<ReadMeter>>,
}

impl Trial {
    pub fn read(run: &RunFolder) -> io::Result<Self> {
        let over = spike_stream(&run.manifest).map_or("", |s| s.over.as_str());
        Ok(Self { ids: run.ids(over)?, run: run.clone(), condition: TrialCondition::default(), meter: None })
    }

    pub fn read_spikes(&self, stream: &Stream) -> io::Result<SpikeReader> {
        Ok(self.run.read_spikes(stream)?.metered(self.meter.as_ref()))
    }

    pub fn read_rows(&self, stream: &Stream) -> io::Result<RowReader> {
        Ok(self.run.read_rows(stream)?.metered(self.meter.as_ref()))
    }

    pub fn read_lines<T: serde::de::DeserializeOwned>(&self, stream: &Stream) -> io::Result<LineReader<T>> {
        Ok(self.run.read_lines(stream)?.metered(self.meter.as_ref()))
    }

    /// Returns the number of the trial; 0 for a single run.
    pub fn number(&self) -> usize {
        self.run.trial.unwrap_or_default() as usize
    }

    pub fn manifest(&self) -> &Manifest {
        &self.run.manifest
    }

    /// Returns the stream of the spikes of neurons; `None` if no neurons were recorded.
    pub fn spike_stream(&self) -> Option<&Stream> {
        spike_stream(self.manifest())
    }

    /// Returns the stream that is drawn as a raster: the first recorded stream of events, `None` without events.
    pub fn drawn_stream(&self) -> Option<&Stream> {
        self.manifest().spikes()
    }

    pub fn events(&self, stream: Option<&Stream>) -> io::Result<SpikeReader> {
        stream.map_or_else(|| Ok(SpikeReader::empty()), |stream| self.read_spikes(stream))
    }

    pub fn n_spikes(&self) -> u64 {
        self.spike_stream().map_or(0, |stream| self.run.n_records(stream))
    }

    /// Returns the time of a spike in seconds or counted steps.
    pub fn secs(&self, spike: Spike) -> f64 {
        secs(spike.step.into(), self.manifest().secs_per_step)
    }

    /// Returns the public id of a spike's neuron, or the neuron's index if it has no id.
    pub fn id(&self, spike: Spike) -> u64 {
        self.ids.get(spike.lane as usize).copied().unwrap_or(spike.lane.into())
    }

    /// Returns the number of elements that can have events. If the set is unknown, returns 1 + the largest index with an
    /// event. Fails if the stream cannot be read.
    pub fn n_lanes(&self, stream: Option<&Stream>) -> io::Result<u32> {
        match self.manifest().set(stream.map_or("", |s| s.over.as_str())) {
            Some(set) => Ok(set.len),
            None => self.events(stream)?.try_fold(0, |most, event| Ok(event?.lane.saturating_add(1).max(most))),
        }
    }

    /// Iterates over the streams of rows: series, fields, matrices and histograms.
    pub fn row_streams(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|stream| format::has_rows(stream))
    }

    /// Iterates over the streams of events other than spikes of neurons, such as births and deaths.
    pub fn event_streams(&self) -> impl Iterator<Item = &Stream> {
        let spikes = self.spike_stream().map(|stream| &stream.file);
        self.manifest().streams.iter().filter(move |s| s.shape == "spikes" && Some(&s.file) != spikes)
    }

    /// Calls `each` with every birth in a lineage and the death of the individual, if it died. Keeps all deaths in memory.
    /// Fails if the stream cannot be read or `each` fails.
    pub fn individuals(
        &self,
        stream: &Stream,
        mut each: impl FnMut(&Birth, Option<&Death>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut deaths = HashMap::<u64, Death>::new();
        for event in self.read_lines::<LifeEvent>(stream)? {
            if let LifeEvent::Death(death) = event? {
                deaths.insert(death.gone, death);
            }
        }
        for event in self.read_lines::<LifeEvent>(stream)? {
            if let LifeEvent::Birth(birth) = event? {
                each(&birth, deaths.get(&birth.child))?;
            }
        }
        Ok(())
    }

    /// Returns the names of the attributes of births and deaths in a lineage in alphabetical order, and whether each is
    /// always a number. Fails if the stream cannot be read.
    pub fn attributes(&self, stream: &Stream) -> io::Result<Vec<(String, bool)>> {
        let mut names = BTreeMap::<String, bool>::new();
        for event in self.read_lines::<LifeEvent>(stream)? {
            let attributes = match event? {
                LifeEvent::Birth(birth) => birth.attributes,
                LifeEvent::Death(death) => death.attributes,
            };
            for (name, value) in attributes {
                *names.entry(name.into_owned()).or_insert(true) &= matches!(value, AttributeValue::Number(_));
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Iterates over the streams of texts, tokens and links.
    pub fn line_streams(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|stream| format::has_lines(stream))
    }

    pub fn lineages(&self) -> impl Iterator<Item = &Stream> {
        self.manifest().streams.iter().filter(|s| s.shape == "lineage")
    }
}

/// Returns an attribute of an individual from its birth, or else from its death; `None` if both lack it.
pub(super) fn attribute<'a>(birth: &'a Birth, death: Option<&'a Death>, name: &str) -> Option<&'a AttributeValue> {
    birth.attributes.get(name).or_else(|| death?.attributes.get(name))
}

/// Returns the stream of the spikes of neurons; `None` if none were recorded.
pub(super) fn spike_stream(manifest: &Manifest) -> Option<&Stream> {
    manifest.spikes().filter(|stream| stream.probe == SPIKES)
}

/// Returns the file name of a stream without its extension: the probe with its arguments, and the number of a later
/// segment.
pub(super) fn array_name(stream: &Stream) -> &str {
    stream.file.rsplit_once('.').map_or(stream.probe.as_str(), |(stem, _)| stem)
}

/// Converts a step to seconds, or to counted steps if `secs_per_step` is 1. If a second is a whole number of steps, the result
/// has exact decimals: 0.0005, not 0.0005000000001.
pub(super) fn secs(step: u64, secs_per_step: f64) -> f64 {
    let per_second = (1.0 / secs_per_step).round();
    let is_whole = (per_second * secs_per_step - 1.0).abs() < 1e-9;
    if is_whole { step as f64 / per_second } else { step as f64 * secs_per_step }
}

/// Returns the unit of times in every format: `s`, or `generations` if the kind counts generations.
pub(super) fn time_unit(manifest: &Manifest) -> &'static str {
    match manifest.time_base() {
        TimeBase::Seconds { .. } => "s",
        TimeBase::Count { plural, .. } => plural,
    }
}

/// Returns the name of the time column: `t_s`, `t_generations`.
pub(super) fn time_column(manifest: &Manifest) -> String {
    format!("t_{}", time_unit(manifest))
}

/// Returns the names of the lanes of a stream. The first of these that exists is used: bins, cells of a matrix, declared
/// names, elements, the probe, numbers.
pub(super) fn lane_names(stream: &Stream) -> Vec<String> {
    let n = stream.width as usize;
    if stream.edges.len() == n + 1 {
        stream.edges.windows(2).map(|bin| format!("{} to {}", bin[0], bin[1])).collect()
    } else if stream.n_columns > 0 {
        let (columns, name) = (stream.n_columns as usize, |names: &[String], i: usize| names.get(i).cloned());
        let cell = |i: usize| {
            let row = name(&stream.rows, i / columns).unwrap_or_else(|| (i / columns).to_string());
            let column = name(&stream.columns, i % columns).unwrap_or_else(|| (i % columns).to_string());
            format!("{row}:{column}")
        };
        (0..n).map(cell).collect()
    } else if stream.lanes.len() == n {
        stream.lanes.clone()
    } else if stream.elements.len() == n {
        stream.elements.iter().map(ToString::to_string).collect()
    } else if n == 1 {
        vec![stream.probe.clone()]
    } else {
        (0..n).map(|i| i.to_string()).collect()
    }
}

/// Adds the file name to the message of an I/O error.
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |e| io::Error::new(e.kind(), format!("{}: {}", path.display(), io_reason(&e)))
}
