//! Putting rows in order: on the pool, so that sorting 138,639 of them is never felt.

use super::rows::{Order, Rows};
use crate::{
    app::{
        time::Train,
        views::{filter::Shown, pool},
    },
    sim::ElementSet,
};
use std::sync::{Arc, mpsc};

/// Sets up to this size are put in order at once.
const AT_ONCE: u32 = 10_000;
/// How long new elements wait for a row, seconds: rows that move all the time cannot be read.
const PATIENCE_SECS: f64 = 0.4;

/// What is wanted of the rows, and the job that makes them.
#[derive(Default)]
pub struct Arrange {
    /// Groups and sorting.
    pub order: Order,
    /// Whom the window's filter shows.
    pub shown: Shown,
    wanted: Option<Wanted>,
    job: Option<(Wanted, mpsc::Receiver<Rows>)>,
    /// How many active elements have rows, and since when (seconds of the window's clock).
    arranged: (u32, f64),
}

#[derive(Clone, Copy)]
struct Wanted {
    /// Whether all rows come into view.
    refit: bool,
}

impl Arrange {
    /// Asks for the rows to be put in order; all of them come into view when `refit` says so.
    pub fn ask(&mut self, refit: bool) {
        let refit = refit || self.wanted.is_some_and(|w| w.refit);
        self.wanted = Some(Wanted { refit });
    }

    /// Nobody has a row yet.
    pub fn forget(&mut self) {
        self.arranged = (0, 0.0);
        self.job = None;
    }

    /// Whether rows are on their way.
    pub fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    /// How many have spiked and have no row yet.
    pub fn waiting(&self, n_active: u32) -> u32 {
        n_active.saturating_sub(self.arranged.0)
    }

    /// Whether it is time to give rows to those without.
    pub fn is_due(&self, n_active: u32, now_secs: f64) -> bool {
        let is_first = self.arranged.0 == 0;
        self.job.is_none() && self.waiting(n_active) > 0 && (is_first || now_secs - self.arranged.1 >= PATIENCE_SECS)
    }

    /// Starts what was asked for, and hands over what is ready: the rows, and whether they are to be brought into view.
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
        // Answered while it was on its way: what is ready is out of date.
        let wanted = Wanted { refit: wanted.refit || done.is_some_and(|(_, refit)| refit) };
        let (set, order) = (set.clone(), self.order.clone());
        let active = is_active_only.then(|| train.map(|t| t.active.clone()).unwrap_or_default());
        let counts = train.map(|t| t.counts.clone()).unwrap_or_default();
        self.arranged = (train.map_or(0, |t| t.active.count()), now_secs);
        let (len, mask) = (set.len, self.shown.shared(set.name));
        let has_row = move |e: u32| {
            active.as_ref().is_none_or(|a| a.contains(e))
                && mask.as_ref().is_none_or(|m| m.get(e as usize) == Some(&true))
        };
        let make = move || Rows::new(&set, &order, &counts, has_row);
        if len <= AT_ONCE {
            return Some((make(), wanted.refit));
        }
        let (sender, receiver) = mpsc::channel();
        pool::spawn(ctx, move || {
            sender.send(make()).ok(); // the view may be gone by then
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
    fn those_who_spike_get_a_row_after_a_moment() {
        let set = Arc::new(ElementSet { name: "cells", len: 100, ..ElementSet::default() });
        let (mut arrange, mut train, ctx) = (Arrange::default(), Train::default(), egui::Context::default());
        let update = |arrange: &mut Arrange, train: &Train, now| {
            let due = arrange.is_due(train.active.count(), now);
            if due {
                arrange.ask(true);
            }
            arrange.update(&ctx, &set, Some(train), true, now).map(|(rows, _)| rows.len())
        };
        train.active.note(&[Spike { step: 1, lane: 3 }]);
        assert_eq!(update(&mut arrange, &train, 0.0), Some(1));
        train.active.note(&[Spike { step: 2, lane: 5 }]);
        assert_eq!(update(&mut arrange, &train, 0.1), None);
        assert_eq!(arrange.waiting(train.active.count()), 1);
        assert_eq!(update(&mut arrange, &train, 1.0), Some(2));
    }
}
