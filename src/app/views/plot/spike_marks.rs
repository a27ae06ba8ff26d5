//! Spike marks of the traced elements, found in the history: on the UI thread if few spikes are visible, otherwise on the pool.

use crate::{
    app::{
        document::time::{Timeline, Train, spikes::History},
        kit::pool::PoolJob,
    },
    sim::Spike,
};
use std::collections::BTreeMap;

/// Maximum number of visible spikes that are searched on the UI thread.
const MAX_INLINE: usize = 200_000;
/// Maximum number of spikes searched; only the newest are.
const MAX_SEARCHED: usize = 4_000_000;
/// Maximum number of marks per element.
const MAX_MARKS: usize = 20_000;

/// Elements, range of steps relative to the origin of the history, and position in the spike sequence.
type SpikeMarksKey = (Vec<u32>, (u32, u32), u64);
type Found = BTreeMap<u32, Vec<u64>>;

/// Steps of the marks, by element.
#[derive(Default)]
pub struct Marks {
    found: Option<(SpikeMarksKey, Found)>,
    job: PoolJob<SpikeMarksKey, Found>,
}

impl Marks {
    /// Searches the visible times for spikes of some elements, unless the last search had the same key.
    pub fn update(&mut self, ctx: &egui::Context, train: Option<&Train>, elements: &[u32], line: &Timeline) {
        if let Some(found) = self.job.poll() {
            self.found = Some(found);
        }
        let Some(history) = train.map(|t| &t.history) else { return };
        let relative =
            |step: f64| (step.max(0.0) as u64).saturating_sub(history.origin()).min(u64::from(u32::MAX)) as u32;
        let (from, to) = (relative(line.t0), relative(line.t1.ceil()).saturating_add(1));
        // Later spikes do not change the result for past times.
        let sequence = if history.last_step().is_some_and(|last| to > last) { history.sequence() } else { 0 };
        let key = (elements.to_vec(), (from, to), sequence);
        if self.found.as_ref().is_some_and(|(known, _)| *known == key) {
            return;
        }
        if history.count(from, to) <= MAX_INLINE {
            self.found = Some((key, search(history, elements, from, to)));
        } else if self.job.is_free(&key) {
            let (history, elements) = (history.clone(), elements.to_vec());
            self.job.start(ctx, key, move || search(&history, &elements, from, to));
        }
    }

    /// Returns the steps of an element's marks, from `from` on.
    pub fn of(&self, element: u32, from: f64) -> &[u64] {
        let steps = self.found.as_ref().and_then(|(_, found)| found.get(&element)).map_or(&[][..], Vec::as_slice);
        &steps[steps.partition_point(|s| (*s as f64) < from)..]
    }
}

fn search(history: &History, elements: &[u32], from: u32, to: u32) -> Found {
    let words = elements.iter().max().map_or(0, |e| *e as usize / 64 + 1);
    let mut bits = vec![0_u64; words];
    elements.iter().for_each(|e| bits[*e as usize / 64] |= 1 << (e % 64));
    let is_traced = |s: &&Spike| bits.get(s.lane as usize / 64).is_some_and(|word| word >> (s.lane % 64) & 1 == 1);
    let (mut n_searched, mut found) = (0, Found::new());
    let slices: Vec<&[Spike]> = history.slices(from, to).collect();
    for slice in slices.iter().rev() {
        if n_searched > MAX_SEARCHED {
            break;
        }
        n_searched += slice.len();
        for spike in slice.iter().rev().filter(is_traced) {
            let steps = found.entry(spike.lane).or_default();
            if steps.len() < MAX_MARKS {
                steps.push(history.origin() + u64::from(spike.step));
            }
        }
    }
    found.values_mut().for_each(|steps| steps.reverse());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_the_spikes_of_the_traced_elements() {
        let mut train = Train::new(1_000);
        let spikes: Vec<Spike> = (0..200_000_u32).map(|i| Spike { step: i / 10, lane: i * 7 % 1_000 }).collect();
        train.push(&spikes, 20_000);
        let expected: Vec<u64> =
            spikes.iter().filter(|s| s.lane == 63 && s.step >= 15_000).map(|s| u64::from(s.step)).collect();
        let found = search(&train.history, &[2, 63], 15_000, 20_000);
        assert_eq!((found.len(), &found[&63]), (2, &expected));
        let mut marks = Marks::default();
        marks.update(&egui::Context::default(), Some(&train), &[63], &Timeline::between(18_000.0, 19_000.0));
        assert!(
            marks.of(63, 18_500.0).iter().all(|s| (18_500..=19_001).contains(s)) && !marks.of(63, 18_500.0).is_empty()
        );
    }
}
