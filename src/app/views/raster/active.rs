//! Which elements have spiked: a bit each.

use crate::sim::Spike;

/// How long new elements wait for a row, seconds: rows that move all the time cannot be read.
const PATIENCE_SECS: f64 = 0.4;

/// The elements that have spiked since the run or the view began.
#[derive(Default)]
pub struct Active {
    words: Vec<u64>,
    count: u32,
    /// How many of them have a row, and since when (seconds of the window's clock).
    arranged: (u32, f64),
}

impl Active {
    /// Notes who spiked.
    pub fn note(&mut self, spikes: &[Spike]) {
        for lane in spikes.iter().map(|s| s.lane as usize) {
            if lane / 64 >= self.words.len() {
                self.words.resize(lane / 64 + 1, 0);
            }
            let (word, bit) = (&mut self.words[lane / 64], 1u64 << (lane % 64));
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Whether an element has spiked.
    pub fn contains(&self, element: u32) -> bool {
        self.words.get(element as usize / 64).is_some_and(|word| word >> (element % 64) & 1 == 1)
    }

    /// How many have spiked and have no row yet.
    pub fn waiting(&self) -> u32 {
        self.count - self.arranged.0
    }

    /// Whether it is time to give rows to those without.
    pub fn is_due(&self, now_secs: f64) -> bool {
        self.waiting() > 0 && (self.arranged.0 == 0 || now_secs - self.arranged.1 >= PATIENCE_SECS)
    }

    /// All have rows now.
    pub fn arranged(&mut self, now_secs: f64) {
        self.arranged = (self.count, now_secs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_once_and_waits() {
        let mut active = Active::default();
        let spike = |lane| Spike { step: 0, lane };
        active.note(&[spike(3), spike(70), spike(3)]);
        assert!(active.contains(70) && !active.contains(69) && active.waiting() == 2);
        assert!(active.is_due(0.0));
        active.arranged(0.0);
        active.note(&[spike(3)]);
        assert!(!active.is_due(9.0));
        active.note(&[spike(4)]);
        assert!(!active.is_due(0.1) && active.is_due(1.0));
    }
}
