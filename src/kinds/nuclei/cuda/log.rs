//! Parts of the log. Generations are launched in parts that alternate between the two halves of the log, and the host processes
//! one part while the next one is computed.

use super::{
    layout::{EventLog, LogEntry},
    memory::Scratch,
};
use crate::gpu::{GpuError, Mark};
use std::{borrow::Cow, ops::Range};

/// Generations that were launched but not processed by the host.
pub struct PartInProgress {
    /// Indices of the generations' entries in the log.
    pub entries: Range<usize>,
    /// Whether median and ensemble errors are computed.
    pub with_details: bool,
    /// Event recorded after the last generation.
    pub mark: Mark,
}

impl PartInProgress {
    /// Returns the step at the end of the part, given that `completed` steps precede it.
    pub fn end_step(&self, completed: u64) -> u64 {
        completed + self.entries.len() as u64
    }
}

/// Log of one part.
pub struct LogPart<'a> {
    /// Entries, one per generation.
    pub entries: &'a [LogEntry],
    /// Index of the first element of `words` in the log.
    pub first_word: u32,
    /// Slots of the events.
    pub words: Cow<'a, [u32]>,
    /// Errors, at the positions of the slots in `words`; may be empty.
    pub errors: Cow<'a, [f32]>,
    /// Order parameters of phase fields 2 to F.
    pub orders: &'a [f64],
}

/// Returns the entries of the next part if `left` generations remain, in a log of `entries` entries: in the half that the part
/// `before` does not use. Parts become shorter towards the end, because the device waits while the last part is processed.
/// `None` if no generation remains, or if there is no free half (a log of one entry).
fn next_part(entries: usize, left: usize, before: Option<&Range<usize>>, most: usize) -> Option<Range<usize>> {
    let half = entries / 2;
    let (start, room) = match before {
        None => (0, half.max(1)),
        Some(before) => (if before.start == 0 { half } else { 0 }, half),
    };
    let n = left.div_ceil(2).min(room).min(most.max(1));
    (n > 0).then_some(start..start + n)
}

impl Scratch {
    /// Returns the entries of the next part if `left` generations remain, given the part `before`; `None` if no generation
    /// remains, or if that part must be processed first.
    pub fn next_part(&self, left: u32, before: Option<&PartInProgress>, most: Option<u32>) -> Option<Range<usize>> {
        let most = most.map_or(usize::MAX, |most| most as usize);
        next_part(self.entries.len(), left as usize, before.map(|before| &before.entries), most)
    }

    /// Makes the following generations write to the log from this entry on. Fails if the device fails.
    pub fn begin_part(&mut self, first_entry: usize) -> Result<(), GpuError> {
        let per_entry = self.words.len() / self.entries.len().max(1);
        self.log.set(EventLog { entries: first_entry as u32, words: (first_entry * per_entry) as u32 })
    }

    /// Waits for a part and reads it, with the errors of nuclei that ended if `with_errors`. Later generations run concurrently,
    /// unless the part has more words than the copy buffer.
    pub fn read_part(&mut self, part: &PartInProgress, with_errors: bool) -> Result<LogPart<'_>, GpuError> {
        let (of, after, n) = (&part.entries, &part.mark, part.entries.len());
        let n_orders = self.orders.len() / self.entries.len().max(1);
        self.entries.download_concurrent(of.clone(), &mut self.copied_entries, 0, after)?;
        if let Some(copied) = &mut self.copied_orders {
            self.orders.download_concurrent(of.start * n_orders..of.end * n_orders, copied, 0, after)?;
        }
        let entries = &self.copied_entries.get()?[..n];
        let first_word = entries.first().map_or(0, |e| e.words);
        let range = first_word as usize..entries.last().map_or(0, |e| e.words + e.length()) as usize;
        let of_errors = if with_errors { range.clone() } else { 0..0 };
        let (n_words, n_errors) = (range.len(), of_errors.len());
        let fits = n_words <= self.copied_words.len();
        if fits {
            self.words.download_concurrent(range.clone(), &mut self.copied_words, 0, after)?;
            self.errors.download_concurrent(of_errors.clone(), &mut self.copied_errors, 0, after)?;
        }
        let (words, errors) = match fits {
            true => (
                Cow::Borrowed(&self.copied_words.get()?[..n_words]),
                Cow::Borrowed(&self.copied_errors.get()?[..n_errors]),
            ),
            false => (Cow::Owned(self.words.read_range(range)?), Cow::Owned(self.errors.read_range(of_errors)?)),
        };
        let orders = match &self.copied_orders {
            Some(copied) => &copied.get()?[..n * n_orders],
            None => &[],
        };
        Ok(LogPart { entries, first_word, words, errors, orders })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_use_the_halves_in_turn_and_become_shorter() {
        for entries in [1, 2, 3, 10, 64] {
            for (steps, most) in [(1, 99), (2, 99), (7, 99), (200, 99), (200, 3), (200, 1)] {
                let (mut left, mut before, mut sizes) = (steps, None::<Range<usize>>, vec![]);
                while left > 0 || before.is_some() {
                    let next = next_part(entries, left, before.as_ref(), most);
                    if let Some(next) = &next {
                        assert!(next.end <= entries && !next.is_empty() && next.len() <= left.min(most));
                        let overlaps = |other: &Range<usize>| next.start < other.end && other.start < next.end;
                        assert!(!before.as_ref().is_some_and(overlaps), "{next:?} after {before:?}");
                        left -= next.len();
                        sizes.push(next.len());
                    }
                    assert!(next.is_some() || left == 0 || entries == 1, "{entries} entries: {left} of {steps} wait");
                    before = next;
                }
                assert_eq!(sizes.iter().sum::<usize>(), steps);
                assert_eq!(sizes.last(), Some(&1), "{sizes:?}");
            }
        }
        let (mut left, mut before, mut sizes) = (100, None, vec![]);
        while let Some(next) = next_part(64, left, before.as_ref(), usize::MAX) {
            (left, before) = (left - next.len(), Some(next.clone()));
            sizes.push(next.len());
        }
        assert_eq!(sizes, [32, 32, 18, 9, 5, 2, 1, 1]);
    }
}
