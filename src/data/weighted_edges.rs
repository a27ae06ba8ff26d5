//! Connections from an edge list whose rows have a weight and a delay each.
//!
//! The reader makes two passes over the file: the first checks every row and finds the ranges of weights and delays, the second
//! writes each row into that of its presynaptic neuron. Then rows are sorted, so the result does not depend on the threads.

use super::{
    DataError, ProgressFn,
    edge_columns::DELAY_MS,
    edges::{self, Batch, EdgeColumn, EdgeSource, InvalidRow, Need, RowValues, read_parts},
    memory::Budget,
    messages,
    read::Files,
    report,
};
use rayon::prelude::*;
use std::{
    path::Path,
    sync::atomic::{AtomicI32, AtomicU32, Ordering},
};

/// Number of bits of the largest weight.
const WEIGHT_BITS: i32 = 30;
/// Number of presynaptic neurons whose connections a task sorts.
const CHUNK: usize = 2048;

/// Conditions that the rows of a file satisfy.
#[derive(Clone, Copy, Debug)]
pub struct EdgeLimits {
    /// Numbers of presynaptic and postsynaptic neurons.
    pub sizes: [u32; 2],
    /// Time step, ms: the smallest delay.
    pub step_ms: f64,
    /// Converts a delay in ms to a number of steps; receives the time step as second argument.
    pub to_steps: fn(f64, f64) -> f64,
    /// Largest delay, ms.
    pub max_delay_ms: f64,
    /// Largest absolute weight.
    pub max_weight: f64,
    /// Number of bits of the target in a word. The bits above hold the delay, so they limit the span of delays.
    pub target_bits: u32,
}

/// Connections with weights and delays, by presynaptic neuron; each row is sorted by target, delay and weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedEdges {
    /// Start of each row; one more entry than presynaptic neurons.
    pub starts: Vec<u64>,
    /// Target in the low bits, delay beyond the smallest one in the bits above ([`EdgeLimits::target_bits`]).
    pub words: Vec<u32>,
    /// Weights as multiples of 2^[`exponent`](Self::exponent), one per word.
    pub weights: Vec<i32>,
    /// Exponent of the unit of [`weights`](Self::weights). The largest weight has 30 bits.
    pub exponent: i32,
    /// Exponent of the power of two of which all weights are multiples, as the file declares it.
    pub declared_exponent: Option<i32>,
    /// Smallest delay in steps, and the number of steps from the smallest to the largest, both included; `None` if the file
    /// has no delays.
    pub delays: Option<(u32, u32)>,
    /// Notices about the file, one sentence each.
    pub notices: Vec<String>,
}

impl WeightedEdges {
    /// Returns the range of the connections of a presynaptic neuron.
    pub fn range(&self, pre: u32) -> std::ops::Range<usize> {
        self.starts[pre as usize] as usize..self.starts[pre as usize + 1] as usize
    }

    /// Returns the weight of a connection.
    pub fn weight(&self, connection: usize) -> f64 {
        f64::from(self.weights[connection]) * 2_f64.powi(self.exponent)
    }
}

/// Reads the edge list at `path`: a file, or a folder as [`super::read`] takes it. Returns `None` for a file of whole synapse
/// counts without delays, which [`super::read`] reads.
///
/// # Errors
/// Fails as [`super::read`] does, and for a row beyond the limits. The message names the line, or the column, row group and row.
pub fn read(path: &Path, limits: &EdgeLimits, watch: &ProgressFn) -> Result<Option<WeightedEdges>, DataError> {
    let path = &Files::find(path)?.edges;
    let source = &*edges::open(path, RowValues::Weights)?;
    if !source.has_delays() && !source.may_be_real() {
        return Ok(None);
    }
    let pass = Pass { path, source, limits, watch };
    let ranges = pass.check_rows()?;
    if !source.has_delays() && !ranges.is_real {
        return Ok(None);
    }
    pass.check_span(&ranges)?;
    pass.build(&ranges).map(Some)
}

/// Returns the error about the first row whose absolute weight is at least `largest`, with a sentence. Reads the file again.
pub fn error_at_weight(
    path: &Path,
    limits: &EdgeLimits,
    largest: f64,
    sentence: &str,
    watch: &ProgressFn,
) -> DataError {
    let find = || {
        let path = &Files::find(path)?.edges;
        let source = &*edges::open(path, RowValues::Weights)?;
        let is_wrong = |batch: &Batch| {
            let row = batch.weight.iter().position(|w| w.abs() >= largest)?;
            Some(InvalidRow { row, column: EdgeColumn::Weight, what: format!("{}: {sentence}", batch.weight[row]) })
        };
        Pass { path, source, limits, watch }.find(is_wrong)
    };
    find().err().unwrap_or_else(|| DataError::format(path, sentence))
}

/// What the first pass finds.
#[derive(Default)]
struct Ranges {
    /// Number of connections of each presynaptic neuron.
    degrees: Vec<u32>,
    n_rows: u64,
    /// Largest absolute weight.
    largest: f64,
    /// Smallest and largest delay, steps.
    steps: (u32, u32),
    /// Whether a weight is a floating point number in the file.
    is_real: bool,
}

impl Ranges {
    fn new(n: u32) -> Self {
        Self { degrees: vec![0; n as usize], steps: (u32::MAX, 0), ..Self::default() }
    }

    fn add(&mut self, batch: &Batch, limits: &EdgeLimits) {
        for pre in &batch.pre {
            self.degrees[*pre as usize] = self.degrees[*pre as usize].saturating_add(1);
        }
        self.n_rows += batch.pre.len() as u64;
        self.largest = batch.weight.iter().fold(self.largest, |most, w| most.max(w.abs()));
        for ms in &batch.delay_ms {
            let steps = limits.steps(*ms);
            self.steps = (self.steps.0.min(steps), self.steps.1.max(steps));
        }
        self.is_real |= batch.is_real;
    }

    fn join(mut self, other: Self) -> Self {
        self.degrees.iter_mut().zip(other.degrees).for_each(|(a, b)| *a = a.saturating_add(b));
        self.n_rows += other.n_rows;
        self.largest = self.largest.max(other.largest);
        self.steps = (self.steps.0.min(other.steps.0), self.steps.1.max(other.steps.1));
        self.is_real |= other.is_real;
        self
    }

    /// Returns the exponent of the unit in which the largest weight has [`WEIGHT_BITS`] bits.
    fn exponent(&self) -> i32 {
        if self.largest > 0.0 { (self.largest.log2().ceil() as i32 - WEIGHT_BITS).max(-1000) } else { 0 }
    }
}

impl EdgeLimits {
    fn steps(&self, ms: f64) -> u32 {
        (self.to_steps)(ms, self.step_ms) as u32
    }

    /// Returns the number of steps that the delays of a file span at most.
    const fn max_span(&self) -> u32 {
        1 << (u32::BITS - self.target_bits)
    }

    /// Returns the first row of a batch that is beyond the limits.
    fn wrong_row(&self, batch: &Batch) -> Option<InvalidRow> {
        let ends = [(EdgeColumn::Pre, &batch.pre, "presynaptic"), (EdgeColumn::Post, &batch.post, "postsynaptic")];
        for ((column, indices, which), n) in ends.into_iter().zip(self.sizes) {
            if let Some(row) = indices.iter().position(|index| *index >= n) {
                let (index, known) = (messages::group_digits(indices[row].into()), messages::group_digits(n.into()));
                let what =
                    format!("index {index} is beyond the {known} {which} neurons (0 to {})", n.saturating_sub(1));
                return Some(InvalidRow { row, column, what });
            }
        }
        let weights = batch.weight.iter().enumerate().find_map(|(row, w)| Some((row, self.wrong_weight(*w)?)));
        if let Some((row, what)) = weights {
            return Some(InvalidRow { row, column: EdgeColumn::Weight, what });
        }
        let (row, what) =
            batch.delay_ms.iter().enumerate().find_map(|(row, ms)| Some((row, self.wrong_delay(*ms)?)))?;
        Some(InvalidRow { row, column: EdgeColumn::Delay, what })
    }

    fn wrong_weight(&self, weight: f64) -> Option<String> {
        if weight.is_nan() {
            return Some("a weight is missing or NaN".to_owned());
        }
        let most = self.max_weight;
        (weight.abs() > most).then(|| format!("a weight of {weight} overflows; weights are within ±{most:e}"))
    }

    /// Files may hold delays in single precision, so the limits have a tolerance.
    fn wrong_delay(&self, ms: f64) -> Option<String> {
        let (least, most) = (self.step_ms, self.max_delay_ms);
        if ms.is_nan() {
            Some("a delay is missing or NaN".to_owned())
        } else if ms < least * (1.0 - 1e-6) {
            Some(format!(
                "a delay of {ms} ms is below the time step of {least} ms. Raise the delay or lower the time step"
            ))
        } else if ms > most * (1.0 + 1e-6) {
            Some(format!("a delay of {ms} ms is not possible; delays are at most {most} ms"))
        } else {
            None
        }
    }
}

/// Passes over a file.
struct Pass<'a> {
    path: &'a Path,
    source: &'a dyn EdgeSource,
    limits: &'a EdgeLimits,
    watch: &'a ProgressFn<'a>,
}

impl Pass<'_> {
    fn label(&self) -> String {
        format!("Reading {}", self.path.file_name().unwrap_or_default().to_string_lossy())
    }

    fn check_rows(&self) -> Result<Ranges, DataError> {
        let limits = self.limits;
        let new = || Ranges::new(limits.sizes[0]);
        let parts = read_parts(self.source, &self.label(), (0.0, 0.4), self.watch, new, |ranges, part, progress| {
            let take = &mut |batch: &Batch| match limits.wrong_row(batch) {
                Some(wrong) => Err(wrong),
                None => {
                    ranges.add(batch, limits);
                    Ok(())
                }
            };
            self.source.read(part, Need::Weights, take, progress)
        })?;
        Ok(parts.into_iter().reduce(Ranges::join).unwrap_or_else(new))
    }

    /// Fails with the first row for which `wrong` returns an error.
    fn find(&self, wrong: impl Fn(&Batch) -> Option<InvalidRow> + Sync) -> Result<(), DataError> {
        read_parts(
            self.source,
            &self.label(),
            (0.0, 1.0),
            self.watch,
            || (),
            |(), part, progress| {
                let take = &mut |batch: &Batch| wrong(batch).map_or(Ok(()), Err);
                self.source.read(part, Need::Weights, take, progress)
            },
        )?;
        Ok(())
    }

    /// Fails with a row if the delays span too many steps.
    fn check_span(&self, ranges: &Ranges) -> Result<(), DataError> {
        let ((first, last), limits) = (ranges.steps, self.limits);
        let span = limits.max_span();
        if !self.source.has_delays() || last.saturating_sub(first) < span {
            return Ok(());
        }
        self.find(|batch| {
            let row = batch.delay_ms.iter().position(|ms| limits.steps(*ms) >= first.saturating_add(span))?;
            let what = format!(
                "a delay of {} ms is {} steps above the smallest one of {first} steps; the delays of a projection span at \
                 most {span} steps. Divide the file among several projections",
                batch.delay_ms[row],
                limits.steps(batch.delay_ms[row]) - first
            );
            Some(InvalidRow { row, column: EdgeColumn::Delay, what })
        })
    }

    fn build(&self, ranges: &Ranges) -> Result<WeightedEdges, DataError> {
        const BYTES_PER_ROW: u64 = (size_of::<u32>() + size_of::<i32>()) as u64;
        let n_bytes = std::fs::metadata(self.path).map_or(0, |m| m.len());
        Budget::of(n_bytes).take(self.path, ranges.n_rows.saturating_mul(BYTES_PER_ROW))?;
        let mut starts = Vec::with_capacity(ranges.degrees.len() + 1);
        starts.push(0);
        starts.extend(ranges.degrees.iter().scan(0, |at, degree| {
            *at += u64::from(*degree);
            Some(*at)
        }));
        let exponent = ranges.exponent();
        let (mut words, mut weights) = self.scatter(ranges, &starts, exponent)?;
        report(self.watch, "Sorting connections", 0.9)?;
        sort_rows(&starts, &mut words, &mut weights, self.limits.target_bits);
        Ok(WeightedEdges {
            starts,
            words,
            weights,
            exponent,
            declared_exponent: self.source.weight_exponent(),
            delays: self.source.has_delays().then(|| delay_range(ranges.steps)),
            notices: self.notices(),
        })
    }

    /// Makes the second pass: writes every connection into its row, in an order that depends on the threads. Fails if the file
    /// changed since the first pass, or the pass is cancelled.
    fn scatter(&self, ranges: &Ranges, starts: &[u64], exponent: i32) -> Result<(Vec<u32>, Vec<i32>), DataError> {
        let n = ranges.n_rows as usize;
        let words: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
        let weights: Vec<AtomicI32> = (0..n).map(|_| AtomicI32::new(0)).collect();
        let filled: Vec<AtomicU32> = ranges.degrees.iter().map(|_| AtomicU32::new(0)).collect();
        let (limits, unit, (first, last)) = (self.limits, 2_f64.powi(exponent), ranges.steps);
        let changed = |row| InvalidRow { row, column: EdgeColumn::Pre, what: CHANGED.to_owned() };
        read_parts(
            self.source,
            &self.label(),
            (0.4, 0.9),
            self.watch,
            || (),
            |(), part, progress| {
                let take = &mut |batch: &Batch| {
                    for (row, pre) in batch.pre.iter().enumerate() {
                        let (pre, post, weight) = (*pre as usize, batch.post[row], batch.weight[row]);
                        let steps = batch.delay_ms.get(row).map_or(first, |ms| limits.steps(*ms));
                        let is_known =
                            pre < ranges.degrees.len() && post < limits.sizes[1] && weight.abs() <= ranges.largest;
                        let place = if is_known { filled[pre].fetch_add(1, Ordering::Relaxed) } else { u32::MAX };
                        if !is_known || place >= ranges.degrees[pre] || !(first..=last.max(first)).contains(&steps) {
                            return Err(changed(row));
                        }
                        let at = starts[pre] as usize + place as usize;
                        words[at].store(post | (steps - first) << limits.target_bits, Ordering::Relaxed);
                        weights[at].store((weight / unit).round() as i32, Ordering::Relaxed);
                    }
                    Ok(())
                };
                self.source.read(part, Need::Weights, take, progress)
            },
        )?;
        if filled.iter().zip(&ranges.degrees).any(|(filled, degree)| filled.load(Ordering::Relaxed) != *degree) {
            return Err(DataError::format(self.path, CHANGED));
        }
        // Size and alignment are equal, so the allocations are kept.
        let weights = weights.into_iter().map(AtomicI32::into_inner).collect();
        Ok((words.into_iter().map(AtomicU32::into_inner).collect(), weights))
    }

    /// Returns the notice that a column looks like delays but has no unit.
    fn notices(&self) -> Vec<String> {
        let is_similar = |name: &&String| name.to_lowercase().starts_with("delay");
        let similar = self.source.columns().iter().find(is_similar).filter(|_| !self.source.has_delays());
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let notice = |name: &String| {
            let name = messages::truncated(name);
            format!("{file}: the column \"{name}\" is not read; delays are read from a column \"{DELAY_MS}\".")
        };
        similar.map(notice).into_iter().collect()
    }
}

const CHANGED: &str = "the file changed while it was read, or its columns differ in length";

/// Returns the smallest delay and the number of steps that all delays span; one step for a file without rows.
fn delay_range((first, last): (u32, u32)) -> (u32, u32) {
    if first <= last { (first, last - first + 1) } else { (1, 1) }
}

/// Sorts each row by target, delay and weight.
fn sort_rows(starts: &[u64], words: &mut [u32], weights: &mut [i32], target_bits: u32) {
    let mut jobs = vec![];
    let (mut rest_words, mut rest_weights) = (words, weights);
    for first in (0..starts.len() - 1).step_by(CHUNK) {
        let rows = &starts[first..=(first + CHUNK).min(starts.len() - 1)];
        let n = (rows[rows.len() - 1] - rows[0]) as usize;
        let (words, more_words) = rest_words.split_at_mut(n);
        let (weights, more_weights) = rest_weights.split_at_mut(n);
        jobs.push((rows, words, weights));
        (rest_words, rest_weights) = (more_words, more_weights);
    }
    // With the target in its upper bits, a word is sorted by target and delay; the flipped sign sorts weights.
    let key = |word: u32, weight: i32| {
        u64::from(word.rotate_left(u32::BITS - target_bits)) << 32 | u64::from(weight.cast_unsigned() ^ 1 << 31)
    };
    jobs.into_par_iter().for_each(|(rows, words, weights)| {
        let mut keys = vec![];
        for range in rows.windows(2).map(|row| (row[0] - rows[0]) as usize..(row[1] - rows[0]) as usize) {
            keys.clear();
            keys.extend(range.clone().map(|at| key(words[at], weights[at])));
            keys.sort_unstable();
            for (at, key) in range.zip(&keys) {
                words[at] = ((key >> 32) as u32).rotate_right(u32::BITS - target_bits);
                weights[at] = (*key as u32 ^ 1 << 31).cast_signed();
            }
        }
    });
}
