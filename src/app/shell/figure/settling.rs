//! Detection that a panel at the size of a figure is complete, after the jobs of its views have ended.

use crate::app::kit::pool;
use egui::Context;
use std::time::{Duration, Instant};

/// Minimum number of frames: views are laid out, then their jobs start.
const MIN_FRAMES: u32 = 4;
/// Number of rounds of jobs to wait for if new jobs start continuously, as in a running simulation. The first round computes
/// results for the new size, the second those that depend on them.
const ROUNDS: u32 = 2;
/// Time after which the panel is considered complete.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Waits for the jobs of views. The number of frames that are drawn meanwhile does not matter.
#[derive(Default)]
pub(super) struct Settling {
    frames: u32,
    since: Option<Instant>,
    /// Number of pool jobs, counted since the window opened, that the present round waits for.
    awaited: u64,
    rounds: u32,
    /// Whether no job was pending when the present frame began. A result that arrives later is not drawn in this frame.
    was_idle: bool,
}

impl Settling {
    /// Updates the rounds of jobs before the panel is drawn.
    pub fn begin_frame(&mut self, ctx: &Context) {
        self.since.get_or_insert_with(Instant::now);
        self.frames += 1;
        self.was_idle = !pool::is_busy(ctx);
        if self.frames == MIN_FRAMES {
            self.awaited = pool::n_started(ctx);
        } else if self.frames > MIN_FRAMES && pool::have_ended(ctx, self.awaited) {
            self.rounds += 1;
            self.awaited = pool::n_started(ctx);
        }
    }

    /// Whether the panel is complete; called after it was drawn.
    pub fn is_settled(&self, ctx: &Context) -> bool {
        let is_idle = self.was_idle && !pool::is_busy(ctx);
        let is_late = self.since.is_some_and(|since| since.elapsed() > MAX_WAIT);
        self.frames > MIN_FRAMES && (is_idle || self.rounds >= ROUNDS || is_late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Starts a job that ends when the returned sender is dropped.
    fn job(ctx: &Context) -> mpsc::Sender<()> {
        let (sender, receiver) = mpsc::channel::<()>();
        pool::spawn(ctx, move || _ = receiver.recv());
        sender
    }

    fn end(ctx: &Context, job: mpsc::Sender<()>) {
        let n = pool::n_started(ctx) - 1;
        drop(job);
        while !pool::have_ended(ctx, n) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_figure_waits_for_the_jobs_of_its_views() {
        let (ctx, mut settling) = (Context::default(), Settling::default());
        let first = job(&ctx);
        for _ in 0..1000 {
            settling.begin_frame(&ctx);
            assert!(!settling.is_settled(&ctx), "a slow job is awaited, however many frames are drawn");
        }
        settling.begin_frame(&ctx);
        drop(first);
        while pool::is_busy(&ctx) {
            std::thread::yield_now();
        }
        assert!(!settling.is_settled(&ctx), "the result came after the panel was drawn");
        settling.begin_frame(&ctx);
        assert!(settling.is_settled(&ctx));
    }

    #[test]
    fn a_running_simulation_does_not_delay_a_figure_for_ever() {
        let (ctx, mut settling) = (Context::default(), Settling::default());
        let mut pending = job(&ctx);
        let frames = (0..100).find(|_| {
            settling.begin_frame(&ctx);
            // Another job is pending at the end of each frame.
            let next = job(&ctx);
            end(&ctx, std::mem::replace(&mut pending, next));
            settling.is_settled(&ctx)
        });
        assert!(frames.is_some_and(|n| n < 20), "{frames:?}");
    }
}
