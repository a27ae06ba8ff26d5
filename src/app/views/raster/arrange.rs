//! Arrangement of the rows, sorted on the pool for large sets.

use super::rows::{Order, Rows};
use crate::{
    app::{
        document::{filter::FilterMask, time::Train},
        kit::pool,
    },
    sim::ElementSet,
};
use std::sync::{Arc, mpsc};

/// Largest set whose rows are sorted on the UI thread.
const MAX_INLINE: u32 = 10_000;
/// Minimum time between two arrangements, seconds. Rows that move more often are unreadable.
const REARRANGE_SECS: f64 = 0.4;

/// Requested row order, and the job that computes it.
#[derive(Default)]
pub struct RowArranger {
    /// Grouping and sorting.
    pub order: Order,
    /// Elements that the filter shows.
    pub shown: FilterMask,
    wanted: Option<Wanted>,
    job: Option<(Wanted, mpsc::Receiver<Rows>)>,
    /// Number of active elements at the last arrangement, and its time (seconds of UI time).
    arranged: (u32, f64),
}

#[derive(Clone, Copy)]
struct Wanted {
    /// Whether the view is reset to all rows.
    refit: bool,
}

impl RowArranger {
    /// Requests new rows; `refit` resets the view to all rows.
    pub fn ask(&mut self, refit: bool) {
        let refit = refit || self.wanted.is_some_and(|w| w.refit);
        self.wanted = Some(Wanted { refit });
    }

    /// Discards the running job, so that the next active elements get rows without a delay.
    pub fn clear(&mut self) {
        self.arranged = (0, 0.0);
        self.job = None;
    }

    /// Whether a job is running.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    /// Number of elements that became active after the last arrangement.
    pub fn waiting(&self, n_active: u32) -> u32 {
        n_active.saturating_sub(self.arranged.0)
    }

    /// Whether active elements without a row should get one now. Otherwise requests a repaint for that time, so that the last
    /// elements of a run also get their rows when no frames arrive.
    pub fn is_due(&self, ctx: &egui::Context, n_active: u32, now_secs: f64) -> bool {
        if self.job.is_some() || self.waiting(n_active) == 0 {
            return false;
        }
        let left_secs = REARRANGE_SECS - (now_secs - self.arranged.1);
        let is_due = self.arranged.0 == 0 || left_secs <= 0.0;
        if !is_due {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64(left_secs.min(REARRANGE_SECS)));
        }
        is_due
    }

    /// Starts a requested job. Returns finished rows, and whether to reset the view to all rows; `None` if no rows are ready.
    pub fn update(
        &mut self,
        ctx: &egui::Context,
        set: &Arc<ElementSet>,
        train: Option<&Train>,
        is_active_only: bool,
        now_secs: f64,
    ) -> Option<(Rows, bool)> {
        let done = match &self.job {
            Some((wanted, receiver)) => match receiver.try_recv() {
                Ok(rows) => Some((rows, wanted.refit)),
                Err(mpsc::TryRecvError::Empty) => return None,
                Err(mpsc::TryRecvError::Disconnected) => None,
            },
            None => None,
        };
        self.job = None;
        let Some(wanted) = self.wanted.take() else { return done };
        // If rows were requested again while the job ran, its result is out of date.
        let wanted = Wanted { refit: wanted.refit || done.is_some_and(|(_, refit)| refit) };
        let (set, order) = (set.clone(), self.order.clone());
        let active = is_active_only.then(|| train.map(|t| t.active.clone()).unwrap_or_default());
        let counts = train.map(|t| t.counts.clone()).unwrap_or_default();
        self.arranged = (train.map_or(0, |t| t.active.count()), now_secs);
        let (len, mask) = (set.len, self.shown.shared(set.name));
        let make = move || {
            let is_filtered = |e: u32| mask.as_ref().is_none_or(|m| m.get(e as usize) == Some(&true));
            let has_row = |e: u32| active.as_ref().is_none_or(|a| a.contains(e)) && is_filtered(e);
            let mut rows = Rows::new(&set, &order, &counts, has_row);
            rows.count_filtered(&set, is_filtered);
            rows
        };
        if len <= MAX_INLINE {
            return Some((make(), wanted.refit));
        }
        let (sender, receiver) = mpsc::channel();
        pool::spawn(ctx, move || {
            sender.send(make()).ok(); // fails if the view was closed
        });
        self.job = Some((wanted, receiver));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Spike;

    #[test]
    fn newly_active_elements_get_a_row_after_a_delay() {
        let set = Arc::new(ElementSet { name: "cells", len: 100, ..ElementSet::default() });
        let (mut arrange, mut train, ctx) = (RowArranger::default(), Train::default(), egui::Context::default());
        let update = |arrange: &mut RowArranger, train: &Train, now| {
            let due = arrange.is_due(&ctx, train.active.count(), now);
            if due {
                arrange.ask(true);
            }
            arrange.update(&ctx, &set, Some(train), true, now).map(|(rows, _)| rows.len())
        };
        train.push(&[Spike { step: 1, lane: 3 }], 1);
        assert_eq!(update(&mut arrange, &train, 0.0), Some(1));
        train.push(&[Spike { step: 2, lane: 5 }], 2);
        let asked = Arc::new(std::sync::Mutex::new(None));
        let delay = asked.clone();
        ctx.set_request_repaint_callback(move |info| *delay.lock().expect("no panic") = Some(info.delay));
        assert_eq!(update(&mut arrange, &train, 0.1), None);
        let delay = asked.lock().expect("no panic").map(|delay| delay.as_secs_f64());
        assert!(
            delay.is_some_and(|secs| (secs - 0.3).abs() < 1e-6),
            "a window without new frames is repainted: {delay:?}"
        );
        assert_eq!(arrange.waiting(train.active.count()), 1);
        assert_eq!(update(&mut arrange, &train, 1.0), Some(2));
    }
}
