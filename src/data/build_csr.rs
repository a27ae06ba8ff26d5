//! Builds packed rows from an edge source, without holding the edge list in memory.
//!
//! The builder makes three passes: it counts the edges of every neuron, writes each edge into its row, and sorts the rows,
//! adding up repeated pairs and dropping pairs whose sum is zero. The result does not depend on the threads.

use super::{
    Csr, DataError, MAX_NEURONS, ProgressFn,
    edges::{EdgeColumn, EdgeSource, InvalidRow, Need, read_parts},
    memory::Budget,
    report,
};
use rayon::prelude::*;
use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

/// Connections, and the number of rows in the file.
pub struct BuiltCsr {
    pub csr: Csr,
    pub n_rows: u64,
}

/// Edge whose count does not fit its word: (row, target, count).
type Clipped = (u32, u32, i32);

/// Builds the connections of `n` neurons; without `n`, the largest index determines the number of neurons. Fails if an index is
/// out of range, or counts or edges are too many.
pub fn build_csr(
    path: &Path,
    source: &dyn EdgeSource,
    n: Option<u32>,
    watch: &ProgressFn,
) -> Result<BuiltCsr, DataError> {
    let label = format!("Reading {}", path.file_name().unwrap_or_default().to_string_lossy());
    let (n, out_degrees) = count_edges(source, n, &label, watch)?;
    let (rows, n_rows) = row_starts(path, n, &out_degrees)?;
    Budget::of(std::fs::metadata(path).map_or(0, |m| m.len())).take(path, n_rows * size_of::<u32>() as u64)?;
    drop(out_degrees);
    let target_bits = Csr::target_bits_for(n);
    let (mut words, clipped) = scatter(path, source, &rows, target_bits, &label, watch)?;
    report(watch, "Sorting connections", 0.9)?;
    let (rows, overflow) = sort_rows(path, rows, &mut words, target_bits, clipped, watch)?;
    report(watch, &label, 1.0)?;
    Ok(BuiltCsr { csr: Csr { rows, words, target_bits, overflow }, n_rows })
}

/// Makes the first pass: counts the neurons and the edges of each neuron. Fails if an index exceeds the limit, the source
/// cannot be read, or `watch` cancels.
fn count_edges(
    source: &dyn EdgeSource,
    n: Option<u32>,
    label: &str,
    watch: &ProgressFn,
) -> Result<(u32, Vec<u32>), DataError> {
    let limit = n.unwrap_or(MAX_NEURONS);
    let need = if n.is_some() { Need::Pre } else { Need::Ends };
    let new = || (vec![0_u32; n.unwrap_or(0) as usize], 0_u32);
    let threads = read_parts(source, label, (0.0, 0.3), watch, new, |(degrees, most), part, progress| {
        let take = &mut |batch: &super::edges::Batch| {
            for (row, pre) in batch.pre.iter().enumerate() {
                if *pre >= limit {
                    return Err(InvalidRow::out_of_range(batch, row, EdgeColumn::Pre, limit.into()));
                }
                if *pre as usize >= degrees.len() {
                    degrees.resize(*pre as usize + 1, 0);
                }
                // Saturates, because the sum is checked afterwards.
                degrees[*pre as usize] = degrees[*pre as usize].saturating_add(1);
            }
            if need == Need::Ends {
                match batch.post.iter().position(|p| *p >= limit) {
                    Some(row) => return Err(InvalidRow::out_of_range(batch, row, EdgeColumn::Post, limit.into())),
                    None => *most = batch.post.iter().fold(*most, |m, p| m.max(*p + 1)),
                }
            }
            Ok(())
        };
        source.read(part, need, take, progress)
    })?;
    let mut threads = threads.into_iter();
    let (mut degrees, mut most) = threads.next().unwrap_or_default();
    for (more, m) in threads {
        degrees.resize(degrees.len().max(more.len()), 0);
        degrees.iter_mut().zip(more).for_each(|(a, b)| *a = a.saturating_add(b));
        most = most.max(m);
    }
    let n = n.unwrap_or_else(|| most.max(degrees.len() as u32));
    degrees.resize(n as usize, 0);
    Ok((n, degrees))
}

/// Returns the start of each row, and the number of edges. Fails if 32 bits cannot index the edges.
fn row_starts(path: &Path, n: u32, degrees: &[u32]) -> Result<(Vec<u32>, u64), DataError> {
    let mut rows = Vec::with_capacity(n as usize + 1);
    let mut at = 0_u64;
    for degree in degrees {
        rows.push(at as u32);
        at += u64::from(*degree);
    }
    if at >= u64::from(u32::MAX) {
        return Err(DataError::format(path, "more than 4,294,967,294 edges"));
    }
    rows.push(at as u32);
    Ok((rows, at))
}

/// Makes the second pass: writes every edge into its row, in an order that depends on the threads. Fails if the file changed
/// since the first pass, its columns differ in length, or `watch` cancels.
fn scatter(
    path: &Path,
    source: &dyn EdgeSource,
    rows: &[u32],
    target_bits: u32,
    label: &str,
    watch: &ProgressFn,
) -> Result<(Vec<u32>, Vec<Clipped>), DataError> {
    let n = (rows.len() - 1) as u32;
    let n_words = rows.last().copied().unwrap_or(0);
    let words: Vec<AtomicU32> = (0..n_words).map(|_| AtomicU32::new(0)).collect();
    let cursors: Vec<AtomicU32> = rows[..n as usize].iter().map(|r| AtomicU32::new(*r)).collect();
    let changed = Mutex::new(false);
    let most = Csr::largest_count(target_bits);
    let threads =
        read_parts(source, label, (0.3, 0.9), watch, Vec::new, |clipped: &mut Vec<Clipped>, part, progress| {
            let take = &mut |batch: &super::edges::Batch| {
                let mut row = 0;
                while row < batch.pre.len() {
                    // Neighbouring edges mostly share a row, so one reservation serves all of them.
                    let pre = batch.pre[row];
                    let run = batch.pre[row..].iter().take_while(|p| **p == pre).count();
                    if pre >= n {
                        return Err(InvalidRow::out_of_range(batch, row, EdgeColumn::Pre, n.into()));
                    }
                    let at = cursors[pre as usize].fetch_add(run as u32, Ordering::Relaxed);
                    if at.checked_add(run as u32).is_none_or(|end| end > rows[pre as usize + 1]) {
                        *changed.lock().unwrap_or_else(PoisonError::into_inner) = true;
                        return Ok(());
                    }
                    for (k, word) in words[at as usize..at as usize + run].iter().enumerate() {
                        let (post, count) = (batch.post[row + k], batch.count[row + k]);
                        if post >= n {
                            return Err(InvalidRow::out_of_range(batch, row + k, EdgeColumn::Post, n.into()));
                        }
                        // Counts that just fit are also stored, so that a word at the limit is always in the list.
                        if count.unsigned_abs() >= most.unsigned_abs() {
                            clipped.push((pre, post, count));
                        }
                        word.store(Csr::pack(target_bits, post, count), Ordering::Relaxed);
                    }
                    row += run;
                }
                Ok(())
            };
            source.read(part, Need::Counts, take, progress)
        })?;
    let short = cursors.iter().zip(&rows[1..]).any(|(c, end)| c.load(Ordering::Relaxed) != *end);
    if short || changed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(DataError::format(path, "the file changed while it was read, or its columns differ in length"));
    }
    let mut clipped: Vec<Clipped> = threads.into_iter().flatten().collect();
    clipped.par_sort_unstable();
    // Size and alignment are equal, so the allocation is kept.
    Ok((words.into_iter().map(AtomicU32::into_inner).collect(), clipped))
}

/// Counts that were clipped in packing: (index into the words, exact count).
type Overflow = Vec<(u32, i32)>;

/// Rows of one chunk after sorting and adding up.
#[derive(Default)]
struct SortedRows {
    lengths: Vec<u32>,
    /// Exact counts that do not fit: (index in the row, row, exact count).
    overflow: Vec<(u32, u32, i32)>,
}

/// Makes the third pass: sorts rows by target, with each target once and no zero counts. Fails if the sum of a connection's
/// counts is too large, or `watch` cancels.
fn sort_rows(
    path: &Path,
    rows: Vec<u32>,
    words: &mut Vec<u32>,
    target_bits: u32,
    clipped: Vec<Clipped>,
    watch: &ProgressFn,
) -> Result<(Vec<u32>, Overflow), DataError> {
    const CHUNK: usize = 2048;
    let n = rows.len() - 1;
    let mut jobs = Vec::with_capacity(n / CHUNK + 1);
    let mut rest = words.as_mut_slice();
    for first in (0..n).step_by(CHUNK) {
        let end = (first + CHUNK).min(n);
        let (mine, more) = rest.split_at_mut((rows[end] - rows[first]) as usize);
        jobs.push((first, end, mine));
        rest = more;
    }
    let done: Vec<SortedRows> = jobs
        .into_par_iter()
        .map(|(first, end, mine)| {
            report(watch, "Sorting connections", 0.9 + 0.1 * first as f32 / n.max(1) as f32)?;
            let mut sorted = SortedRows::default();
            let mut from = 0;
            for row in first..end {
                let to = from + (rows[row + 1] - rows[row]) as usize;
                let mine = &mut mine[from..to];
                let low = clipped.partition_point(|c| (c.0 as usize) < row);
                let high = low + clipped[low..].partition_point(|c| c.0 as usize == row);
                let length = sort_row(mine, target_bits, &clipped[low..high], row as u32, &mut sorted.overflow)
                    .map_err(|what| DataError::format(path, what))?;
                sorted.lengths.push(length);
                from = to;
            }
            Ok(sorted)
        })
        .collect::<Result<_, DataError>>()?;
    Ok(compact_rows(rows, words, &done))
}

/// Moves rows together after some became shorter, and gives the overflow its final indices.
fn compact_rows(old: Vec<u32>, words: &mut Vec<u32>, done: &[SortedRows]) -> (Vec<u32>, Overflow) {
    let mut rows = Vec::with_capacity(old.len());
    let mut at = 0_u32;
    for (row, length) in done.iter().flat_map(|t| &t.lengths).enumerate() {
        if at != old[row] {
            words.copy_within(old[row] as usize..(old[row] + length) as usize, at as usize);
        }
        rows.push(at);
        at += length;
    }
    rows.push(at);
    words.truncate(at as usize);
    let overflow = done.iter().flat_map(|t| &t.overflow).map(|(k, row, c)| (rows[*row as usize] + k, *c)).collect();
    (rows, overflow)
}

/// Sorts a row and adds up connections to one target. Returns the row's new length. Fails if a sum does not fit 32 bits.
fn sort_row(
    row: &mut [u32],
    target_bits: u32,
    clipped: &[Clipped],
    pre: u32,
    overflow: &mut Vec<(u32, u32, i32)>,
) -> Result<u32, String> {
    let mask = (1_u32 << target_bits) - 1;
    let count = |word: u32| (word as i32) >> target_bits;
    let in_order = row.windows(2).all(|w| w[0] & mask < w[1] & mask);
    if in_order && clipped.is_empty() && row.iter().all(|w| count(*w) != 0) {
        return Ok(row.len() as u32);
    }
    let most = Csr::largest_count(target_bits);
    let mut exact: Vec<(u32, i64)> = row
        .iter()
        .filter(|w| count(**w).abs() < most)
        .map(|w| (w & mask, i64::from(count(*w))))
        .chain(clipped.iter().map(|(_, target, count)| (*target, i64::from(*count))))
        .collect();
    exact.sort_unstable();
    let mut length = 0_u32;
    for same in exact.chunk_by(|a, b| a.0 == b.0) {
        let (target, sum) = (same[0].0, same.iter().map(|e| e.1).sum::<i64>());
        let sum = i32::try_from(sum)
            .map_err(|_| format!("the counts of connection {pre} to {target} add up to {sum}, beyond 32 bits"))?;
        if sum == 0 {
            continue;
        }
        if sum.unsigned_abs() > most.unsigned_abs() {
            overflow.push((length, pre, sum));
        }
        row[length as usize] = Csr::pack(target_bits, target, sum);
        length += 1;
    }
    Ok(length)
}
