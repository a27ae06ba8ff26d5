//! Reads a run folder in slices of time, as the frames of its simulation. Memory is bounded by one slice.

use super::{
    RunFolder, Stream,
    encode::LinksAt,
    stream_reader::{LineReader, RowReader, SpikeReader, StepLine},
};
use crate::sim::{
    Axis, Clock, Frame, Histogram, LifeEvent, Matrix, ProbeId, ProbeSpec, Reading, Series, Spike, TapArgs, TapKey,
    TextSample, TimeBase, Tokens,
};
use std::{io, sync::Arc};

/// Approximate size of a slice, bytes.
const SLICE: u64 = 512 << 10;
/// Minimum number of slices, so that a small run is shown progressively.
const MIN_SLICES: u64 = 16;
/// Minimum simulated time between two fields that are read, seconds; fields in between are skipped.
const FIELD_EVERY_SECS: f64 = 0.05;

/// Stream that is read.
struct Source {
    key: TapKey,
    /// Whether the tap's data have several segments.
    is_segment: bool,
    records: Records,
}

enum Records {
    /// Spikes, and the first spike after the last slice with its full step, which is not modulo 2³².
    Spikes(SpikeReader, Option<(u64, u32)>),
    Series(RowReader, Box<Stream>),
    /// Fields, with the step of the last field read.
    Field(RowReader, Option<u64>),
    /// Matrices, with the step of the last matrix read.
    Matrix(RowReader, Option<u64>, [Axis; 2]),
    Histogram(RowReader, Arc<Vec<f32>>),
    Lineage(Lines<LifeEvent>),
    Samples(Lines<TextSample>),
    Tokens(Lines<Tokens>),
    Links(Lines<LinksAt>),
    /// Log without steps, which is part of the first slice as a whole; `None` after it was read.
    Text(Option<String>),
}

/// Lines of a stream, with the first line after the last slice.
struct Lines<T>(LineReader<T>, Option<T>);

impl<T: StepLine> Lines<T> {
    /// Takes the lines before the step `until`. Fails if the file cannot be read.
    fn until(&mut self, until: u64) -> io::Result<Vec<T>> {
        let mut lines = vec![];
        while let Some(line) = self.1.take().map_or_else(|| self.0.next_event(), |line| Ok(Some(line)))? {
            if line.step() >= until {
                self.1 = Some(line);
                break;
            }
            lines.push(line);
        }
        Ok(lines)
    }
}

/// Reads a run folder in slices.
pub struct PlaybackReader {
    sources: Vec<Source>,
    base: TimeBase,
    first: u64,
    step: u64,
    end: u64,
    steps_per_slice: u64,
    /// Running times at the ends of blocks; empty if they were not recorded.
    run_times: Vec<(u64, f64)>,
    /// Last steps of segments, at which the schema changes. A slice never spans a border.
    borders: Vec<u64>,
}

impl PlaybackReader {
    /// Opens the streams of a run that belong to `probes`; other streams are skipped. Fails if a file cannot be opened.
    pub fn open(run: &RunFolder, probes: &[ProbeSpec]) -> io::Result<Self> {
        let manifest = &run.manifest;
        let (mut sources, mut n_bytes) = (vec![], 0);
        for stream in &manifest.streams {
            let Some(probe) = probes.iter().position(|p| p.name == stream.probe) else { continue };
            let args = TapArgs::parse(&stream.args, probes[probe].args).unwrap_or_default();
            let records = match stream.shape.as_str() {
                "spikes" => Records::Spikes(run.read_spikes(stream)?, None),
                "series" => Records::Series(run.read_rows(stream)?, Box::new(stream.clone())),
                "field" => Records::Field(run.read_rows(stream)?, None),
                "matrix" => Records::Matrix(run.read_rows(stream)?, None, axes(stream)),
                "histogram" => Records::Histogram(run.read_rows(stream)?, Arc::new(stream.edges.clone())),
                "lineage" => Records::Lineage(Lines(run.read_lines(stream)?, None)),
                "samples" => Records::Samples(Lines(run.read_lines(stream)?, None)),
                "tokens" => Records::Tokens(Lines(run.read_lines(stream)?, None)),
                "links" => Records::Links(Lines(run.read_lines(stream)?, None)),
                "text" => Records::Text(Some(run.read_text(stream)?)),
                _ => continue,
            };
            n_bytes += run.n_bytes(stream);
            let is_segment = manifest.streams.iter().filter(|s| s.is_of_tap(stream)).count() > 1;
            let key = TapKey { probe: probe as ProbeId, args, ..TapKey::default() };
            sources.push(Source { key, is_segment, records });
        }
        let steps = manifest.last_step.saturating_sub(manifest.first_step).max(1);
        let slices = (n_bytes / SLICE).max(MIN_SLICES);
        let borders = manifest.borders();
        Ok(Self {
            borders,
            sources,
            base: manifest.time_base(),
            first: manifest.first_step,
            step: manifest.first_step,
            end: manifest.last_step,
            steps_per_slice: steps.div_ceil(slices).max(1),
            // Without running times, the data of the run are still complete.
            run_times: run.run_times().unwrap_or_default(),
        })
    }

    /// Returns the fraction read so far, 0 to 1.
    pub fn fraction(&self) -> f32 {
        (self.step - self.first) as f32 / (self.end - self.first).max(1) as f32
    }

    /// Returns the running time up to the present step, linear within blocks; 0 if it was not recorded.
    fn ran_secs(&self) -> f64 {
        let after = self.run_times.partition_point(|(step, _)| *step < self.step);
        let Some((to, secs)) = self.run_times.get(after).or(self.run_times.last()).copied() else { return 0.0 };
        let Some((from, before)) = after.checked_sub(1).and_then(|i| self.run_times.get(i)).copied() else {
            return secs;
        };
        let share = self.step.saturating_sub(from) as f64 / to.saturating_sub(from).max(1) as f64;
        before + share.min(1.0) * (secs - before)
    }

    /// Reads the next slice; `None` after the last slice. Fails if a file cannot be read or a line cannot be parsed.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        if self.step >= self.end {
            return Ok(None);
        }
        let generation = self.borders.iter().filter(|step| **step < self.step).count() as u64;
        let next = self.borders.iter().map(|step| step + 1).filter(|step| *step > self.step).min();
        self.step = (self.step + self.steps_per_slice).min(next.unwrap_or(u64::MAX)).min(self.end);
        // The last slice includes the records of the last step.
        let until = if self.step == self.end { u64::MAX } else { self.step };
        let every = (FIELD_EVERY_SECS / self.base.per_step().max(f64::MIN_POSITIVE)) as u64;
        let clock = Clock { step: self.step, base: self.base };
        let mut frame = Frame { clock, generation, ran_secs: self.ran_secs(), ..Frame::default() };
        for source in &mut self.sources {
            match source.read(until, self.first, every)? {
                // Another segment of the tap contains the data of this slice.
                Some(Reading::Series(series)) if series.steps.is_empty() && source.is_segment => {}
                Some(Reading::Histogram(new)) if new.steps.is_empty() && source.is_segment => {}
                Some(reading) => frame.push(&source.key, reading),
                None => {}
            }
        }
        Ok(Some(frame))
    }
}

impl Source {
    fn read(&mut self, until: u64, first: u64, every: u64) -> io::Result<Option<Reading>> {
        match &mut self.records {
            Records::Spikes(reader, next) => spikes(reader, next, until, first).map(Some),
            Records::Series(reader, stream) => series(reader, stream, until).map(Some),
            Records::Field(reader, last) => Ok(newest_row(reader, last, until, every)?.map(Reading::field)),
            Records::Matrix(reader, last, [rows, columns]) => {
                let matrix = |values| {
                    let (rows, columns) = (rows.clone(), columns.clone());
                    Reading::Matrix(Matrix { rows, columns, values: Arc::new(values) })
                };
                Ok(newest_row(reader, last, until, every)?.map(matrix))
            }
            Records::Histogram(reader, edges) => histogram(reader, edges, until).map(Some),
            Records::Lineage(lines) => lines.until(until).map(Reading::lineage).map(Some),
            Records::Samples(lines) => lines.until(until).map(Reading::Samples).map(Some),
            Records::Tokens(lines) => Ok(lines.until(until)?.pop().map(|tokens| Reading::Tokens(Arc::new(tokens)))),
            Records::Links(lines) => Ok(lines.until(until)?.pop().map(|at| Reading::Links(Arc::new(at.links)))),
            Records::Text(text) => Ok(text.take().map(Reading::Text)),
        }
    }
}

fn spikes(reader: &mut SpikeReader, next: &mut Option<(u64, u32)>, until: u64, first: u64) -> io::Result<Reading> {
    let mut spikes = vec![];
    loop {
        let (step, lane) = match next.take() {
            Some(spike) => spike,
            None => match reader.next_spike()? {
                // Steps are stored modulo 2³².
                Some(spike) => (first + u64::from(spike.step.wrapping_sub(first as u32)), spike.lane),
                None => return Ok(Reading::Spikes(spikes)),
            },
        };
        if step >= until {
            *next = Some((step, lane));
            return Ok(Reading::Spikes(spikes));
        }
        spikes.push(Spike { step: step as u32, lane });
    }
}

fn series(reader: &mut RowReader, stream: &Stream, until: u64) -> io::Result<Reading> {
    let mut series = Series { elements: stream.elements.clone(), lanes: stream.width, ..Series::default() };
    let mut values = vec![];
    while reader.peek()?.is_some_and(|step| step < until) {
        let Some(step) = reader.next_row(&mut values)? else { break };
        series.steps.push(step);
        series.values.extend_from_slice(&values);
    }
    Ok(Reading::Series(series))
}

fn histogram(reader: &mut RowReader, edges: &Arc<Vec<f32>>, until: u64) -> io::Result<Reading> {
    let (mut all, mut counts) = (Histogram { edges: edges.clone(), ..Histogram::default() }, vec![]);
    while reader.peek()?.is_some_and(|step| step < until) {
        let Some(step) = reader.next_row(&mut counts)? else { break };
        all.steps.push(step);
        all.counts.extend_from_slice(&counts);
    }
    Ok(Reading::Histogram(all))
}

/// Returns the rows and columns of a recorded matrix.
fn axes(stream: &Stream) -> [Axis; 2] {
    let columns = stream.n_columns.max(1);
    let axis = |len, labels: &Vec<String>| Axis { len, labels: Arc::new(labels.clone()) };
    [axis(stream.width / columns, &stream.rows), axis(columns, &stream.columns)]
}

/// Reads the newest row of the slice that is at least `every` steps after the previously read row; `None` if there is no
/// such row. Fails if the file cannot be read.
fn newest_row(reader: &mut RowReader, last: &mut Option<u64>, until: u64, every: u64) -> io::Result<Option<Vec<f32>>> {
    let (mut values, mut is_new) = (vec![], false);
    while let Some(step) = reader.peek()?.filter(|step| *step < until) {
        if last.is_some_and(|last| step < last.saturating_add(every)) {
            reader.skip_row()?;
            continue;
        }
        if reader.next_row(&mut values)?.is_none() {
            break;
        }
        *last = Some(step);
        is_new = true;
    }
    Ok(is_new.then_some(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{project::Manifest, sim::Shape};
    use neuropil_test_support::temp::TempFolder;
    use std::path::Path;

    const PROBES: &[ProbeSpec] = &[
        ProbeSpec { name: "rate", title: "", docs: "", unit: "Hz", shape: Shape::Series { of: "" }, args: &[] },
        ProbeSpec { name: "spikes", title: "", docs: "", unit: "", shape: Shape::Spikes { over: "cells" }, args: &[] },
        ProbeSpec {
            name: "lineage",
            title: "",
            docs: "",
            unit: "",
            shape: Shape::Lineage { over: "cells", attributes: &[] },
            args: &[],
        },
    ];

    /// Writes three spikes per step for steps 100..1100, and a rate every ten steps whose last record is incomplete.
    fn write_run(path: &Path) -> RunFolder {
        let spikes: Vec<u8> =
            (100..1100u32).flat_map(|s| (0..3u32).flat_map(move |l| [s, l])).flat_map(u32::to_le_bytes).collect();
        std::fs::write(path.join("spikes.u32"), spikes).unwrap();
        let row = |s: u64| s.to_le_bytes().into_iter().chain((s as f32).to_le_bytes());
        let mut rates: Vec<u8> = (100..1100).step_by(10).flat_map(row).collect();
        rates.truncate(rates.len() - 2);
        std::fs::write(path.join("rate.f32"), rates).unwrap();
        let lines = (100..1100u64).map(|s| format!("{{\"step\":{s},\"child\":{s},\"parents\":[]}}\n"));
        std::fs::write(path.join("lineage.jsonl"), lines.collect::<String>() + "{\"step\":1100,\"chi").unwrap();
        let stream = |probe: &str, file: &str, shape: &str, width| Stream {
            probe: probe.into(),
            file: file.into(),
            shape: shape.into(),
            width,
            ..Stream::default()
        };
        let streams = vec![
            stream("spikes", "spikes.u32", "spikes", 2),
            stream("rate", "rate.f32", "series", 1),
            stream("gone", "x", "field", 3),
            stream("lineage", "lineage.jsonl", "lineage", 0),
        ];
        let (format, status) = (crate::project::run::FORMAT, crate::project::Status::Complete);
        let (secs_per_step, first_step, last_step) = (1e-3, 100, 1100);
        let manifest =
            Manifest { format, status, secs_per_step, first_step, last_step, streams, ..Manifest::default() };
        std::fs::write(path.join("run.ron"), crate::project::to_ron(&manifest).unwrap()).unwrap();
        RunFolder::open(path).unwrap()
    }

    #[test]
    fn slices_hold_everything_once_and_in_order() {
        let temp = TempFolder::new("slices");
        let run = write_run(&temp);
        let mut slices = PlaybackReader::open(&run, PROBES).unwrap();
        let (mut spikes, mut rates, mut born, mut n) = (vec![], vec![], vec![], 0);
        while let Some(frame) = slices.next_frame().unwrap() {
            n += 1;
            for (_, reading) in frame.readings {
                match reading {
                    Reading::Spikes(new) => {
                        assert!(new.iter().all(|s| u64::from(s.step) < frame.clock.step));
                        spikes.extend(new);
                    }
                    Reading::Series(new) => rates.extend(new.steps),
                    Reading::Lineage(new) => {
                        assert!(new.iter().all(|e| e.step() < frame.clock.step), "each in its slice");
                        born.extend(new.iter().map(LifeEvent::step));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(n >= 16 && slices.fraction() == 1.0);
        assert_eq!(spikes.len(), 3_000);
        assert!(spikes.is_sorted());
        assert_eq!(rates, (100..1090).step_by(10).collect::<Vec<_>>());
        assert_eq!(born, (100..1100).collect::<Vec<_>>());
    }
}
