//! Distribution of a field over time: a summary of each state, computed on the pool for many values.

use super::{
    summary::{QUANTILES, RawState, State, Summary, summarise},
    thinned::Thinned,
};
use crate::{
    app::{kit::pool::PoolJob, views::fields::is_flat},
    sim::ProbeId,
};

/// Maximum number of values that are sorted on the UI thread.
const MAX_INLINE: usize = 20_000;

/// Source of a series of summaries. A change of the source restarts the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    pub probe: ProbeId,
    /// Generation of the filter.
    pub filter: u64,
    /// Whether negative values mean "never" and are left out.
    pub skip_negative: bool,
}

/// Summaries of a run's states over time.
#[derive(Default)]
pub struct SummarySeries {
    of: Option<Source>,
    history: Thinned<State>,
    /// The displayed state: the latest one, or that at the cursor.
    front: Option<Summary>,
    /// Generation of the last summarised values.
    taken: Option<u64>,
    pool_job: PoolJob<(u64, u64), Vec<Option<Summary>>>,
    /// Counter that every restart increments, so that results of earlier jobs are dropped.
    start: u64,
    /// Counter that every change increments.
    pub generation: u64,
}

impl SummarySeries {
    /// Summarises new states if the generation `values` has changed. `raws` returns the states after a step; its last state is
    /// the displayed one.
    pub fn update(
        &mut self,
        ctx: &egui::Context,
        of: Source,
        values: u64,
        raws: impl FnOnce(Option<u64>) -> Vec<RawState>,
    ) {
        let arrived = self.pool_job.poll();
        if self.of != Some(of) {
            self.clear();
            self.of = Some(of);
        }
        if let Some(((_, taken), found)) = arrived.filter(|((start, _), _)| *start == self.start) {
            self.take(taken, found);
        }
        let key = (self.start, values);
        if self.taken == Some(values) || !self.pool_job.is_free(&key) {
            return;
        }
        let raws = raws(self.history.last());
        let n: usize = raws.iter().map(|r| r.values.len()).sum();
        let work = move || raws.iter().map(|raw| summarise(raw, of.skip_negative)).collect();
        if n <= MAX_INLINE {
            self.take(values, work());
        } else {
            self.pool_job.start(ctx, key, work);
        }
    }

    fn take(&mut self, taken: u64, mut found: Vec<Option<Summary>>) {
        self.taken = Some(taken);
        self.front = found.last_mut().and_then(|last| last.clone());
        for Summary { step, state, .. } in found.into_iter().flatten() {
            self.history.push(step, state);
        }
        self.generation += 1;
    }

    /// Removes all states, and drops the result of a running job.
    pub fn clear(&mut self) {
        (self.of, self.history, self.front, self.taken) = (None, Thinned::default(), None, None);
        self.start += 1;
        self.generation += 1;
    }

    /// Returns the summaries in memory.
    pub fn history(&self) -> &Thinned<State> {
        &self.history
    }

    /// Returns the summary of the displayed state; `None` without values.
    pub fn front(&self) -> Option<&Summary> {
        self.front.as_ref()
    }

    /// Whether the first states are being computed.
    pub fn is_computing_first(&self) -> bool {
        self.pool_job.is_busy() && self.history.entries().is_empty()
    }

    /// Whether all values were equal in every state in memory.
    pub fn is_flat(&self) -> bool {
        self.history.entries().iter().all(|(_, s)| is_flat(s.quantiles[0], s.quantiles[QUANTILES.len() - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{kit::pool, views::fields::ElementMask};
    use std::sync::Arc;

    fn raw(step: u64, n: usize) -> RawState {
        let values = (0..n).map(|i| (i as u64 + step) as f32).collect();
        RawState { step, values: Arc::new(values), part: ElementMask::default() }
    }

    #[test]
    fn states_come_in_and_another_field_starts_over() {
        let (ctx, mut course) = (egui::Context::default(), SummarySeries::default());
        let of = |probe| Source { probe, filter: 0, skip_negative: false };
        course.update(&ctx, of(1), 1, |after| {
            assert_eq!(after, None);
            vec![raw(10, 5), raw(20, 5)]
        });
        course.update(&ctx, of(1), 1, |_| unreachable!("nothing is new"));
        course.update(&ctx, of(1), 2, |after| {
            assert_eq!(after, Some(20));
            vec![raw(15, 5)]
        });
        assert_eq!(course.history().entries().len(), 2, "the cursor went back");
        assert_eq!(course.front().map(|f| (f.step, f.members[2].value)), Some((15, 19.0)));
        course.update(&ctx, of(2), 2, |_| vec![raw(20, MAX_INLINE + 1)]);
        assert!(course.is_computing_first() && course.front().is_none());
        let since = std::time::Instant::now();
        while course.is_computing_first() && since.elapsed().as_secs() < 20 {
            course.update(&ctx, of(2), 2, |_| vec![]);
        }
        assert_eq!(course.history().entries().len(), 1);
        course.update(&ctx, of(2), 3, |_| vec![raw(30, MAX_INLINE + 1)]);
        course.clear();
        while pool::is_busy(&ctx) && since.elapsed().as_secs() < 20 {
            std::thread::yield_now();
        }
        course.update(&ctx, of(2), 3, |after| vec![raw(after.map_or(1, |_| 99), 3)]);
        assert_eq!(course.history().last(), Some(1), "results of earlier jobs are dropped");
    }
}
