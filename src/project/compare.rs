//! Compares the readings of a replay with the file of one recorded stream, a block at a time.

use super::{
    RunFolder, Stream,
    encode::encode,
    manifest::record_bytes,
    replay::Compared,
    stream_reader::{LineReader, StreamFile, spike},
};
use crate::sim::{Clock, Histogram, LifeEvent, Matrix, Reading, SPIKES, Series, Spike, TapKey};
use std::io;

/// Comparison of one stream of a replayed run.
pub(super) struct Comparison {
    /// Tap of the stream in the replay.
    pub key: TapKey,
    stream: Stream,
    source: Source,
    first: u64,
    /// Range of steps to compare: after the first bound, if any, up to and including the last.
    range: (Option<u64>, u64),
    /// Number of records, lines or bytes compared.
    n: u64,
    /// Whether data missing in the file are an error.
    is_whole: bool,
    /// Largest accepted difference relative to the larger of 1 and the recorded value; 0 for equal bits.
    tolerance: f32,
    /// Whether data after the last step of the manifest are an error.
    is_exact: bool,
    bytes: Vec<u8>,
    recorded: Vec<u8>,
}

enum Source {
    /// Records of numbers. For fields and matrices, also the step of the next record.
    Records(Option<StreamFile>, Option<u64>),
    /// Lines of tokens or links, and the next line with its step.
    Lines(LineReader<serde_json::Value>, Option<(u64, String)>),
}

impl Comparison {
    pub fn new(run: &RunFolder, stream: &Stream, key: TapKey, tolerance: f32) -> io::Result<Self> {
        let source = match stream.shape.as_str() {
            "lineage" | "samples" | "tokens" | "links" => Source::Lines(run.read_lines(stream)?, None),
            _ => Source::Records(run.stream_file(stream)?, None),
        };
        let is_whole = run.is_complete() || !stream.hash.is_empty();
        Ok(Self {
            key,
            source,
            first: run.manifest.first_step,
            range: ((stream.from_step > 0).then_some(stream.from_step), run.manifest.last_step_of(stream)),
            n: 0,
            is_whole,
            tolerance,
            is_exact: is_whole || run.manifest.status == super::Status::Unclosed,
            stream: stream.clone(),
            bytes: vec![],
            recorded: vec![],
        })
    }

    /// Whether a frame at step `step` belongs to this segment of the probe's data. Lanes change after the frame of a step.
    pub fn is_at(&self, step: u64) -> bool {
        self.range.0.is_none_or(|from| step > from) && step <= self.range.1
    }

    pub fn compared(&self) -> Compared {
        let unit = match self.stream.shape.as_str() {
            "spikes" if self.stream.probe == SPIKES => "spikes",
            "spikes" | "lineage" => "events",
            "samples" => "texts",
            "text" => "bytes",
            _ => "samples",
        };
        Compared { probe: self.stream.probe.clone(), n: self.n, unit }
    }

    fn is_state(&self) -> bool {
        matches!(self.stream.shape.as_str(), "field" | "matrix" | "tokens" | "links")
    }

    /// Returns the step after which this segment begins; `None` if that is not later than `step`. A frame never spans a
    /// border.
    pub fn next_border(&self, step: u64) -> Option<u64> {
        self.range.0.filter(|from| *from > step)
    }

    /// Returns the step of the next recorded state, at which the replay is compared; `None` if the stream has no states or
    /// no more states at or after `step`. Fails if the file cannot be read.
    pub fn next_state(&mut self, step: u64) -> io::Result<Option<u64>> {
        if !self.is_state() {
            return Ok(None);
        }
        let next = match &mut self.source {
            Source::Records(Some(file), next) => {
                let n = record_bytes(&self.stream).unwrap_or(u64::MAX);
                if next.is_none() && file.left() >= n {
                    let mut head = [0; 8];
                    *next = file.fill(&mut head)?.then(|| u64::from_le_bytes(head));
                }
                *next
            }
            Source::Records(None, _) => None,
            Source::Lines(reader, next) => {
                if next.is_none()
                    && let Some(line) = reader.next_line()?.map(str::to_owned)
                {
                    let value: serde_json::Value = serde_json::from_str(&line)?;
                    *next = value.get("step").and_then(serde_json::Value::as_u64).map(|at| (at, line));
                }
                next.as_ref().map(|(at, _)| *at)
            }
        };
        Ok(next.filter(|next| *next >= step))
    }

    /// Compares one reading with the file. Returns the first difference as text; `None` if there is none. Fails if the file
    /// cannot be read.
    pub fn compare(&mut self, reading: &Reading, clock: Clock) -> io::Result<Option<String>> {
        match (reading, &mut self.source) {
            (Reading::Lineage(events), Source::Lines(..)) => {
                let (first, is_older) = (self.first, !self.stream.has_run_ids);
                let fit = |recorded: &LifeEvent, mut replayed: LifeEvent| {
                    if is_older {
                        // Only attributes that the recording contains are compared.
                        let known = recorded.attributes();
                        replayed.attributes_mut().retain(|name| known.contains_key(name));
                    }
                    replayed
                };
                self.compare_lines(events.iter().filter(|e| e.step() >= first), fit)
            }
            (Reading::Samples(samples), Source::Lines(..)) => {
                let first = self.first;
                self.compare_lines(samples.iter().filter(|s| s.step >= first), |_, replayed| replayed)
            }
            (Reading::Tokens(_) | Reading::Links(_), Source::Lines(_, next)) => {
                let Some((_, recorded)) = next.take_if(|(at, _)| *at == clock.step) else { return Ok(None) };
                self.encode(reading, clock)?;
                let replayed = String::from_utf8_lossy(&self.bytes).trim_end().to_owned();
                if recorded != replayed {
                    return Ok(Some(self.differs(format!("recorded was {recorded}, replayed {replayed}"))));
                }
                self.n += 1;
                Ok(None)
            }
            (Reading::Histogram(histogram), Source::Records(..)) => {
                if *histogram.edges != self.stream.edges {
                    let other = !histogram.steps.is_empty();
                    return Ok(other.then(|| self.differs("the replay has other bins".into())));
                }
                let (from, n_bins) = (histogram.steps.partition_point(|s| *s < self.first), histogram.n_bins());
                let rest = Histogram {
                    steps: histogram.steps[from..].to_vec(),
                    counts: histogram.counts[from * n_bins..].to_vec(),
                    ..histogram.clone()
                };
                self.encode(&Reading::Histogram(rest), clock)?;
                self.compare_bytes(8 + 4 * n_bins, None)
            }
            (Reading::Field(values) | Reading::Matrix(Matrix { values, .. }), Source::Records(_, next)) => {
                if *next != Some(clock.step) {
                    return Ok(None);
                }
                *next = None;
                if values.len() != self.stream.width as usize {
                    let (n, width) = (values.len(), self.stream.width);
                    return Ok(Some(self.differs(format!("recorded were {width} values, replayed {n}"))));
                }
                self.bytes.clear();
                self.bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
                self.compare_bytes(4 * values.len(), Some(clock.step))
            }
            (Reading::Spikes(spikes), Source::Records(..)) => {
                let from = spikes.partition_point(|s| u64::from(s.step) < self.first);
                self.encode(&Reading::Spikes(spikes[from..].to_vec()), clock)?;
                self.compare_bytes(8, None)
            }
            (Reading::Series(series), Source::Records(..)) => {
                if series.lanes != self.stream.width && !series.steps.is_empty() {
                    let (n, width) = (series.lanes, self.stream.width);
                    return Ok(Some(self.differs(format!("recorded were {width} values, replayed {n}"))));
                }
                let from = series.steps.partition_point(|s| *s < self.first);
                let rest = Series {
                    steps: series.steps[from..].to_vec(),
                    values: series.values[from * series.lanes as usize..].to_vec(),
                    ..series.clone()
                };
                self.encode(&Reading::Series(rest), clock)?;
                self.compare_bytes(8 + 4 * self.stream.width as usize, None)
            }
            (Reading::Text(_), Source::Records(..)) => {
                self.encode(reading, clock)?;
                self.compare_bytes(1, None)
            }
            _ => Ok(Some(self.differs("the probe gives another kind of data".into()))),
        }
    }

    fn encode(&mut self, reading: &Reading, clock: Clock) -> io::Result<()> {
        self.bytes.clear();
        encode(reading, clock, &self.stream, &mut self.bytes)
    }

    /// Compares `bytes` with the next bytes of the file in records of `size` bytes. Returns the first difference as text;
    /// `None` if there is none. `state` is the step of a field or matrix. Fails if the file cannot be read.
    fn compare_bytes(&mut self, size: usize, state: Option<u64>) -> io::Result<Option<String>> {
        let size = size.max(1);
        let Source::Records(file, _) = &mut self.source else { return Ok(None) };
        let left = file.as_ref().map_or(0, StreamFile::left);
        let n = (left as usize / size * size).min(self.bytes.len());
        self.recorded.resize(n, 0);
        if let Some(file) = file
            && !file.fill(&mut self.recorded)?
        {
            return Ok(Some(self.differs("the file became shorter while it was read".into())));
        }
        if let Some(at) =
            first_difference(&self.recorded, &self.bytes[..n], size, self.values_at(state), self.tolerance)
        {
            let range = at * size..(at + 1) * size;
            let what = describe(&self.stream, &self.recorded[range.clone()], &self.bytes[range], state);
            self.n += at as u64;
            return Ok(Some(self.differs(what)));
        }
        self.n += (n / size) as u64;
        if n < self.bytes.len() && self.is_whole {
            return Ok(Some(self.differs(format!("{} ends, the replay has more", self.stream.file))));
        }
        Ok(None)
    }

    /// Returns the offset of the values in a record, bytes; `None` if records are not rows of values.
    fn values_at(&self, state: Option<u64>) -> Option<usize> {
        let is_row = matches!(self.stream.shape.as_str(), "series" | "field" | "matrix");
        is_row.then_some(if state.is_some() { 0 } else { 8 })
    }

    /// Compares lines with the next lines of the file. `fit(recorded, replayed)` removes what the recorded line cannot
    /// contain. Fails if the file cannot be read.
    fn compare_lines<'a, T: Clone + serde::Serialize + serde::de::DeserializeOwned + 'a>(
        &mut self,
        lines: impl Iterator<Item = &'a T>,
        fit: impl Fn(&T, T) -> T,
    ) -> io::Result<Option<String>> {
        for line in lines {
            let Source::Lines(reader, _) = &mut self.source else { return Ok(None) };
            let Some(recorded) = reader.next_line()?.map(serde_json::from_str::<T>).transpose()? else {
                let end = format!("{} ends, the replay has more", self.stream.file);
                return Ok(self.is_whole.then(|| self.differs(end)));
            };
            // Lines are compared as text, so that NaN equals NaN.
            let line = fit(&recorded, line.clone());
            let [recorded, replayed] = [&recorded, &line].map(|e| serde_json::to_string(e).unwrap_or_default());
            if recorded != replayed {
                return Ok(Some(self.differs(format!("recorded was {recorded}, replayed {replayed}"))));
            }
            self.n += 1;
        }
        Ok(None)
    }

    /// Returns a description of the data in the file after the end of the replay; `None` if there are no such data or they
    /// are allowed. Fails if the file cannot be read.
    pub fn rest(&mut self) -> io::Result<Option<String>> {
        let size = record_bytes(&self.stream).unwrap_or(1);
        let more = match &mut self.source {
            Source::Lines(_, Some(_)) => true,
            Source::Lines(reader, None) => reader.next_line()?.is_some(),
            Source::Records(Some(_), Some(_)) => true,
            Source::Records(Some(file), None) => file.left() >= size,
            Source::Records(None, _) => {
                return Ok(self.is_whole.then(|| format!("{} is missing", self.stream.file)));
            }
        };
        Ok((more && self.is_exact).then(|| self.differs(format!("{} has more than the replay", self.stream.file))))
    }

    /// Returns a message about a difference at the current record.
    fn differs(&self, what: String) -> String {
        let unit = match self.stream.shape.as_str() {
            "spikes" | "lineage" => "event",
            "text" => "byte",
            _ => "sample",
        };
        format!("{}: {unit} {}: {what}", self.stream.probe, self.n)
    }
}

/// Returns the index of the first record of `size` bytes that differs in any bit, or in a value by more than the tolerance;
/// `None` if no record differs.
fn first_difference(a: &[u8], b: &[u8], size: usize, values_at: Option<usize>, tolerance: f32) -> Option<usize> {
    if a == b {
        return None;
    }
    let Some(head) = values_at.filter(|_| tolerance > 0.0) else {
        return Some(a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0) / size);
    };
    let value = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let is_close = |(a, b): (&[u8], &[u8])| {
        let (x, y) = (value(a), value(b));
        a == b || (x - y).abs() <= tolerance * x.abs().max(1.0) || x.is_nan() && y.is_nan()
    };
    let is_equal = |(a, b): (&[u8], &[u8])| {
        a[..head] == b[..head] && a[head..].chunks_exact(4).zip(b[head..].chunks_exact(4)).all(is_close)
    };
    a.chunks_exact(size).zip(b.chunks_exact(size)).position(|rows| !is_equal(rows))
}

/// Describes two records that differ. `state` is the step of a field or matrix.
fn describe(stream: &Stream, recorded: &[u8], replayed: &[u8], state: Option<u64>) -> String {
    let values = |bytes: &[u8]| -> Vec<f32> {
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let row = |bytes: &[u8]| match state {
        Some(step) => (step, values(bytes)),
        None => (bytes[..8].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)), values(&bytes[8..])),
    };
    let event = |bytes: &[u8]| bytes.try_into().map_or(Spike { step: 0, lane: 0 }, |record: &[u8; 8]| spike(record));
    match stream.shape.as_str() {
        "spikes" => {
            let (a, b) = (event(recorded), event(replayed));
            format!("recorded was {} at step {}, replayed {} at step {}", a.lane, a.step, b.lane, b.step)
        }
        "text" => format!("recorded was {:?}, replayed {:?}", char::from(recorded[0]), char::from(replayed[0])),
        _ => {
            let ((a_step, a), (b_step, b)) = (row(recorded), row(replayed));
            if a_step != b_step {
                return format!("recorded was step {a_step}, replayed step {b_step}");
            }
            let at = a.iter().zip(&b).position(|(a, b)| a.to_bits() != b.to_bits()).unwrap_or(0);
            format!("value {at} at step {a_step}: recorded was {}, replayed {}", a[at], b[at])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_agree_within_a_tolerance_and_steps_exactly() {
        let row = |step: u64, values: [f32; 2]| -> Vec<u8> {
            step.to_le_bytes().into_iter().chain(values.into_iter().flat_map(f32::to_le_bytes)).collect()
        };
        let file = [row(1, [1.0, f32::NAN]), row(2, [100.0, 0.0])].concat();
        let near = [row(1, [1.05, f32::NAN]), row(2, [105.0, 0.05])].concat();
        let find = |other: &[u8], tolerance| first_difference(&file, other, 16, Some(8), tolerance);
        assert_eq!(
            [find(&file, 0.0), find(&near, 0.0), find(&near, 0.1), find(&near, 0.01)],
            [None, Some(0), None, Some(0)]
        );
        let late = [row(1, [1.0, f32::NAN]), row(3, [100.0, 0.0])].concat();
        assert_eq!(find(&late, 0.1), Some(1));
        assert_eq!(first_difference(b"abcd", b"abce", 1, None, 0.5), Some(3), "a text has no tolerance");
    }
}
