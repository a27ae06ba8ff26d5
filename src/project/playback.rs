//! Reads a run folder from start to end in slices of time, as the frames of its simulation. Memory is bounded by one
//! slice.

use super::{RunFolder, Stream, run::at};
use crate::sim::{Clock, Frame, LifeEvent, ProbeId, ProbeSpec, Reading, Series, Spike};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom},
};

/// Bytes in a slice, about.
const SLICE: u64 = 512 << 10;
/// Least number of slices, so that a small run is shown progressively.
const MIN_SLICES: u64 = 16;
/// A buffer per stream.
const BUFFER: usize = 256 << 10;
/// Least simulated time between two fields that are read, seconds; fields in between are skipped.
const FIELD_EVERY_SECS: f64 = 0.05;

/// One stream being read.
struct Source {
    probe: ProbeId,
    stream: Stream,
    file: BufReader<File>,
    /// The step of the next record, when it is known, and of a spike its lane.
    next: Option<(u64, u32)>,
    /// Fields: step of the last one that was read.
    last: Option<u64>,
    /// Lineages: the line after the last slice.
    waiting: Option<LifeEvent>,
}

/// Reads a run folder in slices.
pub struct PlaybackReader {
    sources: Vec<Source>,
    secs_per_step: f64,
    first: u64,
    step: u64,
    end: u64,
    steps_per_slice: u64,
}

impl PlaybackReader {
    /// Opens the streams of a run that are among these probes.
    pub fn open(run: &RunFolder, probes: &[ProbeSpec]) -> io::Result<Self> {
        let manifest = &run.manifest;
        let (mut sources, mut n_bytes) = (vec![], 0);
        for stream in &manifest.streams {
            let Some(probe) = probes.iter().position(|p| p.name == stream.probe) else { continue };
            let has_rows = matches!(stream.shape.as_str(), "spikes" | "series" | "field") && stream.width > 0;
            if !has_rows && stream.shape != "lineage" {
                continue;
            }
            let path = run.path.join(&stream.file);
            let file = match File::open(&path) {
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                other => other.map_err(|e| at(&path, &e))?,
            };
            n_bytes += file.metadata().map_err(|e| at(&path, &e))?.len();
            let file = BufReader::with_capacity(BUFFER, file);
            let probe = probe as ProbeId;
            sources.push(Source { probe, stream: stream.clone(), file, next: None, last: None, waiting: None });
        }
        let steps = manifest.last_step.saturating_sub(manifest.first_step).max(1);
        let slices = (n_bytes / SLICE).max(MIN_SLICES);
        Ok(Self {
            sources,
            secs_per_step: manifest.secs_per_step,
            first: manifest.first_step,
            step: manifest.first_step,
            end: manifest.last_step,
            steps_per_slice: steps.div_ceil(slices).max(1),
        })
    }

    /// How much has been read, 0 to 1.
    pub fn fraction(&self) -> f32 {
        (self.step - self.first) as f32 / (self.end - self.first).max(1) as f32
    }

    /// The next slice; `None` after the last.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        if self.step >= self.end {
            return Ok(None);
        }
        self.step = (self.step + self.steps_per_slice).min(self.end);
        // The records of the last step are part of the last slice.
        let until = if self.step == self.end { u64::MAX } else { self.step };
        let every = (FIELD_EVERY_SECS / self.secs_per_step.max(f64::MIN_POSITIVE)) as u64;
        let mut frame =
            Frame { clock: Clock { step: self.step, secs_per_step: self.secs_per_step }, ..Frame::default() };
        for source in &mut self.sources {
            if let Some(reading) = source.read(until, self.first, every)? {
                frame.readings.push((source.probe, reading));
            }
        }
        Ok(Some(frame))
    }
}

impl Source {
    fn read(&mut self, until: u64, first: u64, every: u64) -> io::Result<Option<Reading>> {
        match self.stream.shape.as_str() {
            "spikes" => self.spikes(until, first).map(Some),
            "series" => self.series(until).map(Some),
            "lineage" => self.lineage(until).map(Some),
            _ => self.field(until, every),
        }
    }

    fn spikes(&mut self, until: u64, first: u64) -> io::Result<Reading> {
        let mut spikes = vec![];
        loop {
            let Some((step, lane)) = self.next.take() else {
                let mut record = [0; 8];
                if !self.fill(&mut record)? {
                    return Ok(Reading::Spikes(spikes));
                }
                // Steps are written modulo 2³².
                let low = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
                let step = first + u64::from(low.wrapping_sub(first as u32));
                self.next = Some((step, u32::from_le_bytes([record[4], record[5], record[6], record[7]])));
                continue;
            };
            if step >= until {
                self.next = Some((step, lane));
                return Ok(Reading::Spikes(spikes));
            }
            spikes.push(Spike { step: step as u32, lane });
        }
    }

    fn series(&mut self, until: u64) -> io::Result<Reading> {
        let lanes = self.stream.width;
        let mut series = Series { elements: self.stream.elements.clone(), lanes, ..Series::default() };
        while let Some(step) = self.peek()?.filter(|step| *step < until) {
            let Some(values) = self.values()? else { break };
            series.steps.push(step);
            series.values.extend(values);
        }
        Ok(Reading::Series(series))
    }

    fn lineage(&mut self, until: u64) -> io::Result<Reading> {
        let mut events = vec![];
        while let Some(event) = self.waiting.take().map_or_else(|| self.line(), |event| Ok(Some(event)))? {
            if event.step() >= until {
                self.waiting = Some(event);
                break;
            }
            events.push(event);
        }
        Ok(Reading::Lineage(events))
    }

    /// The next line; `None` at the end, or at an incomplete last line of a killed run.
    fn line(&mut self) -> io::Result<Option<LifeEvent>> {
        let mut line = String::new();
        self.file.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Ok(None);
        }
        let wrong = |e| io::Error::new(ErrorKind::InvalidData, format!("{}: {e}", self.stream.file));
        serde_json::from_str(&line).map(Some).map_err(wrong)
    }

    /// The newest state of the slice that is far enough from the one before it.
    fn field(&mut self, until: u64, every: u64) -> io::Result<Option<Reading>> {
        let mut newest = None;
        while let Some(step) = self.peek()?.filter(|step| *step < until) {
            if self.last.is_some_and(|last| step < last + every) {
                self.next = None;
                self.file.seek_relative(i64::from(self.stream.width) * 4)?;
                continue;
            }
            let Some(values) = self.values()? else { break };
            self.last = Some(step);
            newest = Some(Reading::Field(values));
        }
        Ok(newest)
    }

    /// The step of the next row.
    fn peek(&mut self) -> io::Result<Option<u64>> {
        if self.next.is_none() {
            let mut step = [0; 8];
            self.next = if self.fill(&mut step)? { Some((u64::from_le_bytes(step), 0)) } else { None };
        }
        Ok(self.next.map(|(step, _)| step))
    }

    /// The values of the row whose step was peeked at; `None` for an incomplete last row of a killed run.
    fn values(&mut self) -> io::Result<Option<Vec<f32>>> {
        self.next = None;
        let mut bytes = vec![0; self.stream.width as usize * 4];
        let is_whole = self.fill(&mut bytes)?;
        Ok(is_whole.then(|| bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()))
    }

    /// Fills a buffer; `false` at the end of the file or at an incomplete record.
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        match self.file.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                self.file.seek(SeekFrom::End(0))?;
                Ok(false)
            }
            Err(e) => Err(io::Error::new(e.kind(), format!("{}: {e}", self.stream.file))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{project::Manifest, sim::Shape};

    const PROBES: &[ProbeSpec] = &[
        ProbeSpec { name: "rate", title: "", docs: "", unit: "Hz", shape: Shape::Series { of: "" } },
        ProbeSpec { name: "spikes", title: "", docs: "", unit: "", shape: Shape::Spikes { over: "cells" } },
        ProbeSpec { name: "lineage", title: "", docs: "", unit: "", shape: Shape::Lineage { over: "cells" } },
    ];

    /// Spikes of steps 100..1100, three each; a rate every ten steps; the last rate torn.
    fn folder() -> RunFolder {
        let path = std::env::temp_dir().join(format!("neuropil-slices-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
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
        let manifest =
            Manifest { secs_per_step: 1e-3, first_step: 100, last_step: 1100, streams, ..Manifest::default() };
        RunFolder { path, manifest, notes: vec![] }
    }

    #[test]
    fn slices_hold_everything_once_and_in_order() {
        let run = folder();
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
        std::fs::remove_dir_all(run.path).unwrap();
    }
}
