//! Spikes of one probe: single spikes for the newest part, and counts per element and time bin for the remaining run.

use super::{ActiveElements, ElementBins, EventDensity, LastSpikes, spikes::History};
use crate::sim::Spike;
use std::sync::Arc;

/// Spikes of one probe. A clone shares all parts except the newest, incomplete chunk.
#[derive(Clone, Default)]
pub struct Train {
    /// Single spikes in memory.
    pub history: History,
    /// Elements that have spiked since the start of the run.
    pub active: Arc<ActiveElements>,
    /// Number of spikes per element since the start of the run.
    pub counts: Arc<Vec<u32>>,
    /// Spike density over the whole run.
    pub density: Arc<EventDensity>,
    /// Number of spikes per element and time bin, for the spikes that are no longer in memory.
    pub bins: ElementBins,
    /// Last spike of each element before any step.
    pub last: LastSpikes,
    /// Step up to which spikes are counted.
    pub end: u64,
    /// Number of spikes dropped while the window was busy or hidden.
    pub skipped: u64,
}

impl Train {
    /// Creates an empty train of a set of `n_elements` elements.
    pub fn new(n_elements: usize) -> Self {
        Self { counts: Arc::new(vec![0; n_elements]), bins: ElementBins::new(n_elements), ..Self::default() }
    }

    /// Makes room for more elements after their set has grown.
    pub fn grow(&mut self, n_elements: usize) {
        if n_elements > self.counts.len() {
            Arc::make_mut(&mut self.counts).resize(n_elements, 0);
            self.bins.grow(n_elements);
        }
    }

    /// Adds spikes whose steps are modulo 2³², the newest not after `now`.
    pub fn push(&mut self, spikes: &[Spike], now: u64) {
        self.end = self.end.max(now);
        let known = self.history.sequence();
        self.history.push_dropping(spikes, now, |old, origin| {
            self.bins.push(old, origin);
            self.last.drop(old, origin);
        });
        self.last.update(&self.history, self.counts.len());
        let origin = self.history.origin();
        let density = Arc::make_mut(&mut self.density);
        for new in self.history.after(known) {
            density.push(new, origin);
        }
        let (active, counts) = (Arc::make_mut(&mut self.active), Arc::make_mut(&mut self.counts));
        for spike in spikes {
            match counts.get_mut(spike.lane as usize) {
                Some(count) => {
                    if *count == 0 {
                        active.mark(&[*spike]);
                    }
                    *count = count.saturating_add(1);
                }
                None => active.mark(&[*spike]),
            }
        }
    }

    /// Returns the oldest step with single spikes; `None` if no spikes were dropped.
    pub fn oldest_single(&self) -> Option<u64> {
        let oldest = self.history.origin() + u64::from(self.history.first_step().unwrap_or(0));
        (self.history.dropped() > 0).then_some(oldest)
    }

    /// Returns the memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        self.history.len() * 8 + self.counts.len() * 4 + self.bins.n_bytes() + self.last.n_bytes()
    }
}
